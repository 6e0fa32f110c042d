"""The collective methods of :class:`~phicoll.Comm` that move buffers, each in three forms.

A method here says what it takes and what it does, and C++ makes the call. The other forms take the same: of
``Allreduce`` come ``Iallreduce`` and ``Allreduce_init``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, Concatenate, ParamSpec, Protocol, overload

import phicoll._core as _core
from phicoll.comm.operators import OPERATORS
from phicoll.comm.requests import Prequest, Request

__all__ = ["Collectives"]

SUM = OPERATORS["SUM"]

P = ParamSpec("P")


def form_of(blocking: Any, name: str, doc: str, result: type, more: tuple[str, ...] = ()) -> Any:
    """Another form of a method: a function that takes the same, and ``more`` by name.

    It says what the form takes, so its body is the method's, which is empty.
    """
    function = blocking.__wrapped__
    code = function.__code__
    names = (*code.co_varnames, *more)
    code = code.replace(
        co_name=name,
        co_kwonlyargcount=code.co_kwonlyargcount + len(more),
        co_varnames=names,
        co_nlocals=len(names),
        co_filename=f"<{name}>",  # its source is not the method's: tools that read defaults there would miss some
    )
    made = FunctionType(code, function.__globals__, name, function.__defaults__)
    made.__kwdefaults__ = {**(function.__kwdefaults__ or {}), **dict.fromkeys(more)}
    made.__annotations__ = {
        **function.__annotations__,
        **dict.fromkeys(more, "Any"),
        "return": result.__name__,
    }
    made.__qualname__ = function.__qualname__.replace(function.__name__, name)
    made.__doc__ = doc
    return _core.plain_call(made)


def begins(blocking: Callable[P, None]) -> Callable[P, Request]:
    """The nonblocking form of a method."""
    name = blocking.__name__
    return form_of(  # type: ignore[no-any-return]
        blocking, f"I{name.lower()}", f"Begin :meth:`{name}`; return the request.", Request
    )


class Prepares(Protocol[P]):
    """A persistent form: it takes what the method takes and, as mpi4py has it, ``info``."""

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Prequest: ...
    @overload
    def __call__(self, *args: Any, info: Any, **kwargs: Any) -> Prequest: ...


def prepares(blocking: Callable[Concatenate[Any, P], None]) -> Prepares[P]:
    """The persistent form of a method."""
    name = blocking.__name__
    doc = f"A request that begins :meth:`{name}` each time it is started."
    return form_of(blocking, f"{name}_init", doc, Prequest, ("info",))  # type: ignore[no-any-return]


class Collectives:
    """The collective methods of :class:`~phicoll.Comm` that move buffers.

    ``Iallreduce`` begins :meth:`Allreduce` without waiting for another rank and returns a request, and so on. What is
    begun goes on while the rank is in any call of phicoll, and before it leaves. ``Allreduce_init`` returns a
    persistent request, which its ``Start`` begins each time; a buffer that is not contiguous is packed each time.
    Arguments and errors are those of the blocking call. Leave the buffers alone until the request has ended.

    All ranks begin the same calls on a communicator in the same order, independent of blocking calls and messages.
    """

    @_core.plain_call
    def Barrier(self) -> None:
        """Wait until every rank has called it."""

    Ibarrier = begins(Barrier)
    Barrier_init = prepares(Barrier)

    @_core.plain_call
    def Bcast(self, buf: Any, root: int = 0, *, algorithm: str | None = None) -> None:
        """Copy the root's ``buf`` into the ``buf`` of every other rank.

        Parameters
        ----------
        buf:
            ``count`` elements; read on the root, written on the others.
        root:
            The rank whose buffer is sent.
        algorithm:
            The algorithm of this call, as for :meth:`select`.
        """

    Ibcast = begins(Bcast)
    Bcast_init = prepares(Bcast)

    @_core.plain_call
    def Reduce(
        self, sendbuf: Any, recvbuf: Any, op: Any = SUM, root: int = 0, *, algorithm: str | None = None
    ) -> None:
        """Combine the ranks' elements; the root gets the result.

        Parameters
        ----------
        sendbuf:
            ``count`` elements; on the root it may be ``IN_PLACE``.
        recvbuf:
            ``count`` elements on the root; ignored elsewhere.
        op:
            The operator. Floating-point results are bitwise the same in every run with as many ranks and elements.
        root:
            The rank that gets the result.
        algorithm:
            The algorithm of this call, as for :meth:`select`.
        """

    Ireduce = begins(Reduce)
    Reduce_init = prepares(Reduce)

    @_core.plain_call
    def Allreduce(self, sendbuf: Any, recvbuf: Any, op: Any = SUM, *, algorithm: str | None = None) -> None:
        """Combine the ranks' elements; every rank gets the result, bitwise the same (unless by ``bruck``).

        Parameters
        ----------
        sendbuf:
            ``count`` elements, or ``IN_PLACE``.
        recvbuf:
            ``count`` elements.
        op:
            The operator.
        algorithm:
            The algorithm of this call, as for :meth:`select`.
        """

    Iallreduce = begins(Allreduce)
    Allreduce_init = prepares(Allreduce)

    @_core.plain_call
    def Scan(self, sendbuf: Any, recvbuf: Any, op: Any = SUM, *, algorithm: str | None = None) -> None:
        """Combine the elements of ranks 0 to this one (inclusive); arguments as for :meth:`Allreduce`."""

    Iscan = begins(Scan)
    Scan_init = prepares(Scan)

    @_core.plain_call
    def Exscan(self, sendbuf: Any, recvbuf: Any, op: Any = SUM, *, algorithm: str | None = None) -> None:
        """Combine the elements of the ranks before this one; rank 0's ``recvbuf`` is left unchanged."""

    Iexscan = begins(Exscan)
    Exscan_init = prepares(Exscan)

    @_core.plain_call
    def Reduce_scatter_block(
        self, sendbuf: Any, recvbuf: Any, op: Any = SUM, *, algorithm: str | None = None
    ) -> None:
        """Combine the ranks' elements; rank i gets block i of the result.

        Parameters
        ----------
        sendbuf:
            ``size`` blocks of ``count`` elements, or ``IN_PLACE``: the input is in ``recvbuf``, whose first block
            then receives the result.
        recvbuf:
            ``count`` elements.
        op:
            The operator.
        algorithm:
            The algorithm of this call, as for :meth:`select`.
        """

    Ireduce_scatter_block = begins(Reduce_scatter_block)
    Reduce_scatter_block_init = prepares(Reduce_scatter_block)

    @_core.plain_call
    def Reduce_scatter(
        self,
        sendbuf: Any,
        recvbuf: Any,
        recvcounts: Sequence[int] | None = None,
        op: Any = SUM,
        *,
        algorithm: str | None = None,
    ) -> None:
        """Combine the ranks' elements; rank i gets block i of the result, ``recvcounts[i]`` elements.

        Parameters
        ----------
        sendbuf:
            ``sum(recvcounts)`` elements, or ``IN_PLACE``: the input is in ``recvbuf``, whose first elements then
            receive the result.
        recvbuf:
            ``recvcounts[rank]`` elements.
        recvcounts:
            One count per rank, the same list on all ranks. Without it each rank's count is that of its ``recvbuf``,
            which the ranks first exchange.
        op:
            The operator.
        algorithm:
            The algorithm of this call, as for :meth:`select`.
        """

    Ireduce_scatter = begins(Reduce_scatter)
    Reduce_scatter_init = prepares(Reduce_scatter)

    @_core.plain_call
    def Gather(self, sendbuf: Any, recvbuf: Any, root: int = 0, *, algorithm: str | None = None) -> None:
        """Collect every rank's block on the root, in rank order.

        Parameters
        ----------
        sendbuf:
            ``count`` elements; on the root it may be ``IN_PLACE``.
        recvbuf:
            On the root ``size`` blocks of ``count`` elements of the same type; ignored elsewhere.
        root:
            The rank that gets the blocks.
        algorithm:
            The algorithm of this call, as for :meth:`select`.
        """

    Igather = begins(Gather)
    Gather_init = prepares(Gather)

    @_core.plain_call
    def Scatter(self, sendbuf: Any, recvbuf: Any, root: int = 0, *, algorithm: str | None = None) -> None:
        """Send block i of the root to rank i.

        Parameters
        ----------
        sendbuf:
            On the root ``size`` blocks of ``count`` elements; ignored elsewhere.
        recvbuf:
            ``count`` elements of the same type; on the root it may be ``IN_PLACE``, which leaves its own block where
            it is.
        root:
            The rank that sends.
        algorithm:
            The algorithm of this call, as for :meth:`select`.
        """

    Iscatter = begins(Scatter)
    Scatter_init = prepares(Scatter)

    @_core.plain_call
    def Allgather(self, sendbuf: Any, recvbuf: Any, *, algorithm: str | None = None) -> None:
        """Collect every rank's block on every rank, in rank order.

        Parameters
        ----------
        sendbuf:
            ``count`` elements, or ``IN_PLACE``.
        recvbuf:
            ``size`` blocks of ``count`` elements of the same type.
        algorithm:
            The algorithm of this call, as for :meth:`select`.
        """

    Iallgather = begins(Allgather)
    Allgather_init = prepares(Allgather)

    @_core.plain_call
    def Alltoall(self, sendbuf: Any, recvbuf: Any, *, algorithm: str | None = None) -> None:
        """Send block i to rank i and receive block i from rank i.

        Parameters
        ----------
        sendbuf:
            ``size`` blocks of ``count`` elements, or ``IN_PLACE``: ``recvbuf`` is sent, then overwritten.
        recvbuf:
            ``size`` blocks of ``count`` elements of the same type.
        algorithm:
            The algorithm of this call, as for :meth:`select`.
        """

    Ialltoall = begins(Alltoall)
    Alltoall_init = prepares(Alltoall)

    @_core.plain_call
    def Gatherv(self, sendbuf: Any, recvbuf: Any, root: int = 0, *, algorithm: str | None = None) -> None:
        """Collect blocks of any lengths, one from each rank, on the root.

        Parameters
        ----------
        sendbuf:
            This rank's block; on the root it may be ``IN_PLACE``.
        recvbuf:
            On the root ``[buffer, counts, displacements, type]`` or ``[buffer, (counts, displacements), type]``, with
            one item per rank; without displacements the blocks are adjacent. Ignored elsewhere.
        root:
            The rank that gets the blocks.
        algorithm:
            The algorithm of this call, as for :meth:`select`.
        """

    Igatherv = begins(Gatherv)
    Gatherv_init = prepares(Gatherv)

    @_core.plain_call
    def Scatterv(self, sendbuf: Any, recvbuf: Any, root: int = 0, *, algorithm: str | None = None) -> None:
        """Send block i of the root to rank i; blocks may have any lengths.

        Parameters
        ----------
        sendbuf:
            On the root like ``recvbuf`` of :meth:`Gatherv`; ignored elsewhere.
        recvbuf:
            This rank's block; on the root it may be ``IN_PLACE``.
        root:
            The rank that sends.
        algorithm:
            The algorithm of this call, as for :meth:`select`.
        """

    Iscatterv = begins(Scatterv)
    Scatterv_init = prepares(Scatterv)

    @_core.plain_call
    def Allgatherv(self, sendbuf: Any, recvbuf: Any, *, algorithm: str | None = None) -> None:
        """Collect blocks of any lengths, one from each rank, on every rank.

        Parameters
        ----------
        sendbuf:
            This rank's block, or ``IN_PLACE``.
        recvbuf:
            Like that of :meth:`Gatherv`, with the same counts on all ranks.
        algorithm:
            The algorithm of this call, as for :meth:`select`.
        """

    Iallgatherv = begins(Allgatherv)
    Allgatherv_init = prepares(Allgatherv)

    @_core.plain_call
    def Alltoallv(self, sendbuf: Any, recvbuf: Any, *, algorithm: str | None = None) -> None:
        """Send block i to rank i and receive block i from rank i; blocks may have any lengths.

        Parameters
        ----------
        sendbuf:
            Like ``recvbuf`` of :meth:`Gatherv`, or ``IN_PLACE``: ``recvbuf`` is sent, then overwritten.
        recvbuf:
            Likewise; block i has as many elements as rank i sends to this rank, of the same type.
        algorithm:
            The algorithm of this call, as for :meth:`select`.
        """

    Ialltoallv = begins(Alltoallv)
    Alltoallv_init = prepares(Alltoallv)

    @_core.plain_call
    def Alltoallw(self, sendbuf: Any, recvbuf: Any) -> None:
        """As :meth:`Alltoallv`, with a type for each rank.

        Parameters
        ----------
        sendbuf:
            ``[buffer, types]``, ``[buffer, counts, displacements, types]`` or ``[buffer, (counts, displacements),
            types]``, with one item per rank; displacements are in bytes. Without counts, one element for each rank, all
            at the buffer's start. Or ``IN_PLACE``.
        recvbuf:
            Likewise.
        """

    Ialltoallw = begins(Alltoallw)
    Alltoallw_init = prepares(Alltoallw)
