"""MPI's names for element types, as NumPy dtypes.

A specification such as ``[buffer, count, phicoll.DOUBLE]`` takes one of these, its name, or anything that
``numpy.dtype`` accepts. Moving data works with any dtype of fixed size, a reduction with those that its operator
supports.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

import phicoll._core as _core
from phicoll.errors import ArgumentError

__all__ = ["DATATYPES", "Datatype", "dtype_of", "layout", "type_name", "type_number"]


class Datatype:
    """An element type by its MPI name.

    Attributes
    ----------
    name:
        MPI's name without its prefix.
    dtype:
        The NumPy dtype.
    """

    __slots__ = ("dtype", "name")

    def __init__(self, name: str, dtype: Any) -> None:
        self.name = name
        self.dtype: np.dtype[Any] = np.dtype(dtype)

    @property
    def size(self) -> int:
        """Bytes of the values, without padding."""
        fields = self.dtype.fields
        return sum(field[0].itemsize for field in fields.values()) if fields else self.dtype.itemsize

    @property
    def extent(self) -> int:
        """Bytes from one element to the next."""
        return self.dtype.itemsize

    def Get_size(self) -> int:
        """Bytes of the values, without padding."""
        return self.size

    def Get_extent(self) -> tuple[int, int]:
        """0, and the bytes from one element to the next."""
        return 0, self.extent

    def Get_name(self) -> str:
        """MPI's name without its prefix."""
        return self.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Datatype) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        return f"phicoll.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return Datatype, (self.name, self.dtype)


def pair(value: str, index: str = "i") -> np.dtype[Any]:
    """A C struct of a value and its index, for ``MINLOC`` and ``MAXLOC``."""
    return np.dtype([("value", value), ("index", index)], align=True)


DATATYPES: dict[str, Datatype] = {
    name: Datatype(name, dtype)
    for name, dtype in {
        "BYTE": "B",
        "CHAR": "b",
        "SIGNED_CHAR": "b",
        "UNSIGNED_CHAR": "B",
        "SHORT": "h",
        "UNSIGNED_SHORT": "H",
        "INT": "i",
        "UNSIGNED": "I",
        "UNSIGNED_INT": "I",
        "LONG": "l",
        "UNSIGNED_LONG": "L",
        "LONG_LONG": "q",
        "UNSIGNED_LONG_LONG": "Q",
        "FLOAT": "f",
        "DOUBLE": "d",
        "LONG_DOUBLE": "g",
        "BOOL": "?",
        "C_BOOL": "?",
        "INT8_T": "i1",
        "INT16_T": "i2",
        "INT32_T": "i4",
        "INT64_T": "i8",
        "UINT8_T": "u1",
        "UINT16_T": "u2",
        "UINT32_T": "u4",
        "UINT64_T": "u8",
        "COMPLEX": "F",
        "DOUBLE_COMPLEX": "D",
        "C_FLOAT_COMPLEX": "F",
        "C_DOUBLE_COMPLEX": "D",
        "C_LONG_DOUBLE_COMPLEX": "G",
        "FLOAT_INT": pair("f"),
        "DOUBLE_INT": pair("d"),
        "SHORT_INT": pair("h"),
        "LONG_INT": pair("l"),
        "TWO_INT": pair("i"),
        "TWOINT": pair("i"),
    }.items()
}


def dtype_of(given: Any, argument: str) -> np.dtype[Any]:
    """The dtype named by the last item of a specification. Raises ArgumentError if it has no fixed size."""
    if isinstance(given, Datatype):
        return given.dtype
    if isinstance(given, str) and given in DATATYPES:
        return DATATYPES[given].dtype
    try:
        dtype = np.dtype(given)
    except TypeError:
        raise ArgumentError(
            argument, f"type {given!r}", f"{', '.join(DATATYPES)}, or what numpy.dtype takes"
        ) from None
    if dtype.char == "c":  # MPI's char by its typecode; NumPy's own is a text of one byte
        return DATATYPES["CHAR"].dtype
    return fixed_size(dtype, argument)


def fixed_size(dtype: np.dtype[Any], argument: str) -> np.dtype[Any]:
    if dtype.hasobject or dtype.itemsize == 0:
        raise ArgumentError(
            argument, f"elements of {dtype}", "elements of a fixed size without references to objects"
        )
    return dtype


def layout(dtype: np.dtype[Any]) -> str:
    """The layout of an element as text: offsets and types, independent of the fields' names and order."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return f"{shape}{layout(base)}"
    if dtype.fields is None:
        return dtype.str
    parts = sorted(f"{offset}:{layout(kind)}" for kind, offset, *_ in dtype.fields.values())
    return f"{dtype.itemsize}{{{','.join(parts)}}}"


def type_name(dtype: np.dtype[Any]) -> str | None:
    """The core's name of a type that reductions support; None for others."""
    if dtype.fields is None:
        return {"bool": "bool8"}.get(dtype.name, dtype.name) if dtype.isnative else None
    own = layout(dtype)
    for name in ("FLOAT_INT", "DOUBLE_INT", "LONG_INT", "TWO_INT", "SHORT_INT"):
        if layout(DATATYPES[name].dtype) == own:
            return name.lower()
    return None


MOST_NUMBERED = 256  # bounds the table: a program may make new dtypes in every call
_numbers: dict[int, tuple[np.dtype[Any], int]] = {}
FIRST_OWN = len(_core.known_types) + 1  # of the numbers that are not the core's types
for _number in range(FIRST_OWN, _core.most_types + 1):
    _core.name_type(_number, "a type that this rank has not used")


def type_number(dtype: np.dtype[Any]) -> int:
    """The number, from 1, by which the ranks of a call compare element types.

    Each of the core's types has its own number; all others get one of the rest by a checksum of their layout.
    """
    # Looked up by the dtype's id, as hashing it takes a microsecond; the table keeps it alive, so ids stay unique.
    found = _numbers.get(id(dtype))
    if found is not None:
        return found[1]
    name = type_name(dtype)
    if name is not None and name in _core.known_types:
        number: int = _core.known_types[name]
    else:
        own = _core.most_types + 1 - FIRST_OWN
        number = FIRST_OWN + zlib.crc32(layout(dtype).encode()) % own
        _core.name_type(number, str(dtype))
    if len(_numbers) >= MOST_NUMBERED:
        _numbers.clear()
    _numbers[id(dtype)] = dtype, number
    return number
