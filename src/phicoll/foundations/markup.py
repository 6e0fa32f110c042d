"""HTML in which all that is not markup is escaped, by the type of a text: what no one marked as HTML is none."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import string
from collections.abc import Iterable
from typing import Any

from phicoll.foundations.streams import printable

__all__ = ["STYLE", "Html", "code", "digest", "escaped", "fill", "join", "page_head", "script_data"]

#: Of a page with a table.
STYLE = """:root { color-scheme: light dark; }
body { font: 15px/1.4 system-ui, sans-serif; margin: 1rem; }
table { border-collapse: collapse; font-size: 0.85rem; }
th, td { text-align: left; vertical-align: top; padding: 0.3rem 0.5rem; border-bottom: 1px solid #8884; }
"""


class Html(str):
    """A text that is HTML. A text that is added to it is escaped unless it is HTML, too."""

    __slots__ = ()

    def __add__(self, other: str) -> Html:
        return Html(str.__add__(self, escaped(other)))

    def __radd__(self, other: str) -> Html:
        return Html(str.__add__(escaped(other), self))


class Filling(string.Formatter):
    """Fills a template's fields with escaped values."""

    def format_field(self, value: Any, format_spec: str) -> str:
        return escaped(value if isinstance(value, Html) else format(value, format_spec))


def escaped(value: object) -> Html:
    """A value as HTML: HTML as it is, any other text escaped, without control characters."""
    return value if isinstance(value, Html) else Html(html.escape(printable(value)))


def fill(template: str, /, *values: object, **named: object) -> Html:
    """A template of HTML with its ``{}`` and ``{name}`` filled; each value is escaped unless it is HTML.

    The template is written in the program, never read from a file.
    """
    return Html(Filling().vformat(template, values, named))


def join(separator: str, parts: Iterable[object]) -> Html:
    """The parts as one HTML text; each, and the separator, is escaped unless it is HTML."""
    return Html(str.join(escaped(separator), map(escaped, parts)))


def code(value: object) -> Html:
    return fill("<code>{}</code>", value)


def script_data(value: Any) -> Html:
    """A value as JSON for a ``<script type="application/json">``, in which no text ends the script or begins one."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Html(text)


def digest(text: str) -> str:
    """What a content security policy calls a script or a style by."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def page_head(title: str, style: str, *, styles: str = "", policy: str = "") -> Html:
    """A page's beginning up to its body. The page loads nothing, and has this style alone.

    ``styles`` are digests of further styles, ``policy`` further directives, such as the digests of scripts.
    """
    allowed = f"default-src 'none'; style-src {digest(style)} {styles}; {policy}"
    return fill(
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta http-equiv="Content-Security-Policy" content="{}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<title>{}</title><style>{}</style></head>",
        Html(allowed),
        title,
        Html(style),
    )
