"""Collectives of velamati-2007 on the simulated blade of two Cells, eight SPEs on each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from phicoll.papers.claims import BUILT_IN, Finding, claim
from phicoll.papers.validation.points import Check, Collective, Effort, Kernel
from phicoll.papers.validation.quantity import HELD_OUT, Quantity
from phicoll.papers.validation.ranked import by_rank, geomean, judged
from phicoll.registry.machines import load_machine

__all__ = ["barriers", "broadcasts", "bus", "commands", "reductions"]

END = ":trailing=barrier"
SMALL, MIDDLE, LARGE = 128, 8 << 10, 256 << 10
ALL = 16


def taken(
    machine: str, operation: str, specs: Sequence[str], ranks: int, size: int, effort: Effort
) -> list[Collective]:
    combined = "int32" if operation == "reduce" else ""
    return [Collective(machine, operation, s, ranks, size, effort.seeds, combined, "compact") for s in specs]


def best(*times: np.ndarray) -> np.ndarray:
    return np.min(times, axis=0)


def order(number: str, faster: np.ndarray, slower: np.ndarray, what: str) -> Finding:
    """A finding on ``faster`` taking less time than ``slower`` in a seed."""
    ratio = slower / faster
    return by_rank(number, [bool(r > 1) for r in ratio], f"{what}: {float(geomean(ratio)):.2f} times.")


def bus(machine: str, effort: Effort) -> Check:
    """What SPEs of a chip read out of each other's local stores: commands of 16 KB without end."""
    stores = f"{machine}:local.data=store"
    get = "get:bytes=32768:transfers=16:pattern=neighbours"
    pairs = [
        (f"{get}:directions=one", 2),
        (f"{get}:directions=both", 6),
        (f"{get}:directions=both", ALL // 2),
    ]
    short, long = 8 << 10, 16 << 10
    few, many, *found = yield [
        *(p for size in (short, long) for p in taken(stores, "broadcast", ["one-to-all-shifted:shift=0"], 6, size, effort)),
        *(Kernel(stores, spec, ranks, "compact", 3, bandwidth=True) for spec, ranks in pairs),
    ]  # fmt: skip
    five = 5 * (long - short) / float(geomean(many) - geomean(few))
    one, three, four = (float(rates[0].mean()) for rates in found)
    console = "sagemono/cellmark, docs/cell_tuning.md section 3, measured on a PlayStation 3"
    return [
        Quantity("Bus of a chip", "one SPE reads another's store", HELD_OUT, 23.58, one, "GB/s", f"{console}: reader-count sweep"),
        Quantity("Bus of a chip", "five SPEs read one store", HELD_OUT, 23.71, five, "GB/s", f"{console}: reader-count sweep"),
        Quantity("Bus of a chip", "three pairs of SPEs read from each other", HELD_OUT, 114.73, three, "GB/s", f"{console}: pairs",
                 why="Nothing makes a store's way in wait for its way out. Something that did would take the four pairs below to 153 GB/s, so that no model of equal stores has both."),
        Quantity("Bus of a chip", "four pairs of SPEs read from each other", HELD_OUT, 200.0, four, "GB/s",
                 "Kistler, Perrone and Petrini 2006, abstract: almost 200 GB/s, by which pattern it does not say; the bound that Ainsworth and Pinkston 2007 derive from the command bus is 204.8"),
    ]  # fmt: skip


def commands(machine: str, effort: Effort) -> Check:
    """Section 2's observations on single transfers, and OTA's shift of section 3.3."""
    pair = "pairwise-exchange"
    shifted = ("one-to-all-shifted:shift=0", "one-to-all-shifted")
    wide = ":".join(
        [machine, *(f"dma.{of}_rate=1000000" for of in ("controller", "bus", "link")), "dma.rings=0"]
    )
    found = yield [
        *(p for buffer in (128, 16384) for p in taken(f"{machine}:dma.buffer={buffer}", "broadcast", ["root-copies"], 2, LARGE, effort)),
        *(p for chips in (1, 2) for p in taken(f"{machine}:topology.cores=2:topology.packages={chips}", "barrier", [pair], 2, 0, effort)),
        *taken(machine, "barrier", [pair, "dissemination"], 4, 0, effort),
        *(p for ranks in (4, ALL) for p in taken(machine, "broadcast", shifted, ranks, LARGE, effort)),
        *(p for at in (machine, wide) for p in taken(at, "broadcast", shifted[:1], ALL, 2048, effort)),
    ]  # fmt: skip
    short, long, near, far, exchange, separate, *shifts, crowded, alone = found
    rates = [load_machine(machine).parameters[f"dma.{of}_rate"] / 1000 for of in ("store", "memory")]
    equal = float(geomean(separate / exchange))
    gain = [float(geomean(shifts[i] / shifts[i + 1])) for i in (0, 2)]
    return [
        Finding(claim("002-01"), BUILT_IN, f"dma.store_rate is {rates[0]:g}, dma.memory_rate {rates[1]:g} GB/s, as published.", "modelled"),
        order("002-02", long, short, "Commands of 128 B over ones of 16 KB, 256 KB copied by one SPE"),
        order("002-03", near, far, "A barrier of two SPEs on two chips over one of two on one"),
        judged("002-04", bool((crowded > alone).all() and crowded.std() > alone.std()),
               f"16 SPEs read the root's 2 KB at once: {float(geomean(crowded / alone)):.2f} times as long as where buses, link and controller are never "
               f"short; the deviation over seeds is {crowded.std():.0f} instead of {alone.std():.0f} ns."),
        judged("002-11", abs(equal - 1) < 0.05, f"Four SPEs of a chip, two phases: dissemination / pairwise exchange {equal:.2f}; no faster: within 5 %."),
        judged("002-16", gain[0] > 1.02 and abs(gain[1] - 1) < 0.02, f"No shift over a shift at 256 KB: {gain[0]:.2f} times on 4, {gain[1]:.2f} on 16; to help: 2 %. Banks of memory are not in the model."),
    ]  # fmt: skip


def barriers(machine: str, effort: Effort) -> Check:
    """Figure 2: TREE by its degree; OTA, SIG, TREE, pairwise exchange and dissemination on two chips."""
    specs = ("one-to-all", "signal-register:release=flags", "pairwise-exchange", "dissemination:layout=packed",
             *(f"k-nomial-tree:degree={k}" for k in (2, 3, 4, 5, 8)))  # fmt: skip
    by_list = ("one-to-all", "one-to-all:transfer=list")
    ota, sig, pe, dis, *more = yield [
        *taken(machine, "barrier", specs, ALL, 0, effort),
        *(p for ranks in (4, 8, ALL) for p in taken(machine, "barrier", by_list, ranks, 0, effort)),
    ]
    trees, lists = more[:5], [b / a for a, b in zip(more[5::2], more[6::2], strict=True)]
    two, three, four, five, eight = trees
    us = ", ".join(
        f"{k}: {float(geomean(t)) / 1000:.2f}" for k, t in zip((2, 3, 4, 5, 8), trees, strict=True)
    )
    good = [
        bool(max(a, b) < min(c, d) and e > max(a, b))
        for a, b, c, d, e in zip(two, four, three, five, eight, strict=True)
    ]
    worse = [bool(a >= 1 and b > 1 and c > 1) for a, b, c in zip(*lists, strict=True)]
    return [
        by_rank("002-05", worse, f"OTA by a list over OTA by puts, 4, 8, 16 SPEs: {', '.join(f'{float(geomean(r)):.2f}' for r in lists)} times."),
        order("002-06", ota, sig, "SIG over OTA"),
        by_rank("002-07", good, f"us by degree: {us}; 2 and 4 below 3, 5 and 8. Code that is faster for powers of two is not in the model."),
        order("002-08", best(pe, dis), best(ota, sig, *trees), "Gather and broadcast over PE and DIS, best against best, 16 SPEs"),
        order("002-09", pe, dis, "DIS over PE, 16 SPEs"),
    ]  # fmt: skip


def broadcasts(machine: str, effort: Effort) -> Check:
    """Figure 3 and the parameters of section 3.3."""
    main = {
        "TREEMM 2": f"tree-copy:degree=2{END}", "TREEMM 3": f"tree-copy:degree=3{END}", "TREEMM 4": f"tree-copy:degree=4{END}",
        "OTA": f"one-to-all-shifted{END}", "G": f"root-copies{END}", "AG": f"piece-per-rank:minimum=2048{END}",
        "TREE 3": f"local-store-tree:degree=3{END}", "TREE 1": f"local-store-tree:degree=1{END}",
    }  # fmt: skip
    pieces = {n: f"piece-per-rank:minimum={n}{END}" for n in (128, 1024, 2048, 4096, 8192)}
    tree = "local-store-tree:degree=3"
    more = (
        f"{tree}:piece=4096{END}",
        f"{tree}:piece=16384{END}",
        f"{tree}:buffers=2{END}",
        f"{tree}:buffers=1{END}",
    )
    points = [
        point
        for ranks, size in ((4, SMALL), (ALL, SMALL), (ALL, 32 << 10), (ALL, LARGE))
        for point in taken(machine, "broadcast", list(main.values()), ranks, size, effort)
    ]
    points += taken(machine, "broadcast", list(pieces.values()), ALL, MIDDLE, effort)
    points += taken(machine, "broadcast", more, ALL, LARGE, effort)
    found = yield points
    rows = iter(found)
    g4, small, middle, large = ({name: next(rows) for name in main} for _ in range(4))
    by_piece = {n: next(rows) for n in pieces}
    four, sixteen, two, one = rows

    def others(of: dict[str, np.ndarray], *without: str) -> np.ndarray:
        return best(*(times for name, times in of.items() if name not in without))

    choice = [
        bool(a and b and c)
        for a, b, c in zip(
            g4["G"] <= 1.1 * others(g4, "G"), small["TREE 3"] <= 1.1 * others(small, "TREE 3"), middle["AG"] <= 1.1 * others(middle, "AG"), strict=True
        )
    ]  # fmt: skip
    degrees = [
        bool(t <= 1.1 * min(a, b) and a >= 0.9 * max(t, b))
        for a, t, b in zip(*(small[f"TREEMM {k}"] for k in (2, 3, 4)), strict=True)
    ]
    rate = ALL * LARGE / float(geomean(others(large)))
    return [
        judged("002-14", abs(float(geomean(four / sixteen)) - 1) < 0.1, f"4 KB / 16 KB at 256 KB: {float(geomean(four / sixteen)):.2f}; about as well: within 10 %."),
        order("002-15", two, one, "One buffer over two at 256 KB"),
        order("002-17", best(by_piece[2048], by_piece[4096]), best(by_piece[128], by_piece[1024], by_piece[8192]), "Other smallest pieces over 2 and 4 KB, at 8 KB"),
        by_rank("002-18", degrees, "TREEMM at 128 B, where degrees differ most, us by degree: " + ", ".join(f"{k}: {float(geomean(small[f'TREEMM {k}'])) / 1000:.2f}" for k in (2, 3, 4)) + "; near: 10 %."),
        order("002-19", large["TREE 1"], large["TREE 3"], "TREE of degree 3 over the pipeline at 256 KB"),
        by_rank("002-20", choice, "G at 128 B on 4, TREE of degree 3 at 128 B and AG at 32 KB on 16 are within 10 % of the best other."),
        judged("002-21", 0.75 * 25.6 <= rate <= 25.6, f"The best at 256 KB moves {rate:.1f} GB/s, one read and 15 writes; near the peak: three quarters of 25.6 or more."),
    ]  # fmt: skip


def reductions(machine: str, effort: Effort) -> Check:
    """Figure 4: TREE by degree, AG, and TREEMM over sends and receives; 32-bit integers."""
    main = {**{f"TREE {k}": f"local-store-tree:degree={k}{END}" for k in (1, 2, 3, 4)},
            "AG": "piece-per-rank:least=2048", "SR": "send-receive-tree"}  # fmt: skip
    settings = ((4, SMALL), (4, LARGE), (8, LARGE), (ALL, SMALL), (ALL, 32 << 10), (ALL, LARGE))
    broadcast = (f"local-store-tree:degree=3{END}", f"piece-per-rank:minimum=2048{END}")
    found = yield [
        *(
            p
            for ranks, size in settings
            for p in taken(machine, "reduce", list(main.values()), ranks, size, effort)
        ),
        *taken(machine, "broadcast", broadcast, ALL, LARGE, effort),
    ]
    rows = iter(found)
    of = {setting: {name: next(rows) for name in main} for setting in settings}
    sent = best(*rows)

    def others(setting: tuple[int, int], *without: str) -> np.ndarray:
        return best(*(times for name, times in of[setting].items() if name not in without))

    four = of[4, SMALL]
    at_four = [
        bool(f <= min(a, b) and max(a, b) < 1.25 * f and ag < rest)
        for a, b, f, ag, rest in zip(four["TREE 2"], four["TREE 3"], four["TREE 4"], of[4, LARGE]["AG"], others((4, LARGE), "AG"), strict=True)
    ]  # fmt: skip
    cross = [
        bool(a and b)
        for a, b in zip(of[ALL, 32 << 10]["AG"] < others((ALL, 32 << 10), "AG"), of[ALL, LARGE]["TREE 1"] < others((ALL, LARGE), "TREE 1"), strict=True)
    ]  # fmt: skip
    return [
        order("002-22", of[ALL, SMALL]["TREE 3"], others((ALL, SMALL), "TREE 3", "AG", "SR"), "The best other TREE over degree 3, 128 B on 16"),
        by_rank("002-23", at_four, "On 4: degree 4 first at 128 B, 2 and 3 within a quarter of it, AG first at 256 KB."),
        by_rank("002-24", cross, "On 16: AG first at 32 KB, the pipeline at 256 KB."),
        order("002-26", sent, others((ALL, LARGE), "SR"), "Reduction over broadcast, best against best, 256 KB on 16"),
        order("002-27", others((8, LARGE), "SR"), of[8, LARGE]["SR"], "Sends and receives over the best, 256 KB on 8"),
    ]  # fmt: skip
