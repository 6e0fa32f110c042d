"""A subject's samples beside a model's band, and the order of several subjects, predicted and observed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from phicoll.errors import ArgumentError
from phicoll.models.equations.checks import check_choice
from phicoll.models.predict import Prediction
from phicoll.results.reading.names import short_name

if TYPE_CHECKING:
    from phicoll.results.reading.subject import Subject

__all__ = ["Compared", "Order", "kendall_tau"]


@dataclass(frozen=True)
class Compared:
    """One subject's samples on its band. Times in ns; ``samples`` are single calls, of a measured loop its means."""

    subject: Subject
    spec: str  #: as it ran: the levels and ways that were in effect
    prediction: Prediction
    samples: NDArray[np.float64]

    @property
    def name(self) -> str:
        """The algorithm with those parameters that are not its defaults, as it was asked for."""
        return short_name(self.subject)

    @property
    def kind(self) -> str:
        """``simulated`` or ``measured``."""
        return "simulated" if self.subject.simulated else "measured"

    @property
    def median(self) -> float:
        """Median of the samples, ns."""
        return float(np.median(self.samples))

    @property
    def inside(self) -> float:
        """Share of the samples inside the band, its ends included."""
        low, high = self.prediction.low_ns, self.prediction.high_ns
        return float(np.mean((self.samples >= low) & (self.samples <= high)))

    @property
    def below(self) -> float:
        """Share of the samples below the minimum."""
        return float(np.mean(self.samples < self.prediction.low_ns))

    @property
    def above(self) -> float:
        """Share above the maximum."""
        return float(np.mean(self.samples > self.prediction.high_ns))

    @property
    def over_low(self) -> float:
        """The median over the band's lower end: below 1 it was faster than the model's best case."""
        return self.median / self.prediction.low_ns

    @property
    def over_high(self) -> float:
        """The median over the upper end: above 1 it was slower than the worst case."""
        return self.median / self.prediction.high_ns

    @property
    def setting(self) -> tuple[Any, ...]:
        """What algorithms that can be put in order have in common."""
        return self.subject.setting

    def to_dict(self) -> dict[str, Any]:
        """The row as plain objects."""
        s, p = self.subject, self.prediction
        return {
            "operation": s.operation,
            "algorithm": s.algorithm,
            "name": self.name,
            "spec": self.spec,
            "kind": self.kind,
            **place(s),
            "buffers": s.buffers,
            "samples": len(self.samples),
            "median_ns": self.median,
            "low_ns": p.low_ns,
            "high_ns": p.high_ns,
            "inside": self.inside,
            "below": self.below,
            "above": self.above,
            "median_over_low": self.over_low,
            "median_over_high": self.over_high,
            "constants": len(p.used),
            "assumed": len(p.assumed),
            "assumed_names": ", ".join(p.assumed),
            "source": p.source,
        }


@dataclass(frozen=True)
class Order:
    """Algorithms of one setting, as predicted and as they ran; ``rows`` are in order of their medians."""

    rows: tuple[Compared, ...]

    @property
    def observed(self) -> tuple[str, ...]:
        """Names by their medians."""
        return tuple(row.name for row in self.rows)

    def predicted(self, by: str = "low") -> tuple[str, ...]:
        """Names in the order of the band's ``low`` or ``high`` end; the other end breaks ties."""
        return tuple(row.name for row in sorted(self.rows, key=lambda row: ends(row, by)))

    def tau(self, by: str = "low") -> float:
        """Kendall's tau-b between prediction and medians: 1 the same order, -1 the reverse; NaN where all are alike."""
        return kendall_tau([end(row, by) for row in self.rows], [row.median for row in self.rows])

    def loss(self, by: str = "low") -> float:
        """The loss from taking the predicted best: its median / the best median - 1."""
        chosen = min(self.rows, key=lambda row: ends(row, by))
        return chosen.median / self.rows[0].median - 1

    def to_dict(self) -> dict[str, Any]:
        """The order as plain objects."""
        s = self.rows[0].subject
        return {
            "operation": s.operation,
            "kind": self.rows[0].kind,
            **place(s),
            "algorithms": len(self.rows),
            "tau_low": self.tau("low"),
            "tau_high": self.tau("high"),
            "loss_low": self.loss("low"),
            "loss_high": self.loss("high"),
            "observed": " < ".join(self.observed),
            "predicted": " < ".join(self.predicted()),
        }


def place(subject: Subject) -> dict[str, Any]:
    """A subject's setting as columns of a table."""
    names = ("mode", "machine", "ranks", "size_bytes", "definition", "start")
    return {name: getattr(subject, name) for name in names}


def end(row: Compared, by: str) -> float:
    check_choice("by", by, ("low", "high"))
    return row.prediction.low_ns if by == "low" else row.prediction.high_ns


def ends(row: Compared, by: str) -> tuple[float, float]:
    return end(row, by), end(row, "high" if by == "low" else "low")


def kendall_tau(first: Sequence[float], second: Sequence[float]) -> float:
    """Kendall's tau-b of two lists of the same length; NaN where one of them has but one value."""
    a, b = np.asarray(first, float), np.asarray(second, float)
    if a.shape != b.shape or a.ndim != 1:
        raise ArgumentError("second", f"shape {b.shape}", f"the first's, {a.shape}")
    left, right = (np.sign(v[:, None] - v[None, :])[np.triu_indices(len(v), 1)] for v in (a, b))
    norm = float(np.sqrt(np.sum(left != 0) * np.sum(right != 0)))
    return float(np.sum(left * right)) / norm if norm else float("nan")
