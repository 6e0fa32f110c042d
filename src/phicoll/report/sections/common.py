"""Pieces of text shared by several sections."""

from __future__ import annotations

from collections.abc import Sequence

from phicoll.papers.claims.versus import Versus
from phicoll.report.evidence import Evidence, crowded
from phicoll.report.html import code, interval, number, span, table, text
from phicoll.report.parts import Part
from phicoll.report.ratios import HandWritten, Setting, hand_written_of, is_hand_written
from phicoll.results.compare import Row
from phicoll.results.compare.best import Ratio

__all__ = ["comparison_table", "made", "names", "place_of", "ratio_cell", "raw", "times", "where"]


def where(part: Part) -> str:
    """``8 ranks on 2 CPUs``."""
    assert part.results is not None
    cpus = {cpu for point in part.results.points for cpu in point.get("cpus") or []}
    return f"{part.ranks} ranks on {len(cpus)} CPU{'s' if len(cpus) != 1 else ''}"


def place_of(part: Part) -> str:
    return "switches" if crowded(part) else "lines"


def raw(part: Part) -> str:
    """A link to the raw data of a part: the file beside the report, and the run in it."""
    assert part.results is not None
    run = part.results.records[0].get("run", "") if part.results.records else ""
    return f'<a href="results.jsonl">results.jsonl</a>, run {code(run)}'


def made(figure: str, part: Part | None = None) -> list[str]:
    """The commands that measure and draw a figure."""
    draw = f"phicoll demo --from demo/results.jsonl --figure {figure}"
    return [part.command, draw] if part is not None else [draw]


def names(rows: Sequence[Row], most: int = 8) -> str:
    """Names of barriers in a sentence."""
    words = [code(row.name) for row in rows[:most]]
    if len(rows) > most:
        words.append(f"{len(rows) - most} more")
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def times(ratio: Ratio | Versus) -> str:
    """``1.48 times [1.42, 1.70]``."""
    return f'<strong class="n">{number(ratio.median)} times</strong> {span(ratio.low, ratio.high)}'


def ratio_cell(ratio: Ratio | None, best: bool = False) -> str:
    if ratio is None:
        return "–"
    if best:
        return "1"
    return f"{number(ratio.median)} {span(ratio.low, ratio.high)}"


def comparison_table(
    evidence: Evidence, part: Part, settings: dict[tuple[str, str], Setting], definition: str
) -> str:
    """All subjects of one definition: threads and processes side by side, by the time of threads."""
    chosen = {mode: setting for (d, mode), setting in settings.items() if d == definition}
    by_hand: dict[str, HandWritten | None] = {
        mode: hand_written_of(setting) for mode, setting in chosen.items()
    }
    rows: dict[str, dict[str, Row]] = {}
    for mode, setting in chosen.items():
        for row in setting.rows.values():
            rows.setdefault(row.name, {})[mode] = row
    unit = place_of(part)
    scale = 1e3 if crowded(part) else 1

    def key(name: str) -> tuple[float, str]:
        row = next(iter(rows[name][mode] for mode in chosen if mode in rows[name]))
        hand = by_hand[row.subject.mode]
        ratio = hand.ratios.get(row.subject) if hand else None
        assert row.time is not None
        return (ratio.median if ratio else row.time.median, name)

    body, classes = [], []
    ordered = sorted(rows, key=key)
    first_ours = next(
        (n for n in ordered if any(r.subject.origin != "reference" for r in rows[n].values())), None
    )
    for name in ordered:
        row = next(iter(rows[name].values()))
        origin = "hand" if is_hand_written(row.subject) else row.subject.origin
        cells = [f'<span class="dot {origin}"></span>{text(name)}']
        for mode in chosen:
            at = rows[name].get(mode)
            hand = by_hand[mode]
            if at is None:
                cells += ["–"] * (3 if hand else 2)
                continue
            cells += [interval(at.time, scale), interval(at.in_units)]
            if hand:
                cells.append(ratio_cell(hand.ratios.get(at.subject), at.subject == hand.subject))
        body.append(cells)
        classes.append("hand-row" if origin == "hand" else "best" if name == first_ours else "")
    head, groups = ["barrier"], [("", 1)]
    for mode in chosen:
        hand = by_hand[mode]
        head += ["ns" if scale == 1 else "µs", unit]
        if hand:
            head.append("× hand")
        groups.append((mode, 3 if hand else 2))
    hand_names = sorted({hand.name for hand in by_hand.values() if hand})
    caption = (
        f"{where(part)}, {definition}. Median of a call with its exact 95 % interval; “× hand” is the time over the hand-written "
        f"reference, {' or '.join(hand_names)}, in the same rounds. Blue dots: from a paper; green: phicoll’s own; brown: "
        "other systems; rings: the hand-written reference."
    )
    return table(head, body, caption=caption, groups=groups, classes=classes)
