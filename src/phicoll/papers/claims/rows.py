"""One row for each of the papers' statements: the verdict, what it rests on and what would change it (docs/claims.md)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import comb
from typing import TYPE_CHECKING, Any

from phicoll.errors import ArgumentError
from phicoll.foundations.extras import data_frame
from phicoll.foundations.html_table import html_table
from phicoll.papers.claims.notes import BUILT_IN_BY, CHANGES, WHY_NOT
from phicoll.papers.claims.statement import BUILT_IN, CANNOT, HOLDS, PAPERS, Finding, in_words, tally
from phicoll.papers.claims.statements import CLAIMS, claim

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FILE", "Report", "StatementRow", "completed", "report"]

#: The judged findings, which scripts/claims.py writes beside this module.
FILE = "found.json"


@dataclass(frozen=True)
class StatementRow:
    """A statement's row. ``finding`` has the statement, the verdict and the numbers that it rests on.

    ``guesses`` are those of the machine's guessed parameters that turn the verdict when they are halved, doubled or
    switched, each with the verdict that it makes; None if that was not tried.
    """

    finding: Finding
    guesses: tuple[str, ...] | None = None

    @property
    def number(self) -> str:
        """Paper and statement, such as ``"004-36"``."""
        return self.finding.claim.number

    @property
    def power(self) -> str:
        """How much the check could see: cases, or seeds with their test and an interval."""
        values = self.finding.to_dict()["values"]
        assert isinstance(values, dict)
        if "holding" in values:
            return of_seeds(int(str(values["holding"])), int(str(values["seeds"])))
        if "cases" in values:
            return f"exact, {values['cases']} cases"
        if self.finding.how == "counted":
            return "exact"
        if self.finding.how == "modelled":
            return "arithmetic, exact"
        if "within" in values:
            return f"{values['within']} of {values['of']} quantities within their bounds"
        if self.finding.how == "simulated":
            over = values.get("over")
            seeds = "" if over is None else ", one seed" if over == 1 else f" of {over} seeds"
            return f"a bound on means{seeds}"
        return ""

    @property
    def changes(self) -> str:
        """What would change the verdict, and which guesses do."""
        return f"{self.reason} {self.guessed}".strip()

    @property
    def guessed(self) -> str:
        """Whether the verdict rests on a guess; empty if that was not tried."""
        if self.guesses is None:
            return ""
        if not self.guesses:
            return "No guess turns it, halved, doubled or switched."
        return f"It rests on a guess (as shipped): {'; '.join(self.guesses)}."

    @property
    def reason(self) -> str:
        """What would change the verdict, in general."""
        if self.number in CHANGES:
            return CHANGES[self.number]
        return {
            "counted": "Another reading of the algorithm or of what is counted; no machine.",
            "modelled": "Another reading of the equation, or other constants.",
            "simulated": "Another value of a parameter of the machine that was guessed, or a queue that the model lacks.",
        }.get(self.finding.how, "What is missing.")

    @property
    def command(self) -> str:
        """The command that judges the statement again; empty where nothing can."""
        return "" if self.finding.how == "none" else f"phicoll claims --judge --number {self.number}"

    def to_dict(self) -> dict[str, object]:
        """The row as plain objects."""
        return {
            **self.finding.to_dict(),
            "power": self.power,
            "changes": self.changes,
            "guesses": None if self.guesses is None else list(self.guesses),
            "command": self.command,
        }


class Report:
    """Rows by number, with the seeds and the machines (name and digest) of which they are."""

    def __init__(
        self,
        findings: Iterable[Finding],
        seeds: int,
        machines: Mapping[str, str],
        guesses: Mapping[str, Iterable[str]] | None = None,
    ) -> None:
        self.guesses = {number: tuple(of) for number, of in (guesses or {}).items()}
        self.rows = [
            StatementRow(f, self.guesses.get(f.claim.number))
            for f in sorted(findings, key=lambda f: f.claim.number)
        ]
        self.seeds = seeds
        self.machines = dict(machines)

    def __iter__(self) -> Iterator[StatementRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, number: str) -> StatementRow:
        """The row with a number such as ``"004-36"``.

        Raises
        ------
        KeyError
            No row has it.
        """
        for row in self.rows:
            if row.number == number:
                return row
        raise KeyError(number)

    def summary(self) -> str:
        """How many rows have each verdict, in words."""
        counts = ", ".join(in_words(*one) for one in tally(row.finding for row in self.rows).items())
        return f"{len(self.rows)} statements: {counts}"

    def to_dataframe(self) -> pd.DataFrame:
        """A row for each statement."""
        return data_frame([row.to_dict() for row in self.rows])

    def to_dict(self) -> dict[str, Any]:
        """The report as plain objects."""
        return {
            "seeds": self.seeds,
            "machines": self.machines,
            "claims": [row.to_dict() for row in self.rows],
        }

    def __str__(self) -> str:
        if len(self.rows) == 1:
            return full(self.rows[0])
        lines = [
            f"{row.number}  {row.finding.verdict:<23} {row.finding.claim.statement}" for row in self.rows
        ]
        return "\n".join([*lines, "", self.summary()])

    def _repr_html_(self) -> str:
        heads = ["claim", "statement", "how", "verdict", "measured", "power"]
        return html_table(
            heads,
            [
                [
                    r.number,
                    r.finding.claim.statement,
                    r.finding.how,
                    r.finding.verdict,
                    r.finding.measured,
                    r.power,
                ]
                for r in self.rows
            ],
            left=(1, 4, 5),
            caption=self.summary(),
        )


def full(row: StatementRow) -> str:
    """Everything about one statement."""
    of = row.finding.claim
    named = {
        "paper": f"{of.paper}, section {of.section}; {of.conditions}",
        "checked": row.finding.how,
        "verdict": row.finding.verdict,
        "found": row.finding.measured,
        "under": row.finding.under,
        "power": row.power,
        "changes": row.changes,
        "command": row.command,
    }
    return "\n".join(
        [f"{of.number}  {of.statement}", *(f"  {name:<8} {words}" for name, words in named.items() if words)]
    )


def of_seeds(holding: int, seeds: int) -> str:
    """The seeds that agree, and where their share lies with 95 % (Clopper and Pearson)."""

    def at_least(k: int, share: float) -> float:
        return sum(comb(seeds, i) * share**i * (1 - share) ** (seeds - i) for i in range(k, seeds + 1))

    def solve(k: int, tail: float) -> float:
        low, high = 0.0, 1.0
        for _ in range(30):
            middle = (low + high) / 2
            low, high = (middle, high) if at_least(k, middle) < tail else (low, middle)
        return low

    low = solve(holding, 0.025) if holding else 0.0
    high = solve(holding + 1, 0.975) if holding < seeds else 1.0
    return f"{holding} of {seeds} seeds, a share of {low:.0%} to {high:.0%}; sign test, 5 %"


def completed(findings: Iterable[Finding], numbers: Iterable[str] = CLAIMS) -> list[Finding]:
    """Findings on all of ``numbers``: what was built in is called so, what was not judged has its reason.

    Raises
    ------
    AssertionError
        A number was judged twice, or has neither a finding nor a reason.
    """
    found: dict[str, Finding] = {}
    for finding in findings:
        assert finding.claim.number not in found, f"{finding.claim.number} is judged twice"
        found[finding.claim.number] = finding
    return [as_called(found[number]) if number in found else without(number) for number in numbers]


def as_called(finding: Finding) -> Finding:
    """A statement that holds because the model could not have said otherwise is built in."""
    why = BUILT_IN_BY.get(finding.claim.number)
    if finding.verdict != HOLDS or not why:
        return finding
    return Finding(
        finding.claim, BUILT_IN, f"{finding.measured} {why}", finding.how, finding.under, finding.values
    )


def without(number: str) -> Finding:
    assert number in WHY_NOT, f"{number} has neither a check nor a reason"
    return Finding(claim(number), CANNOT, WHY_NOT[number], "none")


@cache
def stored() -> Report:
    kept = json.loads(files("phicoll.papers.claims").joinpath(FILE).read_text(encoding="utf-8"))
    return Report(
        (
            Finding(claim(f["claim"]), f["verdict"], f["measured"], f["how"], f["under"], f["values"])
            for f in kept["claims"]
        ),
        kept["seeds"],
        kept["machines"],
        kept["guesses"],
    )


def report(paper: str | None = None, number: str | None = None) -> Report:
    """The verdicts on all 159 statements, as they were judged last on the shipped machines.

    Nothing runs: ``make claims`` judges them, and ``phicoll claims --judge`` does so here.

    Parameters
    ----------
    paper:
        Only this one's: its number (``"004"``) or its name (``"ramos-hoefler-2013"``).
    number:
        Only this statement, such as ``"004-36"``.

    Raises
    ------
    ArgumentError
        There is no such paper or statement.
    """
    whole = stored()
    wanted = set(numbers_of(paper, number))
    findings = (r.finding for r in whole if r.number in wanted)
    return Report(findings, whole.seeds, whole.machines, whole.guesses)


def numbers_of(paper: str | None, number: str | None) -> list[str]:
    """The numbers of the statements that are asked for."""
    if number is not None and number not in CLAIMS:
        raise ArgumentError(
            "number", repr(number), f"{next(iter(CLAIMS))} to {list(CLAIMS)[-1]} (docs/claims.md)"
        )
    names = {**{k: k for k in PAPERS}, **{name: k for k, name in PAPERS.items()}}
    if paper is not None and paper not in names:
        raise ArgumentError("paper", repr(paper), ", ".join(names))
    return [n for n in CLAIMS if number in (None, n) and (paper is None or n.startswith(names[paper]))]
