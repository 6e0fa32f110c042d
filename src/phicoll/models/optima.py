"""The parameters that a machine's model finds best: levels of trees, partners of a barrier. Exhaustive and exact.

The core's own optimisers choose here, as they do for the algorithms ``model-tree`` and ``dissemination-acknowledged``:
in whole tenths of a nanosecond, so that every rank comes to the same. Source: ramos-hoefler-2013 equations 4.7, 4.11 to
4.14 and appendix B; :mod:`phicoll.models.tables_b` has what the paper printed and how far each reading reproduces it.

    >>> from phicoll.models import optima
    >>> optima.broadcast_tree(30).levels
    (5, 5)
    >>> optima.barrier_ways(60, rounds="printed").ways
    4
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from phicoll import _core
from phicoll.errors import ArgumentError
from phicoll.models.barriers import ROUNDS, acknowledged_barrier
from phicoll.models.checks import MAX_RANKS, check_choice, check_whole
from phicoll.models.contention import INTERCEPTS, intercept
from phicoll.models.line_costs import Warm, local, remote, shared_start
from phicoll.models.machine_model import MachineModel, machine_model
from phicoll.models.small_broadcast import small_broadcast
from phicoll.models.small_reduction import COMBININGS, small_reduction

if TYPE_CHECKING:
    import pandas

    from phicoll.models.line_costs import Constants

__all__ = [
    "BOUNDS",
    "CONSTRAINTS",
    "MOST_LEVELS",
    "OPERATIONS",
    "TIES",
    "BarrierOptimum",
    "BoundComparison",
    "OptimaTable",
    "TreeOptimum",
    "barrier_ways",
    "broadcast_tree",
    "compare_bounds",
    "cost_of",
    "line_costs",
    "reduction_tree",
    "table",
]

#: The best case that a model gives, or its worst.
BOUNDS = ("min", "max")
#: What must hold between the children of levels: k_i >= k_{i+1} (``falling``, as the paper's text and tables have it),
#: k_i <= k_{i+1} (``rising``, as its equations 4.7 and B.1 print), nothing.
CONSTRAINTS = ("falling", "rising", "none")
#: Of several optima the lexicographically smallest, or all.
TIES = ("first", "all")
OPERATIONS = ("broadcast", "reduce", "barrier")
#: The deepest tree that can be asked for; the algorithms take up to 6 levels.
MOST_LEVELS: int = _core.most_tree_levels
ALGORITHM_LEVELS = 6
#: More ties than this are an error: a model in which nearly everything costs the same.
MOST_TIES = 100_000
#: Parts of a tenth of a nanosecond that p / k is counted in.
FINE = 1000
#: 100 microseconds, in tenths: what a constant can be at most.
MOST_TENTHS = 1_000_000


@dataclass(frozen=True)
class TreeOptimum:
    """The best tree for so many ranks.

    ``levels``: k_1, k_2, ... children of a rank in each level, none for one rank; ``ns``: what the model says;
    ``ties``: all that cost as little, in lexicographic order, where they were asked for, else ``levels`` alone;
    ``assumed``: the constants among those that decided which were taken from another machine.
    """

    ranks: int
    levels: tuple[int, ...]
    ns: float
    ties: tuple[tuple[int, ...], ...]
    assumed: tuple[str, ...] = ()

    @property
    def depth(self) -> int:
        """d, the number of levels."""
        return len(self.levels)


@dataclass(frozen=True)
class BarrierOptimum:
    """The best m for so many ranks. ``ways``: m; ``ties``: all (m, rounds) that cost as little, by rising m."""

    ranks: int
    ways: int
    rounds: int
    ns: float
    ties: tuple[tuple[int, int], ...]
    assumed: tuple[str, ...] = ()


class OptimaTable(tuple[Any, ...]):
    """Optima by rising number of ranks; shows itself as a table in a notebook."""

    __slots__ = ()

    def to_pandas(self) -> pandas.DataFrame:
        """A row an optimum, by ranks: ``levels``, or ``ways`` and ``rounds``, ``ns``, the number of ``ties``."""
        import pandas as pd

        columns = [f.name for f in fields(self[0]) if f.name not in ("ranks", "assumed")] if self else []
        rows = [
            {name: len(one.ties) if name == "ties" else getattr(one, name) for name in columns}
            for one in self
        ]
        return pd.DataFrame(rows, index=pd.Index([one.ranks for one in self], name="ranks"))

    def _repr_html_(self) -> str:
        def design(one: Any) -> str:
            if isinstance(one, TreeOptimum):
                return ", ".join(map(str, one.levels))
            return f"m = {one.ways}, {one.rounds} rounds"

        rows = "".join(
            f"<tr><td>{one.ranks}</td><td>{html.escape(design(one))}</td><td>{one.ns:.1f}</td></tr>"
            for one in self
        )
        return (
            "<table><thead><tr><th>ranks</th><th>optimum</th><th>ns</th></tr></thead><tbody>"
            f"{rows}</tbody></table>"
        )


@dataclass(frozen=True)
class BoundComparison:
    """Whether a model's best case and its worst choose alike.

    ``alike``: numbers of ranks for which both choose the same; ``differ``: {ranks: (by the best case, by the worst)};
    ``regret``: the most that the choice by the worst case costs more than the best choice in the best case, as a share.
    """

    operation: str
    alike: tuple[int, ...]
    differ: dict[int, tuple[tuple[int, ...], tuple[int, ...]]]
    regret: float

    def __str__(self) -> str:
        total = len(self.alike) + len(self.differ)
        return (
            f"{self.operation}: best and worst case choose alike for {len(self.alike)} of {total} numbers of ranks; "
            f"the worst case's choice costs at most {100 * self.regret:.1f} % more in the best case"
        )


def broadcast_tree(
    ranks: int,
    model: str | MachineModel | Warm = "xeon-phi-5110p",
    bound: str = "min",
    constraint: str = "falling",
    ties: str = "first",
    *,
    b: str = "lines",
    levels: int = ALGORITHM_LEVELS,
) -> TreeOptimum:
    """The tree for small broadcasts (equation 4.7; B.1 is its best case) that costs the least.

    Parameters
    ----------
    ranks:
        1 to 1,024.
    model:
        As :func:`phicoll.models.machine_model` takes it, or a :class:`~phicoll.models.line_costs.Warm` one.
    bound:
        ``min`` or ``max``: which of the model's two cases is minimised. Of the worst case's nested sum (4.6) each term
        is read as its own level's.
    constraint:
        ``falling`` (k_i >= k_{i+1}), ``rising`` (as printed) or ``none``. Falling loses nothing against none.
    ties:
        ``first`` (the lexicographically smallest) or ``all``.
    b:
        ``lines`` (b = R_L + R_R - c, with which all rows of Table B.1 come out) or ``fitted`` (that of Table 3.2).
    levels:
        The deepest tree, 1 to 16; the algorithms take 6.

    Raises
    ------
    ArgumentError
        A parameter out of its range; a constant that the model does not have or that is out of range.
    """
    return trees("broadcast", [ranks], model, bound, constraint, ties, b=b, levels=levels)[0]


def reduction_tree(
    ranks: int,
    model: str | MachineModel | Warm = "xeon-phi-5110p",
    bound: str = "min",
    constraint: str = "falling",
    ties: str = "first",
    *,
    b: str = "lines",
    combining: str = "slope",
    levels: int = ALGORITHM_LEVELS,
) -> TreeOptimum:
    """The tree for small reductions (equations 4.13, 4.14, B.3) that costs the least.

    Parameters
    ----------
    combining:
        T_k: ``slope`` (o k, with which all rows of Table B.3 cost the least) or ``multi-line`` (o k + q - p / k, as the
        text says).
    ranks, model, bound, constraint, ties, b, levels:
        See :func:`broadcast_tree`, which also raises the same.
    """
    return trees("reduce", [ranks], model, bound, constraint, ties, b=b, combining=combining, levels=levels)[
        0
    ]


def barrier_ways(
    ranks: int,
    model: str | MachineModel | Warm = "xeon-phi-5110p",
    rounds: str = "corrected",
    bound: str = "min",
) -> BarrierOptimum:
    """The m of the acknowledged dissemination barrier (equations 4.11, 4.12, B.2) that costs the least; the smallest.

    Parameters
    ----------
    rounds:
        ``corrected`` (log_{m+1} of the ranks, which the partners' formula needs) or ``printed`` (log_m, with which all
        rows of Table B.2 come out).
    ranks, model, bound:
        See :func:`broadcast_tree`, which also raises the same.
    """
    return barriers([ranks], model, bound, rounds=rounds)[0]


def table(
    operation: str,
    ranks: Iterable[int] = range(2, 245),
    model: str | MachineModel | Warm = "xeon-phi-5110p",
    bound: str = "min",
    **options: Any,
) -> OptimaTable:
    """The optima of many numbers of ranks at once, by rising ranks.

    Parameters
    ----------
    operation:
        ``broadcast``, ``reduce`` or ``barrier``.
    ranks:
        Each 1 to 1,024.
    model, bound, options:
        See :func:`broadcast_tree`, :func:`reduction_tree` and :func:`barrier_ways`, whose further options these are.

    Raises
    ------
    ArgumentError
        An unknown operation or option, and what those functions raise.
    """
    check_choice("operation", operation, OPERATIONS)
    known = {
        "broadcast": ("constraint", "ties", "b", "levels"),
        "reduce": ("constraint", "ties", "b", "combining", "levels"),
        "barrier": ("rounds", "ties"),
    }[operation]
    for name in options:
        if name not in known:
            raise ArgumentError(name, f"an option of {operation}", ", ".join(known))
    counts = sorted({check_whole("ranks", one, 1, MAX_RANKS) for one in ranks})
    if operation == "barrier":
        check_choice("ties", options.pop("ties", "all"), TIES)
        return OptimaTable(barriers(counts, model, bound, **options))
    return OptimaTable(trees(operation, counts, model, bound, **options))


def cost_of(
    operation: str,
    design: Iterable[int],
    model: str | MachineModel | Warm = "xeon-phi-5110p",
    bound: str = "min",
    **reading: Any,
) -> float:
    """What a model says of a tree's levels (k_1, k_2, ...) or a barrier's (m, rounds), ns.

    Parameters
    ----------
    reading:
        ``b`` and ``combining`` of trees; what else :func:`table` takes does not change what a design costs.
    """
    check_choice("operation", operation, OPERATIONS)
    constants = constants_of(model)
    return cost_function(operation, constants, bound, **reading)(tuple(design))


def compare_bounds(
    operation: str,
    ranks: Iterable[int] = range(2, 245),
    model: str | MachineModel | Warm = "xeon-phi-5110p",
    **options: Any,
) -> BoundComparison:
    """Whether minimising the worst case chooses as minimising the best case does (ramos-hoefler-2013 section 4.4: "with
    similar results"). Parameters as :func:`table`."""
    best = table(operation, ranks, model, "min", **options)
    worst = table(operation, ranks, model, "max", **options)
    cost = cost_function(operation, constants_of(model), "min", **options)
    alike, differ, regret = [], {}, 0.0
    for low, high in zip(best, worst, strict=True):
        mine, theirs = design_of(low), design_of(high)
        if mine == theirs:
            alike.append(low.ranks)
        else:
            differ[low.ranks] = (mine, theirs)
            regret = max(regret, cost(theirs) / cost(mine) - 1)
    return BoundComparison(operation, tuple(alike), differ, regret)


def line_costs(model: str | MachineModel) -> dict[str, int]:
    """What the core's algorithms take of a machine's model, in tenths of a nanosecond.

    ``local`` (R_L), ``remote`` (R_R), ``memory`` (R_I), ``contention`` (c), ``further_line`` (o). What the model has
    not is as much of ``remote`` as on the Xeon Phi 5110P; without any ``line.remote`` everything is that machine's.
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
    if operation != "barrier":
        values["memory"] = ("line.memory", shared_start(model))
        values["contention"] = ("contention.EE.c", model.value("contention.EE.c"))
    if operation == "reduce":
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
    if operation == "barrier":
        return tuple(names)
    names += ["line.memory", "contention.EE.c"]
    if b == "fitted":
        names.append("contention.EE.b")
    if operation == "reduce":
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
    else:  # of the rounded costs, as the algorithms have it
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


def trees(
    operation: str,
    ranks: list[int],
    model: str | MachineModel | Warm,
    bound: str = "min",
    constraint: str = "falling",
    ties: str = "first",
    *,
    b: str = "lines",
    combining: str = "slope",
    levels: int = ALGORITHM_LEVELS,
) -> list[TreeOptimum]:
    counts = [check_whole("ranks", one, 1, MAX_RANKS) for one in ranks]
    check_choice("bound", bound, BOUNDS)
    check_choice("constraint", constraint, CONSTRAINTS)
    check_choice("ties", ties, TIES)
    check_whole("levels", levels, 1, MOST_LEVELS)
    constants = constants_of(model)
    ns = cost_function(operation, constants, bound, b=b, combining=combining)
    if max(counts, default=1) <= 2:
        # There is no other tree: it needs no contention, which two CPUs cannot show.
        only = [(1,) * (count - 1) for count in counts]
        return [TreeOptimum(n, k, ns(k), (k,)) for n, k in zip(counts, only, strict=True)]
    cost = level_cost(constants, operation, bound, b, combining)
    assumed = assumed_among(constants, decided_by(constants, operation, b, combining))
    most = 1 if ties == "first" else MOST_TIES + 1
    found = []
    for count, best in zip(counts, _core.best_levels(counts, cost, constraint, levels, most), strict=True):
        if len(best) > MOST_TIES:
            raise ArgumentError("ties", f"more than {MOST_TIES} for {count} ranks", "ties='first'")
        all_best = tuple(map(tuple, best))
        found.append(TreeOptimum(count, all_best[0], ns(all_best[0]), all_best, assumed))
    return found


def barriers(
    ranks: list[int], model: str | MachineModel | Warm, bound: str = "min", rounds: str = "corrected"
) -> list[BarrierOptimum]:
    counts = [check_whole("ranks", one, 1, MAX_RANKS) for one in ranks]
    check_choice("bound", bound, BOUNDS)
    check_choice("rounds", rounds, ROUNDS)
    constants = constants_of(model)
    costs = costs_in_tenths(constants, "barrier")
    assumed = assumed_among(constants, decided_by(constants, "barrier"))
    ns = cost_function("barrier", constants, bound)
    found = []
    for count, best in zip(
        counts, _core.best_ways(counts, costs["local"], costs["remote"], rounds, bound), strict=True
    ):
        ties = tuple(map(tuple, best))
        found.append(BarrierOptimum(count, *ties[0], ns(ties[0]), ties, assumed))
    return found


def design_of(optimum: TreeOptimum | BarrierOptimum) -> tuple[int, ...]:
    return optimum.levels if isinstance(optimum, TreeOptimum) else (optimum.ways, optimum.rounds)


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
