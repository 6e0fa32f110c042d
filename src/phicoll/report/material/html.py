"""Pieces of HTML. What is no :class:`Html` is escaped wherever it is put in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from phicoll.foundations.markup import Html, code, fill, join
from phicoll.plots.live import live

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "bullets",
    "details",
    "duration",
    "facts",
    "figure",
    "link",
    "number",
    "paragraph",
    "span",
    "table",
]


def paragraph(body: str, kind: str = "") -> Html:
    return fill('<p class="{}">{}</p>', kind, body) if kind else fill("<p>{}</p>", body)


def bullets(points: Iterable[str]) -> Html:
    """A list of what there is to say; empty texts are left out."""
    return fill('<ul class="points">{}</ul>', join("", (fill("<li>{}</li>", one) for one in points if one)))


def facts(items: Iterable[tuple[str, object]]) -> Html:
    """Names and what they stand for."""
    listed = join("", (fill("<dt>{}</dt><dd>{}</dd>", name, value) for name, value in items))
    return fill('<dl class="facts">{}</dl>', listed)


def link(file: str) -> Html:
    """A link to a file beside the report."""
    # "./": a name before whose colon a browser would see a protocol stays a name.
    return fill('<a href="{}{}">{}</a>', "./" if ":" in file else "", file, file)


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


def span(low: float, high: float) -> Html:
    """An interval, less prominent than the number before it."""
    return fill('<span class="interval">[{}, {}]</span>', number(low), number(high))


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    caption: str = "",
    left: Sequence[int] = (0,),
    groups: Sequence[tuple[str, int]] = (),
    classes: Sequence[str] = (),
) -> Html:
    """A table.

    Columns in ``left`` are text, the others numbers; ``groups`` are heads over several columns; ``classes`` names the
    class of each row.
    """

    def cells(tag: str, row: Sequence[str]) -> Html:
        kinds = (" class=left" if index in left else "" for index in range(len(row)))
        return join(
            "", (fill("<{0}{1}>{2}</{0}>", tag, kind, body) for kind, body in zip(kinds, row, strict=True))
        )

    top = fill("<tr>{}</tr>", cells("th", head))
    if groups:
        wide = (fill('<th colspan="{}" class="group">{}</th>', width, name) for name, width in groups)
        top = fill("<tr>{}</tr>", join("", wide)) + top
    body = []
    for index, row in enumerate(rows):
        kind = classes[index] if index < len(classes) else ""
        opened = fill('<tr class="{}">', kind) if kind else Html("<tr>")
        body.append(opened + cells("td", row) + Html("</tr>"))
    words = fill("<caption>{}</caption>", caption) if caption else ""
    whole = '<div class="wide"><table>{}<thead>{}</thead><tbody>{}</tbody></table></div>'
    return fill(whole, words, top, join("", body))


def details(summary: str, body: str) -> Html:
    return fill("<details><summary>{}</summary>{}</details>", summary, body)


def figure(name: str, drawn: Figure, caption: str, alt: str, made: Sequence[str] = (), raw: str = "") -> Html:
    """A figure with its caption, the commands that make it and its raw data."""
    source: str = ""
    if made or raw:
        data = fill("<span>Raw data: {}</span>", raw) if raw else ""
        source = fill('<div class="made">{}{}</div>', join("", map(code, made)), data)
    words = fill("<figcaption>{}</figcaption>", caption) if caption else ""
    return fill(
        '<figure id="figure-{}"><div class="wide">{}</div>{}{}</figure>',
        name,
        live(drawn, alt),
        words,
        source,
    )
