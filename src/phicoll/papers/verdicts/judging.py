"""The verdict of each statement, from the one place that judges it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count

from phicoll.foundations.progress import display
from phicoll.models import machine_model
from phicoll.models.equations.checks import check_whole
from phicoll.papers.claims import CLAIMS, Finding, Report, check_counts, completed, counter
from phicoll.papers.claims.counted import COUNTED
from phicoll.papers.validation.judges import (
    JUDGES,
    MACHINES,
    PHI,
    by_numbers,
    findings_of,
    run_judges,
)
from phicoll.papers.validation.points import MOST_SEEDS
from phicoll.papers.validation.predictions.statements import MODELLED, SIMULATED, judge_models
from phicoll.papers.validation.predictions.validation import (
    ModelValidation,
    judge_simulated,
    simulated,
)
from phicoll.papers.validation.validation import FULL, QUICK, Validation, validation_of
from phicoll.registry.machines import load_machine

__all__ = ["Judged", "judge"]

Progress = Callable[[int, int, str], None]
#: What the models' runs tell of their progress, at most.
STEPS = 20


@dataclass(frozen=True)
class Judged:
    """The report, and the validations of the machines and models all of whose checks ran."""

    report: Report
    validations: tuple[Validation, ...]
    models: ModelValidation | None


def judge(
    numbers: Iterable[str] = CLAIMS,
    *,
    quick: bool = False,
    seeds: int | None = None,
    progress: bool | Progress | None = None,
) -> Judged:
    """Judge statements anew: count, simulate and compute what they need, and nothing else.

    Parameters
    ----------
    numbers:
        Those of the statements; all 159 by default, which takes some minutes of two cores.
    quick:
        Few samples and seeds: some seconds a check, and no order is resolved.
    seeds:
        Orders are judged over seeds 1 to this (20).
    progress:
        Show a bar, by default on a terminal and in a notebook; or a function that is told what is done, of how much, and
        what ran last.

    Raises
    ------
    ArgumentError
        Fewer than one seed.
    """
    wanted = list(numbers)
    effort = QUICK if quick else FULL
    if seeds is not None:
        effort = replace(effort, seeds=check_whole("seeds", seeds, 1, MOST_SEEDS))
    start = time.monotonic()
    found: list[Finding] = []
    whole = len(wanted) == len(CLAIMS)
    judges = list(JUDGES) if whole else by_numbers(wanted)
    with shown(progress) as tell, ThreadPoolExecutor(os.cpu_count() or 1) as executor:
        if set(wanted) & set(COUNTED):
            found += check_counts(counter)
        if set(wanted) & set(MODELLED) and not whole:
            found += judge_models(machine_model(PHI))
        rows = run_judges(judges, effort, executor, tell)
        found += [finding for one, of in rows.items() for finding in findings_of(one, of)]
        models = None
        if set(wanted) & set(SIMULATED):
            steps = count(1)

            def step(what: str) -> None:
                if tell is not None:
                    tell(min(next(steps), STEPS - 1), STEPS, what)

            if whole:
                models = simulated(quick=quick, seeds=seeds, executor=executor, step=step)
                found += models.findings
            else:
                found += judge_simulated(quick=quick, seeds=seeds, executor=executor, step=step)
    machines = {one.machine: load_machine(one.machine) for one in judges}
    elapsed = time.monotonic() - start
    validations = tuple(
        validation_of(machines[name], {j: of for j, of in rows.items() if j.machine == name}, effort, elapsed)
        for name in MACHINES
        if whole
    )
    digests = {name: machine.digest for name, machine in machines.items()}
    mine = [finding for finding in found if finding.claim.number in wanted]
    return Judged(Report(completed(mine, wanted), effort.seeds, digests), validations, models)


@contextmanager
def shown(progress: bool | Progress | None) -> Iterator[Progress | None]:
    """What is told of progress."""
    if callable(progress):
        yield progress
        return
    with display(progress) as bar:
        yield bar.update if bar is not None else None
