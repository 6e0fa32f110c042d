"""Comparison of the models with runs, on the simulated Xeon Phi and on this host if it was characterised."""

from __future__ import annotations

import os
import textwrap
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from phicoll.foundations.html_table import preformatted
from phicoll.foundations.progress import display
from phicoll.models import MachineModel, compare_with_runs, machine_model
from phicoll.models.characterizing.identity import check_foreign, check_host
from phicoll.models.equations.checks import check_whole
from phicoll.papers.claims import Finding
from phicoll.papers.validation.points import MOST_SEEDS
from phicoll.papers.validation.predictions import runs as collectives
from phicoll.papers.validation.predictions.outcome import PUBLISHED, SIMULATED, HostPart, ModelOutcome
from phicoll.papers.validation.predictions.pieces import Piece, host_pieces, simulated_pieces
from phicoll.papers.validation.predictions.runs import FULL, MACHINE, QUICK, STARTS, Effort
from phicoll.papers.validation.predictions.statements import judge_models, judge_runs
from phicoll.registry.machines import load_machine
from phicoll.results import Results

__all__ = ["ModelValidation", "judge_simulated", "simulated", "validate_models"]

WIDTH = 100  # of a line of text, in characters


class ModelValidation(ModelOutcome):
    """The result of :func:`validate_models`; ``page`` writes a page."""

    def page(self, path: str | os.PathLike[str]) -> list[Path]:
        """Write a Markdown page and its figures beside it; returns the files."""
        from phicoll.papers.validation.predictions.page import write_page

        return write_page(self, Path(path))

    def __str__(self) -> str:
        lines = [f"models beside {self.machine.name} ({self.machine.digest})", ""]
        groups: dict[str, list[Piece]] = {}
        for p in self.pieces + (self.host.pieces if self.host else ()):
            groups.setdefault(f"{p.group}, {p.kind}", []).append(p)
        for group, pieces in groups.items():
            lines += wrapped(
                f"{group}: {len(pieces)} value(s); model's error: {errors_of(pieces) or 'no model'}"
            )
        lines.append("")
        for constants, of in self.compared.items():
            for start, found in of.items():
                lines += wrapped(f"{constants} constants, {start} start: {found.summary()}")
        if self.host is not None:
            lines += wrapped(f"{self.host.cpu}, measured: {self.host.compared.summary()}")
        lines += ["", "Statements"]
        for f in self.findings:
            lines.append(
                textwrap.shorten(
                    f"{f.claim.number} {f.verdict}: {f.claim.statement}", WIDTH, placeholder=" ..."
                )
            )
        lines += ["", *(line for words in self.summary() for line in wrapped(words))]
        return "\n".join([*lines, "every value and row: --page FILE or --json", f"{self.elapsed_s:.0f} s"])

    def _repr_html_(self) -> str:
        return preformatted(str(self))


def validate_models(
    *,
    quick: bool = False,
    seeds: int | None = None,
    host: str | os.PathLike[str] | None = None,
    foreign: str = "refuse",
    executor: Executor | None = None,
    progress: bool | None = None,
) -> ModelValidation:
    """Compare the models' predictions with the simulated Xeon Phi 5110P and with this host.

    Parameters
    ----------
    quick:
        Few ranks, samples and seeds: some seconds, and hardly any statement is resolved.
    seeds:
        Seeds 1 to this (20).
    host:
        The machine file that ``phicoll characterize`` wrote here; two threads are then measured, for about a minute.
        ``None`` measures nothing.
    foreign:
        What to do with another machine's file: ``"refuse"``, or ``"use"`` it with a warning, which tells how far that
        machine's model carries to this host.
    executor:
        Where kernels are simulated; by default threads, one a core.
    progress:
        Show a bar; by default on a terminal and in a notebook.

    Raises
    ------
    ArgumentError
        Fewer than one seed; a machine file that is none, has no model, or is another machine's where that is
        refused.
    """
    effort_of(quick, seeds)  # refused before anything runs
    check_foreign(foreign)
    mine = None if host is None else model_of_host(host, foreign)
    own = None if executor is not None else ThreadPoolExecutor(os.cpu_count() or 1)
    try:
        with display(progress) as bar:
            steps = iter(range(1, 1000))

            def step(what: str) -> None:
                if bar is not None:
                    bar.update(next(steps), 20, what)

            found = simulated(quick=quick, seeds=seeds, executor=executor or own, step=step)  # type: ignore[arg-type]
            if mine is not None:
                step("this host")
                found = replace(found, host=measured(mine, found.effort))
    finally:
        if own is not None:
            own.shutdown(cancel_futures=True)
    return found


def simulated(
    *, quick: bool, seeds: int | None, executor: Executor, step: Callable[[str], None]
) -> ModelValidation:
    """All of a validation but a host's part."""
    effort = effort_of(quick, seeds)
    start = time.monotonic()
    step("constants of the simulated machine")
    models = {PUBLISHED: machine_model(MACHINE), SIMULATED: characterized(quick)}
    step("kernels")
    pieces = simulated_pieces(models, effort, executor)
    found = {at: collectives.simulate(at, effort, step=step) for at in STARTS}
    compared = {
        name: {at: compare_with_runs(results, model) for at, results in found.items()}
        for name, model in models.items()
    }
    findings = [*judge_models(models[PUBLISHED]), *judge_found(found, pieces, effort, step)]
    return ModelValidation(
        load_machine(MACHINE),
        effort,
        time.monotonic() - start,
        models,
        tuple(pieces),
        compared,
        tuple(sorted(findings, key=lambda f: f.claim.number)),
        None,
    )


def effort_of(quick: bool, seeds: int | None) -> Effort:
    effort = QUICK if quick else FULL
    if seeds is None:
        return effort
    check_whole("seeds", seeds, 1, MOST_SEEDS)
    return replace(effort, seeds=seeds, few_seeds=min(seeds, effort.few_seeds))


def judge_found(
    found: dict[str, Results], pieces: Sequence[Piece], effort: Effort, step: Callable[[str], None]
) -> list[Finding]:
    """The statements that runs decide, of which ``found`` has those with each start."""
    step("acknowledgements")
    acknowledged = collectives.simulate("evicted", effort, runs=collectives.ACKNOWLEDGED)
    step("a slow cache")
    crowd = collectives.simulate("evicted", effort, collectives.SLOW_CACHE, collectives.CROWD)
    step("statements")
    model = machine_model(MACHINE)
    return judge_runs(
        {at: compare_with_runs(results, model) for at, results in found.items()},
        collectives.medians_by_seed(found["evicted"]),
        collectives.medians_by_seed(acknowledged),
        collectives.medians_by_seed(crowd),
        pieces,
        PUBLISHED,
    )


def judge_simulated(
    *, quick: bool, seeds: int | None, executor: Executor, step: Callable[[str], None]
) -> list[Finding]:
    """The statements that simulated runs decide, and what they need alone: arguments as of :func:`validate_models`."""
    effort = effort_of(quick, seeds)
    step("kernels")
    pieces = simulated_pieces({PUBLISHED: machine_model(MACHINE)}, effort, executor)
    return judge_found(
        {at: collectives.simulate(at, effort, step=step) for at in STARTS}, pieces, effort, step
    )


def characterized(quick: bool) -> MachineModel:
    """The simulated machine measured by its own kernels, as ``phicoll characterize --machine`` does; nothing assumed."""
    from phicoll.models.characterizing import characterize

    found = characterize("quick", machine=MACHINE, family=None, rounds=2 if quick else None, progress=False)
    return MachineModel(f"{MACHINE}, simulated", found.model.constants)


def model_of_host(path: str | os.PathLike[str], foreign: str) -> MachineModel:
    check_host(path, foreign, argument="host")
    return machine_model(Path(path), argument="host")


def measured(model: MachineModel, effort: Effort) -> HostPart:
    results: Results = collectives.measure_host(effort)
    host = results.contexts[-1].get("host") or {}
    return HostPart(
        model,
        str(host.get("cpu_model", "unknown CPU")),
        str(results.contexts[-1].get("created", ""))[:10],
        tuple(host_pieces({model.name: model}, effort)),
        compare_with_runs(results, model),
    )


def wrapped(text: str) -> list[str]:
    """The text as lines of a screen's width."""
    return textwrap.wrap(text, WIDTH, subsequent_indent="    ")


def errors_of(pieces: Sequence[Piece]) -> str:
    """Each model's relative errors over the pieces, from the lowest to the highest."""
    errors: dict[str, list[float]] = {}
    for p in pieces:
        for name in p.modelled:
            if (error := p.error(name)) is not None:
                errors.setdefault(name, []).append(error)
    return ", ".join(f"{name} {min(of):+.0%} to {max(of):+.0%}" for name, of in errors.items())
