"""A benchmark of data collectives that notices regressions: `pytest benchmarks/ --phicoll-baseline old.jsonl`."""

from __future__ import annotations

import pytest

OPERATIONS = ["broadcast", "reduce", "allreduce", "allgather", "alltoall"]


@pytest.mark.parametrize("mode", ["threads", "processes"])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_auto_is_right_and_chosen(sweep, operation, mode):
    results = sweep(operation, algorithm="auto", sizes="8,4K,1M", mode=mode, ranks=2, launches=3, rounds=8)
    assert not results.unverified
    assert all(point["chosen"]["why"] for point in results.points)
