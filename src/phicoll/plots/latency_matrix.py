"""A heat map of the time of a line between each two CPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from phicoll.plots.style import INK, PALE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Latencies", "draw_latency_matrix", "size_of"]

#: Up to this many CPUs, the numbers are written into the cells and each CPU has a tick.
WRITTEN = 12
TICKED = 24


class Latencies(Protocol):
    """The part of a :class:`phicoll.explaining.latency.LatencyMatrix` that is drawn."""

    @property
    def machine(self) -> str: ...
    @property
    def simulated(self) -> bool: ...
    @property
    def cpus(self) -> tuple[int, ...]: ...
    @property
    def matrix(self) -> NDArray[np.float64]: ...
    @property
    def pairs(self) -> NDArray[np.float64]: ...


def size_of(found: Latencies) -> tuple[float, float]:
    """The size of a figure of the matrix, in inches."""
    side = min(8.0, max(3.6, 1.6 + 0.42 * len(found.cpus)))
    return side + 1.2, side + 0.4


def draw_latency_matrix(ax: Axes, found: Latencies) -> Axes:
    """Draw one panel: rows and columns are CPUs, colours times in ns, from the minimum to the maximum of all pairs.

    Parameters
    ----------
    ax:
        The Axes to draw into; returned.
    found:
        A result of :func:`phicoll.explaining.kernels.latency_matrix`.
    """
    from matplotlib import colormaps

    matrix = found.matrix
    count = len(found.cpus)
    least, most = float(found.pairs.min()), float(found.pairs.max())
    colours = colormaps["viridis"].with_extremes(bad=PALE)
    # A range of a single value would have only one colour.
    high = most if most > least else least + 1
    image = ax.imshow(matrix, cmap=colours, vmin=least, vmax=high, interpolation="nearest")
    if most > least:
        bar = ax.figure.colorbar(image, ax=ax, fraction=0.046, pad=0.03)
        bar.set_label("half a round trip of one line, ns", fontsize=8.5, color=INK)
        bar.ax.tick_params(labelsize=8, colors=INK)
        bar.outline.set_visible(False)

    step = 1 if count <= TICKED else int(np.ceil(count / TICKED / 5.0) * 5)
    ticks = np.arange(0, count, step)
    names = [str(found.cpus[i]) for i in ticks]
    ax.set_xticks(ticks, names)
    ax.set_yticks(ticks, names)
    what = "context" if found.simulated else "CPU"
    ax.set_xlabel(what, fontsize=8.5)
    ax.set_ylabel(what, fontsize=8.5)
    ax.tick_params(colors=INK, labelsize=8, length=2)
    for side in ax.spines.values():
        side.set_visible(False)
    if count <= WRITTEN:
        for row in range(count):
            for column in range(count):
                ns = matrix[row, column]
                if np.isnan(ns):
                    continue
                dark = (ns - least) / (high - least) < 0.6
                colour = "white" if dark else INK
                ax.text(column, row, f"{ns:.0f}", ha="center", va="center", fontsize=8, color=colour)
    where = f"{found.machine}, simulated" if found.simulated else "this machine, measured"
    span = f"{least:.0f} to {most:.0f} ns, median {np.median(found.pairs):.0f}"
    if most == least:
        span = f"half a round trip of one line\nbetween two CPUs: {least:.0f} ns"
    ax.set_title(f"{where}: {span}", loc="left", fontsize=9.5)
    return ax
