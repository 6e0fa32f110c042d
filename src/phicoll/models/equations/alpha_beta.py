"""Allreduces as functions of alpha, beta and gamma. Source: namashivayam-2014 section 5.1 (paper 003)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from phicoll.errors import ArgumentError
from phicoll.models.constants.constant import is_number
from phicoll.models.equations.checks import MAX_RANKS, check_choice, check_whole
from phicoll.models.equations.steps import floor_log

__all__ = [
    "ALLREDUCES",
    "FORMS",
    "AlphaBeta",
    "all_reads_all",
    "bruck",
    "flat_tree",
    "rabenseifner",
    "recursive_doubling",
]

#: Treatments of rank counts that are not powers of two.
FORMS = ("folded", "printed")


@dataclass(frozen=True)
class AlphaBeta:
    """alpha: ns per message; beta: ns per byte moved; gamma: ns per byte combined."""

    alpha: float
    beta: float
    gamma: float

    def __post_init__(self) -> None:
        for name in ("alpha", "beta", "gamma"):
            value = getattr(self, name)
            if not is_number(value) or value < 0:
                raise ArgumentError(name, repr(value), "a finite number from 0 on")


def checked(ranks: int, size_bytes: int, form: str) -> tuple[int, int]:
    check_choice("form", form, FORMS)
    return check_whole("ranks", ranks, 1, MAX_RANKS), check_whole("size_bytes", size_bytes, 0)


def flat_tree(costs: AlphaBeta, ranks: int, size_bytes: int, form: str = "folded") -> float:
    """T_FT = p alpha + 2 n (p-1) beta + n (p-1) gamma in ns (section 5.1.1).

    Parameters
    ----------
    form:
        ``printed`` has p messages; ``folded`` 2 (p-1), as the root reads from and writes to each other rank.
    """
    p, n = checked(ranks, size_bytes, form)
    if p == 1:
        return 0.0
    messages = p if form == "printed" else 2 * (p - 1)
    return messages * costs.alpha + 2 * n * (p - 1) * costs.beta + n * (p - 1) * costs.gamma


def fold(costs: AlphaBeta, p: int, n: int) -> float:
    """The steps before and after the core, in which ranks beyond a power of two give operands and get results, ns."""
    if 2 ** floor_log(2, p) == p:
        return 0.0
    return 2 * costs.alpha + 2 * n * costs.beta + n * costs.gamma


def recursive_doubling(costs: AlphaBeta, ranks: int, size_bytes: int, form: str = "folded") -> float:
    """T_RD = lg p (alpha + n beta + n gamma) in ns (section 5.1.2).

    Parameters
    ----------
    form:
        ``printed``: lg p unrounded; ``folded``: floor(lg p) steps and, unless p is a power of two, one before them
        (alpha + n beta + n gamma) and one after (alpha + n beta), as the text describes.
    """
    p, n = checked(ranks, size_bytes, form)
    steps = math.log2(p) if form == "printed" else floor_log(2, p)
    rest = 0.0 if form == "printed" else fold(costs, p, n)
    return steps * (costs.alpha + n * costs.beta + n * costs.gamma) + rest


def bruck(costs: AlphaBeta, ranks: int, size_bytes: int, form: str = "folded") -> float:
    """T_BR = T_RD in ns: the same steps with other partners (section 5.1.3)."""
    return recursive_doubling(costs, ranks, size_bytes, form)


def rabenseifner(
    costs: AlphaBeta, ranks: int, size_bytes: int, form: str = "folded", *, merge_middle: bool = False
) -> float:
    """T_RSAG = 2 lg p alpha + 2 (p-1)/p n beta + (p-1)/p n gamma in ns (section 5.1.4).

    Parameters
    ----------
    form:
        As for :func:`recursive_doubling`; ``folded`` uses q = 2^floor(lg p) for p in the core.
    merge_middle:
        Whether the last step of the first phase and the first of the second are merged (section 5.1.4). This saves a
        message; the pair combines its whole range of 2 n / q bytes instead of half each, and moves as much.
    """
    p, n = checked(ranks, size_bytes, form)
    if p == 1:
        return 0.0
    core = float(p) if form == "printed" else float(2 ** floor_log(2, p))
    steps = 2 * math.log2(core) - (1 if merge_middle else 0)
    part = (core - 1) / core * n
    extra = n / core if merge_middle else 0.0
    rest = 0.0 if form == "printed" else fold(costs, p, n)
    return steps * costs.alpha + 2 * part * costs.beta + (part + extra) * costs.gamma + rest


def all_reads_all(costs: AlphaBeta, ranks: int, size_bytes: int, form: str = "folded") -> float:
    """(p-1) (alpha + n beta + n gamma) in ns: every rank reads and combines the p - 1 other operands.

    The paper names this baseline without defining it.
    """
    p, n = checked(ranks, size_bytes, form)
    return (p - 1) * (costs.alpha + n * costs.beta + n * costs.gamma)


#: The functions by the names of phicoll's algorithms.
ALLREDUCES: dict[str, Callable[..., float]] = {
    "flat-tree": flat_tree,
    "recursive-doubling": recursive_doubling,
    "bruck": bruck,
    "rabenseifner": rabenseifner,
    "all-reads-all": all_reads_all,
}
