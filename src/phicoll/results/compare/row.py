"""A row of a comparison: one subject's summary."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from phicoll.results.compare.best import Ratio
from phicoll.results.compare.units import Estimate
from phicoll.results.reading.names import short_name
from phicoll.results.reading.subject import Subject

__all__ = ["Row"]


@dataclass(frozen=True)
class Row:
    """One subject's summary. Times are in ns; statistics are ``None`` if the subject is not verified.

    ``time`` is the median over the units with its exact interval; ``mean_ns``, ``p95_ns``, ``p99_ns`` and ``max_ns``
    are over the calls of a window or the samples of a loop; ``spread`` is the ratio of the 90th percentile of the
    samples to the 10th. ``lines`` and ``switches`` are medians of ratios to the
    probe of the same round; ``cycles`` are a simulated machine's.
    """

    subject: Subject
    verified: bool
    error: str | None
    samples: int
    calls: int
    launches: int
    capped: int
    late: int
    time: Estimate | None = None
    unit: str | None = None
    units: int = 0
    launch_share: float | None = None
    lines: Estimate | None = None
    switches: Estimate | None = None
    cycles: Estimate | None = None
    mean_ns: float | None = None
    spread: float | None = None
    p95_ns: float | None = None
    p99_ns: float | None = None
    max_ns: float | None = None
    #: The ratio to the best subject, or to the opponent that was given.
    ratio: Ratio | None = None
    chosen: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The algorithm with the parameters that differ from their defaults."""
        return short_name(self.subject)

    @property
    def ratio_to_best(self) -> Ratio | None:
        """The ratio, unless it is one to an opponent that was given."""
        return self.ratio if self.ratio is not None and self.ratio.chosen else None

    @property
    def ratio_to_opponent(self) -> Ratio | None:
        """The ratio, if the opponent was given."""
        return self.ratio if self.ratio is not None and not self.ratio.chosen else None

    @property
    def in_units(self) -> Estimate | None:
        """The estimate in the subject's unit: lines, or switches if ranks share a CPU; simulated cycles."""
        if self.subject.simulated:
            return self.cycles
        return self.switches if self.subject.oversubscribed else self.lines

    @property
    def gigabytes_a_second(self) -> float | None:
        """The size over the median time, in 1e9 bytes a second; ``None`` where no data moves."""
        size = self.subject.size_bytes
        return size / self.time.median if size and self.time and self.time.median > 0 else None

    def to_dict(self) -> dict[str, Any]:
        """The row as ``phicoll compare --json`` prints it (docs/cli.md lists the fields)."""
        subject = self.subject
        return {
            "operation": subject.operation,
            "algorithm": subject.algorithm,
            "parameters": json.loads(subject.parameters),
            "spec": subject.spec,
            "origin": subject.origin,
            "source": subject.source,
            "wait": subject.wait,
            "store": subject.store,
            "mode": subject.mode,
            "machine": subject.machine,
            "ranks": subject.ranks,
            "cpus": json.loads(subject.cpus),
            "placement": subject.placement,
            "oversubscribed": subject.oversubscribed,
            "size_bytes": subject.size_bytes,
            "buffers": subject.buffers,
            "type": subject.type,
            "op": subject.op,
            "definition": subject.definition,
            "delay_ns": subject.delay_ns,
            "imbalance_ns": subject.imbalance_ns,
            "start": subject.start,
            "label": subject.label,
            "chosen": self.chosen,
            "verified": self.verified,
            "error": self.error,
            "samples": self.samples,
            "calls": self.calls,
            "launches": self.launches,
            "capped": self.capped,
            "late": self.late,
            "unit": self.unit,
            "units": self.units,
            "launch_share": self.launch_share,
            **spread("ns", self.time),
            "confidence": self.time.confidence if self.time else None,
            "mean_ns": self.mean_ns,
            "spread": self.spread,
            "p95_ns": self.p95_ns,
            "p99_ns": self.p99_ns,
            "max_ns": self.max_ns,
            **spread("lines", self.lines),
            **spread("switches", self.switches),
            **spread("cycles", self.cycles),
            "gigabytes_a_second": self.gigabytes_a_second,
            "ratio_to_best": self.ratio_to_best.to_dict() if self.ratio_to_best else None,
            "ratio_to_opponent": self.ratio_to_opponent.to_dict() if self.ratio_to_opponent else None,
            "notes": list(self.notes),
        }


def spread(unit: str, found: Estimate | None) -> dict[str, float | None]:
    if found is None:
        return {f"median_{unit}": None, f"low_{unit}": None, f"high_{unit}": None}
    return {f"median_{unit}": found.median, f"low_{unit}": found.low, f"high_{unit}": found.high}
