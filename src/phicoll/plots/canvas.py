"""Figures outside pyplot's list: none has to be closed and no window opens."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from phicoll.errors import ResourceError
from phicoll.foundations.extras import extra
from phicoll.foundations.files import replaced, write_text

with extra("plots"):
    from matplotlib.figure import Figure

__all__ = ["Canvas", "new_figure", "save_figure"]


class Canvas(Figure):
    """A Matplotlib figure that a notebook displays as the value of a cell."""

    def _repr_png_(self) -> bytes:
        stream = io.BytesIO()
        self.savefig(stream, format="png", dpi=90)
        return stream.getvalue()


def save_figure(figure: Figure, path: Path, **options: Any) -> None:
    """Write a figure to ``path``, all of it or nothing; ``options`` are those of Matplotlib's ``savefig``.

    Raises
    ------
    ResourceError
        The disk is full, or the figure is larger than Matplotlib or the memory allows.
    """
    try:
        if path.suffix == ".html":
            from phicoll.plots.live import page

            write_text(path, page(figure, path.stem))
        else:
            with replaced(path) as temporary:
                figure.savefig(temporary, format=path.suffix[1:], **{"dpi": 150, **options})
    except (ValueError, MemoryError) as error:
        raise ResourceError(f"{path}: cannot be written ({error or 'not enough memory'})") from error


def new_figure(width: float, height: float) -> Canvas:
    """An empty figure of the given size in inches, with constrained layout."""
    return Canvas(figsize=(width, height), layout="constrained")
