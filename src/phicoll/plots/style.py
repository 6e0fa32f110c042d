"""The style of phicoll's figures: colours, markers and axis labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

__all__ = [
    "AXIS_LABELS",
    "CHARACTER",
    "INK",
    "MODE_MARKERS",
    "ORIGIN_COLOURS",
    "PALE",
    "SERIES",
    "fitting_size",
    "interval",
    "jitter",
    "log_limits",
    "plain_log_ticks",
    "series_colours",
    "tell",
    "tidy",
]

# Distinguishable with any colour vision (after Okabe and Ito), and in grey by lightness.
ORIGIN_COLOURS = {"paper": "#0072B2", "phicoll": "#009E73", "reference": "#B5651D", "": "#555555"}
SERIES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A5195", "#4D4D4D")
MODE_MARKERS = {"threads": "o", "processes": "D", "simulated": "s"}
CHARACTER = 0.53  # the mean width of a character in sizes of the font
INK = "#222222"
PALE = "#C9CDD2"

AXIS_LABELS = {
    "lines": "time per call, in one-way cache-line transfers of the same round",
    "switches": "time per call, in CPU switches between two ranks of the same round",
    "ns": "time per call, ns",
    "us": "time per call, us",
    "cycles": "time per call, cycles of the simulated machine",
}


def tidy(ax: Axes, grid: Literal["both", "x", "y"] = "x") -> None:
    """Style Axes: no box, a light grid, small ticks."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color("#999999")
    ax.grid(axis=grid, color="#E4E6E9", linewidth=0.8, which="major")
    ax.set_axisbelow(True)
    ax.tick_params(colors=INK, labelsize=8, length=3)
    ax.xaxis.label.set_fontsize(8.5)
    ax.yaxis.label.set_fontsize(8.5)
    ax.title.set_fontsize(9.5)


def jitter(count: int, width: float) -> NDArray[np.float64]:
    """Evenly spread offsets between -width/2 and width/2, the same in every call."""
    golden = 0.6180339887498949
    return np.asarray(((np.arange(1, count + 1) * golden) % 1.0 - 0.5) * width, dtype=np.float64)


def series_colours(ax: Axes, names: Sequence[str]) -> dict[str, str]:
    """A colour for each name: the one that it has in another panel of the figure, else one that none has."""
    lines = [line for panel in ax.figure.axes for line in panel.lines]
    known = {str(line.get_label()): str(line.get_color()) for line in lines if line.get_color() in SERIES}
    found: dict[str, str] = {name: known[name] for name in names if name in known}
    for name in names:
        used = {*found.values(), *known.values()}
        free = [c for c in SERIES if c not in used] or [c for c in SERIES if c not in found.values()]
        found.setdefault(name, (free or SERIES)[0])
    return found


def tell(artist: Artist, texts: Sequence[str]) -> None:
    """Set the text that the mouse shows at each point of ``artist``; rows are sorted by such points."""
    artist.told = list(texts)  # type: ignore[attr-defined]


def interval(of: Sequence[float]) -> str:
    """A median with its interval, of (median, low, high)."""
    return "{:,.4g} [{:,.4g}, {:,.4g}]".format(*of)


def fitting_size(ax: Axes, letters: int, size: float, widths: float = 1.0) -> float:
    """A font's size, at most ``size``, in which as many letters take at most that many widths of the panel."""
    points = widths * ax.get_window_extent().width / ax.figure.dpi * 72
    return float(max(4.5, min(size, points / (CHARACTER * letters))))


def log_limits(values: Iterable[float], below: float, above: float) -> tuple[float, float]:
    """The limits of a logarithmic axis: the least value by ``below`` and the greatest by ``above``.

    Values of 0 and less, which a time may have after what is subtracted, lie outside. Without any other: 1 for both.
    """
    shown = [value for value in values if value > 0]
    return min(shown, default=1.0) * below, max(shown, default=1.0) * above


def plain_log_ticks(ax: Axes, axis: str, low: float, high: float, fine: bool = False) -> None:
    """Make an axis logarithmic, with plain numbers at 1, 2 and 5 of each decade, or at more of a short, fine one."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

    decades = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    steps: Sequence[float] = (1, 2, 5) if high / low < 300 else (1,)
    if fine and high / low < 8:
        steps = (1, 1.2, 1.5, 2, 3, 4, 5, 7)
    ticks = [step * 10.0**decade for decade in decades for step in steps]
    ticks = [tick for tick in ticks if low <= tick <= high]
    which = ax.xaxis if axis == "x" else ax.yaxis
    (ax.set_xscale if axis == "x" else ax.set_yscale)("log")
    which.set_major_locator(FixedLocator(ticks))
    which.set_minor_locator(NullLocator())
    which.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    which.set_minor_formatter(NullFormatter())
