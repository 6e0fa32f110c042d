"""Shared windows: memory of the group's heap in which each rank has a segment that all ranks reach."""

from __future__ import annotations

import time
from typing import Any

import phicoll._core as _core
from phicoll.comm.communicator import Comm
from phicoll.comm.derived import checked_comm, checked_info, checked_name
from phicoll.comm.errhandlers import HasErrhandler
from phicoll.comm.groups import Group
from phicoll.comm.info import Info
from phicoll.comm.messages import PROC_NULL
from phicoll.comm.not_offered import refuse
from phicoll.comm.numbers import rank_or_tag, whole_count
from phicoll.comm.worlds import COMM_SELF
from phicoll.errors import ArgumentError, Error, ResourceError

__all__ = [
    "LOCK_EXCLUSIVE",
    "LOCK_SHARED",
    "WIN_BASE",
    "WIN_CREATE_FLAVOR",
    "WIN_DISP_UNIT",
    "WIN_FLAVOR",
    "WIN_FLAVOR_ALLOCATE",
    "WIN_FLAVOR_CREATE",
    "WIN_FLAVOR_DYNAMIC",
    "WIN_FLAVOR_SHARED",
    "WIN_MODEL",
    "WIN_NULL",
    "WIN_SEPARATE",
    "WIN_SIZE",
    "WIN_UNIFIED",
    "Win",
]

LOCK_EXCLUSIVE, LOCK_SHARED = 1, 2
WIN_BASE, WIN_SIZE, WIN_DISP_UNIT, WIN_CREATE_FLAVOR, WIN_MODEL = range(1, 6)  # keys of Get_attr
WIN_FLAVOR = WIN_CREATE_FLAVOR
# What a window's flavor and model are compared with; all here are shared and unified.
WIN_FLAVOR_CREATE, WIN_FLAVOR_ALLOCATE, WIN_FLAVOR_DYNAMIC, WIN_FLAVOR_SHARED = range(1, 5)
WIN_SEPARATE, WIN_UNIFIED = 1, 2

LINE = 128  # bytes from one rank's lock to the next, and the alignment of what follows them
PART_MEMORY = 16 << 10  # bytes a rank for the window's own barriers, and for telling its sizes


# The beginnings of names of mpi4py's that are not offered, and what to use.
OTHER_WINDOWS = "windows are shared memory; Allocate_shared makes one"
AS_ARRAYS = "a segment is read and written as an array; np.frombuffer(win.Shared_query(rank)[0]) is one"
BY_LOCKS = "Fence, or Lock and Unlock, order accesses"
NOT_OFFERED = {
    **dict.fromkeys(("Create_errhandler", "Call_errhandler"), "errors are exceptions"),
    **dict.fromkeys(
        ("Create_keyval", "Free_keyval", "Set_attr", "Delete_attr"),
        "windows have MPI's own attributes; a dict may have them as keys",
    ),
    **dict.fromkeys(("Create", "Allocate", "Attach", "Detach"), OTHER_WINDOWS),
    **dict.fromkeys(("Put", "Rput", "Get", "Rget", "Accumulate", "Raccumulate"), AS_ARRAYS),
    **dict.fromkeys(("Fetch_and_op", "Compare_and_swap"), f"{AS_ARRAYS}, under a Lock"),
    **dict.fromkeys(("Post", "Start", "Complete", "Wait", "Test"), BY_LOCKS),
}


def zeros_at(core: Any, nbytes: int) -> int:
    place: int = core.allocate_shared(nbytes)
    core.view_shared(place, nbytes)[:] = 0
    return place


class Win(HasErrhandler):
    """A window of shared memory. Its segments lie one after the other, in the order of ranks.

    Ranks read and write it as arrays. ``Fence``, ``Lock`` and ``Sync`` order their accesses.
    """

    _instead = NOT_OFFERED

    def __new__(cls, win: Win | None = None) -> Win:  # for subclasses that give it the window, as mpi4py's do
        return object.__new__(cls)

    def __init__(self, win: Win | None = None) -> None:
        self._checked(win)
        self._comm: Comm | None = None
        if win is not None:
            self.__dict__.update(win.__dict__)

    @classmethod
    def Allocate_shared(
        cls, size: int, disp_unit: int = 1, info: Info | None = None, comm: Comm = COMM_SELF
    ) -> Win:
        """Make a window. Collective.

        Parameters
        ----------
        size:
            Bytes of this rank's segment, which are zero at first.
        disp_unit:
            What :meth:`Shared_query` returns beside a segment, such as the bytes of its elements.
        info:
            Not used.
        comm:
            The ranks.

        Raises
        ------
        ResourceError
            The group's heap has no room for it; all ranks raise it, and the group stays whole.
        """
        whole = checked_comm(comm)
        own = whole.Dup(checked_info(info), memory_limit=PART_MEMORY * max(2, min(whole.size, 64)))
        core = own._whole
        with own._alone():
            mine = whole_count(size, "size"), whole_count(disp_unit, "disp_unit")
        told = own.allgather(mine)
        self = cls()
        self._sizes = [size for size, _ in told]
        self._units = [unit for _, unit in told]
        data = LINE * core.size
        nbytes = data + sum(self._sizes)
        try:
            # Not an array of rank 0's, which it would give back when it drops it, while others use the window.
            self._place = own._by_first(lambda: zeros_at(core, nbytes))
        except ResourceError:
            own.Free()
            raise
        self._memory = core.view_shared(self._place, nbytes)
        self._begins = [data + sum(self._sizes[:rank]) for rank in range(core.size)]
        self._locked: set[int] = set()  # the segments that this rank has locked
        self._comm = own
        return self

    def __getattr__(self, name: str) -> Any:
        refuse(type(self), name, NOT_OFFERED)

    @property
    def _own(self) -> Comm:
        if self._comm is None:
            raise Error("WIN_NULL: no window; allowed: one that Allocate_shared made and Free did not end")
        return self._comm

    def Free(self) -> None:
        """End the window; its memory must not be used any more. Collective."""
        for place in [*self._locked]:
            self.Unlock(place)  # before its word is given back
        self._own.Barrier()
        if self._own.rank == 0:
            self._own._whole.release_shared(self._place)
        self._own.Free()
        self.__dict__.clear()
        self._comm = None

    def _segment(self, rank: int) -> Any:
        self._own  # noqa: B018  # raises if there is none
        begin = self._begins[rank]
        return memoryview(self._memory[begin : begin + self._sizes[rank]])

    def _rank(self, rank: Any) -> int:
        found = rank_or_tag("rank", rank)
        if not 0 <= found < self._own.size:
            raise ArgumentError("rank", str(found), f"0..{self._own.size - 1}")
        return found

    def Shared_query(self, rank: int) -> tuple[Any, int]:
        """Return the memory of a rank's segment and its ``disp_unit``. ``PROC_NULL``: the first that is not empty."""
        if rank == PROC_NULL:
            filled = (place for place, size in enumerate(self._sizes) if size)
            rank = next(filled, 0)
        rank = self._rank(rank)
        return self._segment(rank), self._units[rank]

    def tomemory(self) -> Any:
        """The memory of this rank's segment."""
        return self._segment(self._own.rank)

    # Order.

    def Fence(self, assertion: int = 0) -> None:
        """Wait until every rank has called it; each then sees what the others wrote before. Collective."""
        self._own.Barrier()

    def Sync(self) -> None:
        """Order this rank's accesses before it and after it."""
        self._own  # noqa: B018
        _core.memory_fence()

    def Lock(self, rank: int, lock_type: int = LOCK_EXCLUSIVE, assertion: int = 0) -> None:
        """Lock a rank's segment: alone, or with ``LOCK_SHARED`` beside others that do so too. Waits for others."""
        if lock_type not in (LOCK_EXCLUSIVE, LOCK_SHARED):
            raise ArgumentError("lock_type", repr(lock_type), "LOCK_EXCLUSIVE or LOCK_SHARED")
        place = self._rank(rank)
        if place in self._locked:  # this rank would wait for itself
            raise ArgumentError("rank", f"{place}, which this rank has locked", "one that it has not locked")
        core = self._own._whole
        since = time.monotonic_ns()
        while not core.try_lock(self._word(place), lock_type == LOCK_SHARED, since):
            core.check()
            time.sleep(0)
        self._locked.add(place)

    def Unlock(self, rank: int) -> None:
        """End a lock; the rank that locks the segment next sees what this one wrote."""
        place = self._rank(rank)
        if place not in self._locked:
            raise ArgumentError("rank", f"{place}, which this rank has not locked", "one that it locked")
        self._own._whole.unlock(self._word(place))
        self._locked.remove(place)

    def Lock_all(self, assertion: int = 0) -> None:
        """Lock all segments, with ``LOCK_SHARED``."""
        for rank in range(self._own.size):
            self.Lock(rank, LOCK_SHARED)

    def Unlock_all(self) -> None:
        """End the locks of all segments."""
        for rank in range(self._own.size):
            self.Unlock(rank)

    def _word(self, rank: int) -> int:
        return _core.address(self._memory) + LINE * rank

    def Flush(self, rank: int) -> None:
        """As :meth:`Sync`: stores go straight to the segment."""
        self._rank(rank)
        self.Sync()

    def Flush_all(self) -> None:
        """As :meth:`Sync`."""
        self.Sync()

    Flush_local, Flush_local_all = Flush, Flush_all

    # What it is.

    @property
    def attrs(self) -> tuple[int, int, int]:
        """Address, bytes and ``disp_unit`` of this rank's segment."""
        rank = self._own.rank
        return _core.address(self._memory) + self._begins[rank], self._sizes[rank], self._units[rank]

    @property
    def flavor(self) -> int:
        """``WIN_FLAVOR_SHARED``."""
        return WIN_FLAVOR_SHARED

    @property
    def model(self) -> int:
        """``WIN_UNIFIED``: there is one copy of the memory."""
        return WIN_UNIFIED

    def Get_attr(self, keyval: int) -> int | None:
        """One of the attributes; None for other keys."""
        base, size, unit = self.attrs
        known = {
            WIN_BASE: base,
            WIN_SIZE: size,
            WIN_DISP_UNIT: unit,
            WIN_CREATE_FLAVOR: self.flavor,
            WIN_MODEL: self.model,
        }
        return known.get(keyval)

    def Get_group(self) -> Group:
        """Its ranks, as a group."""
        return self._own.Get_group()

    @property
    def group(self) -> Group:
        """Its ranks, as a group."""
        return self.Get_group()

    @property
    def group_size(self) -> int:
        """How many ranks there are."""
        return self._own.size

    @property
    def group_rank(self) -> int:
        """This rank."""
        return self._own.rank

    def Get_info(self) -> Info:
        """A new Info without keys."""
        return Info.Create()

    def Set_info(self, info: Info | None) -> None:
        """Accepted for mpi4py's programs and not used."""
        checked_info(info)

    info = property(Get_info, Set_info)

    def Get_name(self) -> str:
        """Its name, on this rank alone."""
        return str(self.__dict__.get("_name", "MPI_WIN_NULL" if self._comm is None else ""))

    def Set_name(self, name: str) -> None:
        """Give it a name, on this rank alone."""
        self._name = checked_name(name)

    name = property(Get_name, Set_name)

    def __bool__(self) -> bool:
        return self._comm is not None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Win) and self._comm == other._comm

    def __hash__(self) -> int:
        return hash(self._comm)

    def __repr__(self) -> str:
        return f"<phicoll.Win of {sum(self._sizes)} bytes>" if self else "phicoll.WIN_NULL"

    def __reduce__(self) -> Any:
        if self._comm is None:
            return "WIN_NULL"
        raise ValueError("a window belongs to its rank and cannot be pickled")


WIN_NULL = Win()
