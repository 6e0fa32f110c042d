"""Programs that Hypothesis builds: sequences of collectives by threads, by processes, simulated and counted.

The core runs them and computes what has to come out without any algorithm; here the two are compared, and for the
simplest calls that computation itself is compared with NumPy. With PHICOLL_TEST_LONG=1 (make test-long) there are more of
them, and others every time.
"""

from __future__ import annotations

import functools
import os
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import phicoll
from phicoll import _core

LONG = os.environ.get("PHICOLL_TEST_LONG") == "1"
DRAWN = settings(
    max_examples=500 if LONG else 40,
    derandomize=not LONG,
    print_blob=LONG,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

MAX_RANKS = 9
#: Numbers of elements: the limits of cells, chunks and the rules of `auto`, and values between.
SMALL = st.one_of(st.sampled_from([0, 1, 7, 8, 9, 63, 64, 65, 128, 500]), st.integers(0, 500))
LARGE = st.one_of(
    st.sampled_from(
        [n + d for n in (1024, 4096, 8192, 12288, 16384, 24576, 32768, 65536) for d in (-1, 0, 1)]
    ),
    st.integers(500, 70_000),
)
OPERATIONS = [
    "barrier",
    "broadcast",
    "reduce",
    "allreduce",
    "gather",
    "scatter",
    "allgather",
    "alltoall",
    "scan",
    "reduce_scatter",
]
VECTORS = ("gather", "scatter", "allgather", "alltoall", "reduce_scatter")
#: Operators that are exact on any bytes, then those that are exact on the values of `fill`.
REDUCTIONS = [
    ("int32", "sum"),
    ("uint8", "bxor"),
    ("int64", "max"),
    ("float64", "min"),
    ("int16", "prod"),
    ("float32", "sum"),
    ("complex128", "prod"),
    ("double_int", "maxloc"),
]
INEXACT = REDUCTIONS[5:]
SIZES = {
    "int32": 4,
    "uint8": 1,
    "int64": 8,
    "float64": 8,
    "int16": 2,
    "float32": 4,
    "complex128": 16,
    "double_int": 16,
}


@functools.lru_cache
def registered(operation: str) -> tuple[phicoll.Algorithm, ...]:
    return tuple(a for a in phicoll.algorithms(operation) if a.origin != "reference" and a.name != "auto")


def values(parameter: Any, ranks: int) -> st.SearchStrategy[str]:
    """Small ones of a number, so that pieces and rings end within a call."""
    least, dots, most = parameter.range.partition("..")
    if not dots:
        choices = [choice.strip() for choice in parameter.range.split(",")]
        if parameter.name == "wait" and ranks > 2:
            # On a shared CPU one that never yields takes a time slice for each step: seconds for a call in small pieces.
            choices = ["yield", "adaptive"]
        return st.sampled_from(choices)
    return st.integers(int(least), min(int(most), int(least) * 4 + 8)).map(str)


@st.composite
def algorithms(draw: st.DrawFn, ranks: int, call: dict[str, Any]) -> str:
    """`auto`, or one of those that can serve the call, now and then with parameters of its own."""
    fit = [
        a
        for a in registered(call["operation"])
        if not _core.program_call_unfit(ranks, {**call, "algorithm": a.name})
    ]
    chosen = draw(st.sampled_from([None, *fit]))
    if chosen is None:
        return "auto"
    if not chosen.parameters or draw(st.booleans()):
        return chosen.name
    changed = draw(
        st.lists(st.sampled_from(chosen.parameters), min_size=1, max_size=3, unique_by=lambda p: p.name)
    )
    text = ":".join([chosen.name, *(f"{p.name}={draw(values(p, ranks))}" for p in changed)])
    # Some refuse pairings of their parameters.
    return chosen.name if _core.program_call_unfit(ranks, {**call, "algorithm": text}) else text


@st.composite
def calls(draw: st.DrawFn, ranks: int) -> dict[str, Any]:
    operation = draw(st.sampled_from(OPERATIONS))
    call: dict[str, Any] = {"operation": operation, "root": draw(st.integers(0, ranks - 1))}
    if operation == "barrier":
        return call
    call["send"], call["receive"] = draw(st.permutations([0, 1, 2]))[:2]
    call["send_at"], call["receive_at"] = draw(st.integers(0, 70)), draw(st.integers(0, 70))
    call["in_place"] = operation != "broadcast" and draw(st.booleans())
    call["fill"] = draw(st.integers(0, 2))
    count = draw(LARGE if draw(st.integers(0, 9)) == 9 else SMALL)
    if operation in ("reduce", "allreduce", "scan", "reduce_scatter"):
        pairing = draw(st.sampled_from(REDUCTIONS))
        call["type"], call["op"] = pairing
        if pairing in INEXACT:
            call["fill"] += 1
        call["exclusive"] = operation == "scan" and draw(st.booleans())
    call["count"] = count
    if operation in VECTORS and draw(st.booleans()):
        counts = st.lists(st.integers(0, count), min_size=ranks, max_size=ranks)
        call["counts"] = draw(counts)
        if operation == "alltoall":
            sent = call["counts"]
            got = sent if call["in_place"] else draw(counts)
            call["counts"] = [min(s, g) for s in sent for g in got]
        call["gap"] = draw(st.integers(0, 9)) if operation != "reduce_scatter" else 0
    if draw(st.booleans()):
        call["delays"] = draw(st.lists(st.integers(0, 3000), min_size=ranks, max_size=ranks))
    call["algorithm"] = draw(algorithms(ranks, call))
    return call


def room(ranks: int, call: dict[str, Any]) -> int:
    """Bytes of a buffer in which the call's blocks lie, wherever it begins."""
    if call["operation"] == "barrier":
        return 0
    blocks = ranks if call["operation"] in VECTORS else 1
    return blocks * (call["count"] * SIZES.get(call.get("type", ""), 1) + call.get("gap", 0)) + 70


@st.composite
def programs(draw: st.DrawFn) -> dict[str, Any]:
    ranks = draw(st.integers(1, MAX_RANKS))
    made = draw(st.lists(calls(ranks), min_size=1, max_size=6))
    size = max(room(ranks, call) for call in made)
    return {
        "ranks": ranks,
        "seed": draw(st.integers(0, 2**32)),
        "buffers": [size, size + 1, size + 5],
        "calls": made,
    }


@pytest.mark.parametrize("how", ["threads", "processes", "simulated", "counted"])
@DRAWN
@given(program=programs())
def test_sequences_of_collectives_give_what_they_should(how: str, program: dict[str, Any]) -> None:
    found, expected = _core.run_program(how, **program)
    assert found == expected


@settings(max_examples=20, deadline=None, derandomize=True)
@given(
    ranks=st.integers(1, 5),
    count=st.integers(0, 40),
    operation=st.sampled_from(["allreduce", "scan", "allgather", "alltoall", "reduce_scatter"]),
    seed=st.integers(0, 1000),
)
def test_what_is_expected_is_what_numpy_computes(ranks: int, count: int, operation: str, seed: int) -> None:
    call = {"operation": operation, "count": count, "type": "int32", "op": "sum"}
    buffers = [count * 4 * ranks, count * 4 * ranks]
    before, _ = _core.run_program("counted", ranks, seed, buffers, [])
    found, expected = _core.run_program("counted", ranks, seed, buffers, [call])
    assert found == expected
    bytes_sent = np.array([np.frombuffer(rank[0], np.uint8) for rank in before])
    elements = bytes_sent.view(np.int32) if count else np.zeros((ranks, 0), np.int32)
    for rank in range(ranks):
        received = np.frombuffer(found[rank][1], np.uint8)
        with np.errstate(over="ignore"):
            if operation == "allreduce":
                right = elements[:, :count].sum(0, dtype=np.int32).view(np.uint8)
            elif operation == "scan":
                right = elements[: rank + 1, :count].sum(0, dtype=np.int32).view(np.uint8)
            elif operation == "reduce_scatter":
                right = elements[:, rank * count : (rank + 1) * count].sum(0, dtype=np.int32).view(np.uint8)
            elif operation == "allgather":
                right = bytes_sent[:, :count].ravel()
            else:
                right = bytes_sent[:, rank * count : (rank + 1) * count].ravel()
        assert (received[: len(right)] == right).all()


def test_bad_programs_are_refused() -> None:
    from phicoll.errors import ArgumentError

    call = {"operation": "broadcast", "count": 4, "receive": 0}
    with pytest.raises(ArgumentError, match="how"):
        _core.run_program("loudly", 2, 1, [8], [call])
    with pytest.raises(ArgumentError, match=r"calls\[0\].receive"):
        _core.run_program("threads", 2, 1, [2], [call])
    with pytest.raises(ArgumentError, match="root"):
        _core.run_program("threads", 2, 1, [8], [{**call, "root": 2}])
