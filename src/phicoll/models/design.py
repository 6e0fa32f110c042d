"""The design of a collective that its model finds best on a machine: a tree's levels, a barrier's partners."""

from __future__ import annotations

from phicoll.models.barriers import ROUNDS, acknowledged_barrier
from phicoll.models.checks import MAX_RANKS, check_choice, check_whole
from phicoll.models.line_costs import Constants
from phicoll.models.small_reduction import level_reduction
from phicoll.models.tree_broadcast import parent_step

__all__ = ["best_levels", "best_ways"]

MOST_LEVELS = 6
STEPS = {"broadcast": parent_step, "reduce": level_reduction}


def best_levels(model: Constants, operation: str, ranks: int, b: str = "lines") -> tuple[int, ...]:
    """k_1 >= k_2 >= ... with the least best-case time (equations 4.7, 4.13), of equals the lexicographically smallest.

    Parameters
    ----------
    operation:
        ``broadcast`` or ``reduce``.
    b:
        See :func:`phicoll.models.contention.intercept`.
    """
    step = STEPS[check_choice("operation", operation, STEPS)]
    n = check_whole("ranks", ranks, 1, MAX_RANKS)
    if n <= 2:
        return (1,) * (n - 1)
    costs = [0.0, *(step(model, k, b=b).low_ns for k in range(1, n))]
    best: tuple[float, tuple[int, ...]] = (costs[n - 1], (n - 1,))

    def descend(levels: tuple[int, ...], cost: float, held: int, width: int) -> None:
        nonlocal best
        if held >= n:
            if cost < best[0] - 1e-6 or (cost < best[0] + 1e-6 and levels < best[1]):
                best = (cost, levels)
            return
        if len(levels) == MOST_LEVELS:
            return
        for k in range(1, min(levels[-1] if levels else n - 1, -(-(n - held) // width)) + 1):
            if cost + costs[k] > best[0] + 1e-6:
                break
            left = MOST_LEVELS - len(levels)
            if held + width * sum(k**i for i in range(1, left + 1)) >= n:
                descend((*levels, k), cost + costs[k], held + width * k, width * k)

    descend((), 0.0, 1, 1)
    return best[1]


def best_ways(model: Constants, ranks: int, rounds: str = "corrected") -> int:
    """m with the least best-case time of the acknowledged barrier (equation 4.11), the smallest of equals."""
    n = check_whole("ranks", ranks, 1, MAX_RANKS)
    check_choice("rounds", rounds, ROUNDS)
    first = 2 if rounds == "printed" and n > 2 else 1
    return min(range(first, max(n, 2)), key=lambda m: acknowledged_barrier(model, n, m, rounds).low_ns)
