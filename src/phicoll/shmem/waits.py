"""Waiting until words of this PE's symmetric memory have values, and testing whether they have.

Words are whole numbers of 16, 32 or 64 bits. ``cmp`` is a :class:`phicoll.shmem.CMP`, or one of ``"==" "!=" ">"
">=" "<" "<=" "eq" "ne" "gt" "ge" "lt" "le"``. Of several words, those whose ``status`` is not 0 are left out. The
``_vector`` forms have a value for each word. Who sees a value that another PE put after a fence sees what that PE
put before. A wait ends with an error if a PE dies; Ctrl-C ends it too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import phicoll._core as _core
from phicoll.errors import ArgumentError
from phicoll.shmem.comparisons import Comparison, comparison

__all__ = [
    "test",
    "test_all",
    "test_all_vector",
    "test_any",
    "test_any_vector",
    "test_some",
    "test_some_vector",
    "wait_until",
    "wait_until_all",
    "wait_until_all_vector",
    "wait_until_any",
    "wait_until_any_vector",
    "wait_until_some",
    "wait_until_some_vector",
]

Words = NDArray[Any]
Status = Sequence[int] | NDArray[Any] | None


def _look(waits: bool, how: str, ivars: Words, cmp: Comparison, values: Any, status: Status) -> Any:
    mask = None if status is None else np.ascontiguousarray(status, dtype=np.int32)
    return _core.shmem_look_at_several(waits, how, ivars, comparison(cmp), values, mask)


def _vector(values: ArrayLike, ivars: Words) -> NDArray[Any]:
    if not isinstance(ivars, np.ndarray):
        raise ArgumentError("ivars", type(ivars).__name__, "a symmetric array")
    try:
        return np.ascontiguousarray(values, dtype=ivars.dtype)
    except (OverflowError, ValueError, TypeError) as error:
        raise ArgumentError("values", str(error), f"numbers of type {ivars.dtype}") from None


def wait_until(ivar: Words, cmp: Comparison, value: int) -> None:
    """Wait until ``ivar cmp value`` holds; ``ivar`` is an array of one word."""
    _core.shmem_look_at_one(True, ivar, comparison(cmp), value)


def wait_until_all(ivars: Words, cmp: Comparison, value: int, status: Status = None) -> None:
    """Wait until ``cmp value`` holds for all words."""
    _look(True, "all", ivars, cmp, value, status)


def wait_until_any(ivars: Words, cmp: Comparison, value: int, status: Status = None) -> int | None:
    """Wait until it holds for a word; its index, or ``None`` if there are no words."""
    found: int | None = _look(True, "any", ivars, cmp, value, status)
    return found


def wait_until_some(ivars: Words, cmp: Comparison, value: int, status: Status = None) -> list[int]:
    """Wait until it holds for at least one word; the indices of all for which it holds."""
    found: list[int] = _look(True, "some", ivars, cmp, value, status)
    return found


def wait_until_all_vector(ivars: Words, cmp: Comparison, values: ArrayLike, status: Status = None) -> None:
    """As :func:`wait_until_all`, with a value for each word."""
    _look(True, "all", ivars, cmp, _vector(values, ivars), status)


def wait_until_any_vector(
    ivars: Words, cmp: Comparison, values: ArrayLike, status: Status = None
) -> int | None:
    """As :func:`wait_until_any`, with a value for each word."""
    found: int | None = _look(True, "any", ivars, cmp, _vector(values, ivars), status)
    return found


def wait_until_some_vector(
    ivars: Words, cmp: Comparison, values: ArrayLike, status: Status = None
) -> list[int]:
    """As :func:`wait_until_some`, with a value for each word."""
    found: list[int] = _look(True, "some", ivars, cmp, _vector(values, ivars), status)
    return found


def test(ivar: Words, cmp: Comparison, value: int) -> bool:
    """Whether ``ivar cmp value`` holds; ``ivar`` is an array of one word."""
    found: bool = _core.shmem_look_at_one(False, ivar, comparison(cmp), value)
    return found


def test_all(ivars: Words, cmp: Comparison, value: int, status: Status = None) -> bool:
    """Whether ``cmp value`` holds for all words; true if there are none."""
    found: bool = _look(False, "all", ivars, cmp, value, status)
    return found


def test_any(ivars: Words, cmp: Comparison, value: int, status: Status = None) -> int | None:
    """The index of a word for which it holds, or ``None``."""
    found: int | None = _look(False, "any", ivars, cmp, value, status)
    return found


def test_some(ivars: Words, cmp: Comparison, value: int, status: Status = None) -> list[int]:
    """The indices of all words for which it holds."""
    found: list[int] = _look(False, "some", ivars, cmp, value, status)
    return found


def test_all_vector(ivars: Words, cmp: Comparison, values: ArrayLike, status: Status = None) -> bool:
    """As :func:`test_all`, with a value for each word."""
    found: bool = _look(False, "all", ivars, cmp, _vector(values, ivars), status)
    return found


def test_any_vector(ivars: Words, cmp: Comparison, values: ArrayLike, status: Status = None) -> int | None:
    """As :func:`test_any`, with a value for each word."""
    found: int | None = _look(False, "any", ivars, cmp, _vector(values, ivars), status)
    return found


def test_some_vector(ivars: Words, cmp: Comparison, values: ArrayLike, status: Status = None) -> list[int]:
    """As :func:`test_some`, with a value for each word."""
    found: list[int] = _look(False, "some", ivars, cmp, _vector(values, ivars), status)
    return found
