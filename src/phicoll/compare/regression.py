"""A new run against an older one: is anything slower, beyond what the two runs can resolve?

The two runs share no rounds, so their ratio is of medians in the machine's own unit (lines, or switches where ranks
share a CPU), which takes out how fast a cache line moved at the time. Its interval joins the two exact intervals, each
at a confidence of sqrt(level): it assumes nothing of the distributions and is wider than need be, never narrower.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from phicoll.compare.units import CONFIDENCE, Estimate, Units, estimate, units_of
from phicoll.observations import Observation
from phicoll.subject import Subject

if TYPE_CHECKING:
    from phicoll.results import Results

__all__ = ["Regression", "compare_with_baseline"]


@dataclass(frozen=True)
class Regression:
    """One subject in both runs. ``ratio`` is new over old, above 1 is slower; in lines, switches or (no probe) ns."""

    subject: Subject
    unit: str
    ratio: float
    low: float
    high: float
    threshold: float
    enough: bool
    new: float
    old: float

    @property
    def regressed(self) -> bool:
        """Resolved and above the threshold: the whole interval lies above it."""
        return self.enough and self.low > self.threshold

    @property
    def improved(self) -> bool:
        return self.enough and self.high < 1 / self.threshold

    @property
    def verdict(self) -> str:
        if self.regressed:
            return "slower"
        if self.improved:
            return "faster"
        if not self.enough:
            return "too few units"
        return "no regression resolved"

    def to_dict(self) -> dict[str, Any]:
        subject = self.subject
        return {
            "operation": subject.operation,
            "algorithm": subject.algorithm,
            "spec": subject.spec,
            "mode": subject.mode,
            "machine": subject.machine,
            "ranks": subject.ranks,
            "definition": subject.definition,
            "label": subject.label,
            "unit": self.unit,
            "ratio": self.ratio,
            "low": self.low,
            "high": self.high,
            "threshold": self.threshold,
            "verdict": self.verdict,
            "new": self.new,
            "old": self.old,
        }

    def __str__(self) -> str:
        return (
            f"{self.subject.spec} ({self.subject.title()}): {self.ratio:.2f} times the baseline in {self.unit} "
            f"[{self.low:.2f}, {self.high:.2f}], {self.verdict} (threshold {self.threshold:g})"
        )


def compare_with_baseline(new: Results, old: Results, threshold: float = 1.10) -> list[Regression]:
    """Compare every subject that both results have, verified.

    Parameters
    ----------
    new, old:
        Results of the two runs.
    threshold:
        Ratio above which a resolved difference is a regression; 1.10 by default.

    Returns
    -------
    list of Regression
        In the order of ``new``; the intervals hold together at 95 % (Bonferroni over the list).
    """
    pairs = []
    past = {key_of(s): of for s, of in old.observations.by_subject.items() if all(o.verified for o in of)}
    for subject, of in new.observations.by_subject.items():
        before = past.get(key_of(subject))
        if before is not None and all(o.verified for o in of):
            pairs.append((subject, of, before))
    found = []
    for subject, of, before in pairs:
        unit = subject.unit
        units = in_unit(of), in_unit(before)
        if units[0] is None or units[1] is None:
            unit = "ns"
            units = in_ns(of), in_ns(before)
        level = math.sqrt(1 - (1 - CONFIDENCE) / len(pairs))
        now, then = (estimate(u.values, level) for u in units if u is not None)
        found.append(regression(subject, unit, now, then, threshold))
    return found


def key_of(subject: Subject) -> tuple[Any, ...]:
    """What has to be equal in both runs: the setting, except for which CPUs it was, and the algorithm."""
    cpus = subject.setting.index(subject.cpus)
    setting = subject.setting[:cpus] + subject.setting[cpus + 1 :]
    return (*setting, subject.spec, subject.wait, subject.store)


def in_unit(of: Sequence[Observation]) -> Units | None:
    pairs = [(value, o.launch_key) for o in of if (value := o.in_units) is not None]
    return units_of([value for value, _ in pairs], [launch for _, launch in pairs]) if pairs else None


def in_ns(of: Sequence[Observation]) -> Units:
    return units_of([o.ns for o in of], [o.launch_key for o in of])


def regression(subject: Subject, unit: str, now: Estimate, then: Estimate, threshold: float) -> Regression:
    smallest = 1e-9
    return Regression(
        subject=subject,
        unit=unit,
        ratio=now.median / max(then.median, smallest),
        low=now.low / max(then.high, smallest),
        high=now.high / max(then.low, smallest),
        threshold=threshold,
        enough=now.enough and then.enough,
        new=now.median,
        old=then.median,
    )
