"""Matched probes: messages that a probe keeps for one receive, and the probes as methods of :class:`~phicoll.Comm`."""

from __future__ import annotations

from typing import Any

from phicoll.comm.messages import PROC_NULL, message_of, source_and_tag
from phicoll.comm.not_offered import Handle
from phicoll.comm.requests import ANY_SOURCE, ANY_TAG, Request, Status, check_status
from phicoll.errors import ArgumentError

__all__ = ["MESSAGE_NO_PROC", "MESSAGE_NULL", "MatchedProbes", "Message"]


class FromNoRank:
    """A receive from no rank, which has ended."""

    sends = cancelled = False
    done = True
    source, tag, nbytes = PROC_NULL, ANY_TAG, 0

    def wait(self) -> None:
        """It has ended."""

    def test(self) -> bool:
        """It has ended."""
        return True

    def object(self) -> None:
        """No object came."""

    def cancel(self) -> bool:
        """It has ended."""
        return False


class Message(Handle):
    """A message that a matched probe found: no other receive or probe finds it. It is null once it is received.

    ``recv`` and ``irecv`` receive an object, ``Recv`` and ``Irecv`` data.
    """

    __slots__ = ("_core", "_held")

    def __init__(self, message: Message | None = None) -> None:
        self._checked(message)
        self._core: Any = None if message is None else message._core
        self._held: Any = None if message is None else message._held  # PROC_NULL for no rank's

    @classmethod
    def _of(cls, core: Any, held: Any) -> Message:
        self = cls()
        self._core, self._held = core, held
        return self

    def __bool__(self) -> bool:
        return self._held is not None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Message) and self._held is other._held

    def __hash__(self) -> int:
        return hash(id(self._held))

    def __repr__(self) -> str:
        if not self:
            return "phicoll.MESSAGE_NULL"
        if self._held is PROC_NULL:
            return "phicoll.MESSAGE_NO_PROC"
        return f"<phicoll.Message from rank {self._held.source}, tag {self._held.tag}, {self._held.nbytes} bytes>"

    def __reduce__(self) -> Any:
        for name, constant in CONSTANTS.items():
            if self is constant:
                return name
            if self == constant:
                return Message, (constant,)
        raise ValueError("a message belongs to its rank and cannot be pickled")

    def _take(self) -> Any:
        """What it holds. From then on it is null, unless it is a constant."""
        held = self._held
        if held is None:
            raise ArgumentError("message", "MESSAGE_NULL", "one that a probe found and no receive took")
        if self is not MESSAGE_NO_PROC:
            self._held = None
        return held

    def Irecv(self, buf: Any) -> Request:
        """Begin to receive it into ``buf``; return the request."""
        message = message_of(buf, PROC_NULL if self._held is PROC_NULL else None, writable=True)
        held = self._take()
        if held is PROC_NULL:
            return from_no_rank()
        transfer = self._core.begin_receive_held(
            held, message.address, message.nbytes, message.type_number, message.memory
        )
        return Request._of(transfer, message)

    def Recv(self, buf: Any, status: Status | None = None) -> None:
        """Receive it into ``buf``."""
        check_status(status)
        self.Irecv(buf).Wait(status)

    def irecv(self) -> Request:
        """Begin to receive the object; return the request."""
        held = self._take()
        if held is PROC_NULL:
            return from_no_rank()
        return Request._of(self._core.begin_receive_held_object(held))

    def recv(self, status: Status | None = None) -> Any:
        """Receive and return the object."""
        check_status(status)
        return self.irecv().wait(status)

    @classmethod
    def Probe(
        cls, comm: MatchedProbes, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None
    ) -> Message:
        """As ``comm.Mprobe``."""
        return comm.Mprobe(source, tag, status)

    @classmethod
    def Iprobe(
        cls, comm: MatchedProbes, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None
    ) -> Message | None:
        """As ``comm.Improbe``."""
        return comm.Improbe(source, tag, status)

    probe, iprobe = Probe, Iprobe


def from_no_rank() -> Request:
    return Request._of(FromNoRank())


MESSAGE_NULL = Message()
MESSAGE_NO_PROC = Message._of(None, PROC_NULL)
CONSTANTS = {"MESSAGE_NULL": MESSAGE_NULL, "MESSAGE_NO_PROC": MESSAGE_NO_PROC}


class MatchedProbes:
    """The methods of :class:`~phicoll.Comm` that find a message and keep it for one receive. Not collective."""

    @property
    def _whole(self) -> Any:
        raise NotImplementedError

    def _held(self, held: Any, status: Status | None) -> Message:
        if status is not None:
            status._tell(held.source, held.tag, held.nbytes)
        return Message(MESSAGE_NO_PROC) if held.source == PROC_NULL else Message._of(self._whole, held)

    def Mprobe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> Message:
        """Wait for a message and return it, to be received by its own methods alone."""
        check_status(status)
        return self._held(self._whole.hold(*source_and_tag(source, tag)), status)

    def Improbe(
        self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None
    ) -> Message | None:
        """Return a message that has come as :meth:`Mprobe` does, or None."""
        check_status(status)
        held = self._whole.hold_now(*source_and_tag(source, tag))
        return None if held is None else self._held(held, status)

    def mprobe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> Message:
        """As :meth:`Mprobe`."""
        return self.Mprobe(source, tag, status)

    def improbe(
        self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None
    ) -> Message | None:
        """As :meth:`Improbe`."""
        return self.Improbe(source, tag, status)
