"""HTML tables for notebooks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from phicoll.foundations.markup import Html, fill, join

__all__ = ["html_table", "preformatted"]


def preformatted(text: str) -> Html:
    """Text in a monospaced font with its own line breaks, whatever the page's style says."""
    return fill("<pre style='font-family:monospace;white-space:pre;line-height:1.25'>{}</pre>", text)


def html_table(
    heads: Sequence[str], rows: Iterable[Sequence[object]], *, left: Collection[int] = (), caption: str = ""
) -> Html:
    """An HTML table with a header row; cells keep to one line, such as an interval's.

    The columns numbered in ``left`` are for sentences: left-aligned, and wrapped where they are long.
    """

    def cell(column: int, value: object) -> Html:
        return (
            fill("<td style='text-align:left;white-space:normal'>{}</td>", value)
            if column in left
            else fill("<td>{}</td>", value)
        )

    head = join("", (fill("<th>{}</th>", name) for name in heads))
    body = join(
        "", (fill("<tr>{}</tr>", join("", (cell(*numbered) for numbered in enumerate(row)))) for row in rows)
    )
    named = fill("<caption>{}</caption>", caption) if caption else Html()
    return fill(
        "<table style='white-space:nowrap'>{}<thead><tr>{}</tr></thead><tbody>{}</tbody></table>",
        named,
        head,
        body,
    )
