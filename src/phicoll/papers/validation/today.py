"""Collectives on machines of today: predictions, frozen in a commit before the published numbers were looked at."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files

import numpy as np

from phicoll.papers.validation.points import Check, Collective, Effort, Kernel
from phicoll.papers.validation.quantity import CALIBRATED, CALIBRATED_BOUND, HELD_OUT, Quantity
from phicoll.registry.machines import load_machine

__all__ = ["SPECS", "frozen", "lines", "message_passing", "openmp", "points_of"]

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


def cases(operation: str, ranks: Iterable[int]) -> list[tuple[str, int, int]]:
    """Algorithms, ranks and sizes of which the share that phicoll's choice saves is the mean."""
    return [
        (spec, count, size)
        for count in ranks
        for size in SMALL
        for spec in ("auto", library(operation, size))
    ]


def share(times: Sequence[float]) -> float:
    """The percentage that is saved in the mean, of times in turn by phicoll's choice and by the library."""
    return 100 * float(
        np.mean([1 - mine / other for mine, other in zip(times[::2], times[1::2], strict=True)])
    )


def saved(machine: str, operation: str, ranks: Iterable[int]) -> float:
    """The frozen percentage of the library's time that phicoll's choice saves."""
    us = frozen(machine)
    return share([us[f"{operation} {spec}"][str(n)][str(size)] for spec, n, size in cases(operation, ranks)])


def times_slower(machine: str, spec: str, ranks: int) -> float:
    """How many times as long a barrier takes as the tournament of four, as frozen."""
    us = frozen(machine)
    return us[f"barrier {spec}"][str(ranks)]["0"] / us[f"barrier {SPECS['barrier'][-1]}"][str(ranks)]["0"]


#: Published times of one line: the kernel's state and place, ns, whether the number set a parameter, the source.
C2C = "nviennot/core-to-core-latency, median"
MLC = "Intel's checker on another Ice Lake node"
LINES: Mapping[str, Sequence[tuple[str, str, str, float, bool, str]]] = {
    "epyc-7742": (
        ("modified, the same L3", "M", "1", 25.3, True, C2C),
        ("modified, another L3", "M", "4", 132.1, True, C2C),
        ("modified, the other socket", "M", "other-package", 266.6, True, C2C),
        ("in memory", "I", "1", 122.0, True, "AnandTech, AMD Rome review"),
    ),
    "xeon-8375c": (
        ("modified, the same socket", "M", "1", 51.3, True, C2C),
        ("modified, the other socket", "M", "other-package", 107.8, True, C2C),
        ("modified, the same socket, by the checker", "M", "1", 64.2, False, MLC),
        ("modified, the other socket, by the checker", "M", "other-package", 127.1, False, MLC),
        ("in memory", "I", "1", 89.2, True, MLC),
        ("in the other socket's memory", "I", "other-package", 142.7, True, MLC),
    ),
    "kunpeng-920": (
        ("modified, the same die", "M", "1", 35.7, True, C2C),
        ("modified, the other die", "M", "other-package", 80.5, True, C2C),
    ),
}


def lines(machine: str, effort: Effort) -> Check:
    """Single lines: most published times set a parameter."""
    published = LINES[machine.partition(":")[0]]
    found = yield [
        Kernel(machine, f"read-latency:state={state}:owner=other", 2, where, max(8, effort.samples // 40))
        for _, state, where, *_ in published
    ]
    return [
        Quantity("Reading a line", name, CALIBRATED if set_one else HELD_OUT, ns, float(np.mean(samples[0])), source=source,
                 **({"bound": CALIBRATED_BOUND} if set_one else {}))
        for (name, _, _, ns, set_one, source), samples in zip(published, found, strict=True)
    ]  # fmt: skip


def message_passing(machine: str, effort: Effort) -> Check:
    """What acoll saves of the time of Open MPI's tuned: phicoll's choice against pairs, trees and pipelines through buffers."""
    ranks = (64, 128) if effort.rank_step < 50 else (16,)
    published = {"allreduce": 37.7, "broadcast": 39.4}
    why = {
        "allreduce": "Pairs are phicoll's choice and the library's at 8 bytes, and what a library does around each message is not "
        "simulated. The published mean is over 8 B to 8 MB and 32 to 192 ranks of a later generation, two EPYC 9654.",
        "broadcast": "Calls follow each other: short broadcasts of a ring or of levels overlap here, a tree with an acknowledgement for "
        "each message does not.",
    }
    wanted = {operation: cases(operation, ranks) for operation in published}
    found = iter(
        (yield [
            Collective(machine, operation, spec, n, size, 1, "float32" if operation == "allreduce" else "")
            for operation, of in wanted.items() for spec, n, size in of
        ])
    )  # fmt: skip
    name = machine.partition(":")[0]
    return [
        Quantity("Against a message-passing library", f"{operation}: time saved, 8 B to 64 KB", HELD_OUT, published[operation],
                 share([float(next(found)[0]) for _ in of]), "%",
                 f"acoll: open-mpi/ompi pull request 12484; frozen: {saved(name, operation, ranks):.1f}", why=why[operation])
        for operation, of in wanted.items()
    ]  # fmt: skip


def openmp(machine: str, effort: Effort) -> Check:
    """Barriers of OpenMP runtimes, by their structures, against a tournament of four with a line a flag."""
    ranks = 64
    own, counter, tree, tournament = SPECS["barrier"]
    found = yield [Collective(machine, "barrier", spec, ranks, 0, min(effort.seeds, 3)) for spec in (own, counter, tree, tournament)]  # fmt: skip
    mean = [float(np.mean(times)) for times in found]
    name = machine.partition(":")[0]
    why = (
        "Structures alone are simulated: a counter, and a tree that takes exactly as long here as the tournament. The published "
        "means are over three machines, of whole runtimes with their work around a barrier."
    )
    return [
        Quantity("Barriers of OpenMP", f"{of} / a tournament of four, {ranks} threads", HELD_OUT, published, time / mean[3], "times",
                 f"Gao and others, CLUSTER 2021, abstract; frozen: {times_slower(name, spec, ranks):.2f}", why=why)
        for of, published, spec, time in (
            ("GCC's barrier", 12.6, counter, mean[1]), ("LLVM's barrier", 4.7, tree, mean[2]), ("the fastest other barrier", 1.6, own, mean[0]),
        )
    ]  # fmt: skip
