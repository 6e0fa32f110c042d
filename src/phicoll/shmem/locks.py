"""Locks among all PEs: the first that comes is the first that is served."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import phicoll._core as _core
from phicoll.errors import Error
from phicoll.shmem.memory import free, zeros

__all__ = ["Lock", "clear_lock", "del_lock", "new_lock", "set_lock", "test_lock"]

Word = NDArray[np.int64]


def new_lock() -> Word:
    """A lock that nobody holds: a symmetric array of one ``int64``. Collective."""
    return zeros(1, np.int64)


def del_lock(lock: Word) -> None:
    """Give a lock back. Collective."""
    free(lock)


def set_lock(lock: Word) -> None:
    """Wait until this PE holds the lock. It then sees what the one before stored."""
    _core.shmem_set_lock(lock)


def test_lock(lock: Word) -> bool:
    """Take the lock if nobody holds it: ``False`` if this PE holds it now, ``True`` if another does."""
    return _core.shmem_test_lock(lock)


def clear_lock(lock: Word) -> None:
    """Give up the lock, after :func:`phicoll.shmem.quiet`. Raises ``Error`` if this PE does not hold it."""
    _core.shmem_clear_lock(lock)


class Lock:
    """A lock as an object: ``with lock:``. Made and destroyed by all PEs."""

    def __init__(self) -> None:
        self._lock: Word | None = new_lock()

    def _word(self) -> Word:
        if self._lock is None:
            raise Error("this lock was destroyed")
        return self._lock

    def destroy(self) -> None:
        """Give it back. Collective; a second call does nothing."""
        lock, self._lock = self._lock, None
        if lock is not None:
            del_lock(lock)

    def acquire(self, blocking: bool = True) -> bool:
        """Take the lock, waiting for it if ``blocking``; whether this PE holds it now."""
        if not blocking:
            return not test_lock(self._word())
        set_lock(self._word())
        return True

    def release(self) -> None:
        """As :func:`clear_lock`."""
        clear_lock(self._word())

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *exception: Any) -> None:
        self.release()
