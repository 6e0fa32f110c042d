"""phicoll's collectives beside those of MPI, in the same rounds.

    python benchmarks/collectives.py --operations broadcast --ranks 2 --sizes 8,4K,1M --algorithms auto,ring:cell=4096

Rounds visit all subjects of a point in a random order from the seed; who is not on turn sleeps in the kernel.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

sys.path.insert(0, str(Path(__file__).resolve().parent))

import mpi_peers
from phicoll_peer import OPERATIONS, PhicollPeer

MPI_NAMES = {ours: theirs for theirs, ours in OPERATIONS.items()}
ERRORS = (RuntimeError,)


class Peer(Protocol):
    def run(
        self, operation: str, size_bytes: int, calls: int, mode: str, buffers: str, **more: Any
    ) -> dict[str, Any]: ...
    def close(self) -> None: ...


def calls_for(size_bytes: int, ranks: int) -> int:
    """Roughly what takes half a millisecond with large messages, and never few."""
    return max(8, min(1000, (4 << 20) // max(1, size_bytes * ranks)))


def start_peers(ranks: int, cpus: Sequence[int], mpis: Sequence[str], kind: str) -> dict[str, Any]:
    peers: dict[str, Any] = {"phicoll": PhicollPeer(ranks, cpus, kind=kind)}
    for name in mpis:
        try:
            peers[name] = mpi_peers.MpiPeer(name, ranks, cpus)
        except mpi_peers.PeerError as error:
            print(f"collectives: {error}", file=sys.stderr)
    return peers


def tune(a: argparse.Namespace, ranks: int, cpus: Sequence[int]) -> None:
    """The medians of a few rounds, side by side."""
    algorithms = a.algorithms.split(",")
    mpis = [] if a.mpi == "none" else a.mpi.split(",")
    peers = start_peers(ranks, cpus, mpis, a.kind)
    subjects = [("phicoll", algorithm) for algorithm in algorithms] + [
        (name, "") for name in peers if name != "phicoll"
    ]
    draw = random.Random(a.seed)
    try:
        for operation in a.operations.split(","):
            print(
                f"\n{operation}, {ranks} ranks on CPUs {list(cpus)}, {a.mode}, buffers {a.buffers}: medians of {a.rounds} rounds"
            )
            width = max(13, *(len(algorithm) + 2 for algorithm in algorithms))
            print(
                f"{'bytes':>10s}"
                + "".join(f"{(s[1] or s[0]):>{width}s}" for s in subjects)
                + f"{'lines':>9s}{'to best MPI':>13s}  effective"
            )
            for size in mpi_peers.size_list(a.sizes):
                values: dict[tuple[str, str], list[float]] = {s: [] for s in subjects}
                wrong: set[tuple[str, str]] = set()
                effective, lines = "", []
                for _ in range(a.rounds):
                    lines.append(
                        peers["phicoll"].probe(draw.randrange(1 << 32))["pingpong_ns"] or float("nan")
                    )
                    for subject in draw.sample(subjects, len(subjects)):
                        name, algorithm = subject
                        more: dict[str, Any] = {"seed": draw.randrange(1 << 32)}
                        if name == "phicoll":
                            more["algorithm"] = algorithm
                        else:
                            more["offset"] = 64 * draw.randrange(64)
                        try:
                            sample = peers[name].run(
                                operation if name == "phicoll" else MPI_NAMES[operation],
                                size, a.calls or calls_for(size, ranks), a.mode, a.buffers, cap_ms=a.cap_ms, **more,
                            )  # fmt: skip
                        except ERRORS as error:
                            if subject not in wrong:
                                print(f"collectives: {error}", file=sys.stderr)
                            wrong.add(subject)
                            if getattr(peers[name], "failed", None) and name == "phicoll":
                                peers[name] = PhicollPeer(ranks, cpus, kind=a.kind)
                            continue
                        if not sample["verified"]:
                            print(f"collectives: wrong: {subject}: {sample.get('error')}", file=sys.stderr)
                            wrong.add(subject)
                        values[subject].append(sample["ns"])
                        if name == "phicoll" and algorithm == algorithms[0]:
                            effective = sample["effective"]
                medians = {s: statistics.median(v) for s, v in values.items() if v}
                row = f"{size:10d}"
                for s in subjects:
                    text = mpi_peers.duration(medians[s]) if s in medians else "-"
                    row += f"{text + ('!' if s in wrong else ''):>{width}s}"
                ours = [medians[s] for s in subjects if s[0] == "phicoll" and s in medians]
                theirs = [medians[s] for s in subjects if s[0] != "phicoll" and s in medians]
                row += f"{min(ours) / statistics.median(lines):9.2f}" if ours else f"{'-':>9s}"
                row += f"{min(ours) / min(theirs):13.3f}" if ours and theirs else f"{'-':>13s}"
                print(row + f"  {effective}", flush=True)
    finally:
        for peer in peers.values():
            peer.close()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--operations", default="broadcast,reduce,allreduce,allgather,alltoall")
    parser.add_argument("--sizes", default="8,4K,64K,1M")
    parser.add_argument("--ranks", default="2")
    parser.add_argument("--algorithms", default="auto", help="phicoll's, side by side")
    parser.add_argument(
        "--mpi", default=",".join(mpi_peers.available()), help="default: all that are set up; or none"
    )
    parser.add_argument("--mode", default="loop", choices=["loop", "window"])
    parser.add_argument("--buffers", default="fresh", choices=["fresh", "reused"])
    parser.add_argument(
        "--kind", default="processes", choices=["processes", "threads"], help="what phicoll's ranks are"
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--calls", type=int, default=0)
    parser.add_argument("--cap-ms", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=1)
    a = parser.parse_args()
    cpus = sorted(os.sched_getaffinity(0))[:2]
    for ranks in map(int, a.ranks.split(",")):
        tune(a, ranks, cpus)
    return 0


if __name__ == "__main__":
    sys.exit(main())
