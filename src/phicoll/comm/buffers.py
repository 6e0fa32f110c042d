"""Buffer specifications such as ``[buffer, count, type]``, resolved to an address and a count.

Specifications are mpi4py's: a buffer alone; ``[buffer, type]``; ``[buffer, count]``; ``[buffer, count, type]``;
``[buffer, (count, displacement), type]``; in the vector versions ``[buffer, (counts, displacements), type]``, with a
number in place of a list if all blocks are alike. Counts and displacements are in elements.

A contiguous buffer, in C or Fortran order, is used in place. Any other is replaced by a packed copy in C order, which
a receiving call copies back. A call's two buffers must have the same order.
"""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np

import phicoll._core as _core
from phicoll.comm.datatypes import Datatype, dtype_of, fixed_size, layout, type_number
from phicoll.errors import ArgumentError

__all__ = [
    "BOTTOM",
    "IN_PLACE",
    "Blocks",
    "InPlace",
    "Message",
    "block",
    "blocks_of",
    "check_room",
    "refuse_overlap",
    "refuse_shared",
    "same_kind",
    "same_order",
    "typed_blocks",
]


class InPlace:
    """The type of ``IN_PLACE``, given for one buffer of a call whose input and result share the other."""

    def __repr__(self) -> str:
        return "phicoll.IN_PLACE"

    def __reduce__(self) -> str:
        return "IN_PLACE"


IN_PLACE = InPlace()


class Bottom:
    """The type of ``BOTTOM``, MPI's name for no memory: a buffer of no elements, as None is."""

    def __repr__(self) -> str:
        return "phicoll.BOTTOM"

    def __reduce__(self) -> str:
        return "BOTTOM"


BOTTOM = Bottom()


class Message:
    """``count`` elements of ``dtype`` at ``address``. The address is valid while this object lives.

    ``fortran``: they lie in Fortran order, which is not C order as well.
    """

    __slots__ = ("address", "count", "dtype", "fortran", "memory", "packed")

    def __init__(
        self,
        address: int,
        count: int,
        dtype: np.dtype[Any],
        memory: Any,
        packed: Any,
        fortran: bool = False,
    ) -> None:
        self.address = address
        self.count = count
        self.dtype = dtype
        self.memory = memory
        self.packed = packed
        self.fortran = fortran

    @property
    def nbytes(self) -> int:
        return self.count * self.dtype.itemsize

    @property
    def type_number(self) -> int:
        """The number by which ranks compare types; 0 for an empty message."""
        return type_number(self.dtype) if self.count else 0

    def extent(self) -> tuple[int, int]:
        """The addresses where it begins and ends."""
        return self.address, self.address + self.nbytes

    def deliver(self) -> None:
        """Copy what was received back to the caller's buffer, if it went through a packed copy."""
        if self.packed is not None:
            self.packed[...] = self.memory


class Blocks:
    """One block per rank: ``counts[i]`` bytes at ``address + displacements[i]``. ``fortran`` as in :class:`Message`."""

    __slots__ = ("address", "counts", "displacements", "dtype", "fortran", "memory", "packed")

    def __init__(
        self,
        address: int,
        counts: list[int],
        displacements: list[int],
        dtype: np.dtype[Any],
        memory: Any,
        packed: Any,
        fortran: bool,
    ) -> None:
        self.address = address
        self.counts = counts
        self.displacements = displacements
        self.dtype = dtype
        self.memory = memory
        self.packed = packed
        self.fortran = fortran

    @property
    def nbytes(self) -> int:
        return sum(self.counts)

    @property
    def type_number(self) -> int:
        """The number by which ranks compare types; 0 if all blocks are empty."""
        return type_number(self.dtype) if any(self.counts) else 0

    deliver = Message.deliver


def memory_of(buffer: Any, writable: bool, argument: str) -> tuple[np.ndarray[Any, Any], Any]:
    """(contiguous array, packed): the buffer, or a copy of it and the array that was packed; else packed is None."""
    if isinstance(buffer, np.ndarray):
        array = buffer
    else:
        try:
            array = from_dlpack(buffer, argument) if lacks_buffer(buffer) else np.asarray(memoryview(buffer))
        except (TypeError, ValueError, NotImplementedError) as error:
            if isinstance(error, ArgumentError):
                raise
            raise ArgumentError(
                argument,
                called(buffer),
                "a NumPy array, another object with the buffer protocol or DLPack's, or a list or tuple of a buffer, "
                "counts and a type",
            ) from None
    if writable and not array.flags.writeable:
        raise ArgumentError(argument, "a read-only buffer", "a writable one")
    flags = array.flags
    if flags.c_contiguous or flags.f_contiguous:
        return array, None
    return np.array(array, order="C", copy=True, subok=False), array


def lacks_buffer(buffer: Any) -> bool:
    """Whether an object offers its memory by DLPack's protocol alone, as PyTorch's tensors do."""
    if not hasattr(buffer, "__dlpack__"):
        return False
    try:
        memoryview(buffer)
    except TypeError:
        return True
    return False


class Producer:
    """An object with DLPack's protocol, and the capsule that it gave out.

    NumPy drops the capsule once it has taken what is in it. Some producers, such as mpi4py's tests, free that then.
    """

    def __init__(self, buffer: Any) -> None:
        self.buffer = buffer
        self.capsule: Any = None

    def __dlpack__(self, **options: Any) -> Any:
        self.capsule = self.buffer.__dlpack__(**options)
        return self.capsule

    def __dlpack_device__(self) -> Any:
        return self.buffer.__dlpack_device__()


def from_dlpack(buffer: Any, argument: str) -> np.ndarray[Any, Any]:
    """The memory of an object with DLPack's protocol."""
    producer = Producer(buffer)
    try:
        array = np.from_dlpack(producer)
        is_old = not array.flags.writeable and '"used_dltensor"' in repr(producer.capsule)
    except (BufferError, RuntimeError) as error:
        raise ArgumentError(argument, f"{called(buffer)}: {error}", "memory of the CPU") from None
    return np.asarray(Tensor(array, producer, is_old))


class Tensor:
    """Memory by DLPack, and its producer until the array is gone.

    Before 1.0 DLPack does not say whether memory may be written, and NumPy takes it for read-only (``is_old``).
    """

    def __init__(self, array: np.ndarray[Any, Any], producer: Producer, is_old: bool) -> None:
        self.array = array  # keeps the memory
        self.producer = producer  # after the array, which goes first
        known = array.__array_interface__
        address, read_only = known["data"]
        self.__array_interface__ = {**known, "data": (address, read_only and not is_old)}


def called(value: Any) -> str:
    """A value's type in words: ``a list``, ``an int``, ``None``."""
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}" if value is not None else "None"


def is_type(item: Any) -> bool:
    return isinstance(item, (Datatype, str, np.dtype, type))


def parts_of(spec: Any, argument: str, pairs: tuple[type, ...]) -> tuple[Any, Any, Any, Any]:
    """(buffer, counts, displacements, type) of a specification; None for each part that is not given."""
    if not isinstance(spec, (list, tuple)):
        return spec, None, None, None
    counts = displacements = datatype = None
    if len(spec) == 2:
        buffer, counts = spec
        if is_type(counts):
            counts, datatype = None, counts
    elif len(spec) == 3:
        buffer, counts, datatype = spec
    elif len(spec) == 4:
        return tuple(spec)  # type: ignore[return-value]
    else:
        raise ArgumentError(
            argument, f"{len(spec)} items", "2 to 4: a buffer, counts, displacements and a type"
        )
    if isinstance(counts, pairs):
        if len(counts) != 2:
            raise ArgumentError(argument, f"{counts!r}", "(counts, displacements)")
        counts, displacements = counts
    return buffer, counts, displacements, datatype


def whole(value: Any, argument: str, what: str) -> int:
    try:
        number = index(value)
    except TypeError:
        raise ArgumentError(argument, f"{what} {value!r}", "a whole number from 0") from None
    if number < 0:
        raise ArgumentError(argument, f"{what} {number}", "a whole number from 0")
    return number


def opened(
    spec: Any, argument: str, writable: bool, pairs: tuple[type, ...]
) -> tuple[Any, Any, np.dtype[Any], Any, Any]:
    """(counts, displacements, dtype, memory, array that was packed); memory is None if there is no buffer."""
    if type(spec) is np.ndarray:
        buffer, counts, displacements, datatype = spec, None, None, None
    else:
        buffer, counts, displacements, datatype = parts_of(spec, argument, pairs)
    if buffer is BOTTOM or (buffer is None and isinstance(spec, (list, tuple))):
        dtype = dtype_of(datatype, argument) if datatype is not None else np.dtype("B")
        return counts if counts is not None else 0, displacements, dtype, None, None
    memory, packed = memory_of(buffer, writable, argument)
    # References to objects are no bytes, whatever type is named.
    if datatype is None or memory.dtype.hasobject:
        dtype = fixed_size(memory.dtype, argument)
    else:
        dtype = dtype_of(datatype, argument)
    return counts, displacements, dtype, memory, packed


def entries(memory: Any, dtype: np.dtype[Any], argument: str) -> int:
    """The number of elements of the type in the buffer."""
    if memory is None:
        return 0
    found, rest = divmod(memory.nbytes, dtype.itemsize)
    if rest:
        raise ArgumentError(
            argument,
            f"a buffer of {memory.nbytes} bytes without a count",
            f"a multiple of the {dtype.itemsize} bytes of {dtype}, or a count",
        )
    return found


def too_small(argument: str, memory: Any, needed: int, text: str) -> ArgumentError:
    have = 0 if memory is None else memory.nbytes
    return ArgumentError(argument, f"a buffer of {have} bytes", f"at least {needed} bytes for {text}")


def block(spec: Any, argument: str, *, writable: bool, blocks: int = 1) -> Message:
    """The message that ``spec`` describes; if the buffer holds several ``blocks``, the count is that of one."""
    if type(spec) is np.ndarray and blocks == 1:  # fast path: a plain array, as in most calls
        flags, kind = spec.flags, spec.dtype
        if flags.c_contiguous and (flags.writeable or not writable) and not kind.hasobject and kind.itemsize:
            return Message(_core.address(spec), spec.size, kind, spec, None)
    counts, displacement, dtype, memory, packed = opened(spec, argument, writable, (tuple, list))
    at = 0 if displacement is None else whole(displacement, argument, "displacement")
    if counts is None:
        available = entries(memory, dtype, argument) - at
        if available < 0:
            raise too_small(argument, memory, at * dtype.itemsize, f"the displacement of {at} elements")
        count, rest = divmod(available, blocks)
        if rest:
            raise ArgumentError(
                argument,
                f"a buffer of {available} elements without a count",
                f"a multiple of the {blocks} ranks, or a count",
            )
    else:
        count = whole(counts, argument, "count")
        needed = (at + count * blocks) * dtype.itemsize
        if needed > (0 if memory is None else memory.nbytes):
            text = f"{count} elements of {dtype}" + (f" for each of {blocks} ranks" if blocks > 1 else "")
            raise too_small(argument, memory, needed, text + (f" after {at} others" if at else ""))
    address = 0 if memory is None else _core.address(memory) + at * dtype.itemsize
    return Message(address, count, dtype, memory, packed, is_fortran(memory))


def numbers(given: Any, ranks: int, argument: str, what: str) -> list[int] | None:
    """One number per rank as a list, or None if ``given`` is a single number."""
    try:
        index(given)
    except TypeError:
        pass
    else:
        return None
    try:
        given = list(given)
    except TypeError:
        raise ArgumentError(argument, f"{what} {given!r}", f"a whole number, or {ranks} of them") from None
    found = [whole(value, argument, what) for value in given]
    if len(found) != ranks:
        raise ArgumentError(argument, f"{len(found)} {what}", f"{ranks}, one for each rank")
    return found


def blocks_of(spec: Any, argument: str, ranks: int, *, writable: bool) -> Blocks:
    """The blocks, one per rank, that ``spec`` describes (vector versions)."""
    given, strides, dtype, memory, packed = opened(spec, argument, writable, (tuple,))
    if given is None:
        each, more = divmod(entries(memory, dtype, argument), ranks)
        counts = [each + (rank < more) for rank in range(ranks)]
    else:
        listed = numbers(given, ranks, argument, "counts")
        counts = [whole(given, argument, "count")] * ranks if listed is None else listed
    if strides is None:
        displacements = [0] * ranks
        for rank in range(1, ranks):
            displacements[rank] = displacements[rank - 1] + counts[rank - 1]
    else:
        listed = numbers(strides, ranks, argument, "displacements")
        if listed is None:
            stride = whole(strides, argument, "displacement")
            listed = [stride * rank for rank in range(ranks)]
        displacements = listed
    size = dtype.itemsize
    needed = max(
        (at + count for at, count in zip(displacements, counts, strict=True) if count > 0), default=0
    )
    if needed * size > (0 if memory is None else memory.nbytes):
        raise too_small(
            argument, memory, needed * size, f"{sum(counts)} elements of {dtype} at their displacements"
        )
    return Blocks(
        0 if memory is None else _core.address(memory),
        [count * size for count in counts],
        [at * size for at in displacements],
        dtype,
        memory,
        packed,
        is_fortran(memory),
    )


def typed_blocks(spec: Any, argument: str, ranks: int, *, writable: bool) -> Blocks:
    """The blocks, one per rank and each of its own type, that ``spec`` describes (Alltoallw)."""
    counts = displacements = None
    allowed = "[buffer, (counts, displacements), types], or without counts and displacements"
    try:
        if len(spec) == 2:
            buffer, types = spec
        elif len(spec) == 3:
            buffer, (counts, displacements), types = spec
        else:
            buffer, counts, displacements, types = spec
        dtypes = [dtype_of(kind, argument) for kind in types]
    except (TypeError, ValueError) as error:
        if isinstance(error, ArgumentError):
            raise
        raise ArgumentError(argument, called(spec), allowed) from None
    if counts is None and displacements is None:
        counts, displacements = [1] * ranks, [0] * ranks
    counts = numbers(counts, ranks, argument, "counts")
    displacements = numbers(displacements, ranks, argument, "displacements")
    if len(dtypes) != ranks or counts is None or displacements is None:
        raise ArgumentError(argument, f"{len(dtypes)} types", f"{ranks} counts, displacements and types")
    nbytes = [count * dtype.itemsize for count, dtype in zip(counts, dtypes, strict=True)]
    memory = packed = None
    if buffer is not None and buffer is not BOTTOM:
        memory, packed = memory_of(buffer, writable, argument)
    needed = max((at + n for at, n in zip(displacements, nbytes, strict=True) if n > 0), default=0)
    if needed > (0 if memory is None else memory.nbytes):
        raise too_small(argument, memory, needed, f"{sum(nbytes)} bytes at their displacements")
    address = 0 if memory is None else _core.address(memory)
    return Blocks(address, nbytes, displacements, np.dtype("B"), memory, packed, is_fortran(memory))


def is_fortran(memory: Any) -> bool:
    """Whether contiguous memory is in Fortran order and not, as if it had one dimension, in C order too."""
    return memory is not None and not memory.flags.c_contiguous


def same_kind(receive: Message | Blocks, send: Message | Blocks) -> None:
    """Raise ArgumentError unless both have elements of one type, in one order of memory."""
    same_order(send, receive)
    if send.dtype == receive.dtype or not (send.nbytes and receive.nbytes):
        return
    if layout(send.dtype) != layout(receive.dtype):
        raise ArgumentError("recvbuf", f"elements of {receive.dtype}", f"those of sendbuf, {send.dtype}")


def same_order(
    send: Message | Blocks, receive: Message | Blocks, argument: str = "recvbuf", other: str = "sendbuf"
) -> None:
    """Raise ArgumentError if one buffer is in Fortran order and the other in C order."""
    if send.fortran is receive.fortran:
        return
    memory = (receive if send.fortran else send).memory
    if memory is None or memory.flags.f_contiguous:  # one dimension: either order
        return
    raise ArgumentError(
        argument,
        f"memory in {'Fortran' if receive.fortran else 'C'} order",
        f"the order of {other}, {'Fortran' if send.fortran else 'C'}, or np.ravel(array, 'K'), which has none",
    )


def refuse_overlap(
    send: tuple[int, int], receive: tuple[int, int], otherwise: str = "IN_PLACE as sendbuf"
) -> None:
    """Raise ArgumentError if the two address ranges overlap. ``otherwise``: what takes one buffer for both."""
    if max(send[0], receive[0]) < min(send[1], receive[1]):
        raise ArgumentError("recvbuf", "memory that overlaps sendbuf", f"memory of its own, or {otherwise}")


def check_room(buf: Any) -> None:
    """Raise a TypeError if it is not what mpi4py takes as memory for an object."""
    if buf is None or isinstance(buf, int):
        return
    try:
        memoryview(buf)
    except TypeError:
        raise TypeError(f"buf: got {buf!r}; allowed: None, a number of bytes or a buffer") from None


def refuse_shared(sending: Message, receiving: Message) -> None:
    """Raise ArgumentError if what is received would change what is being sent."""
    other = "Sendrecv_replace with one buffer"
    refuse_overlap(sending.extent(), receiving.extent(), other)
    # What went through a packed copy goes back into the whole array.
    back = receiving.packed
    if back is not None and sending.memory is not None and np.shares_memory(sending.memory, back):
        raise ArgumentError("recvbuf", "memory that overlaps sendbuf", f"memory of its own, or {other}")
