"""A statement's measurements as curves in a page: SVG without styles, as the page's policy asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from phicoll.foundations.markup import Html, fill, join

__all__ = ["curves", "figure"]

#: What a curve is over, by the name that a finding's values have it by.
OVER = {"ranks": "ranks", "counts": "ranks", "cycles": "cycles between barriers"}
COLOURS = ("#4477aa", "#ee6677", "#228833", "#aa7700", "#66aacc", "#aa3377")
WIDTH, HEIGHT, EDGE = 260, 110, 14


def curves(values: Mapping[str, Any]) -> tuple[str, list[float], dict[str, list[float]]]:
    """What the curves are over, its values, and each curve in microseconds; no curves if the finding has none."""
    for key, words in OVER.items():
        x = values.get(key)
        if not isinstance(x, Sequence):
            continue
        found: dict[str, Sequence[float]] = {}
        us = values.get("us")
        if isinstance(us, Mapping):
            found |= us
        elif isinstance(us, Sequence):
            found |= {f"addresses {i + 1}": one for i, one in enumerate(us)}
        for name in ("mean", "ns", "hybrid", "dissemination"):
            if isinstance(values.get(name), Sequence):
                scale = 1.0 if name == "mean" else 1000.0
                found["" if name == "ns" else name] = [y / scale for y in values[name]]
        whole = {name: list(map(float, y)) for name, y in found.items() if len(y) == len(x)}
        if whole:
            return words, list(map(float, x)), whole
    return "", [], {}


def figure(values: Mapping[str, Any]) -> Html:
    """The curves of a finding's values in SVG, for each program if they are of several; empty if it has none."""
    if isinstance(values.get("ms"), Mapping):
        x = list(map(float, values["ranks"]))
        return join("", (panel("ranks", x, found, "ms", f"{of}, ") for of, found in values["ms"].items()))
    over, x, found = curves(values)
    return panel(over, x, found, "us") if found else Html("")


def panel(
    over: str, x: Sequence[float], found: Mapping[str, Sequence[float]], unit: str, title: str = ""
) -> Html:
    most, low, high = max(map(max, found.values())), min(x), max(x)

    def points(y: Sequence[float]) -> str:
        return " ".join(
            f"{EDGE + (a - low) / ((high - low) or 1) * (WIDTH - 2 * EDGE):.1f},"
            f"{HEIGHT - EDGE - b / (most or 1) * (HEIGHT - 2 * EDGE):.1f}"
            for a, b in zip(x, y, strict=True)
        )

    lines = (
        fill(
            '<polyline fill="none" stroke="{}" points="{}"><title>{}</title></polyline>',
            colour,
            points(y),
            name,
        )
        for colour, (name, y) in zip(COLOURS * 2, found.items(), strict=False)
    )
    names = ", ".join(name for name in found if name)
    legend = (
        fill('<tspan fill="{}">{}</tspan>', colour, name)
        for colour, name in zip(COLOURS * 2, found, strict=False)
    )
    return fill(
        '<br><svg width="{w}" height="{whole}" role="img"><title>{title}{unit} over {over}{names}</title>'
        '<text x="0" y="10" font-size="10" fill="currentColor">{title}{most:.3g} {unit}</text>'
        '<text x="{w}" y="{h}" font-size="10" text-anchor="end" fill="currentColor">{low:g} to {high:g} {over}</text>'
        '<text x="0" y="{below}" font-size="10">{legend}</text>{lines}</svg>',
        w=WIDTH,
        h=HEIGHT,
        below=HEIGHT + EDGE - 2,
        whole=HEIGHT + EDGE,
        legend=join(" ", legend),
        over=over,
        unit=unit,
        title=title,
        names=f": {names}" if names else "",
        most=most,
        low=low,
        high=high,
        lines=join("", lines),
    )
