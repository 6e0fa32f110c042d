"""Exact counts of algorithms, critical paths on simulated machines, memory kernels and latencies."""

from phicoll.explaining.counting import Counts, count
from phicoll.explaining.explanation import Explanation, explain

__all__ = ["Counts", "Explanation", "count", "explain"]
