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
    """One launch of a subject. A sample is the mean over the measuring ranks in ns, without the stamps' own time."""

    subject: Subject
    round: int
    where: str
    ns: Array
    empty_ns: float  #: the time subtracted from each sample
    raw: KernelSamples | None = field(default=None, repr=False)  #: as the kernel gave them


@dataclass(frozen=True)
class Estimate:
    """A value in ns with its standard error (``None`` for one round) and the number of rounds."""

    value: float
    standard_error: float | None
    low: float  #: smallest round
    high: float
    rounds: int


@dataclass
class Observations:
    """Launches by subject, and the label of each round.

    ``simulated`` decides the statistic: a simulated launch's mean, as in the paper; a measured one's median, since
    other programs run too.
    """

    simulated: bool
    launches: dict[tuple[str, int], list[Launch]] = field(default_factory=lambda: defaultdict(list))
    labels: dict[int, str] = field(default_factory=dict)  #: of rounds: remote, same-core, mixed
    skipped: dict[str, str] = field(
        default_factory=dict
    )  #: subjects that cannot be measured, with the reason

    def add(self, launch: Launch) -> None:
        self.launches[launch.subject.name, launch.subject.n].append(launch)

    def statistic(self, ns: Array) -> float:
        return float(np.mean(ns)) if self.simulated else float(np.median(ns))

    def by_round(self, name: str, n: int = 1, label: str | None = "remote") -> dict[int, float]:
        """A value for each round of that label; of every round if it is ``None``."""
        return {
            launch.round: self.statistic(launch.ns)
            for launch in self.launches.get((name, n), [])
            if label is None or self.labels.get(launch.round) == label
        }

    def sizes(self, name: str) -> list[int]:
        """The n at which the subject was measured, in order."""
        return sorted(n for other, n in self.launches if other == name and self.by_round(name, n))

    def combined(
        self, names: Sequence[str], formula: Callable[..., float], label: str | None = "remote"
    ) -> dict[int, float]:
        """A formula of subjects (n = 1), computed within each round that has them all: drift between rounds cancels."""
        values = [self.by_round(name, label=label) for name in names]
        rounds = set.intersection(*map(set, values)) if values else set()
        return {r: formula(*(v[r] for v in values)) for r in sorted(rounds)}

    def estimate(self, by_round: dict[int, float]) -> Estimate | None:
        """The median of values by round (simulated: their mean) and its standard error. ``None`` without values.

        The error is the half width of the median's exact 95 % interval, divided by 1.96 (no normality is assumed). For
        few or simulated rounds it is their standard deviation, divided by the square root of their number.
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
        """For all samples of remote rounds: the value, half the distance of the 16 % and 84 % quantiles, the number."""
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
        """Relative width of the 95 % interval; infinite if there is none."""
        found = self.estimate(self.by_round(name))
        if found is None or found.standard_error is None or found.value <= 0:
            return math.inf
        return 2 * 1.96 * found.standard_error / found.value
