"""Errors that only one rank may have seen, such as a buffer that is too small, break the group: the others learn so."""

from __future__ import annotations

from typing import Any

__all__ = ["Alone", "fail_alone"]


class Alone:
    """A context in which an exception breaks the group, unless it has no other rank: only this one may have seen it."""

    __slots__ = ("core",)

    def __init__(self, core: Any) -> None:
        self.core = core

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if kind is not None:
            fail_alone(self.core, error)


def fail_alone(core: Any, error: BaseException) -> None:
    """Break the group, unless it has no other rank, by an error that only this one may have seen."""
    if core.size > 1 and not core.closed:
        core.fail(f"raised {type(error).__name__}: {error}")
