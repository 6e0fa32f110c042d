"""Which of an MPI's algorithms serves a program's collectives fastest: each is tried in runs of the program."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median

from phicoll.errors import Error
from phicoll.foundations.progress import Display

__all__ = ["Trials", "Ways"]

#: By operation: an MPI's algorithms, with their variables.
Ways = dict[str, dict[str, dict[str, str]]]
#: How often the algorithms that stay are tried.
PASSES = 4
CHOICE = "the MPI's choice"


@dataclass
class Trials:
    """Runs with one algorithm for one operation each, and with the MPI's choice, which took ``usual``.

    ``seconds_of`` runs the program with these variables. Runs begin until the time ``end``. After each pass the faster
    half of an operation's algorithms stays, as a run alone shows little where ranks share CPUs.
    """

    ways: Ways
    usual: float
    seconds_of: Callable[[dict[str, str]], float]
    end: float
    shown: Display | None
    notes: list[str] = field(default_factory=list)
    #: By operation and algorithm: the seconds in each run; none where it failed.
    taken: dict[str, dict[str, list[float]]] = field(init=False)
    #: By operation: the algorithms that are left.
    stayed: dict[str, list[str]] = field(init=False)

    def __post_init__(self) -> None:
        self.taken = {operation: {CHOICE: [self.usual]} for operation in self.ways}
        self.stayed = {operation: list(others) for operation, others in self.ways.items()}

    def run(self) -> None:
        for number in range(PASSES):
            trials = [(operation, name) for operation, names in self.stayed.items() for name in names]
            if number and trials and self.in_time():
                self.take_choice()
            for done, (operation, name) in enumerate(trials):
                if self.in_time():
                    if self.shown is not None:
                        title = f"pass {number + 1} of {PASSES}: {operation} by {name}"
                        self.shown.update(done, len(trials), title)
                    self.take(operation, name)
            for operation, names in self.stayed.items():
                self.stayed[operation] = self.faster_half(operation, names)
        for operation, others in self.ways.items():
            if untried := [name for name in others if name not in self.taken[operation]]:
                names = ", ".join(untried)
                self.notes.append(f"no time was left to try {names} for {operation}; give a larger budget")

    def in_time(self) -> bool:
        return time.monotonic() < self.end

    def take_choice(self) -> None:
        try:
            seconds = self.seconds_of({})
        except Error as error:
            self.notes.append(f"{CHOICE}: {error}")
            return
        for taken in self.taken.values():
            taken[CHOICE].append(seconds)

    def take(self, operation: str, name: str) -> None:
        seconds = self.taken[operation].setdefault(name, [])
        try:
            seconds.append(self.seconds_of(self.ways[operation][name]))
        except Error as error:
            seconds.clear()
            self.notes.append(f"{operation} by {name}: {error}")

    def faster_half(self, operation: str, names: list[str]) -> list[str]:
        """Those that were faster, of those that have not failed."""
        taken = self.medians()[operation]
        tried = sorted((name for name in names if name in taken), key=lambda name: taken[name])
        return tried[: (len(tried) + 1) // 2]

    def medians(self) -> dict[str, dict[str, float]]:
        return {
            operation: {name: median(seconds) for name, seconds in taken.items() if seconds}
            for operation, taken in self.taken.items()
        }

    def fastest(self) -> dict[str, str]:
        """The variables of the algorithms that were faster than the MPI's choice, of those that stayed to the end."""
        variables: dict[str, str] = {}
        for operation, taken in self.medians().items():
            stayed = [name for name in taken if name == CHOICE or name in self.stayed[operation]]
            variables |= self.ways[operation].get(min(stayed, key=lambda name: taken[name]), {})
        return variables
