"""torch.distributed's calls on the CPU by phicoll beside gloo, in rounds: microseconds, medians over the rounds.

    build/torch/bin/python benchmarks/torch_collectives.py --ranks 2 --rounds 5 --pin

Each round makes both backends' groups anew, in processes of their own, and takes them in turn. ``plain`` is
phicoll.torch.all_reduce_. With ``--pin`` each rank has a CPU, in turn. A call's time is that of a batch of calls over
their number, on the slowest rank.
"""

import argparse
import functools
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

import phicoll.torch

SIZES = [8, 8 << 10, 64 << 10, 1 << 20, 32 << 20]


def timed(call, batch_s: float, most: int = 2000) -> float:
    """The seconds a call, on the slowest rank, of as many calls as take ``batch_s``."""
    calls = 1
    while True:
        dist.barrier()
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        took = torch.tensor([time.perf_counter() - begin], dtype=torch.float64)
        dist.all_reduce(took, dist.ReduceOp.MAX)
        if took.item() >= batch_s or calls == most:
            return took.item() / calls
        calls = min(most, max(calls + 1, int(calls * 1.3 * batch_s / took.item())))


def measure(rank: int, backend: str, folder: str, options: argparse.Namespace) -> None:
    if options.pin:
        cpus = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cpus[rank % len(cpus)]})
    torch.set_num_threads(1)
    batch = functools.partial(timed, batch_s=options.batch)
    store = dist.FileStore(f"{folder}/store", options.ranks)
    dist.init_process_group(backend, store=store, rank=rank, world_size=options.ranks)
    found = {("barrier", 0): batch(dist.barrier)}
    for nbytes in SIZES:
        for dtype in (torch.float32, torch.bfloat16):
            data = torch.zeros(nbytes // dtype.itemsize, dtype=dtype)
            name = str(dtype).removeprefix("torch.")
            found[f"all_reduce {name}", nbytes] = batch(lambda data=data: dist.all_reduce(data))
            if backend == "phicoll":
                found[f"plain {name}", nbytes] = batch(lambda data=data: phicoll.torch.all_reduce_(data))
        found["broadcast", nbytes] = batch(lambda data=data: dist.broadcast(data, 0))
    if rank == 0:
        torch.save(found, f"{folder}/found")
    dist.destroy_process_group()


def one_round(backend: str, options: argparse.Namespace) -> dict[tuple[str, int], float]:
    with tempfile.TemporaryDirectory() as folder:
        mp.start_processes(measure, (backend, folder, options), nprocs=options.ranks, start_method="spawn")
        return torch.load(Path(folder) / "found")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pin", action="store_true", help="each rank on one CPU")
    parser.add_argument("--batch", type=float, default=0.1, help="seconds of each batch")
    options = parser.parse_args()
    phicoll.torch.build()
    rounds = [{b: one_round(b, options) for b in ("gloo", "phicoll")} for _ in range(options.rounds)]
    print(f"| call | bytes | gloo, us | phicoll, us | ratio |\n|{'---|' * 5}")
    for call, nbytes in rounds[0]["phicoll"]:
        of_gloo = call.replace("plain", "all_reduce"), nbytes
        gloo, own = (
            statistics.median(one[b][key] for one in rounds) * 1e6
            for b, key in (("gloo", of_gloo), ("phicoll", (call, nbytes)))
        )
        print(f"| {call} | {nbytes} | {gloo:.1f} | {own:.1f} | {own / gloo:.3f} |")


if __name__ == "__main__":
    sys.exit(main())
