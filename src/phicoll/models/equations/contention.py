"""Contention, T_C: many ranks copy the same line at once. Source: ramos-hoefler-2013 3.2, equations 3.2 and 3.3."""

from __future__ import annotations

from phicoll.errors import ArgumentError
from phicoll.models.equations.checks import MAX_RANKS, check_choice, check_whole
from phicoll.models.equations.line_costs import Constants, local, remote
from phicoll.models.equations.multi_line import CACHED

__all__ = ["INTERCEPTS", "contention", "intercept"]

#: Sources of b in c n + b.
INTERCEPTS = ("lines", "fitted")


def intercept(model: Constants, b: str = "lines") -> float:
    """b of equation 3.2 in ns, lines in state E.

    Parameters
    ----------
    b:
        ``lines``: R_L + R_R - c, so that T_C(1) = R_L + R_R as the equation says (188.2 ns on the Xeon Phi; the paper's
        Tables B.1 and B.3 come out with it); ``fitted``: that of Table 3.2 (320.5 ns).
    """
    if check_choice("b", b, INTERCEPTS) == "fitted":
        return model.value("contention.EE.b")
    return local(model) + remote(model) - model.value("contention.EE.c")


def contention(
    model: Constants, ranks: int, common: str = "E", private: str = "E", b: str = "fitted"
) -> float:
    """T_C(n) = c n + b - a / n in ns: n ranks copy one line into lines of their own (equations 3.2 and 3.3).

    Parameters
    ----------
    ranks:
        n, the ranks that copy; the owner of the common line is not counted.
    common, private:
        States of the common line and of the private ones, E or I.
    b:
        ``fitted``, or ``lines`` for E, E (see :func:`intercept`): then one rank needs no fitted constant.
    """
    n = check_whole("ranks", ranks, 1, MAX_RANKS)
    pair = check_choice("common", common, CACHED) + check_choice("private", private, CACHED)
    if check_choice("b", b, INTERCEPTS) == "lines":
        if pair != "EE":
            raise ArgumentError("b", "'lines'", "'fitted', where a line is in state I")
        if n == 1:
            return local(model) + remote(model)
        return local(model) + remote(model) + model.value("contention.EE.c") * (n - 1)
    c, fitted, a = (model.value(f"contention.{pair}.{letter}") for letter in "cba")
    return c * n + fitted - a / n
