"""``phicoll advise``: what other algorithms would bring to a program's calls, measured again in the program itself."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from phicoll.errors import ArgumentError, Error
from phicoll.explaining.profile import Profile, profile
from phicoll.foundations.checks import check_number
from phicoll.foundations.files import check_writable, temporary_folder
from phicoll.foundations.programs import environment_before_python, on_path
from phicoll.measuring.compared_runs import ComparedRuns, Patterns, by_turns, check_turns, run
from phicoll.models.tuning.decision import Decision
from phicoll.models.tuning.tune import LEAST_POINT_S, tune
from phicoll.preload.alternatives import alternatives
from phicoll.preload.mpi import launcher_kind, only_watched
from phicoll.registry import OPERATIONS, moves_data, short_spec
from phicoll.results.reading.subject import size_text

__all__ = ["Advised", "Call", "advise"]

#: Calls that take less of the run are not looked at, nor more than so many.
LEAST_SHARE = 0.002
MOST_CALLS = 8
#: Seconds that measuring may take, without the program's runs.
BUDGET_S = 60.0


@dataclass(frozen=True)
class Call:
    """The program's calls of one operation and size in groups of one kind.

    ``calls`` are a rank's, ``own_s`` a rank's time in them after the last rank had entered, and ``share`` that time's
    share of the run; ``algorithm`` served most of them.
    """

    operation: str
    mode: str
    ranks: int
    bytes: int
    calls: int
    own_s: float
    share: float
    algorithm: str

    @property
    def title(self) -> str:
        size = f" of {size_text(self.bytes)}" if moves_data(self.operation) else ""
        return f"{self.operation}{size} among {self.ranks} {self.mode}"


def calls_of(found: Profile) -> list[Call]:
    """What a profile's rows come to, the calls first that another algorithm could save most of."""
    rows: dict[tuple[str, str, int, int], list[Any]] = {}
    for row in found.rows:
        if row.ranks > 1 and row.operation in OPERATIONS and (row.bytes or not moves_data(row.operation)):
            rows.setdefault((row.operation, row.mode, row.ranks, row.bytes), []).append(row)
    calls = []
    for key, alike in rows.items():
        own_s = sum(row.own_s / row.ranks for row in alike)
        share = own_s / found.seconds if found.seconds > 0 else 0.0
        most = max(alike, key=lambda row: row.calls).algorithm
        calls.append(Call(*key, sum(row.calls for row in alike), own_s, share, most))
    return sorted(calls, key=lambda call: call.own_s, reverse=True)


@dataclass
class Advised:
    """What was found of a program's ``calls``: a decision each, the table of those that gain, and what that brought.

    ``runs`` has the program's runs with the table and without, by turns; None where nothing gains.
    """

    calls: list[Call]
    seconds: float
    decisions: dict[Call, Decision] = field(default_factory=dict)
    table: Path | None = None
    runs: ComparedRuns | None = None
    interrupted: bool = False
    notes: list[str] = field(default_factory=list)
    #: Of an MPI's algorithms: by operation and algorithm, a rank's seconds in the calls after the last had entered.
    tried: dict[str, dict[str, float]] = field(default_factory=dict)
    #: The variables that have the MPI take the best.
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def better(self) -> dict[Call, Decision]:
        """The calls that another algorithm makes faster."""
        return {call: one for call, one in self.decisions.items() if one.spec != "auto"}

    def to_dict(self) -> dict[str, Any]:
        """The object that ``phicoll advise --json`` prints."""
        return {
            "seconds": self.seconds,
            "calls": [
                {**vars(call), "decision": self.decisions[call].to_dict() if call in self.decisions else None}
                for call in self.calls
            ],
            "table": None if self.table is None else str(self.table),
            "runs": None if self.runs is None else self.runs.to_dict(),
            "tried": self.tried,
            "variables": self.variables,
            "interrupted": self.interrupted,
            "notes": self.notes,
        }

    def lines(self) -> Iterator[str]:
        """The calls, a line each."""
        for call, one in self.decisions.items():
            now = short_spec(call.operation, one.rule)
            head = f"{call.title}: {call.calls:,} calls, {call.share:.1%} of the run"
            if one.spec == "auto":
                yield f"{head}; none of {one.tried} resolved faster than {now}"
            else:
                saved = call.own_s * (1 - 1 / one.gain.median)
                taken = short_spec(call.operation, one.spec)
                yield f"{head}; {taken} is {one.gain} times faster than {now}, which saves {saved:.3g} s"

    def lines_of_mpi(self) -> Iterator[str]:
        """The operations whose algorithms are an MPI's, a line each, the fastest algorithm first."""
        for operation, taken in self.tried.items():
            order = sorted(taken.items(), key=lambda one: one[1])
            yield f"{operation}, a rank's seconds: " + ", ".join(f"{name} {s:.3g}" for name, s in order)

    def __str__(self) -> str:
        lines = [*self.lines(), *self.lines_of_mpi(), *self.notes]
        if not self.calls:
            lines.insert(0, f"no collective calls of several ranks in {self.seconds:.3f} s")
        elif not self.decisions and not self.tried:
            lines.insert(0, "no calls that take enough of the run")
        if self.runs is not None:
            lines.append(str(self.runs))
            if self.variables:
                words = " ".join(f"{name}={value}" for name, value in self.variables.items())
                better = self.runs.ratio is not None and self.runs.ratio.enough and self.runs.ratio.high < 1
                lines.append(
                    f"set {words}" if better else f"no advice: the program is not faster with {words}"
                )
        if self.table is not None and self.better:
            lines.append(f"wrote {self.table}; PHICOLL_TUNING={self.table} uses it")
        return "\n".join(lines)


def advise(
    command: Sequence[str],
    *,
    budget_s: float | None = None,
    rounds: int = 10,
    ignore: str | None = None,
    own_time: str | None = None,
    save: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> Advised:
    """Profile a program of phicoll's, measure what other algorithms do with its calls, and run it with the best.

    If the command is an MPI's launcher, the algorithms are the MPI's, each tried in a run of the program. The program's
    input is empty, and what it prints is not shown.

    Parameters
    ----------
    budget_s:
        Seconds that measuring the calls may take, without the program's own runs; 60 by default.
    rounds:
        How often the program is run with what was found, and as often without, by turns.
    ignore, own_time:
        As of :func:`phicoll.measuring.compared_runs.compare_run`.
    save:
        A file for the tuning table, which keeps its rows for other groups.
    progress:
        As of :func:`phicoll.tune`.

    Raises
    ------
    ArgumentError
        Bad input; nothing was started.
    Error
        The program fails, or nothing could be measured.
    """
    if not command:
        raise ArgumentError("command", "none", "a program and its arguments after --")
    if on_path(command[0]) is None:
        raise ArgumentError("command", repr(command[0]), "a program on the PATH, or its path")
    seconds = check_number("budget_s", BUDGET_S if budget_s is None else budget_s, above=0)
    patterns = check_turns(rounds, ignore, own_time)
    kept = None if save is None else check_writable(save, "save")
    if kind := launcher_kind(command[0]):
        if kept is not None:
            raise ArgumentError(
                "save", repr(str(kept)), "without an MPI's launcher: its algorithms have variables"
            )
        return advise_mpi(command, kind, seconds, rounds, patterns)
    with profile() as found:
        finished_run(command, environment_before_python())
    calls = calls_of(found)
    advised = Advised(calls, found.seconds)
    looked_at = worth_it(calls)
    advised.notes += [
        f"{call.title} is served by what PHICOLL_{call.operation.upper()} names, before any table"
        for call in looked_at
        if os.environ.get(f"PHICOLL_{call.operation.upper()}")
    ]
    with table_at(kept) as table:
        decide_all(advised, looked_at, seconds, table, progress)
        advised.table = kept
        if advised.better and not advised.interrupted:
            before = environment_before_python()
            ways = ((command, before), (command, {**before, "PHICOLL_TUNING": str(table.absolute())}))
            advised.runs = ComparedRuns("", ways=("as it is", "with the table"))
            by_turns(advised.runs, command[0], ways, rounds, patterns)
            advised.interrupted = advised.runs.interrupted
    return advised


def worth_it(calls: Sequence[Call]) -> list[Call]:
    return [call for call in calls if call.share >= LEAST_SHARE][:MOST_CALLS]


def finished_run(command: Sequence[str], environment: dict[str, str]) -> None:
    ended = run(command, environment)
    if ended.code != 0:
        raise Error(f"{command[0]} ends with {ended.code}; it says last: {ended.last_word}")


def advise_mpi(command: Sequence[str], kind: str, seconds: float, rounds: int, patterns: Patterns) -> Advised:
    """The same for a program of an MPI's, whose collectives stay there: by the MPI's own algorithms.

    Each is tried in a run of the program, until these have taken ``seconds``.
    """
    end = time.monotonic() + seconds

    def own_times(variables: dict[str, str]) -> Profile:
        with profile() as found:
            words, environment = only_watched(command)
            finished_run(words, {**environment, **variables})
        return found

    found = own_times({})
    advised = Advised(calls_of(found), found.seconds)
    usual = by_operation(advised.calls)
    try:
        for operation in dict.fromkeys(call.operation for call in worth_it(advised.calls)):
            taken = {"the MPI's choice": usual[operation]}
            best: dict[str, str] = {}
            for name, variables in alternatives(kind, command[0], operation).items():
                if time.monotonic() > end:
                    advised.notes.append(f"{operation}: no time was left for {name}: give more seconds")
                    continue
                try:
                    taken[name] = by_operation(calls_of(own_times(variables))).get(operation, 0.0)
                except Error as error:
                    advised.notes.append(f"{operation} by {name}: {error}")
                    continue
                if taken[name] == min(taken.values()):
                    best = variables
            advised.tried[operation] = taken
            advised.variables |= best
    except KeyboardInterrupt:
        advised.interrupted = True
    if advised.variables and not advised.interrupted:
        before = environment_before_python()
        ways = ((command, before), (command, {**before, **advised.variables}))
        advised.runs = ComparedRuns("", ways=("as it is", "as advised"))
        by_turns(advised.runs, command[0], ways, rounds, patterns)
        advised.interrupted = advised.runs.interrupted
    return advised


def by_operation(calls: Sequence[Call]) -> dict[str, float]:
    """Each operation's seconds of a rank."""
    found: dict[str, float] = {}
    for call in calls:
        found[call.operation] = found.get(call.operation, 0.0) + call.own_s
    return found


def decide_all(
    advised: Advised, calls: Sequence[Call], seconds: float, table: Path, progress: bool | None
) -> None:
    """Measure the calls' algorithms, those of one group together, and write the table."""
    groups: dict[tuple[str, str, int], list[Call]] = {}
    for call in calls:
        groups.setdefault((call.operation, call.mode, call.ranks), []).append(call)
    for (operation, mode, ranks), alike in groups.items():
        sizes = [call.bytes for call in alike] if moves_data(operation) else None
        share = max(seconds * len(alike) / len(calls), LEAST_POINT_S * len(alike) + 1)
        try:
            tuned = tune(
                operation, ranks=ranks, sizes=sizes, mode=mode, budget_s=share, save=table, progress=progress
            )
        except Error as error:
            advised.notes.append(f"{operation} among {ranks} {mode} was not measured: {error}")
            continue
        advised.notes += [f"undecided: {title}: {reason}" for title, reason in tuned.undecided.items()]
        advised.interrupted = tuned.interrupted
        by_size = {one.point.size: one for one in tuned.decisions}
        advised.decisions |= {call: by_size[call.bytes] for call in alike if call.bytes in by_size}
        if tuned.interrupted:
            return


@contextmanager
def table_at(kept: Path | None) -> Iterator[Path]:
    """Where the table is written: for good, or for the program's runs."""
    if kept is not None:
        yield kept
        return
    with temporary_folder("a tuning table") as folder:
        yield folder / "advised.tuning"
