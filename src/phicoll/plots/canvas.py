"""Figures outside pyplot's list: none has to be closed and no window opens."""

from __future__ import annotations

import io
from pathlib import Path

from phicoll.errors import ResourceError
from phicoll.foundations.extras import extra

with extra("plots"):
    from matplotlib.figure import Figure

__all__ = ["Canvas", "new_figure", "save_figure"]


class Canvas(Figure):
    """A Matplotlib figure that a notebook displays as the value of a cell."""

    def _repr_png_(self) -> bytes:
        stream = io.BytesIO()
        self.savefig(stream, format="png", dpi=90)
        return stream.getvalue()


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure to ``path``; no part of it is left there if that fails.

    Raises
    ------
    ResourceError
        The disk is full, or the figure is larger than Matplotlib or the memory allows.
    """
    existed = path.exists()
    try:
        if path.suffix == ".html":
            from phicoll.plots.live import page

            path.write_text(page(figure, path.stem), encoding="utf-8")
        else:
            figure.savefig(path, dpi=150)
    except (OSError, ValueError, MemoryError) as error:
        if not existed:
            path.unlink(missing_ok=True)
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ResourceError(f"{path}: cannot be written ({reason or 'not enough memory'})") from error


def new_figure(width: float, height: float) -> Canvas:
    """An empty figure of the given size in inches, with constrained layout."""
    return Canvas(figsize=(width, height), layout="constrained")
