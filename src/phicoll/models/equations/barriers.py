"""Dissemination barriers. Source: ramos-hoefler-2013 section 4.2, equations 4.11, 4.12 and B.2."""

from __future__ import annotations

from phicoll.errors import ArgumentError
from phicoll.models.equations.band import Band
from phicoll.models.equations.checks import MAX_RANKS, check_choice, check_whole
from phicoll.models.equations.line_costs import Constants, local, remote
from phicoll.models.equations.steps import ceil_log

__all__ = ["ROUNDS", "acknowledged_barrier", "acknowledged_rounds", "dissemination_barrier"]

#: Readings of the number of rounds.
ROUNDS = ("corrected", "printed")


def check_ways(ways: int, ranks: int) -> int:
    return check_whole("ways", ways, 1, max(ranks - 1, 1), f" for {ranks} ranks")


def acknowledged_rounds(ranks: int, ways: int, rounds: str = "corrected") -> int:
    """r, the rounds of a barrier in which each rank signals ``ways`` others per round.

    Parameters
    ----------
    rounds:
        ``corrected``: ceil(log_{m+1} n), which the peers' distances i (m+1)^r need; ``printed``: ceil(log_m n), of
        Table B.2 (its row n = 2 has one round of one way).
    """
    n = check_whole("ranks", ranks, 1, MAX_RANKS)
    m = check_ways(ways, n)
    if check_choice("rounds", rounds, ROUNDS) == "corrected":
        return ceil_log(m + 1, n)
    if m == 1:
        if n > 2:
            raise ArgumentError("ways", "1", f"2 to {n - 1} where rounds are ceil(log_ways {n}), as printed")
        return n - 1
    return ceil_log(m, n)


def acknowledged_barrier(model: Constants, ranks: int, ways: int, rounds: str = "corrected") -> Band:
    """T_barr in ns of the barrier with acknowledged flags.

    Best: r (R_L + m R_R + R_R) (equations 4.11 and B.2). Worst: r (R_R + 4 m R_R + (2 m + 1) R_R) (equation 4.12).

    Parameters
    ----------
    ranks:
        n_th; the time of one rank is 0.
    ways:
        m, from 1 to ranks - 1.
    rounds:
        See :func:`acknowledged_rounds`.
    """
    r = acknowledged_rounds(ranks, ways, rounds)
    rl, rr = local(model), remote(model)
    return Band(r * (rl + ways * rr + rr), r * (rr + 4 * ways * rr + (2 * ways + 1) * rr))


def dissemination_barrier(model: Constants, ranks: int, ways: int = 1) -> Band:
    """The time in ns of a dissemination barrier without acknowledgements, one line per flag. Source: phicoll.

    Best, per round: 2 R_R. The stores of m flags fetch their lines from the waiters' caches at the same time (R_R); the
    last waiter reads its flag (R_R).
    Worst, per round: 3 m R_R. The stores fetch their lines one after another (R_R each); each wait reads its flag once
    too early and once in time (2 R_R).
    """
    n = check_whole("ranks", ranks, 1, MAX_RANKS)
    m = check_ways(ways, n)
    r, rr = ceil_log(m + 1, n), remote(model)
    return Band(2 * r * rr, 3 * m * r * rr)
