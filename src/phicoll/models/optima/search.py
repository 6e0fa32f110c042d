"""Exhaustive, exact search for the designs that cost least by a machine's model.

The core's optimisers choose, as they do for the algorithms ``model-tree`` and ``dissemination-acknowledged``: in whole
tenths of a nanosecond, so that all ranks agree. Source: ramos-hoefler-2013 equations 4.7, 4.11 to 4.14 and appendix B;
:mod:`phicoll.models.optima.tables_b` has the printed tables and how far each reading reproduces them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import phicoll._core as _core
from phicoll.errors import ArgumentError
from phicoll.models.constants.machine_model import MachineModel
from phicoll.models.equations.barriers import ROUNDS
from phicoll.models.equations.checks import MAX_RANKS, check_choice, check_whole
from phicoll.models.equations.line_costs import Warm
from phicoll.models.optima.design_costs import (
    assumed_among,
    constants_of,
    cost_function,
    costs_in_tenths,
    decided_by,
    level_cost,
)
from phicoll.models.optima.optimum import BarrierOptimum, BoundComparison, OptimaTable, TreeOptimum
from phicoll.registry import moves_data

__all__ = [
    "BOUNDS",
    "CONSTRAINTS",
    "MOST_LEVELS",
    "OPERATIONS",
    "TIES",
    "barrier_ways",
    "broadcast_tree",
    "compare_bounds",
    "cost_of",
    "reduction_tree",
    "table",
]

#: The best case that a model gives, or its worst.
BOUNDS = ("min", "max")
#: Constraints on the children of levels: k_i >= k_{i+1} (``falling``, as in the paper's text and tables), k_i <=
#: k_{i+1} (``rising``, as its equations 4.7 and B.1 print), or none.
CONSTRAINTS = ("falling", "rising", "none")
#: Of several optima the lexicographically smallest, or all.
TIES = ("first", "all")
OPERATIONS = ("broadcast", "reduce", "barrier")
#: The deepest tree that can be asked for; the algorithms take up to 6 levels.
MOST_LEVELS: int = _core.most_tree_levels
ALGORITHM_LEVELS = 6
#: More ties than this are an error: a model in which nearly everything costs the same.
MOST_TIES = 100_000


def broadcast_tree(
    ranks: int,
    model: str | MachineModel | Warm = "xeon-phi-5110p",
    bound: str = "min",
    constraint: str = "falling",
    ties: str = "first",
    *,
    b: str = "lines",
    levels: int = ALGORITHM_LEVELS,
) -> TreeOptimum:
    """The tree for small broadcasts (equation 4.7; B.1 is its best case) that costs the least.

    Parameters
    ----------
    ranks:
        1 to 1,024.
    model:
        A model as for :func:`phicoll.models.machine_model`, or a :class:`~phicoll.models.equations.line_costs.Warm`
        one.
    bound:
        ``min`` or ``max``: which of the model's two cases is minimised. Of the worst case's nested sum (4.6) each term
        is read as its own level's.
    constraint:
        ``falling`` (k_i >= k_{i+1}), ``rising`` (as printed) or ``none``. Falling loses nothing against none.
    ties:
        ``first`` (the lexicographically smallest) or ``all``.
    b:
        ``lines`` (b = R_L + R_R - c, with which all rows of Table B.1 come out) or ``fitted`` (that of Table 3.2).
    levels:
        The deepest tree, 1 to 16; the algorithms take 6.

    Raises
    ------
    ArgumentError
        A parameter out of its range; a constant that the model does not have or that is out of range.
    """
    return trees("broadcast", [ranks], model, bound, constraint, ties, b=b, levels=levels)[0]


def reduction_tree(
    ranks: int,
    model: str | MachineModel | Warm = "xeon-phi-5110p",
    bound: str = "min",
    constraint: str = "falling",
    ties: str = "first",
    *,
    b: str = "lines",
    combining: str = "slope",
    levels: int = ALGORITHM_LEVELS,
) -> TreeOptimum:
    """The tree for small reductions (equations 4.13, 4.14, B.3) that costs the least.

    Parameters
    ----------
    combining:
        T_k: ``slope`` (o k, with which all rows of Table B.3 cost the least) or ``multi-line`` (o k + q - p / k, as the
        text says).
    ranks, model, bound, constraint, ties, b, levels:
        See :func:`broadcast_tree`, which also raises the same.
    """
    return trees("reduce", [ranks], model, bound, constraint, ties, b=b, combining=combining, levels=levels)[
        0
    ]


def barrier_ways(
    ranks: int,
    model: str | MachineModel | Warm = "xeon-phi-5110p",
    rounds: str = "corrected",
    bound: str = "min",
) -> BarrierOptimum:
    """The m of the acknowledged dissemination barrier (equations 4.11, 4.12, B.2) that costs the least; the smallest.

    Parameters
    ----------
    rounds:
        ``corrected`` (log_{m+1} of the ranks, which the partners' formula needs) or ``printed`` (log_m, with which all
        rows of Table B.2 come out).
    ranks, model, bound:
        See :func:`broadcast_tree`, which also raises the same.
    """
    return barriers([ranks], model, bound, rounds=rounds)[0]


def table(
    operation: str,
    ranks: Iterable[int] = range(2, 245),
    model: str | MachineModel | Warm = "xeon-phi-5110p",
    bound: str = "min",
    **options: Any,
) -> OptimaTable:
    """The optima of many numbers of ranks at once, by rising ranks.

    Parameters
    ----------
    operation:
        ``broadcast``, ``reduce`` or ``barrier``.
    ranks:
        Each 1 to 1,024.
    model, bound, options:
        See :func:`broadcast_tree`, :func:`reduction_tree` and :func:`barrier_ways`, whose further options these are.

    Raises
    ------
    ArgumentError
        An unknown operation or option, and what those functions raise.
    """
    check_choice("operation", operation, OPERATIONS)
    known = {
        "broadcast": ("constraint", "ties", "b", "levels"),
        "reduce": ("constraint", "ties", "b", "combining", "levels"),
        "barrier": ("rounds", "ties"),
    }[operation]
    for name in options:
        if name not in known:
            raise ArgumentError(name, f"an option of {operation}", ", ".join(known))
    counts = sorted({check_whole("ranks", one, 1, MAX_RANKS) for one in ranks})
    if not moves_data(operation):
        check_choice("ties", options.pop("ties", "all"), TIES)
        return OptimaTable(barriers(counts, model, bound, **options))
    return OptimaTable(trees(operation, counts, model, bound, **options))


def cost_of(
    operation: str,
    design: Iterable[int],
    model: str | MachineModel | Warm = "xeon-phi-5110p",
    bound: str = "min",
    **reading: Any,
) -> float:
    """The model's time of a tree's levels (k_1, k_2, ...) or of a barrier's (m, rounds), ns.

    Parameters
    ----------
    reading:
        ``b`` and ``combining`` of trees; the other options of :func:`table` do not change the cost of a
        design.
    """
    check_choice("operation", operation, OPERATIONS)
    constants = constants_of(model)
    return cost_function(operation, constants, bound, **reading)(tuple(design))


def compare_bounds(
    operation: str,
    ranks: Iterable[int] = range(2, 245),
    model: str | MachineModel | Warm = "xeon-phi-5110p",
    **options: Any,
) -> BoundComparison:
    """Whether minimising the worst case chooses as minimising the best case does (ramos-hoefler-2013 section 4.4: "with
    similar results"). Parameters as :func:`table`."""
    best = table(operation, ranks, model, "min", **options)
    worst = table(operation, ranks, model, "max", **options)
    cost = cost_function(operation, constants_of(model), "min", **options)
    alike, differ, regret = [], {}, 0.0
    for low, high in zip(best, worst, strict=True):
        mine, theirs = design_of(low), design_of(high)
        if mine == theirs:
            alike.append(low.ranks)
        else:
            differ[low.ranks] = (mine, theirs)
            regret = max(regret, cost(theirs) / cost(mine) - 1)
    return BoundComparison(operation, tuple(alike), differ, regret)


def trees(
    operation: str,
    ranks: list[int],
    model: str | MachineModel | Warm,
    bound: str = "min",
    constraint: str = "falling",
    ties: str = "first",
    *,
    b: str = "lines",
    combining: str = "slope",
    levels: int = ALGORITHM_LEVELS,
) -> list[TreeOptimum]:
    counts = [check_whole("ranks", one, 1, MAX_RANKS) for one in ranks]
    check_choice("bound", bound, BOUNDS)
    check_choice("constraint", constraint, CONSTRAINTS)
    check_choice("ties", ties, TIES)
    check_whole("levels", levels, 1, MOST_LEVELS)
    constants = constants_of(model)
    ns = cost_function(operation, constants, bound, b=b, combining=combining)
    if max(counts, default=1) <= 2:
        # There is no other tree: it needs no contention, which two CPUs cannot show.
        only = [(1,) * (count - 1) for count in counts]
        return [TreeOptimum(n, k, ns(k), (k,)) for n, k in zip(counts, only, strict=True)]
    cost = level_cost(constants, operation, bound, b, combining)
    assumed = assumed_among(constants, decided_by(constants, operation, b, combining))
    most = 1 if ties == "first" else MOST_TIES + 1
    found = []
    for count, best in zip(counts, _core.best_levels(counts, cost, constraint, levels, most), strict=True):
        if len(best) > MOST_TIES:
            raise ArgumentError("ties", f"more than {MOST_TIES} for {count} ranks", "ties='first'")
        all_best = tuple(map(tuple, best))
        found.append(TreeOptimum(count, all_best[0], ns(all_best[0]), all_best, assumed))
    return found


def barriers(
    ranks: list[int], model: str | MachineModel | Warm, bound: str = "min", rounds: str = "corrected"
) -> list[BarrierOptimum]:
    counts = [check_whole("ranks", one, 1, MAX_RANKS) for one in ranks]
    check_choice("bound", bound, BOUNDS)
    check_choice("rounds", rounds, ROUNDS)
    constants = constants_of(model)
    costs = costs_in_tenths(constants, "barrier")
    assumed = assumed_among(constants, decided_by(constants, "barrier"))
    ns = cost_function("barrier", constants, bound)
    found = []
    for count, best in zip(
        counts, _core.best_ways(counts, costs["local"], costs["remote"], rounds, bound), strict=True
    ):
        ties = tuple(map(tuple, best))
        found.append(BarrierOptimum(count, *ties[0], ns(ties[0]), ties, assumed))
    return found


def design_of(optimum: TreeOptimum | BarrierOptimum) -> tuple[int, ...]:
    return optimum.levels if isinstance(optimum, TreeOptimum) else (optimum.ways, optimum.rounds)
