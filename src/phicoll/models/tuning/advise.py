"""``phicoll advise``: what other algorithms would bring to a program's calls, measured again in the program itself."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from phicoll.errors import ArgumentError, Error
from phicoll.explaining.call_logs import HEADER, MAGIC
from phicoll.explaining.profile import VARIABLE, Profile, profile
from phicoll.foundations.checks import check_number
from phicoll.foundations.files import check_writable, temporary_folder
from phicoll.foundations.programs import environment_before_python, on_path
from phicoll.foundations.progress import Display, display
from phicoll.measuring.compared_runs import ComparedRuns, Patterns, by_turns, check_turns, run
from phicoll.models.tuning.decision import Decision
from phicoll.models.tuning.setting import check_sizes
from phicoll.models.tuning.trials import Trials, Ways
from phicoll.models.tuning.tune import LEAST_POINT_S, tune
from phicoll.preload.alternatives import alternatives
from phicoll.preload.mpi import launcher_kind, only_watched
from phicoll.registry import CALLS, REDUCTIONS, moves_data, short_spec
from phicoll.results.reading.subject import size_text

__all__ = ["Advised", "Call", "advise"]

#: Calls that take less of the run are not looked at, nor more than so many.
LEAST_SHARE = 0.002
MOST_CALLS = 8
#: Seconds that measuring may take, without the program's runs.
BUDGET_S = 60.0
#: Of a ``float32``, which ``tune`` reduces.
FLOAT_BYTES = 4


@dataclass(frozen=True)
class Call:
    """The program's calls of one operation and size in groups of one kind.

    ``calls`` are a rank's, ``own_s`` a rank's time in them after the last rank had entered, and ``share`` that time's
    share of the run, all as means over the run's ranks; ``algorithm`` served most of them.
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


def ranks_of_groups(folder: Path) -> dict[str, int]:
    """How many processes made calls in each group of a profile's, by the number that begins its communicators' names.

    Disjoint communicators do not say how many ranks there are in all.
    """
    processes: dict[bytes, set[str]] = {}
    for path in folder.glob("*.calls"):
        with path.open("rb") as file:
            head = file.read(HEADER.size)
        if len(head) == HEADER.size and head.startswith(MAGIC):
            group = HEADER.unpack(head)[-3].split(b"\0")[0]
            processes.setdefault(group, set()).add(path.stem.partition("-")[0])
    return {str(number): len(processes[group]) for number, group in enumerate(sorted(processes))}


def calls_of(found: Profile, ranks: Mapping[str, int] | None = None) -> list[Call]:
    """What a profile's rows come to, the calls first that another algorithm could save most of.

    ``ranks`` are those of each group, if that is more than its largest communicator's.
    """
    all_ranks = dict(ranks or {})
    for row in found.rows:
        group = row.communicator.partition(".")[0]
        all_ranks[group] = max(row.ranks, all_ranks.get(group, 0))
    rows: dict[tuple[str, str, int, int], list[Any]] = {}
    for row in found.rows:
        operation = CALLS.get(row.operation)  # whose algorithms serve the version with counts, too
        if row.ranks > 1 and operation is not None and (row.bytes or not moves_data(operation)):
            rows.setdefault((operation, row.mode, row.ranks, row.bytes), []).append(row)
    calls = []
    for key, alike in rows.items():
        of = [(row, all_ranks[row.communicator.partition(".")[0]]) for row in alike]
        own_s = sum(row.own_s / ranks_in_all for row, ranks_in_all in of)
        count = round(sum(row.calls * row.ranks / ranks_in_all for row, ranks_in_all in of))
        share = own_s / found.seconds if found.seconds > 0 else 0.0
        most = max(alike, key=lambda row: row.calls).algorithm
        calls.append(Call(*key, count, own_s, share, most))
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
    #: Of an MPI's algorithms: by operation and algorithm, the seconds from a run's first call to its last (medians).
    tried: dict[str, dict[str, float]] = field(default_factory=dict)
    #: The variables that have the MPI take the best.
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def better(self) -> dict[Call, Decision]:
        """The calls that another algorithm makes faster."""
        return {call: one for call, one in self.decisions.items() if one.spec != "auto"}

    @property
    def faster(self) -> bool:
        """Whether the program itself was resolved to be faster, with equal outputs."""
        runs = self.runs
        return (
            runs is not None
            and not runs.difference
            and runs.ratio is not None
            and runs.ratio.enough
            and runs.ratio.high < 1
        )

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
        """The operations whose algorithms are an MPI's, a line each, the algorithm of the fastest runs first."""
        for operation, taken in self.tried.items():
            order = sorted(taken.items(), key=lambda one: one[1])
            yield f"{operation}, seconds from the first call to the last: " + ", ".join(
                f"{name} {s:.3g}" for name, s in order
            )

    def __str__(self) -> str:
        lines = [*self.lines(), *self.lines_of_mpi(), *self.notes]
        if not self.calls:
            lines.insert(0, f"no collective calls of several ranks in {self.seconds:.3f} s")
        elif not worth_it(self.calls):
            lines.insert(0, "no calls that take enough of the run")
        if self.runs is not None:
            lines.append(str(self.runs))
            if self.variables:
                words = " ".join(f"{name}={value}" for name, value in self.variables.items())
                lines.append(f"set {words}" if self.faster else self.no_advice(words))
        if self.better:
            lines += self.lines_of_table()
        return "\n".join(lines)

    def no_advice(self, what: str) -> str:
        if self.runs is not None and self.runs.difference:
            return f"no advice: the outputs differ with {what}"
        return f"no advice: the program is not faster with {what}"

    def lines_of_table(self) -> Iterator[str]:
        """Where the table is, and whether to use it."""
        if self.runs is None:
            if self.table is not None:
                yield f"wrote {self.table}; the program has not run with it"
        elif not self.faster:
            yield ("" if self.table is None else f"wrote {self.table}; ") + self.no_advice("the table")
        elif self.table is None:
            yield "give -o FILE to keep the table"
        else:
            yield f"wrote {self.table}; PHICOLL_TUNING={self.table} uses it"


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
        Seconds that measuring the calls may take, without the program's own runs; behind an MPI's launcher, seconds
        that trying its algorithms may take. 60 by default.
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
        with display(progress) as shown:
            return advise_mpi(command, kind, seconds, rounds, patterns, shown)
    with display(progress) as shown, profile() as found:
        if shown is not None:
            shown.update(0, 1, f"the calls of {command[0]}")
        finished_run(command, environment_before_python())
        ranks = ranks_of_groups(Path(os.environ[VARIABLE]))
    calls = calls_of(found, ranks)
    advised = Advised(calls, found.seconds)
    looked_at = worth_it(calls)
    with table_at(kept) as table:
        decide_all(advised, looked_at, seconds, table, progress)
        advised.notes += chosen_otherwise(advised, looked_at)
        advised.table = kept
        if advised.better and not advised.interrupted:
            before = environment_before_python()
            ways = ((command, before), (command, {**before, "PHICOLL_TUNING": str(table.absolute())}))
            advised.runs = ComparedRuns("", ways=("as it is", "with the table"))
            with display(progress) as shown:
                by_turns(advised.runs, command[0], ways, rounds, patterns, shown)
            advised.interrupted = advised.runs.interrupted
    return advised


def worth_it(calls: Sequence[Call]) -> list[Call]:
    return [call for call in calls if call.share >= LEAST_SHARE][:MOST_CALLS]


def chosen_otherwise(advised: Advised, calls: Sequence[Call]) -> Iterator[str]:
    """The calls that something else than a table chooses for, or may."""
    for call in calls:
        variable = variable_of(call.operation)
        one = advised.decisions.get(call)
        if os.environ.get(variable):
            yield f"{call.title} is served by what {variable} names, before any table"
        elif one is not None and call.algorithm != one.rule:
            served, rule = (short_spec(call.operation, spec) for spec in (call.algorithm, one.rule))
            if served != rule:
                yield (
                    f"{call.title} is served by {served} in the program, and by {rule} where it was measured: if the "
                    "program chooses that itself (comm.select, algorithm=), no table changes it"
                )


def variable_of(operation: str) -> str:
    """The environment variable that chooses for an operation; versions with counts share one."""
    return f"PHICOLL_{operation.removesuffix('_block').upper()}"


def finished_run(command: Sequence[str], environment: dict[str, str]) -> None:
    ended = run(command, environment)
    if ended.code != 0:
        raise Error(f"{command[0]} ends with {ended.code}; it says last: {ended.last_word}")


def advise_mpi(
    command: Sequence[str],
    kind: str,
    seconds: float,
    rounds: int,
    patterns: Patterns,
    shown: Display | None,
) -> Advised:
    """The same for a program of an MPI's, whose collectives stay there: by the MPI's own algorithms.

    Each is tried in runs of the program, until these have taken ``seconds``.
    """
    words, environment = only_watched(command)  # may compile, which is no time of the program's

    def watched(variables: dict[str, str]) -> tuple[Profile, dict[str, int]]:
        with profile() as found:
            folder = os.environ[VARIABLE]
            finished_run(words, {**environment, VARIABLE: folder, **variables})
            return found, ranks_of_groups(Path(folder))

    if shown is not None:
        shown.update(0, 1, f"the calls of {command[0]}")
    found, ranks = watched({})
    advised = Advised(calls_of(found, ranks), found.seconds)
    ways = ways_of(advised, kind, command[0])
    end = time.monotonic() + seconds
    trials = Trials(
        ways, span(found) if ways else 0.0, lambda variables: span(watched(variables)[0]), end, shown
    )
    try:
        trials.run()
    except KeyboardInterrupt:
        advised.interrupted = True
    advised.notes += trials.notes
    advised.tried, advised.variables = trials.medians(), trials.fastest()
    if advised.variables and not advised.interrupted:
        before = environment_before_python()
        both = ((command, before), (command, {**before, **advised.variables}))
        advised.runs = ComparedRuns("", ways=("as it is", "as advised"))
        by_turns(advised.runs, command[0], both, rounds, patterns, shown)
        advised.interrupted = advised.runs.interrupted
    return advised


def ways_of(advised: Advised, kind: str, launcher: str) -> Ways:
    """Those of the operations that take enough of the run."""
    found: Ways = {}
    for operation in dict.fromkeys(call.operation for call in worth_it(advised.calls)):
        ranks = {call.ranks for call in advised.calls if call.operation == operation}
        try:
            found[operation] = alternatives(kind, launcher, operation, ranks)
        except Error as error:
            if str(error) not in advised.notes:
                advised.notes.append(str(error))
    return found


def span(found: Profile) -> float:
    """Seconds from the first call to the last.

    The time within calls does not tell algorithms apart: one from which some ranks return early moves time to their
    next wait, and ranks that look for messages take CPUs from those that compute.
    """
    of_ranks = [(one, calls) for one in found.watched for calls in one.by_rank.values() if len(calls)]
    if not of_ranks:
        raise Error("the run shows no collective calls")
    first = min(int(calls["entered"].min()) for _, calls in of_ranks)
    last = max(int(calls["left"].max()) for _, calls in of_ranks)
    return (last - first) * of_ranks[0][0].ns_per_tick / 1e9


def decide_all(
    advised: Advised, calls: Sequence[Call], seconds: float, table: Path, progress: bool | None
) -> None:
    """Measure the calls' algorithms, those of one group together, and write the table."""
    groups: dict[tuple[str, str, int], list[Call]] = {}
    for call in calls:
        groups.setdefault((call.operation, call.mode, call.ranks), []).append(call)
    for (operation, mode, ranks), alike in groups.items():
        measured = sizes_to_measure(advised, alike)
        if not measured:
            continue
        sizes = list(dict.fromkeys(measured.values())) if moves_data(operation) else None
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
        advised.decisions |= {call: by_size[size] for call, size in measured.items() if size in by_size}
        if tuned.interrupted:
            return


def sizes_to_measure(advised: Advised, calls: Sequence[Call]) -> dict[Call, int]:
    """The size that stands for each call's: reductions are measured with ``float32``. Calls without one are noted."""
    found = {}
    for call in calls:
        size = call.bytes
        if CALLS[call.operation] in REDUCTIONS:
            size += -size % FLOAT_BYTES
        try:
            if moves_data(call.operation):
                check_sizes([call.operation], size)
        except ArgumentError as error:
            advised.notes.append(f"{call.title} was not measured: {error}")
            continue
        found[call] = size
    return found


@contextmanager
def table_at(kept: Path | None) -> Iterator[Path]:
    """Where the table is written: for good, or for the program's runs."""
    if kept is not None:
        yield kept
        return
    with temporary_folder("a tuning table") as folder:
        yield folder / "advised.tuning"
