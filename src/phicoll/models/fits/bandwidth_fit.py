"""Bandwidth of messages by equation (A.1) of ramos-hoefler-2013."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from phicoll.errors import ArgumentError, FitError
from phicoll.models.fits.forms import Array, Form
from phicoll.models.fits.least_squares import Fit, fit

__all__ = ["BandwidthFit", "fit_bandwidth"]


@dataclass(frozen=True)
class BandwidthFit:
    """Equation (A.1) of ramos-hoefler-2013: T_N = F (2 N R_I / P + R_R,M)."""

    fit: Fit  #: of the form ``F/P (2 N R_I) + F R_R,M``
    factor: float  #: F, 1
    factor_error: float
    in_flight: float  #: P, lines
    in_flight_error: float

    def gigabytes_a_second(self, n: ArrayLike) -> Array:
        """Bandwidth of messages of ``n`` lines of 64 bytes, GB/s (the paper prints MB/s, of bytes by ns)."""
        return 64 * np.asarray(n, dtype=float) / self.fit.predict(n)


def fit_bandwidth(
    n: ArrayLike,
    ns: ArrayLike,
    *,
    memory_ns: float,
    remote_ns: float,
    sigma: ArrayLike | None = None,
) -> BandwidthFit:
    """F and P of (A.1) from round trips of messages of ``n`` lines.

    Parameters
    ----------
    n, ns:
        Lines of a message, and half of a round trip in ns.
    memory_ns, remote_ns:
        R_I and R_R,M.
    sigma:
        Weights as for :func:`fit`; ``None`` weights relative errors equally, since sizes span decades.

    Raises
    ------
    ArgumentError, FitError
        As for :func:`fit`; also for ``bandwidth.F`` and ``bandwidth.P`` if the small messages do not show the
        start-up, so that F cannot be distinguished from zero (then only F/P is known).
    """
    for argument, value in (("memory_ns", memory_ns), ("remote_ns", remote_ns)):
        if not (math.isfinite(value) and value > 0):
            raise ArgumentError(argument, repr(value), "a time in ns, above 0")
    form = Form(
        "bandwidth",
        "F/P (2 N R_I) + F R_R,M",
        ("F/P", "F"),
        lambda lines: np.column_stack([2 * lines * memory_ns, np.full_like(lines, remote_ns)]),
        "ramos-hoefler-2013 (A.1)",
    )
    weights = np.asarray(ns, dtype=float) if sigma is None else sigma
    found = fit(form, n, ns, sigma=weights)
    share, factor = found.parameters
    factor_error = found.standard_error("F")
    if factor <= 2 * factor_error:
        raise FitError(
            "bandwidth.F, bandwidth.P", f"F is {factor:.3g} with a standard error of {factor_error:.2g}"
        )
    if share <= 2 * found.standard_error("F/P"):
        raise FitError(
            "bandwidth.P", f"F/P is {share:.3g} with a standard error of {found.standard_error('F/P'):.2g}"
        )
    in_flight = factor / share
    slope = np.array([-factor / share**2, 1 / share])  # of P by (F/P, F)
    return BandwidthFit(
        found, float(factor), factor_error, float(in_flight), float(np.sqrt(slope @ found.covariance @ slope))
    )
