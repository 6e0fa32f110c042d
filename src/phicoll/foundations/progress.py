"""A progress bar for terminals and notebooks, redrawn only when the program reports that it is between rounds."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["Display", "display", "wanted"]

INTERVAL_S = 0.5  # drawing takes CPU time that the ranks could use


class Display(Protocol):
    """What :func:`phicoll.bench.run` reports to."""

    def update(self, done: int, total: int, what: str) -> None: ...


class TerminalDisplay:
    """A progress bar drawn by ``rich``."""

    def __init__(self, bar: Progress) -> None:
        self.bar = bar
        self.task = bar.add_task("starting", total=None)
        self.last = 0.0

    def update(self, done: int, total: int, what: str) -> None:
        now = time.monotonic()
        self.bar.update(self.task, completed=done, total=total, description=what[:60])
        if now - self.last >= INTERVAL_S or done >= total:
            self.last = now
            self.bar.refresh()


class NotebookDisplay:
    """A progress bar in HTML in a cell's output: it needs no widgets and disappears after the run."""

    def __init__(self) -> None:
        from IPython.display import display

        self.start = self.last = time.monotonic()
        self.handle: Any = display(self.shown("starting"), display_id=True)

    def update(self, done: int, total: int, what: str) -> None:
        now = time.monotonic()
        if now - self.last >= INTERVAL_S:
            self.last = now
            words = f"{html.escape(what[:60])}: {done} of {total}, {now - self.start:.0f} s"
            self.handle.update(self.shown(f'<progress value="{done}" max="{total}"></progress> {words}'))

    def close(self) -> None:
        self.handle.update(self.shown(""))

    @staticmethod
    def shown(text: str) -> Any:
        from IPython.display import HTML

        return HTML(text)


def wanted() -> bool:
    """Whether to show progress by default: stderr is a terminal, or this is a notebook."""
    return sys.stderr.isatty() or in_notebook()


def in_notebook() -> bool:
    if "IPython" not in sys.modules:
        return False
    shell = sys.modules["IPython"].get_ipython()
    return shell is not None and shell.__class__.__name__ == "ZMQInteractiveShell"


@contextmanager
def display(progress: bool | None) -> Iterator[Display | None]:
    """A :class:`Display`, or ``None`` if none is wanted. It writes to stderr, never to stdout."""
    if not (wanted() if progress is None else progress):
        yield None
        return
    if in_notebook():
        shown = NotebookDisplay()
        try:
            yield shown
        finally:
            shown.close()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    # No refresh thread: it would run during timed regions.
    with Progress(*columns, console=Console(stderr=True), auto_refresh=False, transient=True) as bar:
        yield TerminalDisplay(bar)
