"""A figure for each operation: time over size, a panel for each setting."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from points import Point, Taken, size_text
from states import border_of
from verdicts import loop_of


def figures(
    taken: Taken, folder: Path, points: Iterable[Point], leave_out: Sequence[str] = ()
) -> dict[str, Path]:
    """Writes collectives-OPERATION.png; by operation."""
    subjects = [s for s in taken.subjects() if s not in leave_out and (":" not in s)]
    measured = sorted(set(points) & set(taken.ns))
    return {
        operation: draw(taken, operation, [p for p in measured if p.operation == operation], subjects, folder)
        for operation in dict.fromkeys(p.operation for p in measured)
    }


def draw(
    taken: Taken, operation: str, points: Sequence[Point], subjects: Sequence[str], folder: Path
) -> Path:
    from phicoll.plots.canvas import new_figure

    settings = list(dict.fromkeys(p.setting for p in points))
    columns = min(3, len(settings))
    lines = -(-len(settings) // columns)
    figure = new_figure(4.2 * columns, 3.2 * lines)
    axes = figure.subplots(lines, columns, squeeze=False)
    for ax, setting in zip(axes.flat, settings, strict=False):
        panel(ax, taken, [p for p in points if p.setting == setting], subjects)
    for ax in axes.flat[len(settings) :]:
        ax.set_visible(False)
    handles = {
        label: handle
        for ax in axes.flat
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        handles.values(),
        handles.keys(),
        loc="outside lower center",
        ncols=min(len(handles), 3 * columns),
        frameon=False,
        fontsize=8,
    )
    figure.suptitle(operation, fontsize=10)
    path = folder / f"collectives-{operation}.png"
    figure.savefig(path, dpi=120)
    return path


def panel(ax: Any, taken: Taken, points: Sequence[Point], subjects: Sequence[str]) -> None:
    from phicoll.plots.style import SERIES, tidy

    for index, subject in enumerate(subjects):
        at = [(p.size, m) for p in points if (m := taken.median(p, subject)) is not None]
        if at:
            ax.plot(
                [max(1, size) for size, _ in at], [ns / 1e3 for _, ns in at], marker="o", markersize=3,
                color=SERIES[index % len(SERIES)], label=subject, linewidth=2 if subject == "phicoll" else 1.2,
            )  # fmt: skip
    border = border_of(taken)
    limits = [
        (p.size, ns)
        for p in points
        if (ns := loop_of(taken, p, taken.ns[p].get("phicoll", {}), border).median()) is not None
    ]
    if limits:
        ax.plot(
            [s for s, _ in limits], [ns / 1e3 for _, ns in limits], color="#999999", linestyle=(0, (2, 2)),
            label="bare loop",
        )  # fmt: skip
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    sizes = sorted({p.size for p in points})
    ticks = sizes[:: -(-len(sizes) // 8)]
    ax.set_xticks([max(1, size) for size in ticks], [size_text(size) for size in ticks])
    ax.minorticks_off()
    _, ranks, definition, buffers = points[0].setting
    ax.set_title(f"{ranks} ranks, {definition}, {buffers}", loc="left")
    ax.set_xlabel("bytes of the count argument")
    ax.set_ylabel("median time per call, us")
    tidy(ax, "both")
