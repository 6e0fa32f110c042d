"""Programs that Hypothesis builds: sequences of collectives by threads, by processes, simulated and counted.

The core runs them and computes what has to come out without any algorithm; here the two are compared, and for the
simplest calls that computation itself is compared with NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from phicoll import _core

BUFFER = 6000
COUNTS = st.one_of(st.sampled_from([0, 1, 7, 8, 9, 63, 64, 65, 128, 500]), st.integers(0, 500))
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
]
OPERATIONS += ["reduce_scatter"]
#: With every operator exact on any bytes.
REDUCTIONS = [("int32", "sum"), ("uint8", "bxor"), ("int64", "max"), ("float64", "min"), ("int16", "prod")]
SIZES = {"int32": 4, "uint8": 1, "int64": 8, "float64": 8, "int16": 2, "float32": 4}


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
    count = draw(COUNTS)
    if operation in ("reduce", "allreduce", "scan", "reduce_scatter"):
        call["type"], call["op"] = draw(st.sampled_from(REDUCTIONS))
        count //= SIZES[call["type"]]
        call["exclusive"] = operation == "scan" and draw(st.booleans())
    call["count"] = count
    if operation in ("gather", "scatter", "allgather", "reduce_scatter") and draw(st.booleans()):
        call["counts"] = draw(st.lists(st.integers(0, count), min_size=ranks, max_size=ranks))
        call["gap"] = draw(st.integers(0, 9)) if operation != "reduce_scatter" else 0
    if draw(st.booleans()):
        call["delays"] = draw(st.lists(st.integers(0, 3000), min_size=ranks, max_size=ranks))
    return call


@st.composite
def programs(draw: st.DrawFn) -> dict[str, Any]:
    ranks = draw(st.integers(1, 6))
    return {
        "ranks": ranks,
        "seed": draw(st.integers(0, 2**32)),
        "buffers": [BUFFER, BUFFER + 1, BUFFER + 5],
        "calls": draw(st.lists(calls(ranks), min_size=1, max_size=6)),
    }


@pytest.mark.parametrize("how", ["threads", "processes", "simulated", "counted"])
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
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
