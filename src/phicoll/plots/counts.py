"""Exact counts of what algorithms do: rounds, chains, notifications, edges, lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from phicoll.plots.style import ORIGIN_COLOURS, SERIES, plain_log_ticks, tell, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["QUANTITIES", "draw_counts"]

QUANTITIES = {
    "rounds": "rounds",
    "longest_chain": "longest chain",
    "notifications": "notifications",
    "edges_between_cores": "edges between cores",
    "lines_written": "lines written",
}


def draw_counts(counts: Sequence[dict[str, Any]], figure: Figure | None = None) -> Figure:
    """Draw counts: a panel per quantity, a row per algorithm, a marker per shape.

    ``counts`` is a result of :func:`phicoll.count`: objects with ``name``, ``origin``, ``label`` and the
    ``QUANTITIES``. Counts are exact; nothing is measured.
    """
    from phicoll.plots.canvas import new_figure

    names = list(dict.fromkeys(row["name"] for row in counts))
    shapes = list(dict.fromkeys(row["label"] for row in counts))
    first = {row["name"]: row for row in reversed(counts)}
    names.sort(key=lambda name: (first[name]["longest_chain"], first[name]["notifications"], name))
    if figure is None:
        figure = new_figure(12.5, 1.3 + 0.235 * len(names))
    axes = figure.subplots(1, len(QUANTITIES), sharey=True)
    for ax, (field, title) in zip(axes, QUANTITIES.items(), strict=True):
        values = [row[field] for row in counts if row.get(field)]
        for index, shape in enumerate(shapes):
            rows = [row for row in counts if row["label"] == shape and row.get(field) is not None]
            points = ax.scatter(
                [row[field] for row in rows],
                [names.index(row["name"]) + (index - (len(shapes) - 1) / 2) * 0.28 for row in rows],
                s=20,
                marker="oD^s"[index % 4],
                facecolor=SERIES[index % len(SERIES)] if index == 0 else "white",
                edgecolor=SERIES[index % len(SERIES)],
                linewidth=1.1,
                label=shape,
                zorder=3,
            )
            tell(points, [f"{row['name']}, {shape}: {row[field]:,} {title}" for row in rows])
        if values and max(values) / min(values) > 8:
            plain_log_ticks(ax, "x", min(values) * 0.75, max(values) * 1.35)
            ax.set_xlim(min(values) * 0.75, max(values) * 1.35)
        else:
            ax.set_xlim(left=0)
        ax.set_title(title, loc="left")
        tidy(ax)
        for index in range(1, len(names), 2):
            ax.axhspan(index - 0.5, index + 0.5, color="#F6F7F8", zorder=0, linewidth=0)
        ax.tick_params(axis="y", length=0)
    axes[0].set_ylim(len(names) - 0.5, -0.5)
    axes[0].set_yticks(range(len(names)), names)
    for label, name in zip(axes[0].get_yticklabels(), names, strict=True):
        label.set_color(ORIGIN_COLOURS.get(first[name].get("origin", ""), "#222222"))
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside upper right",
        ncols=len(shapes),
        frameon=False,
        fontsize=8,
        title="cores x contexts",
        title_fontsize=8,
    )
    return figure
