"""Messages between two ranks: the point-to-point methods of :class:`~phicoll.Comm`."""

# mypy: disable-error-code="empty-body"
# C++ makes the calls of methods without a body.

from __future__ import annotations

from functools import partial
from typing import Any

import phicoll._core as _core
from phicoll.comm.buffers import Message, block, refuse_shared
from phicoll.comm.numbers import rank_or_tag
from phicoll.comm.requests import ANY_SOURCE, ANY_TAG, Prequest, Request, Status, check_status

__all__ = ["PROC_NULL", "PointToPoint"]

PROC_NULL: int = _core.no_rank


class PointToPoint:
    """The methods of :class:`~phicoll.Comm` that move a message between two ranks."""

    _core: Any

    @property
    def _whole(self) -> Any:
        raise NotImplementedError

    # Buffers.

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

    @_core.plain_call
    def Ssend(self, buf: Any, dest: int, tag: int = 0) -> None:
        """As :meth:`Send`; returns when the message has been received."""

    def Bsend(self, buf: Any, dest: int, tag: int = 0) -> None:
        """As :meth:`Send`, but never waits for the receiver: the message is copied."""
        self._bsend(message_of(buf, dest, writable=False), dest, tag)

    def _bsend(self, message: Message, dest: int, tag: int) -> None:
        self.Isend([bytearray(message_bytes(message)), message.count, message.dtype], dest, tag).Free()

    @_core.plain_call
    def Rsend(self, buf: Any, dest: int, tag: int = 0) -> None:
        """As :meth:`Send`."""

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
        refuse_shared(sending, message_of(recvbuf, source, "recvbuf", writable=True))
        source_and_tag(source, recvtag)
        self._bsend(sending, dest, sendtag)
        return self.Irecv(recvbuf, source, recvtag)

    def Isendrecv_replace(
        self, buf: Any, dest: int, sendtag: int = 0, source: int = ANY_SOURCE, recvtag: int = ANY_TAG
    ) -> Request:
        """Begin what :meth:`Sendrecv_replace` does; return the request."""
        message_of(buf, source, writable=True)
        source_and_tag(source, recvtag)
        self._bsend(message_of(buf, dest, writable=False), dest, sendtag)
        return self.Irecv(buf, source, recvtag)

    @_core.plain_call
    def Isend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        """Begin to send ``buf``; return the request. Do not change the buffer until the request has ended."""

    @_core.plain_call
    def Issend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        """As :meth:`Isend`; ends when the message has been received."""

    def Ibsend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        """As :meth:`Bsend`; return a request that has ended."""
        self.Bsend(buf, dest, tag)
        return Request()

    @_core.plain_call
    def Irsend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        """As :meth:`Isend`."""

    @_core.plain_call
    def Irecv(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Request:
        """Begin to receive into ``buf``; return the request. Do not use the buffer until the request has ended."""

    @_core.plain_call
    def Probe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> bool:
        """Wait for a message without receiving it. Return True."""

    @_core.plain_call
    def Iprobe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> bool:
        """Return whether a message has come, without receiving it."""

    # Buffers, again and again.

    @_core.plain_call
    def Send_init(self, buf: Any, dest: int, tag: int = 0) -> Prequest:
        """A request that begins :meth:`Isend` each time it is started."""

    @_core.plain_call
    def Ssend_init(self, buf: Any, dest: int, tag: int = 0) -> Prequest:
        """A request that begins :meth:`Issend` each time it is started."""

    def Bsend_init(self, buf: Any, dest: int, tag: int = 0) -> Prequest:
        """A request that begins :meth:`Ibsend` each time it is started."""
        self.Send_init(buf, dest, tag)  # for its checks
        return Prequest._to_begin(partial(self.Ibsend, buf, dest, tag))

    @_core.plain_call
    def Rsend_init(self, buf: Any, dest: int, tag: int = 0) -> Prequest:
        """A request that begins :meth:`Irsend` each time it is started."""

    @_core.plain_call
    def Recv_init(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Prequest:
        """A request that begins :meth:`Irecv` each time it is started."""

    # Objects.

    @_core.plain_call
    def send(self, obj: Any, dest: int, tag: int = 0) -> None:
        """Send an object to rank ``dest``. Not collective."""

    @_core.plain_call
    def ssend(self, obj: Any, dest: int, tag: int = 0) -> None:
        """As :meth:`send`; returns when the object has been received."""

    def bsend(self, obj: Any, dest: int, tag: int = 0) -> None:
        """As :meth:`send`, but never waits for the receiver."""
        self.isend(obj, dest, tag)

    @_core.plain_call
    def recv(
        self,
        buf: Any = None,
        source: int = ANY_SOURCE,
        tag: int = ANY_TAG,
        status: Status | None = None,
    ) -> Any:
        """Receive and return an object. ``buf`` is accepted for mpi4py's programs and not used."""

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

    @_core.plain_call
    def issend(self, obj: Any, dest: int, tag: int = 0) -> Request:
        """As :meth:`isend`; ends when the object has been received."""

    def ibsend(self, obj: Any, dest: int, tag: int = 0) -> Request:
        """As :meth:`bsend`; return a request that has ended."""
        self.bsend(obj, dest, tag)
        return Request()

    @_core.plain_call
    def irecv(self, buf: Any = None, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Request:
        """Begin to receive an object; return the request, whose :meth:`Request.wait` returns it."""

    def probe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> bool:
        """As :meth:`Probe`."""
        return self.Probe(source, tag, status)

    def iprobe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> bool:
        """As :meth:`Iprobe`."""
        return self.Iprobe(source, tag, status)


def source_and_tag(source: Any, tag: Any) -> tuple[int, int]:
    """Which messages a receive takes, as the core takes it."""
    return rank_or_tag("source", source), rank_or_tag("tag", tag)


def message_of(buf: Any, other: Any, argument: str = "buf", *, writable: bool) -> Message:
    """Describe what a buffer holds. None is an empty one where the ``other`` rank is ``PROC_NULL``."""
    nothing = buf is None and other == PROC_NULL
    return block([None, 0, "B"] if nothing else buf, argument, writable=writable)


def message_bytes(message: Message) -> bytes:
    """A copy of what a message holds."""
    import ctypes

    return ctypes.string_at(message.address, message.nbytes) if message.nbytes else b""
