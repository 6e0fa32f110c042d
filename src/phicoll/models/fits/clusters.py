"""Welch's t-test, and clusters of line costs: ramos-hoefler-2013, sections 1.3.3 and 2.2.

>>> from phicoll.models.fits.clusters import Summary, cluster_costs, estimate, welch_test
>>> reads = {"R_L,M": Summary(8.6, 0.23, 5000), "R_R,M": Summary(234.7, 25.6, 5000), "R_R,S": Summary(233.4, 35, 5000)}
>>> [cluster.names for cluster in cluster_costs(reads)]
[('R_L,M',), ('R_R,S', 'R_R,M')]
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from phicoll.errors import ArgumentError
from phicoll.foundations.extras import extra
from phicoll.models.fits.forms import numbers_of

__all__ = ["Cluster", "Summary", "WelchTest", "cluster_costs", "estimate", "summary_of", "welch_test"]


@dataclass(frozen=True)
class Summary:
    """Mean, standard deviation (ns) and number of samples. ArgumentError: not finite, a deviation below 0, no
    sample."""

    mean: float
    deviation: float
    samples: int

    def __post_init__(self) -> None:
        if not math.isfinite(self.mean):
            raise ArgumentError("mean", repr(self.mean), "a finite number")
        if not (math.isfinite(self.deviation) and self.deviation >= 0):
            raise ArgumentError("deviation", repr(self.deviation), "a finite number, 0 or more")
        if self.samples < 1:
            raise ArgumentError("samples", repr(self.samples), "1 or more")


def summary_of(ns: ArrayLike) -> Summary:
    """The summary of samples in ns. ArgumentError: fewer than two, some not finite or negative."""
    samples = np.atleast_1d(numbers_of("ns", ns)).ravel()
    if samples.size < 2:
        raise ArgumentError("ns", f"{samples.size} samples", "two or more")
    if (samples < 0).any():
        raise ArgumentError("ns", f"{samples[samples < 0][0]:g}", "times, 0 or more")
    return Summary(float(samples.mean()), float(samples.std(ddof=1)), int(samples.size))


def estimate(*terms: Summary) -> Summary:
    """Sum of independent costs. Source: (2.2); as samples it counts those of the term that has the fewest."""
    if not terms:
        raise ArgumentError("terms", "none", "one cost or more")
    deviation = math.sqrt(sum(term.deviation**2 for term in terms))
    return Summary(sum(term.mean for term in terms), deviation, min(term.samples for term in terms))


@dataclass(frozen=True)
class WelchTest:
    """Whether two means differ. ``difference`` is the second less the first: an overhead is measured less estimated."""

    difference: float  #: ns
    standard_error: float  #: ns; (2.5)
    t: float  #: (2.3)
    degrees_of_freedom: float  #: (2.4)
    p_value: float  #: two-sided

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Confidence interval of the difference, ns."""
        with extra("models"):
            from scipy import stats

        if not 0 < level < 1:
            raise ArgumentError("level", repr(level), "between 0 and 1")
        half = float(stats.t.ppf((1 + level) / 2, self.degrees_of_freedom)) * self.standard_error
        return self.difference - half, self.difference + half


def welch_test(first: Summary, second: Summary) -> WelchTest:
    """Welch's t-test, for means of unequal variances. Source: (2.3) to (2.5).

    Raises
    ------
    ArgumentError
        A mean of one sample, or no deviation in both: nothing to judge a difference by.
    """
    with extra("models"):
        from scipy import stats

    for argument, one in (("first", first), ("second", second)):
        if one.samples < 2:
            raise ArgumentError(argument, "one sample", "two or more")
    a, b = (one.deviation**2 / one.samples for one in (first, second))
    if a + b == 0:
        raise ArgumentError("deviation", "0 in both", "samples that vary in at least one of them")
    error = math.sqrt(a + b)
    difference = second.mean - first.mean
    t = -difference / error
    freedom = (a + b) ** 2 / (a**2 / (first.samples - 1) + b**2 / (second.samples - 1))
    return WelchTest(difference, error, t, freedom, float(2 * stats.t.sf(abs(t), freedom)))


@dataclass(frozen=True)
class Cluster:
    """Costs that count as one: their names, cheapest first, the mean of their means, and the deviation of all
    samples."""

    names: tuple[str, ...]
    summary: Summary


def cluster_costs(costs: Mapping[str, Summary]) -> list[Cluster]:
    """The simplified model: costs whose means differ by less than the larger standard deviation are one.

    The nearest are joined first, and only into groups of which every two members are near. (Welch's test
    rejects
    nearly every equality at the paper's 5,000 samples, though it groups such costs.) Cheapest first.
    """
    if not costs:
        raise ArgumentError("costs", "none", "one cost or more, by name")
    groups: list[list[str]] = [[name] for name in sorted(costs, key=lambda name: costs[name].mean)]

    def gap(one: Sequence[str], other: Sequence[str]) -> float:
        """Largest difference of two members, or infinite if two of them are too far apart."""
        widest = 0.0
        for a in one:
            for b in other:
                difference = abs(costs[a].mean - costs[b].mean)
                if difference >= max(costs[a].deviation, costs[b].deviation) and difference > 0:
                    return math.inf
                widest = max(widest, difference)
        return widest

    while len(groups) > 1:
        pairs = [
            (gap(groups[i], groups[j]), i, j) for i in range(len(groups)) for j in range(i + 1, len(groups))
        ]
        nearest, i, j = min(pairs)
        if math.isinf(nearest):
            break
        groups[i] += groups.pop(j)
    clusters = [
        Cluster(tuple(sorted(group, key=lambda n: costs[n].mean)), pooled(costs, group)) for group in groups
    ]
    return sorted(clusters, key=lambda cluster: cluster.summary.mean)


def pooled(costs: Mapping[str, Summary], names: Sequence[str]) -> Summary:
    members = [costs[name] for name in names]
    samples = sum(one.samples for one in members)
    overall = sum(one.mean * one.samples for one in members) / samples
    squares = sum(one.samples * (one.deviation**2 + (one.mean - overall) ** 2) for one in members)
    mean = sum(one.mean for one in members) / len(members)
    return Summary(mean, math.sqrt(squares / samples), samples)
