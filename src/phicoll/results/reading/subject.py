"""The subject of a row of a comparison: one algorithm in one setting."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from phicoll.registry import moves_data

__all__ = ["Subject", "ranks_text", "size_text"]


@dataclass(frozen=True)
class Subject:
    """One algorithm with its parameters in one setting; equal subjects are summarised together.

    ``parameters`` and ``cpus`` are text, so that a subject is hashable. ``size_bytes`` is the size of the count
    argument; a barrier has 0, and no ``buffers``, ``type`` or ``op``. ``label`` is ``"remote"``, ``"same-core"`` or
    ``None`` (simulated), as docs/records.md defines it.
    """

    operation: str
    mode: str
    machine: str
    ranks: int
    size_bytes: int
    placement: str
    cpus: str
    oversubscribed: bool
    definition: str
    delay_ns: float
    imbalance_ns: float
    start: str
    label: str | None
    algorithm: str
    spec: str
    parameters: str
    wait: str
    store: str
    origin: str
    source: str
    machine_digest: str = ""
    buffers: str = ""
    type: str = ""
    op: str = ""

    @property
    def setting(self) -> tuple[Any, ...]:
        """Everything but the algorithm: subjects of one setting share their rounds and can be compared."""
        return (
            self.operation,
            self.mode,
            self.machine,
            self.machine_digest,
            self.ranks,
            self.size_bytes,
            self.placement,
            self.cpus,
            self.oversubscribed,
            self.definition,
            self.delay_ns,
            self.imbalance_ns,
            self.start,
            self.label or "",
            self.buffers,
            self.type,
            self.op,
        )

    @property
    def series(self) -> tuple[Any, ...]:
        """The setting but for the size: what a table over sizes has in common."""
        return replace(self, size_bytes=0).setting

    @property
    def simulated(self) -> bool:
        """Whether the times were simulated."""
        return self.mode == "simulated"

    @property
    def unit(self) -> str:
        """The machine's unit of time: ``switches`` if ranks share a CPU, else ``lines``; simulated ``cycles``."""
        if self.simulated:
            return "cycles"
        return "switches" if self.oversubscribed else "lines"

    @property
    def data(self) -> str:
        """Size and buffers in words, ``4 KB fresh``; empty where no data moves."""
        return f"{size_text(self.size_bytes)} {self.buffers}".rstrip() if moves_data(self.operation) else ""

    def title(self, size: bool = True) -> str:
        """The setting in words, with its size or without: the title of a table or panel."""
        ranks = f"{ranks_text(self.ranks)}, simulated" if self.simulated else f"{self.ranks} {self.mode}"
        words = [f"{self.operation}, {ranks}"]
        if self.machine != "host":
            words.append(self.machine)
        if self.simulated:
            words.append(self.placement)
        if self.data:
            words.append(self.data if size else self.buffers)
        if self.type:
            words.append(f"{self.type} {self.op}")
        words.append(self.definition)
        if self.delay_ns:
            words.append(f"delay {self.delay_ns:g} ns")
        if self.imbalance_ns:
            words.append(f"imbalance {self.imbalance_ns:g} ns")
        if self.start not in ("", "warm"):
            words.append(f"{self.start} start")
        cpus = json.loads(self.cpus)
        if cpus and not self.simulated:
            words.append("CPUs " + shorten(cpus))
        if self.label:
            words.append(self.label)
        return ", ".join(words)


def ranks_text(ranks: int) -> str:
    """A number of ranks as text: ``1 rank``, ``2 ranks``."""
    return f"{ranks} rank{'s' if ranks != 1 else ''}"


def size_text(size_bytes: int) -> str:
    """A size as text, ``8 B``, ``4 KB``, ``16 MB``, in the largest unit of 1,024 that divides it."""
    for shift, unit in ((30, "GB"), (20, "MB"), (10, "KB")):
        if size_bytes and size_bytes % (1 << shift) == 0:
            return f"{size_bytes >> shift} {unit}"
    return f"{size_bytes} B"


def shorten(cpus: list[int]) -> str:
    """``[0, 1, 0, 1, 0, 1]`` as ``0,1 x 3``; long lists end in dots."""
    for length in range(1, len(cpus)):
        if len(cpus) % length == 0 and cpus == cpus[:length] * (len(cpus) // length):
            return ",".join(map(str, cpus[:length])) + f" x {len(cpus) // length}"
    if len(cpus) > 8:
        return ",".join(map(str, cpus[:7])) + ",..."
    return ",".join(map(str, cpus))
