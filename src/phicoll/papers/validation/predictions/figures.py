"""Figures of the models' validation: pieces, the paper's figures 4.4 to 4.8 on the simulated machine, and the host."""

from __future__ import annotations

import numpy as np

from phicoll.models.comparison import ComparedRuns
from phicoll.papers.validation.predictions.outcome import ModelOutcome
from phicoll.papers.validation.predictions.runs import TABLE_4_1
from phicoll.plots.bands import draw_bands, title_of
from phicoll.plots.canvas import Canvas, new_figure
from phicoll.plots.medians import medians_figure
from phicoll.plots.style import INK, PALE, SERIES, tidy
from phicoll.registry import moves_data
from phicoll.results.reading.subject import size_text

__all__ = ["draw_host", "draw_orders", "draw_pieces", "draw_runs", "draw_trees"]

#: Panels of :func:`draw_runs`: operation, name, size.
PANELS = (
    *(
        (*key, f"as figure {figure}")
        for key, figure in zip(TABLE_4_1, ("4.5", "4.6", "4.6", "4.7", "4.8"), strict=True)
    ),
    ("allreduce", "rabenseifner", 8192, "namashivayam-2014"),
)


def draw_pieces(found: ModelOutcome) -> Canvas:
    """Draw modelled / observed for each piece, for both sets of constants."""
    groups = list(dict.fromkeys(p.group for p in found.pieces))
    figure = new_figure(7.0, 1.0 + 0.6 * len(groups))
    ax = figure.subplots()
    for index, (name, colour) in enumerate(zip(found.models, SERIES, strict=False)):
        ax.plot([], [], "o", color=colour, label=f"{name} constants")
        for row, group in enumerate(groups):
            ratios = [
                p.modelled[name] / p.observed for p in found.pieces if p.group == group and p.modelled[name]
            ]  # type: ignore[operator]
            height = row + (index - 0.5) * 0.3 + 0.08 * np.sin(np.arange(len(ratios)) * 2.4)
            ax.plot(
                np.clip(ratios, 0.4, 2.5), height, "o", color=colour, markersize=4, markerfacecolor="none"
            )
    ax.axvspan(0.75, 1.25, color=PALE, alpha=0.35, linewidth=0)
    ax.axvline(1, color=INK, linewidth=0.8)
    ax.set_yticks(range(len(groups)), groups)
    ax.set_ylim(len(groups) - 0.4, -0.6)
    ax.set_xlabel("modelled / simulated; the band is 25 %; clipped at 0.4 and 2.5")
    ax.legend(frameon=False, fontsize=8, loc="lower right")
    tidy(ax, "x")
    return figure


def draw_runs(found: ModelOutcome, start: str = "evicted") -> Canvas:
    """Bands of both sets of constants with box plots of the simulated samples."""
    figure = new_figure(10.0, 8.4)
    for ax, (operation, name, size, where) in zip(figure.subplots(3, 2).flat, PANELS, strict=True):
        for constants, colour in zip(found.compared, (SERIES[0], SERIES[1]), strict=False):
            of = [
                r
                for r in found.compared[constants][start].rows
                if (r.subject.operation, r.name, r.subject.size_bytes) == (operation, name, size)
            ]
            if not of:
                continue
            draw_bands(ax, of, colours=[colour], legend=False, boxes=constants == "published")
            ax.plot([], [], color=colour, linewidth=6, alpha=0.35, label=f"band, {constants} constants")
            head = title_of(of, "ranks").split("\n")[0]
        ax.set_title(f"{head} ({where})", loc="left")
        ax.legend(frameon=False, fontsize=7.5, loc="upper left")
    return figure


def draw_trees(found: ModelOutcome, start: str = "evicted") -> Canvas:
    """Draw figure 4.4: simulated medians of the trees over ranks, and the model's best cases."""
    runs = found.compared["published"][start].select(operation="broadcast", size_bytes=8)
    return medians_figure(runs, "published")


def draw_orders(found: ModelOutcome) -> Canvas:
    """Median over the band's ends for every row: where each algorithm lies on its band."""
    figure = new_figure(9.0, 5.6)
    for ax, start in zip(figure.subplots(1, 2, sharey=True), found.compared["published"], strict=True):
        place_rows(ax, found.compared["published"][start])
        ax.set_title(f"{start} start", loc="left")
    figure.supxlabel("median / best case; grey: the band; dark to light: 2 to 60 ranks", fontsize=8.5)
    return figure


def place_rows(ax, runs: ComparedRuns) -> None:  # type: ignore[no-untyped-def]
    keys = list(dict.fromkeys((r.subject.operation, r.name, r.subject.size_bytes) for r in runs.rows))
    for row, key in enumerate(keys):
        of = [r for r in runs.rows if (r.subject.operation, r.name, r.subject.size_bytes) == key]
        low, high = (
            np.array([r.over_low for r in of]),
            np.array([r.prediction.high_ns / r.prediction.low_ns for r in of]),
        )
        ax.plot(
            [1, float(np.median(high))], [row, row], color=PALE, linewidth=7, solid_capstyle="butt", zorder=1
        )
        ranks = np.array([r.subject.ranks for r in of])
        ax.scatter(low, np.full(len(of), row), c=ranks, cmap="viridis", vmin=2, vmax=60, s=16, zorder=2)
    ax.axvline(1, color=INK, linewidth=0.8)
    ax.set_xscale("log")
    ax.set_xticks([0.25, 0.5, 1, 2, 4], ["1/4", "1/2", "1", "2", "4"])
    ax.minorticks_off()
    ax.set_yticks(range(len(keys)), [f"{o} {n}{f' {size_text(s)}' if s else ''}" for o, n, s in keys])
    ax.set_ylim(len(keys) - 0.4, -0.6)
    tidy(ax, "x")


def draw_host(found: ModelOutcome) -> Canvas | None:
    """Bands of the host's own model with box plots of what was measured on it, evicted and warm."""
    if found.host is None or not found.host.compared.rows:
        return None
    runs = found.host.compared
    operations = list(dict.fromkeys(r.subject.operation for r in runs.rows))
    starts = list(dict.fromkeys(r.subject.start for r in runs.rows))
    figure = new_figure(10.5, 2.7 * len(operations))
    for line, operation in zip(
        figure.subplots(len(operations), len(starts), squeeze=False), operations, strict=True
    ):
        for ax, start in zip(line, starts, strict=True):
            of = list(runs.select(operation=operation, start=start).rows)
            draw_bands(ax, of, over="size_bytes" if moves_data(operation) else "ranks", log=True)
            ax.set_title(f"{operation}, {start} start, 2 threads, measured", loc="left")
    return figure
