"""The exceptions that phicoll raises.

Bad input raises :class:`ArgumentError`, which names the argument, what it got and what is allowed, before anything is
started. All other exceptions of phicoll are subclasses of :class:`Error` too.
"""

from __future__ import annotations

import builtins

from phicoll.foundations.streams import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "ArgumentError",
    "BrokenGroupError",
    "Error",
    "FitError",
    "PhicollWarning",
    "ResourceError",
    "ResultsFileError",
    "TimeoutError",
    "VerificationError",
]


#: How much of a value an error's text shows; ``got`` has all of it.
MOST_SHOWN = 400


#: MPI's classes of errors, with MPICH's numbers. phicoll's own errors are of few of them.
ERROR_CLASSES = {
    f"ERR_{name}": number
    for names, first in (
        ("BUFFER COUNT TYPE TAG COMM RANK ROOT GROUP OP TOPOLOGY DIMS ARG UNKNOWN TRUNCATE OTHER INTERN", 1),
        (
            "IN_STATUS PENDING REQUEST ACCESS AMODE BAD_FILE CONVERSION DUP_DATAREP FILE_EXISTS FILE_IN_USE",
            17,
        ),
        ("FILE INFO INFO_KEY INFO_VALUE INFO_NOKEY IO NAME NO_MEM NOT_SAME NO_SPACE NO_SUCH_FILE PORT", 27),
        ("QUOTA READ_ONLY SERVICE SPAWN UNSUPPORTED_DATAREP UNSUPPORTED_OPERATION WIN BASE LOCKTYPE", 39),
        ("KEYVAL RMA_CONFLICT RMA_SYNC SIZE DISP ASSERT", 48),
        ("RMA_RANGE RMA_ATTACH RMA_SHARED RMA_FLAVOR", 55),
        ("SESSION PROC_ABORTED VALUE_TOO_LARGE ERRHANDLER ABI REVOKED PROC_FAILED PROC_FAILED_PENDING", 79),
        ("LASTCODE", 0x3FFFFFFF),
    )
    for number, name in enumerate(names.split(), first)
}
ERR_TAG, ERR_RANK, ERR_ROOT, ERR_OP, ERR_ARG, ERR_OTHER = (
    ERROR_CLASSES[f"ERR_{name}"] for name in ("TAG", "RANK", "ROOT", "OP", "ARG", "OTHER")
)
#: An argument's own.
OF_ARGUMENT = {
    "root": ERR_ROOT,
    "op": ERR_OP,
    **dict.fromkeys(("tag", "sendtag", "recvtag"), ERR_TAG),
    **dict.fromkeys(("dest", "source", "rank"), ERR_RANK),
}


class Error(Exception):
    """Base of every error that phicoll raises."""

    #: The :class:`phicoll.Results` measured before the error, or ``None``.
    results: Any = None

    def __str__(self) -> str:
        return printable(super().__str__())  # it may hold a file's name and what is in the file

    # For mpi4py's programs.

    def Get_error_class(self) -> int:
        """MPI's class of the error: one of those above, or ``ERR_OTHER``."""
        return ERR_OTHER

    def Get_error_code(self) -> int:
        """As :meth:`Get_error_class`."""
        return self.Get_error_class()

    def Get_error_string(self) -> str:
        """The error's text."""
        return str(self)

    @property
    def error_class(self) -> int:
        """MPI's class of the error."""
        return self.Get_error_class()

    @property
    def error_code(self) -> int:
        """As :attr:`error_class`."""
        return self.Get_error_code()

    @property
    def error_string(self) -> str:
        """The error's text."""
        return self.Get_error_string()


class ArgumentError(Error, ValueError):
    """Bad input, found before anything was started.

    Parameters
    ----------
    argument:
        The argument's name, as the caller writes it.
    got:
        The value it got, as text.
    allowed:
        The values that are allowed, as text.
    """

    def __init__(self, argument: str, got: str, allowed: str) -> None:
        shown = got if len(got) <= MOST_SHOWN else f"{got[:MOST_SHOWN]}... ({len(got)} characters)"
        super().__init__(f"{argument}: got {shown}; allowed: {allowed}")
        self.argument = argument
        self.got = got
        self.allowed = allowed

    def Get_error_class(self) -> int:
        """``ERR_ARG``, or the class that MPI has for this argument."""
        return OF_ARGUMENT.get(self.argument, ERR_ARG)

    def __reduce__(self) -> tuple[type[ArgumentError], tuple[str, str, str]]:
        return type(self), (self.argument, self.got, self.allowed)


class FitError(Error, ValueError):
    """The data do not determine ``parameter`` of a fit; ``reason`` says why."""

    def __init__(self, parameter: str, reason: str) -> None:
        super().__init__(f"{parameter} cannot be determined: {reason}")
        self.parameter = parameter
        self.reason = reason

    def __reduce__(self) -> tuple[type[FitError], tuple[str, str]]:
        return type(self), (self.parameter, self.reason)


class ResultsFileError(ArgumentError):
    """A results file that is missing, not phicoll's, of a newer schema, or without a single complete line."""


class ResourceError(Error, OSError):
    """A resource is missing or was refused: memory, a name in use, a system call, a program."""


class BrokenGroupError(Error, RuntimeError):
    """A rank died, raised, left, made another call or never joined; ``rank`` is the first, or -1 if unknown."""

    def __init__(self, message: str, rank: int = -1) -> None:
        super().__init__(message)
        self.rank = rank


class TimeoutError(Error, builtins.TimeoutError):
    """A single wait inside a collective took longer than the group's ``timeout``; the group is broken."""


class VerificationError(Error, RuntimeError):
    """A subject gave a wrong result; none of its timings count."""


class PhicollWarning(UserWarning):
    """A warning that affects how results are read, such as a truncated results file."""
