"""What algorithms and memory do: exact counts, critical paths on simulated machines, kernels, latencies."""

from phicoll.explaining.counting import Counts, count
from phicoll.explaining.explanation import Explanation, explain

__all__ = ["Counts", "Explanation", "count", "explain"]
