"""HTML tables for notebooks."""

from __future__ import annotations

import html
from collections.abc import Collection, Iterable, Sequence

__all__ = ["Html", "code", "html_table", "preformatted"]


class Html(str):
    """Text that is already HTML; :func:`html_table` escapes all other text."""

    __slots__ = ()


def code(text: str) -> Html:
    return Html(f"<code>{html.escape(text)}</code>")


def preformatted(text: str) -> Html:
    """Text in a monospaced font with its own line breaks, whatever the page's style says."""
    return Html(
        f"<pre style='font-family:monospace;white-space:pre;line-height:1.25'>{html.escape(text)}</pre>"
    )


def html_table(
    heads: Sequence[str], rows: Iterable[Sequence[object]], *, left: Collection[int] = (), caption: str = ""
) -> str:
    """An HTML table with a header row; cells keep to one line, such as an interval's.

    The columns numbered in ``left`` are for sentences: left-aligned, and wrapped where they are long.
    """

    def cell(column: int, value: object) -> str:
        text = value if isinstance(value, Html) else html.escape(str(value))
        return (
            f"<td style='text-align:left;white-space:normal'>{text}</td>"
            if column in left
            else f"<td>{text}</td>"
        )

    head = "".join(f"<th>{html.escape(name)}</th>" for name in heads)
    body = "".join(f"<tr>{''.join(cell(*numbered) for numbered in enumerate(row))}</tr>" for row in rows)
    named = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    return f"<table style='white-space:nowrap'>{named}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
