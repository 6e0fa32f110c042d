"""Time or bandwidth over the size of the message, on logarithmic axes, with intervals as bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from phicoll.plots.comparison import estimate_in
from phicoll.plots.series import MOST_TICKS, draw_series, name_ends, write_none
from phicoll.plots.style import INK, interval, plain_log_ticks, tidy
from phicoll.results.compare import Row
from phicoll.results.compare.units import Estimate
from phicoll.results.reading.subject import size_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_sizes"]

AXES = {
    "ns": "median time per call, ns",
    "us": "median time per call, us",
    "lines": "median time per call, one-way line transfers",
    "switches": "median time per call, switches",
    "cycles": "median time per call, cycles (simulated)",
    "GB/s": "bytes of the count argument per time, GB/s",
    "ratio": "time / best time at the size",
}
#: Units as the mouse is told them, where they are not their own names.
TOLD = {"ratio": "of the best"}


def draw_sizes(ax: Axes, rows: Sequence[Row], *, unit: str = "us", most: int = 6) -> Axes:
    """Draw one panel: a line for each algorithm over the sizes.

    Parameters
    ----------
    ax:
        The Axes to draw into; returned.
    rows:
        Rows of a comparison that differ only in algorithm and size.
    unit:
        ``"ns"``, ``"us"``, ``"lines"``, ``"switches"``, ``"cycles"``, ``"GB/s"``: bytes of the argument / time, or
        ``"ratio"``: to the best at each size.
    most:
        The number of algorithms in colour and with names: those with the lowest geometric mean time.
    """
    series: dict[str, dict[int, tuple[float, float, float]]] = {}
    times: dict[str, list[float]] = {}
    for row in rows:
        found = value_of(row, unit)
        if row.verified and found is not None and row.time is not None:
            series.setdefault(row.name, {})[row.subject.size_bytes] = found
            times.setdefault(row.name, []).append(row.time.median)
    if not series:
        return write_none(ax)
    sizes = sorted({size for by in series.values() for size in by})

    def told(name: str, size: int) -> str:
        found = interval(series[name][size])
        return f"{name}, {size_text(size)}: {found} {TOLD.get(unit, unit)}"

    (low, high), ends = draw_series(ax, series, times, told, most=most)
    ax.set_ylim(low, high)
    plain_log_ticks(ax, "y", low, high, fine=unit == "ratio")
    ax.set_xscale("log", base=2)
    ticks = sizes[:: -(-len(sizes) // MOST_TICKS)]
    ax.set_xticks([max(1, size) for size in ticks], [size_text(size) for size in ticks])
    ax.minorticks_off()
    ax.set_xlabel("size of the count argument")
    ax.set_ylabel(AXES[unit])
    tidy(ax, "both")
    if unit == "ratio":
        ax.axhline(1, color=INK, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    name_ends(ax, ends, low, high)
    return ax


def value_of(row: Row, unit: str) -> tuple[float, float, float] | None:
    """(median, low, high) in ``unit``, or None without a value."""
    if unit == "GB/s":
        if row.time is None or row.time.low <= 0 or not row.subject.size_bytes:
            return None
        size = row.subject.size_bytes
        return size / row.time.median, size / row.time.high, size / row.time.low
    if unit == "ratio":
        ratio = row.ratio_to_best
        return (ratio.median, ratio.low, ratio.high) if ratio is not None else None
    found: Estimate | None = estimate_in(row, unit) if unit in ("ns", "us") else getattr(row, unit)
    return (found.median, found.low, found.high) if found is not None else None
