"""The exception that a failed run raises: the first cause among its ranks' exceptions and a broken group."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from phicoll.errors import BrokenGroupError

__all__ = ["ENDED", "RankTraceback", "add_note", "describe", "first_cause", "late", "traceback_text"]

ENDED = "its process was ended"  # the fate of a late process


class RankTraceback(Exception):  # noqa: N818 - it shows where an error was raised
    """A rank's traceback as text: the ``__cause__`` of the exception that :func:`run` raises."""

    def __init__(self, rank: int, text: str) -> None:
        super().__init__(f"\n\nrank {rank}:\n{text}")
        self.rank = rank


def first_cause(
    broken: tuple[int, str] | None,
    raised: dict[int, tuple[BaseException, str]],
    overdue: Sequence[int] = (),
    fate: str = "",
) -> BaseException | None:
    """The exception that a run raises, given how its group broke and what its ranks raised; None if all went well.

    ``overdue`` ranks had not ended in time; ``fate`` says what became of each.
    """
    error = cause_of(broken, raised)
    for rank in overdue if error is not None else ():
        add_note(error, late(rank, fate))
    return error


def late(rank: int, fate: str) -> str:
    """The note on a rank that did not end, though its group had broken."""
    return f"rank {rank} did not end in time: {fate}"


def cause_of(
    broken: tuple[int, str] | None, raised: dict[int, tuple[BaseException, str]]
) -> BaseException | None:
    if broken is not None and broken[0] in raised:
        rank = broken[0]
    elif broken is not None:
        return BrokenGroupError(f"group broken by rank {broken[0]}: {broken[1]}", broken[0])
    elif raised:
        rank = min(raised)
    else:
        return None
    error, text = raised[rank]
    cause = RankTraceback(rank, text)
    if isinstance(error, SystemExit):  # the rank exits, not this program
        error = BrokenGroupError(f"group broken by rank {rank}: it exited with {error.code!r}", rank)
    error.__cause__ = cause
    with contextlib.suppress(Exception):  # some take no attributes; the cause still names the rank
        error.rank = rank  # type: ignore[attr-defined]
    add_note(error, f"raised on rank {rank}")
    return error


def add_note(error: Any, text: str) -> None:
    """``error.add_note``, which Python 3.10 lacks: there tracebacks do not show the note."""
    if hasattr(error, "add_note"):
        error.add_note(text)
    else:
        with contextlib.suppress(Exception):
            error.__notes__ = [*getattr(error, "__notes__", ()), text]


def describe(error: BaseException) -> str:
    """A rank's exception as the reason that other ranks see."""
    text = str(error)
    return f"raised {type(error).__name__}" + (f": {text}" if text else "")


def traceback_text(error: BaseException) -> str:
    import traceback

    return "".join(traceback.format_exception(type(error), error, error.__traceback__))
