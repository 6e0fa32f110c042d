"""A model of what `phicoll mpi` gives an allreduce on several nodes of 128 ranks each (docs/preload.md).

    python benchmarks/preload_model.py --sizes 8,1K --nodes 2,16,128

Within a node calls are simulated, each from a window start, as one waits for the other. Between nodes a step of
recursive doubling takes an assumed time, and as long as the bytes that all of a node's ranks send in it take. Each
simulated time can be had alone:

    phicoll run reduce --machine epyc-7742 --ranks 128 --placement balanced --sizes 8 --definition window
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from mpi_peers import size_list
from points import size_text
from tables import table

import phicoll

RANKS = 128
#: Parts of a call within a node, by who makes it: `auto` here; a usual tree of messages, and exchanges of all ranks.
PHICOLL = (("reduce", "auto"), ("broadcast", "auto"))
TREES = (("reduce", "send-receive-tree"), ("broadcast", "binomial"))
EXCHANGES = (("allreduce", "recursive-doubling"),)


def within(parts: tuple[tuple[str, str], ...], size: int, machine: str) -> float:
    """Microseconds of these calls, one after the other, within a node."""
    total = 0.0
    for operation, spec in parts:
        found = phicoll.measure(
            spec, operation=operation, ranks=RANKS, machine=machine, placement="balanced", definition="window",
            sizes=size, buffers="fresh", calls=5, warm_up=1, rounds=1, seed=1, progress=False,
        )  # fmt: skip
        total += statistics.median(v for s in found.subjects for v in found.observations.values(s)) / 1e3
    return total


def between(nodes: int, senders: int, size: int, step_us: float, gb_per_s: float) -> float:
    """Microseconds of recursive doubling between nodes, of each of which so many ranks send."""
    return math.log2(nodes) * (step_us + senders * size / (gb_per_s * 1e3))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--machine", default="epyc-7742", help="a simulated machine (default: epyc-7742)")
    parser.add_argument("--sizes", default="8,1K", help="bytes (default: 8,1K)")
    parser.add_argument("--nodes", default="2,16,128", help="powers of two (default: 2,16,128)")
    parser.add_argument("--step-us", type=float, default=1.5, help="of a step between nodes (default: 1.5)")
    parser.add_argument("--gb-per-s", type=float, default=12.5, help="that a node sends (default: 12.5)")
    a = parser.parse_args()
    rows = []
    for size in size_list(a.sizes):
        ours, trees, exchanges = (within(parts, size, a.machine) for parts in (PHICOLL, TREES, EXCHANGES))
        for nodes in map(int, a.nodes.split(",")):
            leader = between(nodes, 1, size, a.step_us, a.gb_per_s)
            mine, first = ours + leader, trees + leader
            flat = exchanges + between(nodes, RANKS, size, a.step_us, a.gb_per_s)
            others = [text for us in (flat, first) for text in (f"{us:.1f}", f"{us / mine:.2f}")]
            rows.append([size_text(size), str(nodes), f"{mine:.1f}", *others])
    head = ["bytes", "nodes", "phicoll", "MPI, all ranks", "gain", "MPI, nodes first", "gain"]
    print(table(head, rows))


if __name__ == "__main__":
    main()
