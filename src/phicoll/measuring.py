"""``measure`` and ``sweep``: what Python users measure with.

Both check every argument before anything is started, run ``phicoll-bench`` and return :class:`~phicoll.Results`.
docs/measuring.md says what the numbers mean.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from phicoll import _core, bench
from phicoll.errors import ArgumentError, PhicollWarning
from phicoll.progress import Display, display
from phicoll.registry import check_operation, expand
from phicoll.results import Results, load
from phicoll.storage import check_writable

__all__ = ["DEFINITIONS", "MAX_RANKS", "MODES", "Plan", "measure", "plan", "sweep"]

MODES = ("threads", "processes")
DEFINITIONS = ("loop", "window")
STARTS = ("warm", "evicted")
MAX_RANKS = 1024


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
    algorithm: str | Iterable[str] = "all,references",
    ranks: int | Sequence[int] = 2,
    mode: str | Sequence[str] = "threads",
    definition: str | Sequence[str] = DEFINITIONS,
    launches: int | None = None,
    rounds: int | None = None,
    calls: int | None = None,
    window_calls: int | None = None,
    budget_s: float | None = None,
    target_width: float | None = None,
    placement: str | Sequence[int] = "compact",
    oversubscribe: bool = False,
    delay_ns: float = 0,
    imbalance_ns: float = 0,
    start: str = "warm",
    wait: str | None = None,
    seed: int | None = None,
    lock_wait_s: float | None = None,
    save: str | Path | None = None,
    resume: bool = False,
) -> Plan:
    """Check the arguments of a sweep and say what would be run. Starts nothing; see :func:`sweep`."""
    check_operation(operation)
    specs = expand(algorithm, operation)
    counts = check_rank_list(ranks)
    if not counts:
        raise ArgumentError("ranks", "no number", f"1 to {MAX_RANKS}")
    modes = check_choices("mode", mode, MODES)
    definitions = check_choices("definition", definition, DEFINITIONS)
    check_choices("start", start, STARTS)
    if start == "evicted" and definitions != ["window"]:
        raise ArgumentError(
            "start", "'evicted' with definition loop", "evicted with definition='window' alone"
        )
    check_placement(placement, counts, oversubscribe)
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
        number = check_number(name, value)
        if number:
            arguments += [f"--{name.replace('_', '-')}", f"{number:g}"]
    if wait is not None:
        arguments += ["--wait", check_wait(wait)]
    if oversubscribe:
        arguments.append("--oversubscribe")
    output = None
    if save is not None:
        output = check_writable(save, "save")
        if output.suffix == ".parquet":
            raise ArgumentError(
                "save",
                repr(str(save)),
                "a JSON Lines file, which is written as the run goes on; Results.save writes Parquet",
            )
        if resume and output.exists() and output.stat().st_size:
            load(output)  # refuses what is not ours
            arguments.append("--resume")
    elif resume:
        raise ArgumentError("resume", "True without save", "save= with the file to go on with")
    return Plan(arguments, specs, output)


def sweep(
    operation: str = "barrier",
    *,
    algorithm: str | Iterable[str] = "all,references",
    ranks: int | Sequence[int] = 2,
    mode: str | Sequence[str] = "threads",
    definition: str | Sequence[str] = DEFINITIONS,
    launches: int | None = None,
    rounds: int | None = None,
    calls: int | None = None,
    window_calls: int | None = None,
    budget_s: float | None = None,
    target_width: float | None = None,
    placement: str | Sequence[int] = "compact",
    oversubscribe: bool = False,
    delay_ns: float = 0,
    imbalance_ns: float = 0,
    start: str = "warm",
    wait: str | None = None,
    seed: int | None = None,
    lock_wait_s: float | None = None,
    save: str | Path | None = None,
    resume: bool = False,
    progress: bool | None = None,
    on_interrupt: str = "return",
) -> Results:
    """Measure every combination of algorithm, rank count and mode, interleaved with probes of the machine.

    Parameters
    ----------
    operation:
        ``"barrier"``.
    algorithm:
        Specs such as ``"dissemination:ways=3,std-barrier"`` or a list of them; sets are ``all``, ``references``,
        ``paper-000``, ``paper-001``, ``paper-002`` and ``paper-004``.
    ranks:
        Rank counts, 1 to 1,024; a text may have ranges, ``"2,4,8..32:8"``.
    mode:
        ``"threads"``, ``"processes"`` or both.
    definition:
        ``"loop"`` (mean of back-to-back calls, empty loop subtracted), ``"window"`` (each call from the last entry to
        the last exit, after a random delay) or both.
    launches, rounds:
        New threads or processes this often (12 by default), rounds in each (8 by default).
    calls, window_calls:
        Calls in a loop sample (by default as many as the clock needs) and in a window sample (32 by default).
    budget_s:
        Seconds that the whole sweep may take.
    target_width:
        Stop a point early when its interval is this narrow, relative to its median.
    placement:
        ``"compact"``, ``"scatter"``, ``"balanced"`` or a list of CPUs; every rank is pinned.
    oversubscribe:
        Allow more ranks than CPUs that this process may use.
    delay_ns, imbalance_ns:
        Delay between barriers, and the largest random delay of one rank, in ns.
    start:
        ``"warm"`` or ``"evicted"``: the state of flags before each call.
    wait:
        How a rank waits: ``spin``, ``pause``, ``pause(n)``, ``yield`` or ``adaptive`` (the default).
    seed:
        Seeds places, orders and delays; drawn and recorded where not given.
    lock_wait_s:
        How long to wait for CPUs that another measurement uses (30 by default), in seconds.
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
    """Measure one algorithm or a few; takes what :func:`sweep` takes.

    ``phicoll.measure("dissemination", ranks=2, mode="processes")``
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
