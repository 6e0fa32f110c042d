"""Counts from Python: exact, at the papers' scale, without the machine."""

from __future__ import annotations

import json
import math
import subprocess

import pytest

import phicoll
import phicoll.bench


@pytest.mark.parametrize("ranks", [1, 2, 3, 16, 17, 60])
@pytest.mark.parametrize("ways", [1, 2, 3])
def test_dissemination_takes_the_rounds_of_the_papers(ranks, ways):
    (row,) = phicoll.count("barrier", f"dissemination:ways={ways}", "61x4", ranks=ranks)
    rounds = 0
    while (ways + 1) ** rounds < ranks:
        rounds += 1
    assert row["rounds"] == rounds
    if ways == 1:
        assert row["notifications"] == ranks * math.ceil(math.log2(ranks))


@pytest.mark.parametrize(("ranks", "size"), [(60, 8192), (5, 320), (5, 256), (60, 640), (30, 65536)])
def test_every_receiver_of_pipelined_slices_has_a_slice_while_there_are_as_many_lines(ranks, size):
    # Section 4.1.3 of paper 004: n - 1 slices; 128 lines among 59 receivers are slices of 3 and 2 lines.
    (row,) = phicoll.count("broadcast", "pipelined-slices", f"{ranks}x1", ranks=ranks, size=size)
    assert row["transfers"] == (ranks - 1) * min(size // 64, ranks - 1)


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
    assert "<table" in counts._repr_html_()
    assert len(counts.to_dataframe()) == len(counts)


def test_a_simulated_machine_s_contexts_and_packages_are_counted():
    (of_cell,) = phicoll.count("barrier", "dissemination", machine="cell-qs20", placement="compact")
    (uniform,) = phicoll.count("barrier", "dissemination", "16x1", placement="compact")
    assert (of_cell["machine"], of_cell["shape"], of_cell["ranks"]) == ("cell-qs20", "16x1", 16)
    # Eight ranks a chip: 1, 2, 4 and 8 of each chip's messages go to the other, of 16 a round.
    assert of_cell["edges_between_packages"] == 2 * (1 + 2 + 4 + 8)
    assert all(of_cell[of] == uniform[of] for of in ("rounds", "longest_chain", "notifications", "edges"))
    assert "edges between packages" in str(
        phicoll.count("broadcast", "paper-002", machine="cell-qs20", size=4096)
    )
    # What the machine cannot run is left out of a list, and alone refused.
    names = {row["algorithm"] for row in phicoll.count("barrier", "all", machine="cell-qs20")}
    assert "dissemination" in names
    assert "tournament-tree" not in names
    with pytest.raises(phicoll.ArgumentError, match="no coherent memory"):
        phicoll.count("barrier", "tournament-tree", machine="cell-qs20")


def test_both_programs_count_on_a_machine(capsys):
    from phicoll.cli import main

    words = ["count", "broadcast", "--algorithm", "paper-002", "--machine", "cell-qs20", "--json"]
    assert main(words) == 0
    found = json.loads(capsys.readouterr().out)
    done = subprocess.run([str(phicoll.bench.find()), *words], capture_output=True, text=True, check=True)
    other = json.loads(done.stdout)
    shown = ("spec", "machine", "shape", "ranks", "transfers")
    assert [[row[key] for key in shown] for row in found] == [[row[key] for key in shown] for row in other]


@pytest.mark.parametrize("where", [(), ("--machine", "cell-qs20")], ids=["shape", "machine"])
def test_a_refused_placement_prints_no_heading(where):
    words = [str(phicoll.bench.find()), "count", "barrier", *where, "--placement", "close"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert "placement: got 'close'" in done.stderr


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"shape": "60"}, "shape"),
        ({"shape": "600x4"}, "shape"),
        ({"placement": "close"}, "placement"),
        ({"machine": "cell-qs20", "shape": "16x1"}, "machine"),
        ({"machine": "cell-qs21"}, "machine"),
        ({"machine": "cell-qs20", "ranks": 17}, "ranks"),
        ({"ranks": 0}, "ranks"),
        ({"algorithm": "std-barrier"}, "algorithm"),
    ],
)
def test_bad_input_is_refused(options, argument):
    with pytest.raises(phicoll.ArgumentError) as caught:
        phicoll.count(**{"algorithm": "dissemination", **options})
    assert caught.value.argument == argument


def test_data_operations_count_bytes_and_steps():
    (row,) = phicoll.count("allreduce", "one-shot", "60x4", ranks=8, size="4K")
    assert row["size_bytes"] == 4096
    assert row["bytes_between"] == 4096 * 8 * 7  # every rank reads all other operands
    assert (row["steps"], row["combined"]) == (1, 1024 * 8 * 7)
    (row,) = phicoll.count("allreduce", "recursive-doubling", "60x4", ranks=16, size=4096)
    assert row["steps"] == 4
    counts = phicoll.count("broadcast", "all", "60x4", ranks=6, size=1000)
    assert len(counts) > 5
    assert all(row["bytes_between"] >= 5 * 1000 for row in counts)
    assert "bytes between" in str(counts)


SLOW = [
    pytest.param(operation, marks=pytest.mark.long) for operation in ("reduce_scatter_block", "allgather")
]


@pytest.mark.parametrize("operation", ["gather", "alltoall", *SLOW])
def test_a_default_size_that_does_not_fit_is_halved(operation):
    small = phicoll.count(operation, "auto", "60x4", ranks=16)
    large = phicoll.count(operation, "auto", "60x4")
    assert [row["size_bytes"] for row in small] == [4096]
    assert [row["size_bytes"] for row in large] == [512 if operation == "alltoall" else 1024]
    with pytest.raises(phicoll.ArgumentError, match="size: got 4096 with 240 ranks"):
        phicoll.count(operation, "auto", "60x4", size=4096)


def test_what_a_data_operation_does_not_take_is_refused():
    with pytest.raises(phicoll.ArgumentError, match="size"):
        phicoll.count("allreduce", "auto", ranks=4, size=6)
    with pytest.raises(phicoll.ArgumentError, match="size"):
        phicoll.count("barrier", "dissemination", ranks=4, size=8)
    with pytest.raises(phicoll.ArgumentError, match="op"):
        phicoll.count("broadcast", "ring", ranks=4, op="sum")


@pytest.mark.parametrize(
    ("operation", "size"),
    [("barrier", None), ("allreduce", "4K"), ("gather", "64"), ("exscan", "4K"), ("alltoallv", "64")],
)
def test_the_program_counts_the_same(operation, size):
    words = [str(phicoll.bench.find()), "count", operation, "--shape", "4x2", "--ranks", "7", "--json"]
    words += ["--sizes", size] if size else []
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120)
    found = json.loads(done.stdout)
    rows = phicoll.count(operation, "all", "4x2", ranks=7, size=size)
    assert [row["spec"] for row in found] == [row["spec"] for row in rows]
    for one, row in zip(found, rows, strict=True):
        assert {key: row[key] for key in one if key in row} == {key: one[key] for key in one if key in row}
        assert {"rounds", "notifications", "ranks"} <= set(one) & set(row)
        assert operation == "barrier" or {"steps", "transfers", "bytes_between"} <= set(one) & set(row)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("count", "operation: got 0 words"),
        ("count barrier --sizes 8", "sizes: got a value; allowed: none for a barrier"),
        ("count scan --sizes 10", "size: got 10 bytes; allowed: a multiple of 4"),
        ("count scatter --algorithm ring", "algorithm: got 'ring'"),
    ],
)
def test_the_program_refuses_what_cannot_be_counted(words, said):
    done = subprocess.run(
        [str(phicoll.bench.find()), *words.split()], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert said in done.stderr
