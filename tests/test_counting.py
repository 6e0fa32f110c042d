"""Counts from Python: exact, at the papers' scale, without the machine."""

from __future__ import annotations

import math

import pytest

import phicoll


@pytest.mark.parametrize("ranks", [1, 2, 3, 16, 17, 60])
@pytest.mark.parametrize("ways", [1, 2, 3])
def test_dissemination_takes_the_rounds_of_the_papers(ranks, ways):
    (row,) = phicoll.count(f"dissemination:ways={ways}", "61x4", ranks=ranks)
    rounds = 0
    while (ways + 1) ** rounds < ranks:
        rounds += 1
    assert row["rounds"] == rounds
    if ways == 1:
        assert row["notifications"] == ranks * math.ceil(math.log2(ranks))


def test_every_algorithm_counts_on_both_papers_machines():
    counts = phicoll.count()
    assert {row["ranks"] for row in counts} == {240, 244}
    assert {row["shape"] for row in counts} == {"60x4", "61x4"}
    assert len(counts) == 2 * len(phicoll.expand("all"))
    for row in counts:
        assert row["rounds"] >= 1
        assert row["longest_chain"] >= row["rounds"]
        assert row["lines_written"] >= 1
        assert row["notifications"] >= row["ranks"] - 1
    assert "dissemination" in str(counts)
    assert "<table>" in counts._repr_html_()
    assert len(counts.to_dataframe()) == len(counts)


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"machine": "60"}, "machine"),
        ({"machine": "600x4"}, "machine"),
        ({"placement": "close"}, "placement"),
        ({"ranks": 0}, "ranks"),
        ({"algorithm": "std-barrier"}, "algorithm"),
    ],
)
def test_bad_input_is_refused(options, argument):
    with pytest.raises(phicoll.ArgumentError) as caught:
        phicoll.count(**{"algorithm": "dissemination", **options})
    assert caught.value.argument == argument


def test_data_operations_count_bytes_and_steps():
    (row,) = phicoll.count("one-shot", "60x4", ranks=8, operation="allreduce", size="4K")
    assert row["size_bytes"] == 4096
    assert row["bytes_between"] == 4096 * 8 * 7  # every rank reads all other operands
    assert (row["steps"], row["combined"]) == (1, 1024 * 8 * 7)
    (row,) = phicoll.count("recursive-doubling", "60x4", ranks=16, operation="allreduce", size=4096)
    assert row["steps"] == 4
    counts = phicoll.count("all", "60x4", ranks=6, operation="broadcast", size=1000)
    assert len(counts) > 5
    assert all(row["bytes_between"] >= 5 * 1000 for row in counts)
    assert "bytes between" in str(counts)


def test_what_a_data_operation_does_not_take_is_refused():
    with pytest.raises(phicoll.ArgumentError, match="size"):
        phicoll.count("auto", ranks=4, operation="allreduce", size=6)
    with pytest.raises(phicoll.ArgumentError, match="size"):
        phicoll.count("dissemination", ranks=4, size=8)
    with pytest.raises(phicoll.ArgumentError, match="op"):
        phicoll.count("ring", ranks=4, operation="broadcast", op="sum")
