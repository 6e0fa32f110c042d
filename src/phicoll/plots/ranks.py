"""Time over the number of ranks, with intervals: the fastest few in colour, the best at each count dashed.

Simulated times have a band, their interval over the seeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from phicoll.plots.comparison import estimate_in
from phicoll.plots.series import MOST_TICKS, draw_series, name_ends, write_none
from phicoll.plots.style import INK, fitting_size, interval, plain_log_ticks, tidy
from phicoll.results.compare import Row
from phicoll.results.reading.subject import ranks_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_ranks"]


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
        return write_none(ax)
    band = any(row.subject.simulated for row in rows)
    counts = sorted({ranks for by in series.values() for ranks in by})
    (low, high), ends = draw_series(
        ax,
        series,
        {name: [median for median, _, _ in by.values()] for name, by in series.items()},
        lambda name, ranks: f"{name}, {ranks_text(ranks)}: {interval(series[name][ranks])} {unit}",
        most=most,
        band=band,
    )
    best = [min(by[ranks][0] for by in series.values() if ranks in by) for ranks in counts]
    ax.plot(counts, best, color=INK, linewidth=1, linestyle=(0, (2, 2)), zorder=4, label="best at each count")
    if high / low > 5:
        plain_log_ticks(ax, "y", low, high)
    ax.set_ylim(low, high)
    # A sweep of more counts has an evenly divided axis.
    if len(counts) <= MOST_TICKS and counts[-1] / counts[0] > 4:
        ax.set_xscale("log", base=2)
    ticks = counts[:: -(-len(counts) // MOST_TICKS)]
    ax.set_xticks(ticks, [str(ranks) for ranks in ticks])
    ax.minorticks_off()
    ax.set_xlabel("ranks")
    ax.set_ylabel(f"median time per call, {unit}" + (" (simulated)" if band else ""))
    tidy(ax, "y")
    name_ends(ax, ends, low, high)
    rest = max(len(series) - most, 0)
    seeds = max(row.units for row in rows) if band else 0
    words = f"simulated, band: interval over {seeds} seeds; " if seeds > 1 else ""
    words += "dashed: best at each count (ideal meta-algorithm)" + (f"; grey: {rest} others" if rest else "")
    size = fitting_size(ax, len(words), 7, 1.4)
    ax.annotate(words, (0, 1.01), xycoords="axes fraction", fontsize=size, color="#777777", va="bottom")
    return ax
