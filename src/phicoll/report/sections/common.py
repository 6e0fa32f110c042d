"""Pieces of text shared by several sections."""

from __future__ import annotations

from collections.abc import Sequence

from phicoll.foundations.markup import Html, code, fill, join
from phicoll.papers.claims.versus import Versus
from phicoll.report.material.evidence import Evidence, crowded
from phicoll.report.material.html import link, number, span, table
from phicoll.report.material.parts import Part
from phicoll.report.material.ratios import HandWritten, hand_written_of, is_hand_written
from phicoll.results.compare import Row
from phicoll.results.compare.best import Ratio
from phicoll.results.reading.subject import ranks_text

__all__ = ["barrier_table", "made", "names", "raw", "times", "where"]


def where(part: Part) -> str:
    """``8 ranks on 2 CPUs``."""
    assert part.results is not None
    cpus = {cpu for point in part.results.points for cpu in point.get("cpus") or []}
    return f"{ranks_text(part.ranks)} on {len(cpus)} CPU{'s' if len(cpus) != 1 else ''}"


def raw(evidence: Evidence) -> Html:
    """A link to the raw data beside the report."""
    return link(evidence.file)


def made(figure: str, evidence: Evidence) -> list[str]:
    """The command that draws a figure again."""
    return [f"phicoll demo --from demo/{evidence.file} --figure {figure}"]


def names(rows: Sequence[Row], most: int = 8) -> Html:
    """Names of barriers in a sentence."""
    words = [code(row.name) for row in rows[:most]]
    if len(rows) > most:
        words.append(Html(f"{len(rows) - most} more"))
    return words[0] if len(words) == 1 else join(", ", words[:-1]) + " and " + words[-1]


def times(ratio: Ratio | Versus) -> Html:
    """``1.48 times [1.42, 1.70]``."""
    words = '<strong class="n">{} times</strong> {}'
    return fill(words, number(ratio.median), span(ratio.low, ratio.high))


def barrier_table(part: Part) -> Html:
    """All subjects: the time and its ratio to the hand-written reference, by definition and mode."""
    by_hand: dict[tuple[str, str], HandWritten | None] = {
        key: hand_written_of(setting) for key, setting in part.settings.items()
    }
    rows: dict[str, dict[tuple[str, str], Row]] = {}
    for key, setting in part.settings.items():
        for row in setting.rows.values():
            rows.setdefault(row.name, {})[key] = row
    scale, unit = (1e3, "µs") if crowded(part) else (1, "ns")

    def ratio(key: tuple[str, str], row: Row | None) -> Ratio | None:
        hand = by_hand[key]
        return hand.ratios.get(row.subject) if hand and row else None

    def place(name: str) -> tuple[float, str]:
        key, row = next(iter(rows[name].items()))
        found = ratio(key, row)
        return (found.median if found else float("inf"), name)

    body, classes = [], []
    for name in sorted(rows, key=place):
        subject = next(iter(rows[name].values())).subject
        kind = "hand" if is_hand_written(subject) else subject.origin
        cells: list[str] = [fill('<span class="dot {}"></span>{}', kind, name)]
        for key in part.settings:
            row, found = rows[name].get(key), ratio(key, rows[name].get(key))
            cells += [
                number(row.time.median / scale) if row and row.time else "–",
                number(found.median if found else None),
            ]
        body.append(cells)
        classes.append("hand-row" if kind == "hand" else "")
    head = ["barrier", *([unit, "× hand"] * len(part.settings))]
    groups = [("", 1), *((f"{mode}, {definition}", 2) for definition, mode in part.settings)]
    caption = fill(
        "{}: medians, and times as long as the hand-written reference. Intervals: <code>phicoll compare</code>. "
        "Blue: from a paper; green: phicoll’s own; brown: other systems; rings: hand-written.",
        where(part),
    )
    return table(head, body, caption=caption, groups=groups, classes=classes)
