"""The page of a validation: all quantities, failures first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from phicoll.foundations.files import write_text
from phicoll.papers.claims import HOLDS, Finding
from phicoll.papers.validation.figures import draw_barriers, draw_counts, draw_curves, draw_errors
from phicoll.papers.validation.outcome import Outcome
from phicoll.papers.validation.quantity import (
    CALIBRATED,
    HELD_OUT,
    HELD_OUT_BOUND,
    NOT_CLAIMED,
    Quantity,
    number,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


__all__ = ["cell", "statements_note", "write_page", "write_with_figures"]

Found = TypeVar("Found")

FIGURES = (
    ("errors", draw_errors, "Simulated / published, all quantities"),
    ("curves", draw_curves, "Messages of many lines and readers of one line, with the printed fits"),
    ("barriers", draw_barriers, "Barriers, geometric means over thread counts"),
    ("counts", draw_counts, "The statements' measurements by number of ranks"),
)


def write_page(found: Outcome, path: Path) -> list[Path]:
    """Write ``path`` and its figures, ``<stem>-<figure>.svg`` beside it."""
    return write_with_figures(found, path, FIGURES, text_of)


def write_with_figures(
    found: Found,
    path: Path,
    figures: Iterable[tuple[str, Callable[[Found], Figure | None], str]],
    text: Callable[[Found, dict[str, str]], str],
) -> list[Path]:
    """Write the page that ``text`` makes of the figures' Markdown by name, and the figures; returns the files."""
    import matplotlib as mpl

    from phicoll.plots.canvas import save_figure

    written, shown = [], {}
    for name, draw, caption in figures:
        figure = draw(found)
        if figure is not None:
            at = path.with_name(f"{path.stem}-{name}.svg")
            # Without a date and random identifiers, so that the same numbers give the same page.
            with mpl.rc_context({"svg.hashsalt": "phicoll", "svg.fonttype": "none"}):
                save_figure(figure, at, metadata={"Date": None})
            written.append(at)
            shown[name] = f"![{caption}]({at.name})"
    write_text(path, text(found, shown))
    return [path, *written]


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def statements_note(findings: Sequence[Finding]) -> list[str]:
    """Where the statements' verdicts are: :func:`phicoll.claims.report` has them, and no page has others."""
    numbers = ", ".join(f.claim.number for f in findings)
    return [
        "## Statements",
        "",
        f"These checks judge {numbers}: [all verdicts](claims.md#all-statements).",
        "",
    ]


def common(sources: Sequence[str]) -> str | None:
    """The source that begins all of them, if one does."""
    first = min(sources, key=len)
    return first if all(s.startswith(first) for s in sources) else None


def found_cell(q: Quantity, marks: dict[str, str]) -> str:
    error = f"{q.error:+.1%}" if q.verdict == HOLDS else f"**{q.error:+.1%}**"
    return f"{number(q.published)}; {number(q.simulated)}; {error}{marks.get(q.role, '')}"


def quantities(of: Sequence[Quantity], marks: dict[str, str]) -> list[str]:
    """A table of those with a place in one, and a table of the others."""
    placed, others = [q for q in of if q.row], [q for q in of if not q.row]
    lines: list[str] = []
    if placed:
        columns = list(dict.fromkeys(q.column for q in placed))
        whole = common([q.source for q in placed])
        base = {c: whole or common([q.source for q in placed if q.column == c]) or "" for c in columns}
        if whole:
            lines += [f"Published in {whole}.", ""]
        heads = [c if whole or not base[c] else f"{c}, {base[c]}" for c in columns]
        lines += [f"| | {' | '.join(heads)} |", f"|---|{'---|' * len(columns)}"]
        longest = max(columns, key=lambda c: sum(q.column == c for q in placed))
        for row in dict.fromkeys(q.row for q in sorted(placed, key=lambda q: q.column != longest)):
            cells = {q.column: q for q in placed if q.row == row}
            any_ = next(iter(cells.values()))
            label = (
                f"{row}{any_.source[len(base[any_.column]) :]}{'' if any_.unit == 'ns' else f', {any_.unit}'}"
            )
            shown = [found_cell(cells[c], marks) if c in cells else "" for c in columns]
            lines.append(f"| {cell(label)} | {' | '.join(shown)} |")
        lines.append("")
    if others:
        lines += ["| quantity | source | |", "|---|---|---|"]
        for q in others:
            unit = "" if q.unit == "ns" else f", {q.unit}"
            lines.append(f"| {cell(q.name)}{unit} | {cell(q.source)} | {found_cell(q, marks)} |")
        lines.append("")
    return lines


def text_of(found: Outcome, shown: dict[str, str]) -> str:
    machine, effort = found.machine, found.effort
    roles = {q.role for q in found.quantities}
    judging = ""
    if found.findings:
        judging = (
            f"; order is judged over seeds 1 to {effort.seeds}, each with the median of {effort.calls} calls of a barrier"
        )  # fmt: skip
    marks = {role: f" *{role[0]}*" for role in (CALIBRATED, NOT_CLAIMED) if role in roles}
    if HELD_OUT not in roles:
        marks.pop(NOT_CLAIMED, None)
    lines = [
        f"# Validation of {machine.name}",
        "",
        f"{machine.summary} (digest `{machine.digest}`). Latencies are over {effort.samples:,} samples and up to ten seeds{judging}. "
        "[The model](simulator.md).",
        "",
        'Cells are "published; simulated; error" (simulated / published - 1, bold beyond its bound), in ns unless a unit is named. '
        f"{''.join(f'{mark.strip()}: {role}. ' for role, mark in marks.items())}[What the words mean](claims.md#simulated).",
    ]  # fmt: skip
    lines += ["", "Results:", "", *(f"- {line}" for line in found.within()), ""]
    if "errors" in shown:
        lines += [shown["errors"], ""]
    beyond = [q for q in found.quantities if q.verdict != HOLDS]
    if beyond:
        lines += ["## What does not come out", ""]
        for why in dict.fromkeys(q.why for q in beyond):
            lines.append(
                f"- {missed([q for q in beyond if q.why == why])}. {why or 'The cause is not known.'}"
            )
        lines.append("")
    for group in dict.fromkeys(q.group for q in found.quantities):
        lines += [f"## {group}", "", *quantities([q for q in found.quantities if q.group == group], marks)]
        if group == "Many readers of one line" and "curves" in shown:
            lines += [shown["curves"], ""]
        if group == "Barriers" and "barriers" in shown:
            lines += [shown["barriers"], ""]
    if found.findings:
        lines += statements_note(found.findings)
        if "counts" in shown:
            lines += [shown["counts"], ""]
    return "\n".join(lines)


def missed(of: Sequence[Quantity]) -> str:
    """The rows of quantities beyond their bounds, with the range of their errors."""
    rows = []
    for row in dict.fromkeys(q.row or q.name for q in of):
        errors = [q.error for q in of if (q.row or q.name) == row]
        span = f"{min(errors):+.0%}" + (f" to {max(errors):+.0%}" if len(errors) > 1 else "")
        rows.append(f"{row}: {span}")
    tight = sorted({q.bound for q in of if q.role != CALIBRATED and q.bound != HELD_OUT_BOUND})
    return "; ".join(rows) + "".join(f" (bound {bound:.0%})" for bound in tight)
