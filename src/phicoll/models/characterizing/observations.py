"""The results of a characterisation's launches, by subject and round."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

import phicoll._core as _core
from phicoll.explaining.kernels import KernelSamples
from phicoll.models.characterizing.plan import Subject
from phicoll.models.fits.clusters import Summary

__all__ = ["Estimate", "Launch", "Observations"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Launch:
    """One launch of a subject. A sample is the mean over the ranks that measured, ns, without the stamps' own time."""

    subject: Subject
    round: int
    where: str
    ns: Array
    empty_ns: float  #: what was taken off each sample
    raw: KernelSamples | None = field(default=None, repr=False)  #: as the kernel gave them


@dataclass(frozen=True)
class Estimate:
    """A value with its standard error (``None`` of one round) and the number of rounds; ns."""

    value: float
    standard_error: float | None
    low: float  #: smallest round
    high: float
    rounds: int


@dataclass
class Observations:
    """Launches by subject, and the label of each round.

    ``simulated`` decides the statistic: there a launch's mean, as the paper has it; its median where others run too.
    """

    simulated: bool
    launches: dict[tuple[str, int], list[Launch]] = field(default_factory=lambda: defaultdict(list))
    labels: dict[int, str] = field(default_factory=dict)  #: of rounds: remote, same-core, mixed
    skipped: dict[str, str] = field(default_factory=dict)  #: subjects that cannot be had, with the reason

    def add(self, launch: Launch) -> None:
        self.launches[launch.subject.name, launch.subject.n].append(launch)

    def statistic(self, ns: Array) -> float:
        return float(np.mean(ns)) if self.simulated else float(np.median(ns))

    def by_round(self, name: str, n: int = 1, label: str | None = "remote") -> dict[int, float]:
        """A value a round of that label; ``None``: of every round."""
        return {
            launch.round: self.statistic(launch.ns)
            for launch in self.launches.get((name, n), [])
            if label is None or self.labels.get(launch.round) == label
        }

    def sizes(self, name: str) -> list[int]:
        """The n that the subject was measured at, in order."""
        return sorted(n for other, n in self.launches if other == name and self.by_round(name, n))

    def combined(
        self, names: Sequence[str], formula: Callable[..., float], label: str | None = "remote"
    ) -> dict[int, float]:
        """A formula of subjects (n = 1), within each round that has them all: what drifts between rounds cancels."""
        values = [self.by_round(name, label=label) for name in names]
        rounds = set.intersection(*map(set, values)) if values else set()
        return {r: formula(*(v[r] for v in values)) for r in sorted(rounds)}

    def estimate(self, by_round: dict[int, float]) -> Estimate | None:
        """Of values by round: median (simulated: mean) and standard error. ``None`` without any.

        The error is the half width of the median's exact 95 % interval by 1.96 (no normality assumed), of few or
        simulated rounds their deviation by the root of their number.
        """
        if not by_round:
            return None
        values = np.array([by_round[r] for r in sorted(by_round)])
        value = self.statistic(values)
        error = None
        if values.size >= 6 and not self.simulated:
            low, high, coverage = _core.median_interval(values, 0.95)
            if coverage >= 0.9:
                error = (high - low) / (2 * 1.96)
        if error is None and values.size >= 2:
            error = float(values.std(ddof=1)) / math.sqrt(values.size)
        return Estimate(value, error, float(values.min()), float(values.max()), int(values.size))

    def summary(self, name: str) -> Summary | None:
        """Of all samples of remote rounds: the value, half of what lies between 16 % and 84 % of them, their number."""
        pooled = [
            launch.ns
            for launch in self.launches.get((name, 1), [])
            if self.labels.get(launch.round) == "remote"
        ]
        estimate = self.estimate(self.by_round(name))
        if estimate is None:
            return None
        samples = np.concatenate(pooled)
        low, high = np.percentile(samples, [16, 84])
        return Summary(estimate.value, float(high - low) / 2, int(samples.size))

    def width(self, name: str) -> float:
        """Relative width of the 95 % interval; infinite where there is none."""
        found = self.estimate(self.by_round(name))
        if found is None or found.standard_error is None or found.value <= 0:
            return math.inf
        return 2 * 1.96 * found.standard_error / found.value
