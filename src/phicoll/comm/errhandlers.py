"""Error handlers by MPI's names. Errors are exceptions under each of them; one that is not caught ends the group."""

from __future__ import annotations

from typing import Any

from phicoll.comm.not_offered import Handle
from phicoll.errors import ArgumentError

__all__ = [
    "ERRHANDLER_NULL",
    "ERRORS_ABORT",
    "ERRORS_ARE_FATAL",
    "ERRORS_RETURN",
    "Errhandler",
    "HasErrhandler",
]


class Errhandler(Handle):
    """One of ``ERRORS_RETURN``, ``ERRORS_ARE_FATAL`` and ``ERRORS_ABORT``, which all do the same here, or null."""

    __slots__ = ("name",)

    def __init__(self, errhandler: Errhandler | None = None) -> None:
        self._checked(errhandler)
        self.name: str = "ERRHANDLER_NULL" if errhandler is None else errhandler.name

    def Free(self) -> None:
        """Make it null."""
        self.name = "ERRHANDLER_NULL"

    def __bool__(self) -> bool:
        return self.name != "ERRHANDLER_NULL"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Errhandler) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"phicoll.{self.name}"

    def __reduce__(self) -> Any:
        constant = globals()[self.name]
        return self.name if self is constant else (Errhandler, (constant,))


def named(name: str) -> Errhandler:
    made = Errhandler()
    made.name = name
    return made


ERRHANDLER_NULL = Errhandler()
ERRORS_RETURN = named("ERRORS_RETURN")
ERRORS_ARE_FATAL = named("ERRORS_ARE_FATAL")
ERRORS_ABORT = named("ERRORS_ABORT")
Errhandler._constants = (ERRORS_RETURN, ERRORS_ARE_FATAL, ERRORS_ABORT)


class HasErrhandler(Handle):
    """Base of classes with an error handler: communicators, windows."""

    _errhandler: Errhandler = ERRORS_RETURN

    def Get_errhandler(self) -> Errhandler:
        """Its error handler, by default ``ERRORS_RETURN``."""
        return Errhandler(self._errhandler)

    def Set_errhandler(self, errhandler: Errhandler) -> None:
        """Note an error handler. Errors stay exceptions; one that is not caught ends the group."""
        if not isinstance(errhandler, Errhandler) or not errhandler:
            raise ArgumentError(
                "errhandler", repr(errhandler), "ERRORS_RETURN, ERRORS_ARE_FATAL or ERRORS_ABORT"
            )
        self._errhandler = Errhandler(errhandler)
