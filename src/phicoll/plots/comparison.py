"""Algorithms side by side: every round as a point, with the median and its interval. Bars would hide the spread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from phicoll.plots.series import write_none
from phicoll.plots.style import (
    AXIS_LABELS,
    INK,
    MODE_MARKERS,
    ORIGIN_COLOURS,
    interval,
    jitter,
    plain_log_ticks,
    tell,
    tidy,
)
from phicoll.results.compare import Row
from phicoll.results.compare.text import number
from phicoll.results.compare.units import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from phicoll.results.reading.observations import Observations

__all__ = ["draw_comparison"]


def draw_comparison(
    ax: Axes,
    observations: Observations,
    rows: Sequence[Row],
    *,
    unit: str | None = None,
    most: int | None = None,
    times: bool = True,
    end: float | None = None,
) -> Axes:
    """Draw one panel.

    Parameters
    ----------
    ax:
        The Axes to draw into; returned.
    observations, rows:
        The values, and rows of a comparison with the same ranks, definition and label; modes are drawn side by side.
    unit:
        ``"lines"``, ``"switches"``, ``"ns"``, ``"us"`` or ``"cycles"``; by default the rows' own unit, or ns without a
        probe.
    most:
        The number of algorithms to show, the fastest first.
    times:
        Whether to write the median at the right, in ns (simulated: us).
    end:
        An upper limit of the axis; rounds beyond it are counted at its edge.
    """
    verified = [row for row in rows if row.verified and row.time is not None]
    if not verified:
        return write_none(ax)
    unit = unit or own_unit(verified)
    modes = sorted({row.subject.mode for row in verified}, key=list(MODE_MARKERS).index)
    by_name: dict[str, dict[str, Row]] = {}
    for row in verified:
        by_name.setdefault(row.name, {})[row.subject.mode] = row
    names = sorted(by_name, key=lambda name: min(middle(row, unit) for row in by_name[name].values()))[:most]
    height = 0.8 / len(modes)
    low, high = np.inf, 0.0
    for index, name in enumerate(names):
        for offset, mode in enumerate(modes):
            if mode not in by_name[name]:
                continue
            y = index + (offset - (len(modes) - 1) / 2) * height
            values = values_of(observations, by_name[name][mode], unit)
            draw_strip(ax, y, height, values, by_name[name][mode], unit)
            low, high = min(low, values.min()), max(high, float(np.quantile(values, 0.99)), values.min())
    low, high = low * 0.88, min(high * 1.15, end or high * 1.15)
    beyond(ax, observations, names, by_name, modes, height, unit, high)
    if unit == "lines" and low < 1:
        low = min(low, 0.85)
    if unit in ("lines", "switches"):
        ax.axvline(1, color=INK, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
        low = min(low, 0.9)
    if 0 < 5 * low < high:  # a time may be 0, after what is subtracted
        plain_log_ticks(ax, "x", low, high)
    ax.set_xlim(low, high)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_yticks(range(len(names)), names)
    for label, name in zip(ax.get_yticklabels(), names, strict=True):
        origin = next(iter(by_name[name].values())).subject.origin
        label.set_color(ORIGIN_COLOURS.get(origin, INK))
    for index in range(1, len(names), 2):
        ax.axhspan(index - 0.5, index + 0.5, color="#F6F7F8", zorder=0, linewidth=0)
    ax.set_xlabel(AXIS_LABELS[unit])
    tidy(ax)
    ax.tick_params(axis="y", length=0)
    if times:
        write_times(ax, names, by_name, modes)
    return ax


def own_unit(rows: Sequence[Row]) -> str:
    """Lines or switches if every row has them, else ns."""
    unit = rows[0].subject.unit
    return unit if all(row.in_units is not None and row.subject.unit == unit for row in rows) else "ns"


def middle(row: Row, unit: str) -> float:
    found = estimate_in(row, unit)
    return found.median if found else np.inf


def estimate_in(row: Row, unit: str) -> Estimate | None:
    """The row's estimate in the axis's unit."""
    if unit == "us" and row.time is not None:
        t = row.time
        return Estimate(t.median / 1000, t.low / 1000, t.high / 1000, t.confidence, t.enough)
    return row.time if unit == "ns" else row.in_units


def values_of(observations: Observations, row: Row, unit: str) -> np.ndarray:
    of = observations.by_subject[row.subject]
    if unit in ("ns", "us"):
        return np.array([o.ns for o in of]) / (1000 if unit == "us" else 1)
    return np.array([value for o in of if (value := o.in_units) is not None])


def draw_strip(ax: Axes, y: float, height: float, values: np.ndarray, row: Row, unit: str) -> None:
    colour = ORIGIN_COLOURS.get(row.subject.origin, INK)
    found = estimate_in(row, unit)
    assert found is not None
    ax.scatter(
        values,
        y + jitter(len(values), height * 0.72),
        s=6,
        marker=MODE_MARKERS[row.subject.mode],
        color=colour,
        alpha=max(0.12, min(0.5, 12 / max(len(values), 1))),
        label=row.subject.mode,
        linewidths=0,
        zorder=2,
    )
    if row.units > 1:
        ax.plot([found.low, found.high], [y, y], color=INK, linewidth=2.2, solid_capstyle="butt", zorder=3,
                label=row.subject.mode)  # fmt: skip
    filled = row.subject.mode == "threads"
    middle = ax.scatter(
        [found.median],
        [y],
        s=26,
        marker=MODE_MARKERS[row.subject.mode],
        facecolor=colour if filled else "white",
        edgecolor=INK,
        linewidth=1.1,
        zorder=4,
        label=row.subject.mode,
    )
    told = interval((found.median, found.low, found.high))
    tell(middle, [f"{row.name}, {row.subject.mode}: {told} {unit}"])


def beyond(
    ax: Axes,
    observations: Observations,
    names: Sequence[str],
    by_name: dict[str, dict[str, Row]],
    modes: Sequence[str],
    height: float,
    unit: str,
    high: float,
) -> None:
    """Write the number of points right of the panel at its edge, so that none is hidden."""
    for index, name in enumerate(names):
        for offset, mode in enumerate(modes):
            row = by_name[name].get(mode)
            if row is None:
                continue
            count = int((values_of(observations, row, unit) > high).sum())
            if count:
                y = index + (offset - (len(modes) - 1) / 2) * height
                ax.annotate(
                    f"+{count} ▸",
                    (1, y),
                    xycoords=("axes fraction", "data"),
                    ha="right",
                    va="center",
                    fontsize=6,
                    color="#777777",
                )


def write_times(
    ax: Axes, names: Sequence[str], by_name: dict[str, dict[str, Row]], modes: Sequence[str]
) -> None:
    simulated = modes == ["simulated"]
    scale = 1e-3 if simulated else 1.0
    for index, name in enumerate(names):
        found = [by_name[name].get(mode) for mode in modes]
        text = " / ".join(number(row.time.median * scale) if row and row.time else "-" for row in found)
        ax.annotate(
            text,
            (1.015, index),
            xycoords=("axes fraction", "data"),
            va="center",
            fontsize=7.5,
            color=INK,
            annotation_clip=False,
        )
    ax.annotate(
        "us, simulated" if simulated else "ns, " + " / ".join(modes),
        (1.015, -0.62),
        xycoords=("axes fraction", "data"),
        va="bottom",
        fontsize=7.5,
        color="#777777",
        annotation_clip=False,
    )
