"""What a tuning run found: its decisions, what they gained, and how near the model came."""

from __future__ import annotations

import html
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from phicoll.registry import short_spec
from phicoll.subject import size_text
from phicoll.tuning.decision import Decision
from phicoll.tuning.table import SMALL, Row, merged, thresholds

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Tuned", "rows_of"]


def rows_of(decisions: Sequence[Decision]) -> list[Row]:
    """The table's rows: each size speaks for those nearest to it, neighbours with the same choice are one row."""
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

    ``gain`` of the table over the rules, ``ideal`` of the best at each point over them (paper 001's ideal
    meta-algorithm), ``single`` of the one algorithm that is the best everywhere, over the rules.
    """

    operation: str
    mode: str
    points: int
    changed: int
    gain: float
    ideal: float
    single: str
    single_gain: float


@dataclass
class Tuned:
    """The result of :func:`phicoll.tune`. ``str`` is a report; ``text`` the table; ``path`` its file."""

    decisions: list[Decision]
    undecided: dict[str, str]
    text: str
    path: Path | None
    by: str
    interrupted: bool

    @property
    def rows(self) -> list[Row]:
        return rows_of(self.decisions)

    @property
    def gain(self) -> float:
        """Geometric mean of the table's gain over the built-in rules, over all points."""
        return geomean([decision.gain.median for decision in self.decisions])

    def summaries(self) -> list[Summary]:
        """One for each operation and mode. Source: paper 001 (Rodchenko et al. 2015), section 4."""
        groups: dict[tuple[str, str], list[Decision]] = defaultdict(list)
        for decision in self.decisions:
            groups[decision.point.operation, decision.point.mode].append(decision)
        found = []
        for (operation, mode), of in groups.items():
            everywhere = set.intersection(*(set(decision.ratios) for decision in of))
            means = {spec: geomean([1 / decision.ratios[spec] for decision in of]) for spec in everywhere}
            single = max(means, key=lambda spec: means[spec]) if means else ""
            found.append(
                Summary(
                    operation,
                    mode,
                    len(of),
                    sum(decision.spec != "auto" for decision in of),
                    geomean([decision.gain.median for decision in of]),
                    geomean([max(1.0, decision.best_gain.median) for decision in of]),
                    single,
                    means.get(single, 1.0),
                )
            )
        return found

    def model_losses(self) -> list[float]:
        """At each point where the model's choice was measured: its time over the measured best's, in even rounds."""
        return [
            max(1.0, decision.best_gain.median) / decision.model_gain.median
            for decision in self.decisions
            if decision.by != "model" and decision.model_gain is not None
        ]

    def model_losses_of_its_own(self) -> list[float]:
        """The same over the best of what the model knows: what it gets wrong, not what it has no equations for."""
        found = []
        for decision in self.decisions:
            known = [decision.ratios[spec] for spec in decision.modelled if spec in decision.ratios]
            if decision.by != "model" and decision.model in decision.ratios:
                found.append(decision.ratios[decision.model] / min(known))
        return found

    def to_dict(self) -> dict[str, Any]:
        """The object that ``phicoll tune --json`` prints."""
        losses = self.model_losses()
        return {
            "by": self.by,
            "interrupted": self.interrupted,
            "path": None if self.path is None else str(self.path),
            "gain": self.gain,
            "decisions": [decision.to_dict() for decision in self.decisions],
            "undecided": self.undecided,
            "summaries": [vars(summary) for summary in self.summaries()],
            "model": {
                "points": len(losses),
                "loss": geomean(losses) if losses else None,
                "loss_of_its_own": geomean(self.model_losses_of_its_own()) if losses else None,
                "alike": sum(bool(decision.alike) for decision in self.decisions),
                "modelled": sum(decision.alike is not None for decision in self.decisions),
            },
            "rows": [str(row) for row in self.rows],
        }

    def to_dataframe(self) -> pd.DataFrame:
        """A row for each decision."""
        import pandas as pd

        return pd.DataFrame(
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
        cells = [("operation", "ranks", "bytes", "rule", "takes", "times faster")]
        for decision in self.decisions:
            point = decision.point
            size = "" if point.operation == "barrier" else size_text(point.size)
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
        if self.by == "model":
            return []
        lines = ["  geometric means over the points, in times faster than the rules:"]
        for of in self.summaries():
            text = (
                f"    {of.operation} of {of.mode}: {of.gain:.3f} ({of.changed} of {of.points} points changed)"
            )
            text += f", the best at each point {of.ideal:.3f}"
            if of.single:
                text += (
                    f", the best one everywhere {of.single_gain:.3f}: {short_spec(of.operation, of.single)}"
                )
            lines.append(text)
        return lines

    def model_lines(self) -> list[str]:
        modelled = [decision for decision in self.decisions if decision.alike is not None]
        if not modelled:
            return []
        alike = sum(bool(decision.alike) for decision in modelled)
        lines = [f"  the model's least and largest times choose alike at {alike} of {len(modelled)} points"]
        losses = self.model_losses()
        if losses:
            lines.append(
                f"  the model's choice took {geomean(losses):.3f} times the measured best's time "
                f"(geometric mean over {len(losses)} points, at most {max(losses):.3f}), "
                f"{geomean(self.model_losses_of_its_own()):.3f} times that of the best that the model knows"
            )
        assumed = max(decision.assumed for decision in modelled)
        lines.append(f"  up to {assumed} of the constants in a prediction were assumed")
        return lines

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def geomean(values: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(values)))) if values else 1.0
