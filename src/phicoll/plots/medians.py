"""Algorithms over ranks: the medians of their runs beside the best cases of a model."""

from __future__ import annotations

from phicoll.plots.bands import ModelledRuns
from phicoll.plots.canvas import Canvas, new_figure
from phicoll.plots.style import SERIES, tidy

__all__ = ["medians_figure"]


def medians_figure(runs: ModelledRuns, constants: str, first: str = "model-tree") -> Canvas:
    """Draw two panels in us over ranks, as in ramos-hoefler-2013, figure 4.4.

    Parameters
    ----------
    runs:
        Compared runs of one operation and size, with at least one row.
    constants:
        The source of the model's constants, for the title.
    first:
        The algorithm drawn with a heavier line.
    """
    figure = new_figure(10.0, 3.9)
    left, right = figure.subplots(1, 2)
    for name, colour in zip(dict.fromkeys(r.name for r in runs.rows), SERIES, strict=False):
        of = sorted((r for r in runs.rows if r.name == name), key=lambda r: r.subject.ranks)
        ranks = [r.subject.ranks for r in of]
        width = 2.2 if name == first else 1.2
        for ax, ns in ((left, [r.median for r in of]), (right, [r.prediction.low_ns for r in of])):
            ax.plot(ranks, [t / 1000 for t in ns], color=colour, linewidth=width, marker=".", label=name)
    one = runs.rows[0]
    left.set_title(f"{one.kind.capitalize()}, medians", loc="left")
    right.set_title(f"Modelled, best case, {constants} constants", loc="left")
    data = f" of {one.subject.size_bytes} bytes" if one.subject.size_bytes else ""
    for ax in (left, right):
        ax.set_xlabel("ranks")
        ax.set_ylabel(f"{one.subject.operation}{data}, us")
        ax.set_ylim(0)
        ax.legend(frameon=False, fontsize=7.5)
        tidy(ax, "both")
    return figure
