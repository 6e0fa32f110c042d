"""Room for descriptors: the limit on open files (``ulimit -n``) is raised while many processes are watched."""

from __future__ import annotations

import contextlib
import resource
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from phicoll.errors import ResourceError

__all__ = ["give_limit_back_in", "limit_outside", "room_for"]

SPARE = 24  # what a start opens and closes again, and what the program itself may open meanwhile

_lock = threading.Lock()
_needs: list[int] = []  # of the runs under way; each is one more that may be open at the same time
_before: tuple[int, int] | None = None  # the limit outside of them


def open_now() -> int:
    try:
        return sum(1 for _ in Path("/proc/self/fd").iterdir()) - 1  # the folder itself is open, too
    except OSError:
        return 64


def raised(limit: tuple[int, int], wanted: int) -> tuple[int, int]:
    """A soft limit that is as near to ``wanted`` as the hard one allows."""
    soft, hard = limit
    unlimited = resource.RLIM_INFINITY
    if soft == unlimited or wanted <= soft:
        return limit
    return (wanted if hard == unlimited else min(wanted, hard), hard)


@contextlib.contextmanager
def room_for(wanted: int, least: int, what: str) -> Iterator[bool]:
    """Make room for ``wanted`` more descriptors until the end; whether there is that much, and not just for ``least``.

    The soft limit is raised towards the hard one, and restored when the last of several runs ends.

    Raises
    ------
    ResourceError
        There is no room for ``least``; nothing has been opened.
    """
    global _before
    with _lock:
        there = open_now()
        now = resource.getrlimit(resource.RLIMIT_NOFILE)
        others = there + sum(_needs) + SPARE
        limit = raised(now, others + wanted)
        room = sys.maxsize if limit[0] == resource.RLIM_INFINITY else limit[0] - others
        if room < least:
            raise ResourceError(
                f"{what} need {others + least} open descriptors, and this process may have {limit[0]}: raise the"
                " hard limit (ulimit -Hn)"
            )
        if limit != now:
            resource.setrlimit(resource.RLIMIT_NOFILE, limit)
        if not _needs:
            _before = now
        _needs.append(wanted)
    try:
        yield room >= wanted
    finally:
        with _lock:
            _needs.remove(wanted)
            if not _needs and _before is not None:
                with contextlib.suppress(ValueError, OSError):  # the hard limit was lowered meanwhile
                    resource.setrlimit(resource.RLIMIT_NOFILE, _before)
                _before = None


def limit_outside() -> tuple[int, int]:
    """The limit that this process has outside of all runs."""
    return _before or resource.getrlimit(resource.RLIMIT_NOFILE)


def give_limit_back_in(pid: int) -> None:
    """Give a process that was started meanwhile the limit that it would have had otherwise."""
    if _before is not None:
        with contextlib.suppress(OSError, ValueError):  # it has ended, or is another user's by now
            resource.prlimit(pid, resource.RLIMIT_NOFILE, _before)
