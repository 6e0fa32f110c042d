"""Put and get, strided, nonblocking and with a signal.

``target`` and ``source`` have the same dtype, which may be any without Python objects, and no gaps between their
elements; elements are counted as they lie in memory. The one on the other PE is symmetric: an array of
:mod:`phicoll.shmem` or a part of one. ``size`` is a number of elements; ``None``: as many as both have. ``pe`` is a
number in ``ctx``'s team.
"""

from __future__ import annotations

import enum
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

import phicoll._core as _core
from phicoll.shmem.comparisons import Comparison, comparison
from phicoll.shmem.memory import MALLOC, free, zeros
from phicoll.shmem.teams import Ctx

__all__ = [
    "SIGNAL",
    "SIGNAL_ADD",
    "SIGNAL_SET",
    "del_signal",
    "get",
    "get_nbi",
    "iget",
    "iput",
    "new_signal",
    "put",
    "put_nbi",
    "put_signal",
    "put_signal_nbi",
    "signal_fetch",
    "signal_wait_until",
]

T = TypeVar("T", bound=np.generic)


def put(
    target: NDArray[T], source: NDArray[T], pe: int, size: int | None = None, ctx: Ctx | None = None
) -> None:
    """Copy ``source`` into ``target`` of PE ``pe``. ``source`` may be changed when the call returns."""
    _core.shmem_put(target, source, pe, size, ctx)


def get(
    target: NDArray[T], source: NDArray[T], pe: int, size: int | None = None, ctx: Ctx | None = None
) -> None:
    """Copy ``source`` of PE ``pe`` into ``target`` here."""
    _core.shmem_get(target, source, pe, size, ctx)


def iput(
    target: NDArray[T],
    source: NDArray[T],
    pe: int,
    tst: int = 1,
    sst: int = 1,
    size: int | None = None,
    ctx: Ctx | None = None,
) -> None:
    """Copy every ``sst``-th element of ``source`` to every ``tst``-th of ``target`` of PE ``pe``."""
    _core.shmem_iput(target, source, pe, tst, sst, size, ctx)


def iget(
    target: NDArray[T],
    source: NDArray[T],
    pe: int,
    tst: int = 1,
    sst: int = 1,
    size: int | None = None,
    ctx: Ctx | None = None,
) -> None:
    """Copy every ``sst``-th element of ``source`` of PE ``pe`` to every ``tst``-th of ``target`` here."""
    _core.shmem_iget(target, source, pe, tst, sst, size, ctx)


def put_nbi(
    target: NDArray[T], source: NDArray[T], pe: int, size: int | None = None, ctx: Ctx | None = None
) -> None:
    """As :func:`put`, done after :func:`phicoll.shmem.quiet`. Here it is done when it returns."""
    _core.shmem_put(target, source, pe, size, ctx)


def get_nbi(
    target: NDArray[T], source: NDArray[T], pe: int, size: int | None = None, ctx: Ctx | None = None
) -> None:
    """As :func:`get`, done after :func:`phicoll.shmem.quiet`. Here it is done when it returns."""
    _core.shmem_get(target, source, pe, size, ctx)


class SIGNAL(enum.IntEnum):
    """What a put does to a signal: sets it, or adds to it."""

    SET = 0
    ADD = 1


SIGNAL_SET = SIGNAL.SET
SIGNAL_ADD = SIGNAL.ADD


def new_signal() -> NDArray[np.uint64]:
    """A signal: a symmetric array of one ``uint64``, 0. Collective."""
    return zeros(1, np.uint64, hints=MALLOC.SIGNAL_REMOTE)


def del_signal(signal: NDArray[np.uint64]) -> None:
    """Give a signal back. Collective."""
    free(signal)


def signal_fetch(signal: NDArray[np.uint64]) -> int:
    """This PE's signal. A PE that sees a signal sees what was put with it."""
    return _core.shmem_signal_fetch(signal)


def put_signal(
    target: NDArray[T],
    source: NDArray[T],
    pe: int,
    signal: NDArray[np.uint64],
    value: int,
    sigop: int,
    size: int | None = None,
    ctx: Ctx | None = None,
) -> None:
    """As :func:`put`; ``sigop`` (:class:`SIGNAL`) then sets ``signal`` of PE ``pe`` to ``value``, or adds it."""
    _core.shmem_put_signal(target, source, pe, signal, value, sigop, size, ctx)


def put_signal_nbi(
    target: NDArray[T],
    source: NDArray[T],
    pe: int,
    signal: NDArray[np.uint64],
    value: int,
    sigop: int,
    size: int | None = None,
    ctx: Ctx | None = None,
) -> None:
    """As :func:`put_signal`; ``source`` must stay unchanged until the signal is seen."""
    _core.shmem_put_signal(target, source, pe, signal, value, sigop, size, ctx)


def signal_wait_until(signal: NDArray[np.uint64], cmp: Comparison, value: int) -> int:
    """Wait until ``signal cmp value`` holds on this PE; return the signal."""
    return _core.shmem_signal_wait_until(signal, comparison(cmp), value)
