"""The papers' programs on the simulated Xeon Phis.

Figure 5 and table 1 of rodchenko-2015, figure 7 of panigrahi-2014, STREAM, IS and SP of namashivayam-2014.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from phicoll.papers.validation.collectives import LOAD_STORE
from phicoll.papers.validation.one_sided import CALL
from phicoll.papers.validation.phi_5110p import DISSEMINATION, HYBRID, SURROGATE, combining, name
from phicoll.papers.validation.points import Check, Effort, Program, changed
from phicoll.papers.validation.quantity import HELD_OUT, HELD_OUT_BOUND, Quantity
from phicoll.papers.validation.ranked import by_rank, geomean, judged

__all__ = ["figure_5", "figure_7", "remote_accesses", "stream"]

#: Arities above 2.
WIDE = (3, 4, 8)
#: The figure does not say which barriers were selected: the fastest of figure 2, by arity.
SELECTED = (HYBRID, DISSEMINATION, *(combining(k, "local") for k in WIDE))
#: Thousands of barriers a second, table 1.
RATES = {"cg.S": 6.4, "cg.Y": 21.6, "mg.S": 8.7, "mg.Y": 12.4}


def figure_5(machine: str, effort: Effort) -> Check:
    """CG and MG of class Y and the N-body kernel by number of threads, and the rates of their barriers."""
    programs = ("cg.Y", "mg.Y", "nbody.S")
    full = effort.rank_step < 50
    ranks = (8, 64, 120, 232) if full else (8, 16)
    seeds = min(effort.seeds, 6)
    of_rates = (1, *ranks)
    # An iteration of CG has 26 alike within it; a step of N-body differs from the next.
    calls = {"nbody.S": 2}
    swept = [
        Program(machine, p, spec, n, seeds, calls.get(p, 1))
        for p in programs
        for spec in SELECTED
        for n in ranks
    ]
    rated = [Program(machine, p, SURROGATE, n, 1, 1) for p in RATES for n in of_rates]
    found = yield [*swept, *rated]
    times = np.array([ns for ns, _ in found[: len(swept)]]).reshape(
        len(programs), len(SELECTED), len(ranks), seeds
    )
    mean = geomean(times, axis=2)  # program x barrier x seed
    whole = dict(zip(programs, geomean(mean, axis=2) / 1e6, strict=True))
    rates = np.array([calls / ns[0] * 1e6 for ns, calls in found[len(swept) :]]).reshape(len(RATES), -1)
    under = f"{', '.join(map(str, ranks))} threads, balanced"
    cg, mg, bodies = range(3)
    hybrid, dissemination = SELECTED.index(HYBRID), SELECTED.index(DISSEMINATION)
    wide = [SELECTED.index(combining(k, "local")) for k in WIDE]

    def times_of(program: str) -> str:
        order = np.argsort(whole[program])
        return (
            f"{program}, ms: "
            + ", ".join(f"{name(SELECTED[i])} {whole[program][i]:.1f}" for i in order)
            + "."
        )

    names = [name(s) for s in SELECTED]
    return [
        by_rank("001-21", [all(int(np.argmin(mean[p, :, s])) == hybrid for p in (cg, bodies)) for s in range(seeds)],
                f"{times_of('cg.Y')} {times_of('nbody.S')} The hybrid must be first in both.", under,
                ranks=list(ranks), ms={p: in_ms(names, geomean(times[i], axis=2)) for i, p in enumerate(programs)}),
        by_rank("001-22", [all(mean[mg, k, s] < mean[mg, dissemination, s] for k in wide) for s in range(seeds)],
                f"{times_of('mg.Y')} Arities 3, 4 and 8 must all be below dissemination.", under),
        judged("001-23", all(low <= published <= high for published, low, high in
                             zip(RATES.values(), rates.min(axis=1), rates.max(axis=1), strict=True)),
               "Thousands of barriers a second, published and simulated: "
               + "; ".join(f"{p} {published} and {', '.join(f'{r:.1f}' for r in of)}"
                           for (p, published), of in zip(RATES.items(), rates, strict=True))
               + ". The paper does not say at which number of threads: each must lie between the least and the most.",
               f"{', '.join(map(str, of_rates))} threads, balanced; {SURROGATE}", rates=rates.tolist()),
    ]  # fmt: skip


def in_ms(names: Sequence[str], ns: np.ndarray) -> dict[str, list[float]]:
    """Times by number of ranks, a curve for each name."""
    return {name: (of / 1e6).round(3).tolist() for name, of in zip(names, ns, strict=True)}


#: Each code's collective as here and, in place of Intel's MPI, as usual: sends and receives up a tree; a copy of each
#: block from where its sender has it.
CODES = {
    "transport": ("tree-reconstructed", "send-receive-tree"),
    "balancing": ("one-shot", "single-copy"),
}


def figure_7(machine: str, effort: Effort) -> Check:
    """Particle transport and quantum Monte Carlo's load balancing of panigrahi-2014, with a faster collective."""
    full = effort.rank_step < 50
    ranks, letter = ((16, 61, 122, 244), "W") if full else ((16, 61), "S")
    seeds = min(effort.seeds, 6)
    # Batches of walkers differ, steps of the balancing do not.
    calls = {"transport": 10, "balancing": 2}
    found = yield [
        Program(machine, f"{code}.{letter}", spec, n, seeds, calls[code])
        for code, specs in CODES.items()
        for spec in specs
        for n in ranks
    ]
    times = np.array([ns for ns, _ in found]).reshape(len(CODES), 2, len(ranks), seeds)
    mean = geomean(times, axis=2)  # code x collective x seed
    saved = 100 * (1 - geomean(times[:, 0], axis=2) / geomean(times[:, 1], axis=2))
    words = "; ".join(
        f"{code} {', '.join(f'{s:.0f}' for s in of)} by {specs[0]} for {specs[1]}"
        for (code, specs), of in zip(CODES.items(), saved, strict=True)
    )
    return [
        by_rank("000-34", list((mean[:, 0] < mean[:, 1]).all(axis=0)),
                f"Of the run's time it saves, %: {words}. On the mean over the numbers of processes both must gain.",
                f"class {letter}, {', '.join(map(str, ranks))} processes, balanced; stand-ins for Intel's MPI, and inputs of our own",
                ranks=list(ranks), ms={code: in_ms(CODES[code], geomean(of, axis=2)) for code, of in zip(CODES, times, strict=True)}),
    ]  # fmt: skip


#: What STREAM copies in an iteration, in arrays: copy, scale, add and triad.
ARRAYS = 2 + 2 + 3 + 3
#: Why it gains less.
ORIGINAL = (
    "The original's compiled loops, unvectorised and unaligned, and its library's reduction are not published: here both sides copy "
    "whole lines and differ by calls, prefetches and the reduction alone."
)


def stream(machine: str, effort: Effort) -> Check:
    """STREAM over OpenSHMEM of namashivayam-2014, figure 6: the program, with a reduction after each block."""
    full = effort.rank_step < 50
    letter, doubles = ("W", 1 << 20) if full else ("S", 1 << 16)
    ranks, block = 60, 1024
    library = changed(machine, f"software.put={CALL}")
    before, tree = "all-reads-all", "flat-tree:transfer=load-store"
    found = yield [
        Program(at, f"stream-shmem.{letter}.{way}", spec, ranks, 1, 2)
        for at, way, spec in (
            (library, "put-get", before),
            (machine, "prefetched", tree),
            (machine, "prefetched", before),
        )
    ]
    (original, calls), (improved, _), (kept, _) = ((float(ns[0]), of) for ns, of in found)
    rates = [10 * ARRAYS * 8 * doubles / ns for ns in (original, improved, kept)]
    gain = original / improved
    return [
        Quantity("STREAM by put and get", "bandwidth gained", HELD_OUT, 40, gain, "times",
                 "namashivayam-2014 section 4.2, figure 6", claim="003-04", why=ORIGINAL),
        judged("003-04", gain > 20,
               f"{gain:.2f} times: {rates[0]:.0f} to {rates[1]:.0f} GB/s, and {rates[2]:.0f} with the first reduction kept. The program: blocks of "
               f"{8 * block >> 10} KB by put and get and a reduction in which all read all, against loads and stores in place, prefetched, and a flat tree; "
               f"about 40: above 20. It would ask for {40 * improved / calls / 1000:.0f} us a block and reduction of the original's, which take "
               f"{original / calls / 1000:.0f} here. Gets within the reduction cost no call.",
               f"class {letter}, whose arrays fit the second-level caches; {ranks} processes, balanced; {CALL} cycles a call"),
    ]  # fmt: skip


#: PEs above which IS gains, and what it, its reductions and SP gain on average, in percent.
ABOVE, GAIN, BY_REDUCTIONS, OF_SP = 32, 13, 25, 17


def remote_accesses(machine: str, effort: Effort) -> Check:
    """IS and SP of namashivayam-2014, figures 11 to 17: put and get against loads and stores, and IS's reductions."""
    full = effort.rank_step < 50
    program, ranks = ("is-shmem.W", (8, 16, 32, 64, 128)) if full else ("is-shmem.S", (16, 64))
    sp, planes = ("sp.W", (9, 18, 36)) if full else ("sp.S", (6, 12))
    seeds = 1
    library = changed(machine, f"software.put={CALL}")
    ways = {"put": library, "get": library, "loads": machine}
    base = "all-reads-all"
    named = {name: LOAD_STORE[name] for name in ("RD", "RSAG")}
    found = yield [
        *(Program(at, f"{program}.{way}", base, n, seeds, 1) for way, at in ways.items() for n in ranks),
        *(Program(machine, f"{program}.loads", spec, n, seeds, 1) for spec in named.values() for n in ranks),
        *(Program(ways[way], f"{sp}.{way}", "dissemination", n, seeds, 1) for way in ("get", "loads") for n in planes),
    ]  # fmt: skip
    sorts = (len(ways) + len(named)) * len(ranks)
    times = np.array([ns for ns, _ in found[:sorts]]).reshape(-1, len(ranks), seeds)
    flow = np.array([ns for ns, _ in found[sorts:]]).reshape(2, len(planes), seeds)
    put, get, loads, *reduced = times
    wide = [i for i, n in enumerate(ranks) if n > ABOVE]
    narrow = [i for i, n in enumerate(ranks) if n <= ABOVE]
    gains = {name: 100 * (1 - loads / slow) for name, slow in (("put", put), ("get", get))}
    by_reductions = {name: 100 * (1 - fast / loads) for name, fast in zip(named, reduced, strict=True)}

    def percent(of: dict[str, np.ndarray]) -> str:
        return "; ".join(
            f"{name} {', '.join(f'{g:.1f}' for g in each.mean(axis=1))}" for name, each in of.items()
        )

    mean = float(np.mean([each[wide].mean() for each in gains.values()]))
    mean_reduced = float(np.mean([each[wide].mean() for each in by_reductions.values()]))
    of_sp = 100 * (1 - flow[1] / flow[0])
    each_way = " and ".join(f"{each[wide].mean():.1f} % against {name}s" for name, each in gains.items())
    short = f"The paper measured classes A to C, this is class {program[-1]}."
    either = f"It is {each_way}; the paper does not say which of them its IS calls. {short}"
    square = "The default lets all read all, whose time grows with the square of the processes; the original's is not described."
    faces = f"Loads save a copy of each face and hardly the call: with 560 cycles a call SP of class W gains 8.5 %. {short}"
    rows = [
        Quantity("Programs over OpenSHMEM", what, HELD_OUT, published, gained, "%", f"namashivayam-2014 section {where}", claim="003-19", why=why)
        for what, published, gained, where, why in (
            (f"time of IS that loads save, above {ABOVE} PEs", GAIN, mean, "6.2.1, figures 11 to 13", either),
            (f"time of IS that the reductions save, above {ABOVE} PEs", BY_REDUCTIONS, mean_reduced, "6.2.1, figure 14", square),
            ("time of SP that loads save", OF_SP, float(of_sp.mean()), "6.2.2, figures 15 to 17", faces),
        )
    ]  # fmt: skip
    under = f"class {program[-1]}, {', '.join(map(str, ranks))} PEs, balanced; {CALL} cycles a call"
    return [
        *rows,
        judged("003-18", all((each[wide] > 1).all() and (each[narrow] <= 1).all() for each in gains.values()),
               f"Loads save of the run's time, %, against {percent(gains)}. They must save more than 1 % above {ABOVE} PEs alone.", under,
               over=seeds, ranks=list(ranks), ms={program: in_ms((*ways, *named), times.mean(axis=2))}),
        judged("003-19", all(abs(row.error) <= row.bound for row in rows),
               f"Above {ABOVE} PEs loads save {mean:.1f} % of IS's time on average, the two reductions {mean_reduced:.1f} % of what is left ({percent(by_reductions)}). "
               f"Loads save {of_sp.mean():.1f} % of SP's time on average ({percent({'get': of_sp})}). "
               f"All must lie within {HELD_OUT_BOUND:.0%} of {GAIN}, {BY_REDUCTIONS} and {OF_SP} %.",
               f"{under}; SP of class {sp[-1]}, {', '.join(map(str, planes))} PEs", over=seeds, ranks=list(planes),
               ms={sp: in_ms(("get", "loads"), flow.mean(axis=2))}),
    ]  # fmt: skip
