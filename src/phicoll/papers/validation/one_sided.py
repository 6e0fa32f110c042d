"""Put and get beside loads and stores: namashivayam-2014's figures 3 to 5 on a simulated machine.

A library's put or get is a call and a copy, and the paper does not say what a call costs. The largest gain of bandwidth that
it prints sets that cost: short transfers in a row hardly depend on where lines lie. The largest saving of latency, which does
depend on it, is held out.
"""

from __future__ import annotations

import numpy as np

from phicoll.papers.claims import CALIBRATED as SET_A_PARAMETER
from phicoll.papers.validation.points import Check, Effort, Kernel
from phicoll.papers.validation.quantity import (
    CALIBRATED,
    CALIBRATED_BOUND,
    HELD_OUT,
    HELD_OUT_BOUND,
    Quantity,
)
from phicoll.papers.validation.ranked import judged
from phicoll.registry.machines import load_machine

__all__ = ["CALL", "one_sided"]

#: Cycles of a call: with them loads and stores have at most 12 times the bandwidth.
CALL = 187
CALLS = (0, CALL)
WAYS = ("put", "get")
PAPER = "namashivayam-2014"
SHORT = (8, 64, 512, 2048)
LONG = (8, 512, 4096, 16384, 32768, 131072)
ABOVE = 16384
#: A ratio of bandwidths below this is a small difference.
SMALL = 1.25
PAIRS = (1, 30)


def one_sided(machine: str, effort: Effort) -> Check:
    """Figures 3 to 5: the latency of one transfer, and the bandwidth of many, of one pair and of 30."""
    seeds = effort.all_seeds
    latencies = [(way, size, call) for way in WAYS for size in SHORT for call in CALLS]
    rates = [(way, pairs, size, call) for way in WAYS for pairs in PAIRS for size in LONG for call in CALLS]
    found = yield [
        *(Kernel(machine, f"{way}:bytes={size}:call={call}:transfers=1:remote=written", 2, "scatter", 10, seed)
          for way, size, call in latencies for seed in seeds),
        *(Kernel(machine, f"{way}:bytes={size}:call={call}:transfers={max(1, min(64, 65536 // size))}", 2 * pairs, "scatter", 2)
          for way, pairs, size, call in rates),
    ]  # fmt: skip
    means = np.array([np.concatenate(one).mean() for one in found])
    k = len(latencies) * len(seeds)
    latency = means[:k].reshape(len(WAYS), len(SHORT), len(CALLS), len(seeds))
    time = means[k:].reshape(len(WAYS), len(PAIRS), len(LONG), len(CALLS))
    saved = 1 - latency[:, :, 0].mean(axis=-1) / latency[:, :, 1].mean(axis=-1)
    gained = time[..., 1] / time[..., 0]
    above = gained[:, :, [i for i, size in enumerate(LONG) if size > ABOVE]]
    by_size = ", ".join(f"{size} B {row:.0%}" for size, row in zip(SHORT, saved.max(axis=0), strict=True))
    gain = Quantity("Put and get", "bandwidth that loads and stores gain, at most", CALIBRATED, 12, float(gained.max()), "times",
                    f"{PAPER} abstract, figures 4 and 5", CALIBRATED_BOUND, "003-02")  # fmt: skip
    most = Quantity("Put and get", "latency that they save, at most", HELD_OUT, 60, 100 * float(saved.max()), "%",
                    f"{PAPER} abstract, figure 3", HELD_OUT_BOUND, "003-01")  # fmt: skip
    near = [size for i, size in enumerate(LONG) if gained[:, :, i].max() < SMALL]
    until = Quantity("Put and get", f"smallest block from which they gain less than {SMALL - 1:.0%}", HELD_OUT, 16, min(near, default=LONG[-1]) / 1024,
                     "KB", f"{PAPER} section 4.1, figures 4 and 5", claim="003-03",
                     why="A call is a constant number of cycles here, which a copy of 4 KB hides; what a library's put does of a block beside the copy is not published.")  # fmt: skip
    under = f"a call of {CALL} cycles, which 12 times set"
    # What 60 % would ask for, and the bandwidth with it.
    asked = 1.5 * float(latency[:, :, 0].mean(axis=-1).min()) * cycles_a_ns(machine)
    instead = 1 + (float(gained.max()) - 1) * asked / CALL
    return [
        gain,
        most,
        until,
        judged("003-01", bool((saved > 0).all() and abs(most.error) <= most.bound),
               f"At most {saved.max():.0%} ({by_size}); gets save {saved[1, 0]:.0%} at {SHORT[0]} B, puts with their quiet {saved[0, 0]:.0%}. "
               f"60 % would ask for {asked:.0f} cycles, and give {instead:.0f} times the bandwidth.", f"{under}; mean of {len(seeds)} seeds"),
        judged("003-02", bool((gained > 1).all() and abs(gain.error) <= gain.bound),
               f"Up to {gained.max():.1f} times, at {LONG[0]} B; {gained[:, :, LONG.index(512)].max():.1f} at 512 B, "
               f"{gained[:, :, LONG.index(4096)].max():.2f} at 4 KB.", under, yes=SET_A_PARAMETER),
        judged("003-03", bool(above.max() < SMALL),
               f"Above 16 KB at most {above.max():.2f} times, with {' and '.join(map(str, PAIRS))} pairs; small: below {SMALL:g}.", under),
    ]  # fmt: skip


def cycles_a_ns(machine: str) -> float:
    return load_machine(machine).parameters["topology.clock_mhz"] / 1000
