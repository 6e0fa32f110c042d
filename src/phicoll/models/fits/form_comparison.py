"""Alternative forms fitted to the same points, compared by information criteria and on unseen points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from phicoll.errors import FitError
from phicoll.models.fits.forms import Form, form_of
from phicoll.models.fits.least_squares import Fit, fit

__all__ = ["FormComparison", "compare_forms"]


@dataclass(frozen=True)
class FormComparison:
    """Forms fitted to the same points, the best by AICc first; ``refused`` says which could not be fitted."""

    fits: tuple[Fit, ...]
    refused: dict[str, str]

    @property
    def best(self) -> Fit:
        """The fit with the least AICc."""
        return self.fits[0]

    def rows(self) -> list[dict[str, float | str]]:
        """For each form: AICc, its difference to the best, Akaike's weight, BIC, and the relative held-out
        error."""
        differences = np.array(
            [one.aicc - self.best.aicc if math.isfinite(one.aicc) else math.inf for one in self.fits]
        )
        weights = np.exp(-differences / 2)
        weights = weights / weights.sum()
        return [
            {
                "form": one.form.name,
                "formula": one.form.formula,
                "aicc": one.aicc,
                "difference": float(difference),
                "weight": float(weight),
                "bic": one.bic,
                "held_out": held_out_or_nan(one),
            }
            for one, difference, weight in zip(self.fits, differences, weights, strict=True)
        ]

    def __str__(self) -> str:
        lines = [f"{'form':16} {'AICc less best':>14} {'weight':>7} {'BIC':>9} {'held-out error':>14}"]
        for row in self.rows():
            lines.append(
                f"{row['formula']:16} {row['difference']:14.2f} {row['weight']:7.3f} {row['bic']:9.2f} "
                f"{row['held_out']:14.2%}"
            )
        lines += [f"{name:16} {reason}" for name, reason in self.refused.items()]
        return "\n".join(lines)


def held_out_or_nan(one: Fit) -> float:
    try:
        return one.held_out().relative_rms
    except FitError:  # a point that nothing else stands in for
        return math.nan


def compare_forms(
    n: ArrayLike,
    ns: ArrayLike,
    forms: Sequence[str | Form] = ("constant", "contention", "contention-memory"),
    *,
    sigma: ArrayLike | None = None,
    absolute: bool = False,
) -> FormComparison:
    """Fit each form to the same points and order them by AICc. Arguments as for :func:`fit`.

    Raises
    ------
    ArgumentError
        As :func:`fit`.
    FitError
        No form could be fitted, or the points are too few to tell the forms apart.
    """
    fitted: list[Fit] = []
    refused: dict[str, str] = {}
    for form in map(form_of, forms):
        try:
            fitted.append(fit(form, n, ns, sigma=sigma, absolute=absolute))
        except FitError as error:
            refused[form.formula] = str(error)
    finite = [one for one in fitted if math.isfinite(one.aicc)]
    if not finite:
        raise FitError(
            "form", "; ".join(refused.values()) or f"{np.size(n)} points are too few to compare forms"
        )
    return FormComparison(tuple(sorted(fitted, key=lambda one: one.aicc)), refused)
