"""Paper 001's summary: one number per algorithm over all thread counts, and the best that a choice could reach.

Source: paper 001 (Rodchenko et al. 2015), section 4. An algorithm's number is the geometric mean of its overhead over
the thread counts. The best and worst lines are geometric means of the best and worst overhead at each count; the ideal
meta-algorithm takes the best at each count.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from phicoll.foundations.extras import data_frame
from phicoll.foundations.html_table import preformatted
from phicoll.foundations.streams import printable
from phicoll.registry import short_spec
from phicoll.results.compare.table import Comparison, Row

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Ideal", "Summary", "SummaryRow", "summarise"]


@dataclass(frozen=True)
class SummaryRow:
    """One algorithm over all rank counts. ``loss`` is its geometric mean divided by the ideal meta-algorithm's."""

    spec: str
    geomean_ns: float
    loss: float
    by_ranks: dict[int, float]


@dataclass(frozen=True)
class Ideal:
    """The best algorithm at one rank count."""

    ranks: int
    spec: str
    best_ns: float
    worst_ns: float


@dataclass
class Summary(Sequence[SummaryRow]):
    """The summary of one mode, definition and label, over the rank counts that every row has."""

    title: str
    ranks: list[int]
    operation: str = "barrier"
    rows: list[SummaryRow] = field(default_factory=list)
    ideal: list[Ideal] = field(default_factory=list)
    #: Algorithms that were not measured, or not verified, at every rank count.
    incomplete: list[str] = field(default_factory=list)

    @property
    def ideal_ns(self) -> float:
        """Geometric mean of the best overhead at each rank count (the paper's green line)."""
        return geomean([at.best_ns for at in self.ideal])

    @property
    def worst_ns(self) -> float:
        """Geometric mean of the worst overhead at each rank count (the paper's red line)."""
        return geomean([at.worst_ns for at in self.ideal])

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def __iter__(self) -> Iterator[SummaryRow]:
        return iter(self.rows)

    def to_dict(self) -> dict[str, Any]:
        """The summary as ``phicoll compare --summary --json`` prints it."""
        return {
            "title": self.title,
            "ranks": self.ranks,
            "ideal_geomean_ns": self.ideal_ns,
            "worst_geomean_ns": self.worst_ns,
            "ideal": [
                {"ranks": at.ranks, "best": at.spec, "best_ns": at.best_ns, "worst_ns": at.worst_ns}
                for at in self.ideal
            ],
            "algorithms": [
                {
                    "spec": row.spec,
                    "geomean_ns": row.geomean_ns,
                    "loss": row.loss,
                    "median_ns": {str(ranks): ns for ranks, ns in row.by_ranks.items()},
                }
                for row in self.rows
            ],
            "incomplete": self.incomplete,
        }

    def to_dataframe(self) -> pd.DataFrame:
        """A DataFrame with a row per algorithm and a column per rank count."""
        return data_frame(
            [{"spec": r.spec, "geomean_ns": r.geomean_ns, "loss": r.loss, **r.by_ranks} for r in self.rows]
        )

    def __str__(self) -> str:
        counts = ", ".join(map(str, self.ranks))
        short = functools.partial(short_spec, self.operation)
        lines = [f"{self.title}: geometric mean over {counts} ranks"]
        width = max([len(short(row.spec)) for row in self.rows] + [20])
        lines.append(f"  {'ideal meta-algorithm'.ljust(width)}  {self.ideal_ns:10,.0f} ns")
        lines += [
            f"  {short(row.spec).ljust(width)}  {row.geomean_ns:10,.0f} ns  {row.loss:6.2f} x"
            for row in self.rows
        ]
        lines.append(f"  {'worst at each count'.ljust(width)}  {self.worst_ns:10,.0f} ns")
        lines += [
            f"  at {at.ranks} ranks the best is {short(at.spec)} ({at.best_ns:,.0f} ns)" for at in self.ideal
        ]
        if self.incomplete:
            lines.append(f"  not at every count: {', '.join(map(short, self.incomplete))}")
        return printable("\n".join(lines))

    def _repr_html_(self) -> str:
        return preformatted(str(self))


def geomean(values: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(np.maximum(values, 1e-3)))))


def summarise(comparison: Comparison, references: bool = True) -> list[Summary]:
    """Summarise a comparison: one summary per setting, in which only the rank count varies.

    Parameters
    ----------
    comparison:
        A comparison of ``Results.compare()``.
    references:
        Whether to include the references from other systems.
    """
    families: dict[tuple[Any, ...], list[Row]] = {}
    for row in comparison.rows:
        subject = row.subject
        if subject.origin == "reference" and not references:
            continue
        families.setdefault(
            (
                subject.operation,
                subject.mode,
                subject.machine,
                subject.size_bytes,
                subject.buffers,
                subject.type,
                subject.op,
                subject.placement,
                subject.definition,
                subject.delay_ns,
                subject.imbalance_ns,
                subject.start,
                subject.label or "",
            ),
            [],
        ).append(row)
    return [summarise_family(rows) for _, rows in sorted(families.items(), key=lambda item: item[0])]


def summarise_family(rows: Sequence[Row]) -> Summary:
    subject = rows[0].subject
    words = [subject.operation, subject.mode, subject.definition]
    if subject.data:
        words.insert(1, subject.data)
    if subject.machine != "host":
        words.append(subject.machine)
    if subject.label:
        words.append(subject.label)
    medians: dict[str, dict[int, float]] = {}
    names = {row.subject.spec: None for row in rows}
    for row in rows:
        if row.verified and row.time is not None:
            medians.setdefault(row.subject.spec, {})[row.subject.ranks] = row.time.median
    ranks = sorted({count for by in medians.values() for count in by})
    complete = {spec: by for spec, by in medians.items() if len(by) == len(ranks)}
    summary = Summary(
        ", ".join(words),
        ranks,
        subject.operation,
        incomplete=sorted(spec for spec in names if spec not in complete),
    )
    for count in ranks:
        at = {spec: by[count] for spec, by in medians.items() if count in by}
        best = min(at, key=lambda spec: at[spec])
        summary.ideal.append(Ideal(count, best, at[best], max(at.values())))
    for spec, by in complete.items():
        value = geomean([by[count] for count in ranks])
        summary.rows.append(SummaryRow(spec, value, value / summary.ideal_ns, dict(sorted(by.items()))))
    summary.rows.sort(key=lambda row: (row.geomean_ns, row.spec))
    return summary
