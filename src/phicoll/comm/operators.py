"""The operators of reductions: MPI's and user-defined ones.

The left operand is the lower rank's. Every operator also works on objects: ``phicoll.SUM(2, 3)`` is 5.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

import phicoll._core as _core
from phicoll.comm.datatypes import DATATYPES, Datatype, type_name, type_number
from phicoll.comm.not_offered import Handle
from phicoll.errors import ArgumentError

__all__ = ["OPERATORS", "OP_NULL", "Op", "called", "core_operator"]


class Op(Handle):
    """An operator of a reduction. ``Op(op)`` is the same operator by another name, ``Op()`` equals ``OP_NULL``, none.

    Attributes
    ----------
    name:
        MPI's name without its prefix, or the name of the user's function.
    commutative:
        Whether operands may change places. If not, operands are combined in rank order.
    """

    __slots__ = ("_cache", "_function", "_lock", "_user", "commutative", "name")

    def __init__(self, op: Op | None = None) -> None:
        self._checked(op)
        self.name: str = "OP_NULL" if op is None else op.name
        self.commutative: bool = op is None or op.commutative
        self._function: Callable[..., Any] | None = None if op is None else op._function
        self._user: bool = op is not None and op._user
        # Looked up by the dtype's id, as hashing it takes a microsecond; the table keeps it alive, so ids stay unique.
        self._cache: dict[int, tuple[np.dtype[Any], Any]] = {} if op is None else op._cache
        self._lock = threading.Lock() if op is None else op._lock

    @classmethod
    def _define(
        cls, name: str, function: Callable[..., Any], commutative: bool = True, user: bool = False
    ) -> Op:
        self = cls()
        self.name, self.commutative, self._function, self._user = name, commutative, function, user
        return self

    @classmethod
    def Create(cls, function: Callable[[Any, Any, Datatype | None], Any], commute: bool = False) -> Op:
        """Make an operator from a function.

        Parameters
        ----------
        function:
            On buffers, called as ``function(in_buffer, inout_buffer, datatype)`` with two memoryviews of bytes that
            hold any number of elements; it stores ``in op inout`` in the second. The first belongs to the lower ranks.
            On objects, called as ``function(x, y, None)``; it returns the result. An exception breaks the group.
        commute:
            Whether operands may change places.
        """
        if not callable(function):
            raise ArgumentError("function", repr(function), "a function of two buffers and a type")
        return cls._define(getattr(function, "__name__", "user"), function, bool(commute), user=True)

    def Free(self) -> None:
        """Release a user-defined operator; it cannot be used again."""
        if not self._user:
            raise ArgumentError("op", repr(self), "an operator that Op.Create made")
        self._function = None
        self._cache = {}

    def free(self) -> None:
        """As :meth:`Free`, but without an error if it is null or one of MPI's own."""
        if self._user:
            self.Free()

    def __bool__(self) -> bool:
        return self._function is not None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Op):
            return NotImplemented
        return self._cache is other._cache or not (self or other)

    def __hash__(self) -> int:
        return id(self._cache) if self else 0

    def Is_commutative(self) -> bool:
        """Whether operands may change places."""
        return self.commutative

    def Is_predefined(self) -> bool:
        """Whether it is one of MPI's."""
        return not self._user

    @property
    def is_commutative(self) -> bool:
        """Whether operands may change places."""
        return self.commutative

    @property
    def is_predefined(self) -> bool:
        """Whether it is one of MPI's."""
        return not self._user

    def Reduce_local(self, inbuf: Any, inoutbuf: Any) -> None:
        """Compute ``inout = in op inout`` element by element, on this rank alone."""
        from phicoll.comm.buffers import block, same_order

        left = block(inbuf, "inbuf", writable=False)
        right = block(inoutbuf, "inoutbuf", writable=True)
        if left.dtype != right.dtype:
            raise ArgumentError("inoutbuf", f"elements of {right.dtype}", f"those of inbuf, {left.dtype}")
        if left.count != right.count:
            raise ArgumentError("inoutbuf", f"{right.count} elements", f"those of inbuf, {left.count}")
        same_order(left, right, "inoutbuf", "inbuf")
        core_operator(self, right.dtype).combine(left.address, right.address, right.count)
        right.deliver()

    def __call__(self, x: Any, y: Any) -> Any:
        if self._function is None:
            raise none_there(self, "op")
        return self._function(x, y, None) if self._user else self._function(x, y)

    def __repr__(self) -> str:
        if not self:
            return "phicoll.OP_NULL"
        return f"phicoll.Op({self.name!r})" if self._user else f"phicoll.{self.name}"

    def __reduce__(self) -> tuple[Any, ...] | str:
        if self and self._user:
            return Op.Create, (self._function, self.commutative)
        constant = _predefined(self.name if self else "OP_NULL")
        return (_predefined, (self.name,)) if self is constant else (Op, (constant,))


def _predefined(name: str) -> Op:
    return OP_NULL if name == "OP_NULL" else OPERATORS[name]


def none_there(op: Op, argument: str) -> ArgumentError:
    got = f"{op.name}, which was freed" if op._user else "OP_NULL"
    return ArgumentError(argument, got, "an operator that was not freed")


OP_NULL = Op()


def larger(x: Any, y: Any) -> Any:
    return y if y > x else x


def smaller(x: Any, y: Any) -> Any:
    return y if y < x else x


def largest_with_place(x: Any, y: Any) -> Any:
    (u, i), (v, j) = x, y
    return (v, j) if v > u or (not u > v and j < i) else (u, i)


def smallest_with_place(x: Any, y: Any) -> Any:
    (u, i), (v, j) = x, y
    return (v, j) if v < u or (not u < v and j < i) else (u, i)


REAL_OPERATORS = {"SUM": np.add, "PROD": np.multiply, "MIN": np.minimum, "MAX": np.maximum}

OPERATORS: dict[str, Op] = {
    op.name: op
    for op in (
        Op._define("SUM", operator.add),
        Op._define("PROD", operator.mul),
        Op._define("MIN", smaller),
        Op._define("MAX", larger),
        Op._define("LAND", lambda x, y: bool(x) & bool(y)),
        Op._define("LOR", lambda x, y: bool(x) | bool(y)),
        Op._define("LXOR", lambda x, y: bool(x) ^ bool(y)),
        Op._define("BAND", operator.and_),
        Op._define("BOR", operator.or_),
        Op._define("BXOR", operator.xor),
        Op._define("MINLOC", smallest_with_place),
        Op._define("MAXLOC", largest_with_place),
        Op._define("REPLACE", lambda x, y: y, commutative=False),
        Op._define("NO_OP", lambda x, y: x, commutative=False),
    )
}

# Operators on types that the core does not know: NumPy carries them out.
NUMPY_OPERATORS: dict[tuple[str, str], Any] = {
    **{(op, "g"): ufunc for op, ufunc in REAL_OPERATORS.items()},
    **{(op, "G"): REAL_OPERATORS[op] for op in ("SUM", "PROD")},
}

MOST_KNOWN = 64  # bounds an operator's table of types: a program may make new ones in every call

OBJECTS_ONLY = ("REPLACE", "NO_OP")


def called(op: Any) -> Callable[[Any, Any], Any]:
    """Check an operator on objects: an :class:`Op` or any function of two arguments."""
    if not callable(op):
        raise ArgumentError(
            "op", repr(op), f"{', '.join(OPERATORS)}, Op.Create(...) or a function of two objects"
        )
    if isinstance(op, Op) and not op:
        raise none_there(op, "op")
    if isinstance(op, Op) and not op._user:
        return op._function  # type: ignore[return-value]  # without a frame of Op's
    return op  # type: ignore[no-any-return]


def core_operator(op: Any, dtype: np.dtype[Any], argument: str = "op") -> Any:
    """The core's operator for elements of ``dtype``; raises ArgumentError if there is none."""
    if not isinstance(op, Op):
        raise ArgumentError(argument, repr(op), f"{', '.join(OPERATORS)}, or Op.Create(function, commute)")
    found = op._cache.get(id(dtype))
    if found is not None:
        return found[1]
    if op._function is None:
        raise none_there(op, argument)
    if op._user:
        function = with_datatype(op._function, dtype)
        found = _core.user_operator(function, dtype.itemsize, op.commutative, type_number(dtype))
    elif dtype.isnative and (op.name, dtype.char) in NUMPY_OPERATORS:
        function = by_numpy(NUMPY_OPERATORS[op.name, dtype.char], dtype)
        found = _core.user_operator(function, dtype.itemsize, True, type_number(dtype))
    else:
        name = type_name(dtype)
        known = _core.operator_types(op.name.lower()) if op.name not in OBJECTS_ONLY else []
        if name is None or name not in known:
            raise ArgumentError(
                argument,
                f"{op.name} on elements of {dtype}",
                f"{op.name} on {', '.join(types_of(op, known))}",
            )
        found = _core.operator(op.name.lower(), name)
    with op._lock:
        if len(op._cache) >= MOST_KNOWN:
            op._cache.clear()
        op._cache[id(dtype)] = dtype, found
    return found


def types_of(op: Op, known: list[str]) -> list[str]:
    """What an operator accepts, for a message: the core's types, as the caller names them, and those of NumPy's."""
    if op.name in OBJECTS_ONLY:
        return ["objects only"]
    own = [{"bool8": "bool"}.get(name, name.upper() if name.endswith("_int") else name) for name in known]
    return own + [np.dtype(char).name for name, char in NUMPY_OPERATORS if name == op.name]


def by_numpy(ufunc: Any, dtype: np.dtype[Any]) -> Callable[[Any, Any], None]:
    """A function of NumPy's on two arrays, wrapped for the core."""

    def combine(left: memoryview, right: memoryview) -> None:
        result = np.frombuffer(right, dtype)
        ufunc(np.frombuffer(left, dtype), result, out=result)

    return combine


def with_datatype(function: Callable[..., Any], dtype: np.dtype[Any]) -> Callable[[Any, Any], None]:
    """A user's function, wrapped for the core, which passes no datatype."""
    datatype = next((known for known in DATATYPES.values() if known.dtype == dtype), None)
    if datatype is None:
        datatype = Datatype(str(dtype), dtype)

    def combine(left: memoryview, right: memoryview) -> None:
        function(left, right, datatype)

    return combine
