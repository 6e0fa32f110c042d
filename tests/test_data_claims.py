"""Verdicts on the papers' statements about operations that move data, from runs that were made up."""

from __future__ import annotations

import math
import random
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "benchmarks"))

from as_results import as_results
from points import Point, Taken

from phicoll import _core
from phicoll.papers.claims import (
    AS_STATED,
    CLAIMS,
    NOT_MEASURED,
    OTHERWISE,
    UNRESOLVED,
    Finding,
    check_data,
    wanted,
)
from phicoll.papers.claims.data import STATED, check
from phicoll.registry import expand

RANKS = (2, 8)


def made_up(number: str, factors: dict[str, float], rounds: int = 40, wrong: str = "") -> Taken:
    """Results in which everything takes 1 us, times `factors` for algorithms whose spec contains the key."""
    draw = random.Random(2)
    taken = Taken()
    for turn in range(rounds):
        machine = math.exp(draw.gauss(0, 0.3))
        for operation, ranks, size, spec in wanted(RANKS, [number]):
            ns = 1000.0 * machine * math.exp(draw.gauss(0, 0.03))
            for part, factor in factors.items():
                if part in f"{operation} {spec} {size}":
                    ns *= factor
            taken.add(
                {
                    "point": asdict(Point(operation, ranks, "loop", "fresh", size)), "launch": 0, "round": turn,
                    "subject": f"phicoll:{spec}", "ns": ns, "verified": spec != wrong,
                    "effective": _core.effective(operation, spec, ranks),
                }
            )  # fmt: skip
    return taken


def verdict(number: str, factors: dict[str, float], **options: object) -> str:
    return finding(number, factors, **options).verdict


def finding(number: str, factors: dict[str, float], **options: object) -> Finding:
    results = as_results(made_up(number, factors, **options), "threads", 2)  # type: ignore[arg-type]
    return check(next(stated for stated in STATED if stated.number == number), results, "threads")


def test_what_is_wanted_can_be_had() -> None:
    for operation, _, size, spec in wanted(RANKS):
        assert expand(spec, operation), (operation, spec)
        assert size % 4 == 0
    assert {stated.number for stated in STATED} <= set(CLAIMS)
    assert wanted(RANKS, ["000-27"]) == [
        ("broadcast", 8, size, spec)
        for size in (64 << 10, 256 << 10, 1 << 20)
        for spec in ("double-buffered", "centralized")
    ]


@pytest.mark.parametrize(
    ("number", "holds", "fails"),
    [
        ("000-27", {"double-buffered": 0.6}, {"double-buffered": 1.4}),
        ("002-15", {"buffers=2": 0.6}, {"buffers=2": 1.4}),
        ("002-26", {"reduce ": 1.5}, {"reduce ": 0.6}),
        ("003-01", {"load-store": 0.6}, {"load-store": 1.5}),
        ("003-02", {"load-store": 0.6}, {"load-store": 1.5}),
        ("003-08", {"flat-tree": 3.0}, {"flat-tree": 0.5}),
        ("003-09", {"recursive-doubling": 0.5}, {"recursive-doubling": 2.0}),
        ("003-10", {"rabenseifner": 0.5}, {"rabenseifner": 2.0}),
        ("003-12", {"load-store": 0.6}, {"load-store": 1.5}),
        ("003-14", {"left_computes=yes": 0.6}, {"left_computes=yes": 1.5}),
    ],
)
def test_each_statement_on_order_can_hold_fail_and_stay_open(
    number: str, holds: dict[str, float], fails: dict[str, float]
) -> None:
    assert verdict(number, holds) == AS_STATED
    assert verdict(number, fails) == OTHERWISE
    assert verdict(number, {}) == UNRESOLVED
    assert verdict(number, holds, rounds=4) == UNRESOLVED  # however clear it looks


def test_a_small_difference_is_stated_as_one() -> None:
    assert verdict("003-03", {}) == AS_STATED
    assert verdict("003-03", {"load-store": 0.5}) == OTHERWISE
    assert verdict("003-03", {"load-store": 2.0}) == OTHERWISE


def test_all_comparisons_of_a_statement_have_to_come_out() -> None:
    found = finding("003-12", {"load-store": 0.6, "bruck:transfer=load-store": 1 / 0.36})
    assert found.verdict == OTHERWISE
    assert "bruck:transfer=load-store / bruck:transfer=put-get at 512 B: 1." in found.measured
    assert "more ranks than CPUs" in found.under


def test_what_was_not_measured_or_gave_wrong_results_cannot_be_checked() -> None:
    assert verdict("000-27", {}, wrong="centralized") == NOT_MEASURED
    assert {f.verdict for f in check_data(as_results(Taken(), "threads", 2))} == {NOT_MEASURED}
