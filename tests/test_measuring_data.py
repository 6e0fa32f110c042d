"""measure and sweep of operations that move data: real runs, short ones, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

import phicoll
from phicoll.cli import main
from phicoll.measuring import plan
from phicoll.registry import CALLS, OPERATIONS, REDUCTIONS

QUICK = {
    "launches": 1,
    "rounds": 2,
    "calls": 10,
    "window_calls": 4,
    "progress": False,
    "oversubscribe": True,
    "lock_wait_s": 120,
}
DATA = [operation for operation in OPERATIONS if operation != "barrier"]


@pytest.mark.parametrize("operation", DATA)
def test_every_operation_is_verified_and_measured(operation):
    results = phicoll.sweep(
        operation, algorithm="auto", sizes=[8, "4K"], ranks=2, mode=["threads", "processes"], **QUICK
    )
    assert results.reason == "complete"
    assert not results.unverified
    settings = {(s.operation, s.mode, s.size_bytes, s.buffers, s.definition) for s in results.subjects}
    assert len(settings) == 2 * 2 * 2
    for point in results.points:
        assert point["chosen"]["spec"]
        assert ("op" in point) == (operation in REDUCTIONS)
        assert point["moved_bytes"] > 0
    assert all(sample["value_ns"] is not None for sample in results.samples)


@pytest.mark.parametrize("type_", ["int32", "int64", "float32", "float64"])
def test_openmps_sums_are_verified_and_measured_in_the_same_rounds(type_):
    """One element and many, which GCC's code adds differently; with five threads LLVM's library does so in a tree."""
    results = phicoll.sweep(
        "reduce",
        algorithm="model-tree,libgomp,libomp",
        sizes="8,4K",
        type=type_,
        ranks=[2, 5],
        oversubscribe=True,
        launches=1,
        rounds=2,
        calls=10,
        budget_s="none",
        progress=False,
    )
    assert not results.unverified
    points = [p for p in results.points if p["algorithm"] in ("libgomp", "libomp")]
    assert {p["algorithm"] for p in points} >= {"libgomp"}
    assert all(p["verified"] for p in points)
    rounds = {name: {(s["launch"], s["round"]) for s in results.samples if s["point"] in ids}
              for name in ("model-tree", "libgomp")
              for ids in [{p["point"] for p in results.points if p["algorithm"] == name}]}  # fmt: skip
    assert rounds["libgomp"] == rounds["model-tree"]


@pytest.mark.parametrize("call", [name for name in CALLS if name not in OPERATIONS])
def test_every_call_with_a_name_of_its_own_is_verified_and_measured(call, tmp_path):
    path = tmp_path / "r.jsonl"
    options = {"algorithm": "all,references", "sizes": [8, "64K"], "ranks": 3, "save": path, "seed": 1}
    results = phicoll.sweep(call, **options, **QUICK | {"calls": 4, "rounds": 1})
    assert results.reason == "complete"
    assert not results.unverified
    assert {s.operation for s in results.subjects} == {call}
    assert {point["operation"] for point in results.points} == {call}
    for point in results.points:
        assert ("op" in point) == (CALLS[call] in REDUCTIONS)
        assert point["chosen"] is None or point["chosen"]["why"]
    algorithms = {s.algorithm for s in results.subjects}
    assert "auto" in algorithms
    # What needs blocks of one size, or was written by hand for the plain call, is left out.
    assert not algorithms & {"hand-pair", *(["single-copy"] if call in ("gatherv", "scatterv") else [])}
    assert str(results.compare())
    resumed = phicoll.sweep(call, resume=True, **options, **QUICK | {"calls": 4, "rounds": 1})
    assert len(resumed) == len(results)


@pytest.mark.parametrize("call", sorted(set(CALLS) - set(OPERATIONS)))
def test_calls_with_names_of_their_own_are_simulated_counted_and_explained(call):
    found = phicoll.sweep(
        call, algorithm="all", sizes="64", ranks=5, machine="xeon-phi-5110p", calls=2, progress=False
    )
    assert not found.unverified
    assert {point["operation"] for point in found.points} == {call}
    specs = {row["spec"] for row in phicoll.count(call, "all", "4x2", ranks=5, size="64")}
    assert {point["spec"] for point in found.points} <= specs | {"auto"}
    assert phicoll.explain(operation=call, ranks=5, size="64", calls=2).data["operation"] == call
    assert phicoll.algorithms(call) == phicoll.algorithms(CALLS[call])


def test_the_names_of_mpi_are_taken_everywhere():
    assert plan("Gatherv", algorithm="auto", ranks=1).arguments[1] == "gatherv"
    assert plan("bcast", algorithm="auto", ranks=1).arguments[1] == "broadcast"
    assert phicoll.algorithms("bcast") == phicoll.algorithms("broadcast")
    assert phicoll.count("Bcast", "auto", "4x2")[0]["operation"] == "broadcast"
    assert phicoll.explain(operation="bcast", ranks=2, calls=1).data["operation"] == "broadcast"
    assert phicoll.why("bcast", 2).operation == "broadcast"


def test_what_cannot_be_measured_is_refused():
    with pytest.raises(phicoll.ArgumentError, match="size: got 6 bytes"):
        plan("exscan", sizes=6)
    with pytest.raises(phicoll.ArgumentError, match="operation: got 'sendrecv'"):
        plan("sendrecv")


def test_sizes_and_buffers_are_settings_of_their_own(tmp_path):
    path = tmp_path / "r.jsonl"
    options = {"algorithm": "auto", "sizes": "8,64K", "buffers": "fresh,reused", "save": path, "seed": 1}
    results = phicoll.sweep("broadcast", ranks=2, **options, **QUICK)
    assert len(results.compare().groups()) == 2 * 2 * 2
    assert {row.subject.buffers for row in results.compare()} == {"fresh", "reused"}
    copies = [copy for record in results.rounds for copy in record.get("copies", [])]
    assert {copy["size_bytes"] for copy in copies} == {65536}
    assert all(copy["bytes"] == 65536 and copy["ns"] > 0 for copy in copies)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-3]))
    resumed = phicoll.sweep("broadcast", ranks=2, resume=True, **options, **QUICK)
    assert resumed.reason == "complete"
    assert len(resumed) >= len(results)
    for kind in ("sizes", "comparison"):
        assert results.plot(kind).axes
    assert results.plot(unit="GB/s").axes
    assert set(results.to_dataframe()["size_bytes"]) == {8, 65536}


def test_buffers_in_the_heap_are_measured_and_read_in_place(tmp_path):
    path = tmp_path / "r.jsonl"
    options = {
        "algorithm": "auto,single-copy",
        "sizes": "64,1M",
        "buffers": "fresh,heap",
        "save": path,
        "seed": 1,
    }
    results = phicoll.sweep("alltoall", ranks=3, **options, **QUICK | {"mode": "processes"})
    assert {row.subject.buffers for row in results.compare()} == {"fresh", "heap"}
    assert all(point["verified"] for point in results.points)
    copies = {copy["buffers"]: copy["ways"] for record in results.rounds for copy in record.get("copies", [])}
    assert copies["heap"]["heap-pull"] > 0
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-3]))
    resumed = phicoll.sweep("alltoall", ranks=3, resume=True, **options, **QUICK | {"mode": "processes"})
    assert resumed.reason == "complete"
    with pytest.raises(phicoll.ArgumentError, match="size: got 67108864 with buffers in the heap"):
        phicoll.sweep("alltoall", ranks=2, sizes="64M", buffers="heap", **QUICK)
    with pytest.raises(phicoll.ArgumentError, match="buffers: got 'heap'; allowed: fresh, reused"):
        phicoll.sweep("alltoall", machine="xeon-phi-5110p", ranks=2, sizes=64, buffers="heap")


@pytest.mark.parametrize(
    ("operation", "options", "argument"),
    [
        ("barrier", {"sizes": 8}, "sizes"),
        ("broadcast", {"sizes": "8Q"}, "sizes"),
        ("broadcast", {"sizes": []}, "sizes"),
        ("broadcast", {"sizes": -1}, "sizes"),
        ("broadcast", {"buffers": "warm"}, "buffers"),
        ("broadcast", {"op": "sum"}, "op"),
        ("allreduce", {"op": "sun"}, "operator"),
        ("allreduce", {"type": "float31"}, "type"),
        ("allreduce", {"type": "float32", "op": "band"}, "operator"),
        ("allreduce", {"sizes": 6}, "size"),
        ("broadcast", {"algorithm": "dissemination"}, "algorithm"),
        ("broadcast_all", {}, "operation"),
    ],
)
def test_bad_input_is_named(operation, options, argument):
    with pytest.raises(phicoll.ArgumentError) as caught:
        plan(operation, **options)
    assert caught.value.argument == argument


def test_the_command_line_measures_lists_and_compares_data(tmp_path, capsys):
    path = tmp_path / "r.jsonl"
    words = "run allreduce --algorithm auto --sizes 8 --type int32 --op max --launches 1 --rounds 2 --calls 5"
    words += " --set no-progress --set lock-wait=120"
    assert main([*words.split(), "--oversubscribe", "-o", str(path)]) == 0
    assert "int32 max" in capsys.readouterr().out
    assert main(["compare", str(path), "--json"]) == 0
    row = json.loads(capsys.readouterr().out)[0]
    assert (row["operation"], row["size_bytes"], row["buffers"], row["op"]) == (
        "allreduce",
        8,
        "fresh",
        "max",
    )
    for operation in OPERATIONS:
        assert main(["list", operation]) == 0
        assert "auto" in capsys.readouterr().out


def test_algorithms_of_every_operation_are_listed():
    for operation in OPERATIONS:
        assert "auto" in phicoll.algorithms(operation).names


def test_data_is_simulated_with_the_same_words():
    options = {"algorithm": "ring,binomial", "sizes": "64,4K", "ranks": 8, "machine": "xeon-phi-5110p"}
    results = phicoll.sweep("broadcast", calls=4, progress=False, **options)
    assert not results.unverified
    assert {(s.size_bytes, s.mode) for s in results.subjects} == {(64, "simulated"), (4096, "simulated")}
    assert results.plot("sizes").axes
    again = phicoll.sweep("broadcast", calls=4, progress=False, **options)
    assert [s["value_cycles"] for s in again.samples] == [s["value_cycles"] for s in results.samples]


@pytest.mark.parametrize(
    ("type_", "op", "words"),
    [
        (np.float64, phicoll.SUM, ["--type=float64", "--op=sum"]),
        (np.dtype("i4"), phicoll.MAX, ["--type=int32", "--op=max"]),
        (phicoll.DOUBLE, "sum", ["--type=float64", "--op=sum"]),
    ],
)
def test_types_and_operators_are_taken_as_objects_too(type_, op, words):
    planned = plan("allreduce", ranks=2, sizes=[64], type=type_, op=op, oversubscribe=True)
    said = " ".join(planned.arguments).replace("=", " ")
    assert all(word.replace("=", " ") in said for word in words)


@pytest.mark.parametrize(
    "bad", [{"type": np.dtype("V3")}, {"type": np.dtype("S4")}, {"op": phicoll.Op.Create(lambda a, b: a)}]
)
def test_types_and_operators_that_a_sweep_does_not_know_are_refused(bad):
    with pytest.raises(phicoll.ArgumentError, match=next(iter(bad))):
        plan("allreduce", ranks=2, sizes=[64], oversubscribe=True, **bad)
