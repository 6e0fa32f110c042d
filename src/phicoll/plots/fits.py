"""A fit as a figure: points with their errors, the curve with its band, and the residuals below."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from phicoll.plots.canvas import Canvas, new_figure
from phicoll.plots.style import PALE, SERIES, tidy

__all__ = ["Fitted", "plot_fit"]

Array = NDArray[np.float64]


class Fitted(Protocol):
    """The part of a :class:`phicoll.models.fits.Fit` that is drawn."""

    @property
    def n(self) -> Array: ...
    @property
    def ns(self) -> Array: ...
    @property
    def sigma(self) -> Array: ...
    @property
    def relative_residuals(self) -> Array: ...
    def band(self, n: Any, level: float) -> tuple[Array, Array]: ...
    def predict(self, n: Any) -> Array: ...


def plot_fit(fit: Fitted, title: str = "", xlabel: str = "n", level: float = 0.95) -> Canvas:
    """Draw the data, the fit with its confidence band, and the residuals in percent of the measured time.

    Parameters
    ----------
    fit:
        A fit of times in ns.
    title, xlabel:
        The title and the label of the axis; the legend has the formula and its parameters.
    level:
        The confidence of the band.
    """
    figure = new_figure(6.4, 5.2)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    at = np.geomspace(fit.n.min(), fit.n.max(), 200) if fit.n.min() > 0 else np.linspace(0, fit.n.max(), 200)
    low, high = fit.band(at, level)
    above.fill_between(at, low, high, color=SERIES[0], alpha=0.2, linewidth=0, label=f"{level:.0%} band")
    above.plot(at, fit.predict(at), color=SERIES[0], label=str(fit).split(" (")[0])
    errors = fit.sigma if not np.all(fit.sigma == 1) else None
    above.errorbar(
        fit.n, fit.ns, yerr=errors, fmt="o", color=SERIES[1], markersize=4, linewidth=1, label="data"
    )
    above.set_ylabel("ns")
    above.set_title(title)
    above.legend(frameon=False, fontsize="small")
    below.axhline(0, color=PALE, linewidth=1)
    below.plot(fit.n, 100 * fit.relative_residuals, "o", color=SERIES[1], markersize=4)
    below.set_ylabel("residual, %")
    below.set_xlabel(xlabel)
    if fit.n.min() > 0 and fit.n.max() >= 32 * fit.n.min():
        below.set_xscale("log", base=2)
        above.set_yscale("log")
    for ax in (above, below):
        tidy(ax)
    return figure
