"""Time over the number of ranks, with intervals: the fastest few in colour, the best at each count dashed.

Simulated times have a band, their interval over the seeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from phicoll.plots.comparison import estimate_in
from phicoll.plots.style import (
    INK,
    PALE,
    fitting_size,
    interval,
    log_limits,
    plain_log_ticks,
    series_colours,
    tell,
    tidy,
)
from phicoll.results.compare import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_ranks"]

NAME_SIZE = 7.5
MOST_TICKS = 12  # rank counts with a tick each; a sweep of more has an evenly divided axis


def draw_ranks(ax: Axes, rows: Sequence[Row], *, unit: str = "ns", most: int = 6) -> Axes:
    """Draw one panel: a line for each algorithm over the rank counts.

    Parameters
    ----------
    ax:
        The Axes to draw into; returned.
    rows:
        Rows of a comparison that differ only in algorithm and ranks.
    unit:
        ``"ns"``, ``"us"``, ``"lines"``, ``"switches"`` or ``"cycles"``.
    most:
        The number of algorithms in colour and with names: those with the lowest geometric mean.
    """
    series: dict[str, dict[int, tuple[float, float, float]]] = {}
    for row in rows:
        found = estimate_in(row, unit) if unit in ("ns", "us") else getattr(row, unit)
        if row.verified and found is not None:
            series.setdefault(row.name, {})[row.subject.ranks] = (found.median, found.low, found.high)
    if not series:
        ax.text(0.5, 0.5, "nothing verified to show", ha="center", va="center", transform=ax.transAxes)
        return ax
    band = any(row.subject.simulated for row in rows)
    counts = sorted({ranks for by in series.values() for ranks in by})

    def score(name: str) -> tuple[bool, float]:
        by = series[name]
        return len(by) < len(counts), float(np.mean(np.log([max(by[r][0], 1e-3) for r in by])))

    names = sorted(series, key=score)
    ends: list[tuple[float, float, str, str]] = []
    colours = series_colours(ax, names[:most])
    for index, name in enumerate(names):
        by = series[name]
        at = sorted(by)
        colour = colours.get(name, PALE)
        medians = [by[ranks][0] for ranks in at]
        (line,) = ax.plot(
            at,
            medians,
            color=colour,
            label=name,
            linewidth=1.6 if index < most else 0.9,
            zorder=3 - (index >= most),
            marker="o",
            markersize=3.5 if index < most else 2,
        )
        tell(line, [f"{name}, {ranks} ranks: {interval(by[ranks])} {unit}" for ranks in at])
        if index < most and band:
            lows, highs = ([by[r][side] for r in at] for side in (1, 2))
            ax.fill_between(at, lows, highs, color=colour, alpha=0.22, linewidth=0, zorder=2.5, label=name)
            ends.append((at[-1], medians[-1], name, colour))
        elif index < most:
            ax.vlines(
                at,
                [by[r][1] for r in at],
                [by[r][2] for r in at],
                color=colour,
                linewidth=2.4,
                alpha=0.45,
                zorder=2.5,
                label=name,
            )
            ends.append((at[-1], medians[-1], name, colour))
    best = [min(by[ranks][0] for by in series.values() if ranks in by) for ranks in counts]
    ax.plot(counts, best, color=INK, linewidth=1, linestyle=(0, (2, 2)), zorder=4, label="best at each count")
    low, high = log_limits(
        (value for by in series.values() for point in by.values() for value in point), 0.85, 1.2
    )
    if high / low > 5:
        plain_log_ticks(ax, "y", low, high)
    ax.set_ylim(low, high)
    if len(counts) <= MOST_TICKS and counts[-1] / counts[0] > 4:
        ax.set_xscale("log", base=2)
    ticks = counts[:: -(-len(counts) // MOST_TICKS)]
    ax.set_xticks(ticks, [str(ranks) for ranks in ticks])
    ax.minorticks_off()
    ax.set_xlabel("ranks")
    ax.set_ylabel(f"median time per call, {unit}" + (" (simulated)" if band else ""))
    tidy(ax, "y")
    name_ends(ax, ends, low, high)
    rest = len(names) - min(most, len(names))
    seeds = max(row.units for row in rows) if band else 0
    words = f"simulated, band: interval over {seeds} seeds; " if seeds > 1 else ""
    words += "dashed: best at each count (ideal meta-algorithm)" + (f"; grey: {rest} others" if rest else "")
    size = fitting_size(ax, len(words), 7, 1.4)
    ax.annotate(words, (0, 1.01), xycoords="axes fraction", fontsize=size, color="#777777", va="bottom")
    return ax


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
