"""Broadcasts of panigrahi-2014 and allreduces of namashivayam-2014 on the simulated Xeon Phi SE10P."""

from __future__ import annotations

import numpy as np

from phicoll.papers.validation.points import Check, Collective, Effort, Explained, changed
from phicoll.papers.validation.quantity import HELD_OUT, Quantity
from phicoll.papers.validation.ranked import by_rank, geomean, judged, spread

__all__ = ["allreduces", "broadcasts"]

PAPER, PAPER_003 = "panigrahi-2014", "namashivayam-2014"
#: Why large broadcasts grow with their processes.
INVALIDATED = (
    "A line that the root stores again is held by the caches of all cores, which its directory asks one after another; a context's stores "
    "have three such lines under way."
)
ONE = "centralized:region=32768:flags=bytes:reset=unset"
TWO = "double-buffered:region=32768:flags=bytes:reset=unset"
PIPES = (ONE, TWO)
PUT_GET = {
    name: f"{spec}:transfer=put-get"
    for name, spec in (
        ("FT", "flat-tree"),
        ("RD", "recursive-doubling"),
        ("BR", "bruck"),
        ("RSAG", "rabenseifner"),
    )
}
LOAD_STORE = {name: spec.replace("put-get", "load-store") for name, spec in PUT_GET.items()}
#: "Left computes" against exchanging by copies.
LEFT = "recursive-doubling:transfer=load-store:left_computes=yes"
COPIED = "recursive-doubling:transfer=load-store:exchange=copied"


def kb(size: int) -> str:
    return f"{size >> 10} KB" if size >= 1024 else f"{size} B"


def broadcasts(machine: str, effort: Effort) -> Check:
    """Figures 5 (b) and 6: one buffer of 32 KB, two halves of it, and 512 KB from 2 to 244 processes."""
    most = 244 if effort.rank_step < 50 else 61
    sizes = (64 << 10, 128 << 10) if effort.rank_step < 50 else (64 << 10,)
    short, long = 256, 512 << 10 if effort.rank_step < 50 else 64 << 10
    # A long message differs little from seed to seed, and takes the longest of all to simulate.
    few, least = min(effort.seeds, 6), min(effort.seeds, 2)

    def point(spec: str, ranks: int, size: int) -> Collective:
        seeds = least if size == long else few if size > short else effort.seeds
        return Collective(machine, "broadcast", spec, ranks, size, seeds)

    found = yield [
        *(point(spec, most, size) for spec in PIPES for size in sizes),
        *(point(spec, ranks, size) for spec in PIPES for size in (short, long) for ranks in (2, most)),
        Explained(machine, "broadcast", TWO, 61, 128 << 10),
    ]  # fmt: skip
    one, two = (np.array(found[i * len(sizes) : (i + 1) * len(sizes)]) for i in range(2))
    ends = found[2 * len(sizes) : -1]
    gain = one / two  # size x seed
    grown = {
        size: [float(geomean(ends[4 * i + 2 * j + 1]) / geomean(ends[4 * i + 2 * j])) for i in range(2)]
        for j, size in enumerate((short, long))
    }
    asked = found[-1]["upgrades"]
    lines = (128 << 10) // 64
    under = f"{most} processes, a region of 32 KB"
    by_size = ", ".join(f"{kb(s)} {float(geomean(g)):.2f}" for s, g in zip(sizes, gain, strict=True))
    growth = ", ".join(f"{n} {g:.1f}" for n, g in zip(("one buffer", "two"), grown[long], strict=True))
    # Of the paper's sizes: those, and the long message.
    gains = [*(float(geomean(g)) for g in gain), float(geomean(ends[3] / ends[7]))]
    group, times = f"Broadcasts of {most} processes", "times"
    return [
        *(Quantity(group, f"one buffer / two, {word} gain from {kb(sizes[0])} to {kb(long)}", HELD_OUT, published, found, times,
                   f"{PAPER} section VI, figure 6 (a)", claim="000-27", why=INVALIDATED)
          for word, published, found in (("least", 1.5, min(gains)), ("largest", 2.0, max(gains)))),
        *(Quantity(group, f"{kb(long)} by {name}, {most} processes / 2", HELD_OUT, 1.0, found, times,
                   f"{PAPER} section VI, figure 6 (b): \"hardly any extra latency\"", claim="000-29", why=INVALIDATED)
          for name, found in zip(("one buffer", "two buffers"), grown[long], strict=True)),
        by_rank("000-27", [bool((g >= 1.5).all() and (g <= 2).all()) for g in gain.T],
                f"Two buffers are {by_size} times as fast as one; 1.5 to 2 as stated.", under),
        judged("000-29", max(grown[long]) < 1.25, f"{kb(long)} takes {growth} times as long with {most} processes as with 2; hardly: below 1.25.",
               "", over=least),
        by_rank("000-30", [bool((g > 1).all()) for g in gain.T],
                f"Two buffers save {(1 - 1 / gain.max()):.0%} at most, {(1 - 1 / gain.min()):.0%} at least: where one buffer makes receivers wait, a "
                "second must save time.", under),
        judged("000-31", asked < lines, f"The root stores {lines:,} lines a call; {asked:,.0f} stores of all ranks, flags among them, ask a directory for a line that is shared, as "
               "receivers' copies must be invalidated. It hits if fewer ask than the root stores.", "61 processes, 128 KB", over=1),
        judged("000-32", all(a < b for a, b in zip(grown[long], grown[short], strict=True)),
               f"From 2 to {most} processes {kb(short)} takes {', '.join(f'{g:.1f}' for g in grown[short])}, {kb(long)} {', '.join(f'{g:.1f}' for g in grown[long])} times "
               "as long (one buffer, two).", "", over=least),
    ]  # fmt: skip


def allreduces(machine: str, effort: Effort) -> Check:
    """Figures 7 to 10, 64 processes, 32-bit integers: put and get, loads and stores, and the further steps."""
    ranks = 64 if effort.rank_step < 50 else 16
    small, large = (512, 4096), 64 << 10 if effort.rank_step < 50 else 16 << 10
    few = min(effort.seeds, 6)
    still = changed(machine, "ring.hop=0")
    # Partners near and far: contexts of cores in order, and in an order in which the first partners are half a ring apart.
    far = ",".join(str(4 * (i // 2 + 30 * (i % 2))) for i in range(16))
    near = ",".join(str(4 * i) for i in range(16))

    def point(
        spec: str, size: int, n: int = ranks, at: str = machine, placement: str = "balanced"
    ) -> Collective:
        return Collective(
            at, "allreduce", spec, n, size, few if size > 4096 else effort.seeds, "int32", placement
        )

    every = [*PUT_GET.values(), *LOAD_STORE.values()]
    rd, rsag = PUT_GET["RD"], PUT_GET["RSAG"]
    # Between the paper's 4 KB and its large arrays.
    between = (8 << 10, 16 << 10) if effort.rank_step < 50 else ()
    found = yield [
        *(point(spec, size) for spec in every for size in (*small, large)),
        *(point(PUT_GET[name], size) for size in between for name in ("RD", "RSAG")),
        *(point(spec, large) for spec in (LEFT, COPIED)),
        *(point(spec, large, at=still) for spec in (rd, rsag)),
        *(point(spec, 4096, n) for spec in (LOAD_STORE["RD"], LOAD_STORE["RSAG"]) for n in (ranks, 2 * ranks)),
        *(point(LOAD_STORE["RD"], 4096, 16, placement=p) for p in (near, far)),
    ]  # fmt: skip
    at = {
        (spec, size): found[i]
        for i, (spec, size) in enumerate((s, z) for s in every for z in (*small, large))
    }
    pairs = found[len(at) : len(at) + 2 * len(between)]
    left, copied, rd_still, rsag_still, rd_64, rd_128, rsag_64, rsag_128, nearest, farthest = found[
        len(at) + len(pairs) :
    ]
    ahead = {size: float(geomean(at[PUT_GET["RD"], size] / at[PUT_GET["RSAG"], size])) for size in small}
    ahead |= {
        size: float(geomean(a / b)) for size, a, b in zip(between, pairs[::2], pairs[1::2], strict=True)
    }
    best = max((size for size, ratio in ahead.items() if ratio < 1), default=min(small))

    def first(name: str, size: int) -> list[bool]:
        others = np.min([at[PUT_GET[other], size] for other in PUT_GET if other != name], axis=0)
        return list(map(bool, at[PUT_GET[name], size] < others))

    def us(size: int) -> str:
        return ", ".join(f"{n} {float(geomean(at[spec, size])) / 1000:.1f}" for n, spec in PUT_GET.items())

    under = f"{ranks} processes, put and get, us"
    flat = at[PUT_GET["FT"], large] > np.max([at[PUT_GET[n], large] for n in ("RD", "BR", "RSAG")], axis=0)
    small_flat = at[PUT_GET["FT"], 4096] > np.max(
        [at[PUT_GET[n], 4096] for n in ("RD", "BR", "RSAG")], axis=0
    )
    gains = {
        n: [float(geomean(at[PUT_GET[n], z] / at[LOAD_STORE[n], z])) for z in (*small, large)]
        for n in PUT_GET
    }
    better = [
        all(at[LOAD_STORE[n], z][s] < at[PUT_GET[n], z][s] for n in PUT_GET for z in (*small, large))
        for s in range(few)
    ]
    lead = float(geomean(at[rd, large] / at[rsag, large]))
    lead_still = float(geomean(rd_still / rsag_still))
    apart = spread([float(geomean(nearest)), float(geomean(farthest))])
    return [
        Quantity("Allreduces by put and get", "largest array of which recursive doubling beats Rabenseifner's", HELD_OUT, 4.0, best / 1024, "KB",
                 f"{PAPER_003} section 5.1.5, figure 7", claim="003-09",
                 why=f"At most this: the smallest array tried is {kb(min(small))}."),
        by_rank("003-08", [bool(a and b) for a, b in zip(flat, small_flat[:few], strict=True)],
                f"{kb(4096)}: {us(4096)}; {kb(large)}: {us(large)}.", under),
        by_rank("003-09", [a and b for a, b in zip(first("RD", small[0]), first("RD", small[1]), strict=True)],
                f"{kb(small[0])}: {us(small[0])}; {kb(small[1])}: {us(small[1])}.", under),
        by_rank("003-10", first("RSAG", large), f"{kb(large)}: {us(large)}.", under),
        by_rank("003-12", better, "Put and get / loads and stores: "
                + "; ".join(f"{n} {', '.join(f'{g:.2f}' for g in of)}" for n, of in gains.items())
                + f" at {', '.join(map(kb, (*small, large)))}.", f"{ranks} processes"),
        by_rank("003-14", [bool(x) for x in left < 0.9 * copied],
                f"Left computes takes {float(geomean(left / copied)):.2f} times as long at {kb(large)} as copies through a receive buffer, which the paper says "
                f"that it avoids, and {float(geomean(left / at[LOAD_STORE['RD'], large])):.2f} times as long as where each reads the other's array in place; "
                "significant: more than 10 %.",
                f"{ranks} processes"),
        by_rank("003-20", [bool(a and b) for a, b in zip(rd_128 < rd_64, rsag_128 < rsag_64, strict=True)],
                f"{2 * ranks} / {ranks} processes at {kb(4096)}: recursive doubling {float(geomean(rd_128 / rd_64)):.2f}, Rabenseifner's "
                f"{float(geomean(rsag_128 / rsag_64)):.2f}.", "the reduction alone; IS's buckets"),
        judged("003-21", lead_still < 0.9 * lead, f"Recursive doubling / Rabenseifner's at {kb(large)}: {lead:.2f}, {lead_still:.2f} on a ring without "
               "distance; it must lose a tenth of its lead. The ring's links have no queues in the model.", "what if: ring.hop = 0", over=few),
        judged("003-23", apart < 0.05, f"Recursive doubling of 16 processes, first partners next to each other or half a ring apart: {apart:.1%} between them; no "
               "matter: below 5 %.", "4 KB, loads and stores", over=effort.seeds),
    ]  # fmt: skip
