"""Nonblocking and persistent collectives: methods of :class:`~phicoll.Comm`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import phicoll._core as _core
import phicoll.comm.calls as calls
from phicoll.comm.operators import OPERATORS
from phicoll.comm.requests import Prequest, Request

__all__ = ["Nonblocking"]

SUM = OPERATORS["SUM"]

Describe = Callable[[], calls.Call]


class Nonblocking:
    """The collective methods of :class:`~phicoll.Comm` that return a request.

    ``Iallreduce`` begins :meth:`Allreduce` without waiting for another rank, and so on. What is begun goes on while the
    rank is in any call of phicoll, and before it leaves. ``Allreduce_init`` returns a persistent request, which its
    ``Start`` begins each time; a buffer that is not contiguous is packed each time. Arguments and errors are those of
    the blocking call. Leave the buffers alone until the request has ended.

    All ranks begin the same calls on a communicator in the same order, which is independent of blocking calls
    and messages. A communicator's calls run one after the other.
    """

    _core: Any

    @property
    def _whole(self) -> Any:
        raise NotImplementedError

    def _begin(self, call: calls.Call) -> Request:
        begun = call.prepared(self._core)
        begun.start()
        return Request._of_call(begun, call)

    def _prepare(self, describe: Describe) -> Prequest:
        call = describe()
        if call.is_direct:
            return Prequest._to_begin(call.prepared(self._core))
        return Prequest._to_begin(lambda: self._begin(describe()))

    # Begun at once.

    @_core.plain_call
    def Ibarrier(self) -> Request:
        """Begin :meth:`Barrier`; return the request."""
        return self._begin(calls.barrier(self._whole))

    @_core.plain_call
    def Ibcast(self, buf: Any, root: int = 0, *, algorithm: str | None = None) -> Request:
        """Begin :meth:`Bcast`; return the request."""
        return self._begin(calls.broadcast(self._whole, buf, root, algorithm))

    @_core.plain_call
    def Ireduce(
        self, sendbuf: Any, recvbuf: Any, op: Any = SUM, root: int = 0, *, algorithm: str | None = None
    ) -> Request:
        """Begin :meth:`Reduce`; return the request."""
        return self._begin(calls.reduction(self._whole, "reduce", sendbuf, recvbuf, op, algorithm, root))

    @_core.plain_call
    def Iallreduce(
        self, sendbuf: Any, recvbuf: Any, op: Any = SUM, *, algorithm: str | None = None
    ) -> Request:
        """Begin :meth:`Allreduce`; return the request."""
        return self._begin(calls.reduction(self._whole, "allreduce", sendbuf, recvbuf, op, algorithm))

    @_core.plain_call
    def Iscan(self, sendbuf: Any, recvbuf: Any, op: Any = SUM, *, algorithm: str | None = None) -> Request:
        """Begin :meth:`Scan`; return the request."""
        return self._begin(calls.reduction(self._whole, "scan", sendbuf, recvbuf, op, algorithm))

    @_core.plain_call
    def Iexscan(self, sendbuf: Any, recvbuf: Any, op: Any = SUM, *, algorithm: str | None = None) -> Request:
        """Begin :meth:`Exscan`; return the request."""
        return self._begin(calls.reduction(self._whole, "exscan", sendbuf, recvbuf, op, algorithm))

    @_core.plain_call
    def Ireduce_scatter_block(
        self, sendbuf: Any, recvbuf: Any, op: Any = SUM, *, algorithm: str | None = None
    ) -> Request:
        """Begin :meth:`Reduce_scatter_block`; return the request."""
        return self._begin(calls.reduce_scatter_block(self._whole, sendbuf, recvbuf, op, algorithm))

    @_core.plain_call
    def Ireduce_scatter(
        self,
        sendbuf: Any,
        recvbuf: Any,
        recvcounts: Sequence[int] | None = None,
        op: Any = SUM,
        *,
        algorithm: str | None = None,
    ) -> Request:
        """Begin :meth:`Reduce_scatter`; return the request."""
        return self._begin(calls.reduce_scatter(self._whole, sendbuf, recvbuf, recvcounts, op, algorithm))

    @_core.plain_call
    def Igather(self, sendbuf: Any, recvbuf: Any, root: int = 0, *, algorithm: str | None = None) -> Request:
        """Begin :meth:`Gather`; return the request."""
        return self._begin(calls.gather(self._whole, sendbuf, recvbuf, root, algorithm))

    @_core.plain_call
    def Iscatter(self, sendbuf: Any, recvbuf: Any, root: int = 0, *, algorithm: str | None = None) -> Request:
        """Begin :meth:`Scatter`; return the request."""
        return self._begin(calls.scatter(self._whole, sendbuf, recvbuf, root, algorithm))

    @_core.plain_call
    def Iallgather(self, sendbuf: Any, recvbuf: Any, *, algorithm: str | None = None) -> Request:
        """Begin :meth:`Allgather`; return the request."""
        return self._begin(calls.allgather(self._whole, sendbuf, recvbuf, algorithm))

    @_core.plain_call
    def Ialltoall(self, sendbuf: Any, recvbuf: Any, *, algorithm: str | None = None) -> Request:
        """Begin :meth:`Alltoall`; return the request."""
        return self._begin(calls.alltoall(self._whole, sendbuf, recvbuf, algorithm))

    @_core.plain_call
    def Igatherv(self, sendbuf: Any, recvbuf: Any, root: int = 0, *, algorithm: str | None = None) -> Request:
        """Begin :meth:`Gatherv`; return the request."""
        return self._begin(calls.gatherv(self._whole, sendbuf, recvbuf, root, algorithm))

    @_core.plain_call
    def Iscatterv(
        self, sendbuf: Any, recvbuf: Any, root: int = 0, *, algorithm: str | None = None
    ) -> Request:
        """Begin :meth:`Scatterv`; return the request."""
        return self._begin(calls.scatterv(self._whole, sendbuf, recvbuf, root, algorithm))

    @_core.plain_call
    def Iallgatherv(self, sendbuf: Any, recvbuf: Any, *, algorithm: str | None = None) -> Request:
        """Begin :meth:`Allgatherv`; return the request."""
        return self._begin(calls.allgatherv(self._whole, sendbuf, recvbuf, algorithm))

    @_core.plain_call
    def Ialltoallv(self, sendbuf: Any, recvbuf: Any, *, algorithm: str | None = None) -> Request:
        """Begin :meth:`Alltoallv`; return the request."""
        return self._begin(calls.alltoallv(self._whole, sendbuf, recvbuf, algorithm))

    def Ialltoallw(self, sendbuf: Any, recvbuf: Any) -> Request:
        """Begin :meth:`Alltoallw`; return the request."""
        return self._begin(calls.alltoallw(self._whole, sendbuf, recvbuf))

    # Begun by Start.

    def Barrier_init(self, *, info: Any = None) -> Prequest:
        """A request that begins :meth:`Barrier` each time it is started."""
        return self._prepare(lambda: calls.barrier(self._whole))

    def Bcast_init(
        self, buf: Any, root: int = 0, *, info: Any = None, algorithm: str | None = None
    ) -> Prequest:
        """A request that begins :meth:`Bcast` each time it is started."""
        return self._prepare(lambda: calls.broadcast(self._whole, buf, root, algorithm))

    def Reduce_init(
        self,
        sendbuf: Any,
        recvbuf: Any,
        op: Any = SUM,
        root: int = 0,
        *,
        info: Any = None,
        algorithm: str | None = None,
    ) -> Prequest:
        """A request that begins :meth:`Reduce` each time it is started."""
        return self._prepare(
            lambda: calls.reduction(self._whole, "reduce", sendbuf, recvbuf, op, algorithm, root)
        )

    def Allreduce_init(
        self, sendbuf: Any, recvbuf: Any, op: Any = SUM, *, info: Any = None, algorithm: str | None = None
    ) -> Prequest:
        """A request that begins :meth:`Allreduce` each time it is started."""
        return self._prepare(
            lambda: calls.reduction(self._whole, "allreduce", sendbuf, recvbuf, op, algorithm)
        )

    def Scan_init(
        self, sendbuf: Any, recvbuf: Any, op: Any = SUM, *, info: Any = None, algorithm: str | None = None
    ) -> Prequest:
        """A request that begins :meth:`Scan` each time it is started."""
        return self._prepare(lambda: calls.reduction(self._whole, "scan", sendbuf, recvbuf, op, algorithm))

    def Exscan_init(
        self, sendbuf: Any, recvbuf: Any, op: Any = SUM, *, info: Any = None, algorithm: str | None = None
    ) -> Prequest:
        """A request that begins :meth:`Exscan` each time it is started."""
        return self._prepare(lambda: calls.reduction(self._whole, "exscan", sendbuf, recvbuf, op, algorithm))

    def Reduce_scatter_block_init(
        self, sendbuf: Any, recvbuf: Any, op: Any = SUM, *, info: Any = None, algorithm: str | None = None
    ) -> Prequest:
        """A request that begins :meth:`Reduce_scatter_block` each time it is started."""
        return self._prepare(lambda: calls.reduce_scatter_block(self._whole, sendbuf, recvbuf, op, algorithm))

    def Reduce_scatter_init(
        self,
        sendbuf: Any,
        recvbuf: Any,
        recvcounts: Sequence[int] | None = None,
        op: Any = SUM,
        *,
        info: Any = None,
        algorithm: str | None = None,
    ) -> Prequest:
        """A request that begins :meth:`Reduce_scatter` each time it is started."""
        return self._prepare(
            lambda: calls.reduce_scatter(self._whole, sendbuf, recvbuf, recvcounts, op, algorithm)
        )

    def Gather_init(
        self, sendbuf: Any, recvbuf: Any, root: int = 0, *, info: Any = None, algorithm: str | None = None
    ) -> Prequest:
        """A request that begins :meth:`Gather` each time it is started."""
        return self._prepare(lambda: calls.gather(self._whole, sendbuf, recvbuf, root, algorithm))

    def Scatter_init(
        self, sendbuf: Any, recvbuf: Any, root: int = 0, *, info: Any = None, algorithm: str | None = None
    ) -> Prequest:
        """A request that begins :meth:`Scatter` each time it is started."""
        return self._prepare(lambda: calls.scatter(self._whole, sendbuf, recvbuf, root, algorithm))

    def Allgather_init(
        self, sendbuf: Any, recvbuf: Any, *, info: Any = None, algorithm: str | None = None
    ) -> Prequest:
        """A request that begins :meth:`Allgather` each time it is started."""
        return self._prepare(lambda: calls.allgather(self._whole, sendbuf, recvbuf, algorithm))

    def Alltoall_init(
        self, sendbuf: Any, recvbuf: Any, *, info: Any = None, algorithm: str | None = None
    ) -> Prequest:
        """A request that begins :meth:`Alltoall` each time it is started."""
        return self._prepare(lambda: calls.alltoall(self._whole, sendbuf, recvbuf, algorithm))

    def Gatherv_init(
        self, sendbuf: Any, recvbuf: Any, root: int = 0, *, info: Any = None, algorithm: str | None = None
    ) -> Prequest:
        """A request that begins :meth:`Gatherv` each time it is started."""
        return self._prepare(lambda: calls.gatherv(self._whole, sendbuf, recvbuf, root, algorithm))

    def Scatterv_init(
        self, sendbuf: Any, recvbuf: Any, root: int = 0, *, info: Any = None, algorithm: str | None = None
    ) -> Prequest:
        """A request that begins :meth:`Scatterv` each time it is started."""
        return self._prepare(lambda: calls.scatterv(self._whole, sendbuf, recvbuf, root, algorithm))

    def Allgatherv_init(
        self, sendbuf: Any, recvbuf: Any, *, info: Any = None, algorithm: str | None = None
    ) -> Prequest:
        """A request that begins :meth:`Allgatherv` each time it is started."""
        return self._prepare(lambda: calls.allgatherv(self._whole, sendbuf, recvbuf, algorithm))

    def Alltoallv_init(
        self, sendbuf: Any, recvbuf: Any, *, info: Any = None, algorithm: str | None = None
    ) -> Prequest:
        """A request that begins :meth:`Alltoallv` each time it is started."""
        return self._prepare(lambda: calls.alltoallv(self._whole, sendbuf, recvbuf, algorithm))

    def Alltoallw_init(self, sendbuf: Any, recvbuf: Any, *, info: Any = None) -> Prequest:
        """A request that begins :meth:`Alltoallw` each time it is started."""
        return self._prepare(lambda: calls.alltoallw(self._whole, sendbuf, recvbuf))
