"""Functions of n to which latencies are fitted, and checks of the points. Source: ramos-hoefler-2013, chapter
3."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phicoll.errors import ArgumentError

__all__ = ["FORMS", "Array", "Form", "form_of", "listed", "numbers_of", "points_of", "sigma_of", "times_of"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Form:
    """A function of n that is linear in its parameters. ``columns(n)`` is the matrix (points, parameters)."""

    name: str
    formula: str
    parameters: tuple[str, ...]
    columns: Callable[[Array], Array]
    source: str
    divides: bool = False  #: whether it divides by n, so that n = 0 is none of its points

    def __str__(self) -> str:
        return self.formula


def with_reciprocal(n: Array) -> Array:
    return np.column_stack([n, np.ones_like(n), -1 / n])


FORMS: dict[str, Form] = {
    form.name: form
    for form in (
        Form("constant", "b", ("b",), lambda n: np.ones((n.size, 1)), "a cost that does not depend on n"),
        Form(
            "contention",
            "c n + b",
            ("c", "b"),
            lambda n: np.column_stack([n, np.ones_like(n)]),
            "ramos-hoefler-2013 (3.2): n threads copy a cached line",
        ),
        Form(
            "contention-memory",
            "c n + b - a/n",
            ("c", "b", "a"),
            with_reciprocal,
            "ramos-hoefler-2013 (3.3): n threads copy a line in memory",
            divides=True,
        ),
        Form(
            "multi-line",
            "o N + q - p/N",
            ("o", "q", "p"),
            with_reciprocal,
            "ramos-hoefler-2013 (3.1): a message of N lines",
            divides=True,
        ),
    )
}


def form_of(form: str | Form) -> Form:
    if isinstance(form, Form):
        return form
    if form not in FORMS:
        raise ArgumentError("form", repr(form), ", ".join(FORMS))
    return FORMS[form]


def numbers_of(argument: str, values: ArrayLike) -> Array:
    try:
        found = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise ArgumentError(argument, f"{values!r:.60}", "numbers") from error
    wrong = found[~np.isfinite(found)]
    if wrong.size:
        raise ArgumentError(
            argument, f"{wrong.size} values that are not finite, such as {wrong[0]}", "finite numbers"
        )
    return found


def points_of(n: ArrayLike, form: Form) -> Array:
    found = np.atleast_1d(numbers_of("n", n)).ravel()
    wrong = found[found <= 0] if form.divides else found[found < 0]
    if wrong.size:
        raise ArgumentError(
            "n", f"{wrong[0]:g}", f"{'above 0' if form.divides else '0 or more'} ({form.formula})"
        )
    return found


def times_of(ns: ArrayLike, where: Array) -> Array:
    times = numbers_of("ns", ns)
    if times.shape != where.shape:
        raise ArgumentError("ns", f"shape {times.shape}", f"a time for each n, shape {where.shape}")
    if (times < 0).any():
        raise ArgumentError("ns", f"{times[times < 0][0]:g}", "times, 0 or more")
    return times


def sigma_of(sigma: ArrayLike | None, times: Array) -> Array:
    if sigma is None:
        return np.ones_like(times)
    errors = numbers_of("sigma", sigma)
    if errors.ndim == 0:
        errors = np.full_like(times, float(errors))
    if errors.shape != times.shape:
        raise ArgumentError(
            "sigma", f"shape {errors.shape}", f"one, or one for each time, shape {times.shape}"
        )
    if not (errors > 0).all():
        raise ArgumentError("sigma", f"{errors[~(errors > 0)][0]:g}", "standard errors above 0")
    return errors


def listed(n: Array) -> str:
    values = np.unique(n)
    if values.size <= 4:
        return ", ".join(f"{value:g}" for value in values)
    return f"{values[0]:g} to {values[-1]:g}"
