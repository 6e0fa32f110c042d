"""Comparing subjects: medians with exact intervals, ratios within rounds, paper 001's summary.

docs/measuring.md states the rules; the statistics are functions of the C++ core.
"""

from __future__ import annotations

from phicoll.results.compare.regression import Regression, compare_with_baseline
from phicoll.results.compare.summary import Summary, summarise
from phicoll.results.compare.table import Comparison, Row, compare

__all__ = ["Comparison", "Regression", "Row", "Summary", "compare", "compare_with_baseline", "summarise"]
