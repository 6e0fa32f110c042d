"""A progress bar for terminals and notebooks, redrawn only when the program reports that it is between rounds."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from phicoll.foundations.markup import escaped, fill
from phicoll.foundations.streams import printable

__all__ = ["Display", "display", "wanted"]

INTERVAL_S = 0.5  # drawing takes CPU time that the ranks could use


class Display(Protocol):
    """What :func:`phicoll.bench.run` reports to."""

    def update(self, done: int, total: int, what: str) -> None: ...


class TerminalDisplay:
    """A progress bar in the last line of a terminal, which disappears after the run."""

    BAR = 30  # characters

    def __init__(self) -> None:
        self.start, self.last = time.monotonic(), 0.0
        self.put("starting")

    def update(self, done: int, total: int, what: str) -> None:
        now = time.monotonic()
        if now - self.last < INTERVAL_S and done < total:
            return
        self.last = now
        bar = "#" * (self.BAR * done // max(total, 1))
        passed = now - self.start
        words = f"{what[:60]} [{bar:.<{self.BAR}}] {done}/{total}, {duration(passed)}"
        if 0 < done < total:
            words += f", about {duration(passed * (total - done) / done)} left"
        self.put(words)

    def put(self, words: str) -> None:
        """Draw the line anew; a longer one than the terminal's would be drawn below itself."""
        if sys.stderr is not None:  # None where it was closed at the start
            shown = printable(words, one_line=True)[: shutil.get_terminal_size().columns - 1]
            sys.stderr.write(f"\r\x1b[K{shown}")
            sys.stderr.flush()

    def close(self) -> None:
        self.put("")


class NotebookDisplay:
    """A progress bar in HTML in a cell's output: it needs no widgets and disappears after the run."""

    def __init__(self) -> None:
        from IPython.display import display

        self.start = self.last = time.monotonic()
        self.handle: Any = display(self.shown("starting"), display_id=True)  # type: ignore[no-untyped-call]

    def update(self, done: int, total: int, what: str) -> None:
        now = time.monotonic()
        if now - self.last >= INTERVAL_S:
            self.last = now
            words = f"{what[:60]}: {done} of {total}, {now - self.start:.0f} s"
            self.handle.update(
                self.shown(fill('<progress value="{}" max="{}"></progress> {}', done, total, words))
            )

    def close(self) -> None:
        self.handle.update(self.shown(""))

    @staticmethod
    def shown(text: str) -> Any:
        from IPython.display import HTML

        return HTML(escaped(text))  # type: ignore[no-untyped-call]


def duration(seconds: float) -> str:
    """Seconds as ``1:05``, with hours where there are any."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"


def wanted() -> bool:
    """Whether to show progress by default: stderr is a terminal, or this is a notebook."""
    return (sys.stderr is not None and sys.stderr.isatty()) or in_notebook()


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
    # Nothing draws but the program's reports: a thread that did would run during timed regions.
    shown = NotebookDisplay() if in_notebook() else TerminalDisplay()
    try:
        yield shown
    finally:
        shown.close()
