"""The papers' programs on the simulated Xeon Phis: figure 5 and table 1 of rodchenko-2015, IS of namashivayam-2014."""

from __future__ import annotations

import numpy as np

from phicoll.papers.validation.collectives import LOAD_STORE
from phicoll.papers.validation.one_sided import CALL
from phicoll.papers.validation.phi_5110p import DISSEMINATION, HYBRID, SURROGATE, combining, name
from phicoll.papers.validation.points import Check, Effort, Program, changed
from phicoll.papers.validation.quantity import HELD_OUT_BOUND
from phicoll.papers.validation.ranked import by_rank, geomean, judged

__all__ = ["figure_5", "integer_sort"]

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

    values = {"ranks": list(ranks), "names": [name(s) for s in SELECTED]}
    return [
        by_rank("001-21", [all(int(np.argmin(mean[p, :, s])) == hybrid for p in (cg, bodies)) for s in range(seeds)],
                f"{times_of('cg.Y')} {times_of('nbody.S')} The hybrid must be first in both.", under,
                **values, ms={p: (geomean(times[i], axis=2) / 1e6).round(3).tolist() for i, p in enumerate(programs)}),
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


#: PEs above which IS gains, and what it and its reductions gain on average, in percent.
ABOVE, GAIN, BY_REDUCTIONS = 32, 13, 25


def integer_sort(machine: str, effort: Effort) -> Check:
    """IS of namashivayam-2014, figures 11 to 14: put and get against loads and stores, and its reductions."""
    full = effort.rank_step < 50
    program, ranks = ("is-shmem.W", (8, 16, 32, 64, 128)) if full else ("is-shmem.S", (16, 64))
    seeds = 1
    library = changed(machine, f"software.put={CALL}")
    ways = {"put": library, "get": library, "loads": machine}
    base = "all-reads-all"
    named = {name: LOAD_STORE[name] for name in ("RD", "RSAG")}
    found = yield [
        *(Program(at, f"{program}.{way}", base, n, seeds, 1) for way, at in ways.items() for n in ranks),
        *(Program(machine, f"{program}.loads", spec, n, seeds, 1) for spec in named.values() for n in ranks),
    ]
    times = np.array([ns for ns, _ in found]).reshape(len(ways) + len(named), len(ranks), seeds) / 1e6
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
    within = all(abs(a / b - 1) <= HELD_OUT_BOUND for a, b in ((mean, GAIN), (mean_reduced, BY_REDUCTIONS)))
    under = f"class {program[-1]}, {', '.join(map(str, ranks))} PEs, balanced; {CALL} cycles a call"
    return [
        judged("003-18", all((each[wide] > 1).all() and (each[narrow] <= 1).all() for each in gains.values()),
               f"Loads save of the run's time, %, against {percent(gains)}. They must save more than 1 % above {ABOVE} PEs alone.", under,
               over=seeds, ranks=list(ranks), ms={name: of.mean(axis=1).round(3).tolist() for name, of in zip((*ways, *named), times, strict=True)}),
        judged("003-19", within,
               f"Above {ABOVE} PEs loads save {mean:.1f} % of IS's time on average, the two reductions {mean_reduced:.1f} % of what is left ({percent(by_reductions)}). "
               f"Both must lie within {HELD_OUT_BOUND:.0%} of {GAIN} and {BY_REDUCTIONS} %; SP's 17 % is not simulated.", under, over=seeds),
    ]  # fmt: skip
