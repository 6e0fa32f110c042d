"""Pieces of HTML. All data must pass through :func:`text`."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from phicoll.plots.live import live

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "code",
    "details",
    "duration",
    "figure",
    "number",
    "paragraph",
    "span",
    "table",
    "text",
]


def text(value: object) -> str:
    """A value as text, escaped for HTML."""
    return html.escape(str(value))


def code(value: object) -> str:
    return f"<code>{text(value)}</code>"


def paragraph(body: str, kind: str = "") -> str:
    return f'<p class="{kind}">{body}</p>' if kind else f"<p>{body}</p>"


def number(value: float | None) -> str:
    """A number with three significant digits and thousands separators; a minus sign for None."""
    if value is None:
        return "–"
    size = abs(value)
    if size >= 100:
        return f"{value:,.0f}"
    if size >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}"


def duration(ns: float) -> str:
    """A time in a suitable unit."""
    for scale, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if ns >= scale:
            return f"{number(ns / scale)} {unit}"
    return f"{number(ns)} ns"


def span(low: float, high: float) -> str:
    """An interval, less prominent than the number before it."""
    return f'<span class="interval">[{number(low)}, {number(high)}]</span>'


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    caption: str = "",
    left: Sequence[int] = (0,),
    groups: Sequence[tuple[str, int]] = (),
    classes: Sequence[str] = (),
) -> str:
    """A table of HTML cells.

    Columns in ``left`` are text, the others numbers; ``groups`` are heads over several columns; ``classes`` names the
    class of each row.
    """

    def cell(tag: str, index: int, body: str) -> str:
        return f"<{tag}{' class=left' if index in left else ''}>{body}</{tag}>"

    top = ""
    if groups:
        top = (
            "<tr>"
            + "".join(f'<th colspan="{width}" class="group">{name}</th>' for name, width in groups)
            + "</tr>"
        )
    top += "<tr>" + "".join(cell("th", i, name) for i, name in enumerate(head)) + "</tr>"
    body = []
    for index, row in enumerate(rows):
        kind = classes[index] if index < len(classes) else ""
        body.append(
            f"<tr{f' class={kind}' if kind else ''}>"
            + "".join(cell("td", i, c) for i, c in enumerate(row))
            + "</tr>"
        )
    words = f"<caption>{caption}</caption>" if caption else ""
    return f'<div class="wide"><table>{words}<thead>{top}</thead><tbody>{"".join(body)}</tbody></table></div>'


def details(summary: str, body: str) -> str:
    return f"<details><summary>{summary}</summary>{body}</details>"


def figure(name: str, drawn: Figure, caption: str, alt: str, made: Sequence[str] = (), raw: str = "") -> str:
    """A figure with its caption, the commands that make it and its raw data."""
    lines = "".join(f"<code>{text(line)}</code>" for line in made)
    source = (
        f'<div class="made">{lines}{f"<span>Raw data: {raw}</span>" if raw else ""}</div>'
        if made or raw
        else ""
    )
    words = f"<figcaption>{caption}</figcaption>" if caption else ""
    return (
        f'<figure id="figure-{text(name)}"><div class="wide">{live(drawn, alt)}</div>{words}{source}</figure>'
    )
