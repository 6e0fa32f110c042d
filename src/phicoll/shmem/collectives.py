"""Collectives on teams, by the communicator's algorithms.

``target`` and ``source`` are symmetric, of one dtype, without gaps between their elements; every PE of ``team``
(``None``: all) makes the same calls. ``size`` is a number of elements. What is written to ``target`` may not overlap
with what is read of ``source``, but in ``broadcast`` and reductions both may be the same array. Every PE's ``target``
may be written as soon as any PE makes the call: a :func:`phicoll.shmem.sync` before it keeps a
result that others may still read.
"""

from __future__ import annotations

import enum
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

import phicoll._core as _core
from phicoll.errors import ArgumentError
from phicoll.shmem.teams import Team

__all__ = [
    "OP",
    "OP_AND",
    "OP_MAX",
    "OP_MIN",
    "OP_OR",
    "OP_PROD",
    "OP_SUM",
    "OP_XOR",
    "alltoall",
    "alltoalls",
    "and_reduce",
    "barrier_all",
    "broadcast",
    "collect",
    "fcollect",
    "max_reduce",
    "min_reduce",
    "or_reduce",
    "prod_reduce",
    "reduce",
    "sum_reduce",
    "sync",
    "sync_all",
    "xor_reduce",
]

T = TypeVar("T", bound=np.generic)


def barrier_all() -> None:
    """Wait until all PEs are here. Then all see what each has put."""
    _core.shmem_barrier_all()


def sync_all() -> None:
    """Wait until all PEs are here. Puts need a :func:`phicoll.shmem.quiet` before it, stores do not."""
    _core.shmem_sync(None)


def sync(team: Team | None = None) -> None:
    """As :func:`sync_all`, for a team."""
    _core.shmem_sync(team)


def broadcast(
    target: NDArray[T], source: NDArray[T], root: int, size: int | None = None, team: Team | None = None
) -> None:
    """Copy ``source`` of the team's PE ``root`` into ``target`` of all, the root too."""
    _core.shmem_broadcast(target, source, root, size, team)


def collect(
    target: NDArray[T], source: NDArray[T], size: int | None = None, team: Team | None = None
) -> None:
    """Copy all PEs' ``source``, one after another in the order of the PEs, into everybody's ``target``.

    ``size`` (``None``: all of ``source``) may differ from PE to PE. If a PE's ``target`` has no room, all raise.
    """
    _core.shmem_collect(target, source, size, team)


def fcollect(
    target: NDArray[T], source: NDArray[T], size: int | None = None, team: Team | None = None
) -> None:
    """As :func:`collect`, with the same ``size`` on all PEs, which is faster."""
    _core.shmem_fcollect(target, source, size, team)


def alltoall(
    target: NDArray[T], source: NDArray[T], size: int | None = None, team: Team | None = None
) -> None:
    """Copy block ``i`` of ``source`` to PE ``i``, where it is the block of this PE's number in ``target``.

    A block has ``size`` elements; ``None``: an equal part of the arrays.
    """
    _core.shmem_alltoall(target, source, size, team)


def alltoalls(
    target: NDArray[T],
    source: NDArray[T],
    tst: int = 1,
    sst: int = 1,
    size: int | None = None,
    team: Team | None = None,
) -> None:
    """As :func:`alltoall`, with elements ``sst`` apart in ``source`` and ``tst`` apart in ``target``."""
    _core.shmem_alltoalls(target, source, tst, sst, size, team)


class OP(str, enum.Enum):
    """Operators of reductions: bitwise ones of integers, the order of real numbers, sum and product of all."""

    AND = "and"
    OR = "or"
    XOR = "xor"
    MAX = "max"
    MIN = "min"
    SUM = "sum"
    PROD = "prod"

    __str__ = str.__str__


OP_AND = OP.AND
OP_OR = OP.OR
OP_XOR = OP.XOR
OP_MAX = OP.MAX
OP_MIN = OP.MIN
OP_SUM = OP.SUM
OP_PROD = OP.PROD


def reduce(
    target: NDArray[T],
    source: NDArray[T],
    op: str = OP.SUM,
    size: int | None = None,
    team: Team | None = None,
) -> None:
    """Combine all PEs' ``source`` element by element, into everybody's ``target``; ``op`` is one of :class:`OP`."""
    if not isinstance(op, str):
        raise ArgumentError("op", repr(op), ", ".join(one.value for one in OP))
    _core.shmem_reduce(op.lower(), target, source, size, team)


def and_reduce(
    target: NDArray[T], source: NDArray[T], size: int | None = None, team: Team | None = None
) -> None:
    """As :func:`reduce`: the bitwise and."""
    _core.shmem_reduce("and", target, source, size, team)


def or_reduce(
    target: NDArray[T], source: NDArray[T], size: int | None = None, team: Team | None = None
) -> None:
    """As :func:`reduce`: the bitwise or."""
    _core.shmem_reduce("or", target, source, size, team)


def xor_reduce(
    target: NDArray[T], source: NDArray[T], size: int | None = None, team: Team | None = None
) -> None:
    """As :func:`reduce`: the bitwise exclusive or."""
    _core.shmem_reduce("xor", target, source, size, team)


def max_reduce(
    target: NDArray[T], source: NDArray[T], size: int | None = None, team: Team | None = None
) -> None:
    """As :func:`reduce`: the greatest."""
    _core.shmem_reduce("max", target, source, size, team)


def min_reduce(
    target: NDArray[T], source: NDArray[T], size: int | None = None, team: Team | None = None
) -> None:
    """As :func:`reduce`: the least."""
    _core.shmem_reduce("min", target, source, size, team)


def sum_reduce(
    target: NDArray[T], source: NDArray[T], size: int | None = None, team: Team | None = None
) -> None:
    """As :func:`reduce`: the sum."""
    _core.shmem_reduce("sum", target, source, size, team)


def prod_reduce(
    target: NDArray[T], source: NDArray[T], size: int | None = None, team: Team | None = None
) -> None:
    """As :func:`reduce`: the product."""
    _core.shmem_reduce("prod", target, source, size, team)
