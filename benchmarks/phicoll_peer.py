"""phicoll's collectives, measured on command: one set of ranks that sleeps in the kernel between commands.

    peer = PhicollPeer(ranks=2, cpus=[0, 1])
    sample = peer.run("allreduce", 4096, calls=1000, mode="loop", buffers="fresh")
    sample["ns"], sample["verified"]
    peer.close()

The interface of mpi_peers.MpiPeer, with an algorithm besides. The ranks are phicoll-bench's worker processes:
what is timed is the public call of a `Communicator` with all its checks. `ns` is defined as there; of a "window" sample
`per_call_ns` has every call, of a bare loop with stamps `store_ns` and `load_ns` what each rank's
copies take in a call.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from peer_errors import PeerError, PeerTimeoutError

#: MPI's names of operations, and phicoll's.
OPERATIONS = {
    "barrier": "barrier", "bcast": "broadcast", "reduce": "reduce", "allreduce": "allreduce", "gather": "gather",
    "scatter": "scatter", "allgather": "allgather", "alltoall": "alltoall", "scan": "scan",
    "reduce_scatter_block": "reduce_scatter_block",
}  # fmt: skip


def find_bench() -> Path:
    """``$PHICOLL_BENCH``, or the program that is installed with the package."""
    if named := os.environ.get("PHICOLL_BENCH"):
        return Path(named)
    from phicoll.bench import find

    return find()


class PhicollPeer:
    """One set of `ranks` ranks, ready to measure. A context manager; `close` is safe to call twice.

    It holds the CPUs' measurement locks while it lives, and waits up to five minutes for them. cpus: rank r is pinned
    to `cpus[r % len(cpus)]`. kind: "processes" or "threads". wait: the group's wait policy.
    """

    name = "phicoll"

    def __init__(
        self,
        ranks: int,
        cpus: Sequence[int],
        *,
        kind: str = "processes",
        wait: str = "adaptive",
        bench: Path | None = None,
        start_s: float = 360.0,
    ) -> None:
        self.ranks, self.cpus = ranks, list(cpus)
        self.failed: str | None = None
        self._unread = b""
        line = [str(bench or find_bench()), "--peer", str(ranks), kind, ",".join(map(str, cpus)), wait]
        self._process = subprocess.Popen(
            line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, start_new_session=True
        )
        try:
            self.facts: dict[str, Any] = {"command": line, **self._answer(start_s, "to start")}
        except BaseException:
            self._process.kill()
            self._process.wait()
            raise

    def run(
        self,
        operation: str,
        size_bytes: int,
        calls: int = 0,
        mode: str = "loop",
        buffers: str = "fresh",
        *,
        algorithm: str = "auto",
        cap_ms: float = 50.0,
        seed: int = 1,
        timeout_s: float = 120.0,
        **options: Any,
    ) -> dict[str, Any]:
        """One point. calls: 0 for as many as take a quarter of a millisecond. options: type, op."""
        words = [OPERATIONS.get(operation, operation), str(size_bytes), mode, buffers]
        named = {"algorithm": algorithm, "calls": calls, "cap_ms": cap_ms, "seed": seed, **options}
        words += [
            f"{k}={v}"
            for k, v in named.items()
            if k in ("algorithm", "calls", "cap_ms", "seed", "type", "op")
        ]
        answer = self.command(" ".join(words), timeout_s)
        sample = {
            "ns": answer["value_ns"], "calls": answer["calls"], "capped": answer["capped"],
            "verified": answer["verified"], "effective": answer.get("effective", ""), "error": answer.get("error"),
        }  # fmt: skip
        sample |= {name: answer[name] for name in ("store_ns", "load_ns") if name in answer}
        if mode == "window":
            sample |= {"per_call_ns": answer["ns"], "late": answer["late"]}
        return sample

    def probe(self, seed: int = 1, timeout_s: float = 60.0) -> dict[str, Any]:
        """The probes of a round: read_ns, pingpong_ns, switch_ns, label (docs/records.md)."""
        return self.command(f"probe seed={seed}", timeout_s)

    def command(self, line: str, timeout_s: float) -> dict[str, Any]:
        if self.failed is not None:
            raise PeerError(self.failed)
        assert self._process.stdin is not None
        try:
            self._process.stdin.write((line + "\n").encode())
        except OSError as error:
            self._fail(f"phicoll: the set is gone ({error})")
        answer = self._answer(timeout_s, f"to {line}")
        if not answer["ok"]:
            raise PeerError(f"phicoll: {answer['error']}")
        return answer

    def _answer(self, seconds: float, what: str) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        assert self._process.stdout is not None
        fd = self._process.stdout.fileno()
        while b"\n" not in self._unread:
            left = deadline - time.monotonic()
            ready, _, _ = select.select([fd], [], [], max(0.0, left))
            if not ready:
                self._fail(f"phicoll: no answer within {seconds:.3g} s, asked {what}", PeerTimeoutError)
            got = os.read(fd, 1 << 16)
            if not got:
                self._fail(f"phicoll: the set ended with {self._process.wait()}, asked {what}")
            self._unread += got
        line, _, self._unread = self._unread.partition(b"\n")
        return dict(json.loads(line))

    def _fail(self, why: str, kind: type[PeerError] = PeerError) -> None:
        self.failed = why
        self._process.kill()  # its ranks end with it
        raise kind(why)

    def close(self) -> None:
        """Ends the set: politely, and after five seconds by force."""
        if self.failed is None:
            self.failed = "phicoll: closed"
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> PhicollPeer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
