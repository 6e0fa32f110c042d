"""The lists of operations, algorithms (with their parameters) and simulated machines."""

from phicoll.registry.algorithms import (
    CALLS,
    OPERATIONS,
    REDUCTIONS,
    Algorithm,
    AlgorithmList,
    Parameter,
    algorithm_sets,
    algorithms,
    as_text,
    check_call,
    check_operation,
    expand,
    moves_data,
    short_spec,
)
from phicoll.registry.machines import Machine, load_machine, machines

__all__ = [
    "CALLS",
    "OPERATIONS",
    "REDUCTIONS",
    "Algorithm",
    "AlgorithmList",
    "Machine",
    "Parameter",
    "algorithm_sets",
    "algorithms",
    "as_text",
    "check_call",
    "check_operation",
    "expand",
    "load_machine",
    "machines",
    "moves_data",
    "short_spec",
]
