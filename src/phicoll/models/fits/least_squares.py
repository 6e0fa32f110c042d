"""Weighted least squares: fits of the forms of :mod:`phicoll.models.fits.forms`, with the errors of parameters.

A parameter that the data do not determine is refused by name.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from phicoll.errors import ArgumentError, FitError
from phicoll.foundations.extras import extra
from phicoll.foundations.html_table import html_table
from phicoll.foundations.markup import fill
from phicoll.models.fits.forms import Array, Form, form_of, listed, points_of, sigma_of, times_of

if TYPE_CHECKING:
    from phicoll.plots.canvas import Canvas

__all__ = ["Fit", "HeldOut", "fit"]

#: Singular values of the scaled design matrix below this share of the largest count as none.
RANK_TOLERANCE = 1e-9


@dataclass(frozen=True)
class HeldOut:
    """The errors of a fit on points that it was not fitted to."""

    n: Array
    errors: Array  #: measured less predicted, ns, one value per point
    relative: Array  #: the same divided by the measured time
    folds: int

    @property
    def rms(self) -> float:
        """Root mean square error, ns."""
        return float(np.sqrt(np.mean(self.errors**2)))

    @property
    def relative_rms(self) -> float:
        """Root mean square of the relative errors, 1."""
        return float(np.sqrt(np.mean(self.relative**2)))


@dataclass(frozen=True)
class Fit:
    """A form fitted to points. ``parameters`` and ``covariance`` are in the order of ``form.parameters``.

    ``sigma`` are the points' standard errors (all 1 if none were given). If they are ``absolute``, they give
    the size of the parameters' errors; otherwise they are weights, and the residuals give the size.
    """

    form: Form
    n: Array
    ns: Array
    sigma: Array
    absolute: bool
    parameters: Array
    covariance: Array = field(repr=False)

    @property
    def degrees_of_freedom(self) -> int:
        """Points less parameters."""
        return int(self.n.size - self.parameters.size)

    @cached_property
    def standard_errors(self) -> Array:
        """Standard errors of the parameters, in their units."""
        return np.sqrt(np.diag(self.covariance))

    def index(self, name: str) -> int:
        """The index of a parameter."""
        if name not in self.form.parameters:
            raise ArgumentError("name", repr(name), ", ".join(self.form.parameters))
        return self.form.parameters.index(name)

    def value(self, name: str) -> float:
        """A parameter by name."""
        return float(self.parameters[self.index(name)])

    def standard_error(self, name: str) -> float:
        """Its standard error, in its unit."""
        return float(self.standard_errors[self.index(name)])

    def interval(self, name: str, level: float = 0.95) -> tuple[float, float]:
        """Its confidence interval, by Student's t, or by the normal distribution if sigma is absolute."""
        half = self.quantile(level) * self.standard_error(name)
        return self.value(name) - half, self.value(name) + half

    def quantile(self, level: float) -> float:
        """Student's t for a two-sided interval of the level."""
        with extra("models"):
            from scipy import stats

        if not 0 < level < 1:
            raise ArgumentError("level", repr(level), "between 0 and 1")
        upper = (1 + level) / 2
        return float(stats.norm.ppf(upper) if self.absolute else stats.t.ppf(upper, self.degrees_of_freedom))

    def predict(self, n: ArrayLike) -> Array:
        """The fitted times at ``n``, ns, of its shape."""
        where = points_of(n, self.form)
        return np.asarray((self.form.columns(where) @ self.parameters).reshape(np.shape(n)))

    def band(self, n: ArrayLike, level: float = 0.95, *, new: bool = False) -> tuple[Array, Array]:
        """Lower and upper ends of the confidence band at each ``n``, ns: of the curve, or with ``new`` of
        another point (with the points' median sigma)."""
        where = points_of(n, self.form)
        columns = self.form.columns(where)
        variance = np.einsum("ij,jk,ik->i", columns, self.covariance, columns)
        if new:
            variance = variance + (float(np.median(self.sigma)) * (1 if self.absolute else self.scale)) ** 2
        half = self.quantile(level) * np.sqrt(variance)
        middle = columns @ self.parameters
        shape = np.shape(n)
        return (middle - half).reshape(shape), (middle + half).reshape(shape)

    @cached_property
    def fitted(self) -> Array:
        """The times at the fitted points, ns."""
        return np.asarray(self.form.columns(self.n) @ self.parameters)

    @cached_property
    def residuals(self) -> Array:
        """Measured less fitted, ns."""
        return self.ns - self.fitted

    @cached_property
    def relative_residuals(self) -> Array:
        """The same divided by the measured time; infinite where that is 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.residuals / self.ns)

    @cached_property
    def chi_square(self) -> float:
        """Sum of the squared residuals, each by its sigma."""
        return float(np.sum((self.residuals / self.sigma) ** 2))

    @property
    def scale(self) -> float:
        """Root of chi square over degrees of freedom: how much larger than sigma the residuals are."""
        return math.sqrt(self.chi_square / self.degrees_of_freedom)

    @property
    def r_squared(self) -> float:
        """Share of the weighted variance that the form explains; 0 for ``constant``."""
        weights = self.sigma**-2
        mean = float(np.sum(weights * self.ns) / np.sum(weights))
        return 1 - self.chi_square / float(np.sum(weights * (self.ns - mean) ** 2))

    @cached_property
    def minus_two_log_likelihood(self) -> float:
        """The likelihood of normal errors: with sigma as given if absolute, otherwise sigma times the scale
        that fits best."""
        logs = 2 * float(np.sum(np.log(self.sigma))) + self.n.size * math.log(2 * math.pi)
        if self.absolute:
            return logs + self.chi_square
        # A fit without any residual is as good as arithmetic goes, not infinitely good.
        least = float(np.sum((np.finfo(float).eps * np.abs(self.ns) / self.sigma) ** 2))
        mean = max(self.chi_square, least, np.finfo(float).tiny) / self.n.size
        return logs + self.n.size * (math.log(mean) + 1)

    @property
    def fitted_numbers(self) -> int:
        """Parameters, and the scale where it was fitted."""
        return int(self.parameters.size) + (0 if self.absolute else 1)

    @property
    def aicc(self) -> float:
        """Akaike's criterion with the correction for few points; infinite where these are too few to judge."""
        k, n = self.fitted_numbers, self.n.size
        if n - k - 1 <= 0:
            return math.inf
        return self.minus_two_log_likelihood + 2 * k + 2 * k * (k + 1) / (n - k - 1)

    @property
    def bic(self) -> float:
        """Schwarz's criterion."""
        return self.minus_two_log_likelihood + self.fitted_numbers * math.log(self.n.size)

    def held_out(self, folds: int | None = None, seed: int = 1) -> HeldOut:
        """Fit again without some of the values of n and predict those.

        Parameters
        ----------
        folds:
            The number of folds to which the values of n are dealt at random; ``None`` leaves out one value at
            a time.
        seed:
            The seed of that.

        Raises
        ------
        ArgumentError
            A number of folds that the points do not have.
        FitError
            Without a fold the others do not determine the parameters.
        """
        values = np.unique(self.n)
        count = values.size if folds is None else folds
        if not 2 <= count <= values.size:
            raise ArgumentError("folds", repr(count), f"2 to {values.size}, the distinct values of n")
        order = values if folds is None else np.random.default_rng(seed).permutation(values)
        errors = np.empty_like(self.ns)
        for part in range(count):
            out = np.isin(self.n, order[part::count])
            again = fit(
                self.form, self.n[~out], self.ns[~out], sigma=self.sigma[~out], absolute=self.absolute
            )
            errors[out] = self.ns[out] - again.predict(self.n[out])
        with np.errstate(divide="ignore", invalid="ignore"):
            return HeldOut(self.n, errors, np.asarray(errors / self.ns), count)

    def plot(self, title: str = "", xlabel: str = "n", level: float = 0.95) -> Canvas:
        """Draw data, the fit with its band, and residuals; a notebook displays the figure."""
        from phicoll.plots.fits import plot_fit

        return plot_fit(self, title, xlabel, level)

    def rows(self) -> list[tuple[str, float, float, float, float]]:
        """Name, value, standard error and 95 % interval of each parameter."""
        return [
            (name, self.value(name), self.standard_error(name), *self.interval(name))
            for name in self.form.parameters
        ]

    def __str__(self) -> str:
        named = ", ".join(f"{name} = {value:.4g} +- {error:.2g}" for name, value, error, *_ in self.rows())
        return f"{self.form.formula}: {named} ({self.n.size} points, R2 {self.r_squared:.4f})"

    def _repr_html_(self) -> str:
        rows = [
            [name, f"{value:.4g}", f"{error:.2g}", f"{low:.4g} to {high:.4g}"]
            for name, value, error, low, high in self.rows()
        ]
        heads = ["", "ns", "standard error", "95 % interval"]
        return fill("<p>{}, {} points</p>{}", self.form.formula, self.n.size, html_table(heads, rows))


def fit(
    form: str | Form,
    n: ArrayLike,
    ns: ArrayLike,
    *,
    sigma: ArrayLike | None = None,
    absolute: bool = False,
) -> Fit:
    """Weighted least squares.

    Parameters
    ----------
    form:
        A name of :data:`phicoll.models.fits.FORMS`, or a form of your own.
    n, ns:
        Points, one dimension and equally many: threads or lines, and times in ns.
    sigma:
        Standard error of each time, or one for all; ``None`` weights all equally.
    absolute:
        Whether ``sigma`` also gives the size of the errors. Otherwise only its ratios count, and the
        residuals give the size; choose that if the form is an approximation, whose residuals are not only
        measurement errors.

    Raises
    ------
    ArgumentError
        An unknown form; arrays that do not go together; times or sigma that are not finite, negative times, sigma
        that is not positive, n that the form cannot take.
    FitError
        The data cannot determine a parameter, which it names: too few points, times that are all the same, values of
        n that leave it open, or a standard error as large as the parameter and the data.
    """
    form = form_of(form)
    where = points_of(n, form)
    times = times_of(ns, where)
    errors = sigma_of(sigma, times)
    if absolute and sigma is None:
        raise ArgumentError("sigma", "None", "standard errors in ns where absolute=True")
    names = ", ".join(form.parameters)
    least = len(form.parameters) + 1
    if times.size < least:
        raise FitError(names, f"{times.size} points for {form.formula}; it takes {least} or more")
    if form.name != "constant" and np.all(where == where[0]):
        raise FitError(names, f"all {where.size} points are at n = {where[0]:g}")
    if np.all(times == times[0]):
        raise FitError(
            names, f"all {times.size} times are {times[0]:g} ns: constant data have no spread to judge by"
        )
    design = form.columns(where) / errors[:, None]
    sizes = np.linalg.norm(design, axis=0)
    if not np.all(sizes > 0):
        raise FitError(form.parameters[int(np.argmin(sizes))], "it has no effect at these values of n")
    left, singular, right = np.linalg.svd(design / sizes, full_matrices=False)
    open_ones = singular < RANK_TOLERANCE * singular[0]
    if open_ones.any():
        shares = np.sqrt(np.sum(right[open_ones] ** 2, axis=0))
        named = [name for name, share in zip(form.parameters, shares, strict=True) if share > 0.1]
        raise FitError(", ".join(named), f"the values of n ({listed(where)}) do not tell them apart")
    parameters = right.T @ ((left.T @ (times / errors)) / singular) / sizes
    inverse = (right.T / singular**2) @ right / np.outer(sizes, sizes)
    found = Fit(form, where, times, errors, absolute, parameters, inverse)
    if not absolute:
        found = Fit(form, where, times, errors, absolute, parameters, inverse * found.scale**2)
    check_determined(found)
    return found


def check_determined(found: Fit) -> None:
    """Refuse an undetermined parameter: its error is larger than itself, and at the n where it matters most
    that error is more than the measured time."""
    reach = np.max(
        np.abs(found.form.columns(found.n)) / np.maximum(found.ns, np.finfo(float).tiny)[:, None], axis=0
    )
    vague = (found.standard_errors > np.abs(found.parameters)) & (found.standard_errors * reach > 1)
    if vague.any():
        named = [row for row, open_one in zip(found.rows(), vague, strict=True) if open_one]
        raise FitError(
            ", ".join(row[0] for row in named),
            "; ".join(
                f"{name} = {value:.3g} with a standard error of {error:.3g}"
                for name, value, error, *_ in named
            )
            + f" in {found.form.formula} at n = {listed(found.n)}",
        )
