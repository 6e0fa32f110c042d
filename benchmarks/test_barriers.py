"""Barriers of this machine, as tests.

    pytest benchmarks/ --phicoll-ranks 2,4 --phicoll-save out.jsonl --phicoll-baseline old.jsonl

A test fails when a subject did not keep the barrier's promise, or became slower than in the baseline beyond the
threshold and the noise. Without options each sweep runs with 2 ranks.
"""

from __future__ import annotations

import pytest

SETTINGS = {"launches": 4, "rounds": 15, "oversubscribe": True}
OURS = "auto,dissemination,dissemination:ways=3,static-tournament,combining-tree,simd-flags,sense-reversing"


@pytest.mark.parametrize("mode", ["threads", "processes"])
def test_our_barriers(sweep, mode):
    results = sweep("barrier", algorithm=f"{OURS},hand-one-line", mode=mode, **SETTINGS)
    assert not results.unverified
    assert len(results)


def test_references(sweep):
    results = sweep("barrier", algorithm="auto,references", mode="threads", **SETTINGS)
    assert not results.unverified
