"""A rank's communicator: :class:`Comm`, with mpi4py's names and arguments."""

# mypy: disable-error-code="empty-body"
# C++ makes the calls of methods without a body.

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, ClassVar, NoReturn

import numpy as np

import phicoll._core as _core
import phicoll.comm.mpi_ranks as mpi_ranks
from phicoll.comm.alone import Alone, fail_alone
from phicoll.comm.collectives import Collectives
from phicoll.comm.datatypes import fixed_size, layout
from phicoll.comm.derived import Derived
from phicoll.comm.matched import MatchedProbes
from phicoll.comm.messages import PointToPoint
from phicoll.comm.not_offered import refuse
from phicoll.comm.numbers import root_of, whole_count
from phicoll.comm.operators import OPERATORS, called
from phicoll.errors import ArgumentError, Error, ResourceError
from phicoll.foundations.checks import check_flag

__all__ = ["COMM_NULL", "Comm", "Intercomm"]

SUM = OPERATORS["SUM"]

# The beginnings of names of mpi4py's that are not offered, and what to use.
NOT_OFFERED = {
    **dict.fromkeys(
        ("Create_cart", "Cart_map"),
        "ranks have no topology; np.unravel_index(rank, dims) and MPI.Compute_dims place them in a grid",
    ),
    **dict.fromkeys(
        ("Create_graph", "Create_dist_graph", "Graph_map"),
        "ranks have no topology; Send and Recv go to any rank",
    ),
    "Neighbor": "ranks have no topology; Isend and Irecv exchange halos",
    "neighbor": "ranks have no topology; isend and irecv exchange halos",
    "Create_from_group": "ranks are there from the start; Create_group makes a communicator of some",
    **dict.fromkeys(("Create_errhandler", "Call_errhandler"), "errors are exceptions"),
    **dict.fromkeys(
        ("Spawn", "Accept", "Connect", "Join"), "a group keeps its ranks; phicoll.run starts another"
    ),
    **dict.fromkeys(
        ("Create_keyval", "Free_keyval", "Set_attr", "Delete_attr"),
        "communicators have MPI's own attributes; a dict may have them as keys",
    ),
    **dict.fromkeys(
        ("Revoke", "Is_revoked", "Shrink", "Ishrink", "Agree", "Iagree", "Get_failed", "Ack_failed"),
        "a group that has lost a rank is broken; catch BrokenGroupError",
    ),
    **dict.fromkeys(
        ("Create_intercomm", "Merge", "Get_remote", "remote_"),
        "a communicator has one group; Create_group makes one of any ranks",
    ),
    "Psend": "messages are not sent in parts; Isend several",
    "Precv": "messages are not received in parts; Irecv several",
}


class Comm(Collectives, PointToPoint, MatchedProbes, Derived):
    """One rank's communicator: a group of ranks, its collectives, and messages between two of them.

    Unless it says otherwise, every method is collective: all ranks call the same methods in the same order, with the
    same root, operator and counts. Methods with a capital move buffers, the others any object that can be pickled.

    - A buffer is a NumPy array or any object with the buffer protocol, alone or as ``[buffer, type]``, ``[buffer,
      count]``, ``[buffer, count, type]`` or ``[buffer, (count, displacement), type]``; in the vector versions
      ``[buffer, (counts, displacements), type]``.
    - A contiguous buffer is used in place, any other through a packed copy in C order. A call's two buffers must not
      differ in order, one C and the other Fortran.
    - Elements may be of any fixed-size type; each operator has its list of types.
    - ``IN_PLACE`` or None as a rank's input means that the input lies where the result will be.
    - ``algorithm`` selects the algorithm of this one call, the same on all ranks, as in :meth:`select`.

    Raises
    ------
    ArgumentError
        An error that all ranks see, such as a root that does not exist or an operator that does not fit the type, has
        no other effect. One that a single rank may see, such as a buffer that is too small, also breaks the group, so
        that the other ranks, if there are any, learn of it.
    BrokenGroupError
        Another rank died, raised, left, gave bad input or made another call; ``rank`` is the first that did.
    Error
        The calling process was forked by a rank and is none itself. (A program that is a group of one may fork.)
    """

    __slots__ = ("_core",)  # where plain calls read it

    _core: Any
    _instead: ClassVar[dict[str, str]] = NOT_OFFERED

    def __new__(
        cls, comm: Any = None
    ) -> Comm:  # for subclasses that give it the communicator, as mpi4py's do
        return object.__new__(cls)

    def __init__(self, comm: Any = None) -> None:
        """The communicator ``comm`` by another name; None for no communicator."""
        if not isinstance(comm, (Comm, _core.Communicator, type(None))):
            raise TypeError(f"comm: got {comm!r}; allowed: a communicator or None")
        self._core = comm._core if isinstance(comm, Comm) else comm

    @classmethod
    def Get_parent(cls) -> Intercomm:
        """``COMM_NULL``: no program spawned this one."""
        return Intercomm()

    @classmethod
    def from_mpi(cls, comm: Any) -> Comm:
        """A communicator of the ranks of ``comm``, a communicator of mpi4py, in the same order. Collective over these.

        The program may go on to use MPI as well. While a rank waits in phicoll, its MPI messages make no progress.
        :meth:`Free` ends the communicator and all that were made from it.

        Raises
        ------
        ArgumentError
            ``comm`` is not an intracommunicator, or its ranks are on several machines; all ranks raise it.
        BrokenGroupError
            A rank did not attach within 30 s.
        """
        return Comm(mpi_ranks.attach(comm))

    @classmethod
    def _made(cls, core: Any) -> Comm:
        if core is None:
            return COMM_NULL
        made = object.__new__(cls)  # of a derived class, too, whose __init__ may do more, as mpi4py has it
        made._core = core
        return made

    # Rank and size. Not collective.

    @_core.plain_call
    def Get_rank(self) -> int:
        """This rank, from 0."""

    @_core.plain_call
    def Get_size(self) -> int:
        """How many ranks there are."""

    rank = property(Get_rank)
    size = property(Get_size)

    def _finalize(self) -> None:
        """From now on every call raises an Error."""
        self._core = Finalized()

    @property
    def _is_finalized(self) -> bool:
        return isinstance(self._core, Finalized)

    @property
    def _whole(self) -> Any:
        if self._core is None:
            raise Error(
                "COMM_NULL: a communicator without ranks; allowed: one that Split made with a color from 0"
            )
        return self._core

    def __repr__(self) -> str:
        if self._core is None:
            return "phicoll.COMM_NULL"
        if self._core.closed:
            return "<phicoll.Comm, ended>"
        return f"<phicoll.Comm rank {self.rank} of {self.size}>"

    def __reduce__(self) -> Any:
        if self._core is None:
            return "COMM_NULL" if self is COMM_NULL else (Comm, (COMM_NULL,))
        raise TypeError("a communicator belongs to its rank and cannot be pickled")

    def __getattr__(self, name: str) -> Any:
        refuse(type(self), name, self._instead)

    # Errors.

    def _alone(self) -> Alone:
        return Alone(self._core)

    # Objects.

    @_core.plain_call
    def barrier(self) -> None:
        """Wait until every rank has called it."""

    @_core.plain_call
    def bcast(self, obj: Any, root: int = 0) -> Any:
        """Return the root's object on every rank."""

    @_core.plain_call
    def gather(self, sendobj: Any, root: int = 0) -> list[Any] | None:
        """Return a list of every rank's object, in rank order, on the root; None elsewhere."""

    def scatter(self, sendobj: Sequence[Any] | None, root: int = 0) -> Any:
        """Return item i of the root's sequence on rank i; None on all ranks if the root gives None, as in mpi4py."""
        root = root_of(self._whole.size, root)
        core = self._core
        items = None
        if core.rank == root:
            with self._alone():
                items = self._one_for_each(sendobj)
        return core.scatter_objects(items, root)

    def _one_for_each(self, sendobj: Any) -> list[Any]:
        try:
            items = [None] * self._core.size if sendobj is None else list(sendobj)
        except TypeError:
            items = None
        if items is None or len(items) != self._core.size:
            got = repr(sendobj) if items is None else f"{len(items)} items"
            raise ArgumentError("sendobj", got, f"{self._core.size} items, one for each rank")
        return items

    @_core.plain_call
    def allgather(self, sendobj: Any) -> list[Any]:
        """Return a list of every rank's object, in rank order, on every rank."""

    def alltoall(self, sendobj: Sequence[Any] | None) -> list[Any]:
        """Send item i to rank i; return the items sent to this rank, in rank order. None stands for as many of None."""
        core = self._whole
        with self._alone():
            items = self._one_for_each(sendobj)
        return core.alltoall_objects(items)  # type: ignore[no-any-return]

    def reduce(self, sendobj: Any, op: Callable[[Any, Any], Any] = SUM, root: int = 0) -> Any:
        """Return the ranks' objects combined in rank order, on the root; None elsewhere."""
        op = called(op)
        found = self.gather(sendobj, root)
        if found is None:
            return None
        return self._combined(op, found)

    def allreduce(self, sendobj: Any, op: Callable[[Any, Any], Any] = SUM) -> Any:
        """Return the ranks' objects combined in rank order, on every rank; each rank combines them itself."""
        op = called(op)
        found = self.allgather(sendobj)
        return self._combined(op, found)

    def scan(self, sendobj: Any, op: Callable[[Any, Any], Any] = SUM) -> Any:
        """Return the objects of ranks 0 to this one, combined in rank order."""
        op = called(op)
        found = self.allgather(sendobj)
        return self._combined(op, found[: self._core.rank + 1])

    def exscan(self, sendobj: Any, op: Callable[[Any, Any], Any] = SUM) -> Any:
        """Return the objects of the ranks before this one, combined in rank order; None on rank 0."""
        op = called(op)
        found = self.allgather(sendobj)
        if self._core.rank == 0:
            return None
        return self._combined(op, found[: self._core.rank])

    def _combined(self, op: Callable[[Any, Any], Any], objects: list[Any]) -> Any:
        try:
            return functools.reduce(op, objects)
        except BaseException as error:  # a context would take as long as the rest of a small call
            fail_alone(self._core, error)
            raise

    # Memory and algorithms.

    def empty(self, shape: Any, dtype: Any = float) -> np.ndarray[Any, Any]:
        """Return a new array in memory that all ranks reach, which saves large collectives one of two copies.

        Each rank gets an array of its own; shapes and types may differ between ranks. :meth:`shared` makes one array
        that all ranks see. Not collective.

        Parameters
        ----------
        shape:
            As for ``numpy.empty``.
        dtype:
            Any type of fixed size.
        """
        core = self._whole
        with self._alone():
            extents, kind = array_of(shape, dtype)
        memory = core.allocate(math.prod(extents) * kind.itemsize)
        return memory.view(kind).reshape(extents)  # type: ignore[no-any-return]

    def shared(self, shape: Any, dtype: Any = float) -> np.ndarray[Any, Any]:
        """Return one array that all ranks see: what one stores, the others read. It is zero at first.

        A barrier, or any other call between the ranks that waits, orders their accesses. The memory is given back once
        no rank has the array, or a part of it, any more.

        Parameters
        ----------
        shape:
            As for ``numpy.empty``, the same on all ranks.
        dtype:
            Any type of fixed size, the same on all ranks.

        Raises
        ------
        ArgumentError
            Shapes or types differ between ranks; all ranks raise it, and the group stays whole.
        ResourceError
            The group's heap (``heap_limit``) has no room for it; likewise.
        """
        core = self._whole
        with self._alone():
            extents, kind = array_of(shape, dtype)
        core.give_back()  # by each rank, as any may have been the last to drop an earlier one
        told = self.allgather((extents, layout(kind)))
        for rank, other in enumerate(told):
            if other != told[0]:
                got = f"{told[0][0]} of {told[0][1]} on rank 0 and {other[0]} of {other[1]} on rank {rank}"
                raise ArgumentError("shape", got, "the same shape and type on all ranks")
        nbytes = math.prod(extents) * kind.itemsize
        found = self._by_first(lambda: core.allocate_counted(nbytes))
        return core.view_counted(found, nbytes).view(kind).reshape(extents)  # type: ignore[no-any-return]

    def _by_first(self, allocate: Callable[[], int]) -> int:
        """What ``allocate`` returns on rank 0, on all ranks, or its ResourceError, which leaves the group whole."""
        found: int | str | None = None
        if self.rank == 0:
            with self._alone():
                try:
                    found = allocate()
                except ResourceError as error:
                    found = str(error)
        found = self.bcast(found)
        if isinstance(found, str):
            raise ResourceError(found)
        return found  # type: ignore[return-value]

    def select(self, operation: str, algorithm: str) -> None:
        """Select the algorithm of an operation (``"allreduce"``) for later calls, the same on all ranks.

        ``algorithm`` is ``"auto"`` or a name with parameters, such as ``"one-shot:cells=8"``.
        """
        self._whole.select(operation, algorithm)

    def reproducible(self, on: bool = True) -> None:
        """Make the bits of later reductions depend on their operands alone, the same on all ranks.

        Operands are combined one by one from rank 0 on, ``((x0 op x1) op x2) ...``, whatever the root, the count, the
        machine and the algorithm that it takes: selects ``auto:reproducible=yes`` for all reductions and scans, which
        also serves a single call by ``algorithm=``. ``on=False`` selects ``auto``. Communicators that are split from
        this one begin without it.
        """
        self._whole.reproducible(check_flag("on", on))

    def why(self, operation: str, nbytes: int = 0) -> str:
        """Return the algorithm that a call would use, and why. Not collective.

        Parameters
        ----------
        operation:
            The method's name, ``"Gatherv"`` or ``"gatherv"``, or the name that :meth:`select` takes.
            ``"reduce_scatter"`` is MPI's, with a count for each rank.
        nbytes:
            Bytes of the message or of one block; for Allgatherv and Reduce_scatter of the mean block. Ignored for
            Gatherv, Scatterv and Alltoallv, where ranks do not know each other's counts.

        Raises
        ------
        ArgumentError
            No such call, or the selected algorithm cannot perform it with any operator.
        """
        algorithm, reason = self._whole.why(operation, whole_count(nbytes, "nbytes"))
        return f"{algorithm}: {reason}" if reason else str(algorithm)


# Python's own errors name a method by the class that users see.
for part in (Collectives, PointToPoint, MatchedProbes, Derived):
    for name, method in vars(part).items():
        function = getattr(method, "__wrapped__", method)
        if isinstance(function, FunctionType):
            function.__qualname__ = f"Comm.{name}"


def array_of(shape: Any, dtype: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """An array's extents and type. ArgumentError if they are none."""
    kind = fixed_size(np.dtype(dtype), "dtype")
    extents = (shape,) if hasattr(shape, "__index__") else tuple(shape)
    return tuple(whole_count(n, "shape") for n in extents), kind


class Finalized:
    """What a communicator has in place of the core's once the rank has called ``MPI.Finalize``."""

    closed = True

    def __getattr__(self, name: str) -> NoReturn:
        raise Error("MPI.Finalize was called; allowed: calls before it")


class Intercomm(Comm):
    """The type of communicators of two groups. There are none, so it only makes ``COMM_NULL``."""


COMM_NULL = Comm()
