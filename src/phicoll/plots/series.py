"""Lines over numbers of ranks or sizes, a line for each algorithm, with intervals and names at their ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from phicoll.plots.style import PALE, log_limits, series_colours, tell

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["MOST_TICKS", "Series", "draw_series", "name_ends", "write_none"]

MOST_TICKS = 12
NAME_SIZE = 7.5

#: An algorithm's (median, low, high) by place.
Series = Mapping[int, tuple[float, float, float]]


def write_none(ax: Axes) -> Axes:
    """Say that there is nothing to draw; returns the Axes."""
    ax.text(0.5, 0.5, "nothing verified to show", ha="center", va="center", transform=ax.transAxes)
    return ax


def draw_series(
    ax: Axes,
    series: Mapping[str, Series],
    times: Mapping[str, Sequence[float]],
    told: Callable[[str, int], str],
    *,
    most: int,
    band: bool = False,
) -> tuple[tuple[float, float], list[tuple[float, float, str, str]]]:
    """Draw the lines: those with the lowest geometric mean time in colour, first those that are at every place.

    Parameters
    ----------
    ax:
        The Axes to draw into.
    series:
        The values by name, and by places on the x-axis.
    times:
        What they are ordered by, by name.
    told:
        What the mouse is told of a name at a place.
    most:
        The number of lines in colour, with intervals.
    band:
        Whether intervals are one area along the line, not a bar at each place.

    Returns
    -------
    The limits of the y-axis, and the ends of the lines in colour, for :func:`name_ends`.
    """
    places = {at for of in series.values() for at in of}
    names = sorted(
        series,
        key=lambda name: (
            len(series[name]) < len(places),
            np.mean(np.log(np.maximum(times[name], 1e-3))),
        ),
    )
    ends: list[tuple[float, float, str, str]] = []
    colours = series_colours(ax, names[:most])
    for name in names:
        at = sorted(series[name])
        colour = colours.get(name, PALE)
        medians, lows, highs = ([series[name][place][side] for place in at] for side in range(3))
        x = [max(1, place) for place in at]  # no bytes stand at one
        (line,) = ax.plot(
            x,
            medians,
            color=colour,
            label=name,
            linewidth=1.6 if name in colours else 0.9,
            zorder=3 if name in colours else 2,
            marker="o",
            markersize=3.5 if name in colours else 2,
        )
        tell(line, [told(name, place) for place in at])
        if name not in colours:
            continue
        if band:
            ax.fill_between(x, lows, highs, color=colour, alpha=0.22, linewidth=0, zorder=2.5, label=name)
        else:
            ax.vlines(x, lows, highs, color=colour, linewidth=2.4, alpha=0.45, zorder=2.5, label=name)
        ends.append((x[-1], medians[-1], name, colour))
    limits = log_limits(
        (value for of in series.values() for point in of.values() for value in point), 0.85, 1.2
    )
    return limits, ends


def name_ends(ax: Axes, ends: Sequence[tuple[float, float, str, str]], low: float, high: float) -> None:
    """Write the names of lines, of which ``ends`` has the ends, to the right of them in their colours.

    Names that would overlap are moved apart, as little as possible, and stay beside the panel. A thin line leads from
    each line's end to its name, from the panel's edge where the end is not in the panel: a time may be 0 or less, after
    what is subtracted.
    """
    log = ax.get_yscale() == "log"

    def place(value: float) -> float:
        if log:
            return float(np.log(value / low) / np.log(high / low))
        return (value - low) / (high - low)

    inside = ((x, min(max(value, low), high), name, colour) for x, value, name, colour in ends)
    ends = sorted(inside, key=lambda end: end[1])
    inches = ax.get_window_extent().height / ax.figure.dpi
    apart = spread([place(value) for _, value, _, _ in ends], 1.3 * NAME_SIZE / 72 / inches)
    for (x, value, name, colour), y in zip(ends, apart, strict=True):
        ax.annotate(
            name,
            (x, value),
            (1.03, y),
            textcoords="axes fraction",
            color=colour,
            fontsize=NAME_SIZE,
            va="center",
            arrowprops={
                "arrowstyle": "-",
                "color": colour,
                "linewidth": 0.7,
                "alpha": 0.6,
                "shrinkA": 1,
                "shrinkB": 3,
                "relpos": (0, 0.5),
            },
            annotation_clip=False,
        )


def spread(wanted: Sequence[float], gap: float) -> list[float]:
    """Places in 0 to 1 for ascending ones, at least ``gap`` apart and near to them: least squares.

    The gap is smaller where there are too many for it.
    """
    gap = min(gap, 1 / max(1, len(wanted) - 1))
    runs: list[list[float]] = []  # of places that touch, without their gaps
    for index, place in enumerate(wanted):
        runs.append([place - index * gap])
        while len(runs) > 1 and np.mean(runs[-2]) >= np.mean(runs[-1]):
            runs[-2:] = [runs[-2] + runs[-1]]
    start = [float(np.mean(run)) for run in runs for _ in run]
    most = max(0.0, 1 - gap * (len(wanted) - 1))
    return [min(max(place, 0.0), most) + index * gap for index, place in enumerate(start)]
