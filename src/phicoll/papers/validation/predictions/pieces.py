"""Pieces of the models, reads and copies of lines, beside the kernels on a simulated machine and on this host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np

from phicoll.errors import ArgumentError
from phicoll.explaining import kernels
from phicoll.models import MachineModel
from phicoll.models.constants.published_tables import OVERHEADS, PHI_PING_PONG
from phicoll.models.equations.bandwidth import bandwidth
from phicoll.models.equations.contention import contention
from phicoll.models.equations.multi_line import multi_line
from phicoll.models.equations.single_line import single_line
from phicoll.papers.validation.predictions.runs import MACHINE, Effort

__all__ = ["Piece", "host_pieces", "simulated_pieces"]

ONE_LINE = "One line there and back"
LINES = "Messages of many lines"
READERS = "Readers of one line"
LONG = "Long messages"
STATES = ("E", "I")


@dataclass(frozen=True)
class Piece:
    """A time that a model gives with several sets of constants, and what ran. ns, or GB/s.

    ``modelled``: by the name of the set, ``None`` where it lacks a constant; ``published``: printed by the paper as
    measured; ``observed``: ``kind``, ``simulated`` or ``measured``.
    """

    group: str
    name: str
    equation: str
    modelled: dict[str, float | None]
    published: float | None
    observed: float
    kind: str
    unit: str = "ns"

    def error(self, constants: str) -> float | None:
        """Modelled / observed - 1."""
        value = self.modelled.get(constants)
        return None if value is None else value / self.observed - 1

    def to_dict(self) -> dict[str, Any]:
        errors = {f"error, {name}": self.error(name) for name in self.modelled}
        return {**vars(self), "modelled": dict(self.modelled), **errors}


def by_each(models: dict[str, MachineModel], of: Callable[[MachineModel], float]) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for name, model in models.items():
        try:
            found[name] = float(of(model))
        except ArgumentError:  # a constant that the model does not have, or has no range for
            found[name] = None
    return found


def simulated_pieces(
    models: dict[str, MachineModel], effort: Effort, executor: Executor, machine: str = MACHINE
) -> list[Piece]:
    """Every piece on a simulated Xeon Phi; samples are spread over up to ten seeds."""
    seeds = range(1, min(10, effort.seeds) + 1)
    few = max(4, effort.samples // len(seeds))

    def pooled(of: Callable[..., np.ndarray], *arguments: Any, samples: int = few, **named: Any) -> list[Any]:
        return [
            executor.submit(of, *arguments, machine=machine, samples=samples, seed=seed, **named)
            for seed in seeds
        ]

    jobs: list[tuple[list[Any], Callable[[np.ndarray], Piece]]] = []

    def add(futures: list[Any], make: Callable[[float], Piece]) -> None:
        jobs.append((futures, lambda values, make=make: make(float(values.mean()))))

    for send, receive in (("M", "M"), ("E", "E"), ("E", "S"), ("I", "E")):
        overhead = OVERHEADS[MACHINE]["middle"]["I" if send == "I" else "C", receive][0]
        own = (
            send != "I" and receive != "S"
        )  # a model's overhead is that of other lines; the paper has one for each
        told = by_each(models if own else {"published": models["published"]},
                       lambda m, s=send, r=receive, o=None if own else overhead: single_line(m, s, r, overhead=o))  # fmt: skip
        told = {name: told.get(name) for name in models}
        add(pooled(kernels.ping_pong, send, receive, "middle"),
            lambda v, told=told, s=send, r=receive: Piece(ONE_LINE, f"{s} to {r}, middle distance", "2.1, 2.19, 2.20", told,
                                                          PHI_PING_PONG["middle"][s, r][0], v, "simulated"))  # fmt: skip
    for send in STATES:
        for receive in STATES:
            for n in (1, 2, 8, 32, 128):
                told = by_each(models, lambda m, n=n, s=send, r=receive: multi_line(m, n, s, r))
                add(pooled(kernels.multi_line, n, send, receive, samples=max(2, few // 4)),
                    lambda v, told=told, n=n, s=send, r=receive: Piece(LINES, f"{n} line{'s' * (n > 1)}, {s} to {r}", "3.1", told, None, v,
                                                                       "simulated"))  # fmt: skip
            for n in (1, 8, 30, 59):
                told = by_each(models, lambda m, n=n, s=send, r=receive: contention(m, n, s, r))
                add(pooled(kernels.contention, n, send, receive, samples=max(2, few // 8)),
                    lambda v, told=told, n=n, s=send, r=receive: Piece(READERS, f"{n} reader{'s' * (n > 1)}, {s}, {r}", "3.2, 3.3", told, None,
                                                                       v, "simulated"))  # fmt: skip
    for lines in (1024, 4096):
        told = by_each(models, lambda m, n=lines: bandwidth(m, n))
        futures = [executor.submit(kernels.multi_line, lines, "I", "I", machine=machine, samples=2, seed=1)]
        jobs.append((futures, lambda v, told=told, n=lines: Piece(LONG, f"{n * 64 // 1024} KiB, in memory", "A.1", told, None,
                                                                  float(64 * n / v.mean()), "simulated", "GB/s")))  # fmt: skip
    return [make(np.concatenate([np.ravel(f.result()) for f in futures])) for futures, make in jobs]


def host_pieces(
    models: dict[str, MachineModel], effort: Effort, sizes: Sequence[int] = (1, 3, 12, 48, 100)
) -> list[Piece]:
    """Messages between two threads of this host, at sizes of which most were not fitted: medians of up to 14 seeds'
    medians, those left out whose CPUs were one core."""
    found: list[Piece] = []
    many = max(20, effort.samples)
    near = 8 * float(np.median(kernels.read_latency("M", "local", samples=20)))

    def apart(seed: int) -> bool:
        """Whether the two CPUs are on two cores now; virtual CPUs may share one at times."""
        return float(np.median(kernels.read_latency("M", samples=10, seed=seed))) >= near

    def middle(of: Callable[..., np.ndarray], *arguments: Any, samples: int = many) -> float:
        medians = []
        for seed in range(1, 15):
            before = apart(seed)
            value = float(np.median(of(*arguments, samples=samples, seed=seed)))
            if before and apart(seed):
                medians.append(value)
        return float(np.median(medians)) if medians else float("nan")

    told = by_each(models, single_line)
    found.append(Piece(ONE_LINE, "E to E", "2.1", told, None, middle(kernels.ping_pong), "measured"))
    for n in sizes:
        told = by_each(models, lambda m, n=n: multi_line(m, n))
        seen = middle(kernels.multi_line, n)
        found.append(Piece(LINES, f"{n} line{'s' * (n > 1)}, E to E", "3.1", told, None, seen, "measured"))
    for lines in (1024, 16384):
        told = by_each(models, lambda m, n=lines: bandwidth(m, n))
        ns = middle(kernels.multi_line, lines, "I", "I", samples=5)
        found.append(
            Piece(
                LONG,
                f"{lines * 64 // 1024} KiB, in memory",
                "A.1",
                told,
                None,
                64 * lines / ns,
                "measured",
                "GB/s",
            )
        )
    return [piece for piece in found if np.isfinite(piece.observed)]
