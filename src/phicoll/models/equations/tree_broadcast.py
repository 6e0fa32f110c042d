"""Broadcast down any tree, by the equations of the model's own: what section 4.4 compares in figure 4.4."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from phicoll.models.equations.band import Band
from phicoll.models.equations.checks import check_choice, check_levels, check_whole
from phicoll.models.equations.contention import contention
from phicoll.models.equations.large_broadcast import crowd_copy
from phicoll.models.equations.line_costs import Constants
from phicoll.models.equations.notification import (
    announce,
    known_when,
    level_announcement,
    notify_back,
    notify_back_apart,
)
from phicoll.models.equations.trees import children_of

__all__ = ["ACKNOWLEDGEMENTS", "parent_step", "tree_broadcast", "tree_of_levels"]

#: phicoll's parameter ``ack``: section 4.1.1's two variants.
ACKNOWLEDGEMENTS = {"counter": notify_back, "line-per-child": notify_back_apart}


def passing_down(model: Constants, children: int, lines: int = 0, b: str = "lines") -> Band:
    """What one parent and its children take until all of them have the message (terms of equation 4.7), ns.

    Parameters
    ----------
    lines:
        0: the message lies in the line that announces it. Else the children copy that many lines from the
        parent's buffer, which takes T_copy of equation 4.10 more: phicoll's continuation to larger messages.
    """
    check_whole("lines", lines, 0)
    step = level_announcement(model, children, b) + contention(model, children, b=b)
    return step + crowd_copy(model, children, lines, b, longer=True) if lines else step


def parent_step(
    model: Constants, children: int, lines: int = 0, b: str = "lines", ack: str = "counter"
) -> Band:
    """What one parent adds in a tree of full levels: :func:`passing_down` and its children's acknowledgements, ns.

    Parameters
    ----------
    ack:
        ``counter``: one line for all (4.1, 4.2); ``line-per-child``.
    """
    check_choice("ack", ack, ACKNOWLEDGEMENTS)
    return passing_down(model, children, lines, b) + ACKNOWLEDGEMENTS[ack](model, children + 1)


def tree_of_levels(
    model: Constants, levels: Iterable[int], lines: int = 0, b: str = "lines", ack: str = "counter"
) -> Band:
    """Equation 4.7 for k_1 ... k_d with what :func:`parent_step` adds to it, ns; with its defaults, 4.7."""
    k = check_levels(levels)
    total = Band(0.0, 0.0)
    if k:
        total += announce(model)
    for children in k:
        total += parent_step(model, children, lines, b, ack)
    return total


def tree_broadcast(
    model: Constants, parents: Sequence[int], lines: int = 0, b: str = "lines", ack: str = "counter"
) -> Band:
    """A broadcast down the tree given by each rank's parent (:mod:`phicoll.models.equations.trees`), ns.

    All children of a rank read at the same time. Best: each acknowledges when it is done
    (:func:`~phicoll.models.equations.notification.known_when`). Worst: all acknowledge after the last one is done;
    the path from the root with the largest sum of :func:`parent_step` decides. For a tree whose levels are full that
    is equation 4.7.
    """
    check_choice("ack", ack, ACKNOWLEDGEMENTS)
    children = children_of(parents)
    if len(children) < 2:
        return Band(0.0, 0.0)
    many = {len(below) for below in children if below}
    down = {k: passing_down(model, k, lines, b).low_ns for k in many}
    whole = {k: parent_step(model, k, lines, b, ack).high_ns for k in many}
    low, high = [0.0] * len(children), [0.0] * len(children)
    for rank in reversed(range(len(children))):
        if below := children[rank]:
            low[rank] = down[len(below)] + known_when(model, [low[child] for child in below])
            high[rank] = whole[len(below)] + max(high[child] for child in below)
    return Band(low[0], high[0]) + announce(model)
