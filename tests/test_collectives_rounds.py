"""What benchmarks/collectives.py makes of its rounds, on rounds that were made up."""

from __future__ import annotations

import math
import os
import random
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "benchmarks"))

import collectives
import rounds
from phicoll_peer import PeerError, PhicollPeer
from rounds import Point, Taken


def made_up(times: dict[str, float], point: Point, count: int = 40, noise: float = 0.05) -> Taken:
    draw = random.Random(1)
    taken = Taken()
    for turn in range(count):
        machine = math.exp(draw.gauss(0, 0.5))  # common to a round
        taken.add(
            {"point": asdict(point), "launch": 0, "round": turn, "probe": {"pingpong_ns": 50 * machine}}
        )
        for subject, ns in times.items():
            taken.add(
                {
                    "point": asdict(point), "launch": 0, "round": turn, "subject": subject, "verified": True,
                    "ns": ns * machine * math.exp(draw.gauss(0, noise)),
                }
            )  # fmt: skip
    return taken


POINT = Point("broadcast", 2, "loop", "fresh", 4096)


def test_a_clear_difference_is_resolved_within_rounds_and_a_small_one_is_not() -> None:
    (row,) = rounds.rows_of(made_up({"phicoll": 100, "a": 200, "b": 300}, POINT))
    assert row.opponent == "a"
    assert row.ratio is not None
    assert row.ratio.low < 0.5 < row.ratio.high
    assert row.verdict == "not slower"
    assert row.lines == pytest.approx(2, rel=0.1)
    (row,) = rounds.rows_of(made_up({"phicoll": 200, "a": 100}, POINT))
    assert row.verdict == "slower"
    (row,) = rounds.rows_of(made_up({"phicoll": 103, "a": 100}, POINT, count=12))
    assert row.verdict == "unresolved"


def test_the_best_of_several_is_chosen_on_other_rounds_than_it_is_compared_on() -> None:
    taken = made_up({"phicoll": 100, "a": 100, "b": 100}, POINT)
    odd, even = rounds.split(taken.ns[POINT]["phicoll"])
    assert not set(odd) & set(even)
    assert len(odd) + len(even) == 40
    for at in even:  # who is best on the even rounds only is not chosen
        taken.ns[POINT]["b"][at] = 1.0
    for at in odd:
        taken.ns[POINT]["b"][at] = 1e6
    assert rounds.rows_of(taken)[0].opponent == "a"


def test_a_wrong_result_counts_for_nothing() -> None:
    taken = made_up({"phicoll": 100, "a": 200, "b": 300}, POINT)
    taken.wrong.add((POINT, "a"))
    assert rounds.rows_of(taken)[0].opponent == "b"
    taken.wrong.add((POINT, "phicoll"))
    assert rounds.rows_of(taken) == []


def test_an_operation_is_held_against_its_composition() -> None:
    taken = made_up({"phicoll": 100}, Point("allreduce", 2, "loop", "fresh", 64))
    for operation in ("reduce", "broadcast"):
        more = made_up({"phicoll": 25}, Point(operation, 2, "loop", "fresh", 64))
        taken.ns |= more.ns
    rows = rounds.compositions(taken)
    (row,) = [r for r in rows if r.opponent == "reduce + broadcast"]
    assert row.ratio is not None
    assert row.ratio.low > 1.03
    assert row.verdict == "slower"
    assert next(r for r in rows if r.point.operation == "reduce").verdict == "not slower"


def test_the_grid_is_whole_only_in_full_and_large_points_are_known() -> None:
    coarse = collectives.grid((2, 4), ("broadcast", "scan"), [8, 4096], full=False)
    full = collectives.grid((2, 4), ("broadcast", "scan"), [8, 4096], full=True)
    assert set(coarse) != set(full)
    assert len(full) == 2 * 2 * 2 * 4
    assert Point("broadcast", 4, "loop", "fresh", 8) in coarse
    assert Point("alltoall", 8, "loop", "fresh", 16 << 20).total_bytes > rounds.MOST_BYTES
    assert Point("broadcast", 8, "loop", "fresh", 16 << 20).total_bytes < rounds.MOST_BYTES
    assert collectives.powers_of_two(8, 64) == [8, 16, 32, 64]


def test_tables_say_what_was_found() -> None:
    rows = rounds.rows_of(made_up({"phicoll": 100, "a": 250}, POINT))
    assert "not slower" in collectives.ratio_table(rows)
    assert "small met" in collectives.geomean_table(rows, crowded_from=2)
    hand = rounds.versus(made_up({"phicoll": 100, collectives.HAND: 50}, POINT), "phicoll", collectives.HAND)
    assert "2.0" in collectives.hand_table(hand)


def test_a_set_of_ranks_does_what_it_is_told_and_refuses_by_name() -> None:
    with PhicollPeer(2, [min(os.sched_getaffinity(0))]) as peer:  # one CPU: there is always one
        assert peer.probe()["switch_ns"] > 0
        for mode in ("loop", "window"):
            sample = peer.run("bcast", 4096, 8, mode, "fresh", seed=3)
            assert sample["verified"]
            assert sample["effective"]
        copy = peer.copy("broadcast", 1 << 17, "reused")
        assert copy["bytes"] == 1 << 17
        assert copy["heap_ns"] > 0
        with pytest.raises(PeerError, match="algorithm"):
            peer.run("bcast", 8, algorithm="no-such-thing")
        with pytest.raises(PeerError, match="operation"):
            peer.run("bcaste", 8)
        assert peer.run("allreduce", 8, 8, algorithm="one-shot")["verified"]
    with pytest.raises(PeerError, match="closed"):
        peer.run("bcast", 8)
