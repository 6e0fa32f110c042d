"""The cost of a design: by the models' own equations in ns, and in whole tenths of a ns as the core's
minimisers count.

Source: ramos-hoefler-2013 equations 4.7, 4.11 to 4.14 and appendix B.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import phicoll._core as _core
from phicoll.errors import ArgumentError
from phicoll.models.constants.machine_model import MachineModel
from phicoll.models.constants.named_model import machine_model
from phicoll.models.equations.barriers import acknowledged_barrier
from phicoll.models.equations.checks import check_choice
from phicoll.models.equations.contention import INTERCEPTS, intercept
from phicoll.models.equations.line_costs import Warm, local, remote, shared_start
from phicoll.models.equations.small_broadcast import small_broadcast
from phicoll.models.equations.small_reduction import COMBININGS, small_reduction
from phicoll.registry import REDUCTIONS, moves_data

if TYPE_CHECKING:
    from phicoll.models.equations.line_costs import Constants

__all__ = [
    "assumed_among",
    "constants_of",
    "cost_function",
    "costs_in_tenths",
    "decided_by",
    "level_cost",
    "line_costs",
]

#: Parts of a tenth of a nanosecond that p / k is counted in.
FINE = 1000
#: 100 microseconds, in tenths: what a constant can be at most.
MOST_TENTHS = 1_000_000


def line_costs(model: str | MachineModel) -> dict[str, int]:
    """What the core's algorithms take of a machine's model, in tenths of a nanosecond.

    ``local`` (R_L), ``remote`` (R_R), ``memory`` (R_I), ``contention`` (c), ``further_line`` (o). A cost that
    the model lacks has the same ratio to ``remote`` as on the Xeon Phi 5110P; without any ``line.remote`` all
    are that machine's.
    """
    constants = machine_model(model).constants
    return dict(
        _core.line_costs(
            {name: (float(c.value), c.kind) for name, c in constants.items() if c.value is not None}
        )
    )


def constants_of(model: str | MachineModel | Warm) -> Constants:
    return model if isinstance(model, Warm) else machine_model(model)


def tenths(name: str, value: float) -> int:
    """A time in ns as the whole number of tenths that the core counts in."""
    found = round(value * 10)
    if abs(found) > MOST_TENTHS:
        raise ArgumentError(name, f"{value:g} ns", f"at most {MOST_TENTHS // 10} ns")
    return found


def costs_in_tenths(model: Constants, operation: str) -> dict[str, int]:
    """The core's ``LineCosts`` of a model that must have what the operation's optimum depends on."""
    values = {"local": ("line.local", local(model)), "remote": ("line.remote", remote(model))}
    if moves_data(operation):
        values["memory"] = ("line.memory", shared_start(model))
        values["contention"] = ("contention.EE.c", model.value("contention.EE.c"))
    if operation in REDUCTIONS:
        values["further_line"] = ("multi.EE.o", model.value("multi.EE.o"))
    found = {key: max(1, tenths(*value)) for key, value in values.items()}
    return {key: found.get(key, 0) for key in ("local", "remote", "memory", "contention", "further_line")}


def decided_by(
    model: Constants, operation: str, b: str = "lines", combining: str = "slope"
) -> tuple[str, ...]:
    """The constants that an optimum depends on."""
    own = [
        n
        for n in ("line.remote", "line.remote.M")
        if model.constant(n).kind not in ("assumed", "undetermined")
    ]
    names = ["line.local", (own or ["line.remote"])[0]]
    if not moves_data(operation):
        return tuple(names)
    names += ["line.memory", "contention.EE.c"]
    if b == "fitted":
        names.append("contention.EE.b")
    if operation in REDUCTIONS:
        names += ["multi.EE.o"] + (["multi.EE.q", "multi.EE.p"] if combining == "multi-line" else [])
    return tuple(names)


def assumed_among(model: Constants, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name in names if model.constant(name).kind == "assumed")


def level_cost(
    model: Constants, operation: str, bound: str, b: str, combining: str
) -> tuple[int, int, int, int]:
    """(tree, level, child, shared) as the core's minimiser takes them, in thousandths of a tenth of a nanosecond."""
    costs = {name: FINE * value for name, value in costs_in_tenths(model, operation).items()}
    if check_choice("b", b, INTERCEPTS) == "fitted":
        base = FINE * tenths("contention.EE.b", intercept(model, b))
    else:  # of the rounded costs, as in the algorithms
        base = costs["local"] + costs["remote"] - costs["contention"]
    start = saved = 0
    if check_choice("combining", combining, COMBININGS) == "multi-line":
        start = FINE * tenths("multi.EE.q", model.value("multi.EE.q"))
        saved = FINE * tenths("multi.EE.p", model.value("multi.EE.p"))
    found: tuple[int, int, int, int] = _core.level_cost(operation, costs, base, bound, start, saved)
    _, level, child, shared = found
    if shared < 0 or child < 1 or level + child - shared < 0:
        raise ArgumentError(
            "model",
            f"a level with one child costs {(level + child - shared) / FINE / 10:g} ns, p is {shared / FINE / 10:g} ns",
            "times from 0 on",
        )
    return found


def cost_function(
    operation: str,
    model: Constants,
    bound: str,
    b: str = "lines",
    combining: str = "slope",
    **_: Any,
) -> Callable[[tuple[int, ...]], float]:
    """The model's time of a design in ns, by the models' own equations."""

    def ns(design: tuple[int, ...]) -> float:
        if operation == "broadcast":
            band = small_broadcast(model, design, b=b)
        elif operation == "reduce":
            band = small_reduction(model, design, b=b, combining=combining)
        else:
            ways, rounds = design
            # A round's cost does not depend on the ranks: one round of two.
            band = rounds * acknowledged_barrier(model, max(ways + 1, 2), ways)
        # Equal costs are equal numbers, in whatever order their parts were added up.
        return round(band.low_ns if bound == "min" else band.high_ns, 6)

    return ns
