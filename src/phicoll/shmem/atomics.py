"""Atomic operations on one element of another PE's memory.

``target`` (or ``source``) is a symmetric array of one element, whose dtype says what there is: ``int32``,
``int64``, ``uint32`` and ``uint64`` for all, ``float32`` and ``float64`` for fetch, set and swap. They are atomic
with respect to each other and to all PEs. The ``_nbi`` forms store what they fetch in the array ``fetch``, and are
done when they return.
"""

from __future__ import annotations

import enum
from typing import Any

from numpy.typing import NDArray

import phicoll._core as _core
from phicoll.errors import ArgumentError
from phicoll.shmem.teams import Ctx

__all__ = [
    "AMO",
    "AMO_ADD",
    "AMO_AND",
    "AMO_INC",
    "AMO_OR",
    "AMO_SET",
    "AMO_XOR",
    "atomic_add",
    "atomic_and",
    "atomic_compare_swap",
    "atomic_compare_swap_nbi",
    "atomic_fetch",
    "atomic_fetch_add",
    "atomic_fetch_add_nbi",
    "atomic_fetch_and",
    "atomic_fetch_and_nbi",
    "atomic_fetch_inc",
    "atomic_fetch_inc_nbi",
    "atomic_fetch_nbi",
    "atomic_fetch_op",
    "atomic_fetch_op_nbi",
    "atomic_fetch_or",
    "atomic_fetch_or_nbi",
    "atomic_fetch_xor",
    "atomic_fetch_xor_nbi",
    "atomic_inc",
    "atomic_op",
    "atomic_or",
    "atomic_set",
    "atomic_swap",
    "atomic_swap_nbi",
    "atomic_xor",
]

Word = NDArray[Any]


class AMO(str, enum.Enum):
    """What :func:`atomic_op` and its like do; ``INC`` takes no value (``None``)."""

    SET = "set"
    INC = "inc"
    ADD = "add"
    AND = "and"
    OR = "or"
    XOR = "xor"

    __str__ = str.__str__


AMO_SET = AMO.SET
AMO_INC = AMO.INC
AMO_ADD = AMO.ADD
AMO_AND = AMO.AND
AMO_OR = AMO.OR
AMO_XOR = AMO.XOR


def _name(op: str) -> str:
    name = op.lower() if isinstance(op, str) else ""
    if name not in _OPS:
        raise ArgumentError("op", repr(op), ", ".join(_OPS))
    return name


_OPS = tuple(one.value for one in AMO)


def atomic_set(target: Word, value: float, pe: int, ctx: Ctx | None = None) -> None:
    """Store ``value`` in ``target`` of PE ``pe``."""
    _core.shmem_atomic("set", target, value, pe, ctx)


def atomic_inc(target: Word, pe: int, ctx: Ctx | None = None) -> None:
    """Add 1 to ``target`` of PE ``pe``."""
    _core.shmem_atomic("inc", target, None, pe, ctx)


def atomic_add(target: Word, value: int, pe: int, ctx: Ctx | None = None) -> None:
    """Add ``value`` to ``target`` of PE ``pe``."""
    _core.shmem_atomic("add", target, value, pe, ctx)


def atomic_and(target: Word, value: int, pe: int, ctx: Ctx | None = None) -> None:
    """Put the bitwise and with ``value`` into ``target`` of PE ``pe``."""
    _core.shmem_atomic("and", target, value, pe, ctx)


def atomic_or(target: Word, value: int, pe: int, ctx: Ctx | None = None) -> None:
    """Put the bitwise or with ``value`` into ``target`` of PE ``pe``."""
    _core.shmem_atomic("or", target, value, pe, ctx)


def atomic_xor(target: Word, value: int, pe: int, ctx: Ctx | None = None) -> None:
    """Put the bitwise exclusive or with ``value`` into ``target`` of PE ``pe``."""
    _core.shmem_atomic("xor", target, value, pe, ctx)


def atomic_fetch(source: Word, pe: int, ctx: Ctx | None = None) -> float:
    """``source`` of PE ``pe``."""
    found: float = _core.shmem_atomic_fetching("fetch", None, source, None, None, pe, ctx)
    return found


def atomic_fetch_nbi(fetch: Word, source: Word, pe: int, ctx: Ctx | None = None) -> None:
    """As :func:`atomic_fetch`, into ``fetch``."""
    _core.shmem_atomic_fetching("fetch", fetch, source, None, None, pe, ctx)


def atomic_swap(target: Word, value: float, pe: int, ctx: Ctx | None = None) -> float:
    """Store ``value`` in ``target`` of PE ``pe``; return what it held before."""
    found: float = _core.shmem_atomic_fetching("set", None, target, None, value, pe, ctx)
    return found


def atomic_swap_nbi(fetch: Word, target: Word, value: float, pe: int, ctx: Ctx | None = None) -> None:
    """As :func:`atomic_swap`; what it held before goes into ``fetch``."""
    _core.shmem_atomic_fetching("set", fetch, target, None, value, pe, ctx)


def atomic_compare_swap(target: Word, cond: int, value: int, pe: int, ctx: Ctx | None = None) -> int:
    """Store ``value`` in ``target`` of PE ``pe`` if it holds ``cond``; return what it held before."""
    found: int = _core.shmem_atomic_fetching("compare_swap", None, target, cond, value, pe, ctx)
    return found


def atomic_compare_swap_nbi(
    fetch: Word, target: Word, cond: int, value: int, pe: int, ctx: Ctx | None = None
) -> None:
    """As :func:`atomic_compare_swap`; what it held before goes into ``fetch``."""
    _core.shmem_atomic_fetching("compare_swap", fetch, target, cond, value, pe, ctx)


def atomic_fetch_inc(target: Word, pe: int, ctx: Ctx | None = None) -> int:
    """Add 1 to ``target`` of PE ``pe``; return what it held before."""
    found: int = _core.shmem_atomic_fetching("inc", None, target, None, None, pe, ctx)
    return found


def atomic_fetch_inc_nbi(fetch: Word, target: Word, pe: int, ctx: Ctx | None = None) -> None:
    """As :func:`atomic_fetch_inc`; what it held before goes into ``fetch``."""
    _core.shmem_atomic_fetching("inc", fetch, target, None, None, pe, ctx)


def atomic_fetch_add(target: Word, value: int, pe: int, ctx: Ctx | None = None) -> int:
    """Add ``value`` to ``target`` of PE ``pe``; return what it held before."""
    found: int = _core.shmem_atomic_fetching("add", None, target, None, value, pe, ctx)
    return found


def atomic_fetch_add_nbi(fetch: Word, target: Word, value: int, pe: int, ctx: Ctx | None = None) -> None:
    """As :func:`atomic_fetch_add`; what it held before goes into ``fetch``."""
    _core.shmem_atomic_fetching("add", fetch, target, None, value, pe, ctx)


def atomic_fetch_and(target: Word, value: int, pe: int, ctx: Ctx | None = None) -> int:
    """Put the bitwise and with ``value`` into ``target`` of PE ``pe``; return what it held before."""
    found: int = _core.shmem_atomic_fetching("and", None, target, None, value, pe, ctx)
    return found


def atomic_fetch_and_nbi(fetch: Word, target: Word, value: int, pe: int, ctx: Ctx | None = None) -> None:
    """As :func:`atomic_fetch_and`; what it held before goes into ``fetch``."""
    _core.shmem_atomic_fetching("and", fetch, target, None, value, pe, ctx)


def atomic_fetch_or(target: Word, value: int, pe: int, ctx: Ctx | None = None) -> int:
    """Put the bitwise or with ``value`` into ``target`` of PE ``pe``; return what it held before."""
    found: int = _core.shmem_atomic_fetching("or", None, target, None, value, pe, ctx)
    return found


def atomic_fetch_or_nbi(fetch: Word, target: Word, value: int, pe: int, ctx: Ctx | None = None) -> None:
    """As :func:`atomic_fetch_or`; what it held before goes into ``fetch``."""
    _core.shmem_atomic_fetching("or", fetch, target, None, value, pe, ctx)


def atomic_fetch_xor(target: Word, value: int, pe: int, ctx: Ctx | None = None) -> int:
    """Put the bitwise exclusive or with ``value`` into ``target`` of PE ``pe``; return what it held before."""
    found: int = _core.shmem_atomic_fetching("xor", None, target, None, value, pe, ctx)
    return found


def atomic_fetch_xor_nbi(fetch: Word, target: Word, value: int, pe: int, ctx: Ctx | None = None) -> None:
    """As :func:`atomic_fetch_xor`; what it held before goes into ``fetch``."""
    _core.shmem_atomic_fetching("xor", fetch, target, None, value, pe, ctx)


def atomic_op(target: Word, value: float | None, op: str, pe: int, ctx: Ctx | None = None) -> None:
    """``op`` (:class:`AMO`) with ``value`` on ``target`` of PE ``pe``."""
    _core.shmem_atomic(_name(op), target, value, pe, ctx)


def atomic_fetch_op(target: Word, value: float | None, op: str, pe: int, ctx: Ctx | None = None) -> float:
    """The same; return what it held before."""
    found: float = _core.shmem_atomic_fetching(_name(op), None, target, None, value, pe, ctx)
    return found


def atomic_fetch_op_nbi(
    fetch: Word, target: Word, value: float | None, op: str, pe: int, ctx: Ctx | None = None
) -> None:
    """As :func:`atomic_op`; what ``target`` held before goes into ``fetch``."""
    _core.shmem_atomic_fetching(_name(op), fetch, target, None, value, pe, ctx)
