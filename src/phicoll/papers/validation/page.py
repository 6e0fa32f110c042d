"""The page of a validation: all quantities and statements, failures first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from phicoll.papers.claims import FAILS, HOLDS, VERDICTS, Finding
from phicoll.papers.validation.figures import draw_barriers, draw_counts, draw_curves, draw_errors
from phicoll.papers.validation.outcome import Outcome
from phicoll.papers.validation.quantity import Quantity, number

if TYPE_CHECKING:
    from matplotlib.figure import Figure


__all__ = ["cell", "statement_cells", "write_page", "write_with_figures"]

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

    written, shown = [], {}
    for name, draw, caption in figures:
        figure = draw(found)
        if figure is not None:
            at = path.with_name(f"{path.stem}-{name}.svg")
            # Without a date and random identifiers, so that the same numbers give the same page.
            with mpl.rc_context({"svg.hashsalt": "phicoll", "svg.fonttype": "none"}):
                figure.savefig(at, metadata={"Date": None})
            written.append(at)
            shown[name] = f"![{caption}]({at.name})"
    path.write_text(text(found, shown), encoding="utf-8")
    return [path, *written]


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def statement_cells(findings: Iterable[Finding], how: bool = False) -> Iterator[list[str]]:
    """Table cells, sorted by verdict: number, statement, verdict, optionally ``how``, and what was found."""
    for verdict in VERDICTS:
        for f in (f for f in findings if f.verdict == verdict):
            bold = f"**{f.verdict}**" if verdict == FAILS else f.verdict
            under = f" ({f.under})" if f.under else ""
            kind = [f.how] if how else []
            yield [f.claim.number, cell(f.claim.statement), bold, *kind, cell(f.measured + under)]


def quantities(of: list[Quantity]) -> list[str]:
    lines = [
        "| quantity | source | role | published | simulated | error | verdict |",
        "|---|---|---|--:|--:|--:|---|",
    ]
    for q in of:
        verdict = q.verdict if q.verdict == HOLDS else f"**{q.verdict}** (bound {q.bound:.0%})"
        lines.append(
            f"| {cell(q.name)} | {cell(q.source)} | {q.role} | {number(q.published)} | {number(q.simulated)} {q.unit} | "
            f"{q.error:+.1%} | {verdict} |"
        )
    return lines


def text_of(found: Outcome, shown: dict[str, str]) -> str:
    machine, effort = found.machine, found.effort
    lines = [
        f"# Validation of {machine.name}",
        "",
        f"{machine.summary}. Written by `phicoll validate {machine.name} --page FILE`; machine digest `{machine.digest}`. "
        f"Latencies are over {effort.samples:,} samples and up to ten seeds, statements about order over seeds 1 to {effort.seeds}, with "
        f"the median of {effort.calls} calls of a barrier per seed. The numbers are the same on any host. `docs/simulator.md` describes the model.",
        "",
        "- *Calibrated*: a parameter was set by this number; agreement (within 5 %) shows only that the model can have it.",
        "- *Held out*: nothing was set by it; agreement is within 25 %. Where one parameter decides several published numbers, as the "
        "ring's length decides the deviations at three distances, one of them set it and the others are held out.",
        "- *Not claimed*: published, but the machine says nothing about it.",
        "- A statement about order holds, or does not, if so many seeds agree that chance would do it in less than 5 of 100 cases. Words such as "
        '"linear" are given with the bound by which they were judged. Factors over proprietary libraries are not judged, and nothing was tuned on them.',
        "",
        "Results:",
        "",
        *(f"- {line}" for line in found.summary()),
        "",
    ]  # fmt: skip
    if "errors" in shown:
        lines += [shown["errors"], ""]
    beyond = [q for q in found.quantities if q.verdict != HOLDS]
    failing = [f for f in found.findings if f.verdict == FAILS]
    if beyond or failing:
        lines += ["## What does not come out", ""]
        for why in dict.fromkeys(q.why for q in beyond):
            names = "; ".join(f"{q.name} {q.error:+.0%}" for q in beyond if q.why == why)
            lines.append(f"- {names}. {why or 'The cause is not known.'}")
        lines += [f"- Statement {f.claim.number}: {f.claim.statement}" for f in failing]
        lines.append("")
    for group in dict.fromkeys(q.group for q in found.quantities):
        lines += [f"## {group}", "", *quantities([q for q in found.quantities if q.group == group]), ""]
        if group == "Many readers of one line" and "curves" in shown:
            lines += [shown["curves"], ""]
        if group == "Barriers" and "barriers" in shown:
            lines += [shown["barriers"], ""]
    if found.findings:
        lines += [
            "## Statements",
            "",
            "| claim | statement | verdict | what was simulated |",
            "|---|---|---|---|",
        ]
        lines += [f"| {' | '.join(row)} |" for row in statement_cells(found.findings)]
        lines.append("")
        if "counts" in shown:
            lines += [shown["counts"], ""]
    return "\n".join(lines)
