"""``measure`` and ``sweep``: measuring and simulating from Python.

Both check every argument before they start anything, and return :class:`~phicoll.Results`. They run ``phicoll-bench``
on this machine, or simulate another if ``machine`` is given. docs/measuring.md says what the numbers mean.
"""

from __future__ import annotations

import functools
import os
import textwrap
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import phicoll._core as _core
from phicoll import bench
from phicoll.errors import ArgumentError, Error, PhicollWarning
from phicoll.foundations.checks import argument_names, as_list, check_text, check_whole
from phicoll.foundations.files import as_path, check_writable
from phicoll.foundations.nearest import near
from phicoll.foundations.progress import Display, display
from phicoll.measuring.clusters import ClusterPlan, Measured, check_executor
from phicoll.measuring.hosts import Host, check_host
from phicoll.measuring.options import (
    OPTIONS,
    as_values,
    choices_of,
    described,
    native_default,
    python_names,
    value_text,
)
from phicoll.measuring.simulating import SimulatedPlan
from phicoll.registry import CALLS, REDUCTIONS, check_measured, moves_data
from phicoll.results import Results, load
from phicoll.results.compare.conditions import why_not_verified

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from phicoll.comm.operators import Op
    from phicoll.registry.machines import Machine

__all__ = ["DEFINITIONS", "MAX_RANKS", "MODES", "Plan", "measure", "plan", "sweep"]

MODES = tuple(choices_of("mode"))
#: The size, in bytes, of a call that is counted or explained alone.
ONE_SIZE = 4096
DEFINITIONS = tuple(choices_of("definition"))
MAX_SIZE = 1 << 40
MAX_RANKS = 1024


class Plan:
    """A sweep with checked arguments: the words for ``phicoll-bench``, and the host that it runs on if not this one,
    which checks them itself, as it knows its CPUs.
    """

    def __init__(
        self, arguments: Sequence[str], specs: Sequence[str], output: Path | None, host: Host | None = None
    ) -> None:
        self.arguments = list(arguments)
        self.specs = list(specs)
        self.output = output
        self.host = host

    def run(self, progress: bench.Progress | None = None) -> Results:
        """Measure. See :func:`sweep` for what it returns and raises."""
        executed = None if self.host is None else self.host.execute
        with python_names():
            return last_run(bench.run(self.arguments, self.output, progress, executed))


def measure_here(operation: str, values: dict[str, Any]) -> Measured:
    """On a host of a cluster: the records of a sweep, and the error that ended it."""
    try:
        return plan(operation, **values).run().records, None
    except Error as error:
        results = error.results
        return ([] if results is None else results.records), error


def plan(
    operation: str = "barrier", *, executor: Executor | str | None = None, **options: Any
) -> Plan | SimulatedPlan | ClusterPlan:
    """Check the arguments of a sweep and return what would be run. Starts nothing; see :func:`sweep`."""
    for name in options:
        if name not in OPTIONS:
            raise ArgumentError("argument", repr(name), ", ".join(OPTIONS))
    operation = check_measured(operation)
    options = {name: list(value) if isinstance(value, Iterator) else value for name, value in options.items()}
    save, resume = options.pop("save", None), bool(options.pop("resume", False))
    machine = options.pop("machine", None)
    if machine is None:
        host = checked_host(options.pop("host", None), options.pop("host_bench", None), executor)
    values = as_values(options)
    check_executor(executor)
    if machine is not None:
        return plan_simulated(operation, machine_text(machine), values, executor, save, resume)
    if isinstance(executor, str):
        if resume:
            raise ArgumentError(
                "resume", f"True with executor {executor!r}", "only with a machine to simulate"
            )
        task = functools.partial(measure_here, operation, options)
        return ClusterPlan(task, check_output(save, False), executor)
    if executor is not None:
        raise ArgumentError("executor", repr(executor), "only with a machine to simulate")
    if host is not None:
        words = ["run", operation, *option_words(values), *(["--resume"] if resume else [])]
        return Plan(words, [], check_output(save, resume), host)
    with python_names():
        planned = _core.plan_sweep(operation, values)
    values["algorithm"] = ",".join(planned["specs"])
    values["ranks"] = ",".join(map(str, planned["ranks"]))
    values["definition"] = ",".join(planned["definitions"])
    words = ["run", operation, *option_words(values)]
    return Plan([*words, "--resume"] if resume else words, planned["specs"], check_output(save, resume))


def checked_host(name: Any, program: Any, executor: Any) -> Host | None:
    if name is None:
        if program is not None:
            raise ArgumentError("host_bench", repr(program), "only with host")
        return None
    if executor is not None:
        raise ArgumentError("executor", repr(executor), "not with host")
    return check_host(name, program)


def plan_simulated(
    operation: str,
    machine: str,
    values: dict[str, str],
    executor: Executor | str | None,
    save: str | Path | None,
    resume: bool,
) -> SimulatedPlan:
    """The same for a simulated machine."""
    if executor is not None and "jobs" in values:
        raise ArgumentError(
            "jobs", f"{values['jobs']} with an executor", "one of the two: an executor has its own workers"
        )
    values = {"machine": machine, **values}
    output = check_output(save, resume)

    with python_names():
        run = _core.SimulatedRun(operation, values)
    command = ["phicoll-bench", "run", operation, *option_words(values)]
    if run.left_out:
        warnings.warn(
            "references are left out: barriers of other systems have no simulated form",
            PhicollWarning,
            stacklevel=5,
        )
    return SimulatedPlan(run, command, output, resume, executor, values.get("jobs"))


def option_words(values: dict[str, str]) -> list[str]:
    """The options as words of ``phicoll-bench run``."""
    words: list[str] = []
    for name, text in values.items():
        words += [f"--{name}", text] if text else [f"--{name}"]
    return words


def check_work(
    operation: str,
    sizes: Any,
    buffers: str | Sequence[str] | None,
    type: str | None,
    op: str | None,
) -> dict[str, Any]:
    """What the operation is called with: nothing for a barrier. Refuses arguments that it does not take."""
    if not moves_data(operation):
        refuse({"sizes": sizes, "buffers": buffers, "type": type, "op": op}, "only where data moves")
        return {}
    work: dict[str, Any] = {
        "sizes": check_sizes(native_default("sizes") if sizes is None else sizes),
        "buffers": check_choices("buffers", buffers or native_default("buffers"), choices_of("buffers")),
    }
    if CALLS[operation] in REDUCTIONS:
        work |= {"type": str(type or native_default("type")), "op": str(op or native_default("op"))}
        for size in work["sizes"]:
            _core.check_work(operation, size, work["type"], work["op"])
    else:
        refuse({"type": type, "op": op}, "only with " + ", ".join(REDUCTIONS))
    return work


def check_sizes(sizes: Any) -> list[int]:
    """Sizes in bytes, given as numbers or as texts such as ``4K``."""
    found: list[int] = []
    for part in as_list(sizes):
        found += (
            _core.parse_sizes(check_text("sizes", part))
            if isinstance(part, str)
            else [check_whole("sizes", part, 0, MAX_SIZE)]
        )
    if not found:
        raise ArgumentError("sizes", "none", "bytes such as 8 or '4K'")
    return list(dict.fromkeys(found))


def call_arguments(
    operation: str, size: int | str | None, buffers: str | None, type: str | None, op: str | None
) -> dict[str, Any]:
    """What the core is told about one call, by default of ONE_SIZE: nothing for a barrier."""
    if moves_data(operation):
        size = ONE_SIZE if size is None else size
    work = check_work(operation, size, buffers, type, op)
    if not work:
        return {}
    for name, value in (("size", work["sizes"]), ("buffers", work["buffers"])):
        if len(value) != 1:
            raise ArgumentError(name, repr(value), "one")
    reduction = {name: work[name] for name in ("type", "op") if name in work}
    return {"operation": operation, "size": work["sizes"][0], "buffers": work["buffers"][0], **reduction}


def machine_text(machine: Any) -> str:
    """A machine as text for the core's load_machine."""
    from phicoll.registry.machines import Machine, path_text

    if isinstance(machine, Machine):
        return machine.name
    if isinstance(machine, os.PathLike):
        machine = path_text(as_path(machine, "machine"))
    return check_text("machine", machine, "a machine's name or file")


def refuse(options: dict[str, Any], allowed: str) -> None:
    """Refuse every option that was given, by name."""
    for name, value in options.items():
        if value is not None:
            raise ArgumentError(name, repr(value), allowed)


def check_output(save: str | Path | None, resume: bool) -> Path | None:
    """Where the records go."""
    if save is None:
        if resume:
            raise ArgumentError("resume", "True without save", "save= with the file to continue")
        return None
    if str(save) == os.devnull and not resume:  # a shell's word for no file
        return None
    output = check_writable(save, "save")
    if output.suffix in (".parquet", ".csv", ".gz"):
        raise ArgumentError(
            "save",
            repr(str(save)),
            "a JSON Lines file, which is written as the run goes on; Results.save writes the others",
        )
    if resume and output.exists() and output.stat().st_size:
        load(output)  # refuses a file that is not phicoll's
    return output


@argument_names
def sweep(
    operation: str = "barrier",
    *,
    algorithm: str | Iterable[str] | None = None,
    ranks: int | str | Sequence[int] | None = None,
    machine: str | os.PathLike[str] | Machine | None = None,
    host: str | None = None,
    host_bench: str | os.PathLike[str] | None = None,
    sizes: int | str | Iterable[int | str] | None = None,
    buffers: str | Sequence[str] | None = None,
    type: Any = None,
    op: str | Op | None = None,
    problem_class: str | Iterable[str] | None = None,
    way: str | Iterable[str] | None = None,
    mode: str | Sequence[str] | None = None,
    definition: str | Sequence[str] | None = None,
    launches: int | None = None,
    rounds: int | None = None,
    calls: int | None = None,
    window_calls: int | None = None,
    budget_s: float | str | None = None,
    target_width: float | str | None = None,
    placement: str | Sequence[int] | None = None,
    oversubscribe: bool | None = None,
    delay_ns: float | None = None,
    imbalance_ns: float | None = None,
    start: str | None = None,
    wait: str | None = None,
    seed: int | None = None,
    lock_wait_s: float | None = None,
    warm_up: int | None = None,
    skew_ns: float | None = None,
    executor: Executor | str | None = None,
    jobs: int | None = None,
    save: str | Path | None = None,
    resume: bool = False,
    progress: bool | None = None,
    on_interrupt: str = "return",
) -> Results:
    """Measure every combination of algorithm, rank count and mode, interleaved with probes of the machine.

    With ``machine``, simulate the sweep on that machine instead: the same algorithms and the same records, labelled
    simulated.

    Parameters
    ----------
    operation:
        A collective, one of ``phicoll.registry.CALLS``, or its name in MPI; or a program, one of
        ``phicoll.registry.PROGRAMS``, whose run is then what is timed.
    {options}
    executor:
        Other hosts: ``"dask:ADDRESS"``, or ``"slurm"`` with keys after colons, ``"slurm:nodes=2:partition=short"``
        (also ``account=`` and ``minutes=``, 60 by default). Simulated points run on all workers; without a machine the
        sweep runs once on each host, at the same time, and each point names its host as ``machine``. Simulated also:
        any executor of ``concurrent.futures``; by default threads, one for each CPU.
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
        Bad input; nothing was measured.
    BrokenGroupError
        A rank died or never came; ``error.results`` has what was measured.
    ResourceError
        A resource was missing or refused: memory, disk space, or CPUs held by another measurement.
    """
    options = {name: value for name, value in locals().items() if name in OPTIONS}
    check_choices("on_interrupt", on_interrupt, ("return", "raise"))
    planned = plan(operation, executor=executor, **options)
    shown: Display | None
    with display(progress) as shown:
        results = planned.run(shown.update if shown else None)
    if results.interrupted and on_interrupt == "raise":
        raise KeyboardInterrupt
    warn_about(results)
    return results


if sweep.__doc__ is not None:  # with -OO there is none
    sweep.__doc__ = sweep.__doc__.replace("    {options}", textwrap.indent(described(), "    "))


def measure(algorithm: str | Iterable[str], **options: Any) -> Results:
    """Measure or simulate one algorithm or a few; takes what :func:`sweep` takes.

    ``phicoll.measure("dissemination", ranks=2, mode="processes")``
    ``phicoll.measure("ring", operation="broadcast", sizes="4K")``
    ``phicoll.measure("dissemination", ranks=240, machine="xeon-phi-5110p")``
    """
    return sweep(algorithm=algorithm, **options)


def warn_about(results: Results) -> None:
    """Warn about what a reader of the numbers has to know."""
    failed = {str(point.get("spec")): why_not_verified(point) for point in results.unverified}
    if failed:
        reasons = "; ".join(f"{spec} ({failed[spec]})" for spec in sorted(failed))
        warnings.warn(f"not verified and therefore not summarised: {reasons}", PhicollWarning, stacklevel=4)
    if results.interrupted:
        warnings.warn(
            f"interrupted: the {len(results)} samples measured so far are kept", PhicollWarning, stacklevel=4
        )


def last_run(results: Results) -> Results:
    """The records of the last run. A file that was appended to may have others."""
    run = next((r.get("run") for r in reversed(results.records) if r["kind"] == "context"), None)
    mine = [record for record in results.records if record.get("run") == run]
    return Results(mine, damaged_lines=results.damaged_lines, source=results.source)


# Checks. Each names the argument, what it got and what is allowed.


def check_choices(argument: str, value: str | Sequence[str], allowed: Sequence[str]) -> list[str]:
    found = as_list(value)
    for one in found:
        if one not in allowed:
            raise ArgumentError(argument, repr(one), near(one, allowed))
    if not found:
        raise ArgumentError(argument, "none", ", ".join(allowed))
    return list(dict.fromkeys(found))


def check_rank_list(ranks: Any) -> list[int]:
    """Rank counts; in text also ranges such as ``2,4,8..32:8``."""
    return list(_core.parse_ranks(check_text("ranks", value_text(ranks))))


def placement_text(placement: Any) -> str:
    """A placement, by name or as a list of CPUs, as the core takes it."""
    if isinstance(placement, Iterable) and not isinstance(placement, str | bytes):
        placement = ",".join(map(str, placement))
    return check_text("placement", placement, "compact, scatter, balanced or CPUs such as 0,2,4-7")
