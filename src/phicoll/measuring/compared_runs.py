"""``phicoll compare-run``: a user's program with phicoll and without, or otherwise in two ways, by turns."""

from __future__ import annotations

import re
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NoReturn

import numpy as np

from phicoll.errors import ArgumentError, Error
from phicoll.foundations.programs import environment_before_python, started
from phicoll.foundations.progress import Display, display
from phicoll.preload.kinds import LINKED_WITH, with_library
from phicoll.results.compare.text import interval
from phicoll.results.compare.units import Estimate, estimate

__all__ = ["LEAST_ROUNDS", "ComparedRuns", "Ended", "Way", "by_turns", "compare_run", "run"]

#: The fewest for a 95 % interval.
LEAST_ROUNDS = 6
NAMES = ("without", "with")
#: A command and its environment.
Way = tuple[Sequence[str], dict[str, str]]


class OnlyWithError(Exception):
    """The program does with phicoll what it does not do without."""


@dataclass(frozen=True)
class Ended:
    """A run of the program."""

    code: int
    seconds: float
    output: str
    errors: str

    @property
    def last_word(self) -> str:
        """The last line of its standard error."""
        lines = [line for line in self.errors.splitlines() if line.strip()]
        return lines[-1] if lines else "nothing"


@dataclass
class ComparedRuns:
    """The rounds' ``times`` without phicoll and with it, or in other ``ways``, and what differed in the outputs.

    Times are seconds of the whole run, or in the program's own ``unit``, which is then empty.
    """

    kind: str
    times: tuple[list[float], list[float]] = field(default_factory=lambda: ([], []))
    #: How the outputs differ; empty if they are equal.
    difference: str = ""
    #: Whether an output with phicoll was compared.
    compared: bool = False
    #: What phicoll said in the runs.
    notes: list[str] = field(default_factory=list)
    interrupted: bool = False
    unit: str = " s"
    ways: tuple[str, str] = ("without phicoll", "with phicoll")

    @property
    def ratio(self) -> Estimate | None:
        """The time with phicoll over that without, within rounds."""
        pairs = list(zip(*self.times, strict=False))
        return estimate(np.array([ours / plain for plain, ours in pairs])) if pairs else None

    def to_dict(self) -> dict[str, Any]:
        """The object that ``phicoll compare-run --json`` prints."""
        return {
            "kind": self.kind,
            **dict(zip(NAMES, self.times, strict=True)),
            "ratio": None if self.ratio is None else asdict(self.ratio),
            "equal": self.compared and not self.difference,
            "difference": self.difference,
            "notes": self.notes,
            "interrupted": self.interrupted,
        }

    def __str__(self) -> str:
        lines = []
        if self.ratio is not None:
            plain, ours = (interval(estimate(np.array(times))) for times in self.times)
            second = f"{self.ways[1]} {self.kind}"
            lines = [
                f"{self.ways[0]:<19}{plain}{self.unit}",
                f"{second:<19}{ours}{self.unit}",
                f"ratio              {interval(self.ratio)}, within {len(self.times[1])} rounds",
            ]
            if not self.ratio.enough:
                lines.append(f"? : a 95 % interval takes {LEAST_ROUNDS} rounds; the whole range is shown")
        outputs = "the outputs are equal" if self.compared else "no outputs were compared"
        return "\n".join([*lines, self.difference or outputs, *self.notes])


def compare_run(
    command: Sequence[str],
    kind: str | None = None,
    *,
    rounds: int = 10,
    ignore: str | None = None,
    own_time: str | None = None,
    progress: bool | None = None,
) -> ComparedRuns:
    """Run ``command`` with the library of ``kind`` and without, by turns, and compare times and outputs.

    Before, the program runs twice without and once with the library, untimed. A round's order changes from one to the
    next. The program's input is empty. No run has a bound. Where one with the library fails, that is the result.

    Parameters
    ----------
    kind:
        ``mpi``, ``omp`` or ``pthread``; None: what the program shows.
    rounds:
        How often each is run.
    ignore:
        A regular expression: what it matches in the output may differ.
    own_time:
        A regular expression whose group is the time that the program prints; instead of the whole run's.
    progress:
        As of :func:`phicoll.tune`.

    Raises
    ------
    ArgumentError
        Bad input.
    ResourceError
        Nothing can be preloaded under the program.
    Error
        The program fails without phicoll, or does not print its time.
    """
    if not command:
        raise ArgumentError("command", "none", "a program and its arguments after --")
    if kind is not None and kind not in LINKED_WITH:
        raise ArgumentError("with", repr(kind), ", ".join(LINKED_WITH))
    patterns = check_turns(rounds, ignore, own_time)
    kind, words, environment = with_library(command, kind)
    # A shell becomes the program, in both: it knows the process's number, which the library is told.
    before = environment_before_python()
    preload = environment.pop("LD_PRELOAD", "")
    process = "" if kind == "mpi" else f"PHICOLL_{kind.upper()}_PROCESS=$$ "
    ours = ["/bin/sh", "-c", f'{process}LD_PRELOAD=$0 exec "$@"', preload, *words]
    plain = ["/bin/sh", "-c", 'exec "$@"', "sh", *command]
    found = ComparedRuns(kind)
    with display(progress) as shown:
        by_turns(found, command[0], ((plain, before), (ours, environment)), rounds, patterns, shown)
    return found


Patterns = tuple[re.Pattern[str] | None, re.Pattern[str] | None]


def check_turns(rounds: int, ignore: str | None, own_time: str | None) -> Patterns:
    """The patterns of the program's own time, and of what may differ."""
    if rounds < 1:
        raise ArgumentError("rounds", str(rounds), "at least 1")
    own = None if own_time is None else compiled("time", own_time, groups=1)
    return own, compiled("ignore", ignore) if ignore else None


def by_turns(
    found: ComparedRuns,
    program: str,
    ways: tuple[Way, Way],
    rounds: int,
    patterns: Patterns,
    shown: Display | None,
) -> None:
    """Run both ``ways`` by turns, as :func:`compare_run` says, and note in ``found`` what came of it."""
    own, _ = patterns
    left_out = [pattern for pattern in patterns if pattern]
    found.unit = " s" if own is None else ""
    first = ""  # what the first run printed

    def take(way: int) -> float:
        """Run once, compare with what the first run printed, and return the time."""
        nonlocal first

        def fails(what: str) -> NoReturn:
            raise OnlyWithError(what) if way else Error(what)

        ended = run(*ways[way])
        if ended.code != 0:
            fails(f"{program} ends with {ended.code} {found.ways[way]}; it says last: {ended.last_word}")
        times = own.findall(ended.output) if own else [ended.seconds]
        seconds = positive(times[-1]) if times else None
        if own and seconds is None:
            fails(f"{program} prints no time that {own.pattern!r} matches {found.ways[way]}")
        shown = ended.output
        for pattern in left_out:
            shown = pattern.sub("", shown)
        first = first or shown
        found.compared = found.compared or way == 1
        if not found.difference and (other := different(first, shown)):
            found.difference = f"the outputs differ {found.ways[way]}{'' if way else ', too'}: {other}"
        if way and not found.times[way]:
            told = [line for line in ended.errors.splitlines() if line.startswith("phicoll: ")]
            found.notes += [line for line in told if line not in found.notes]
        return seconds or ended.seconds

    try:
        take(0)
        take(0)
        take(1)
        for number in range(rounds):
            if shown is not None:
                shown.update(number, rounds, f"rounds of {program}")
            order = (0, 1) if number % 2 == 0 else (1, 0)
            times = {way: take(way) for way in order}
            for way, seconds in times.items():
                found.times[way].append(seconds)
    except KeyboardInterrupt:
        found.interrupted = True
    except OnlyWithError as failed:
        found.difference = str(failed)
        for times in found.times:
            times.clear()


def compiled(argument: str, text: str, groups: int = 0) -> re.Pattern[str]:
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise ArgumentError(argument, repr(text), f"a regular expression ({error})") from error
    if groups and pattern.groups != groups:
        raise ArgumentError(argument, repr(text), "a regular expression with one group, the time")
    return pattern


def positive(text: str | float) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 < number < float("inf") else None


def run(command: Sequence[str], environment: dict[str, str]) -> Ended:
    """Run a program to its end. Its output goes to files, as a pipe that a child keeps open would not end."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        begun = time.perf_counter()
        process = started(command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=errors)
        try:
            code = process.wait()
        except KeyboardInterrupt:
            process.send_signal(signal.SIGINT)  # a terminal's Ctrl-C has reached it already
            process.wait()
            raise
        seconds = time.perf_counter() - begun
        texts = []
        for file in (output, errors):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    return Ended(code if code >= 0 else 128 - code, seconds, *texts)


def different(one: str, other: str) -> str:
    """The first lines that differ, in whatever order they came, or nothing."""
    lines, others = Counter(one.splitlines()), Counter(other.splitlines())
    missing, added = ([repr(line) for line in left][:1] for left in (lines - others, others - lines))
    alone = bool(missing) != bool(added)
    return " and ".join(missing + added) + (", in one alone" if alone else "")
