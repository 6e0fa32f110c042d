"""Threads against processes: cumulative distributions over places and launches, or over simulated calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from phicoll.plots.style import AXIS_LABELS, SERIES, fitting_size, plain_log_ticks, tidy
from phicoll.results.compare import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from phicoll.results.reading.observations import Observation, Observations

__all__ = ["draw_distribution"]


def in_unit(o: Observation, unit: str) -> float | None:
    """An observation's value in the axis's unit."""
    return of_ns(o, o.ns, unit) if unit in ("ns", "us") else o.in_units


def of_ns(o: Observation, ns: float, unit: str) -> float:
    """A time of an observation, ``ns``, in ns, us or cycles."""
    if unit == "cycles":
        return ns * float(o.point["clock_mhz"]) / 1000
    return ns / 1000 if unit == "us" else ns


def draw_distribution(
    ax: Axes, observations: Observations, rows: Sequence[Row], unit: str | None = None
) -> Axes:
    """Draw one panel: for each row the share of rounds (places) up to a value, with the launches' medians as ticks.

    A simulated row shows its calls over all seeds, with the seeds as ticks. ``rows`` are of one algorithm and differ
    in mode, such as threads and processes.
    """
    rows = [row for row in rows if row.verified]
    unit = unit or (rows[0].subject.unit if rows and all(row.in_units for row in rows) else "ns")
    low, high = np.inf, 0.0
    for index, row in enumerate(rows):
        of = observations.by_subject[row.subject]
        pairs: list[tuple[float | None, tuple[Any, ...]]] = [(in_unit(o, unit), o.launch_key) for o in of]
        if row.subject.simulated:
            pairs = [(of_ns(o, ns, unit), o.round_key) for o in of for ns in o.call_values()]
        values = np.sort([value for value, _ in pairs if value is not None])
        if not len(values):
            continue
        low, high = min(low, values[0]), max(high, values[-1])
        colour = SERIES[index % len(SERIES)]
        share = np.arange(1, len(values) + 1) / len(values)
        launches = sorted({launch for _, launch in pairs})
        label = f"{row.subject.mode}: {len(values)} rounds, {len(launches)} launches"
        if row.subject.simulated:
            label = f"simulated: {len(values)} calls, {len(launches)} seed(s)"
        ax.step(values, share, where="post", color=colour, linewidth=1.6, label=label)
        medians = [
            float(np.median([v for v, at in pairs if at == launch and v is not None])) for launch in launches
        ]
        ax.plot(
            medians,
            np.full(len(medians), -0.05 - 0.06 * index),
            "|",
            color=colour,
            markersize=7,
            clip_on=False,
        )
    if high > 0:
        if 0 < 5 * low < high:  # a time may be 0, after what is subtracted
            plain_log_ticks(ax, "x", low * 0.95, high * 1.05)
        ax.set_xlim(low * 0.95, high * 1.05)
    inches = ax.get_window_extent().height / ax.figure.dpi
    # The legend is above 100 %, as the curves may be anywhere below.
    ax.set_ylim(-0.08 - 0.06 * max(len(rows) - 1, 0), 1.04 + max(0.11, 0.24 / inches) * len(rows))
    ax.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "25 %", "50 %", "75 %", "100 %"])
    ax.set_ylabel("share of calls" if rows and rows[0].subject.simulated else "share of rounds")
    ax.set_xlabel(AXIS_LABELS[unit])
    tidy(ax, "both")
    size = fitting_size(ax, 36, 7)  # with its line
    ax.legend(fontsize=size, frameon=False, loc="upper left", borderaxespad=0.1)
    if rows:
        ax.set_title(rows[0].name, loc="left")
    return ax
