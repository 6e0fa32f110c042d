"""Reduction of one item up a tree. Source: ramos-hoefler-2013 section 4.3, equations 4.13, 4.14 and B.3."""

from __future__ import annotations

from collections.abc import Iterable

from phicoll.models.equations.band import Band
from phicoll.models.equations.checks import check_choice, check_levels, check_whole
from phicoll.models.equations.contention import contention
from phicoll.models.equations.large_broadcast import copy_slope
from phicoll.models.equations.line_costs import Constants, local, remote, shared_start
from phicoll.models.equations.multi_line import multi_line

__all__ = ["COMBININGS", "combine_buffers", "level_reduction", "reduction", "small_reduction"]

#: What T_k, the combining of k buffers, is.
COMBININGS = ("slope", "multi-line")


def combine_buffers(model: Constants, children: int, combining: str = "slope") -> float:
    """T_k in ns: a parent applies the operation to its k children's buffers.

    Parameters
    ----------
    combining:
        ``slope``: o k, with which all rows of Table B.3 cost the least; ``multi-line``: o k + q - p / k, as the text
        ("modeled using the multi-line model") says.
    """
    k = check_whole("children", children, 1)
    if check_choice("combining", combining, COMBININGS) == "multi-line":
        return multi_line(model, k)
    return model.value("multi.EE.o") * k


def level_reduction(model: Constants, children: int, b: str = "lines", combining: str = "slope") -> Band:
    """A term of the sums of equations 4.13 and 4.14 in ns: a parent takes in its children's items."""
    crowd = contention(model, children, b=b)
    notes = (1 + children) * remote(model)
    rest = shared_start(model) + local(model) + combine_buffers(model, children, combining)
    return Band(rest + crowd + notes, rest + 2 * crowd + 2 * notes)


def small_reduction(
    model: Constants, levels: Iterable[int], b: str = "lines", combining: str = "slope"
) -> Band:
    """T_red in ns.

    Best: the sum of R_I + T_C(k_i) + (1 + k_i) R_R + R_L + T_{k_i} over the levels, and R_R (equation 4.13). Worst: T_C
    and (1 + k_i) R_R twice (equation 4.14).

    Parameters
    ----------
    levels:
        k_1 ... k_d; none is a reduction of one rank, which takes nothing.
    b, combining:
        See :func:`phicoll.models.equations.contention.intercept` and :func:`combine_buffers`.
    """
    k = check_levels(levels)
    if not k:
        return Band(0.0, 0.0)
    total = Band(remote(model), remote(model))
    for children in k:
        total += level_reduction(model, children, b, combining)
    return total


def reduction(
    model: Constants, levels: Iterable[int], lines: int, piece_lines: int = 16, b: str = "lines"
) -> Band:
    """A reduction of more than one item, ns: phicoll's continuation of equations 4.13 and 4.14.

    Each further line is written by every child and combined by its parent, o (k + 1) a level. Pieces follow each other
    up the tree: best, as if the message were one piece; worst, one piece after the other.

    Parameters
    ----------
    lines, piece_lines:
        Of the message and of a buffer, from 1 on; a message of one line is :func:`small_reduction`'s.
    """
    k = check_levels(levels)
    n, piece = check_whole("lines", lines, 1), check_whole("piece_lines", piece_lines, 1)
    once = small_reduction(model, k, b)

    def further(more: int) -> float:
        slope = copy_slope(model, more, longer=True) if more else 0.0
        return sum(slope * (children + 1) for children in k)

    pieces = -(-n // piece)
    return Band(once.low_ns + further(n - 1), pieces * (once.high_ns + further(min(n, piece) - 1)))
