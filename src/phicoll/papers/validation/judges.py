"""The checks on simulated machines, and the one that judges each statement."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from typing import Any, NamedTuple

from phicoll.errors import ArgumentError
from phicoll.papers.claims import CALIBRATED, CANNOT, FAILS, HOLDS, Finding, claim
from phicoll.papers.validation import (
    cell,
    collectives,
    one_sided,
    phi_5110p,
    phi_se10p,
    programs,
    today,
    transfers,
)
from phicoll.papers.validation.points import Check, Effort, work_through
from phicoll.papers.validation.quantity import CALIBRATED as SET_A_PARAMETER, NOT_CLAIMED, Quantity
from phicoll.registry.machines import Machine, load_machine

__all__ = ["JUDGES", "MACHINES", "Judge", "by_numbers", "findings_of", "published_machine", "run_judges"]

PHI, SE10P, SANDY, CELL = "xeon-phi-5110p", "xeon-phi-se10p", "sandy-bridge-e5-2670", "cell-qs20"
EPYC, XEON, KUNPENG = "epyc-7742", "xeon-8375c", "kunpeng-920"
#: The machines of which something is published to compare with.
MACHINES = (PHI, SE10P, SANDY, CELL, EPYC, XEON, KUNPENG)


def published_machine(machine: str | os.PathLike[str] | Machine) -> tuple[Machine, str]:
    """One of MACHINES, perhaps with changes, and its name without them; raises ArgumentError for any other."""
    loaded = load_machine(machine)
    name = loaded.name.partition(":")[0]
    if name not in MACHINES:
        allowed = f"{', '.join(MACHINES)}: nothing is published about others"
        raise ArgumentError("machine", repr(loaded.name), allowed)
    return loaded, name


class Judge(NamedTuple):
    """A check on a machine, and the statements of which its rows are; no statement has two."""

    machine: str
    check: Callable[[str, Effort], Check]
    numbers: tuple[str, ...] = ()


JUDGES = (
    Judge(PHI, transfers.reads, ("004-01", "004-02", "004-04")),
    Judge(PHI, transfers.ping_pong, ("004-05", "004-06", "004-07", "004-08", "004-09")),
    Judge(PHI, transfers.multi_line, ("004-13", "004-14")),
    Judge(PHI, transfers.contention, ("004-17", "004-18", "004-19")),
    Judge(PHI, phi_5110p.figure_2, ("001-02", "001-03", "001-04", "001-05", "001-06", "001-07", "001-08", "001-19")),
    Judge(PHI, phi_5110p.delays, ("001-09", "001-10")),
    Judge(PHI, phi_5110p.streaming_stores, ("001-11", "001-12", "001-13")),
    Judge(PHI, phi_5110p.addresses, ("001-15", "001-24", "001-25", "001-26", "001-27", "001-28")),
    Judge(PHI, phi_5110p.surrogate, ("001-01", "001-16", "004-34")),
    Judge(PHI, phi_5110p.acknowledged, ("004-38", "004-46")),
    Judge(PHI, phi_5110p.latencies, ("004-03", "004-10", "004-11", "004-21", "004-22")),
    Judge(PHI, phi_5110p.bandwidth, ("004-39", "004-40", "004-41")),
    Judge(PHI, programs.figure_5, ("001-21", "001-22", "001-23")),
    Judge(SE10P, transfers.stream, ("000-01",)),
    Judge(SE10P, phi_se10p.one_line, ("000-02", "000-03", "000-04", "000-08", "000-12")),
    Judge(SE10P, phi_se10p.distinct_lines, ("000-05", "000-06", "000-07", "000-10", "000-11")),
    Judge(SE10P, phi_se10p.distance, ("000-09",)),
    Judge(SE10P, phi_se10p.barriers, ("000-13", "000-14", "000-15", "000-16", "000-19")),
    Judge(SE10P, phi_se10p.dispatch),
    Judge(SE10P, one_sided.one_sided, ("003-01", "003-02", "003-03")),
    Judge(SE10P, programs.stream, ("003-04",)),
    Judge(SE10P, collectives.broadcasts, ("000-27", "000-29", "000-30", "000-31", "000-32")),
    Judge(SE10P, collectives.allreduces, ("003-08", "003-09", "003-10", "003-12", "003-14", "003-20", "003-21", "003-23")),
    Judge(SE10P, programs.remote_accesses, ("003-18", "003-19")),
    Judge(SE10P, programs.figure_7, ("000-34",)),
    Judge(SANDY, transfers.sandy_reads, ("004-43",)),
    Judge(SANDY, transfers.sandy_ping_pong, ("004-44",)),
    *(Judge(machine, today.lines) for machine in (EPYC, XEON, KUNPENG)),
    Judge(EPYC, today.message_passing),
    Judge(KUNPENG, today.openmp),
    Judge(CELL, cell.bus),
    Judge(CELL, cell.commands, ("002-01", "002-02", "002-03", "002-04", "002-11", "002-16")),
    Judge(CELL, cell.barriers, ("002-05", "002-06", "002-07", "002-08", "002-09")),
    Judge(CELL, cell.broadcasts, ("002-14", "002-15", "002-17", "002-18", "002-19", "002-20", "002-21")),
    Judge(CELL, cell.reductions, ("002-22", "002-23", "002-24", "002-26", "002-27")),
)  # fmt: skip


def by_numbers(numbers: Iterable[str]) -> list[Judge]:
    """The judges of some statements."""
    wanted = set(numbers)
    return [judge for judge in JUDGES if wanted & set(judge.numbers)]


def run_judges(
    judges: Sequence[Judge],
    effort: Effort,
    executor: Executor,
    progress: Callable[[int, int, str], None] | None = None,
    machine: str = "",
) -> dict[Judge, list[Any]]:
    """Each judge's quantities and findings; on ``machine``, a changed one, if it is given."""
    found = work_through([j.check(machine or j.machine, effort) for j in judges], executor, progress)
    return dict(zip(judges, found, strict=True))


def findings_of(judge: Judge, rows: Sequence[Any]) -> list[Finding]:
    """A finding on each of a judge's statements: its own, or what the statement's quantities say."""
    own = {row.claim.number: row for row in rows if isinstance(row, Finding)}
    assert set(own) <= set(judge.numbers), (
        f"{judge.check.__name__} judges {set(own) - set(judge.numbers)}, too"
    )
    return [
        own.get(number)
        or of_quantities(number, [q for q in rows if isinstance(q, Quantity) and q.claim == number])
        for number in judge.numbers
    ]


def of_quantities(number: str, of: Sequence[Quantity]) -> Finding:
    """A statement that is numbers: calibrated if all of them set parameters, else decided by those held out."""
    assert of, f"nothing was simulated for {number}"
    told = [q for q in of if q.role != NOT_CLAIMED]
    if not told:
        return Finding(
            claim(number),
            CANNOT,
            f"{of[0].why} Its {len(of)} numbers are shown, and nothing is claimed.",
            "none",
        )
    out = [q for q in told if q.role != SET_A_PARAMETER]
    judged = out or told
    within = sum(q.verdict == HOLDS for q in judged)
    worst = max(judged, key=lambda q: abs(q.error))
    text = (
        f"{within} of {len(judged)} {'held-out' if out else 'calibrated'} quantities lie within {worst.bound:.0%}; the farthest, "
        f"{worst.name}, is {worst.error:+.0%}."
    )
    if len(out) not in (0, len(told)):
        text += f" {len(told) - len(out)} more set parameters."
    verdict = FAILS if within < len(judged) else HOLDS if out else CALIBRATED
    return Finding(
        claim(number), verdict, text, "simulated", told[0].source, {"within": within, "of": len(judged)}
    )
