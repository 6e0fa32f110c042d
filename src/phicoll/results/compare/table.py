"""The table of ``Results.compare()`` and ``phicoll compare``: one row per subject."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from phicoll.errors import ArgumentError
from phicoll.foundations.markup import Html, fill, join
from phicoll.foundations.nearest import near
from phicoll.foundations.streams import printable
from phicoll.results.compare.best import Ratio, ratios_to
from phicoll.results.compare.conditions import left_out, why_not_verified
from phicoll.results.compare.narrow import fitted, terminal_width
from phicoll.results.compare.row import Row
from phicoll.results.compare.shown import Shown, shown
from phicoll.results.compare.text import footer, wrapped
from phicoll.results.compare.units import Estimate, Units, estimate, units_of
from phicoll.results.reading.observations import Observation, Observations
from phicoll.results.reading.subject import Subject

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Comparison", "Row", "compare"]

LEAST_FOR_SPREAD = 10  # samples


@dataclass(repr=False)
class Comparison(Sequence[Row]):
    """Rows by setting, the best first. Displayed as a table in notebooks and terminals."""

    rows: list[Row] = field(default_factory=list)
    damaged_lines: int = 0
    orphans: int = 0
    #: Warnings about the machine during the runs.
    conditions: list[str] = field(default_factory=list)
    #: Subjects without samples because they were not verified, with the reasons.
    left_out: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def groups(self) -> list[tuple[str, list[Row]]]:
        """The rows of each setting, which can be compared with each other, with the setting's title."""
        found: dict[tuple[Any, ...], list[Row]] = {}
        for row in self.rows:
            found.setdefault(row.subject.setting, []).append(row)
        return [(rows[0].subject.title(), rows) for rows in found.values()]

    def best(self) -> Comparison:
        """The first verified row of each setting, as a comparison of its own."""
        return Comparison([row for _, rows in self.groups() for row in rows[:1] if row.verified])

    def to_list(self) -> list[dict[str, Any]]:
        """The rows as plain objects, as ``phicoll compare --json`` prints them."""
        return [row.to_dict() for row in self.rows]

    def to_json(self, indent: int | None = 2) -> str:
        """``to_list()`` as JSON text."""
        return json.dumps(self.to_list(), indent=indent)

    def to_dataframe(self) -> pd.DataFrame:
        """A DataFrame with one row per subject; the ratio's fields are the columns ``ratio_to_best_*``.

        To an opponent that was given they are ``ratio_to_opponent_*``.
        """
        from phicoll.results.reading.frames import frame_of

        flat = []
        given = any(row.ratio_to_opponent for row in self.rows)
        best = not given or any(row.ratio_to_best for row in self.rows)  # of settings that lack the opponent
        named = ["ratio_to_best"] * best + ["ratio_to_opponent"] * given
        for row in self.to_list():
            for to, opponent in (("ratio_to_best", "best"), ("ratio_to_opponent", "name")):
                ratio = row.pop(to)
                if to in named:
                    for name in ("median", "low", "high", opponent, "p_holm", "resolved"):
                        row[f"{to}_{name}"] = (ratio or {}).get(name)
            flat.append(row)
        return frame_of(flat).astype({f"{to}_resolved": "boolean" for to in named} if flat else {})

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self, show_all: bool = False) -> str:
        """The tables and their footer as plain text; long tables in full if ``show_all``.

        Where stdout is a terminal, rows are shortened and columns dropped until the tables fit it.
        """
        width, tables = terminal_width(), self.tables(show_all)
        if width is not None:
            tables = [fitted(table, width) for table in tables]
        parts = [line for table in tables for line in (*table.lines(width), "")] or ["no samples"]
        return printable("\n".join([*parts, *wrapped(self.footer(tables), width)]).rstrip())

    def tables(self, show_all: bool = False) -> list[Shown]:
        """What is shown: a table for each setting, or one over several sizes; long ones are cut unless ``show_all``."""
        return shown(self.groups(), show_all)

    def footer(self, tables: Sequence[Shown] | None = None) -> list[str]:
        """Explanations of the signs in the tables (those of ``tables()``), and warnings about their numbers."""
        heads = {head for table in (self.tables() if tables is None else tables) for head in table.heads}
        return [*footer(self.rows, self.damaged_lines, heads), *self.conditions, *self.left_out]

    __repr__ = __str__

    def _repr_html_(self) -> Html:
        parts = [table.html() for table in self.tables()]
        parts += [fill("<p><small>{}</small></p>", line) for line in self.footer()]
        return join("", parts) if parts else Html("<p>no samples</p>")


def compare(
    observations: Observations, points: Sequence[dict[str, Any]] = (), against: str | None = None
) -> Comparison:
    """Summarise every subject and compare those that share rounds.

    Parameters
    ----------
    observations:
        The observations that :func:`phicoll.results.reading.observations.observe` read from the records.
    points:
        Point records; those without samples are not shown, but told in the footer if they were not verified.
    against:
        A fixed opponent (canonical spec or name) instead of the best one.

    Raises
    ------
    ArgumentError
        ``against`` names no subject of the results.
    """
    settings: dict[tuple[Any, ...], dict[Subject, list[Observation]]] = {}
    for subject, of in observations.by_subject.items():
        settings.setdefault(subject.setting, {})[subject] = of
    if against is not None:
        known = sorted(
            {s.spec for s in observations.by_subject} | {s.algorithm for s in observations.by_subject}
        )
        if against not in known:
            raise ArgumentError(
                "against", repr(against), near(against, known) or "none, as there are no samples"
            )
    rows: list[Row] = []
    for _, members in sorted(settings.items(), key=lambda item: order_of(next(iter(item[1])))):
        verified = {s: of for s, of in members.items() if all(o.verified for o in of)}
        opponent = None
        if against is not None:
            opponent = next((s for s in verified if against in (s.spec, s.algorithm)), None)
        ratios = ratios_to(verified, opponent)
        group = [summarise_subject(s, of, s in verified, ratios.get(s)) for s, of in members.items()]
        rows += sorted(group, key=lambda row: rank_in_group(row, against is None))
    sampled = {(o.run, o.point["point"]) for o in observations.all}
    return Comparison(rows, orphans=observations.orphans, left_out=left_out(points, sampled))


def order_of(subject: Subject) -> tuple[Any, ...]:
    """The sort key of settings: ranks and definition, threads before processes, remote before same-core."""
    modes = ("threads", "processes", "simulated")
    place = modes.index(subject.mode) if subject.mode in modes else len(modes)
    return (
        subject.operation,
        subject.machine,
        subject.ranks,
        subject.definition,
        subject.label or "",
        subject.buffers,
        subject.size_bytes,
        place,
        subject.setting,
    )


def rank_in_group(row: Row, best_first: bool) -> tuple[bool, float, str]:
    """The sort key of rows: verified first, the best before those that are not resolved from it, by ratio, by name."""
    of = row.ratio
    ratio = of.median if of else float("inf")
    if best_first and of and of.opponent == row.subject.spec:
        ratio = 0.0
    return (not row.verified, ratio, row.subject.spec)


def summarise_subject(
    subject: Subject, of: Sequence[Observation], verified: bool, ratio: Ratio | None
) -> Row:
    first = of[0].point
    counts: dict[str, Any] = {
        "subject": subject,
        "verified": verified,
        "error": None if verified else why_not_verified(first),
        "samples": len(of),
        "calls": sum(o.calls for o in of),
        "launches": len({o.launch_key for o in of}),
        "capped": sum(o.capped for o in of),
        "late": sum(o.late for o in of),
        "chosen": first.get("chosen"),
    }
    if not verified:
        return Row(**counts, notes=("not verified: none of its timings count",))
    units = units_of([o.ns for o in of], [o.launch_key for o in of])
    if subject.simulated:  # the units are seeds; a seed always gives the same value
        units = Units(np.array([o.ns for o in of]), "round", None, counts["launches"])
    raw = np.array([value for o in of for value in o.call_values()])
    p95, p99 = np.percentile(raw, [95, 99])
    low, high = np.percentile([o.ns for o in of], [10, 90])
    notes = [note for note in (units.note, ratio.note if ratio else None) if note and not subject.simulated]
    if subject.simulated:
        notes.append(f"simulated with {len({o.round_key for o in of})} seed(s)")
    if counts["capped"]:
        notes.append(f"{counts['capped']} of {len(of)} samples cut by a time cap")
    return Row(
        **counts,
        time=estimate(units.values),
        unit=units.kind,
        units=len(units),
        launch_share=units.launch_share,
        lines=estimate_ratio(of, "lines"),
        switches=estimate_ratio(of, "switches"),
        cycles=estimate_ratio(of, "cycles"),
        mean_ns=float(raw.mean()),
        spread=float(high / max(low, 1e-3)) if len(of) >= LEAST_FOR_SPREAD else None,
        p95_ns=float(p95),
        p99_ns=float(p99),
        max_ns=float(raw.max()),
        ratio=ratio,
        notes=tuple(dict.fromkeys(notes)),
    )


def estimate_ratio(of: Sequence[Observation], name: str) -> Estimate | None:
    """The median of the values in another unit, over the rounds that have it."""
    pairs = [(value, o.launch_key) for o in of if (value := getattr(o, name)) is not None]
    if not pairs:
        return None
    return estimate(units_of([value for value, _ in pairs], [launch for _, launch in pairs]).values)
