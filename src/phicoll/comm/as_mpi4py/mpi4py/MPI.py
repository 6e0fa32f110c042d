"""``mpi4py.MPI``, which is ``phicoll.MPI``. Its import takes what ``mpi4py.rc`` and the environment say."""

import os
import sys
import warnings
from typing import Any

from phicoll import MPI
from phicoll.comm.errhandlers import HasErrhandler

YES_OR_NO = (True, False, "yes", "no")
#: The values that each option may have.
ALLOWED: dict[str, Any] = {
    "initialize": YES_OR_NO,
    "threads": YES_OR_NO,
    "thread_level": ("single", "funneled", "serialized", "multiple"),
    "finalize": (None, *YES_OR_NO),
    "fast_reduce": YES_OR_NO,
    "recv_mprobe": YES_OR_NO,
    "irecv_bufsz": range(sys.maxsize),
    "errors": ("default", "exception", "abort", "fatal"),
}
WORDS = {"true": True, "yes": True, "on": True, "y": True, "1": True}
WORDS |= {"false": False, "no": False, "off": False, "n": False, "0": False}


def option(rc: Any, name: str) -> Any:
    """An option's value: the environment's, else that of ``mpi4py.rc``; None, with a warning, if it is not allowed."""
    text = os.environ.get(f"MPI4PY_RC_{name.upper()}")
    value = getattr(rc, name)
    if text is not None:
        value = (
            int(text) if name == "irecv_bufsz" and text.isdigit() else WORDS.get(text.lower(), text.lower())
        )
        setattr(rc, name, value)
    if value not in ALLOWED[name]:
        warnings.warn(f"mpi4py.rc.{name}: unexpected value {value!r}", RuntimeWarning, stacklevel=2)
        return None
    return value


def begin() -> None:
    """Do what the options say."""
    package = sys.modules[__package__]
    rc = getattr(package, "rc", None) or package.Rc()  # a program may have deleted it
    options = {name: option(rc, name) for name in ALLOWED}
    MPI._initialized = options["initialize"] not in (False, "no")
    HasErrhandler._errhandler = {
        "default": MPI.ERRORS_ARE_FATAL,
        "abort": MPI.ERRORS_ABORT,
        "fatal": MPI.ERRORS_ARE_FATAL,
    }.get(options["errors"], MPI.ERRORS_RETURN)
    for name in ("PROTOCOL", "THRESHOLD"):
        text = os.environ.get(f"MPI4PY_PICKLE_{name}")
        if text is not None:
            setattr(MPI.pickle, name, int(text))


begin()
sys.modules[__name__] = MPI
