"""The designs that cost least by a machine's model: levels of trees, ways of a barrier.

>>> from phicoll.models import optima
>>> optima.broadcast_tree(30).levels
(5, 5)
>>> optima.barrier_ways(60, rounds="printed").ways
4
"""

from phicoll.models.optima.design_costs import line_costs
from phicoll.models.optima.optimum import BarrierOptimum, BoundComparison, OptimaTable, TreeOptimum
from phicoll.models.optima.search import (
    BOUNDS,
    CONSTRAINTS,
    MOST_LEVELS,
    OPERATIONS,
    TIES,
    barrier_ways,
    broadcast_tree,
    compare_bounds,
    cost_of,
    reduction_tree,
    table,
)

__all__ = [
    "BOUNDS",
    "CONSTRAINTS",
    "MOST_LEVELS",
    "OPERATIONS",
    "TIES",
    "BarrierOptimum",
    "BoundComparison",
    "OptimaTable",
    "TreeOptimum",
    "barrier_ways",
    "broadcast_tree",
    "compare_bounds",
    "cost_of",
    "line_costs",
    "reduction_tree",
    "table",
]
