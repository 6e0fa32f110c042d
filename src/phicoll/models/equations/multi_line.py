"""Ping-pong of many lines, o N + q - p / N. Source: ramos-hoefler-2013 section 3.1, equation 3.1, Table 3.1."""

from __future__ import annotations

from phicoll.models.equations.checks import check_choice, check_whole
from phicoll.models.equations.line_costs import Constants

__all__ = ["CACHED", "LINE_BYTES", "MAX_LINES", "lines_of", "multi_line", "naive_multi_line"]

LINE_BYTES = 64
#: The model's range: four buffers of 8 KiB fill a first-level cache (section 3.1).
MAX_LINES = 128
#: The states in which chapters 3 and 4 put buffers: exclusive or invalid.
CACHED = ("E", "I")


def lines_of(size_bytes: int) -> int:
    """The number of lines of a message of ``size_bytes`` (at least 1)."""
    return -(-check_whole("size_bytes", size_bytes, 1) // LINE_BYTES)


def multi_line(model: Constants, lines: int, send: str = "E", receive: str = "E") -> float:
    """T_N = o N + q - p / N in ns: half a round trip of N lines (equation 3.1).

    Parameters
    ----------
    lines:
        N, from 1 to 128.
    send, receive:
        States of the send and receive buffers, E or I.
    """
    n = check_whole("lines", lines, 1, MAX_LINES, " (8 KiB, section 3.1)")
    pair = check_choice("send", send, CACHED) + check_choice("receive", receive, CACHED)
    o, q, p = (model.value(f"multi.{pair}.{letter}") for letter in "oqp")
    return o * n + q - p / n


def naive_multi_line(model: Constants, lines: int, state: str = "I") -> float:
    """2 N / P R + R_{R,M} in ns: fetching by P requests at a time, which section 3.1 rejects (off by up to 50 %).

    Parameters
    ----------
    state:
        ``I``: lines come from memory; ``E``: from another core's cache.
    """
    from phicoll.models.equations.line_costs import read

    n = check_whole("lines", lines, 1)
    check_choice("state", state, CACHED)
    return 2 * n / model.value("bandwidth.P") * read(model, "remote", state) + read(model, "remote", "M")
