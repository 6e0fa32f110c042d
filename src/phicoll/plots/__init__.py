"""Figures of results. The ``draw_*`` functions draw into given Axes; :func:`figure` lays out a whole figure."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from phicoll.errors import ArgumentError
from phicoll.plots.comparison import draw_comparison
from phicoll.plots.counts import draw_counts
from phicoll.plots.distributions import draw_distribution
from phicoll.plots.probes import draw_probes
from phicoll.plots.ranks import draw_ranks
from phicoll.plots.sizes import draw_sizes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from phicoll.results.reading.recorded import Recorded

__all__ = [
    "KINDS",
    "draw_comparison",
    "draw_counts",
    "draw_distribution",
    "draw_probes",
    "draw_ranks",
    "draw_sizes",
    "figure",
]

KINDS = ("auto", "comparison", "ranks", "sizes", "probes", "distributions")


def figure(
    results: Recorded,
    kind: str = "auto",
    *,
    ax: Axes | Sequence[Axes] | None = None,
    title: str | None = None,
    figsize: tuple[float, float] | None = None,
    **options: Any,
) -> Any:
    """Draw a figure of ``results``. A notebook displays it; ``figure.savefig(path)`` writes it.

    Parameters
    ----------
    results:
        The results to show.
    kind:
        ``"comparison"``: algorithms side by side, a panel per rank count and definition. ``"ranks"``: lines over rank
        counts. ``"sizes"``: lines over message sizes. ``"probes"``: the probes over the time of the run.
        ``"distributions"``: threads against processes. ``"auto"``: ``"sizes"`` if there are several sizes, else
        ``"ranks"`` if there are more than three rank counts, else ``"comparison"``.
    ax:
        Axes of Matplotlib to draw into instead of a new figure: one, or an array of as many as the kind has panels.
        Their figure gets constrained layout if it has no layout engine.
    title:
        The title of a single panel, in place of its own, or of the figure above several.
    figsize:
        The width and height of a new figure in inches; by default by the number of panels.
    **options:
        ``unit``: ``"lines"``, ``"switches"``, ``"ns"``, ``"us"``, ``"cycles"`` (us by default if simulated) or, for
        sizes, ``"GB/s"`` and ``"ratio"``, to the best of each size; ``label``: ``"remote"`` or ``"same-core"``;
        ``most``: the number of algorithms shown, the fastest first; over ranks or sizes, of those in colour, 6 by
        default.

    Returns
    -------
    Figure or Axes
        The figure, or ``ax`` if it is given.

    Raises
    ------
    ArgumentError
        An unknown kind or option, nothing to show, or more or fewer Axes than panels.
    """
    from phicoll.plots import layout
    from phicoll.plots.panels import Panels

    if kind not in KINDS:
        raise ArgumentError("kind", repr(kind), ", ".join(KINDS))
    if kind == "auto":
        several = len({point.get("size_bytes") for point in results.points}) > 1
        kind = (
            "sizes"
            if several
            else "ranks"
            if len({point.get("ranks") for point in results.points}) > 3
            else "comparison"
        )
    place = partial(Panels, ax=ax, title=title, figsize=figsize)
    drawn = layout.LAYOUTS[kind](results, layout.Asked(place, **layout.check_options(kind, options)))
    return drawn.figure if ax is None else ax
