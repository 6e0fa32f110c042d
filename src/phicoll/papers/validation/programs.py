"""The programs of rodchenko-2015, figure 5 and table 1, on the simulated Xeon Phi 5110P."""

from __future__ import annotations

import numpy as np

from phicoll.papers.validation.phi_5110p import DISSEMINATION, HYBRID, SURROGATE, combining, name
from phicoll.papers.validation.points import Check, Effort, Program
from phicoll.papers.validation.ranked import by_rank, geomean, judged

__all__ = ["figure_5"]

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
