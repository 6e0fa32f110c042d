"""Symmetric memory: NumPy arrays that every PE has at the same place of its heap.

Every function here is called by all PEs, with the same sizes; different ones are found, and told to all. Memory is
given back by :func:`phicoll.shmem.free` alone, not when an array is dropped, as that is a call of all PEs too. All
of it goes with the program, however that ends.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

import phicoll._core as _core
from phicoll.errors import ArgumentError

__all__ = [
    "MALLOC",
    "MALLOC_ATOMICS_REMOTE",
    "MALLOC_SIGNAL_REMOTE",
    "alloc",
    "array",
    "del_array",
    "empty",
    "free",
    "fromalloc",
    "full",
    "new_array",
    "ones",
    "zeros",
]

Shape = int | Sequence[int]
Order = Literal["C", "F"]


class MALLOC(enum.IntFlag):
    """What memory is for: atomics, or signals, by other PEs. Hints, which change nothing here."""

    ATOMICS_REMOTE = 1
    SIGNAL_REMOTE = 2


MALLOC_ATOMICS_REMOTE = MALLOC.ATOMICS_REMOTE
MALLOC_SIGNAL_REMOTE = MALLOC.SIGNAL_REMOTE


def alloc(
    count: int,
    size: int = 1,
    align: int | None = None,
    hints: int | None = None,
    clear: bool = True,
) -> memoryview:
    """``count`` times ``size`` bytes of every PE's heap. Collective.

    Parameters
    ----------
    align:
        The address is a multiple of it: a power of two, at most 1 GB. ``None``: 128.
    hints:
        A sum of :class:`MALLOC`.
    clear:
        Whether the bytes are 0; otherwise they are what they were.

    Raises
    ------
    ResourceError
        If the heap has no room, on all PEs.
    """
    for name, value in (("count", count), ("size", size)):
        if value < 0:
            raise ArgumentError(name, str(value), "0 or more")
    block: Any = _core.shmem_alloc(int(count) * int(size), align, hints, clear)
    return memoryview(block)


def free(mem: memoryview | NDArray[Any]) -> None:
    """Give memory of :func:`alloc`, or a symmetric array with its memory, back to the heap. Collective."""
    _core.shmem_free(mem.obj if isinstance(mem, memoryview) else mem)


def fromalloc(
    mem: memoryview, shape: Shape | None = None, dtype: DTypeLike | None = None, order: Order = "C"
) -> NDArray[Any]:
    """An array in ``mem`` of :func:`alloc`: of ``float`` without ``dtype``, all of it without ``shape``."""
    if not isinstance(mem, memoryview):
        raise ArgumentError("mem", type(mem).__name__, "a memoryview of alloc")
    kind = np.dtype(dtype)
    if shape is None:
        shape = mem.nbytes // kind.itemsize
    return np.ndarray(shape, kind, mem, order=order)


def new_array(
    shape: Shape,
    dtype: DTypeLike = float,
    order: Order = "C",
    *,
    align: int | None = None,
    hints: int | None = None,
    clear: bool = True,
) -> NDArray[Any]:
    """A symmetric array; the other arguments are :func:`alloc`'s. Collective."""
    kind = np.dtype(dtype)
    if kind.hasobject:
        raise ArgumentError("dtype", str(kind), "a type without Python objects")
    sizes = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    if any(size < 0 for size in sizes):
        raise ArgumentError("shape", str(shape), "sizes from 0")
    mem = alloc(int(np.prod(sizes, dtype=object)), kind.itemsize, align, hints, clear)
    return fromalloc(mem, sizes, kind, order)


def del_array(a: NDArray[Any]) -> None:
    """As :func:`free`."""
    if not isinstance(a, np.ndarray):
        raise ArgumentError("a", type(a).__name__, "a symmetric array")
    free(a)


def array(
    obj: ArrayLike,
    dtype: DTypeLike | None = None,
    *,
    order: Literal["K", "A", "C", "F"] = "K",
    align: int | None = None,
    hints: int | None = None,
) -> NDArray[Any]:
    """A symmetric array with ``obj``'s elements, which may differ from PE to PE; its shape may not. Collective."""
    source = np.asarray(obj, dtype, order=order)
    like = np.empty_like(source, order="K", subok=False)  # without gaps between elements
    made = new_array(source.size, source.dtype, align=align, hints=hints, clear=False)
    found = np.ndarray(source.shape, source.dtype, made.base, strides=like.strides)
    return _filled(found, source)


def empty(
    shape: Shape,
    dtype: DTypeLike = float,
    order: Order = "C",
    *,
    align: int | None = None,
    hints: int | None = None,
) -> NDArray[Any]:
    """A symmetric array whose elements are what the memory held. Collective."""
    return new_array(shape, dtype, order, align=align, hints=hints, clear=False)


def zeros(
    shape: Shape,
    dtype: DTypeLike = float,
    order: Order = "C",
    *,
    align: int | None = None,
    hints: int | None = None,
) -> NDArray[Any]:
    """A symmetric array of zeros. Collective."""
    return new_array(shape, dtype, order, align=align, hints=hints)


def ones(
    shape: Shape,
    dtype: DTypeLike = float,
    order: Order = "C",
    *,
    align: int | None = None,
    hints: int | None = None,
) -> NDArray[Any]:
    """A symmetric array of ones. Collective."""
    return _filled(empty(shape, dtype, order, align=align, hints=hints), 1)


def full(
    shape: Shape,
    fill_value: Any,
    dtype: DTypeLike | None = None,
    order: Order = "C",
    *,
    align: int | None = None,
    hints: int | None = None,
) -> NDArray[Any]:
    """A symmetric array of ``fill_value``, which may differ from PE to PE, and of its type. Collective."""
    value = np.asarray(fill_value)
    kind = value.dtype if dtype is None else dtype
    return _filled(empty(shape, kind, order, align=align, hints=hints), value)


def _filled(made: NDArray[Any], values: Any) -> NDArray[Any]:
    """When the call returns, every PE's elements have their values."""
    np.copyto(made, values, casting="unsafe")
    _core.shmem_barrier_all()
    return made
