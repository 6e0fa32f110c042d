"""Requests, by which calls under way are waited for, and statuses of received messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import phicoll._core as _core
from phicoll.comm.buffers import Message
from phicoll.comm.datatypes import DATATYPES, dtype_of
from phicoll.comm.not_offered import Handle, Refused
from phicoll.errors import ArgumentError

__all__ = ["ANY_SOURCE", "ANY_TAG", "REQUEST_NULL", "UNDEFINED", "Grequest", "Prequest", "Request", "Status"]

ANY_SOURCE: int = _core.any_source
ANY_TAG: int = _core.any_tag
UNDEFINED = -32766
BYTE = DATATYPES["BYTE"]
# What to use in place of names of mpi4py's that are not offered.
WHOLE_MESSAGES = "messages are not sent in parts; Isend several"
OWN_REQUESTS = "a request is a call of phicoll's; concurrent.futures.Future is one of your own"


class Status(Handle):
    """What a receive or probe learned about its message.

    Attributes
    ----------
    source, tag:
        Its sender and tag; ``ANY_SOURCE`` and ``ANY_TAG`` if there is no message.
    nbytes:
        Its size in bytes.
    cancelled:
        Whether the receive was taken back.
    error:
        Always 0: errors are exceptions.
    """

    __slots__ = ("cancelled", "error", "nbytes", "source", "tag")

    tomemory = Refused("a status is an object of Python's; its attributes may be set")

    def __init__(self, status: Status | None = None) -> None:
        check_status(status)
        self.source = ANY_SOURCE if status is None else status.source
        self.tag = ANY_TAG if status is None else status.tag
        self.nbytes = 0 if status is None else status.nbytes
        self.cancelled = False if status is None else status.cancelled
        self.error = 0 if status is None else status.error

    def __repr__(self) -> str:
        return f"<phicoll.Status source {self.source}, tag {self.tag}, {self.nbytes} bytes>"

    @property
    def count(self) -> int:
        """Its size in bytes."""
        return self.nbytes

    @count.setter
    def count(self, count: int) -> None:
        self.nbytes = count

    def Get_source(self) -> int:
        """The rank that sent it."""
        return self.source

    def Set_source(self, source: int) -> None:
        """Set the rank that sent it."""
        self.source = source

    def Get_tag(self) -> int:
        """Its tag."""
        return self.tag

    def Set_tag(self, tag: int) -> None:
        """Set its tag."""
        self.tag = tag

    def Get_error(self) -> int:
        """0: errors are exceptions."""
        return self.error

    def Set_error(self, error: int) -> None:
        """Set the error."""
        self.error = error

    def Get_count(self, datatype: Any = BYTE) -> int:
        """How many elements of a type it has; ``UNDEFINED`` if its size is not a multiple of theirs."""
        count, rest = divmod(self.nbytes, dtype_of(datatype, "datatype").itemsize)
        return UNDEFINED if rest else count

    def Get_elements(self, datatype: Any = BYTE) -> int:
        """As :meth:`Get_count`."""
        return self.Get_count(datatype)

    def Set_elements(self, datatype: Any, count: int) -> None:
        """Set its size to that of ``count`` elements of a type."""
        self.nbytes = count * dtype_of(datatype, "datatype").itemsize

    def Is_cancelled(self) -> bool:
        """Whether the receive was taken back."""
        return self.cancelled

    def Set_cancelled(self, flag: bool) -> None:
        """Set whether the receive was taken back."""
        self.cancelled = bool(flag)

    def _tell(self, source: int, tag: int, nbytes: int) -> None:
        self.source, self.tag, self.nbytes = source, tag, nbytes
        self.cancelled = False
        self.error = 0


class Request(_core.RequestObject, Handle):  # type: ignore[misc]
    """A send, receive or collective call under way. It is null once a wait or test has reported its end.

    Waits and tests of a null request return at once. A receive whose message does not fit is null after the error too.
    Calls for several requests take those of any communicators. Until it ends, leave a receive's buffer alone, and do
    not change a send's. A request that is dropped goes on, as after MPI's ``Request_free``.
    """

    __slots__ = ()

    def __init__(self, request: Request | None = None) -> None:
        if request is None:
            return
        if not isinstance(request, Request):
            raise TypeError(f"request: got {request!r}; allowed: a Request or None")
        self._become(request)

    def _become(self, request: Request) -> None:
        self._begun, self._deliver, self._is_object = request._begun, request._deliver, request._is_object

    @classmethod
    def _of(cls, transfer: Any, message: Message | None = None) -> Request:
        self = cls()
        self._begun = transfer
        self._is_object = message is None and not transfer.sends
        if message is not None and message.packed is not None and not transfer.sends:
            self._deliver = message.deliver
        return self

    def __bool__(self) -> bool:
        return self._begun is not None

    def _key(self) -> Any:
        return self._begun

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Request) and self._key() is other._key()

    def __hash__(self) -> int:
        return hash(id(self._key()))

    def __repr__(self) -> str:
        if self._begun is None:
            return "phicoll.REQUEST_NULL"
        sends = self._begun.sends
        what = "a collective call" if sends is None else "a send" if sends else "a receive"
        return f"<phicoll.Request, {what} under way>"

    def __reduce__(self) -> Any:
        if self is REQUEST_NULL:
            return "REQUEST_NULL"
        if self:
            raise ValueError("a request belongs to its rank and cannot be pickled")
        return Request, (REQUEST_NULL,)

    def _ended(self) -> bool:
        """Whether it has ended; if it was refused, it is null, and the error is raised."""
        begun = self._begun  # another thread may end it meanwhile
        try:
            return begun is None or begun.test()
        except ArgumentError:
            self._begun = None
            raise

    def _end(self, status: Status | None) -> Any:
        """Make the request null, and return the object if it received one."""
        begun, self._begun = self._begun, None
        if begun is None:
            if status is not None:
                status._tell(ANY_SOURCE, ANY_TAG, 0)
            return None
        tell(status, begun)
        if begun.sends is False and begun.cancelled:
            return None
        if self._deliver is not None:
            self._deliver()
        return begun.object() if self._is_object else None

    @_core.plain_call
    def wait(self, status: Status | None = None) -> Any:
        """Wait until it has ended; return the object received, or None."""
        check_status(status)
        if (begun := self._begun) is not None:
            try:
                begun.wait()
            except BaseException:
                self._begun = None
                raise
        return self._end(status)

    def test(self, status: Status | None = None) -> tuple[bool, Any]:
        """Return whether it has ended, and the object received, or None."""
        check_status(status)
        return (True, self._end(status)) if self._ended() else (False, None)

    @_core.plain_call
    def Wait(self, status: Status | None = None) -> bool:
        """Wait until it has ended. Return True."""
        Request.wait(self, status)  # a subclass may call this from a wait of its own
        return True

    @_core.plain_call
    def Test(self, status: Status | None = None) -> bool:
        """Return whether it has ended."""
        return Request.test(self, status)[0]

    def Get_status(self, status: Status | None = None) -> bool:
        """Return whether it has ended, without making it null."""
        check_status(status)
        if self._begun is None:
            if status is not None:
                status._tell(ANY_SOURCE, ANY_TAG, 0)
            return True
        done = self._ended()
        if done:
            tell(status, self._begun)
        return done

    get_status = Get_status

    def Free(self) -> None:
        """Drop the request; what it stands for goes on."""
        self._begun = None

    def Cancel(self) -> None:
        """Withdraw a receive that no message has matched, which ends it.

        A send goes on, without an error: as with Open MPI its status is not cancelled, and it still waits for its
        receive. MPI has deprecated withdrawing sends.

        Raises
        ------
        ArgumentError
            It is a collective call.
        """
        if self._begun is None:
            return
        sends = self._begun.sends
        if sends is None:
            raise ArgumentError(
                "request", "a collective call", "a receive: other ranks are in the call already"
            )
        if not sends:
            self._begun.cancel()

    cancel = Cancel

    # Several.

    @classmethod
    @_core.plain_call
    def waitall(cls, requests: Sequence[Request], statuses: list[Status] | None = None) -> list[Any]:
        """Wait for all of them; return a list of the objects received, with None for every other request."""
        check_several(requests, statuses)
        return wait_for_each(requests, statuses)

    @classmethod
    @_core.plain_call
    def Waitall(cls, requests: Sequence[Request], statuses: list[Status] | None = None) -> bool:
        """Wait for all of them. Return True."""
        cls.waitall(requests, statuses)
        return True

    @classmethod
    def testall(
        cls, requests: Sequence[Request], statuses: list[Status] | None = None
    ) -> tuple[bool, list[Any] | None]:
        """Return whether all have ended and, if so, the objects received."""
        check_several(requests, statuses)
        ended = [request._ended() for request in requests]  # each goes on
        return (True, wait_for_each(requests, statuses)) if all(ended) else (False, None)

    @classmethod
    @_core.plain_call
    def Testall(cls, requests: Sequence[Request], statuses: list[Status] | None = None) -> bool:
        """Return whether all have ended."""
        return cls.testall(requests, statuses)[0]

    @classmethod
    def Get_status_all(cls, requests: Sequence[Request], statuses: list[Status] | None = None) -> bool:
        """Return whether all have ended, without making them null."""
        check_several(requests, statuses)
        told = for_each(requests, statuses)
        ended = [request.Get_status(status) for request, status in zip(requests, told, strict=True)]
        return all(ended)

    get_status_all = Get_status_all

    @classmethod
    def Get_status_any(cls, requests: Sequence[Request], status: Status | None = None) -> tuple[int, bool]:
        """As :meth:`Testany`, without making the request null."""
        check_requests(requests)
        check_status(status)
        active = active_of(requests)
        for place in active:
            if requests[place].Get_status(status):
                return place, True
        if not active:
            REQUEST_NULL.Get_status(status)
        return UNDEFINED, not active

    get_status_any = Get_status_any

    @classmethod
    def Get_status_some(
        cls, requests: Sequence[Request], statuses: list[Status] | None = None
    ) -> list[int] | None:
        """As :meth:`Testsome`, without making the requests null."""
        check_several(requests, statuses)
        active = active_of(requests)
        if not active:
            return None
        told = for_each(requests, statuses)
        places = [place for place in active if requests[place]._ended()]
        for place, status in zip(places, told, strict=False):
            requests[place].Get_status(status)
        if isinstance(statuses, list):
            del statuses[len(places) :]
        return places

    get_status_some = Get_status_some

    @classmethod
    def waitany(cls, requests: Sequence[Request], status: Status | None = None) -> tuple[int, Any]:
        """Wait until one has ended; return its index and the object received. ``UNDEFINED`` if all are null."""
        check_requests(requests)
        check_status(status)
        active = active_of(requests)
        if not active:
            return UNDEFINED, REQUEST_NULL._end(status)
        place = first_ended(requests, active)
        return place, requests[place].wait(status)

    @classmethod
    @_core.plain_call
    def Waitany(cls, requests: Sequence[Request], status: Status | None = None) -> int:
        """Wait until one has ended; return its index, ``UNDEFINED`` if all are null."""
        return cls.waitany(requests, status)[0]

    @classmethod
    def testany(cls, requests: Sequence[Request], status: Status | None = None) -> tuple[int, bool, Any]:
        """Return the index of one that has ended, whether there is one or all are null, and the object received."""
        check_requests(requests)
        check_status(status)
        active = active_of(requests)
        for place in active:
            if requests[place]._ended():
                return place, True, requests[place]._end(status)
        return UNDEFINED, not active, None

    @classmethod
    def Testany(cls, requests: Sequence[Request], status: Status | None = None) -> tuple[int, bool]:
        """Return the index of one that has ended, and whether there is one or all are null."""
        place, found, _ = cls.testany(requests, status)
        return place, found

    @classmethod
    def waitsome(
        cls, requests: Sequence[Request], statuses: list[Status] | None = None
    ) -> tuple[list[int] | None, list[Any] | None]:
        """Wait until one has ended; return the indices of all that have, and the objects. None if all are null."""
        check_several(requests, statuses)
        active = active_of(requests)
        if not active:
            return None, None
        first_ended(requests, active)
        return end_those_done(requests, active, statuses)

    @classmethod
    def Waitsome(cls, requests: Sequence[Request], statuses: list[Status] | None = None) -> list[int] | None:
        """Wait until one has ended; return the indices of all that have. None if all are null."""
        return cls.waitsome(requests, statuses)[0]

    @classmethod
    def testsome(
        cls, requests: Sequence[Request], statuses: list[Status] | None = None
    ) -> tuple[list[int] | None, list[Any] | None]:
        """Return the indices of all that have ended, and the objects received. None if all are null."""
        check_several(requests, statuses)
        active = active_of(requests)
        if not active:
            return None, None
        ended = [requests[place]._ended() for place in active]  # each goes on
        return end_those_done(requests, active, statuses) if any(ended) else ([], [])

    @classmethod
    def Testsome(cls, requests: Sequence[Request], statuses: list[Status] | None = None) -> list[int] | None:
        """Return the indices of all that have ended. None if all are null."""
        return cls.testsome(requests, statuses)[0]


class Prequest(Request):
    """A call to be started again and again until :meth:`Free`. It is inactive once its end is reported."""

    __slots__ = ()

    Pready, Pready_range, Pready_list, Parrived = (Refused(WHOLE_MESSAGES) for _ in range(4))

    def __init__(self, request: Request | None = None) -> None:
        super().__init__(request)
        if request is not None:
            self._begin = request._begin

    @classmethod
    def _to_begin(cls, begin: Any) -> Prequest:
        self = cls()
        self._begin = begin
        return self

    def __bool__(self) -> bool:
        return self._begin is not None

    def __repr__(self) -> str:
        state = "freed" if not self else "inactive" if self._begun is None else "active"
        return f"<phicoll.Prequest, {state}>"

    def _key(self) -> Any:
        return self._begin

    def _check(self) -> None:
        if self._begun is not None:
            raise ArgumentError("request", "one that is active", "one that has ended")

    @_core.plain_call
    def Start(self) -> None:
        """Begin the call.

        Raises
        ------
        ArgumentError
            It is active, or was freed.
        """
        self._check()
        if self._begin is None:
            raise ArgumentError("request", "one that was freed", "one that was not")
        begin = self._begin  # the request may be freed meanwhile
        if isinstance(begin, _core.Begun):
            begin.start()
            self._begun = begin
            return
        if isinstance(begin, _core.PersistentMessage):
            self._begun = begin.begin()
            return
        self._become(begin())

    @classmethod
    @_core.plain_call
    def Startall(cls, requests: Sequence[Prequest]) -> None:
        """Begin all of them."""
        check_requests(requests, Prequest)
        for request in requests:
            request.Start()

    def Free(self) -> None:
        """Free the request; it cannot be started again.

        Raises
        ------
        ArgumentError
            It is active.
        """
        self._check()
        self._begin = None


class Grequest(Request):
    """The type of requests that a program completes by itself. There are none, so it only makes ``REQUEST_NULL``."""

    __slots__ = ()

    Start, Complete, complete = (Refused(OWN_REQUESTS) for _ in range(3))


REQUEST_NULL = Request()


def tell(status: Status | None, transfer: Any) -> None:
    """Fill in the status of a receive that has ended, if one is asked for."""
    if status is not None and transfer.sends is False:
        status._tell(transfer.source, transfer.tag, transfer.nbytes)
        status.cancelled = transfer.cancelled


def first_ended(requests: Sequence[Request], active: list[int]) -> int:
    """Wait until one of the active ones has ended; return its place."""
    for place in active:
        if requests[place]._begun.done:
            return place
    found: int = _core.wait_any([requests[place]._begun for place in active])
    return active[found]


def check_requests(requests: Sequence[Request], wanted: type[Request] = Request) -> None:
    """Raise a TypeError if one is not a request, before any of them makes progress."""
    try:
        numbered = list(enumerate(requests))
        len(requests)
    except TypeError:
        raise TypeError(f"requests: got {requests!r}; allowed: a list of {wanted.__name__} objects") from None
    for place, one in numbered:
        if not isinstance(one, wanted):
            raise TypeError(f"requests[{place}]: got {one!r}; allowed: a {wanted.__name__}")


def check_status(status: Status | None) -> None:
    """Raise a TypeError before the call waits if it is neither a Status nor None."""
    if status is not None and not isinstance(status, Status):
        raise TypeError(f"status: got {status!r}; allowed: a Status or None")


def check_statuses(statuses: list[Status] | None) -> None:
    """The same for the statuses of several requests."""
    try:
        numbered = list(enumerate(() if statuses is None else statuses))
    except TypeError:
        raise TypeError(f"statuses: got {statuses!r}; allowed: a list of Status objects or None") from None
    for place, status in numbered:
        if not isinstance(status, Status):
            raise TypeError(f"statuses[{place}]: got {status!r}; allowed: a Status")


def check_several(requests: Sequence[Request], statuses: list[Status] | None) -> None:
    """Raise a TypeError before the call waits if one of them is of another type."""
    check_requests(requests)
    check_statuses(statuses)


def active_of(requests: Sequence[Request]) -> list[int]:
    """The places of the requests that are not null."""
    return [place for place, request in enumerate(requests) if request._begun is not None]


def for_each(requests: Sequence[Request], statuses: list[Status] | None) -> Sequence[Status | None]:
    """A status or None for each request. Missing statuses are added to a list, as mpi4py does."""
    if isinstance(statuses, list):
        statuses.extend(Status() for _ in range(len(requests) - len(statuses)))
    return [*(statuses or ()), *[None] * len(requests)][: len(requests)]


def wait_for_each(requests: Sequence[Request], statuses: list[Status] | None) -> list[Any]:
    """The objects received, with None for every other request."""
    told = for_each(requests, statuses)
    return [request.wait(status) for request, status in zip(requests, told, strict=True)]


def end_those_done(
    requests: Sequence[Request], active: list[int], statuses: list[Status] | None
) -> tuple[list[int], list[Any]]:
    """The places of the active requests that have ended, and their objects. As many statuses are left in a list."""
    told = for_each(requests, statuses)
    places = [place for place in active if requests[place]._ended()]
    objects = [requests[place]._end(status) for place, status in zip(places, told, strict=False)]
    if isinstance(statuses, list):
        del statuses[len(places) :]
    return places, objects
