"""Ping-pong of one line: three reads and an overhead. Source: ramos-hoefler-2013 chapter 2, equation 2.1.

:mod:`phicoll.models.fits.clusters` has the chapter's statistics (2.2 to 2.5): the deviation of such a sum, and Welch's
test for the overhead.
"""

from __future__ import annotations

from phicoll.errors import ArgumentError
from phicoll.models.constants.constant import is_number
from phicoll.models.equations.checks import check_choice
from phicoll.models.equations.line_costs import PLACES, STATES, Constants, read

__all__ = ["single_line", "three_reads"]


def three_reads(model: Constants, send: str = "E", receive: str = "E", place: str = "remote") -> float:
    """Half a round trip of one line without overhead, ns: R_{L,Ss} + R_{place,Sr} + R_{place,M} (equation 2.1).

    Parameters
    ----------
    send, receive:
        States of the send and of the receive lines. A receive line in state I is refused: its receiver polls it
        (chapter 2).
    place:
        Of the other rank: ``local`` (the same core), ``remote`` or ``far``.
    """
    check_choice("send", send, STATES)
    check_choice("receive", receive, STATES[:-1])
    check_choice("place", place, PLACES)
    return read(model, "local", send) + read(model, place, receive) + read(model, place, "M")


def single_line(
    model: Constants,
    send: str = "E",
    receive: str = "E",
    place: str = "remote",
    overhead: float | None = None,
) -> float:
    """T_1, half a round trip of one line with its overhead O, ns (equations 2.1, 2.6 to 2.20).

    Parameters
    ----------
    overhead:
        O in ns; by default the model's ``overhead`` (``overhead.same-core`` where place is ``local``), which is that of
        cached lines. For another package the model has none: give it.
    """
    base = three_reads(model, send, receive, place)
    if overhead is None:
        if place == "far":
            raise ArgumentError("overhead", "none", "a number in ns: models have none for another package")
        overhead = model.value("overhead.same-core" if place == "local" else "overhead")
    elif not is_number(overhead):
        raise ArgumentError("overhead", repr(overhead), "a finite number")
    return base + overhead
