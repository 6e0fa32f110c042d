"""The probes of a run: the time of a cache line in every round, with same-core rounds shaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from phicoll.plots.style import SERIES, plain_log_ticks, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from phicoll.results.reading.records import Record

__all__ = ["PROBES", "draw_probes"]

PROBES = {
    "pingpong_ns": "ping-pong, one way",
    "read_ns": "read of a line the other CPU wrote",
    "local_ns": "local L1 hit",
    "switch_ns": "switch between two ranks of a CPU",
}


def draw_probes(
    ax: Axes, rounds: Sequence[Record], probes: Sequence[str] = ("pingpong_ns", "read_ns")
) -> Axes:
    """Draw one panel: probes over the time of a run.

    Parameters
    ----------
    ax:
        The Axes to draw into; returned.
    rounds:
        The round records of one run.
    probes:
        The probes to draw: names of fields in ns.
    """
    rounds = sorted((r for r in rounds if r.get("t_s") is not None), key=lambda r: r["t_s"])
    values: list[float] = []
    for colour, probe in zip(SERIES, probes, strict=False):
        found = [(r["t_s"], r[probe]) for r in rounds if r.get(probe)]
        if found:
            at, ns = zip(*found, strict=True)
            values += ns
            ax.scatter(at, ns, s=7, color=colour, linewidths=0, alpha=0.75, label=PROBES[probe], zorder=3)
    shade(ax, rounds)
    if not values:
        ax.text(0.5, 0.5, "no probes in these rounds", ha="center", va="center", transform=ax.transAxes)
        return ax
    low, high = min(values) * 0.8, max(values) * 1.25
    if high / low > 8:
        plain_log_ticks(ax, "y", low, high)
    ax.set_ylim(low, high)
    ax.set_xlabel("time since the start of the run, s")
    ax.set_ylabel("ns")
    tidy(ax, "y")
    same = sum(r.get("label") == "same-core" for r in rounds)
    shaded = f"{same} of {len(rounds)} rounds on one physical core (shaded)"
    ax.set_title("probes: " + (shaded if same else f"{len(rounds)} rounds, all remote"), loc="left")
    ax.legend(
        fontsize=7.5,
        frameon=False,
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        ncols=len(probes),
        borderaxespad=0.2,
        handletextpad=0.1,
    )
    return ax


def shade(ax: Axes, rounds: Sequence[Record]) -> None:
    """Shade same-core rounds, each up to halfway to its neighbours."""
    if not rounds:
        return
    at = np.array([r["t_s"] for r in rounds], dtype=float)
    edges = np.concatenate([[at[0]], (at[1:] + at[:-1]) / 2, [at[-1]]])
    begin = None
    for index, record in enumerate([*rounds, {}]):
        same = record.get("label") == "same-core"
        if same and begin is None:
            begin = edges[index]
        elif not same and begin is not None:
            ax.axvspan(begin, edges[index], color="#F2D7B6", alpha=0.7, linewidth=0, zorder=0)
            begin = None
    if len(at) > 1:
        margin = 0.01 * (at[-1] - at[0])
        ax.set_xlim(at[0] - margin, at[-1] + margin)
