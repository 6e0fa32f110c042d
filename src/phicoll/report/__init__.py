"""The demo and its report: one HTML file that a browser shows without a network."""

import phicoll.plots.canvas  # noqa: F401 (without Matplotlib it ends here, before it measures)
