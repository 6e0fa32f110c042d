"""Broadcast of large messages: pipelined slices and the flat tree. Source: ramos-hoefler-2013 section 4.1.3."""

from __future__ import annotations

from phicoll.models.equations.band import Band
from phicoll.models.equations.bandwidth import long_message_line
from phicoll.models.equations.checks import MAX_RANKS, check_choice, check_whole
from phicoll.models.equations.contention import INTERCEPTS, contention
from phicoll.models.equations.line_costs import Constants, local, remote, shared_start
from phicoll.models.equations.multi_line import MAX_LINES, multi_line

__all__ = ["copied_lines", "copy_slope", "crowd_copy", "flat_large", "pipelined_slices"]


def copied_lines(model: Constants, lines: int, *, longer: bool = False) -> float:
    """T_N of one copy of N lines, E to E, ns (equation 3.1).

    ``longer``: phicoll's continuation beyond the model's 128 lines, where each further line takes what a long message's
    does (equation A.1).
    """
    if longer and lines > MAX_LINES:
        return multi_line(model, MAX_LINES) + (lines - MAX_LINES) * long_message_line(model)
    return multi_line(model, lines)


def copy_slope(model: Constants, lines: int, *, longer: bool = False) -> float:
    """o N, ns: what N lines take without their start-up (equation 4.10); ``longer`` as in :func:`copied_lines`."""
    most = None if longer else MAX_LINES
    n = check_whole("lines", lines, 1, most, "" if longer else " (8 KiB, section 3.1)")
    total = min(n, MAX_LINES) * model.value("multi.EE.o")
    return total + (n - MAX_LINES) * long_message_line(model) if n > MAX_LINES else total


def crowd_copy(
    model: Constants, readers: int, lines: int, b: str = "lines", *, longer: bool = False
) -> float:
    """T_copy = b + c (readers - 1) + o N in ns: ``readers`` ranks copy N lines of one buffer at once
    (equation 4.10).

    Parameters
    ----------
    b:
        ``fitted``: Table 3.2's b, as the paper chose "arbitrarily"; ``lines``: R_L + R_R, what a single reader pays.
    """
    n = check_whole("readers", readers, 1, MAX_RANKS)
    if check_choice("b", b, INTERCEPTS) == "lines":
        first = local(model) + remote(model)
    else:
        first = model.value("contention.EE.b")
    further = model.value("contention.EE.c") * (n - 1) if n > 1 else 0.0
    return first + further + copy_slope(model, lines, longer=longer)


def pipelined_slices(
    model: Constants, ranks: int, lines: int, b: str = "lines", *, longer: bool = False
) -> Band:
    """T_pipedbcast in ns: each rank copies one of n - 1 slices from the root, the others from the ranks that
    did.

    Equations 4.8 (best) and 4.9 (worst): initialisation, first stage, n - 2 further stages, finalisation. A slice has
    whole lines: at best they are spread evenly, N in all; at worst every stage waits for a longest slice.

    Parameters
    ----------
    ranks:
        n_th, from 2 on.
    lines:
        N of the message, from 1 on; a slice, ceil(N / (n - 1)) lines, has at most 128 unless ``longer``.
    b:
        See :func:`phicoll.models.equations.contention.intercept`.
    """
    n = check_whole("ranks", ranks, 2, MAX_RANKS)
    whole = check_whole("lines", lines, 1, None if longer else MAX_LINES * (n - 1))
    copy = copied_lines(model, -(-whole // (n - 1)), longer=longer)
    lines_of_all, more = divmod(whole, n - 1)
    copies = more * copy
    if lines_of_all:
        copies += (n - 1 - more) * copied_lines(model, lines_of_all, longer=longer)
    stages = min(whole, n - 1)
    rl, rr, ri = local(model), remote(model), shared_start(model)
    crowd = contention(model, n - 1, b=b)
    low = (ri + 2 * rl) + (2 * rl + crowd) + (stages - 1) * (rr + rl) + copies + (2 * rr + rl)
    high = (ri + 2 * (rr + crowd) + rr) + (2 * rr + crowd + copy) + (n - 2) * (2 * rr + copy) + (2 * rr + rl)
    return Band(low, high)


def flat_large(model: Constants, ranks: int, lines: int, b: str = "lines", *, longer: bool = False) -> Band:
    """T_ftbcast in ns: all copy the whole message from the root at the same time (equation 4.10).

    T_copy = b + c (n - 2) + o N; the notification costs R_I + 3 R_L + R_R + T_C(n-1) + (n-1) R_R at best, R_I + R_L +
    3 R_R + 2 T_C(n-1) + 2 (n-1) R_R at worst.

    Parameters
    ----------
    ranks:
        n_th, from 2 on.
    lines:
        N, from 1 to 128, or on with ``longer``.
    b:
        See :func:`phicoll.models.equations.contention.intercept` and :func:`crowd_copy`.
    """
    n = check_whole("ranks", ranks, 2, MAX_RANKS)
    rl, rr, ri = local(model), remote(model), shared_start(model)
    crowd = contention(model, n - 1, b=b)
    copy = crowd_copy(model, n - 1, lines, b, longer=longer)
    low = ri + 3 * rl + rr + crowd + (n - 1) * rr
    high = ri + rl + 3 * rr + 2 * crowd + 2 * (n - 1) * rr
    return Band(low + copy, high + copy)
