"""The candidates of tuning: for each operation, the algorithms and parameter values that were the best somewhere.

A grid has every combination of its values. Candidates with the same effect in a group are tried only once; those that
cannot perform the call are not tried.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from phicoll.registry import OPERATIONS, algorithms, check_operation, expand

__all__ = ["candidates"]

Grid = tuple[str, Mapping[str, Sequence[object]]]

DEGREES = (2, 3, 4, 8)
WAYS = (1, 2, 3, 4)
KB = 1 << 10

GRIDS: dict[str, tuple[Grid, ...]] = {
    "barrier": (
        ("dissemination", {"ways": WAYS, "layout": ("line-per-round", "packed")}),
        ("hybrid-dissemination", {"group": ("cpu", "core"), "ways": (1, 2, 3)}),
        ("sense-reversing", {}),
        ("combining-tree", {"arity": (4, 8)}),
        ("static-tournament", {"ways": (2, 4)}),
        ("dynamic-tournament", {"ways": (2, 4)}),
        ("counter-tree-notify", {"arity": (4, 8)}),
        ("centralized-bytes", {}),
        ("tree", {"degree": (3, 6)}),
        ("k-nomial-tree", {"degree": (2, 4)}),
        ("all-to-all", {}),
        ("signal-register", {}),
        ("simd-flags", {}),
        ("dissemination-acknowledged", {}),
        ("libomp-hyper", {"gather_bits": (2, 3)}),
    ),
    "broadcast": (
        ("ring", {"cell": (4 * KB, 16 * KB, 64 * KB, 256 * KB), "cells": (16, 32, 128)}),
        ("single-copy", {"piece": (64 * KB, 256 * KB)}),
        ("hierarchical", {"group": ("cpu", "l3", "nested")}),
        ("flat", {}),
        ("k-nomial", {"degree": (2, 3, 4)}),
        ("fibonacci", {}),
        ("model-tree", {}),
        ("local-store-tree", {"degree": (2, 3)}),
        ("piece-per-rank", {}),
        ("root-copies", {}),
        ("pipelined-slices", {"slice": (16 * KB, 64 * KB)}),
        ("flat-large", {}),
    ),
    "reduce": (
        ("mailbox", {"cell": (4 * KB, 8 * KB, 32 * KB), "cells": (16, 256)}),
        ("sliced", {"chunk": (16 * KB, 64 * KB, 256 * KB), "cells": (8, 32, 128)}),
        ("hierarchical", {"group": ("cpu", "nested")}),
        ("rabenseifner", {"least": (256, KB, 4 * KB), "buffer": (64 * KB, 256 * KB)}),
        ("send-receive-tree", {"degree": (2, 4)}),
        ("local-store-tree", {"degree": (2, 3)}),
        ("piece-per-rank", {}),
        ("model-tree", {}),
        ("tree-reconstructed", {}),
    ),
    "allreduce": (
        ("one-shot", {"cell": (2 * KB, 8 * KB, 64 * KB), "cells": (8, 32, 128)}),
        ("one-shot", {"cell": (512 * KB,), "cells": (1,)}),
        ("sliced", {"chunk": (16 * KB, 64 * KB, 256 * KB), "cells": (8, 32, 128)}),
        ("hierarchical", {"group": ("cpu", "nested"), "piece": (16 * KB, 64 * KB)}),
        ("recursive-doubling", {"transfer": ("load-store", "put-get")}),
        ("rabenseifner", {"transfer": ("load-store", "put-get")}),
        ("flat-tree", {}),
        ("all-reads-all", {}),
        ("reduce-broadcast", {}),
    ),
    "gather": (
        ("mailbox", {"cell": (4 * KB, 16 * KB, 64 * KB), "cells": (8, 128)}),
        ("single-copy", {"piece": (64 * KB, 256 * KB)}),
    ),
    "scatter": (
        ("mailbox", {"cell": (4 * KB, 16 * KB, 64 * KB), "cells": (8, 256)}),
        ("single-copy", {"piece": (64 * KB, 256 * KB)}),
    ),
    "allgather": (
        ("one-shot", {"cell": (4 * KB, 16 * KB, 64 * KB, 256 * KB, 1024 * KB), "cells": (2, 8, 32, 128)}),
        ("one-shot", {"cell": (512 * KB,), "cells": (1,)}),
        ("single-copy", {"piece": (64 * KB, 1024 * KB)}),
    ),
    "alltoall": (
        ("one-shot", {"cell": (4 * KB, 16 * KB, 64 * KB, 256 * KB, 1024 * KB), "cells": (2, 8, 32, 128)}),
        ("one-shot", {"cell": (512 * KB,), "cells": (1,)}),
        ("mailbox", {"cell": (4 * KB, 16 * KB)}),
        ("single-copy", {"piece": (64 * KB, 1024 * KB)}),
    ),
    "scan": (
        ("one-shot", {"cell": (4 * KB, 8 * KB, 32 * KB), "cells": (4, 32)}),
        ("linear", {"buffer": (4 * KB, 16 * KB)}),
        ("recursive-doubling", {"buffer": (16 * KB, 64 * KB)}),
    ),
    "reduce_scatter_block": (
        ("one-shot", {"part": (2 * KB, 8 * KB, 64 * KB)}),
        ("pairwise", {"transfer": ("load-store", "put-get")}),
        ("recursive-halving", {"buffer": (64 * KB,)}),
    ),
}
assert set(GRIDS) <= set(OPERATIONS)


def candidates(operation: str) -> list[str]:
    """The specs that tuning tries for an operation, with the parameters that matter.

    Raises
    ------
    ArgumentError
        There is no such operation.
    """
    operation = check_operation(operation)
    found: list[str] = []
    defaults: Sequence[Grid] = [(one.name, {}) for one in algorithms(operation) if one.name != "auto"]
    for name, grid in GRIDS.get(operation, defaults):
        for values in itertools.product(*grid.values()):
            found.append(
                ":".join([name, *(f"{key}={value}" for key, value in zip(grid, values, strict=True))])
            )
    expand(found, operation)  # all of them exist
    return found
