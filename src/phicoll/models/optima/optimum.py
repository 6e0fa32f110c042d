"""Optima: the best tree, the best barrier, tables of them, and comparisons of two choices.

:mod:`phicoll.models.optima.search` finds them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from phicoll.foundations.extras import extra
from phicoll.foundations.html_table import html_table

if TYPE_CHECKING:
    import pandas

__all__ = ["BarrierOptimum", "BoundComparison", "OptimaTable", "TreeOptimum"]


@dataclass(frozen=True)
class TreeOptimum:
    """The best tree for a number of ranks.

    ``levels``: k_1, k_2, ... children of a rank in each level, none for one rank; ``ns``: its modelled time; ``ties``:
    all trees of the same cost in lexicographic order if requested, else ``levels`` alone; ``assumed``: the deciding
    constants that were taken from another machine.
    """

    ranks: int
    levels: tuple[int, ...]
    ns: float
    ties: tuple[tuple[int, ...], ...]
    assumed: tuple[str, ...] = ()

    @property
    def depth(self) -> int:
        """d, the number of levels."""
        return len(self.levels)


@dataclass(frozen=True)
class BarrierOptimum:
    """The best m for a number of ranks. ``ways``: m; ``ties``: all (m, rounds) of the same cost, by rising m."""

    ranks: int
    ways: int
    rounds: int
    ns: float
    ties: tuple[tuple[int, int], ...]
    assumed: tuple[str, ...] = ()


class OptimaTable(tuple[Any, ...]):
    """Optima by rising number of ranks; displayed as a table in a notebook."""

    __slots__ = ()

    def to_pandas(self) -> pandas.DataFrame:
        """One row per optimum, by ranks: ``levels``, or ``ways`` and ``rounds``; ``ns``; the number of
        ``ties``."""
        with extra("frames"):
            import pandas as pd

        columns = [f.name for f in fields(self[0]) if f.name not in ("ranks", "assumed")] if self else []
        rows = [
            {name: len(one.ties) if name == "ties" else getattr(one, name) for name in columns}
            for one in self
        ]
        return pd.DataFrame(rows, index=pd.Index([one.ranks for one in self], name="ranks"))

    def _repr_html_(self) -> str:
        def design(one: Any) -> str:
            if isinstance(one, TreeOptimum):
                return ", ".join(map(str, one.levels))
            return f"m = {one.ways}, {one.rounds} rounds"

        rows = [[one.ranks, design(one), f"{one.ns:.1f}"] for one in self]
        return html_table(["ranks", "optimum", "ns"], rows)


@dataclass(frozen=True)
class BoundComparison:
    """Whether a model's best case and worst case choose alike.

    ``alike``: numbers of ranks with the same choice; ``differ``: {ranks: (by the best case, by the worst)}; ``regret``:
    the largest relative excess, in the best case, of the worst case's choice over the best choice.
    """

    operation: str
    alike: tuple[int, ...]
    differ: dict[int, tuple[tuple[int, ...], tuple[int, ...]]]
    regret: float

    def __str__(self) -> str:
        total = len(self.alike) + len(self.differ)
        return (
            f"{self.operation}: alike for {len(self.alike)} of {total} numbers of ranks; "
            f"the worst case's choice costs at most {100 * self.regret:.1f} % more in the best"
        )
