"""The result of a tuning run: its decisions, their gains, and how close the model came."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from phicoll.foundations.extras import data_frame
from phicoll.foundations.html_table import preformatted
from phicoll.models.tuning.decision import Decision, Gain
from phicoll.models.tuning.table import SMALL, Row, merged, thresholds
from phicoll.registry import moves_data, short_spec
from phicoll.results.reading.subject import size_text

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Tuned", "rows_of"]


def rows_of(decisions: Sequence[Decision]) -> list[Row]:
    """The table's rows. Each size stands for those nearest to it; neighbours with the same choice share a row."""
    groups: dict[tuple[str, str, int, int], list[Decision]] = defaultdict(list)
    for decision in decisions:
        point = decision.point
        groups[point.operation, point.mode, point.ranks, point.cpus].append(decision)
    rows = []
    for group, of in groups.items():
        of.sort(key=lambda decision: decision.point.size)
        if of[0].point.size > SMALL:
            rows.append(Row(*group, 0, "auto", f"not tuned below {size_text(of[0].point.size // 2)}"))
        starts = thresholds([decision.point.size for decision in of])
        rows += [
            Row(*group, start, decision.spec, decision.comment())
            for start, decision in zip(starts, of, strict=True)
        ]
    return merged(rows)


@dataclass(frozen=True)
class Summary:
    """Geometric means over the points of one operation and mode.

    ``gain`` is the table's gain over the rules: at each point the best's where it was resolved to be faster, otherwise
    1. This is paper 001's ideal meta-algorithm, as far as differences were resolved. ``single_gain`` is the gain over
    the rules, on even rounds, of ``single``: the one that is best everywhere by odd rounds.
    """

    operation: str
    mode: str
    points: int
    changed: int
    gain: float
    single: str
    single_gain: float


@dataclass
class Tuned:
    """The result of :func:`phicoll.tune`. ``str()`` gives a report; ``text`` is the table, ``path`` its file."""

    decisions: list[Decision]
    undecided: dict[str, str]
    text: str
    path: Path | None
    by: str
    interrupted: bool

    @property
    def rows(self) -> list[Row]:
        """The table's rows."""
        return rows_of(self.decisions)

    @property
    def gain(self) -> float:
        """Geometric mean of the table's gain over the built-in rules, over all points."""
        return geomean([decision.gain.median for decision in self.decisions])

    def summaries(self) -> list[Summary]:
        """A summary for each operation and mode. Source: paper 001 (Rodchenko et al. 2015), section 4."""
        groups: dict[tuple[str, str], list[Decision]] = defaultdict(list)
        for decision in self.decisions:
            groups[decision.point.operation, decision.point.mode].append(decision)
        found = []
        for (operation, mode), of in groups.items():
            everywhere = set.intersection(*(set(one.ratios) & set(one.odd_ratios) for one in of))
            odd = {spec: geomean([decision.odd_ratios[spec] for decision in of]) for spec in everywhere}
            single = min(sorted(odd), key=lambda spec: odd[spec]) if odd else ""
            found.append(
                Summary(
                    operation,
                    mode,
                    len(of),
                    sum(decision.spec != "auto" for decision in of),
                    geomean([decision.gain.median for decision in of]),
                    single,
                    geomean([1 / decision.ratios[single] for decision in of]) if single else 1.0,
                )
            )
        return found

    def model_losses(self) -> list[Gain]:
        """The time of the model's choice over the measured best's, at each point where the choice was measured."""
        return [one.model_loss for one in self.decisions if one.model_loss is not None]

    def model_losses_of_its_own(self) -> list[Gain]:
        """The same over the best that the model knows: without the algorithms that it has no equations for."""
        return [one.model_loss_of_its_own for one in self.decisions if one.model_loss_of_its_own is not None]

    def to_dict(self) -> dict[str, Any]:
        """The object that ``phicoll tune --json`` prints."""
        losses = resolved(self.model_losses())
        own = resolved(self.model_losses_of_its_own())
        return {
            "by": self.by,
            "interrupted": self.interrupted,
            "path": None if self.path is None else str(self.path),
            "gain": self.gain,
            "decisions": [decision.to_dict() for decision in self.decisions],
            "undecided": self.undecided,
            "summaries": [vars(summary) for summary in self.summaries()],
            "model": {
                "points": len(self.model_losses()),
                "resolved": len(losses),
                "loss": geomean(losses) if losses else None,
                "resolved_of_its_own": len(own),
                "loss_of_its_own": geomean(own) if own else None,
                "alike": sum(bool(decision.alike) for decision in self.decisions),
                "modelled": sum(decision.alike is not None for decision in self.decisions),
            },
            "rows": [str(row) for row in self.rows],
        }

    def to_dataframe(self) -> pd.DataFrame:
        """A table with a row for each decision."""
        return data_frame(
            {
                **vars(decision.point),
                "rule": decision.rule,
                "rule_ns": decision.rule_ns,
                "spec": decision.spec,
                "gain": decision.gain.median,
                "gain_low": decision.gain.low,
                "gain_high": decision.gain.high,
                "best": decision.best,
                "best_gain": decision.best_gain.median,
                "model": decision.model,
                "by": decision.by,
            }
            for decision in self.decisions
        )

    def __str__(self) -> str:
        lines = [
            f"tuned by {self.by}: {len(self.decisions)} decisions" + (", interrupted" * self.interrupted)
        ]
        if self.decisions:
            lines += self.table_lines() + self.summary_lines() + self.model_lines()
        lines += [f"  undecided: {title}: {reason}" for title, reason in self.undecided.items()]
        if self.path is not None:
            lines.append(f"  wrote {self.path}; PHICOLL_TUNING={self.path} uses it")
        return "\n".join(lines)

    def table_lines(self) -> list[str]:
        """The decisions as lines of a table."""
        cells = [("operation", "ranks", "bytes", "rule", "takes", "times faster")]
        for decision in self.decisions:
            point = decision.point
            size = size_text(point.size) if moves_data(point.operation) else ""
            taken = "the rule" if decision.spec == "auto" else short_spec(point.operation, decision.spec)
            gain = "" if decision.spec == "auto" else str(decision.gain)
            if decision.by == "model" and gain:
                gain = f"{decision.gain.median:.2f}, the model says"
            elif decision.rule_unknown:
                gain = "the model does not know the rule"
            group = f"{point.ranks}/{point.cpus} {point.mode}"
            rule = short_spec(point.operation, decision.rule)
            cells.append((point.operation, group, size, rule, taken, gain))
        widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
        return [
            ("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))).rstrip()
            for row in cells
        ]

    def summary_lines(self) -> list[str]:
        """The table's gain by operation and mode, as lines of text."""
        if self.by == "model":
            return []
        lines = ["  geometric means over the points, in times faster than the rules:"]
        for of in self.summaries():
            text = (
                f"    {of.operation} of {of.mode}: {of.gain:.3f} ({of.changed} of {of.points} points changed)"
            )
            if of.single:
                text += (
                    f", the best one everywhere {of.single_gain:.3f}: {short_spec(of.operation, of.single)}"
                )
            lines.append(text)
        return lines

    def model_lines(self) -> list[str]:
        """What the model and the measurement decide alike, as lines of text."""
        modelled = [decision for decision in self.decisions if decision.alike is not None]
        if not modelled:
            return []
        alike = sum(bool(decision.alike) for decision in modelled)
        lines = [f"  the model's least and largest times choose alike at {alike} of {len(modelled)} points"]
        unknown = sum(decision.rule_unknown for decision in modelled)
        if unknown:
            lines.append(
                f"  the model does not know the rule's choice at {unknown} of them, where the rule stays"
            )
        lines += loss_lines(self.model_losses(), "the measured best")
        lines += loss_lines(self.model_losses_of_its_own(), "the best that the model knows")
        assumed = max(decision.assumed for decision in modelled)
        lines.append(f"  up to {assumed} of the constants in a prediction were assumed")
        return lines

    def _repr_html_(self) -> str:
        return preformatted(str(self))


def resolved(losses: Sequence[Gain]) -> list[float]:
    return [loss.median for loss in losses if loss.resolved]


def loss_lines(losses: Sequence[Gain], best: str) -> list[str]:
    """Compare the model's choice with ``best``. Only resolved differences count."""
    if not losses:
        return []
    found = resolved(losses)
    if not found:
        return [f"  the model's choice and {best}: no difference was resolved at any of {len(losses)} points"]
    text = (
        f"  the model's choice took {geomean(found):.3f} times the time of {best} (geometric mean over the "
    )
    text += f"{len(found)} of {len(losses)} points where a difference was resolved, at most {max(found):.3f})"
    return [text]


def geomean(values: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(values)))) if values else 1.0
