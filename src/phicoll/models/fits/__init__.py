"""Fits of measured times: weighted least squares, comparison of forms, clusters of costs.

    >>> from phicoll.models import fits
    >>> found = fits.fit("contention", threads, ns, sigma=errors)      # c n + b
    >>> found.value("c"), found.standard_error("c"), found.interval("c")
    >>> found.band(range(1, 61)), found.held_out().rms                 # confidence band; error on unseen points

The forms (:data:`phicoll.models.fits.FORMS`) are those of ramos-hoefler-2013, chapter 3. All are linear in their
parameters, so a fit is exact and needs no start values. Times are in ns.
"""

from phicoll.models.fits.bandwidth_fit import BandwidthFit, fit_bandwidth
from phicoll.models.fits.clusters import (
    Cluster,
    Summary,
    WelchTest,
    cluster_costs,
    estimate,
    summary_of,
    welch_test,
)
from phicoll.models.fits.form_comparison import FormComparison, compare_forms
from phicoll.models.fits.forms import FORMS, Form
from phicoll.models.fits.least_squares import Fit, HeldOut, fit

__all__ = [
    "FORMS",
    "BandwidthFit",
    "Cluster",
    "Fit",
    "Form",
    "FormComparison",
    "HeldOut",
    "Summary",
    "WelchTest",
    "cluster_costs",
    "compare_forms",
    "estimate",
    "fit",
    "fit_bandwidth",
    "summary_of",
    "welch_test",
]
