"""Regressions: is anything slower in a new run than in an older one, by more than the two runs can resolve?

The runs share no rounds. Their ratio is one of medians in the machine's unit (lines, or switches if ranks share a CPU),
which removes the speed of cache lines at the time. Its interval combines the two exact intervals, each at confidence
sqrt(level), and is never too narrow.

If the unit changed by more than a factor of two, a
ratio counts only as far as it exceeds that factor.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from phicoll.errors import ArgumentError
from phicoll.foundations.streams import printable
from phicoll.registry.algorithms import short_spec
from phicoll.results.compare.units import CONFIDENCE, Estimate, Units, estimate, units_of
from phicoll.results.reading.observations import Observation
from phicoll.results.reading.subject import Subject

if TYPE_CHECKING:
    from phicoll.results.reading.recorded import Recorded

__all__ = ["THRESHOLD", "Regression", "check_threshold", "compare_with_baseline"]

THRESHOLD = 1.10
MOST_SHIFT = 2.0


def check_threshold(value: float, argument: str = "threshold") -> float:
    """Check the ratio above which a resolved slowdown is a regression."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise ArgumentError(argument, repr(value), "a ratio above 0, such as 1.10")
    return value


@dataclass(frozen=True)
class Regression:
    """One subject in both runs. ``ratio`` is new / old, above 1 slower, in lines, switches or (without probe) ns."""

    subject: Subject
    unit: str
    ratio: float
    low: float
    high: float
    threshold: float
    enough: bool
    new: float
    old: float
    unit_ns: float | None = None
    old_unit_ns: float | None = None

    @property
    def shift(self) -> float:
        """The factor by which the machine's unit changed, up or down; 1 if unknown or within the usual range."""
        if not self.unit_ns or not self.old_unit_ns:
            return 1.0
        shift = max(self.unit_ns / self.old_unit_ns, self.old_unit_ns / self.unit_ns)
        return shift if shift > MOST_SHIFT else 1.0

    @property
    def regressed(self) -> bool:
        """Whether the whole interval lies above the threshold."""
        return self.enough and self.low > self.threshold * self.shift

    @property
    def improved(self) -> bool:
        """Whether the whole interval lies below 1 / threshold."""
        return self.enough and self.high < 1 / (self.threshold * self.shift)

    @property
    def unchanged(self) -> bool:
        """Whether the whole interval lies between 1 / threshold and threshold."""
        return self.enough and 1 / self.threshold <= self.low and self.high <= self.threshold

    @property
    def verdict(self) -> str:
        """``slower``, ``faster``, ``unchanged``, ``no regression resolved``, or why there is no verdict."""
        if self.regressed:
            return "slower"
        if self.improved:
            return "faster"
        if not self.enough:
            return "too few units"
        if self.unchanged:
            return "unchanged"
        if self.shift > 1 and not 1 / self.threshold <= self.ratio <= self.threshold:
            return f"not comparable: one of the {self.unit} took {self.old_unit_ns:.0f} ns, now {self.unit_ns:.0f}"
        return "no regression resolved"

    def to_dict(self) -> dict[str, Any]:
        """The regression as ``phicoll compare --baseline --json`` prints it."""
        subject = self.subject
        return {
            "operation": subject.operation,
            "algorithm": subject.algorithm,
            "spec": subject.spec,
            "mode": subject.mode,
            "machine": subject.machine,
            "ranks": subject.ranks,
            "size_bytes": subject.size_bytes,
            "buffers": subject.buffers,
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
            "unit_ns": self.unit_ns,
            "old_unit_ns": self.old_unit_ns,
        }

    def __str__(self) -> str:
        return printable(
            f"{self.subject.spec} ({self.subject.title()}): {self.ratio:.2f} times the baseline in {self.unit} "
            f"[{self.low:.2f}, {self.high:.2f}], {self.verdict} (threshold {self.threshold:g})",
            one_line=True,
        )


def compare_with_baseline(new: Recorded, old: Recorded, threshold: float = THRESHOLD) -> list[Regression]:
    """Compare every subject that is verified in both results.

    Parameters
    ----------
    new, old:
        The results of the two runs.
    threshold:
        The ratio above which a resolved difference is a regression.

    Returns
    -------
    list of Regression
        In the order of ``new``; the intervals hold jointly at 95 % (Bonferroni over the list).
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
        unit_ns = None if unit == "ns" else (ns_of_unit(of), ns_of_unit(before))
        found.append(regression(subject, unit, now, then, threshold, unit_ns))
    return found


def key_of(subject: Subject) -> tuple[Any, ...]:
    """What must be equal in both runs: the algorithm and the setting except for the CPUs.

    The older run may not know parameters that came since, so those with default values do not count.
    """
    cpus = subject.setting.index(subject.cpus)
    setting = subject.setting[:cpus] + subject.setting[cpus + 1 :]
    spec = short_spec(subject.operation, subject.spec)
    return (*setting, spec, subject.wait, subject.store)


def in_unit(of: Sequence[Observation]) -> Units | None:
    pairs = [(value, o.launch_key) for o in of if (value := o.in_units) is not None]
    return units_of([value for value, _ in pairs], [launch for _, launch in pairs]) if pairs else None


def ns_of_unit(of: Sequence[Observation]) -> float:
    """The median time of a line or a switch in these rounds, in ns."""
    return statistics.median(o.ns / value for o in of if (value := o.in_units))


def in_ns(of: Sequence[Observation]) -> Units:
    return units_of([o.ns for o in of], [o.launch_key for o in of])


def regression(
    subject: Subject,
    unit: str,
    now: Estimate,
    then: Estimate,
    threshold: float,
    unit_ns: tuple[float, float] | None,
) -> Regression:
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
        unit_ns=unit_ns[0] if unit_ns else None,
        old_unit_ns=unit_ns[1] if unit_ns else None,
    )
