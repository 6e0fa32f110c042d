"""Memory and barriers of panigrahi-2014 on the simulated Xeon Phi SE10P: 61 cores, up to 244 processes."""

from __future__ import annotations

import numpy as np

from phicoll.papers.claims import Finding
from phicoll.papers.validation.points import Barrier, Check, Effort, Kernel, changed
from phicoll.papers.validation.quantity import HELD_OUT, NOT_CLAIMED, Quantity
from phicoll.papers.validation.ranked import by_rank, geomean, judged, medians, spread

__all__ = ["barriers", "dispatch", "distance", "distinct_lines", "one_line"]

TREE = "tree:degree=6:reset=unset"
TREES = (TREE, "binomial-tree:release_degree=6", "tournament-tree:release_degree=6")
BYTES, LINES = "centralized-bytes", "centralized-lines"
#: Paper 000 gives a rank one line for all rounds. Its flags are set and unset.
DISSEMINATION = "dissemination:ways=1:layout=line-per-rank:reset=unset"
PAPER = (*TREES, BYTES, LINES, DISSEMINATION)


def short(spec: str) -> str:
    return spec.split(":")[0]


def samples(effort: Effort) -> int:
    return max(4, effort.samples // 100)


def one_line(machine: str, effort: Effort) -> Check:
    """Figures 2 and 4: one line, or a few, of a root, read by all; and what the directories have to do with it."""
    ranks = (2, 16, 31, 61, 92, 122, 152, 183, 213, 244) if effort.rank_step < 50 else (2, 61, 122, 244)
    seeds = effort.all_seeds
    n = samples(effort)
    free = "directory.latency=0:directory.service=0:directory.acknowledge=0"
    what = {
        "unchanged": "",
        "directories that take no time": free,
        "directories and owners that take no time": f"{free}:owner.latency=0:owner.service=0",
        "a ring without distance": "ring.hop=0",
        "both, and the owner": f"{free}:owner.latency=0:owner.service=0:ring.hop=0:ring.inject=0",
        "contexts of a core sharing a read (merge_reads)": "request.merge_reads=on",
    }
    lines = (1, 4, 16, 64)
    # What readers of many lines wait for: with lines hashed over directories, and with one.
    spreads = ("", "topology.directories=1", "topology.directories=1:directory.service=0", "owner.service=0")
    few = seeds[:5]
    found = yield [
        *(Kernel(machine, "read-by-all:pattern=root", p, "scatter", n, s) for s in seeds for p in ranks),
        *(Kernel(changed(machine, change), "read-by-all:pattern=root", p, "scatter", n, s) for change in what.values() for p in (61, 122, 244) for s in few),
        *(Kernel(machine, f"read-by-all:pattern=root:lines={k}", 244, "scatter", 4, s) for k in lines for s in few),
        *(Kernel(changed(machine, change), "read-by-all:pattern=root:lines=64", 61, "scatter", 4, s) for change in spreads for s in few),
    ]  # fmt: skip
    means = np.array([np.concatenate(one).mean() for one in found])
    curve = means[: len(seeds) * len(ranks)].reshape(len(seeds), len(ranks))
    rest = means[len(seeds) * len(ranks) :]
    ablation = rest[: len(what) * 3 * len(few)].reshape(len(what), 3, len(few)).mean(axis=2)
    rest = rest[len(what) * 3 * len(few) :]
    sizes = rest[: len(lines) * len(few)].reshape(len(lines), len(few)).mean(axis=1)
    hashed, single, idle, fast = rest[len(lines) * len(few) :].reshape(len(spreads), len(few)).mean(axis=1)
    at = np.array(ranks, dtype=float)
    mean = curve.mean(axis=0)
    r2 = 1 - ((mean - np.polyval(np.polyfit(at, mean, 1), at)) ** 2).sum() / ((mean - mean.mean()) ** 2).sum()
    slopes = {name: (row[2] - row[0]) / (244 - 61) for name, row in zip(what, ablation, strict=True)}
    base = slopes["unchanged"]
    half = at >= 122
    early = [float(np.polyfit(at[~half], c[~half], 1)[0]) for c in curve]
    late = [float(np.polyfit(at[half], c[half], 1)[0]) for c in curve]
    words = "; ".join(f"{name} {slope:.1f}" for name, slope in slopes.items())
    cut = slopes["directories and owners that take no time"]
    return [
        judged("000-02", bool(r2 > 0.99 and np.mean(late) >= np.mean(early)), f"{mean[0]:.0f} ns at 2 processes, {mean[list(ranks).index(61)]:.0f} at 61, {mean[-1]:.0f} at 244; a straight "
               f"line explains {r2:.2%} (linear: above 99 %). The slope beyond 122 is {np.mean(late) / np.mean(early):.2f} times that "
               "before. request.merge_reads = off was chosen with this figure in sight (on: 000-03).",
               "mean over readers", ranks=list(ranks), ns=mean.tolist()),
        judged("000-03", slopes["directories that take no time"] < 0.5 * base,
               f"ns per further process, 61 to 244: {words}. The cause: more than half of the slope.", "what if"),
        judged("000-04", all(sizes[i] < lines[i] * sizes[0] for i in range(1, len(lines))),
               f"244 processes, us by lines: {', '.join(f'{k}: {v / 1000:.1f}' for k, v in zip(lines, sizes, strict=True))}; {lines[-1]} times one line "
               f"is {lines[-1] * sizes[0] / 1000:.0f} us."),
        judged("000-12", single > 1.1 * hashed, f"61 processes copy 64 lines of a root: {hashed / 1000:.1f} us with lines hashed over 64 directories, "
               f"{single / 1000:.1f} us with one, and {idle / 1000:.1f} us if that one takes no time for a request (directory.service = 0): "
               f"readers wait for it. With 64 and a root's cache that answers at once (owner.service = 0) {fast / 1000:.1f} us.", "what if"),
        judged("000-08", base - slopes["directories that take no time"] > base - slopes["a ring without distance"],
               f"Of {base:.1f} ns per further process, directories that take no time save {base - slopes['directories that take no time']:.1f}, with the "
               f"owners {base - cut:.1f}, a ring without distance {base - slopes['a ring without distance']:.1f}. Ring segments have no queues in the model: "
               "this is its latency, not contention.", "what if"),
    ]  # fmt: skip


def distinct_lines(machine: str, effort: Effort) -> Check:
    """Figure 3: every process reads another one's line."""
    patterns = ("next", "second", "fours")
    ranks = (16, 61, 122, 244)
    seeds = effort.all_seeds
    n = samples(effort)
    found = yield [
        *(Kernel(machine, f"read-by-all:pattern={pattern}", p, "scatter", n, s) for pattern in patterns for p in ranks for s in seeds),
        *(Kernel(machine, "read-by-all:pattern=root", p, "scatter", n, s) for p in ranks for s in seeds),
        *(Kernel(machine, "read-by-all:pattern=next:lines=256", p, "scatter", 2, 1) for p in (61, 122, 244)),
    ]  # fmt: skip
    k = len(patterns) * len(ranks) * len(seeds)
    means = np.array([np.concatenate(one).mean() for one in found[:k]]).reshape(
        len(patterns), len(ranks), len(seeds)
    )
    root = np.array([np.concatenate(one).mean() for one in found[k : k + len(ranks) * len(seeds)]]).reshape(
        len(ranks), len(seeds)
    )
    rates = [
        64 * 256 * p / float(np.concatenate(one).mean())
        for p, one in zip((61, 122, 244), found[-3:], strict=True)
    ]
    of = means.mean(axis=2)
    text = "; ".join(
        f"{pattern}: {', '.join(f'{v:.0f}' for v in row)}" for pattern, row in zip(patterns, of, strict=True)
    )
    under = f"{', '.join(map(str, ranks))} processes"
    growth = means[:, 3] / means[:, 1]
    return [
        judged("000-05", spread(of[:, 0]) < 0.1 and spread(of[:, 1]) < 0.1, f"ns by pattern: {text}. Little: below 10 %.", under),
        by_rank("000-06", [bool(np.all(growth[:, s] > 1.1)) for s in range(len(seeds))],
                f"From 61 to 244 processes {', '.join(f'{p} {g:.2f}' for p, g in zip(patterns, growth.mean(axis=1), strict=True))} times as long; "
                "significant: more than 10 %. A core's contexts take turns to issue the instructions around a copy.", under),
        by_rank("000-07", [bool(np.all(means[:, 3, s] - means[:, 1, s] < 0.25 * (root[3, s] - root[1, s]))) for s in range(len(seeds))],
                f"From 61 to 244: one line {root[3].mean() - root[1].mean():+.0f} ns, distinct lines {(of[:, 3] - of[:, 1]).max():+.0f} ns; small: "
                "below a quarter.", under),
        judged("000-10", 2 * rates[2] > 163 and rates[0] < rates[1] < rates[2],
               f"256 distinct lines each: {', '.join(f'{2 * r:.0f}' for r in rates)} GB/s in all at 61, 122 and 244 processes, read plus written as STREAM "
               f"counts (half if a copied byte counts once); from memory 163.",
               "more at 244, and growing"),
        by_rank("000-11", [bool(np.all(means[:, :, s] < root[None, :, s])) for s in range(len(seeds))],
                f"One line: {', '.join(f'{v:.0f}' for v in root.mean(axis=1))} ns; distinct lines: {', '.join(f'{v:.0f}' for v in of.mean(axis=0))} ns.", under),
    ]  # fmt: skip


def distance(machine: str, effort: Effort) -> Check:
    """000-09: reads of random lines of cores at several distances."""
    cores = (1, 8, 15, 22, 30)
    seeds = effort.all_seeds[:4]
    found = yield [Kernel(machine, "read-latency:state=M:owner=other", 2, str(core), max(10, effort.samples // 20), s)
                   for core in cores for s in seeds]  # fmt: skip
    means = np.array([np.mean(one[0]) for one in found]).reshape(len(cores), len(seeds)).mean(axis=1)
    text = f"ns from core 0 to core {', '.join(map(str, cores))}: {', '.join(f'{m:.0f}' for m in means)}; no effect: below 10 %."
    return [judged("000-09", spread(means) < 0.1, text, "random addresses")]


def barriers(machine: str, effort: Effort) -> Check:
    """Figure 5 (a) and what section VI says about it."""
    ranks = (30, 61, 122, 183, 244)
    degrees = (2, 3, 4, 5, 6, 8, 12, 16)
    seeds = effort.all_seeds
    found = yield [
        *(Barrier(machine, spec, p, seeds, effort.calls) for spec in PAPER for p in ranks),
        *(Barrier(machine, f"tree:degree={k}:reset=unset", 244, seeds, effort.calls) for k in degrees),
        *(Barrier(machine, "dissemination:ways=1:layout=line-per-round:reset=unset", p, seeds, effort.calls) for p in (61, 244)),
    ]  # fmt: skip
    k = len(PAPER) * len(ranks)
    times = np.array([medians(one) for one in found[:k]]).reshape(len(PAPER), len(ranks), len(seeds))
    by_degree = np.array([medians(one) for one in found[k : k + len(degrees)]])
    rounds = np.array([medians(one) for one in found[k + len(degrees) :]])
    us = geomean(times, axis=2) / 1000
    best_degree = [degrees[int(i)] for i in by_degree.argmin(axis=0)]
    text = "; ".join(
        f"{short(s)} {', '.join(f'{v:.2f}' for v in row)}" for s, row in zip(PAPER, us, strict=True)
    )
    under = f"us at {', '.join(map(str, ranks))} processes"
    growth = times[:, -1] / times[:, 1]
    mean_growth = geomean(growth, axis=1)
    others = [i for i, s in enumerate(PAPER) if s not in (DISSEMINATION, LINES)]
    slow = [PAPER.index(DISSEMINATION), PAPER.index(LINES)]
    tree = len(TREES)
    own = times.min(axis=0)
    grown = ", ".join(f"{short(s)} {g:.2f}" for s, g in zip(PAPER, mean_growth, strict=True))
    rows: list[Finding | Quantity] = [
        Quantity("Barriers", "degree of the fastest tree, 244 processes", HELD_OUT, 6, degrees[int(geomean(by_degree, axis=1).argmin())], "children",
                 "panigrahi-2014 section VI", claim="000-13"),
        by_rank("000-13", [bool(d <= 6) for d in best_degree],
                "244 processes by degree, us: " + ", ".join(f"{d}: {v / 1000:.2f}" for d, v in zip(degrees, geomean(by_degree, axis=1), strict=True))
                + "; the best degree must be 6 or less.", "tree"),
        by_rank("000-14", [bool(times[:tree, -1, s].max() < times[tree:, -1, s].min()) for s in range(len(seeds))],
                f"{text}. All trees must be below all others at 244.", under),
        by_rank("000-15", [bool(times[PAPER.index(BYTES), -1, s] < times[PAPER.index(LINES), -1, s]) for s in range(len(seeds))],
                f"Centralized-I {us[PAPER.index(BYTES), -1]:.2f} us, Centralized-II {us[PAPER.index(LINES), -1]:.2f} us at 244 processes.",
                "the root unsets 64 byte flags with one store, as vectorised code does"),
        by_rank("000-16", [bool(growth[slow, s].min() > growth[others, s].max()) for s in range(len(seeds))],
                f"244 / 61 processes: {grown}; dissemination with a line per round "
                f"{float(geomean(rounds[1] / rounds[0])):.2f}. Both must grow more than all others.", "one line per process"),
        judged("000-19", float(geomean(own[-1] / own[1])) < 2,
               f"The best barrier of each count, 244 / 61 processes: {float(geomean(own[-1] / own[1])):.2f}; little: "
               "below 2 for four times as many."),
    ]  # fmt: skip
    return rows


def dispatch(_: str, effort: Effort) -> Check:
    """Fork-join on a 3120A with and without one counter that all threads update: not the runtime, only its pattern."""
    machine = "xeon-phi-3120a"
    found = yield [Barrier(machine, spec, p, effort.all_seeds[:5], effort.calls)
                   for spec in ("sense-reversing", "tree:degree=6") for p in (57, 114)]  # fmt: skip
    counter, tree = np.array([float(geomean(medians(one))) for one in found]).reshape(2, 2) / 1000
    why = (
        "The published times are an OpenMP runtime's, with its software and a job record per thread; the barriers "
        f"alone take {counter[0]:.1f} and {counter[1]:.1f} us with one counter, {tree[0]:.1f} and {tree[1]:.1f} us in a tree."
    )
    return [
        Quantity("Dispatch on a 3120A", f"one counter / none, {p} threads", NOT_CLAIMED, published, float(a / b), "times",
                 "Lasimeri: 42.5 / 14.5 and 62.8 / 15.1 us", why=why)
        for p, published, a, b in zip((57, 114), (42.5 / 14.5, 62.8 / 15.1), counter, tree, strict=True)
    ]  # fmt: skip
