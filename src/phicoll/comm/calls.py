"""Checks a collective call's arguments and converts them for the core: a function for each call on buffers.

What only one rank can see, such as a buffer that is too small, breaks the group (:class:`Alone`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from operator import index
from typing import Any, NamedTuple

import numpy as np

import phicoll._core as _core
from phicoll.comm.buffers import (
    Blocks,
    Message,
    block,
    blocks_of,
    is_in_place,
    refuse_overlap,
    same_order,
    typed_blocks,
)
from phicoll.comm.datatypes import layout
from phicoll.comm.numbers import whole_count
from phicoll.comm.operators import core_operator
from phicoll.errors import ArgumentError

MOST_ELEMENT = 256  # bytes of an element that the core's reductions take


class Call(NamedTuple):
    """A call of the core: its name, its arguments, and the buffers, whose memory stays while this object lives.

    ``combine`` computes the result where the core cannot.
    """

    name: str
    arguments: tuple[Any, ...]
    receives: Message | Blocks | None
    sends: Message | Blocks | None = None
    combine: Callable[[], None] | None = None

    @property
    def is_direct(self) -> bool:
        """Whether the core reads and writes the caller's own buffers, and nothing is left to do when it has."""
        packed = any(
            buffer is not None and buffer.packed is not None for buffer in (self.receives, self.sends)
        )
        return not packed and self.combine is None

    def prepared(self, core: Any) -> Any:
        """The call as an object of the core, which keeps this one."""
        found = getattr(core, self.name)(*self.arguments)
        found.keep(self)
        return found

    def finish(self) -> None:
        """Bring the result into the caller's buffer."""
        if self.combine is not None:
            self.combine()
        if self.receives is not None:
            self.receives.deliver()

    def run(self, core: Any) -> None:
        """Make the call."""
        getattr(core, self.name)(*self.arguments).run()
        self.finish()


class Alone:
    """A context in which an exception breaks the group, unless it has no other rank: only this one may have seen it."""

    __slots__ = ("core",)

    def __init__(self, core: Any) -> None:
        self.core = core

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if kind is not None:
            fail_alone(self.core, error)


def fail_alone(core: Any, error: BaseException) -> None:
    """Break the group, unless it has no other rank, by an error that only this one may have seen."""
    if core.size > 1 and not core.closed:
        core.fail(f"raised {type(error).__name__}: {error}")


def root_of(core: Any, root: Any) -> int:
    """The root's rank, checked."""
    size = core.size
    try:
        number = index(root)
    except TypeError:
        number = -1
    if not 0 <= number < size:
        raise ArgumentError("root", repr(root), f"0..{size - 1}")
    return number


def barrier(core: Any) -> Call:
    return Call("barrier", (), None)


def broadcast(core: Any, buf: Any, root: Any, algorithm: str | None) -> Call:
    root = root_of(core, root)
    with Alone(core):
        message = block(buf, "buf", writable=core.rank != root)
    arguments = (message.address, message.nbytes, root, algorithm or "", message.type_number)
    return Call("broadcast", arguments, message)


def reduction(
    core: Any, name: str, sendbuf: Any, recvbuf: Any, op: Any, algorithm: str | None, root: Any = None
) -> Call:
    """A reduction: ``reduce`` to ``root``, the others to all ranks."""
    rooted = name == "reduce"
    if rooted:
        root = root_of(core, root)
    receiving = not rooted or core.rank == root
    with Alone(core):
        send = receive = None
        if receiving:
            receive = block(recvbuf, "recvbuf", writable=True)
        if not (receiving and is_in_place(sendbuf)):
            send = block(sendbuf, "sendbuf", writable=False)
        if send is not None and receive is not None:
            same_elements(send, receive)
            send = apart_or_in_place(send, receive)
    message = receive if receive is not None else send
    assert message is not None
    operator = core_operator(op, message.dtype)
    if message.dtype.itemsize > MOST_ELEMENT:
        own = message if send is None else send
        return gathered(core, name, own, own.count, receive, (0, own.count), operator, algorithm, root)
    to = (root,) if rooted else ()
    arguments = (address_of(send), address_of(receive), message.count, operator, *to, algorithm or "")
    return Call(name, arguments, receive, send)


def reduce_scatter_block(core: Any, sendbuf: Any, recvbuf: Any, op: Any, algorithm: str | None) -> Call:
    size = core.size
    with Alone(core):
        if is_in_place(sendbuf):
            send = None
            receive = block(recvbuf, "recvbuf", writable=True, blocks=size)
        else:
            receive = block(recvbuf, "recvbuf", writable=True)
            send = block(sendbuf, "sendbuf", writable=False, blocks=size)
            same_elements(send, receive)
            if send.address == receive.address and send.packed is None:
                send = None
            else:
                refuse_overlap(span(send, size), span(receive))
    operator = core_operator(op, receive.dtype)
    if receive.dtype.itemsize > MOST_ELEMENT:
        part = core.rank * receive.count, receive.count
        own = receive if send is None else send
        return gathered(core, "reduce_scatter", own, size * receive.count, receive, part, operator, algorithm)
    arguments = (address_of(send), receive.address, receive.count, operator, algorithm or "")
    return Call("reduce_scatter_block", arguments, receive, send)


def reduce_scatter(
    core: Any,
    sendbuf: Any,
    recvbuf: Any,
    recvcounts: Sequence[int] | None,
    op: Any,
    algorithm: str | None,
) -> Call:
    size, rank = core.size, core.rank
    with Alone(core):
        receive = block(recvbuf, "recvbuf", writable=True)
        send: Message | None = None
        if not is_in_place(sendbuf):
            send = block(sendbuf, "sendbuf", writable=False)
            if send.address == receive.address and send.count > 0:
                send = None
        if recvcounts is None and send is None:
            raise ArgumentError("recvcounts", "None in place", f"{size} counts")
    if recvcounts is None:
        counts = counts_of_all(core, receive.count)
    else:
        with Alone(core):
            counts = [whole_count(count) for count in recvcounts]
            if len(counts) != size:
                raise ArgumentError("recvcounts", f"{len(counts)} counts", f"{size}, one for each rank")
    with Alone(core):
        total = sum(counts)
        if send is None:
            if receive.count < total:
                raise ArgumentError("recvbuf", f"{receive.count} elements in place", f"{total}, all blocks")
        else:
            same_kind(receive, send)
            if send.count != total:
                raise ArgumentError("sendbuf", f"{send.count} elements", f"{total}, the sum of recvcounts")
            if receive.count < counts[rank]:
                raise ArgumentError(
                    "recvbuf", f"{receive.count} elements", f"recvcounts[{rank}], {counts[rank]}"
                )
            refuse_overlap(span(send), span(receive))
    operator = core_operator(op, receive.dtype)
    if receive.dtype.itemsize > MOST_ELEMENT:
        part = sum(counts[:rank]), counts[rank]
        own = receive if send is None else send
        return gathered(core, "reduce_scatter", own, total, receive, part, operator, algorithm)
    arguments = (address_of(send), receive.address, counts, operator, algorithm or "")
    return Call("reduce_scatter", arguments, receive, send)


def gathered(
    core: Any,
    name: str,
    own: Message,
    count: int,
    receive: Message | None,
    part: tuple[int, int],
    operator: Any,
    algorithm: str | None,
    root: int | None = None,
) -> Call:
    """A reduction of elements that are too large for the core: they are gathered, and combined here.

    Each rank contributes ``count`` elements from ``own``. ``part`` is the first element of the result that goes to
    ``receive``, and how many do.
    """
    if algorithm:
        raise ArgumentError(
            "algorithm", repr(algorithm), f"none for elements of more than {MOST_ELEMENT} bytes"
        )
    size = own.dtype.itemsize
    nbytes = count * size
    blocks = np.empty((core.size, nbytes), np.uint8)
    last = {"scan": core.rank, "exscan": core.rank - 1}.get(name, core.size - 1)
    first, number = part

    def combine() -> None:
        if receive is None or last < 0:
            return
        with Alone(core):
            for rank in range(last):
                operator.combine(_core.address(blocks[rank]), _core.address(blocks[rank + 1]), count)
        ctypes.memmove(receive.address, _core.address(blocks[last]) + first * size, number * size)

    arguments: tuple[Any, ...] = (own.address, _core.address(blocks), nbytes, "", own.type_number)
    if name != "reduce":
        return Call("allgather", arguments, receive, own, combine)
    return Call("gather", (*arguments[:3], root, *arguments[3:]), receive, own, combine)


def counts_of_all(core: Any, own: int) -> list[int]:
    """The number ``own`` of every rank, in rank order."""
    mine = np.array([own], np.int64)
    found = np.empty(core.size, np.int64)
    core.allgather(_core.address(mine), _core.address(found), mine.nbytes).run()
    return [int(n) for n in found]


def gather(core: Any, sendbuf: Any, recvbuf: Any, root: Any, algorithm: str | None) -> Call:
    root = root_of(core, root)
    if core.rank != root:
        with Alone(core):
            send = block(sendbuf, "sendbuf", writable=False)
        arguments = (send.address, None, send.nbytes, root, algorithm or "", send.type_number)
        return Call("gather", arguments, None, send)
    receive, own = all_and_own(core, sendbuf, recvbuf)
    arguments = (
        address_of(own),
        receive.address,
        receive.nbytes,
        root,
        algorithm or "",
        receive.type_number,
    )
    return Call("gather", arguments, receive, own)


def all_and_own(core: Any, sendbuf: Any, recvbuf: Any) -> tuple[Message, Message | None]:
    """The blocks of all ranks, and this rank's if it does not lie among them."""
    with Alone(core):
        receive = block(recvbuf, "recvbuf", writable=True, blocks=core.size)
        at = core.rank * receive.nbytes
        return receive, own_part(sendbuf, receive, receive.nbytes, at, span(receive, core.size))


def scatter(core: Any, sendbuf: Any, recvbuf: Any, root: Any, algorithm: str | None) -> Call:
    root = root_of(core, root)
    if core.rank != root:
        with Alone(core):
            receive = block(recvbuf, "recvbuf", writable=True)
        kind = receive.type_number
        return Call("scatter", (None, receive.address, receive.nbytes, root, algorithm or "", kind), receive)
    with Alone(core):
        send = block(sendbuf, "sendbuf", writable=False, blocks=core.size)
        own = None
        if not is_in_place(recvbuf):
            own = block(recvbuf, "recvbuf", writable=True)
            same_kind(own, send)
            same_bytes("recvbuf", own.nbytes, send.nbytes)
            at = send.address + core.rank * send.nbytes
            if own.address == at:
                own = None
            else:
                refuse_overlap(span(send, core.size), span(own))
    kind = send.type_number
    arguments = (send.address, address_of(own), send.nbytes, root, algorithm or "", kind)
    return Call("scatter", arguments, own, send)


def allgather(core: Any, sendbuf: Any, recvbuf: Any, algorithm: str | None) -> Call:
    receive, own = all_and_own(core, sendbuf, recvbuf)
    kind = receive.type_number
    return Call(
        "allgather",
        (address_of(own), receive.address, receive.nbytes, algorithm or "", kind),
        receive,
        own,
    )


def alltoall(core: Any, sendbuf: Any, recvbuf: Any, algorithm: str | None) -> Call:
    size = core.size
    with Alone(core):
        receive = block(recvbuf, "recvbuf", writable=True, blocks=size)
        send = None
        if not is_in_place(sendbuf):
            send = block(sendbuf, "sendbuf", writable=False, blocks=size)
            same_kind(receive, send)
            same_bytes("sendbuf", send.nbytes, receive.nbytes)
            send = apart_or_in_place(send, receive, size)
    kind = receive.type_number
    arguments = (address_of(send), receive.address, receive.nbytes, algorithm or "", kind)
    return Call("alltoall", arguments, receive, send)


def gatherv(core: Any, sendbuf: Any, recvbuf: Any, root: Any, algorithm: str | None) -> Call:
    root = root_of(core, root)
    size, rank = core.size, core.rank
    if rank != root:
        with Alone(core):
            send = block(sendbuf, "sendbuf", writable=False)
        none = [0] * size
        kind = send.type_number
        arguments = (send.address, send.nbytes, None, none, none, root, algorithm or "", kind)
        return Call("gatherv", arguments, None, send)
    receive, own = vector_and_own(core, sendbuf, recvbuf)
    arguments = (
        address_of(own),
        receive.counts[rank],
        receive.address,
        receive.counts,
        receive.displacements,
        root,
        algorithm or "",
        receive.type_number,
    )
    return Call("gatherv", arguments, receive, own)


def vector_and_own(core: Any, sendbuf: Any, recvbuf: Any) -> tuple[Blocks, Message | None]:
    """As all_and_own, of blocks of any lengths."""
    with Alone(core):
        receive = blocks_of(recvbuf, "recvbuf", core.size, writable=True)
        at = receive.displacements[core.rank]
        return receive, own_part(sendbuf, receive, receive.counts[core.rank], at, receive.extent())


def scatterv(core: Any, sendbuf: Any, recvbuf: Any, root: Any, algorithm: str | None) -> Call:
    root = root_of(core, root)
    none = [0] * core.size
    if core.rank != root:
        with Alone(core):
            receive = block(recvbuf, "recvbuf", writable=True)
        kind = receive.type_number
        arguments: tuple[Any, ...] = (
            None,
            none,
            none,
            receive.address,
            receive.nbytes,
            root,
            algorithm or "",
            kind,
        )
        return Call("scatterv", arguments, receive)
    with Alone(core):
        send = blocks_of(sendbuf, "sendbuf", core.size, writable=False)
        own = None
        if not is_in_place(recvbuf):
            own = block(recvbuf, "recvbuf", writable=True)
            same_kind(own, send)
            same_bytes("recvbuf", own.nbytes, send.counts[root])
            if own.address == send.address + send.displacements[root]:
                own = None
            else:
                refuse_overlap(send.extent(), span(own))
    arguments = (
        send.address,
        send.counts,
        send.displacements,
        address_of(own),
        send.counts[root],
        root,
        algorithm or "",
        send.type_number,
    )
    return Call("scatterv", arguments, own, send)


def allgatherv(core: Any, sendbuf: Any, recvbuf: Any, algorithm: str | None) -> Call:
    receive, own = vector_and_own(core, sendbuf, recvbuf)
    arguments = (
        address_of(own),
        receive.counts[core.rank],
        receive.address,
        receive.counts,
        receive.displacements,
        algorithm or "",
        receive.type_number,
    )
    return Call("allgatherv", arguments, receive, own)


def alltoallv(core: Any, sendbuf: Any, recvbuf: Any, algorithm: str | None) -> Call:
    size = core.size
    with Alone(core):
        receive = blocks_of(recvbuf, "recvbuf", size, writable=True)
        send: Blocks | None = None
        if not is_in_place(sendbuf):
            send = blocks_of(sendbuf, "sendbuf", size, writable=False)
            same_kind(receive, send)
            send = blocks_apart_or_in_place(send, receive)
    return exchange(send, receive, algorithm, (send or receive).type_number or receive.type_number)


def alltoallw(core: Any, sendbuf: Any, recvbuf: Any, algorithm: str | None = None) -> Call:
    with Alone(core):
        receive = typed_blocks(recvbuf, "recvbuf", core.size, writable=True)
        send: Blocks | None = None
        if not is_in_place(sendbuf):
            send = typed_blocks(sendbuf, "sendbuf", core.size, writable=False)
            send = blocks_apart_or_in_place(send, receive)
    return exchange(send, receive, algorithm, 0)


def exchange(send: Blocks | None, receive: Blocks, algorithm: str | None, kind: int) -> Call:
    """An all-to-all of blocks of any lengths."""
    sent = send or receive
    arguments = (
        address_of(send),
        sent.counts,
        sent.displacements,
        receive.address,
        receive.counts,
        receive.displacements,
        algorithm or "",
        kind,
    )
    return Call("alltoallv", arguments, receive, send)


# Of two buffers.


def span(message: Message, blocks: int = 1) -> tuple[int, int]:
    """The addresses where its memory begins and ends."""
    return message.address, message.address + message.nbytes * blocks


def same_kind(receive: Message | Blocks, send: Message | Blocks) -> None:
    """Check that both have elements of one type, in one order of memory."""
    if send.fortran is not receive.fortran:  # saves a frame in most calls
        same_order(send, receive)
    if send.dtype is receive.dtype or send.dtype == receive.dtype or not (send.nbytes and receive.nbytes):
        return
    if layout(send.dtype) != layout(receive.dtype):
        raise ArgumentError("recvbuf", f"elements of {receive.dtype}", f"those of sendbuf, {send.dtype}")


def same_elements(send: Message, receive: Message) -> None:
    same_kind(receive, send)
    if send.count != receive.count:
        raise ArgumentError("recvbuf", f"{receive.count} elements", f"as many as sendbuf, {send.count}")


def same_bytes(argument: str, got: int, wanted: int) -> None:
    if got != wanted:
        raise ArgumentError(argument, f"{got} bytes", f"{wanted}, this rank's block")


def apart_or_in_place(send: Message, receive: Message, blocks: int = 1) -> Message | None:
    """``send``, or None if it is the same memory as ``receive``, which has as many bytes."""
    if send.address == receive.address:
        return None
    refuse_overlap(span(send, blocks), span(receive, blocks))
    return send


def blocks_apart_or_in_place(send: Blocks, receive: Blocks) -> Blocks | None:
    """``send``, or None if its blocks are those of ``receive``."""
    if (send.address, send.counts, send.displacements) == (
        receive.address,
        receive.counts,
        receive.displacements,
    ):
        return None
    refuse_overlap(send.extent(), receive.extent())
    return send


def own_part(
    sendbuf: Any, receive: Message | Blocks, nbytes: int, at: int, whole: tuple[int, int]
) -> Message | None:
    """This rank's contribution to the blocks of ``receive``: ``nbytes`` that go to ``receive.address + at``.

    None if it is there already.
    """
    if is_in_place(sendbuf):
        return None
    send = block(sendbuf, "sendbuf", writable=False)
    same_kind(receive, send)
    same_bytes("sendbuf", send.nbytes, nbytes)
    if nbytes > 0 and send.address == receive.address + at:
        return None
    refuse_overlap(span(send), whole)
    return send


def address_of(message: Message | Blocks | None) -> int | None:
    return None if message is None else message.address
