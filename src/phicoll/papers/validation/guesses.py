"""How far held-out quantities move with what was guessed of a machine."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phicoll.errors import ArgumentError
from phicoll.foundations.checks import argument_names
from phicoll.foundations.extras import data_frame
from phicoll.foundations.progress import display
from phicoll.papers.claims import HOLDS, UNRESOLVED
from phicoll.papers.validation import collectives, programs, transfers
from phicoll.papers.validation.judges import JUDGES, Judge, findings_of, published_machine, run_judges
from phicoll.papers.validation.outcome import MachineOutcome
from phicoll.papers.validation.points import Effort, changed
from phicoll.papers.validation.quantity import HELD_OUT, Quantity
from phicoll.registry.machines import Machine, MachineParameter, load_machine, machine_parameters

if TYPE_CHECKING:
    import pandas as pd

    from phicoll.plots.canvas import Canvas

__all__ = ["Guess", "Sensitivity", "sensitivity", "turning"]

EFFORT = Effort(samples=400, seeds=1, rank_step=40, calls=1, lines=2048)
QUICKER = Effort(samples=100, seeds=1, rank_step=112, calls=1, lines=512)
#: Six seeds are the fewest that decide an order.
DECIDING = Effort(samples=400, seeds=6, rank_step=112, calls=1, lines=2048)
#: Checks that take too long to be made again for each guess.
SLOW = (
    programs.figure_5,
    programs.stream,
    collectives.allreduces,
    transfers.stream,
)


@dataclass(frozen=True)
class Guess:
    """A guessed parameter at another value, and the held-out quantities with it, in the order of those as shipped."""

    name: str
    shipped: int | str
    value: int | str
    quantities: tuple[Quantity, ...]

    def __str__(self) -> str:
        return f"{self.name} = {self.value} ({self.shipped})"


@dataclass(frozen=True)
class Sensitivity(MachineOutcome):
    """The result of :func:`sensitivity`. ``quantities`` are the held-out ones of the machine as shipped."""

    quantities: tuple[Quantity, ...]
    guesses: tuple[Guess, ...]
    left_out: tuple[str, ...]  #: values that the machine cannot have, with the reason

    def to_dataframe(self) -> pd.DataFrame:
        """A row for each guess and quantity: its simulated value and error as shipped and with the guess, and the verdicts."""
        return data_frame(self.rows)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The same as plain objects."""
        return [
            {"parameter": guess.name, "shipped": guess.shipped, "value": guess.value, "group": q.group, "name": q.name, "claim": q.claim,
             "simulated": q.simulated, "error": q.error, "verdict": q.verdict, "changed": c.simulated, "changed_error": c.error, "changed_verdict": c.verdict}
            for guess in self.guesses for q, c in zip(self.quantities, guess.quantities, strict=True)
        ]  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain objects."""
        return {**super().to_dict(), "left_out": list(self.left_out), "rows": self.rows}

    def by_guess(self) -> list[list[str]]:
        """For each guess: how many quantities are within their bounds, which enter or leave them, and which moves farthest."""
        found = []
        for guess in self.guesses:
            pairs = list(zip(self.quantities, guess.quantities, strict=True))
            entered = some([title(q) for q, c in pairs if q.verdict != HOLDS == c.verdict])
            left = some([title(q) for q, c in pairs if q.verdict == HOLDS != c.verdict])
            q, c = max(pairs, key=lambda pair: abs(pair[1].error - pair[0].error))
            moved = "none moves" if c.error == q.error else f"{title(q)}: {q.error:+.0%} to {c.error:+.0%}"
            within = sum(one.verdict == HOLDS for one in guess.quantities)
            found.append([str(guess), f"{within} of {len(pairs)}", left, entered, moved])
        return found

    def by_quantity(self) -> list[list[str]]:
        """For each held-out quantity: its error as shipped, and the lowest and highest with a guess, which is named."""
        found = []
        for i, q in enumerate(self.quantities):
            ends = [pick(self.guesses, most, i) for most in (False, True)]
            shown = [
                f"{g.quantities[i].error:+.0%}, {g}" if g.quantities[i].error != q.error else "as shipped"
                for g in ends
            ]
            found.append([q.group, title(q), f"{q.error:+.0%}", *shown])
        return found

    def __str__(self) -> str:
        within = sum(q.verdict == HOLDS for q in self.quantities)
        lines = [
            f"{self.machine.name} ({self.machine.digest}): as shipped {within} of {len(self.quantities)} held-out quantities are within their bounds"
        ]
        for guess, of, left, entered, moved in self.by_guess():
            lines += ["", f"{guess}: {of}; farthest: {moved}"]
            lines += [
                f"    {word}: {names}" for word, names in (("leave", left), ("enter", entered)) if names
            ]
        return "\n".join([*lines, "", *self.left_out, f"{self.elapsed_s:.0f} s"])

    def page(self, path: str | os.PathLike[str]) -> list[Path]:
        """Write a page in Markdown and its figure beside it; returns the files."""
        from phicoll.papers.validation.figures import draw_guesses
        from phicoll.papers.validation.page import write_with_figures

        def draw(found: Sensitivity) -> Canvas:
            return draw_guesses(found.quantities, {str(one): one.quantities for one in found.guesses})

        figures = (("moves", draw, "How far each guess moves each held-out quantity"),)
        return write_with_figures(self, Path(path), figures, Sensitivity.text_of)

    def text_of(self, shown: Mapping[str, str]) -> str:
        """The page, with the figures' Markdown by name."""
        within = sum(q.verdict == HOLDS for q in self.quantities)
        lines = [
            f"# What was guessed of {self.machine.name}",
            "",
            f"Each parameter that is marked `guessed` in the machine's file (digest `{self.machine.digest}`), halved, doubled or switched, "
            f"and how far the held-out quantities of its [validation](validation-{self.machine.name}.md) move: errors are simulated / "
            f"published - 1. As shipped {within} of {len(self.quantities)} are within their bounds, at this page's effort "
            f"({self.effort.samples} samples of a latency, {self.effort.seeds} seed). `phicoll validate {self.machine.name} --guesses{' --quick' * (self.effort == QUICKER)} --page FILE` writes it.",
            "",
            shown["moves"],
            "",
            "| guess (as shipped) | within bounds | leave their bounds | enter them | moves farthest |",
            "|---|---|---|---|---|",
            *(f"| {' | '.join(row)} |" for row in self.by_guess()),
            "",
            *(f"- {one}" for one in self.left_out),
            "",
            "| group | quantity | as shipped | lowest | highest |",
            "|---|---|---|---|---|",
            *(f"| {' | '.join(row)} |" for row in self.by_quantity()),
        ]
        return "\n".join([*lines, ""])


def some(names: list[str], most: int = 3) -> str:
    more = f"; {len(names) - most} more" if len(names) > most else ""
    return "; ".join(names[:most]) + more


def title(q: Quantity) -> str:
    return q.name.replace("|", "/")


def other_values(entry: MachineParameter, choices: str) -> list[int | str]:
    """Half and double of a number, which are none of 0; of a choice all others."""
    if isinstance(entry.value, int):
        return [v for v in (entry.value // 2, 2 * entry.value) if v != entry.value]
    return [one for one in choices.split(", ") if one != entry.value]


def tries_of(machine: Machine) -> tuple[list[tuple[MachineParameter, int | str]], list[str]]:
    """What each guess of a machine is tried at, and what cannot be, with the reason."""
    choices = {one["name"]: str(one["range"]) for one in machine_parameters()}
    tries: list[tuple[MachineParameter, int | str]] = []
    left_out = []
    for entry in (one for one in machine.entries if one.kind == "guessed"):
        values = other_values(entry, choices[entry.name])
        if not values:
            left_out.append(f"{entry.name} = {entry.value}: neither half nor double of it is another value")
        for value in values:
            try:
                load_machine(changed(machine.name, f"{entry.name}={value}"))
            except ArgumentError as error:
                left_out.append(f"{entry.name} = {value}: {error}")
            else:
                tries.append((entry, value))
    return tries, left_out


def turning(
    machines: Iterable[str], executor: Executor, progress: Callable[[int, int, str], None] | None = None
) -> dict[str, tuple[str, tuple[str, ...]]]:
    """By statement: its verdict at this effort, and the guesses that turn it, each with the verdict that it makes.

    Statements whose check is slow are left out, and so is a guess with which six seeds leave the verdict open.
    """
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    plan = [(name, *tries_of(load_machine(name))) for name in machines]
    total, done = sum(1 + len(tries) for _, tries, _ in plan), 0
    for name, tries, _ in plan:
        judges = [j for j in JUDGES if j.machine == name and j.numbers and j.check not in SLOW]
        shipped = verdicts(judges, name, executor)
        turned: dict[str, list[str]] = {number: [] for number in shipped}
        done += 1
        for entry, value in tries:
            done += 1
            words = f"{entry.name} = {value} ({entry.value})"
            if progress is not None:
                progress(done, total, f"{name}: {words}")
            at = changed(name, f"{entry.name}={value}")
            for number, verdict in verdicts(judges, at, executor).items():
                if verdict not in (shipped[number], UNRESOLVED):
                    turned[number].append(f"{words}: {verdict}")
        found |= {number: (verdict, tuple(turned[number])) for number, verdict in shipped.items()}
    return found


def verdicts(judges: Sequence[Judge], machine: str, executor: Executor) -> dict[str, str]:
    rows = run_judges(judges, DECIDING, executor, machine=machine)
    return {f.claim.number: f.verdict for judge, of in rows.items() for f in findings_of(judge, of)}


@argument_names
def sensitivity(
    machine: str | os.PathLike[str] | Machine = "xeon-phi-5110p",
    *,
    quick: bool = False,
    progress: bool | None = None,
) -> Sensitivity:
    """Halve, double or switch each guessed parameter of a machine, and compare what its papers print with each.

    Parameters
    ----------
    machine:
        As for :func:`phicoll.validate`.
    quick:
        Fewer samples and ranks.
    progress:
        Show a bar; by default on a terminal and in a notebook.

    Raises
    ------
    ArgumentError
        As for :func:`phicoll.validate`; a machine of which nothing is held out.
    """
    loaded, name = published_machine(machine)
    start = time.monotonic()
    effort = QUICKER if quick else EFFORT
    tries, left_out = tries_of(loaded)
    with ThreadPoolExecutor(os.cpu_count() or 1) as executor, display(progress) as bar:

        def held_out(of: list[Judge], at: str) -> dict[Judge, list[Quantity]]:
            found = run_judges(of, effort, executor, machine=at)
            return {
                one: [q for q in found[one] if isinstance(q, Quantity) and q.role == HELD_OUT] for one in of
            }

        shipped = held_out([one for one in JUDGES if one.machine == name], loaded.name)
        judges = [one for one, of in shipped.items() if of]
        if not judges:
            raise ArgumentError("machine", repr(loaded.name), "a machine of which quantities are held out")
        guesses = []
        for done, (entry, value) in enumerate(tries, 1):
            at = changed(loaded.name, f"{entry.name}={value}")
            guesses.append(Guess(entry.name, entry.value, value, flat(held_out(judges, at))))
            if bar is not None:
                bar.update(done, len(tries), f"{entry.name} = {value}")
    elapsed_s = time.monotonic() - start
    return Sensitivity(loaded, effort, elapsed_s, flat(shipped), tuple(guesses), tuple(left_out))


def flat(found: Mapping[Judge, list[Quantity]]) -> tuple[Quantity, ...]:
    return tuple(q for of in found.values() for q in of)


def pick(guesses: Sequence[Guess], most: bool, i: int) -> Guess:
    return (max if most else min)(guesses, key=lambda guess: guess.quantities[i].error)
