"""Geometric means over thread counts, a column per algorithm, as in rodchenko-2015, figure 2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from phicoll.plots.style import INK, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_geomeans"]

BEST, WORST = "#1B8A3A", "#C0392B"


def draw_geomeans(
    ax: Axes,
    values: Mapping[str, Mapping[str, Sequence[float]]],
    *,
    best: float,
    worst: float,
    colours: Mapping[str, str] | None = None,
    unit: str = "µs",
) -> Axes:
    """Draw one panel, with columns sorted by their best mean.

    Parameters
    ----------
    ax:
        The Axes to draw into; returned.
    values:
        The geometric mean of each seed, by column and by way of waiting. The first way is drawn filled, the second
        hollow.
    best, worst:
        Geometric means of the best and worst overhead at each thread count: the green and the red line.
    colours:
        The columns' colours.
    unit:
        The unit of all values.
    """
    middle = {name: {way: sum(of) / len(of) for way, of in by.items()} for name, by in values.items()}
    names = sorted(values, key=lambda name: min(middle[name].values()))
    ways = list(dict.fromkeys(way for by in values.values() for way in by))
    for index, name in enumerate(names):
        colour = (colours or {}).get(name, INK)
        if index % 2:
            ax.axvspan(index - 0.5, index + 0.5, color="#F6F7F8", zorder=0, linewidth=0)
        for way, of in values[name].items():
            second = ways.index(way) > 0
            x = index + (0.18 if second else -0.18)
            ax.plot([x, x], [min(of), max(of)], color=colour, linewidth=2.4, alpha=0.45, zorder=2)
            ax.scatter([x], [middle[name][way]], s=26, facecolor="white" if second else colour, edgecolor=colour,
                       linewidth=1.2, zorder=3)  # fmt: skip
    top = max(worst, *(v for by in values.values() for of in by.values() for v in of)) * 1.08
    for level, colour, words, at in ((best, BEST, "best", 0.996), (worst, WORST, "worst", 0.004)):
        ax.axhline(level, color=colour, linewidth=1.3, zorder=1)
        ax.annotate(
            f"{words} at each thread count: {level:.1f} {unit}",
            (at, level),
            xycoords=("axes fraction", "data"),
            color=colour,
            fontsize=8,
            ha="right" if at > 0.5 else "left",
            va="top",
            xytext=(0, -3),
            textcoords="offset points",
        )
    for way in ways:
        ax.scatter(
            [],
            [],
            s=26,
            facecolor="white" if ways.index(way) > 0 else INK,
            edgecolor=INK,
            linewidth=1.2,
            label=way,
        )
    ax.legend(loc="upper left", bbox_to_anchor=(0.0, worst / top - 0.06), frameon=False, fontsize=8, title="waiting",
              title_fontsize=8)  # fmt: skip
    ax.set_xlim(-0.7, len(names) - 0.3)
    ax.set_xticks(range(len(names)), names, rotation=90)
    ax.set_ylim(0, top)
    ax.set_ylabel(f"geometric mean over thread counts, {unit}")
    tidy(ax, "y")
    ax.tick_params(axis="x", length=0)
    return ax
