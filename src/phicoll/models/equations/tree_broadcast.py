"""Broadcast down any tree, by the equations of the model's own: what section 4.4 compares in figure 4.4."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from phicoll.models.equations.band import Band
from phicoll.models.equations.checks import check_choice, check_levels, check_whole
from phicoll.models.equations.contention import contention
from phicoll.models.equations.large_broadcast import crowd_copy
from phicoll.models.equations.line_costs import Constants
from phicoll.models.equations.notification import announce, level_announcement, notify_back, notify_back_apart
from phicoll.models.equations.trees import children_of

__all__ = ["ACKNOWLEDGEMENTS", "parent_step", "tree_broadcast", "tree_of_levels"]

#: phicoll's parameter ``ack``: section 4.1.1's two variants.
ACKNOWLEDGEMENTS = {"counter": notify_back, "line-per-child": notify_back_apart}


def parent_step(
    model: Constants, children: int, lines: int = 0, b: str = "lines", ack: str = "counter"
) -> Band:
    """What one parent adds: announcement, its children's reads, their acknowledgements (terms of equation 4.7), ns.

    Parameters
    ----------
    lines:
        0: the message lies in the line that announces it. Else the children copy that many lines from the
        parent's
        buffer, which takes T_copy of equation 4.10 more: phicoll's continuation to larger messages.
    ack:
        ``counter``: one line for all (4.1, 4.2); ``line-per-child``.
    """
    check_whole("lines", lines, 0)
    check_choice("ack", ack, ACKNOWLEDGEMENTS)
    step = level_announcement(model, children, b) + contention(model, children, b=b)
    step += ACKNOWLEDGEMENTS[ack](model, children + 1)
    return step + crowd_copy(model, children, lines, b, longer=True) if lines else step


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

    All children of a rank read at the same time; the path from the root with the largest sum of
    :func:`parent_step` decides. For a tree whose levels are full that is equation 4.7.
    """
    children = children_of(parents)
    steps = {k: parent_step(model, k, lines, b, ack) for k in {len(c) for c in children} if k}
    low, high = [0.0] * len(children), [0.0] * len(children)
    for rank in reversed(range(len(children))):
        if below := children[rank]:
            step = steps[len(below)]
            low[rank] = step.low_ns + max(low[child] for child in below)
            high[rank] = step.high_ns + max(high[child] for child in below)
    if len(children) < 2:
        return Band(0.0, 0.0)
    return Band(low[0], high[0]) + announce(model)
