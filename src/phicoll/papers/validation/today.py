"""Collectives on machines of today: predictions, frozen in a commit before the published numbers were looked at."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from phicoll.papers.validation.points import Collective
from phicoll.registry.machines import load_machine

__all__ = ["SPECS", "frozen", "library", "points_of", "saved", "times_slower"]

#: By operation what is predicted: phicoll's own choice, then the structures that others measured.
#: Of a message-passing library: pairs or a binomial tree, through buffers. Of barriers: GCC's counter, LLVM's tree, and a
#: tournament of four with a line a flag, as Gao and others build theirs.
SPECS = {
    "barrier": (
        "auto",
        "sense-reversing",
        "libomp-hyper",
        "static-tournament:ways=4:layout=line-per-flag",
    ),
    "allreduce": ("auto", "recursive-doubling:transfer=put-get", "rabenseifner:transfer=put-get"),
    "broadcast": ("auto", "binomial:driven=sender:ack=line-per-child", "local-store-tree:degree=1"),
    "gather": ("auto",),
}
RANKS = (16, 64, 128)
SMALL, LARGE = (8, 1 << 10, 64 << 10), 1 << 20


def points_of(machine: str) -> list[Collective]:
    """All that is predicted of a machine: four operations, 8 B to 64 KB, phicoll's choice to 1 MB."""
    most = load_machine(machine).contexts
    return [
        Collective(machine, operation, spec, ranks, size, 1, "float32" if operation == "allreduce" else "")
        for operation, specs in SPECS.items()
        for spec in specs
        for ranks in RANKS
        if ranks <= most
        for size in ((0,) if operation == "barrier" else (*SMALL, *((LARGE,) if spec == "auto" else ())))
    ]


@cache
def frozen(machine: str) -> Mapping[str, Mapping[str, Mapping[str, float]]]:
    """What was predicted, in microseconds of a call back to back, by operation and algorithm, ranks and bytes."""
    text = files("phicoll.papers.validation").joinpath("today.json").read_text(encoding="utf-8")
    found: Mapping[str, Mapping[str, Mapping[str, float]]] = json.loads(text)[machine]["us"]
    return found


def library(operation: str, size: int) -> str:
    """What stands for a message-passing library: Open MPI's tuned changes to slices from 10 KB, to a pipeline for long ones."""
    small, large = SPECS[operation][1:]
    return small if size < (10 << 10) else large


def saved(machine: str, operation: str, ranks: tuple[int, ...], sizes: tuple[int, ...]) -> float:
    """The share of the library's time that phicoll's choice saves, the mean over ranks and sizes, in percent."""
    us = frozen(machine)

    def at(spec: str, count: int, size: int) -> float:
        return us[f"{operation} {spec}"][str(count)][str(size)]

    shares = [
        1 - at("auto", count, size) / at(library(operation, size), count, size)
        for count in ranks
        for size in sizes
    ]
    return 100 * sum(shares) / len(shares)


def times_slower(machine: str, runtime: str, ranks: int) -> float:
    """How many times as long a runtime's barrier takes as the tournament of four."""
    us = frozen(machine)
    tournament = SPECS["barrier"][-1]
    return us[f"barrier {runtime}"][str(ranks)]["0"] / us[f"barrier {tournament}"][str(ranks)]["0"]
