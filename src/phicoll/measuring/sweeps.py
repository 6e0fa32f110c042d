"""``measure`` and ``sweep``: what Python users measure and simulate with.

Both check every argument before anything is started and return :class:`~phicoll.Results`. They run ``phicoll-bench``
on this machine, or simulate another where ``machine`` is given. docs/measuring.md says what the numbers mean.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import phicoll._core as _core
from phicoll import bench
from phicoll.errors import ArgumentError, PhicollWarning
from phicoll.foundations.files import check_writable
from phicoll.foundations.progress import Display, display
from phicoll.measuring.simulating import SimulatedPlan
from phicoll.registry import CALLS, REDUCTIONS, as_text, check_call, check_operation, expand
from phicoll.results import Results, load

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from phicoll.registry.machines import Machine

__all__ = ["DEFINITIONS", "MAX_RANKS", "MODES", "Plan", "measure", "plan", "sweep"]

MODES = ("threads", "processes")
DEFINITIONS = ("loop", "window")
STARTS = ("warm", "evicted")
BUFFERS = ("fresh", "reused", "heap")
SIZES = "8,4K,1M"
MAX_SIZE = 1 << 40
MAX_RANKS = 1024
MAX_EPISODES = 100_000
MAX_ROUNDS = 100_000
MAX_SKEW_NS = 1e9
MAX_JOBS = 1024

#: What these are where they are not given, on this machine and on a simulated one.
MEASURED = {
    "algorithm": "all,references",
    "mode": "threads",
    "definition": DEFINITIONS,
    "placement": "compact",
}
SIMULATED = {"algorithm": "all", "definition": "loop", "placement": "balanced", "wait": "pause(1)"}


class Plan:
    """A sweep whose arguments were all checked: what ``phicoll-bench`` will be asked."""

    def __init__(self, arguments: Sequence[str], specs: Sequence[str], output: Path | None) -> None:
        self.arguments = list(arguments)
        self.specs = list(specs)
        self.output = output

    def run(self, progress: bench.Progress | None = None) -> Results:
        """Measure. See :func:`sweep` for what it returns and raises."""
        return last_run(bench.run(self.arguments, self.output, progress))


def plan(
    operation: str = "barrier",
    *,
    algorithm: str | Iterable[str] | None = None,
    ranks: int | str | Sequence[int] = 2,
    machine: str | os.PathLike[str] | Machine | None = None,
    sizes: int | str | Iterable[int | str] | None = None,
    buffers: str | Sequence[str] | None = None,
    type: str | None = None,
    op: str | None = None,
    mode: str | Sequence[str] | None = None,
    definition: str | Sequence[str] | None = None,
    launches: int | None = None,
    rounds: int | None = None,
    calls: int | None = None,
    window_calls: int | None = None,
    budget_s: float | None = None,
    target_width: float | None = None,
    placement: str | Sequence[int] | None = None,
    oversubscribe: bool | None = None,
    delay_ns: float | None = None,
    imbalance_ns: float | None = None,
    start: str | None = None,
    wait: str | None = None,
    seed: int | None = None,
    lock_wait_s: float | None = None,
    episodes: int | None = None,
    warm_up: int | None = None,
    skew_ns: float | None = None,
    executor: Executor | None = None,
    jobs: int | None = None,
    save: str | Path | None = None,
    resume: bool = False,
) -> Plan | SimulatedPlan:
    """Check the arguments of a sweep and say what would be run. Starts nothing; see :func:`sweep`."""
    if machine is None:
        check_call(operation)
    else:
        check_operation(operation)
    counts = check_rank_list(ranks)
    if not counts:
        raise ArgumentError("ranks", "no number", f"1 to {MAX_RANKS}")
    measured: dict[str, Any] = {
        "mode": mode,
        "launches": launches,
        "calls": calls,
        "window_calls": window_calls,
        "budget_s": budget_s,
        "target_width": target_width,
        "oversubscribe": oversubscribe or None,
        "delay_ns": delay_ns,
        "imbalance_ns": imbalance_ns,
        "lock_wait_s": lock_wait_s,
    }
    simulated: dict[str, Any] = {
        "episodes": episodes,
        "warm_up": warm_up,
        "skew_ns": skew_ns,
        "executor": executor,
        "jobs": jobs,
    }
    work = check_work(operation, sizes, buffers, type, op)
    if machine is not None:
        refuse(measured, "only without a machine: a simulated run has no such thing")
        return plan_simulated(
            operation,
            machine=machine_text(machine),
            algorithm=algorithm,
            ranks=counts,
            definition=definition,
            rounds=rounds,
            placement=placement,
            wait=wait,
            seed=seed,
            save=save,
            resume=resume,
            start=start,
            work=work,
            **simulated,
        )
    refuse(simulated, "only with a machine, which is then simulated")
    specs = expand(MEASURED["algorithm"] if algorithm is None else algorithm, operation)
    modes = check_choices("mode", MEASURED["mode"] if mode is None else mode, MODES)
    definitions = check_definitions(definition, start, MEASURED["definition"])
    start = check_start(start, definitions)
    placement = "compact" if placement is None else placement
    check_placement(placement, counts, bool(oversubscribe))
    arguments = [
        "run",
        operation,
        "--algorithm",
        ",".join(specs),
        "--ranks",
        ",".join(map(str, counts)),
        "--mode",
        ",".join(modes),
        "--definition",
        ",".join(definitions),
        "--placement",
        placement_text(placement),
        "--start",
        start,
        *work_arguments(work),
    ]
    whole: dict[str, Any] = {
        "launches": launches,
        "rounds": rounds,
        "calls": calls,
        "window-calls": window_calls,
    }
    for name, value in whole.items():
        if value is not None:
            arguments += [f"--{name}", str(check_whole(name.replace("-", "_"), value, 1))]
    if seed is not None:
        arguments += ["--seed", str(check_whole("seed", seed, 0))]
    if lock_wait_s is not None:
        arguments += ["--lock-wait", f"{check_number('lock_wait_s', lock_wait_s):g}"]
    if budget_s is not None:
        arguments += ["--budget", f"{check_number('budget_s', budget_s, above=0):g}"]
    if target_width is not None:
        arguments += ["--target-width", f"{check_number('target_width', target_width, above=0):g}"]
    for name, value in (("delay_ns", delay_ns), ("imbalance_ns", imbalance_ns)):
        number = check_number(name, 0 if value is None else value)
        if number:
            arguments += [f"--{name.replace('_', '-')}", f"{number:g}"]
    if wait is not None:
        arguments += ["--wait", check_wait(wait)]
    if oversubscribe:
        arguments.append("--oversubscribe")
    output, go_on = check_output(save, resume)
    if go_on:
        arguments.append("--resume")
    return Plan(arguments, specs, output)


def plan_simulated(
    operation: str,
    *,
    machine: str,
    algorithm: str | Iterable[str] | None,
    ranks: list[int],
    definition: str | Sequence[str] | None,
    rounds: int | None,
    placement: str | Sequence[int] | None,
    wait: str | None,
    seed: int | None,
    episodes: int | None,
    warm_up: int | None,
    skew_ns: float | None,
    executor: Executor | None,
    jobs: int | None,
    save: str | Path | None,
    resume: bool,
    start: str | None,
    work: dict[str, Any],
) -> SimulatedPlan:
    """The same for a simulated machine."""
    if executor is not None and jobs is not None:
        raise ArgumentError(
            "jobs", f"{jobs!r} with an executor", "one of both: an executor has its own workers"
        )
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise ArgumentError("executor", repr(executor), "an executor of concurrent.futures")
    chosen: dict[str, Any] = {
        "algorithm": as_text(SIMULATED["algorithm"] if algorithm is None else algorithm),
        "placement": placement_text(SIMULATED["placement"] if placement is None else placement),
        "definitions": check_definitions(definition, start, SIMULATED["definition"]),
        "episodes": 20 if episodes is None else check_whole("episodes", episodes, 1, MAX_EPISODES),
        "warm_up": 2 if warm_up is None else check_whole("warm_up", warm_up, 0, MAX_EPISODES),
        "rounds": 1 if rounds is None else check_whole("rounds", rounds, 1, MAX_ROUNDS),
        "skew_ns": 1000.0 if skew_ns is None else check_number("skew_ns", skew_ns),
        "wait": check_wait(SIMULATED["wait"] if wait is None else wait),
    }
    chosen["start"] = check_start(start, chosen["definitions"])
    if chosen["skew_ns"] > MAX_SKEW_NS:
        raise ArgumentError("skew_ns", repr(skew_ns), f"at most {MAX_SKEW_NS:g}, a second")
    workers = _core.allowed_cpu_count() if jobs is None else check_whole("jobs", jobs, 1, MAX_JOBS)
    number = None if seed is None else check_whole("seed", seed, 0, 1 << 53)
    command = ["phicoll-bench", "run", operation, "--machine", machine, "--ranks", ",".join(map(str, ranks))]
    for name, value in {**chosen, "seed": number}.items():
        if value is not None:
            option = {"definitions": "definition"}.get(name, name.replace("_", "-"))
            command += [f"--{option}", ",".join(value) if isinstance(value, list) else format_value(value)]
    output, go_on = check_output(save, resume)
    if work:
        command += work_arguments(work)
    planned = _core.plan_simulation(
        **work,
        operation=operation,
        machine=machine,
        ranks=ranks,
        seed=number,
        resume=str(output) if go_on else "",
        command=command,
        **chosen,
    )
    if planned["left_out"]:
        warnings.warn(
            "references are left out: barriers of other systems have no simulated form",
            PhicollWarning,
            stacklevel=4,
        )
    if output is not None and not go_on and output.exists() and output.stat().st_size:
        load(output)  # refuses to append to what is not ours
    return SimulatedPlan(planned, output, executor, workers)


def check_definitions(
    definition: str | Sequence[str] | None, start: str | None, default: str | Sequence[str]
) -> list[str]:
    """Those that were given, else the one that an evicted start takes, else the default."""
    if definition is None:
        definition = "window" if start == "evicted" else default
    return check_choices("definition", definition, DEFINITIONS)


def check_start(start: str | None, definitions: Sequence[str]) -> str:
    """Where flags and slots are before each call. Back-to-back calls leave no time to evict them."""
    found = "warm" if start is None else start
    check_choices("start", found, STARTS)
    if found == "evicted" and list(definitions) != ["window"]:
        raise ArgumentError(
            "start",
            f"'evicted' with definition='{','.join(definitions)}'",
            "evicted with definition='window' alone: back-to-back calls leave no time to evict",
        )
    return found


def check_work(
    operation: str,
    sizes: Any,
    buffers: str | Sequence[str] | None,
    type: str | None,
    op: str | None,
) -> dict[str, Any]:
    """What the operation is called with: nothing for a barrier. Refuses what it does not take."""
    if operation == "barrier":
        refuse({"sizes": sizes, "buffers": buffers, "type": type, "op": op}, "only where data moves")
        return {}
    work: dict[str, Any] = {
        "sizes": check_sizes(SIZES if sizes is None else sizes),
        "buffers": check_choices("buffers", "fresh" if buffers is None else buffers, BUFFERS),
    }
    if CALLS[operation] in REDUCTIONS:
        work |= {"type": "float32" if type is None else str(type), "op": "sum" if op is None else str(op)}
        for size in work["sizes"]:
            _core.check_work(operation, size, work["type"], work["op"])
    else:
        refuse({"type": type, "op": op}, "only with " + ", ".join(REDUCTIONS))
    return work


def check_sizes(sizes: Any) -> list[int]:
    """Bytes, as numbers or as texts such as ``4K``."""
    found: list[int] = []
    for part in as_list(sizes):
        found += (
            _core.parse_sizes(part) if isinstance(part, str) else [check_whole("sizes", part, 0, MAX_SIZE)]
        )
    if not found:
        raise ArgumentError("sizes", "none", "bytes such as 8 or '4K'")
    return list(dict.fromkeys(found))


def call_arguments(
    operation: str, size: int | str | None, buffers: str | None, type: str | None, op: str | None
) -> dict[str, Any]:
    """What the core is told of one call, of 4096 bytes where no size is given: nothing for a barrier."""
    if operation != "barrier":
        size = 4096 if size is None else size
    work = check_work(operation, size, buffers, type, op)
    if not work:
        return {}
    for name, value in (("size", work["sizes"]), ("buffers", work["buffers"])):
        if len(value) != 1:
            raise ArgumentError(name, repr(value), "one")
    reduction = {name: work[name] for name in ("type", "op") if name in work}
    return {"operation": operation, "size": work["sizes"][0], "buffers": work["buffers"][0], **reduction}


def work_arguments(work: dict[str, Any]) -> list[str]:
    """Of ``phicoll-bench run``."""
    arguments = []
    for name, value in work.items():
        text = ",".join(map(str, value)) if isinstance(value, list) else value
        arguments += [f"--{'size' if name == 'sizes' else name}", text]
    return arguments


def format_value(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def machine_text(machine: Any) -> str:
    """A machine as the core's load_machine takes it."""
    from phicoll.registry.machines import Machine, path_text

    if isinstance(machine, Machine):
        return machine.name
    if isinstance(machine, os.PathLike):
        return path_text(Path(machine))
    if not isinstance(machine, str):
        raise ArgumentError("machine", repr(machine), "a machine's name or file")
    return machine


def refuse(options: dict[str, Any], allowed: str) -> None:
    """Refuse by name what was given."""
    for name, value in options.items():
        if value is not None:
            raise ArgumentError(name, repr(value), allowed)


def check_output(save: str | Path | None, resume: bool) -> tuple[Path | None, bool]:
    """Where the records go, and whether there is a run to go on with."""
    if save is None:
        if resume:
            raise ArgumentError("resume", "True without save", "save= with the file to go on with")
        return None, False
    output = check_writable(save, "save")
    if output.suffix == ".parquet":
        raise ArgumentError(
            "save",
            repr(str(save)),
            "a JSON Lines file, which is written as the run goes on; Results.save writes Parquet",
        )
    if resume and output.exists() and output.stat().st_size:
        load(output)  # refuses what is not ours
        return output, True
    return output, False


def sweep(
    operation: str = "barrier",
    *,
    algorithm: str | Iterable[str] | None = None,
    ranks: int | str | Sequence[int] = 2,
    machine: str | os.PathLike[str] | Machine | None = None,
    sizes: int | str | Iterable[int | str] | None = None,
    buffers: str | Sequence[str] | None = None,
    type: str | None = None,
    op: str | None = None,
    mode: str | Sequence[str] | None = None,
    definition: str | Sequence[str] | None = None,
    launches: int | None = None,
    rounds: int | None = None,
    calls: int | None = None,
    window_calls: int | None = None,
    budget_s: float | None = None,
    target_width: float | None = None,
    placement: str | Sequence[int] | None = None,
    oversubscribe: bool | None = None,
    delay_ns: float | None = None,
    imbalance_ns: float | None = None,
    start: str | None = None,
    wait: str | None = None,
    seed: int | None = None,
    lock_wait_s: float | None = None,
    episodes: int | None = None,
    warm_up: int | None = None,
    skew_ns: float | None = None,
    executor: Executor | None = None,
    jobs: int | None = None,
    save: str | Path | None = None,
    resume: bool = False,
    progress: bool | None = None,
    on_interrupt: str = "return",
) -> Results:
    """Measure every combination of algorithm, rank count and mode, interleaved with probes of the machine.

    With ``machine`` the sweep is simulated instead: the same algorithms on that machine, in the same records, labelled
    simulated.

    Parameters
    ----------
    operation:
        ``"barrier"``, ``"broadcast"``, ``"reduce"``, ``"allreduce"``, ``"gather"``, ``"scatter"``, ``"allgather"``,
        ``"alltoall"``, ``"scan"`` or ``"reduce_scatter"`` (MPI's block version). Without a machine also ``"exscan"``
        and, with counts that are all alike, ``"gatherv"``, ``"scatterv"``, ``"allgatherv"``, ``"alltoallv"`` and
        ``"reduce_scatterv"``.
    algorithm:
        Specs such as ``"dissemination:ways=3,std-barrier"`` or a list of them; sets are ``all``, ``references``,
        ``paper-000``, ``paper-001``, ``paper-002`` and ``paper-004``.
    ranks:
        Rank counts, 1 to 1,024; a text may have ranges, ``"2,4,8..32:8"``.
    machine:
        A simulated machine's name or file, perhaps with changes (``"xeon-phi-5110p:ring.hop=0"``); ``None`` for this
        machine. References have no simulated form.
    sizes:
        Bytes of the count argument, ``[8, 4096]`` or ``"8,4K,1M"`` (the default): the message, or one block of gather,
        scatter, allgather, alltoall and reduce_scatter. Not for barriers.
    buffers:
        ``"fresh"`` (the default: the owner writes what it sends before each call), ``"reused"`` (once), ``"heap"``
        (fresh, in the group's shared heap, which every rank reaches; not on a simulated machine), or several.
    type, op:
        Element type and operator of reductions (``"float32"`` and ``"sum"``).
    mode:
        ``"threads"`` (the default), ``"processes"`` or both.
    definition:
        ``"loop"`` (mean of back-to-back calls, empty loop subtracted), ``"window"`` (each call from the last entry to
        the last exit, after a random delay) or both; by default both, simulated ``"loop"``, with an
        evicted start ``"window"``.
    launches, rounds:
        New threads or processes this often (12 by default), rounds in each (8 by default). A simulated round is
        another seed, with other places of lines and other starts (1 by default).
    calls, window_calls:
        Calls in a loop sample (by default as many as the clock needs) and in a window sample (32 by default).
    budget_s:
        Seconds that the whole sweep may take.
    target_width:
        Stop a point early when its interval is this narrow, relative to its median.
    placement:
        ``"compact"`` (the default), ``"scatter"``, ``"balanced"`` (the default of simulated runs) or a list of CPUs;
        every rank is pinned.
    oversubscribe:
        Allow more ranks than CPUs that this process may use.
    delay_ns, imbalance_ns:
        Delay between barriers, and the largest random delay of one rank, in ns.
    start:
        ``"warm"``, or ``"evicted"``: before each call the algorithm's own shared memory, its flags and slots, is
        dropped from all caches, as ramos-hoefler-2013's models assume it (their R_I terms). With
        ``definition="window"`` alone, which is then the default.
    wait:
        How a rank waits: ``spin``, ``pause``, ``pause(n)``, ``yield`` or ``adaptive`` (the default; simulated:
        ``pause(1)``).
    seed:
        Seeds places, orders and delays; drawn and recorded where not given, 1 in simulated runs.
    lock_wait_s:
        How long to wait for CPUs that another measurement uses (30 by default), in seconds.
    episodes, warm_up:
        Simulated: episodes of a sample (20 by default), and those before it (2 by default).
    skew_ns:
        Simulated: ranks start, and enter each episode of a window, within this time of each other (1,000 by default).
    executor:
        Simulated: where points are simulated, any executor of ``concurrent.futures`` or Dask's
        ``Client.get_executor()``; by default threads, which run side by side because the core releases the GIL.
    jobs:
        Simulated: how many threads (by default one a CPU that may be used).
    save:
        A JSON Lines file that gets each record as it is measured.
    resume:
        Go on with the run in ``save``.
    progress:
        Show a progress bar; by default on a terminal and in a notebook.
    on_interrupt:
        What Ctrl-C does: ``"return"`` what was measured (``results.interrupted`` is then true), or ``"raise"``
        KeyboardInterrupt after writing it to ``save``.

    Returns
    -------
    Results
        All records. Subjects that failed verification are marked, with a warning, and never summarised.

    Raises
    ------
    ArgumentError
        Bad input; nothing was started.
    BrokenGroupError
        A rank died or never came; ``error.results`` has what was measured.
    ResourceError
        The machine says no.
    """
    check_choices("on_interrupt", on_interrupt, ("return", "raise"))
    planned = plan(
        operation,
        algorithm=algorithm,
        ranks=ranks,
        sizes=sizes,
        buffers=buffers,
        type=type,
        op=op,
        mode=mode,
        definition=definition,
        launches=launches,
        rounds=rounds,
        calls=calls,
        window_calls=window_calls,
        budget_s=budget_s,
        target_width=target_width,
        placement=placement,
        oversubscribe=oversubscribe,
        delay_ns=delay_ns,
        imbalance_ns=imbalance_ns,
        start=start,
        wait=wait,
        seed=seed,
        lock_wait_s=lock_wait_s,
        machine=machine,
        episodes=episodes,
        warm_up=warm_up,
        skew_ns=skew_ns,
        executor=executor,
        jobs=jobs,
        save=save,
        resume=resume,
    )
    shown: Display | None
    with display(progress) as shown:
        results = planned.run(shown.update if shown else None)
    if results.interrupted and on_interrupt == "raise":
        raise KeyboardInterrupt
    warn_about(results)
    return results


def measure(algorithm: str | Iterable[str], **options: Any) -> Results:
    """Measure or simulate one algorithm or a few; takes what :func:`sweep` takes.

    ``phicoll.measure("dissemination", ranks=2, mode="processes")``
    ``phicoll.measure("ring", operation="broadcast", sizes="4K")``
    ``phicoll.measure("dissemination", ranks=240, machine="xeon-phi-5110p")``
    """
    return sweep(algorithm=algorithm, **options)


def warn_about(results: Results) -> None:
    """Say aloud what a reader of the numbers has to know."""
    failed = sorted({str(point.get("spec")) for point in results.unverified})
    if failed:
        warnings.warn(
            f"not verified, and so not summarised: {', '.join(failed)}", PhicollWarning, stacklevel=3
        )
    if results.interrupted:
        warnings.warn(
            f"interrupted: {len(results)} samples measured before it are kept", PhicollWarning, stacklevel=3
        )


def last_run(results: Results) -> Results:
    """The records of the run that was measured last: a file that is appended to may have others."""
    run = next((r.get("run") for r in reversed(results.records) if r["kind"] == "context"), None)
    mine = [record for record in results.records if record.get("run") == run]
    return Results(mine, damaged_lines=results.damaged_lines, source=results.source)


# Checks. Each names the argument, what it got and what is allowed.


def as_list(value: Any) -> list[Any]:
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    if isinstance(value, Iterable):
        return list(value)
    return [value]


def check_choices(argument: str, value: str | Sequence[str], allowed: Sequence[str]) -> list[str]:
    found = list(dict.fromkeys(as_list(value)))
    for one in found:
        if one not in allowed:
            raise ArgumentError(argument, repr(one), ", ".join(allowed))
    if not found:
        raise ArgumentError(argument, "none", ", ".join(allowed))
    return found


def check_rank_list(ranks: Any) -> list[int]:
    """Rank counts; in text also ranges such as ``2,4,8..32:8``."""
    counts: list[int] = []
    for part in as_list(ranks):
        if isinstance(part, str) and ".." in part:
            ends, _, step = part.partition(":")
            first, last = (check_ranks(end) for end in ends.split("..", 1))
            if last < first:
                raise ArgumentError("ranks", repr(part), "first..last with first not above last")
            counts += range(first, last + 1, check_whole("ranks", step, 1) if step else 1)
        else:
            counts.append(check_ranks(part))
    return list(dict.fromkeys(counts))


def check_ranks(count: Any) -> int:
    return check_whole("ranks", count, 1, MAX_RANKS)


def check_whole(argument: str, value: Any, least: int, most: int | None = None) -> int:
    allowed = f"a whole number from {least}" + (f" to {most}" if most is not None else " on")
    try:
        number = int(value) if isinstance(value, str) else value.__index__()
    except (ValueError, AttributeError, TypeError):
        raise ArgumentError(argument, repr(value), allowed) from None
    if isinstance(value, bool) or number < least or (most is not None and number > most):
        raise ArgumentError(argument, repr(value), allowed)
    return int(number)


def check_number(argument: str, value: Any, above: float | None = None) -> float:
    allowed = "a number above 0" if above is not None else "a number, 0 or above"
    try:
        number = float(value)
    except (ValueError, TypeError):
        raise ArgumentError(argument, repr(value), allowed) from None
    if not 0 <= number < float("inf") or (above is not None and number <= above):
        raise ArgumentError(argument, repr(value), allowed)
    return number


def placement_text(placement: str | Sequence[int]) -> str:
    return placement if isinstance(placement, str) else ",".join(map(str, placement))


def check_placement(placement: str | Sequence[int], counts: Sequence[int], oversubscribe: bool) -> None:
    """Refuse a bad placement, and more ranks than CPUs unless that was asked for. The core's rules."""
    text = placement_text(placement)
    for count in counts:
        cpus = _core.place(count, text)  # raises ArgumentError
        limit = min(_core.allowed_cpu_count(), len(set(cpus)) if text[:1].isdigit() else MAX_RANKS)
        if count > limit and not oversubscribe:
            raise ArgumentError(
                "ranks", str(count), f"1 to {limit}, the CPUs that may be used, or more with oversubscribe"
            )


def check_wait(wait: str) -> str:
    return str(_core.parse_wait(wait))
