"""Broadcast of a line down a tree. Source: ramos-hoefler-2013 section 4.1.2, equations 4.3 to 4.7 and B.1."""

from __future__ import annotations

from collections.abc import Iterable

from phicoll.errors import ArgumentError
from phicoll.models.equations.band import Band
from phicoll.models.equations.checks import MAX_RANKS, check_levels, check_whole
from phicoll.models.equations.contention import contention
from phicoll.models.equations.line_costs import Constants
from phicoll.models.equations.notification import notify_back, notify_forward

__all__ = ["capacity", "hold", "small_broadcast", "tree_transfer"]


def capacity(levels: Iterable[int]) -> int:
    """1 + k_1 + k_1 k_2 + ...: ranks that a tree of these levels holds (equations 4.3 and 4.4)."""
    held = width = 1
    for k in check_levels(levels):
        width *= k
        held += width
    return held


def hold(levels: Iterable[int], ranks: int) -> tuple[int, ...]:
    """The levels, if they hold the ranks; ArgumentError otherwise (the constraint of equation 4.7).

    4.7 also prints k_i <= k_j for i < j, the reverse of what its text and Table B.1 want; costs do not depend on the
    order, so nothing is refused here.
    """
    k = check_levels(levels)
    n = check_whole("ranks", ranks, 1, MAX_RANKS)
    if capacity(k) < n:
        raise ArgumentError("levels", f"{k}, which hold {capacity(k)} ranks", f"levels for {n} ranks")
    return k


def tree_transfer(model: Constants, levels: Iterable[int], b: str = "lines") -> float:
    """T_tree, the sum of T_C(k_i): the data alone goes down (equation 4.5), ns."""
    return sum((contention(model, k, b=b) for k in check_levels(levels)), 0.0)


def small_broadcast(
    model: Constants, levels: Iterable[int], nesting: str = "level", b: str = "lines"
) -> Band:
    """T_sbcast = T_fw + sum T_C(k_i) + sum T_nb(k_i + 1) in ns (equation 4.7; B.1 is its best case).

    Parameters
    ----------
    levels:
        k_1 ... k_d; none is a broadcast of one rank, which takes nothing.
    nesting, b:
        See :func:`~phicoll.models.equations.notification.notify_forward` and
        :func:`~phicoll.models.equations.contention.intercept`.
    """
    k = check_levels(levels)
    if not k:
        return Band(0.0, 0.0)
    total = notify_forward(model, k, nesting, b) + tree_transfer(model, k, b)
    for children in k:
        total += notify_back(model, children + 1)
    return total
