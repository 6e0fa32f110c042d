"""Telling others, and being told: notification backwards and forwards. Source: ramos-hoefler-2013 4.1.1 and 4.1.2.

Shared structures are in memory when a collective begins (chapter 4): hence the R_I terms.
"""

from __future__ import annotations

from collections.abc import Iterable

from phicoll.models.equations.band import Band
from phicoll.models.equations.checks import MAX_RANKS, check_choice, check_levels, check_whole
from phicoll.models.equations.contention import contention
from phicoll.models.equations.line_costs import Constants, Warm, local, remote, shared_start

__all__ = ["NESTINGS", "announce", "level_announcement", "notify_back", "notify_back_apart", "notify_forward"]

#: How equation 4.6's inner sum is read.
NESTINGS = ("level", "printed")


def notify_back(model: Constants, ranks: int) -> Band:
    """``ranks`` - 1 ranks write one line that the remaining one, the parent, reads (equations 4.1 and 4.2), ns.

    Best: R_I + (n - 1) R_R, the parent looks once, at the end. Worst: R_I + 2 (n - 1) R_R, it looks after each write.

    Parameters
    ----------
    ranks:
        n_th, the parent and those who notify: from 2 on.
    """
    n = check_whole("ranks", ranks, 2, MAX_RANKS)
    start, step = shared_start(model), remote(model)
    return Band(start + (n - 1) * step, start + 2 * (n - 1) * step)


def notify_back_apart(model: Constants, ranks: int) -> Band:
    """The same with a line for each who notifies, which the paper describes (4.1.1) but gives no equation for, ns.

    By its rules: all write at the same time, each reads its line from memory (R_I), and the parent reads them all, one
    after another (R_R each). Worst: the parent has looked at each before it was written, so writer and parent each
    fetch it once more.
    """
    n = check_whole("ranks", ranks, 2, MAX_RANKS)
    start, step = shared_start(model), remote(model)
    return Band(start + (n - 1) * step, start + step + 2 * (n - 1) * step)


def announce(model: Constants) -> float:
    """R_I in ns: the root marks the shared structure as taken, in memory until then (first term of equation 4.6).

    :class:`~phicoll.models.equations.line_costs.Warm`: R_L, since the root alone writes the mark.
    """
    return local(model) if isinstance(model, Warm) else shared_start(model)


def level_announcement(model: Constants, children: int, b: str = "lines") -> Band:
    """A parent of one level announces its message to so many children (a term of equation 4.6's sums), ns.

    Best: R_I + 2 R_L, it reads its structure, copies the data in, sets the flag. Worst: 2 (R_R + T_C(k)), the children
    look too early and disturb both.
    """
    worst = 2 * (remote(model) + contention(model, children, b=b))
    return Band(shared_start(model) + 2 * local(model), worst)


def notify_forward(model: Constants, levels: Iterable[int], nesting: str = "level", b: str = "lines") -> Band:
    """T_fw of a tree: each parent announces its message (equation 4.6), ns.

    Parameters
    ----------
    levels:
        k_1 ... k_d.
    nesting:
        ``level``: each level's worst case has its own T_C(k_i); ``printed``: each has that of all levels, since 4.6
        nests a sum over the index of the outer one.
    b:
        See :func:`phicoll.models.equations.contention.intercept`.
    """
    k = check_levels(levels)
    check_choice("nesting", nesting, NESTINGS)
    total = Band(announce(model), announce(model))
    for children in k:
        total += level_announcement(model, children, b)
    if nesting == "printed" and k:
        each = sum(contention(model, children, b=b) for children in k)
        high = announce(model) + len(k) * 2 * (remote(model) + each)
        return Band(total.low_ns, high)
    return total
