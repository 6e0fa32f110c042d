"""Notification of a parent and of children. Source: ramos-hoefler-2013 sections 4.1.1 and 4.1.2.

Shared structures are in memory when a collective begins (chapter 4), hence the R_I terms.
"""

from __future__ import annotations

from collections.abc import Iterable

from phicoll.models.equations.band import Band
from phicoll.models.equations.checks import MAX_RANKS, check_choice, check_levels, check_whole
from phicoll.models.equations.contention import contention
from phicoll.models.equations.line_costs import Constants, Warm, local, remote, shared_start

__all__ = [
    "NESTINGS",
    "announce",
    "known_when",
    "level_announcement",
    "notify_back",
    "notify_back_apart",
    "notify_forward",
]

#: Readings of the inner sum of equation 4.6.
NESTINGS = ("level", "printed")


def notify_back(model: Constants, ranks: int) -> Band:
    """The time in ns in which n - 1 ranks write one line that the parent reads (equations 4.1 and 4.2).

    Best: R_I + (n - 1) R_R, the parent reads once, at the end. Worst: R_I + 2 (n - 1) R_R, it reads after each write.

    Parameters
    ----------
    ranks:
        n_th, the parent and the ranks that notify it: at least 2.
    """
    n = check_whole("ranks", ranks, 2, MAX_RANKS)
    start, step = shared_start(model), remote(model)
    return Band(start + (n - 1) * step, start + 2 * (n - 1) * step)


def notify_back_apart(model: Constants, ranks: int) -> Band:
    """The same with one line per notifying rank, ns. The paper describes it (4.1.1) without an equation.

    By its rules, best: all write at the same time, each reading its line from memory (R_I); the parent reads the lines
    one after another (R_R each). Worst: the parent has read each line before it was written, so writer and parent both
    fetch it once more.
    """
    n = check_whole("ranks", ranks, 2, MAX_RANKS)
    start, step = shared_start(model), remote(model)
    return Band(start + (n - 1) * step, start + step + 2 * (n - 1) * step)


def known_when(model: Constants, done: Iterable[float]) -> float:
    """The earliest time, ns, at which a parent knows that all its children are done; child i is done at ``done[i]``.

    T_nb is "the time spent from the moment in which the last descendant receives the message" (4.1.2): who was done
    before has acknowledged by then. One acknowledgement takes R_I + R_R; of several at once each further one R_R, so
    that children done at the same time take the best case of 4.1.
    """
    known = 0.0
    for end in sorted(done):
        known = max(known, end + shared_start(model)) + remote(model)
    return known


def announce(model: Constants) -> float:
    """R_I in ns: the root marks the shared structure as taken, in memory until then (first term of equation 4.6).

    :class:`~phicoll.models.equations.line_costs.Warm`: R_L, since the root alone writes the mark.
    """
    return local(model) if isinstance(model, Warm) else shared_start(model)


def level_announcement(model: Constants, children: int, b: str = "lines") -> Band:
    """The time in ns in which a parent announces its message to k children (a term of equation 4.6's sums).

    Best: R_I + 2 R_L, the parent reads its structure, copies the data in and sets the flag. Worst: 2 (R_R + T_C(k)),
    the children read too early and disturb both accesses.
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
