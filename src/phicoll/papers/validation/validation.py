"""Comparison of a simulated machine with what its papers print."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phicoll.foundations.checks import argument_names
from phicoll.foundations.html_table import html_table
from phicoll.foundations.markup import fill
from phicoll.models.equations.checks import check_whole
from phicoll.papers.claims import HOLDS
from phicoll.papers.validation.judges import (
    JUDGES,
    MACHINES,
    Judge,
    findings_of,
    published_machine,
    run_judges,
)
from phicoll.papers.validation.outcome import Outcome
from phicoll.papers.validation.points import MOST_SEEDS, Effort
from phicoll.papers.validation.quantity import Quantity, number
from phicoll.registry.machines import Machine

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FULL", "MACHINES", "QUICK", "Validation", "validate", "validation_of"]

FULL = Effort(samples=2000, seeds=20, rank_step=8, calls=2, lines=4096)
QUICK = Effort(samples=400, seeds=2, rank_step=112, calls=1, lines=2048)


class Validation(Outcome):
    """The result of :func:`validate`; ``plot`` draws it, ``page`` writes a page."""

    def plot(self) -> Figure:
        """Simulated over published for every quantity, with the bounds."""
        from phicoll.papers.validation.figures import draw_errors

        return draw_errors(self)

    def page(self, path: str | os.PathLike[str]) -> list[Path]:
        """Write a Markdown page and its figures beside it; returns the files."""
        from phicoll.papers.validation.page import write_page

        return write_page(self, Path(path))

    def __str__(self) -> str:
        lines = [f"{self.machine.name} ({self.machine.digest}): {self.machine.summary}"]
        for group in dict.fromkeys(q.group for q in self.quantities):
            lines += ["", group]
            for q in (q for q in self.quantities if q.group == group):
                lines.append(
                    f"  {q.name:<56} {number(q.published):>8} {number(q.simulated):>8} {q.unit:<11} {q.error:>+7.1%} "
                    f"{q.role:<10} {'' if q.verdict == HOLDS else f'beyond {q.bound:.0%}'}"
                )
        if self.findings:
            lines += ["", "Statements"]
        for f in self.findings:
            lines.append(f"  {f.claim.number}  {f.verdict:<24} {f.claim.statement}")
            lines.append(f"          {f.measured}")
        return "\n".join([*lines, "", *self.summary(), f"{self.elapsed_s:.0f} s"])

    def _repr_html_(self) -> str:
        quantities = [
            [
                f"{q.group}: {q.name}",
                q.role,
                number(q.published),
                f"{number(q.simulated)} {q.unit}",
                f"{q.error:+.1%}",
                q.verdict,
            ]
            for q in self.quantities
        ]
        statements = [
            [f"{f.claim.number}: {f.claim.statement}", f.measured, f.verdict] for f in self.findings
        ]
        heads = ["quantity", "", "published", "simulated", "error", "verdict"]
        return (
            fill("<p><b>{}</b></p>", self.machine.name)
            + html_table(heads, quantities, left=(0,))
            + html_table(["statement", "what was simulated", "verdict"], statements, left=(0, 1))
        )


@argument_names
def validate(
    machine: str | os.PathLike[str] | Machine = "xeon-phi-5110p",
    *,
    quick: bool = False,
    seeds: int | None = None,
    executor: Executor | None = None,
    progress: bool | None = None,
) -> Validation:
    """Compare a simulated machine with everything that is published of it and that can be simulated.

    Parameters
    ----------
    machine:
        One of ``phicoll.papers.validation.MACHINES``, such as ``"xeon-phi-5110p"`` or ``"epyc-7742"``, perhaps with
        changes (``"xeon-phi-5110p:memory.fill=join"``): what then is compared is the changed machine.
    quick:
        Few samples and seeds: some seconds, and hardly any statement is resolved.
    seeds:
        Statements about order are judged over seeds 1 to this (20).
    executor:
        Where points are simulated; by default threads, one a core.
    progress:
        Show a bar; by default on a terminal and in a notebook.

    Raises
    ------
    ArgumentError
        A machine of which nothing is published, or what :func:`phicoll.load_machine` refuses; fewer than one seed.
    """
    loaded, name = published_machine(machine)
    effort = QUICK if quick else FULL
    if seeds is not None:
        effort = replace(effort, seeds=check_whole("seeds", seeds, 1, MOST_SEEDS))
    start = time.monotonic()
    judges = [judge for judge in JUDGES if judge.machine == name]
    own = None if executor is not None else ThreadPoolExecutor(os.cpu_count() or 1)
    try:
        from phicoll.foundations.progress import display

        with display(progress) as shown:
            rows = run_judges(
                judges, effort, executor or own, shown.update if shown is not None else None, loaded.name
            )  # type: ignore[arg-type]
    finally:
        if own is not None:
            own.shutdown(cancel_futures=True)
    return validation_of(loaded, rows, effort, time.monotonic() - start)


def validation_of(
    machine: Machine, rows: Mapping[Judge, Sequence[Any]], effort: Effort, elapsed_s: float
) -> Validation:
    """The validation that judges' rows make."""
    found = [f for judge, of in rows.items() for f in findings_of(judge, of)]
    return Validation(
        machine,
        effort,
        elapsed_s,
        tuple(row for of in rows.values() for row in of if isinstance(row, Quantity)),
        tuple(sorted(found, key=lambda f: f.claim.number)),
    )
