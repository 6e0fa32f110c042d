"""The panels of a figure: Axes of a new figure, or Axes that a caller gives."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from phicoll.errors import ArgumentError
from phicoll.foundations.checks import check_text
from phicoll.plots.canvas import new_figure
from phicoll.plots.style import CHARACTER

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Panels", "size_of"]

TITLE_SIZE = 10.0


class Panels:
    """As many Axes as ``number``, in rows of at most ``columns``, with titles that keep to their panel's width.

    Parameters
    ----------
    size:
        The width and height in inches of a new figure without ``figsize``.
    heights:
        The ratios of the rows' heights; by default all are equal.
    ax:
        Axes to draw into, one or as many as panels, instead of a new figure. Their figure gets constrained layout if
        it has no layout engine, so that what stands beside a panel has room.
    title:
        The title of a single panel, in place of its own, or of the figure above several.
    figsize:
        The width and height of a new figure in inches.
    """

    def __init__(
        self,
        number: int,
        size: tuple[float, float],
        *,
        columns: int,
        heights: Sequence[float] | None = None,
        ax: Any = None,
        title: str | None = None,
        figsize: tuple[float, float] | None = None,
    ) -> None:
        if title is not None:
            check_text("title", title)
        if figsize is not None:
            size = check_figsize(figsize)
            if ax is not None:
                raise ArgumentError(
                    "figsize", f"{size!r} beside ax", "one of them: Axes have a figure with its size"
                )
        self.given = ax is not None
        self.axes: list[Axes] = []
        if self.given:
            self.axes = check_axes(ax, number)
            self.figure = self.axes[0].figure.figure
            if self.figure.get_layout_engine() is None:
                self.figure.set_layout_engine("constrained")
        else:
            self.figure = new_figure(*size)
            lines = -(-number // columns)
            grid = self.figure.subplots(lines, min(columns, number), squeeze=False, height_ratios=heights)
            self.axes = list(grid.flat[:number])
            for left in grid.flat[number:]:
                left.set_visible(False)
        self.title = title if number == 1 else None
        if title is not None and number > 1:
            self.head(title)

    def head(self, text: str) -> None:
        """Write a title above all panels."""
        self.figure.suptitle(wrap(text, self.figure.get_figwidth(), TITLE_SIZE + 1), fontsize=TITLE_SIZE + 1)

    def entitle(self, ax: Axes, text: str, pad: float = 6) -> None:
        """Write a panel's title, or that of the caller in its place; its axes' labels keep to the panel as well."""
        width, height = (inches / self.figure.dpi for inches in ax.get_window_extent().size)
        # What stands beside a panel leaves room above it.
        ax.set_title(
            wrap(self.title or text, 1.15 * width, TITLE_SIZE), loc="left", pad=pad, fontsize=TITLE_SIZE
        )
        for axis, inches in ((ax.xaxis, 1.15 * width), (ax.yaxis, 1.15 * height)):
            axis.label.set_text(wrap(axis.label.get_text(), inches, float(axis.label.get_fontsize())))


def size_of(number: int, width: float, height: float, columns: int = 2) -> tuple[float, float]:
    """The size of a figure of that many panels of one size."""
    return width * min(columns, number), height * -(-number // columns)


def wrap(text: str, inches: float, size: float) -> str:
    """A text in lines of at most that width; its own line breaks are kept."""
    letters = max(12, int(inches * 72 / (size * CHARACTER)))
    return "\n".join(textwrap.fill(line, letters) for line in text.split("\n"))


def check_axes(ax: Any, number: int) -> list[Axes]:
    """The given Axes, one or several; raises ArgumentError unless there are as many as panels."""
    from matplotlib.axes import Axes

    found = list(np.ravel(np.asarray(ax, dtype=object)))
    if not all(isinstance(one, Axes) for one in found):
        raise ArgumentError("ax", repr(ax), "Axes of Matplotlib")
    if len(found) != number:
        panels = "one" if number == 1 else f"{number}, one for each panel; select() results for fewer panels"
        raise ArgumentError("ax", f"{len(found)} Axes", panels)
    return found


def check_figsize(figsize: Any) -> tuple[float, float]:
    """The width and height of a figure in inches."""
    try:
        width, height = (float(inches) for inches in figsize)
    except (TypeError, ValueError):
        width = height = math.nan
    if not (0 < width < math.inf and 0 < height < math.inf):
        raise ArgumentError("figsize", repr(figsize), "a width and a height in inches, such as (8, 4)")
    return width, height
