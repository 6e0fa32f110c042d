"""Min-max bands of a model under box plots of the samples, as in ramos-hoefler-2013, figures 4.5 to 4.8."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from phicoll.errors import ArgumentError
from phicoll.plots.panels import Panels, size_of
from phicoll.plots.series import MOST_TICKS
from phicoll.plots.style import INK, SERIES, plain_log_ticks, tidy
from phicoll.results.reading.subject import Subject, ranks_text, size_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Modelled", "ModelledRuns", "bands_figure", "draw_bands", "draw_boxes"]

Over = Literal["ranks", "size_bytes"]
OVER: tuple[Over, ...] = ("ranks", "size_bytes")


class Predicted(Protocol):
    """The part of a :class:`phicoll.models.Prediction` that is drawn: its band."""

    @property
    def low_ns(self) -> float: ...
    @property
    def high_ns(self) -> float: ...


class Modelled(Protocol):
    """The part of a :class:`phicoll.models.comparison.Compared` that is drawn: samples, and the band of their model."""

    @property
    def subject(self) -> Subject: ...
    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def prediction(self) -> Predicted: ...
    @property
    def samples(self) -> NDArray[np.float64]: ...
    @property
    def median(self) -> float: ...
    @property
    def inside(self) -> float: ...


class ModelledRuns(Protocol):
    """The part of :class:`phicoll.models.ComparedRuns` that is drawn."""

    @property
    def rows(self) -> Sequence[Modelled]: ...


def draw_boxes(
    ax: Axes, at: Sequence[float], samples: Sequence[Any], width: float | Sequence[float], colour: str
) -> None:
    """Draw box plots as the paper does: quartiles, whiskers to the last sample within 1.5 boxes, no outliers."""
    ax.boxplot(
        [np.asarray(of) for of in samples],
        positions=list(at),
        widths=width,
        manage_ticks=False,
        showfliers=False,
        patch_artist=True,
        boxprops={"facecolor": "white", "edgecolor": colour, "linewidth": 0.9},
        medianprops={"color": INK, "linewidth": 1.2},
        whiskerprops={"color": colour, "linewidth": 0.9},
        capprops={"color": colour, "linewidth": 0.9},
        zorder=3,
    )


def whiskers(samples: NDArray[np.float64]) -> tuple[float, float]:
    """The ends of a box plot's whiskers. Samples beyond them are not drawn and must not scale an axis."""
    first, third = np.percentile(samples, (25, 75))
    near = samples[(samples >= first - 1.5 * (third - first)) & (samples <= third + 1.5 * (third - first))]
    return float(near.min()), float(near.max())


def draw_bands(
    ax: Axes,
    rows: Sequence[Modelled],
    *,
    over: Over = "ranks",
    colours: Sequence[str] = SERIES,
    log: bool = False,
    legend: bool = True,
    boxes: bool = True,
) -> Axes:
    """Draw one panel in us: for each algorithm its band, shaded, and a box plot of the samples at each point.

    Parameters
    ----------
    ax:
        The Axes to draw into; returned.
    rows:
        Rows of a :class:`~phicoll.models.comparison.ComparedRuns` that differ only in algorithm and ``over``. Several
        algorithms are drawn side by side; two are readable.
    over:
        The horizontal axis: ``ranks`` or ``size_bytes``.
    log:
        Whether the time axis is logarithmic.
    legend, boxes:
        Whether to name several algorithms, and whether to draw the samples.
    """
    if over not in OVER:
        raise ArgumentError("over", repr(over), ", ".join(OVER))
    if not rows:
        ax.text(0.5, 0.5, "nothing modelled to show", ha="center", va="center", transform=ax.transAxes)
        return ax
    names = list(dict.fromkeys(row.name for row in rows))
    points = sorted({getattr(row.subject, over) for row in rows})
    # Sizes are evenly spaced, in order; ranks are to scale.
    place = {value: float(i if over == "size_bytes" else value) for i, value in enumerate(points)}
    gap = min((b - a for a, b in zip(place.values(), list(place.values())[1:], strict=False)), default=1.0)
    width = gap * 0.62 / len(names)
    for index, name in enumerate(names):
        of = sorted((row for row in rows if row.name == name), key=lambda row: getattr(row.subject, over))
        at = [place[getattr(row.subject, over)] for row in of]
        low, high = (
            [row.prediction.low_ns / 1000 for row in of],
            [row.prediction.high_ns / 1000 for row in of],
        )
        colour = colours[index % len(colours)]
        if len(at) > 1:
            ax.fill_between(at, low, high, color=colour, alpha=0.16, linewidth=0, zorder=1)
            for side in (low, high):
                ax.plot(at, side, color=colour, linewidth=1.1, zorder=2)
        else:
            ax.bar(at, [high[0] - low[0]], bottom=low, width=gap * 0.9, color=colour, alpha=0.16, zorder=1)
        beside = (index - (len(names) - 1) / 2) * width
        if boxes:
            draw_boxes(ax, [x + beside for x in at], [row.samples / 1000 for row in of], width * 0.85, colour)
        if legend:
            ax.plot([], [], color=colour, linewidth=6, alpha=0.35, label=name)
    ticks = points[:: -(-len(points) // MOST_TICKS)]
    ax.set_xticks(
        [place[value] for value in ticks], [size_text(v) if over == "size_bytes" else str(v) for v in ticks]
    )
    ax.set_xlabel("size of the message" if over == "size_bytes" else "ranks")
    ax.set_ylabel("time of a call, us")
    values = [
        v
        for row in (rows if log else ())
        for v in (row.prediction.low_ns, row.prediction.high_ns, *whiskers(row.samples))
        if v > 0  # a time may be 0, after what is subtracted
    ]
    if values:
        bottom, top = min(values) / 1000 / 1.15, max(values) / 1000 * 1.15
        plain_log_ticks(ax, "y", bottom, top)
        ax.set_ylim(bottom, top)
    else:
        ax.set_ylim(bottom=0)
    tidy(ax, "y")
    if legend and len(names) > 1:
        ax.legend(frameon=False, fontsize=7.5)
    return ax


def bands_figure(
    compared: ModelledRuns,
    *,
    over: Over | None = None,
    log: bool = False,
    columns: int = 2,
    ax: Axes | Sequence[Axes] | None = None,
    title: str | None = None,
    figsize: tuple[float, float] | None = None,
) -> Any:
    """Draw a panel of bands and box plots for each algorithm, start and setting; the figure, or ``ax`` if it is given.

    Parameters
    ----------
    over:
        ``ranks`` or ``size_bytes``; by default that with more values.
    log:
        Whether time axes are logarithmic.
    columns:
        The number of panels in a row.
    ax, title, figsize:
        As :func:`phicoll.plots.figure` has them.

    Raises
    ------
    ArgumentError
        Nothing to show, no such axis, or more or fewer Axes than panels.
    """
    if not compared.rows:
        raise ArgumentError("compared", "no modelled subject", "at least one")
    if over is None:
        sizes, ranks = (
            {getattr(row.subject, name) for row in compared.rows} for name in ("size_bytes", "ranks")
        )
        over = "size_bytes" if len(sizes) > len(ranks) else "ranks"
    panels: dict[tuple[Any, ...], list[Modelled]] = {}
    for row in compared.rows:
        panels.setdefault(panel_of(row, over), []).append(row)
    size = size_of(len(panels), 5.2, 2.9, columns)
    drawn = Panels(len(panels), size, columns=columns, ax=ax, title=title, figsize=figsize)
    for index, (panel, of) in enumerate(zip(drawn.axes, panels.values(), strict=True)):
        draw_bands(panel, of, over=over, colours=[SERIES[index % len(SERIES)]], log=log)
        drawn.entitle(panel, title_of(of, over))
    return drawn.figure if ax is None else ax


def panel_of(row: Modelled, over: str) -> tuple[Any, ...]:
    s = row.subject
    other = s.ranks if over == "size_bytes" else s.size_bytes
    return (s.operation, row.name, s.machine, s.mode, s.definition, s.start, s.buffers, other)


def title_of(rows: Sequence[Modelled], over: str) -> str:
    s = rows[0].subject
    words = [f"{s.operation} {rows[0].name}"]
    if over == "size_bytes":
        words.append(ranks_text(s.ranks))
    elif s.data:
        words.append(size_text(s.size_bytes))
    where = f"simulated, {s.machine}" if s.simulated else f"measured, {s.mode}"
    inside = np.mean([row.inside for row in rows])
    return f"{', '.join(words)}\n{where}, {s.start} start; {inside:.0%} inside"
