"""``phicoll tune``: finds the best algorithm and parameters for each operation, rank count and size."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import phicoll._core as _core
from phicoll.comm.group_options import MEMORY_LIMIT
from phicoll.errors import ArgumentError, BrokenGroupError, Error, ResourceError
from phicoll.foundations.checks import argument_names, check_number, check_whole
from phicoll.foundations.files import Appended, check_writable
from phicoll.foundations.progress import display
from phicoll.measuring.clusters import check_executor, opened
from phicoll.measuring.sweeps import (
    check_choices,
    check_rank_list,
    machine_text,
    sweep,
)
from phicoll.models.tuning.decision import NO_GAIN, Decision, Gain, Point, decide
from phicoll.models.tuning.environment import only_costs
from phicoll.models.tuning.journal import read_journal
from phicoll.models.tuning.prediction import ModelChoice, model_choice, model_of
from phicoll.models.tuning.result import Tuned, rows_of
from phicoll.models.tuning.setting import (
    Setting,
    check_candidates,
    check_definition,
    check_modes,
    check_placement,
    check_sizes,
    default_ranks,
    plan,
)
from phicoll.models.tuning.table import TableFile, text_of
from phicoll.registry import OPERATIONS, moves_data
from phicoll.registry.machines import Machine, load_machine
from phicoll.results import Results

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from phicoll.models import MachineModel

__all__ = ["BY", "SIZES", "Tuned", "tune"]

BY = ("measure", "model", "model-then-measure")
SIZES = "8,4K,64K,1M"
BUDGET_S = 600.0
LEAST_POINT_S = 2.0  # in less time a sweep of twenty candidates has no rounds to compare
FEW = 3  # modelled candidates that remain to be measured
LAUNCHES = 12
ROUNDS = 8
SEEDS = 12  # per simulated point: six odd and six even rounds, the minimum for an interval at 95 %
CALLS = 5


@argument_names
def tune(
    operations: str | Sequence[str] | None = None,
    *,
    ranks: int | str | Sequence[int] | None = None,
    sizes: int | str | Sequence[int | str] | None = None,
    mode: str | Sequence[str] | None = None,
    by: str = "measure",
    budget_s: float | None = None,
    machine: str | os.PathLike[str] | Machine | None = None,
    model: str | os.PathLike[str] | MachineModel | None = None,
    model_foreign: str = "refuse",
    algorithm: str | Sequence[str] | None = None,
    placement: str | None = None,
    definition: str = "loop",
    launches: int | None = None,
    rounds: int | None = None,
    seed: int | None = None,
    executor: Executor | str | None = None,
    save: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: bool | None = None,
) -> Tuned:
    """Choose an algorithm for every operation, rank count and size, and write a tuning table.

    Parameters
    ----------
    operations:
        Some of :data:`phicoll.registry.OPERATIONS`; by default all.
    ranks:
        Rank counts; by default powers of two up to the number of allowed CPUs, and twice that number. More ranks than
        CPUs share them, which the ranks of a simulated machine cannot do.
    sizes:
        Bytes of the count argument; by default 8, 4K, 64K and 1M. Not for barriers.
    mode:
        ``"threads"``, ``"processes"`` (the default) or both; not with a machine.
    by:
        ``"measure"``: measure everything. ``"model"``: run nothing, and choose what has the least largest time by the
        model; the rule stays where the model does not know its choice. ``"model-then-measure"``: measure the three
        best that the model knows, and all that it does not know.
    budget_s:
        Seconds that measuring may take, 600 by default. There is no limit for simulating.
    machine:
        Tune for this simulated machine, in simulation.
    model:
        The machine whose model predicts: a file, a name, or a :class:`phicoll.models.MachineModel`; by default the
        simulated machine. Its line costs go into the table; without a model the table keeps those that it has.
    model_foreign:
        What to do with a ``model`` file that was not measured on this host, unless a simulated machine is tuned:
        ``"refuse"`` it, or ``"use"`` it with a warning.
    algorithm:
        Algorithms to try instead of :func:`phicoll.models.tuning.candidates`, for one operation.
    placement:
        Where ranks run; by default ``compact``, simulated ``balanced``.
    definition:
        What is timed: ``"loop"``, calls back to back, in which a root that waits for no rank runs ahead of the others;
        or ``"window"``, each call from rest to its last exit, which is what the models describe.
    launches, rounds, seed:
        For the sweeps. By default 2 to 12 launches, as time allows, of 8 rounds; simulated: 12 rounds, which are seeds.
    executor:
        With a machine: where points are simulated, as in :func:`phicoll.sweep`.
    save:
        The table's file. It is written after every decision and keeps its rows for other groups. Decisions also go to a
        file beside it, whose name is the table's with ``.jsonl`` appended.
    resume:
        Continue from the decisions beside ``save``: they are kept, and other sizes and groups are added.
    progress:
        Show a progress bar; by default on a terminal and in a notebook.

    Returns
    -------
    Tuned
        The decisions. Ctrl-C ends the run with what was decided (``interrupted`` is then true).

    Raises
    ------
    ArgumentError
        Bad input; nothing was started.
    Error
        Nothing could be decided; the message gives the first reason.
    """
    chosen = list(OPERATIONS) if operations is None else check_choices("operations", operations, OPERATIONS)
    check_choices("by", by, BY)
    tried = check_candidates(chosen, algorithm)
    loaded = None if machine is None else load_machine(machine)
    setting = Setting(
        machine="" if machine is None else machine_text(machine),
        name="host" if loaded is None else loaded.name,
        host=_core.host_fingerprint() if loaded is None else "",
        cpus=_core.allowed_cpu_count() if loaded is None else loaded.contexts,
        placement=check_placement(placement, loaded is not None),
        definition=check_definition(definition),
        modes=check_modes(mode, loaded is not None),
        launches=None if launches is None else check_whole("launches", launches, 1),
        rounds=None if rounds is None else check_whole("rounds", rounds, 1),
        seed=None if seed is None else check_whole("seed", seed, 0, 1 << 53),
        model=model_of(model, None if machine is None else machine_text(machine), model_foreign),
    )
    if loaded is not None and launches is not None:
        raise ArgumentError("launches", repr(launches), "only without a machine: a simulated run has none")
    if by != "measure" and setting.model is None:
        raise ArgumentError("model", "none", f"a machine file or name with a model, as by={by!r} needs one")
    counts = default_ranks(setting.cpus, setting.simulated) if ranks is None else check_rank_list(ranks)
    if not counts:
        raise ArgumentError("ranks", "no number", "1 to 1024")
    if loaded is not None and max(counts) > loaded.contexts:
        raise ArgumentError(
            "ranks", str(max(counts)), f"1 to {loaded.contexts}, the contexts of {loaded.name}"
        )
    if sizes is not None and not any(map(moves_data, chosen)):
        raise ArgumentError("sizes", repr(sizes), "only where data moves")
    points = plan(chosen, setting, counts, check_sizes(chosen, SIZES if sizes is None else sizes))
    seconds = check_number("budget_s", BUDGET_S if budget_s is None else budget_s, above=0)
    if resume and save is None:
        raise ArgumentError("resume", "no output", "with the table's file, which it continues")
    if executor is not None and loaded is None:
        raise ArgumentError("executor", repr(executor), "only with a machine to simulate")
    check_executor(executor)
    with contextlib.ExitStack() as stack:
        table: Path | None = None
        journal: Appended | None = None
        if save is not None:
            table = check_writable(save, "save")
            beside = check_writable(table.with_name(table.name + ".jsonl"), "save")
            journal = stack.enter_context(Appended(beside, "save"))
        run = Run(setting, by, tried, table, journal, resume)
        run.executor = stack.enter_context(opened(executor))
        shown = stack.enter_context(display(progress))
        stack.enter_context(only_costs(run.costs))
        run.all(points, seconds, shown.update if shown else None)
    if not run.decisions and run.failures:
        raise run.failures[0]
    return run.tuned()


class Run:
    """One tuning run: its decisions so far, and its files."""

    def __init__(
        self,
        setting: Setting,
        by: str,
        tried: dict[str, list[str]],
        table: Path | None,
        journal: Appended | None,
        resume: bool,
    ) -> None:
        self.setting = setting
        self.by = by
        self.tried = tried
        self.executor: Executor | None = None
        self.decisions: list[Decision] = []
        self.undecided: dict[Point, str] = {}
        self.failures: list[Error] = []
        self.interrupted = False
        self.file = None if table is None else TableFile(table, setting.name, setting.host)
        self.journal = journal
        self.text = ""
        self.costs = setting.costs()
        if self.file is not None:
            self.costs = self.costs or self.file.costs
        if journal is not None:
            if resume and journal.begun:
                self.decisions = read_journal(journal.path, self.head())
            journal.clear()
            journal.write(map(json.dumps, [self.head(), *(one.to_dict() for one in self.decisions)]))

    def head(self) -> dict[str, Any]:
        """What the decisions of two runs must share to go into one table."""
        setting = self.setting
        where = {"machine": setting.name, "host": setting.host, "placement": setting.placement}
        return {"tuning": 1, **where, "by": self.by, "definition": setting.definition, "costs": self.costs}

    def all(self, points: Sequence[Point], seconds: float, progress: Any) -> None:
        known = {decision.point for decision in self.decisions}
        left = [point for point in points if point not in known]
        end = time.monotonic() + seconds
        try:
            for number, point in enumerate(left):
                if progress is not None:
                    progress(len(points) - len(left) + number, len(points), point.title())
                seconds_left = end - time.monotonic()
                if self.by != "model" and not self.setting.simulated and seconds_left < LEAST_POINT_S:
                    self.undecided[point] = "no time was left: give more seconds, or resume"
                    continue
                share = max(seconds_left / (len(left) - number), LEAST_POINT_S)
                try:
                    decision = self.one(point, share)
                except (BrokenGroupError, ResourceError) as error:
                    self.failures.append(error)
                    self.undecided[point] = str(error)
                    continue
                if decision is not None:
                    self.add(decision)
        except KeyboardInterrupt:
            self.interrupted = True
        self.write()

    def one(self, point: Point, seconds: float) -> Decision | None:
        """The decision at a point. If there is none, reports why and returns None."""
        rule = self.rule(point)
        given = self.fitting(point, rule)
        sharing = point.ranks > point.cpus
        known = model_choice(
            point.operation, [rule, *given], point.ranks, point.size, self.setting.model, sharing
        )
        if self.by == "model":
            return self.by_model(point, rule, given, known)
        if self.by == "model-then-measure" and known is not None:
            few = set(known.order[:FEW])
            given = {spec: text for spec, text in given.items() if spec in few or spec not in known.order}
        if not given:
            self.undecided[point] = "nothing to try but the rule"
            return None
        results = self.measure(point, [rule, *given], seconds)
        decision = decide(
            point,
            rule,
            results,
            known,
            list(given),
        )
        if decision is None:
            self.undecided[point] = "too few rounds, or no verified ones, with both the rule and a challenger"
            return None
        return decision.written(given)

    def rule(self, point: Point) -> str:
        """The choice of the built-in rules, as a spec with every parameter's value in effect."""
        found = _core.choose(
            operation=point.operation,
            size=point.size,
            ranks=point.ranks,
            mode=point.mode,
            placement=self.setting.placement,
            machine=self.setting.machine,
            tuning="none",
            foreign="",
            type="float32",
            op="sum",
            vector=False,
            commutative=True,
            memory_limit=MEMORY_LIMIT,
        )
        return str(self.candidate(point, found["rule"]["spec"])["spec"])

    def candidate(self, point: Point, spec: str) -> dict[str, str]:
        return dict(
            _core.candidate(
                operation=point.operation,
                spec=spec,
                size=point.size,
                ranks=point.ranks,
                placement=self.setting.placement,
                machine=self.setting.machine,
            )
        )

    def fitting(self, point: Point, rule: str) -> dict[str, str]:
        """Candidates that can serve the point and differ from the rule and each other: the text by recorded spec."""
        seen = {self.candidate(point, rule)["effective"]}
        found: dict[str, str] = {}
        for text in self.tried[point.operation]:
            one = self.candidate(point, text)
            if not one["unfit"] and one["effective"] not in seen:
                seen.add(one["effective"])
                found[one["spec"]] = text
        return found

    def measure(self, point: Point, specs: Sequence[str], seconds: float) -> Results:
        setting = self.setting
        options: dict[str, Any] = {
            "algorithm": list(specs),
            "ranks": point.ranks,
            "definition": setting.definition,
        }
        options |= {"placement": setting.placement, "seed": setting.seed, "progress": False}
        if moves_data(point.operation):
            options["sizes"] = [point.size]
        if setting.simulated:
            options |= {"machine": setting.machine, "rounds": setting.rounds or SEEDS, "calls": CALLS}
            options |= {"budget_s": "none", "executor": self.executor}
        else:
            options |= {"mode": point.mode, "oversubscribe": point.ranks > point.cpus, "budget_s": seconds}
            # A launch starts and verifies every candidate, which takes a large part of a second.
            launches = setting.launches or max(2, min(LAUNCHES, int(seconds)))
            options |= {"launches": launches, "rounds": setting.rounds or ROUNDS}
        return sweep(point.operation, on_interrupt="raise", **options)

    def by_model(
        self, point: Point, rule: str, given: dict[str, str], known: ModelChoice | None
    ) -> Decision | None:
        """The model's choice instead of the rule, if it knows both: otherwise it cannot tell which is faster."""
        if known is None:
            self.undecided[point] = "no candidate is modelled for it"
            return None
        gain, spec = NO_GAIN, "auto"
        if rule in known.high_ns and known.spec != rule:
            spec = known.spec
            times = known.high_ns[rule] / max(known.high_ns[known.spec], 1e-9)
            gain = Gain(times, times, times, 0.0, 0, 0)
        decision = Decision(
            point=point,
            rule=rule,
            rule_ns=known.high_ns.get(rule),
            spec=spec,
            gain=gain,
            best=known.spec,
            best_gain=gain,
            model=known.spec,
            model_gain=gain if rule in known.high_ns else None,
            alike=known.alike,
            modelled=known.order,
            by="model",
            tried=len(known.order),
            assumed=len(known.assumed),
            used=known.used,
        )
        return decision.written(given)

    def add(self, decision: Decision) -> None:
        self.decisions.append(decision)
        if self.journal is not None:
            self.journal.write([json.dumps(decision.to_dict())])
        self.write()

    def write(self) -> None:
        notes = [f"by phicoll tune, {self.by}, {self.setting.definition}; docs/tuning.md has the format"]
        rows = rows_of(self.decisions)
        if self.file is None:
            self.text = text_of(self.setting.name, self.setting.host, notes, self.costs, rows)
        else:
            self.text = self.file.write(rows, notes, self.costs)

    def tuned(self) -> Tuned:
        path = None if self.file is None else self.file.path
        undecided = {point.title(): reason for point, reason in self.undecided.items()}
        return Tuned(self.decisions, undecided, self.text, path, self.by, self.interrupted)
