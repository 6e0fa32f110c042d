"""Figures outside pyplot's list: none has to be closed and no window opens."""

from __future__ import annotations

import io

from matplotlib.figure import Figure

__all__ = ["Canvas", "new_figure"]


class Canvas(Figure):
    """A Matplotlib figure that a notebook displays as the value of a cell."""

    def _repr_png_(self) -> bytes:
        stream = io.BytesIO()
        self.savefig(stream, format="png", dpi=90)
        return stream.getvalue()


def new_figure(width: float, height: float) -> Canvas:
    """An empty figure of the given size in inches, with constrained layout."""
    return Canvas(figsize=(width, height), layout="constrained")
