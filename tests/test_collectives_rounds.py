"""The evaluation of rounds by benchmarks/collectives.py, on made-up rounds (its driver:
test_collectives_driver.py)."""

from __future__ import annotations

import math
import os
import random
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "benchmarks"))

import collectives
import report
import tables
import verdicts
from peer_errors import PeerError
from phicoll_peer import PhicollPeer
from points import MOST_BYTES, Point, Taken
from states import states


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
    (row,) = verdicts.rows_of(made_up({"phicoll": 100, "a": 200, "b": 300}, POINT))
    assert row.opponent == "a"
    assert row.ratio is not None
    assert row.ratio.low < 0.5 < row.ratio.high
    assert row.verdict == "not slower"
    assert row.lines is not None
    assert row.lines.median == pytest.approx(2, rel=0.1)
    (row,) = verdicts.rows_of(made_up({"phicoll": 200, "a": 100}, POINT))
    assert row.verdict == "slower"
    (row,) = verdicts.rows_of(made_up({"phicoll": 103, "a": 100}, POINT, count=12))
    assert row.verdict == "unresolved"


def in_launches(factors: Sequence[float], rounds: int, noise: float = 0.002) -> Taken:
    """phicoll takes as long as `a`, but for a factor of each launch."""
    draw = random.Random(2)
    taken = Taken()
    for launch, factor in enumerate(factors):
        for turn in range(rounds):
            for subject, ns in (("phicoll", 100 * factor), ("a", 100.0)):
                record = {"point": asdict(POINT), "launch": launch, "round": turn, "verified": True}
                taken.add({**record, "subject": subject, "ns": ns * math.exp(draw.gauss(0, noise))})
    return taken


def test_where_launches_differ_their_medians_are_the_units() -> None:
    # Two launches of many rounds: as rounds these were 32 values below 1, but they are two.
    (row,) = verdicts.rows_of(in_launches([0.8, 0.9], 32))
    assert row.ratio is not None
    assert (row.ratio.unit, row.ratio.units) == ("launch", 2)
    assert row.verdict == "not slower?"
    (row,) = verdicts.rows_of(in_launches([0.8, 0.9, 0.85, 0.7, 0.95, 0.75, 0.8, 0.9], 3))
    assert row.ratio is not None
    assert (row.ratio.unit, row.ratio.units) == ("launch", 8)
    assert row.verdict == "not slower"
    assert "a launch's median at 1 (median 8 of them)" in report.units_in_words([row])
    (row,) = verdicts.rows_of(in_launches([0.9] * 8, 4, noise=0.05))
    assert row.ratio is not None
    assert (row.ratio.unit, row.ratio.units) == ("round", 16)
    (row,) = verdicts.rows_of(in_launches([0.9], 16))
    assert "In one launch alone: 1" in report.units_in_words([row])


def test_every_launch_has_both_odd_and_even_rounds_and_neither_has_all_first_ones() -> None:
    odd, even = verdicts.split([(launch, turn) for launch in range(4) for turn in range(2)])
    assert {launch for launch, _ in odd} == {launch for launch, _ in even} == {0, 1, 2, 3}
    assert {turn for _, turn in odd} == {turn for _, turn in even} == {0, 1}
    odd, even = verdicts.split([(launch, 0) for launch in (0, 3, 4, 6)])
    assert (odd, even) == ([(3, 0), (6, 0)], [(0, 0), (4, 0)])


def test_a_difference_that_is_no_time_is_no_sample() -> None:
    taken = made_up({"phicoll": 100, "a": 200}, POINT)
    for turn in range(0, 40, 8):
        record = {"point": asdict(POINT), "launch": 1, "round": turn, "verified": True}
        taken.add({**record, "subject": "phicoll", "ns": -5.0 * turn})
        taken.add({**record, "subject": "a", "ns": 200.0})
    assert len(taken.ns[POINT]["phicoll"]) == 40
    (row,) = verdicts.rows_of(taken)
    assert row.ratio is not None
    assert 0.4 < row.ratio.low < 0.5 < row.ratio.high < 0.6


def test_the_best_of_several_is_chosen_on_other_rounds_than_it_is_compared_on() -> None:
    taken = made_up({"phicoll": 100, "a": 100, "b": 100}, POINT)
    odd, even = verdicts.split(taken.ns[POINT]["phicoll"])
    assert not set(odd) & set(even)
    assert len(odd) + len(even) == 40
    for at in even:  # an algorithm that is best only on even rounds is not chosen
        taken.ns[POINT]["b"][at] = 1.0
    for at in odd:
        taken.ns[POINT]["b"][at] = 1e6
    assert verdicts.rows_of(taken)[0].opponent == "a"


def test_too_few_rounds_are_said_so_and_counted_apart() -> None:
    (row,) = verdicts.rows_of(made_up({"phicoll": 100, "a": 200}, POINT, count=6))
    assert row.verdict == "not slower?"
    (row,) = verdicts.rows_of(made_up({"phicoll": 200, "a": 100}, POINT, count=6))
    assert row.verdict == "slower?"
    words = ["not slower", "not slower?", "unresolved", "slower?"]
    assert verdicts.tally(words) == {
        "not slower": "2 (1 of them ?)",
        "unresolved": "1",
        "slower": "1 (1 of them ?)",
    }
    assert report.in_words(words).startswith("4 points: 2 (1 of them ?) not slower, 1 unresolved")


def test_a_wrong_result_counts_for_nothing() -> None:
    taken = made_up({"phicoll": 100, "a": 200, "b": 300}, POINT)
    taken.wrong.add((POINT, "a"))
    assert verdicts.rows_of(taken)[0].opponent == "b"
    taken.wrong.add((POINT, "phicoll"))
    assert verdicts.rows_of(taken) == []


def test_an_operation_is_held_against_its_composition() -> None:
    taken = made_up({"phicoll": 100}, Point("allreduce", 2, "loop", "fresh", 64))
    for operation in ("reduce", "broadcast"):
        more = made_up({"phicoll": 25}, Point(operation, 2, "loop", "fresh", 64))
        taken.ns |= more.ns
    rows = verdicts.compositions(taken)
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
    assert Point("alltoall", 8, "loop", "fresh", 16 << 20).total_bytes > MOST_BYTES
    assert Point("broadcast", 8, "loop", "fresh", 16 << 20).total_bytes < MOST_BYTES
    assert collectives.powers_of_two(8, 64) == [8, 16, 32, 64]


def test_tables_say_what_was_found() -> None:
    taken = made_up({"phicoll": 100, "a": 250}, POINT)
    taken.dropped["b", "broadcast", 2] = (1024, "no answer")
    rows = verdicts.rows_of(taken)
    (text,) = tables.ratio_tables(rows).values()
    assert "not slower" in text
    assert "| b " in text  # took no part
    assert "from 1K on" in tables.out_table(taken)
    assert "small met" in tables.geomean_table(rows, crowded_from=2)
    by_hand = verdicts.versus(made_up({"phicoll": 100, report.HAND: 50}, POINT), "phicoll", report.HAND)
    assert "2.0" in tables.hand_table(by_hand)


def test_eight_bytes_are_held_against_the_hand_written_loop() -> None:
    def word(ns: float, definition: str) -> str:
        point = Point("allreduce", 2, definition, "fresh", 8)
        taken = made_up({"phicoll": ns, report.HAND: 100}, point)
        return tables.hand_table(verdicts.versus(taken, "phicoll", report.HAND))

    assert "at most 1.1: met" in word(103, "window")
    assert "at most 1.1: missed" in word(120, "window")
    assert "at most 1.5 lines: met" in word(60, "loop")  # a line is 50 ns
    assert "at most 1.5 lines: missed" in word(90, "loop")


@pytest.mark.parametrize(
    ("operation", "ns", "word"),
    [
        ("allreduce", 70, "met"),
        ("allreduce", 95, "below 1.2"),
        ("alltoall", 95, "met"),
        ("alltoall", 120, "below 1"),
    ],
)
def test_large_exchanges_are_to_equal_the_best_other_and_the_rest_to_beat_it(
    operation: str, ns: float, word: str
) -> None:
    taken = made_up({"phicoll": ns, "a": 100}, Point(operation, 2, "loop", "fresh", 1 << 20))
    assert f"large {word} " in tables.geomean_table(verdicts.rows_of(taken), crowded_from=2)


@pytest.mark.parametrize(
    ("ns", "speed", "word"),
    [
        ((50.0,), "2.00 [2.00, 2.00]", "met"), ((80.0,), "1.25 [1.25, 1.25]", "missed"),
        ((60.0, 70.0), "1.54 [1.43, 1.67]", "not resolved"),
    ],
)  # fmt: skip
def test_buffers_in_the_heap_are_held_against_private_ones(
    ns: Sequence[float], speed: str, word: str
) -> None:
    private, heap = (Point("allgather", 2, "loop", buffers, 1 << 20) for buffers in ("fresh", "heap"))
    taken = exact({"phicoll": (100.0,), "a": (80.0,)}, private)
    taken.ns |= exact({"phicoll": ns}, heap).ns
    (row,) = verdicts.heap_rows(taken)
    of_one, of_all = tables.heap_table([row]).splitlines()[2:]
    assert of_one.startswith("| allgather, 2 ranks, loop, heap |")
    for line in (of_one, of_all):
        assert f" {speed} | {word} " in line
    assert of_all.startswith("| allgather, all ")


def test_a_report_has_large_buffers_in_the_heap_that_the_others_take_no_part_in(tmp_path: Path) -> None:
    points = collectives.grid(
        (2, 4), ["alltoall", "gather"], [4096, 256 << 10, 16 << 20, 32 << 20], full=False
    )
    heap = [point for point in points if point.buffers == "heap"]
    assert [(point.operation, point.ranks, point.size) for point in heap] == [("alltoall", 2, 256 << 10)]
    settings = report.Settings(tmp_path, [0, 1], [], 1, 1, 1, 0.0, points, [], "processes")
    assert not set(heap) & set(settings.beside_others)
    assert set(points) == {*heap, *settings.beside_others}


@pytest.mark.parametrize(("ns", "word"), [(110, "met"), (150, "missed"), (125, "not resolved")])
def test_a_call_is_held_against_the_best_bare_loop(ns: float, word: str) -> None:
    point = Point("broadcast", 2, "loop", "fresh", 1 << 20)
    taken = made_up({"phicoll": ns, "a": 80}, point)
    best, other = f"{verdicts.LOOP}:store=string", f"{verdicts.LOOP}:store=avx2"
    for turn, (at, ours) in enumerate(taken.ns[point]["phicoll"].items()):
        ratio = 1.05 if turn // 2 % 2 else 0.95
        taken.ns[point].setdefault(best, {})[at] = ratio * 100 * ours / ns
        taken.ns[point].setdefault(other, {})[at] = 200 * ours / ns
    (row,) = verdicts.limits(taken)
    assert row.opponent == best.removeprefix("phicoll:")
    assert verdicts.at_limit(row) == word
    assert word in tables.limit_table([row])
    (text,) = tables.ratio_tables(verdicts.rows_of(taken), [row]).values()
    assert ("at the copy limit" in text) == (word == "met")
    assert verdicts.limits(made_up({"phicoll": ns}, POINT)) == []


LARGE = Point("broadcast", 2, "loop", "fresh", 1 << 20)
STRING, PAST = f"{verdicts.LOOP}:store=string", f"{verdicts.LOOP}:store=past-caches"


def exact(by: dict[str, Sequence[float]], point: Point, line: Sequence[float] = (50.0,)) -> Taken:
    """Each one's times, in turns."""
    taken = Taken()
    for turn in range(48):
        at = {"point": asdict(point), "launch": 0, "round": turn}
        taken.add({**at, "probe": {"pingpong_ns": line[turn % len(line)]}})
        for subject, ns in by.items():
            taken.add({**at, "subject": subject, "verified": True, "ns": ns[turn % len(ns)]})
    return taken


@pytest.mark.parametrize(
    ("loop", "word"),
    [((110.0,), "slower, as the loop"), ((90.0, 90.0, 106.0, 106.0, 106.0, 106.0), "slower"), ((100.0,), "slower")],
)  # fmt: skip
def test_the_loop_excuses_only_where_it_is_resolved_to_be_slower(loop: Sequence[float], word: str) -> None:
    taken = exact({"phicoll": (200.0,), "a": (100.0,), STRING: loop}, LARGE)
    (row,), at_limits = verdicts.rows_of(taken), verdicts.limits(taken)
    assert tables.verdict_of(row, verdicts.at_limit(at_limits[0])) == word
    assert f"at {int('loop' in word)} that loop is slower" in report.summary([row], at_limits)


def test_the_share_of_the_loop_is_of_rounds_that_did_not_choose_it() -> None:
    # Even rounds come first.
    taken = exact({"phicoll": (100.0,), "a": (100.0,), STRING: (90.0, 10.0)}, LARGE)
    (row,), (limit,) = verdicts.rows_of(taken), verdicts.limits(taken)
    assert row.share == limit.share == pytest.approx(0.9)
    assert row.loop_ratio is not None
    assert row.loop_ratio.median == pytest.approx(0.9)


def test_near_and_far_rounds_have_limits_of_their_own() -> None:
    # Two of eight rounds are far; phicoll is as fast as the loop that is the best near, but there another is.
    far = (False, False, False, False, False, False, True, True)
    taken = exact(
        {
            "phicoll": [300.0 if at else 100.0 for at in far],
            "a": (100.0,),
            STRING: [300.0 if at else 100.0 for at in far],
            PAST: [100.0 if at else 200.0 for at in far],
        },
        LARGE,
        [200.0 if at else 50.0 for at in far],
    )
    (row,) = verdicts.limits(taken)
    assert row.opponent == "bare-loop:store=string or bare-loop:store=past-caches"
    assert sorted({round(math.exp(v), 6) for v in row.logs.values()}) == [1.0, 3.0]
    near, away = states(taken)
    (limit,) = verdicts.limits(away.taken)
    assert (limit.opponent, verdicts.at_limit(limit)) == ("bare-loop:store=past-caches", "missed")
    (limit,) = verdicts.limits(near.taken)
    assert (limit.opponent, verdicts.at_limit(limit)) == ("bare-loop:store=string", "met")
    text = report.states_part([near, away], 2)
    assert text.count("Against 80% of the best bare loop, 1 points: 1 met.") == 1
    assert text.count("Against 80% of the best bare loop, 1 points: 1 missed.") == 1


def test_targets_of_lines_and_of_geometric_means_are_met_by_intervals() -> None:
    def words(ours: Sequence[float]) -> tuple[str, str]:
        small = Point("allreduce", 2, "loop", "fresh", 8)
        taken = exact({"phicoll": ours, report.HAND: (100.0,), "a": (200.0,)}, small)
        return (
            tables.hand_table(verdicts.versus(taken, "phicoll", report.HAND)),
            tables.geomean_table(verdicts.rows_of(taken), crowded_from=2),
        )

    hand, means = words((60.0,))
    assert "at most 1.5 lines: met " in hand
    assert "small met " in means
    # Medians of 1.4 lines and of 2.1 times the speed, which the intervals do not resolve.
    hand, means = words((70.0, 70.0, 90.0, 90.0, 70.0, 70.0, 90.0, 90.0, 50.0, 50.0))
    assert "at most 1.5 lines: not resolved" in hand
    hand, means = words((95.0, 95.0, 130.0, 130.0, 95.0, 95.0, 130.0, 130.0, 60.0, 60.0))
    assert "small not resolved" in means
    hand, means = words((120.0,))
    assert "at most 1.5 lines: missed" in hand
    assert "small below 2 " in means


def test_every_operation_has_a_composition_and_the_grid_gets_its_parts() -> None:
    assert {operation for operation, _ in verdicts.COMPOSITIONS} == {*tables.HEADLINE, *collectives.OTHERS}
    points = collectives.grid((2, 8), [*tables.HEADLINE, *collectives.OTHERS], [8, 4096], full=False)
    alone = collectives.companions(points, [4096], 2)
    assert not set(alone) & set(points)
    assert Point("reduce_scatter_block", 2, "loop", "fresh", 2048) in alone
    every = set(points) | set(alone)
    for point in points:
        if (point.size, point.ranks, point.definition, point.buffers) == (4096, 2, "loop", "fresh"):
            assert all(part in every for _, parts in verdicts.parts_of(point) for part in parts), point
    odd = verdicts.parts_of(Point("allreduce", 3, "loop", "fresh", 64))
    assert not any("1/p" in words for words, _ in odd)  # 64 bytes are not three blocks of whole elements


def test_a_scan_is_held_against_a_reduce_scatter() -> None:
    taken = made_up({"phicoll": 100}, Point("scan", 2, "loop", "fresh", 64))
    taken.ns |= made_up({"phicoll": 50}, Point("reduce_scatter_block", 2, "loop", "fresh", 64)).ns
    (row,) = verdicts.compositions(taken)
    assert (row.opponent, row.verdict) == ("reduce_scatter_block", "slower")


def test_a_set_of_ranks_does_what_it_is_told_and_refuses_by_name() -> None:
    with PhicollPeer(2, [min(os.sched_getaffinity(0))]) as peer:  # one CPU: there is always one
        assert peer.probe()["switch_ns"] > 0
        for mode in ("loop", "window"):
            sample = peer.run("bcast", 4096, 8, mode, "fresh", seed=3)
            assert sample["verified"]
            assert sample["effective"]
        loop = peer.run("allgather", 1 << 17, 8, algorithm="bare-loop:store=string:stamps=on")
        assert loop["verified"]
        assert min(*loop["store_ns"], *loop["load_ns"]) > 0
        with pytest.raises(PeerError, match="algorithm"):
            peer.run("bcast", 8, algorithm="no-such-thing")
        with pytest.raises(PeerError, match="OpenMP's threads are no ranks of this set"):
            peer.run("reduce", 8, algorithm="libgomp")
        with pytest.raises(PeerError, match="operation"):
            peer.run("bcaste", 8)
        assert peer.run("allreduce", 8, 8, algorithm="one-shot")["verified"]
    with pytest.raises(PeerError, match="closed"):
        peer.run("bcast", 8)
