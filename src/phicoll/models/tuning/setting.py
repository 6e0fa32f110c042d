"""The setting and points of a tuning run, and checks of its arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from phicoll.errors import ArgumentError
from phicoll.foundations.checks import as_list
from phicoll.measuring import sweeps
from phicoll.measuring.options import native_default, simulated_default
from phicoll.measuring.sweeps import (
    DEFINITIONS,
    MODES,
    check_choices,
    placement_text,
)
from phicoll.models.tuning.candidates import candidates
from phicoll.models.tuning.decision import Point
from phicoll.registry import expand, moves_data

if TYPE_CHECKING:
    from phicoll.models import MachineModel

__all__ = [
    "Setting",
    "check_candidates",
    "check_definition",
    "check_modes",
    "check_placement",
    "check_sizes",
    "default_ranks",
    "plan",
]


@dataclass(frozen=True)
class Setting:
    """The options that all points share."""

    machine: str  # as load_machine takes it; empty: this one
    name: str
    host: str
    cpus: int
    placement: str
    definition: str
    modes: list[str]
    launches: int | None
    rounds: int | None
    seed: int | None
    model: MachineModel | None

    @property
    def simulated(self) -> bool:
        return bool(self.machine)

    def costs(self) -> dict[str, int]:
        """Line costs for the table, in tenths of a nanosecond: the model's, if one was named."""
        if self.model is None:
            return {}
        from phicoll.models.optima import line_costs

        return {name.replace("_", "-"): value for name, value in line_costs(self.model).items()}


def plan(
    operations: Sequence[str], setting: Setting, counts: Sequence[int], sizes: Sequence[int]
) -> list[Point]:
    """All points. A barrier has no sizes; one rank has nothing to choose."""
    return [
        Point(operation, mode, count, setting.cpus, size)
        for mode in setting.modes
        for count in counts
        for operation in operations
        for size in (sorted(sizes) if moves_data(operation) else [0])
    ]


def default_ranks(cpus: int, simulated: bool) -> list[int]:
    """Powers of two from 2 to the number of CPUs, that number, and (not simulated) twice that."""
    counts = {2, cpus} if simulated else {2, cpus, 2 * cpus}
    power = 2
    while power <= cpus:
        counts.add(power)
        power *= 2
    return sorted(count for count in counts if 2 <= count <= 1024)


def check_candidates(operations: Sequence[str], algorithm: Any) -> dict[str, list[str]]:
    if algorithm is None:
        return {operation: candidates(operation) for operation in operations}
    if len(operations) != 1:
        raise ArgumentError(
            "algorithm", repr(algorithm), "only with one operation, whose candidates they are"
        )
    found: list[str] = []
    for text in as_list(algorithm):
        expand(text, operations[0])  # refuses unknown names
        found.append(text)
    return {operations[0]: found}


def check_definition(definition: Any) -> str:
    found = check_choices("definition", definition, DEFINITIONS)
    if len(found) != 1:
        raise ArgumentError("definition", repr(definition), "one of " + ", ".join(DEFINITIONS))
    return found[0]


def check_modes(mode: Any, simulated: bool) -> list[str]:
    if simulated:
        if mode is not None:
            raise ArgumentError("mode", repr(mode), "only without a machine: its ranks are simulated")
        return ["simulated"]
    return check_choices("mode", "processes" if mode is None else mode, MODES)


def check_sizes(operations: Sequence[str], sizes: Any) -> list[int]:
    """The sizes, if every operation that moves data takes them. Otherwise raises ArgumentError("sizes")."""
    try:
        found = sweeps.check_sizes(sizes)
        for operation in operations:
            if moves_data(operation):
                sweeps.check_work(operation, found, None, None, None)
    except ArgumentError as error:
        raise ArgumentError("sizes", error.got, error.allowed) from None
    return found


def check_placement(placement: Any, simulated: bool) -> str:
    if placement is None:
        return simulated_default("placement") if simulated else native_default("placement")
    return placement_text(placement)
