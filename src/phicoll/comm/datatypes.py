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
from phicoll.comm.not_offered import Handle, refuse
from phicoll.errors import ArgumentError

__all__ = [
    "CODES",
    "DATATYPES",
    "DATATYPE_NULL",
    "MPI_TYPES",
    "Datatype",
    "dtype_of",
    "layout",
    "type_name",
    "type_number",
]


# The beginnings of names of mpi4py's that are not offered, and what to use.
NOT_OFFERED = {
    "Create_": "arrays need no derived types; NumPy's strided and structured ones are sent as they are",
    **dict.fromkeys(
        (
            *("Commit", "Free", "Dup", "Resized", "Match_size", "Get_envelope", "envelope", "Get_contents"),
            *("contents", "combiner", "decode", "Get_value_index"),
        ),
        "there are no derived types",
    ),
    **dict.fromkeys(
        ("Get_attr", "Set_attr", "Delete_attr", "Set_name"),
        "a type has its name alone; a dict may have it as key",
    ),
    **dict.fromkeys(("Pack", "Unpack"), "array.tobytes() packs, np.frombuffer unpacks"),
}


class Datatype(Handle):
    """An element type by its MPI name.

    Attributes
    ----------
    name:
        MPI's name without its prefix.
    dtype:
        The NumPy dtype.
    """

    __slots__ = ("dtype", "name")

    _instead = NOT_OFFERED

    def __init__(self, name: str | Datatype | None = None, dtype: Any = "V0") -> None:
        if not isinstance(name, str):  # as mpi4py has it
            self._checked(name)
            name, dtype = (name.name, name.dtype) if name is not None else ("DATATYPE_NULL", dtype)
        self.name = name
        self.dtype: np.dtype[Any] = np.dtype(dtype)

    def free(self) -> None:
        """Does nothing: all types are MPI's own."""

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

    def Get_true_extent(self) -> tuple[int, int]:
        """As :meth:`Get_extent`."""
        return self.Get_extent()

    lb = true_lb = property(lambda self: 0, doc="0: an element's first byte.")
    ub = true_ub = true_extent = extent
    is_named = is_predefined = property(
        lambda self: bool(self), doc="Whether it is a type: all of them are MPI's own."
    )

    def Get_name(self) -> str:
        """MPI's name without its prefix."""
        return self.name

    @property
    def typestr(self) -> str:
        """Its kind and size as NumPy writes them: ``f8``. Of pairs ``V`` and the size."""
        return {"CHAR": "S1"}.get(self.name, self.dtype.str[1:]) if self else ""

    @property
    def typechar(self) -> str:
        """Its typecode: ``d``. Of addresses ``p``, of pairs ``V``."""
        return (
            {"CHAR": "c", "AINT": "p", "OFFSET": "p", "COUNT": "p"}.get(self.name, self.dtype.char)
            if self
            else ""
        )

    def tocode(self) -> str:
        """Its typecode, or :attr:`typestr` of a type with its size in its name (``INT32_T``).

        Raises
        ------
        ValueError
            It is a pair.
        """
        if not self or self.dtype.fields:
            raise ValueError(f"{self!r} has no typecode")
        sized = self.name[0] in "IUS" and self.name.endswith("_T")
        return self.typestr if sized or self.name == "C_BOOL" else self.typechar

    @classmethod
    def fromcode(cls, code: str) -> Datatype:
        """The type of a typecode or of NumPy's name for a kind and size: ``d``, ``f8``.

        Raises
        ------
        ValueError
            There is none.
        """
        if code not in CODES:
            raise ValueError(f"code: got {code!r}; allowed: {', '.join(CODES)}")
        return CODES[code]

    def __getattr__(self, name: str) -> Any:
        refuse(type(self), name, NOT_OFFERED)

    def __bool__(self) -> bool:
        return self.dtype.itemsize > 0

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
        "SIGNED_SHORT": "h",
        "SIGNED_INT": "i",
        "SIGNED_LONG": "l",
        "SIGNED_LONG_LONG": "q",
        "LONG": "l",
        "UNSIGNED_LONG": "L",
        "LONG_LONG": "q",
        "UNSIGNED_LONG_LONG": "Q",
        "FLOAT": "f",
        "DOUBLE": "d",
        "LONG_DOUBLE": "g",
        "BOOL": "?",
        "C_BOOL": "?",
        "CXX_BOOL": "?",
        "WCHAR": "U1",
        "PACKED": "B",
        "AINT": "p",
        "OFFSET": "q",
        "COUNT": "q",
        "SINT8_T": "i1",
        "SINT16_T": "i2",
        "SINT32_T": "i4",
        "SINT64_T": "i8",
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
        "C_COMPLEX": "F",
        "CXX_FLOAT_COMPLEX": "F",
        "CXX_DOUBLE_COMPLEX": "D",
        "CXX_LONG_DOUBLE_COMPLEX": "G",
        "C_FLOAT_COMPLEX": "F",
        "C_DOUBLE_COMPLEX": "D",
        "C_LONG_DOUBLE_COMPLEX": "G",
        "FLOAT_INT": pair("f"),
        "DOUBLE_INT": pair("d"),
        "SHORT_INT": pair("h"),
        "LONG_INT": pair("l"),
        "LONG_DOUBLE_INT": pair("g"),
        "TWO_INT": pair("i"),
        "TWOINT": pair("i"),
    }.items()
}


DATATYPE_NULL = Datatype()


def fortran_types() -> dict[str, Datatype]:
    """Fortran's types. Those that NumPy lacks are ``DATATYPE_NULL``, as mpi4py has what its MPI lacks."""
    kinds = {
        "CHARACTER": "b",
        "LOGICAL": "i",
        "INTEGER": "i",
        "REAL": "f",
        "DOUBLE_PRECISION": "d",
        **{f"{name}{size}": f"i{size}" for name in ("LOGICAL", "INTEGER") for size in (1, 2, 4, 8)},
        **{f"REAL{size}": f"f{size}" for size in (2, 4, 8)},
        **{f"COMPLEX{size}": f"c{size}" for size in (8, 16)},
    }
    missing = ("LOGICAL16", "INTEGER16", "REAL16", "COMPLEX4", "COMPLEX32")
    return {name: Datatype(name, kind) for name, kind in kinds.items()} | dict.fromkeys(
        missing, DATATYPE_NULL
    )


#: Types whose names only programs written for MPI have: Fortran's, and MPI 5's.
MPI_TYPES: dict[str, Datatype] = {
    **fortran_types(),
    **{f"FLOAT{bits}_T": Datatype(f"FLOAT{bits}_T", f"f{bits // 8}") for bits in (16, 32, 64)},
    "BFLOAT16_T": DATATYPE_NULL,
    "INT_INT": DATATYPES["TWO_INT"],
}


def codes() -> dict[str, Datatype]:
    """The types by typecode and by NumPy's name for kind and size; of several, C's with the size in its name."""
    found = {"c": "CHAR", "S": "CHAR", "S1": "CHAR", "U": "WCHAR", "U1": "WCHAR", "p": "AINT"}
    chars = {
        "?": "C_BOOL",
        "b": "SIGNED_CHAR",
        "h": "SHORT",
        "i": "INT",
        "l": "LONG",
        "q": "LONG_LONG",
        "B": "UNSIGNED_CHAR",
        "H": "UNSIGNED_SHORT",
        "I": "UNSIGNED",
        "L": "UNSIGNED_LONG",
        "Q": "UNSIGNED_LONG_LONG",
        "f": "FLOAT",
        "d": "DOUBLE",
        "g": "LONG_DOUBLE",
        "F": "C_FLOAT_COMPLEX",
        "D": "C_DOUBLE_COMPLEX",
        "G": "C_LONG_DOUBLE_COMPLEX",
    }
    found |= chars | {"n": "LONG", "N": "UNSIGNED_LONG"}
    found |= {f"Z{char.lower()}": chars[char] for char in "FDG"}
    found |= {np.dtype(char).str[1:]: name for char, name in chars.items()}
    found |= {
        f"{kind}{n // 8}": f"{name}{n}_T"
        for kind, name in (("i", "INT"), ("u", "UINT"))
        for n in (8, 16, 32, 64)
    }
    return {code: DATATYPES[name] for code, name in found.items()}


CODES = codes()


def dtype_of(given: Any, argument: str) -> np.dtype[Any]:
    """The dtype named by the last item of a specification. Raises ArgumentError if it has no fixed size."""
    if isinstance(given, Datatype):
        return fixed_size(given.dtype, argument)
    if isinstance(given, str) and (named := DATATYPES.get(given) or MPI_TYPES.get(given)):
        return named.dtype
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
