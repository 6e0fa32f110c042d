"""The demo and its report: one HTML file that a browser shows without a network."""

import phicoll.plots.live  # noqa: F401 (without Matplotlib or plotly it ends here, before it measures)
