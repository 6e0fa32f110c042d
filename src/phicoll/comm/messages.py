"""Messages between two ranks: the point-to-point methods of :class:`~phicoll.Comm`."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np

import phicoll._core as _core
from phicoll.comm.buffers import Message, block, refuse_overlap
from phicoll.comm.calls import span
from phicoll.comm.numbers import rank_or_tag
from phicoll.comm.requests import ANY_SOURCE, ANY_TAG, Prequest, Request, Status, check_status
from phicoll.errors import ArgumentError

__all__ = ["PROC_NULL", "PointToPoint"]

PROC_NULL: int = _core.no_rank


class PointToPoint:
    """The methods of :class:`~phicoll.Comm` that move a message between two ranks."""

    _core: Any

    @property
    def _whole(self) -> Any:
        raise NotImplementedError

    # Buffers.

    def _send(self, buf: Any, dest: int, tag: int, synchronous: bool = False) -> None:
        core = self._whole
        to = dest_and_tag(dest, tag)
        message = message_of(buf, dest, writable=False)
        core.send(message.address, message.nbytes, *to, message.type_number, synchronous)

    def _isend(self, buf: Any, dest: int, tag: int, synchronous: bool = False) -> Request:
        to = dest_and_tag(dest, tag)
        return self._begin_send(message_of(buf, dest, writable=False), to, synchronous)

    def _begin_send(self, message: Message, to: tuple[int, int], synchronous: bool = False) -> Request:
        core = self._whole
        transfer = core.begin_send(
            message.address, message.nbytes, *to, message.type_number, synchronous, message.memory
        )
        return Request._of(transfer, message)

    def _begin_receive(self, message: Message, origin: tuple[int, int]) -> Request:
        core = self._whole
        transfer = core.begin_receive(
            message.address, message.nbytes, *origin, message.type_number, message.memory
        )
        return Request._of(transfer, message)

    @_core.plain_call
    def Send(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Send ``buf`` to rank ``dest``. Not collective.

        Returns when the message is in the path to the receiver. A large one that the receiver copies straight from
        ``buf`` has then been received.

        Parameters
        ----------
        buf:
            A buffer as in :meth:`Bcast`.
        dest:
            The receiver; ``PROC_NULL`` sends nothing.
        tag:
            A number from 0 by which the receiver tells messages apart.
        """
        self._send(buf, dest, tag)

    def Ssend(self, buf: Any, dest: int, tag: int = 0) -> None:
        """As :meth:`Send`; returns when the message has been received."""
        self._send(buf, dest, tag, True)

    def Bsend(self, buf: Any, dest: int, tag: int = 0) -> None:
        """As :meth:`Send`, but never waits for the receiver: the message is copied."""
        self._bsend(message_of(buf, dest, writable=False), dest, tag)

    def _bsend(self, message: Message, dest: int, tag: int) -> None:
        self.Isend([bytearray(message_bytes(message)), message.count, message.dtype], dest, tag).Free()

    def Rsend(self, buf: Any, dest: int, tag: int = 0) -> None:
        """As :meth:`Send`."""
        self._send(buf, dest, tag)

    @_core.plain_call
    def Recv(
        self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None
    ) -> None:
        """Receive a message into ``buf``, which may be larger than it. Not collective.

        Messages of one rank that match are received in the order in which it sent them.

        Parameters
        ----------
        buf:
            A buffer as in :meth:`Bcast`.
        source:
            The sender, ``ANY_SOURCE``, or ``PROC_NULL`` for none.
        tag:
            The message's tag, or ``ANY_TAG``.
        status:
            Filled in with the sender, tag and size.

        Raises
        ------
        ArgumentError
            The message is larger than ``buf`` or of another type. It stays and can be received again.
        """
        core = self._whole
        check_status(status)
        origin = source_and_tag(source, tag)
        message = message_of(buf, source, writable=True)
        told = core.receive(message.address, message.nbytes, *origin, message.type_number)
        message.deliver()
        if status is not None:
            status._tell(*told)

    @_core.plain_call
    def Sendrecv(
        self,
        sendbuf: Any,
        dest: int,
        sendtag: int = 0,
        recvbuf: Any = None,
        source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG,
        status: Status | None = None,
    ) -> None:
        """Send one message and receive another, in whichever order the others do. Arguments as in Send and Recv.

        Raises
        ------
        ArgumentError
            ``sendbuf`` and ``recvbuf`` share memory; :meth:`Sendrecv_replace` takes one buffer for both.
        """
        check_status(status)
        sending = message_of(sendbuf, dest, "sendbuf", writable=False)
        receiving = message_of(recvbuf, source, "recvbuf", writable=True)
        refuse_shared(sending, receiving)
        to = rank_or_tag("dest", dest), rank_or_tag("sendtag", sendtag)
        origin = rank_or_tag("source", source), rank_or_tag("recvtag", recvtag)
        # The send first, as it is the one that may be refused; what is begun goes on by itself.
        sent = self._begin_send(sending, to)
        received = self._begin_receive(receiving, origin)
        received.wait(status)
        sent.wait()

    @_core.plain_call
    def Sendrecv_replace(
        self,
        buf: Any,
        dest: int,
        sendtag: int = 0,
        source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG,
        status: Status | None = None,
    ) -> None:
        """Send ``buf``, then receive into it."""
        check_status(status)
        self.Bsend(buf, dest, sendtag)
        self.Recv(buf, source, recvtag, status)

    def Isendrecv(
        self,
        sendbuf: Any,
        dest: int,
        sendtag: int = 0,
        recvbuf: Any = None,
        source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG,
    ) -> Request:
        """Begin what :meth:`Sendrecv` does; return the request. ``sendbuf`` is copied."""
        sending = message_of(sendbuf, dest, "sendbuf", writable=False)
        receiving = message_of(recvbuf, source, "recvbuf", writable=True)
        refuse_shared(sending, receiving)
        return self._isendrecv(sending, dest, sendtag, receiving, source, recvtag)

    def _isendrecv(
        self, sending: Message, dest: int, sendtag: int, receiving: Message, source: int, recvtag: int
    ) -> Request:
        origin = source_and_tag(source, recvtag)
        self._bsend(sending, dest, sendtag)
        return self._begin_receive(receiving, origin)

    def Isendrecv_replace(
        self, buf: Any, dest: int, sendtag: int = 0, source: int = ANY_SOURCE, recvtag: int = ANY_TAG
    ) -> Request:
        """Begin what :meth:`Sendrecv_replace` does; return the request."""
        sending = message_of(buf, dest, writable=False)
        receiving = message_of(buf, source, writable=True)
        return self._isendrecv(sending, dest, sendtag, receiving, source, recvtag)

    @_core.plain_call
    def Isend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        """Begin to send ``buf``; return the request. Do not change the buffer until the request has ended."""
        return self._isend(buf, dest, tag)

    def Issend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        """As :meth:`Isend`; ends when the message has been received."""
        return self._isend(buf, dest, tag, True)

    def Ibsend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        """As :meth:`Bsend`; return a request that has ended."""
        self.Bsend(buf, dest, tag)
        return Request()

    def Irsend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        """As :meth:`Isend`."""
        return self._isend(buf, dest, tag)

    @_core.plain_call
    def Irecv(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Request:
        """Begin to receive into ``buf``; return the request. Do not use the buffer until the request has ended."""
        origin = source_and_tag(source, tag)
        return self._begin_receive(message_of(buf, source, writable=True), origin)

    @_core.plain_call
    def Probe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> bool:
        """Wait for a message without receiving it. Return True."""
        check_status(status)
        told = self._whole.probe(*source_and_tag(source, tag))
        if status is not None:
            status._tell(*told)
        return True

    @_core.plain_call
    def Iprobe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> bool:
        """Return whether a message has come, without receiving it."""
        check_status(status)
        told = self._whole.probe_now(*source_and_tag(source, tag))
        if told is not None and status is not None:
            status._tell(*told)
        return told is not None

    # Buffers, again and again.

    def _prepare_message(
        self, begin: Any, buf: Any, peer: int, tag: int, *, sends: bool, synchronous: bool = False
    ) -> Any:
        """What a persistent request begins: ``begin(buf, peer, tag)`` if the buffer is packed each time."""
        core = self._whole
        message = message_of(buf, peer, writable=not sends)
        where = dest_and_tag(peer, tag) if sends else source_and_tag(peer, tag)
        prepared = core.persistent_message(
            sends,
            message.address,
            message.nbytes,
            *where,
            message.type_number,
            synchronous,
            message.memory,
        )
        return prepared if message.packed is None else partial(begin, buf, peer, tag)

    def Send_init(self, buf: Any, dest: int, tag: int = 0) -> Prequest:
        """A request that begins :meth:`Isend` each time it is started."""
        return Prequest._to_begin(self._prepare_message(self.Isend, buf, dest, tag, sends=True))

    def Ssend_init(self, buf: Any, dest: int, tag: int = 0) -> Prequest:
        """A request that begins :meth:`Issend` each time it is started."""
        return Prequest._to_begin(
            self._prepare_message(self.Issend, buf, dest, tag, sends=True, synchronous=True)
        )

    def Bsend_init(self, buf: Any, dest: int, tag: int = 0) -> Prequest:
        """A request that begins :meth:`Ibsend` each time it is started."""
        self._prepare_message(self.Ibsend, buf, dest, tag, sends=True)  # for its checks
        return Prequest._to_begin(partial(self.Ibsend, buf, dest, tag))

    def Rsend_init(self, buf: Any, dest: int, tag: int = 0) -> Prequest:
        """A request that begins :meth:`Irsend` each time it is started."""
        return Prequest._to_begin(self._prepare_message(self.Irsend, buf, dest, tag, sends=True))

    def Recv_init(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Prequest:
        """A request that begins :meth:`Irecv` each time it is started."""
        return Prequest._to_begin(self._prepare_message(self.Irecv, buf, source, tag, sends=False))

    # Objects.

    @_core.plain_call
    def send(self, obj: Any, dest: int, tag: int = 0) -> None:
        """Send an object to rank ``dest``. Not collective."""
        self._whole.send_object(obj, *dest_and_tag(dest, tag))

    def ssend(self, obj: Any, dest: int, tag: int = 0) -> None:
        """As :meth:`send`; returns when the object has been received."""
        self._whole.send_object(obj, *dest_and_tag(dest, tag), True)

    def bsend(self, obj: Any, dest: int, tag: int = 0) -> None:
        """As :meth:`send`, but never waits for the receiver."""
        self._whole.begin_send_object(obj, *dest_and_tag(dest, tag))

    @_core.plain_call
    def recv(
        self,
        buf: Any = None,
        source: int = ANY_SOURCE,
        tag: int = ANY_TAG,
        status: Status | None = None,
    ) -> Any:
        """Receive and return an object. ``buf`` is accepted for mpi4py's programs and not used."""
        if buf is not None:
            check_room(buf)
            warnings.warn("recv: buf is not used", stacklevel=2)
        check_status(status)
        found, *told = self._whole.receive_object(*source_and_tag(source, tag))
        if status is not None:
            status._tell(*told)
        return found

    def sendrecv(
        self,
        sendobj: Any,
        dest: int,
        sendtag: int = 0,
        recvbuf: Any = None,
        source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG,
        status: Status | None = None,
    ) -> Any:
        """Send one object and receive another, in whichever order the others do."""
        check_status(status)
        sent = self.isend(sendobj, dest, sendtag)
        found = self.recv(None, source, recvtag, status)
        sent.wait()
        return found

    @_core.plain_call
    def isend(self, obj: Any, dest: int, tag: int = 0) -> Request:
        """Begin to send an object; return the request."""
        core = self._whole
        return Request._of(core.begin_send_object(obj, *dest_and_tag(dest, tag)))

    def issend(self, obj: Any, dest: int, tag: int = 0) -> Request:
        """As :meth:`isend`; ends when the object has been received."""
        core = self._whole
        return Request._of(core.begin_send_object(obj, *dest_and_tag(dest, tag), True))

    def ibsend(self, obj: Any, dest: int, tag: int = 0) -> Request:
        """As :meth:`bsend`; return a request that has ended."""
        self.bsend(obj, dest, tag)
        return Request()

    @_core.plain_call
    def irecv(self, buf: Any = None, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Request:
        """Begin to receive an object; return the request, whose :meth:`Request.wait` returns it."""
        check_room(buf)
        core = self._whole
        return Request._of(core.begin_receive_object(*source_and_tag(source, tag)))

    def probe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> bool:
        """As :meth:`Probe`."""
        return self.Probe(source, tag, status)

    def iprobe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> bool:
        """As :meth:`Iprobe`."""
        return self.Iprobe(source, tag, status)


def dest_and_tag(dest: Any, tag: Any) -> tuple[int, int]:
    """Where a message goes, as the core takes it."""
    return rank_or_tag("dest", dest), rank_or_tag("tag", tag)


def source_and_tag(source: Any, tag: Any) -> tuple[int, int]:
    """Which messages a receive takes, as the core takes it."""
    return rank_or_tag("source", source), rank_or_tag("tag", tag)


def message_of(buf: Any, other: Any, argument: str = "buf", *, writable: bool) -> Message:
    """Describe what a buffer holds. None is an empty one where the ``other`` rank is ``PROC_NULL``."""
    nothing = buf is None and other == PROC_NULL
    return block([None, 0, "B"] if nothing else buf, argument, writable=writable)


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
    refuse_overlap(span(sending), span(receiving), other)
    # What went through a packed copy goes back into the whole array.
    back = receiving.packed
    if back is not None and sending.memory is not None and np.shares_memory(sending.memory, back):
        raise ArgumentError("recvbuf", "memory that overlaps sendbuf", f"memory of its own, or {other}")


def message_bytes(message: Message) -> bytes:
    """A copy of what a message holds."""
    import ctypes

    return ctypes.string_at(message.address, message.nbytes) if message.nbytes else b""
