"""A rank of :func:`phicoll.run`: an interpreter that calls :func:`main`, with inherited descriptors."""

from __future__ import annotations

import os
import pickle
import sys
from typing import Any


def main() -> None:
    task, answer, parent = (int(word) for word in sys.argv[1:4])
    wait = sys.argv[4]
    path = os.environ.pop("PHICOLL_PYTHONPATH", None)
    if path is None:
        os.environ.pop("PYTHONPATH", None)
    else:
        os.environ["PYTHONPATH"] = path
    descriptor = int(os.environ.pop("PHICOLL_GROUP_FD"))  # programs that this one starts are not ranks
    rank = int(os.environ["PHICOLL_RANK"])
    for number in (task, answer):
        os.set_inheritable(number, False)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]

    import phicoll._core as _core

    _core.die_with_parent(parent)
    try:
        core = _core.join(descriptor, rank, wait)
    except Exception as error:  # this breaks the group, and all learn why
        from phicoll.comm.answers import write_all

        write_all(answer, pickled_error(error, ""))
        return

    # The group stands before anything is unpickled: whatever fails from here on, the others learn why.
    from phicoll.comm.answers import read_pickle, write_all
    from phicoll.comm.first_cause import describe, traceback_text
    from phicoll.comm.worlds import as_world
    from phicoll.foundations.streams import flush_output

    found: tuple[str, Any, str]
    try:
        function, args = unpacked(read_pickle(task))
        os.close(task)
        with as_world(core) as comm:
            found = ("returned", function(comm, *args), "")
        parts = pickled(found)
    except BaseException as error:
        core.fail(describe(error))
        parts = pickled_error(error, traceback_text(error))
    core.leave()  # ranks that wait for this one learn that it left before its answer is written
    write_all(answer, parts)
    flush_output()


def unpacked(payload: dict[str, Any]) -> tuple[Any, Any]:
    sys.path[:] = payload["sys_path"]
    sys.argv[:] = payload["argv"]
    return pickle.loads(payload["function"]), pickle.loads(payload["args"])


def pickled(found: Any) -> list[bytes | memoryview]:
    from phicoll.foundations import pickling

    return [pickling.dumps(found)]  # a pickle ends with a dot, which says that it is all there


def pickled_error(error: BaseException, text: str) -> list[bytes | memoryview]:
    """An exception, or a description of one that cannot be pickled."""
    error.__traceback__ = None
    try:
        parts = pickled(("raised", error, text))
        pickle.loads(parts[0])
    except Exception:
        from phicoll.errors import Error

        return pickled(("raised", Error(f"{type(error).__name__}: {error}"), text))
    return parts
