"""Shapes of broadcast trees, as the core builds them: each rank's parent, ranks counted from the root.

Source: ramos-hoefler-2013 sections 4.1.2 and 4.4, velamati-2007 section 3.2; docs/collectives.md.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence

from phicoll.errors import ArgumentError
from phicoll.models.equations.checks import MAX_RANKS, check_choice, check_levels, check_whole

__all__ = [
    "children_of",
    "fibonacci_parents",
    "flat_parents",
    "k_nomial_parents",
    "level_parents",
    "levels_in_use",
]

#: L as a multiple of o in the LogP model that the Fibonacci tree is the best of.
OVERHEADS = {"half": 2, "quarter": 4}


def check_ranks(ranks: int) -> int:
    return check_whole("ranks", ranks, 1, MAX_RANKS)


def flat_parents(ranks: int) -> list[int]:
    """All are children of the root. Parents of ranks 0 to ranks - 1; the root's own entry is 0, here and below."""
    return [0] * check_ranks(ranks)


def k_nomial_parents(ranks: int, degree: int = 3) -> list[int]:
    """Phase by phase every informed rank informs ``degree`` - 1 others; degree 2, from which it counts: binomial."""
    n, k = check_ranks(ranks), check_whole("degree", degree, 2)
    parents = [0] * n
    reach = 1
    for rank in range(1, n):
        while reach * k <= rank:
            reach *= k
        parents[rank] = rank % reach
    return parents


def fibonacci_parents(ranks: int, overhead: str = "half") -> list[int]:
    """The greedy tree of LogP: an informed rank sends every o; the receiver may send 2 o + L later.

    Parameters
    ----------
    overhead:
        o as a part of L: ``half`` or ``quarter``, those of figure 4.4.
    """
    n = check_ranks(ranks)
    latency = OVERHEADS[check_choice("overhead", overhead, OVERHEADS)]
    parents = [0] * n
    turns = [(0, 0)]  # when a rank may send next
    for rank in range(1, n):
        time, sender = heapq.heappop(turns)
        parents[rank] = sender
        heapq.heappush(turns, (time + 1, sender))
        heapq.heappush(turns, (time + 2 + latency, rank))
    return parents


def level_parents(ranks: int, levels: Iterable[int]) -> list[int]:
    """A rank of level i - 1 has at most k_i children, spread evenly; where levels do not suffice, the last goes on."""
    n, k = check_ranks(ranks), check_levels(levels)
    if not k and n > 1:
        raise ArgumentError("levels", "none", f"at least one, for {n} ranks")
    parents = [0] * n
    first, width, level = 0, 1, 0
    while first + width < n:
        wide = min(width * k[min(level, len(k) - 1)], n - first - width)
        for child in range(wide):
            parents[first + width + child] = first + child * width // wide
        first, width, level = first + width, wide, level + 1
    return parents


def levels_in_use(ranks: int, levels: Iterable[int]) -> tuple[int, ...]:
    """The most children that a rank of each level has in :func:`level_parents`' tree."""
    parents = level_parents(ranks, levels)
    children = children_of(parents)
    found, here = [], [0]
    while any(children[rank] for rank in here):
        found.append(max(len(children[rank]) for rank in here))
        here = [child for rank in here for child in children[rank]]
    return tuple(found)


def children_of(parents: Sequence[int]) -> list[list[int]]:
    """Children by rank, ascending. ArgumentError: a parent that does not come before its child."""
    children: list[list[int]] = [[] for _ in parents]
    for rank, parent in enumerate(parents):
        if rank == 0:
            continue
        if not 0 <= parent < rank:
            raise ArgumentError(f"parents[{rank}]", str(parent), f"a rank from 0 to {rank - 1}")
        children[parent].append(rank)
    return children
