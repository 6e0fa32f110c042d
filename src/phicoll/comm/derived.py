"""Communicators that are made from others: the methods of :class:`~phicoll.Comm` that make, compare and name them."""

from __future__ import annotations

import contextlib
import os
import threading
from typing import TYPE_CHECKING, Any

from phicoll.comm.errhandlers import HasErrhandler
from phicoll.comm.groups import CONGRUENT, IDENT, SIMILAR, UNEQUAL, Group
from phicoll.comm.info import Info
from phicoll.comm.mpi_ranks import leave
from phicoll.comm.numbers import rank_or_tag, signed, whole_count
from phicoll.comm.requests import UNDEFINED, Request
from phicoll.errors import ArgumentError, Error
from phicoll.foundations.streams import flush_output

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "APPNUM",
    "COMM_TYPE_SHARED",
    "HOST",
    "IO",
    "KEYVAL_INVALID",
    "LASTUSEDCODE",
    "TAG_UB",
    "UNIVERSE_SIZE",
    "WTIME_IS_GLOBAL",
    "Derived",
    "checked_comm",
    "checked_info",
    "checked_name",
]

COMM_TYPE_SHARED = 1  # a kind of Split_type
# Keys of Get_attr. Only the first two have values.
TAG_UB, WTIME_IS_GLOBAL, HOST, IO, APPNUM, UNIVERSE_SIZE, LASTUSEDCODE = range(7)
KEYVAL_INVALID = -1


class Derived(HasErrhandler):
    """The methods of :class:`~phicoll.Comm` that make, compare and name communicators."""

    _core: Any
    _name: str | None = None
    _attached: Any = None

    @property
    def _whole(self) -> Any:
        raise NotImplementedError

    def _alone(self) -> Any:
        raise NotImplementedError

    @classmethod
    def _made(cls, core: Any) -> Self:
        """A communicator, or COMM_NULL if ``core`` is None."""
        raise NotImplementedError

    def Split(self, color: int = 0, key: int = 0, *, memory_limit: int = 0) -> Self:
        """Return a new communicator of the ranks with the same ``color``, ordered by ``key``, then by rank.

        Parameters
        ----------
        color:
            A number from 0, or ``UNDEFINED``: this rank joins none and gets ``COMM_NULL``.
        key:
            Sorts the ranks of the new communicator.
        memory_limit:
            Bytes of the group's heap that its collectives may take, allocated as they are used. 0 means up to 32 MB, up
            to 4 MB once such communicators have half of the heap, and then less and less, so that two ranks may hold
            several thousand; less if there are many parts, and for a rank alone.

        Raises
        ------
        ResourceError
            The heap has no room for it; the group is unchanged.
        """
        core = self._whole
        with self._alone():
            color = -1 if color == UNDEFINED else whole_count(color, "color")
            key = signed("key", key)
            memory_limit = whole_count(memory_limit, "memory_limit")
        return self._made(core.split(color, key, memory_limit))

    def Split_type(self, split_type: int = COMM_TYPE_SHARED, key: int = 0, info: Any = None) -> Self:
        """Return a new communicator of all ranks, as all share memory; ``UNDEFINED`` as in :meth:`Split`."""
        checked_info(info)
        if split_type not in (COMM_TYPE_SHARED, UNDEFINED):
            raise ArgumentError("split_type", repr(split_type), "COMM_TYPE_SHARED or UNDEFINED")
        return self.Split(UNDEFINED if split_type == UNDEFINED else 0, key)

    def Dup(self, info: Any = None, *, memory_limit: int = 0) -> Self:
        """Return a new communicator of the same ranks; calls on the two are independent. Raises as :meth:`Split`.

        ``info`` is accepted for mpi4py's programs and not used.
        """
        with self._alone():
            checked_info(info)
            memory_limit = whole_count(memory_limit, "memory_limit")
        return self._made(self._whole.dup(memory_limit))

    def Clone(self) -> Self:
        """As :meth:`Dup`."""
        return self.Dup()

    def Dup_with_info(self, info: Any) -> Self:
        """As :meth:`Dup`."""
        return self.Dup(info)

    def Idup(self, info: Any = None) -> tuple[Self, Request]:
        """As :meth:`Dup`: it waits for the other ranks and returns a null request beside the communicator."""
        return self.Dup(info), Request()

    Idup_with_info = Idup

    def Create(self, group: Group) -> Self:
        """Return a new communicator of a group's ranks, ``COMM_NULL`` on others. All ranks of this one must call it."""
        place = checked_group(group).rank
        return self.Split(UNDEFINED if place == UNDEFINED else 0, max(place, 0))

    def Create_group(self, group: Group, tag: int = 0, *, memory_limit: int = 0) -> Self:
        """Return a new communicator of a group's ranks, which all call it with the same group and tag.

        Other ranks get ``COMM_NULL``, without waiting, as with MPICH and Open MPI. ``memory_limit`` is that of
        :meth:`Split`.
        """
        core = self._whole
        places = checked_group(group).Translate_ranks(None, self.Get_group())
        if UNDEFINED in places:
            raise ArgumentError("group", repr(group), "ranks of this communicator")
        tag = rank_or_tag("tag", tag)
        return self._made(core.create_group(places, tag, memory_limit) if core.rank in places else None)

    def Free(self) -> None:
        """Release the memory of a communicator that was made from another; it cannot be used again.

        For a communicator of :meth:`from_mpi`, this also ends all communicators made from it.
        """
        if not leave(self._whole):
            self._whole.free()

    def free(self) -> None:
        """As :meth:`Free`, but without an error for ``COMM_NULL`` and those that were not made from another."""
        if self:
            with contextlib.suppress(ArgumentError):
                self.Free()

    def Disconnect(self) -> None:
        """As :meth:`Free`."""
        self.Free()

    # What it is. Not collective.

    def Get_group(self) -> Group:
        """The ranks, as a group."""
        members = self._whole.members
        return Group.of(members, members[self._core.rank])

    @property
    def group(self) -> Group:
        """The ranks, as a group."""
        return self.Get_group()

    def Compare(self, comm: Derived) -> int:
        """``IDENT`` (the same), ``CONGRUENT`` (the same ranks), ``SIMILAR`` (in another order) or ``UNEQUAL``."""
        if self == checked_comm(comm):
            return IDENT
        found = self.Get_group().Compare(comm.Get_group())
        return {IDENT: CONGRUENT, SIMILAR: SIMILAR}.get(found, UNEQUAL)

    def _identity(self) -> Any:
        """The core; None for no communicator, such as one that was freed."""
        return None if self._core is None or self._core.closed else self._core

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Derived) and self._identity() is other._identity()

    def __hash__(self) -> int:
        return hash(id(self._identity()))

    def __bool__(self) -> bool:
        return self._identity() is not None

    def Get_name(self) -> str:
        """Its name, by default what ``repr`` shows."""
        if self._core is None:
            return "MPI_COMM_NULL"
        return self._name if self._name is not None else repr(self).removeprefix("phicoll.").strip("<>")

    def Set_name(self, name: str) -> None:
        """Give it a name, on this rank alone."""
        self._name = checked_name(name)

    @property
    def name(self) -> str:
        """Its name."""
        return self.Get_name()

    @name.setter
    def name(self, name: str) -> None:
        self.Set_name(name)

    def Get_info(self) -> Info:
        """A new Info without keys."""
        return Info.Create()

    def Set_info(self, info: Info | None) -> None:
        """Accepted for mpi4py's programs and not used."""
        checked_info(info)

    def Is_inter(self) -> bool:
        """False: all communicators have one group."""
        return False

    def Is_intra(self) -> bool:
        """True: all communicators have one group."""
        return True

    @property
    def is_inter(self) -> bool:
        """False: all communicators have one group."""
        return False

    @property
    def is_intra(self) -> bool:
        """True: all communicators have one group."""
        return True

    def Get_topology(self) -> int:
        """``UNDEFINED``: communicators have no topology."""
        return UNDEFINED

    @property
    def is_topo(self) -> bool:
        """False: communicators have no topology."""
        return False

    topology = property(Get_topology)
    info = property(Get_info, Set_info)

    def Get_attr(self, keyval: int) -> Any:
        """The largest tag for ``TAG_UB``, True for ``WTIME_IS_GLOBAL``, else None."""
        return {TAG_UB: 2**31 - 1, WTIME_IS_GLOBAL: True}.get(keyval)

    # Memory for Bsend, which takes its own.

    def Attach_buffer(self, buf: Any) -> None:
        """Keep ``buf`` for :meth:`Detach_buffer`, without using it: :meth:`Bsend` takes memory of its own."""
        self._attached = buf

    def Detach_buffer(self) -> Any:
        """Return what :meth:`Attach_buffer` was given."""
        attached, self._attached = self._attached, None
        return attached

    def Flush_buffer(self) -> None:
        """Does nothing: what :meth:`Bsend` sends was copied, and goes on by itself."""

    def Iflush_buffer(self) -> Request:
        """As :meth:`Flush_buffer`; return a request that has ended."""
        return Request()

    def Abort(self, errorcode: int = 1) -> None:
        """End this rank with exit code ``errorcode`` and give all others an error.

        A rank that is a thread cannot be ended; there the call raises.

        Raises
        ------
        Error
            The rank is a thread.
        """
        code = signed("errorcode", errorcode)
        self._whole.fail(f"called Abort({code})")
        if threading.current_thread() is not threading.main_thread():
            raise Error(f"Abort({code})")
        flush_output()
        os._exit(code & 0xFF)


def checked_comm(comm: Any) -> Any:
    """Raise a TypeError if it is not a communicator."""
    if not isinstance(comm, Derived):
        raise TypeError(f"comm: got {comm!r}; allowed: a communicator")
    return comm


def checked_info(info: Any) -> Info | None:
    """Raise a TypeError if it is neither an Info nor None."""
    if info is not None and not isinstance(info, Info):
        raise TypeError(f"info: got {info!r}; allowed: an Info or None")
    return info


def checked_name(name: Any) -> str:
    """Raise a TypeError if it is not a text."""
    if not isinstance(name, (str, bytes)):
        raise TypeError(f"name: got {name!r}; allowed: a text")
    return name if isinstance(name, str) else name.decode()


def checked_group(group: Group) -> Group:
    if not isinstance(group, Group):
        raise ArgumentError("group", repr(group), "a Group: comm.Get_group() and what is made from it")
    return group
