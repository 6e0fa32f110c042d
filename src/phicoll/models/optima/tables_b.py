"""Tables B.1 to B.3 of ramos-hoefler-2013 as printed, and how far a model's optima reproduce them.

Rows are by number of threads, 2 to 60. B.1 (small broadcast) and B.3 (small reduction) have the children of each level,
B.2 (barrier) the ways m and the rounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from phicoll.models.constants.machine_model import MachineModel
from phicoll.models.equations.checks import check_choice

__all__ = ["TABLES", "TABLE_B1", "TABLE_B2", "TABLE_B3", "Reproduction", "reproduce"]

Row = tuple[int, ...]


def rows(text: str) -> dict[int, Row]:
    """``9-10:3,2`` is the row (3, 2) for 9 and 10 threads."""
    found: dict[int, Row] = {}
    for part in text.split():
        threads, values = part.split(":")
        first, _, last = threads.partition("-")
        for n in range(int(first), int(last or first) + 1):
            found[n] = tuple(map(int, values.split(",")))
    return found


TABLE_B1 = rows(
    "2:1 3:2 4:3 5:4 6:5 7:6 8:7 9-10:3,2 11-13:3,3 14-17:4,3 18-21:4,4 22-26:5,4 27-31:5,5 32-37:6,5 38-40:3,3,3 "
    "41:4,3,2 42-43:6,6 44-53:4,3,3 54-60:4,4,3"
)
TABLE_B2 = rows("2:1,1 3-4:2,2 5-9:3,2 10-16:4,2 17-25:5,2 26-27:3,3 28-36:6,2 37-60:4,3")
TABLE_B3 = rows(
    "2:1 3:2 4:3 5:4 6:5 7:3,1 8:3,2 9:4,1 10:3,2 11:4,2 12:3,3 13:4,2 14-17:4,3 18-21:4,4 22:3,2,2 23:5,4 24:6,3 "
    "25-26:5,4 27:3,3,2 28:4,2,2 29-31:3,3,2 32:4,4,1 33:4,3,2 34:3,3,3 35:4,3,2 36:3,3,3 37:4,4,1 38:4,3,2 39:3,3,3 "
    "40-41:4,3,2 42:6,2,2 43-44:4,4,2 45-47:4,3,3 48-49:4,4,2 50-52:4,3,3 53:4,4,2 54-55:4,4,3 56-57:6,3,2 58-60:4,4,3"
)
#: By the operation that each is of.
TABLES: Mapping[str, dict[int, Row]] = {"broadcast": TABLE_B1, "barrier": TABLE_B2, "reduce": TABLE_B3}


@dataclass(frozen=True)
class Reproduction:
    """How a table compares with a model's optima.

    ``rows``: how many there are; ``first``: rows that are the optimum by the tie rule (lexicographically smallest);
    ``optimal``: rows that cost the least, ties included; ``worst_regret``: how much more the worst row costs than the
    optimum, as a share of it; ``missed``: {threads: (printed, optimum)} of the rows that are not ``first``.
    """

    rows: int
    first: int
    optimal: int
    worst_regret: float
    missed: dict[int, tuple[Row, Row]]

    def __str__(self) -> str:
        return (
            f"{self.first} of {self.rows} rows are the optimum, {self.optimal} cost as little; worst regret "
            f"{100 * self.worst_regret:.1f} %"
        )


def reproduce(
    operation: str, model: str | MachineModel = "xeon-phi-5110p", bound: str = "min", **reading: Any
) -> Reproduction:
    """Compare a printed table with the optima of a reading of its equation.

    Parameters
    ----------
    operation:
        ``broadcast`` (Table B.1), ``barrier`` (B.2) or ``reduce`` (B.3).
    model, bound, reading:
        As :func:`phicoll.models.optima.table` takes them, such as ``b="fitted"``, ``combining="multi-line"``,
        ``constraint="rising"``, ``rounds="printed"``.

    Raises
    ------
    ArgumentError
        An unknown operation, and what ``table`` raises.
    """
    from phicoll.models.optima import search

    printed = TABLES[check_choice("operation", operation, TABLES)]
    best = search.table(operation, sorted(printed), model, bound, ties="all", **reading)
    first = optimal = 0
    worst = 0.0
    missed: dict[int, tuple[Row, Row]] = {}
    for optimum in best:
        row = printed[optimum.ranks]
        optimal += row in optimum.ties
        if row == optimum.ties[0]:
            first += 1
        else:
            missed[optimum.ranks] = (row, optimum.ties[0])
        if row not in optimum.ties:
            worst = max(worst, search.cost_of(operation, row, model, bound, **reading) / optimum.ns - 1)
    return Reproduction(len(best), first, optimal, worst, missed)
