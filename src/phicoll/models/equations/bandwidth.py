"""Long messages between a pair of ranks. Source: ramos-hoefler-2013 appendix A, equation A.1."""

from __future__ import annotations

from phicoll.models.equations.checks import check_whole
from phicoll.models.equations.line_costs import Constants, memory, read
from phicoll.models.equations.multi_line import LINE_BYTES

__all__ = ["asymptotic_bandwidth", "bandwidth", "long_message", "long_message_line"]


def long_message_line(model: Constants, *, far: bool = False) -> float:
    """The time of each further line of a long message, 2 R_I F / P, ns (equation A.1)."""
    return 2 * memory(model, far=far) * model.value("bandwidth.F") / model.value("bandwidth.P")


def long_message(model: Constants, lines: int, *, far: bool = False) -> float:
    """T_N = (2 N / P R_I + R_{R,M}) F in ns, buffers in memory (equation A.1).

    Parameters
    ----------
    lines:
        N, at least 1. The paper found it accurate above 256 KiB.
    far:
        Across packages: memory and the modified line cost what they do there (section A.2). P and F differ too: they
        are the model's.
    """
    n = check_whole("lines", lines, 1)
    last = read(model, "far" if far else "remote", "M") * model.value("bandwidth.F")
    return n * long_message_line(model, far=far) + last


def bandwidth(model: Constants, lines: int, *, far: bool = False) -> float:
    """GB/s of one message of ``lines`` lines. A.1 prints MB/s, but its equation gives bytes per second."""
    return lines * LINE_BYTES / long_message(model, lines, far=far)


def asymptotic_bandwidth(model: Constants, *, far: bool = False) -> float:
    """GB/s of an endless message, 64 P / (2 R_I F): 0.755 on the Xeon Phi."""
    return LINE_BYTES / long_message_line(model, far=far)
