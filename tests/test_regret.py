"""The regret of `auto` (benchmarks/regret.py), from made-up samples."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

import regret
import simulated_regret
import verdicts
from points import Point, Taken

POINT = Point("allgather", 2, "loop", "fresh", 65536)


def taken_of(times: dict[str, list[float]], point: Point = POINT) -> Taken:
    taken = Taken()
    for subject, values in times.items():
        taken.ns.setdefault(point, {})[subject] = {(0, turn): ns for turn, ns in enumerate(values)}
    return taken


def test_the_best_is_chosen_on_odd_rounds_and_compared_on_even_ones():
    # Lucky in even rounds alone, so it is not chosen.
    lucky = [50.0, 300.0] * 6
    (row,) = regret.regrets(
        taken_of({"phicoll": [120.0] * 12, "phicoll:one-shot": [100.0] * 12, "phicoll:single-copy": lucky})
    )
    assert row.opponent == "one-shot"
    assert row.ratio is not None
    assert row.ratio.median == pytest.approx(1.2)
    assert "1.20" in regret.regret_table([row])


OTHER = Point("scan", 2, "loop", "fresh", 8)


def test_where_auto_is_ahead_there_is_no_regret():
    ahead = taken_of({"phicoll": [50.0] * 16, "phicoll:one-shot": [100.0] * 16})
    behind = taken_of({"phicoll": [144.0] * 16, "phicoll:one-shot": [100.0] * 16}, OTHER)
    ahead.ns |= behind.ns
    rows = regret.regrets(ahead)
    assert regret.mean(rows).median == pytest.approx(1.2)
    assert [verdicts.at_most(row.ratio, regret.POINT) for row in rows] == ["met", "missed"]
    found = regret.summary(rows, [POINT, OTHER])
    assert "2 of 2 points: geometric mean 1.20 [1.20, 1.20] (at most 1.1: missed)" in found
    assert "2 ranks: 1.20 [1.20, 1.20]; at most 1.3: 1 met, 1 missed." in found


def test_what_no_interval_resolves_is_not_called_above_the_target():
    # Medians of 1.32 and 1.11, whose intervals reach below the targets.
    (row,) = regret.regrets(
        taken_of(
            {
                "phicoll": [90.0, 90.0, 132.0, 132.0, 132.0, 132.0, 170.0, 170.0] * 2,
                "phicoll:one-shot": [100.0] * 16,
            }
        )
    )
    assert row.ratio.median > regret.POINT
    assert "1 not resolved" in regret.summary([row], [POINT])
    (row,) = regret.regrets(
        taken_of(
            {
                "phicoll": [80.0, 80.0, 111.0, 111.0, 111.0, 111.0, 140.0, 140.0] * 2,
                "phicoll:one-shot": [100.0] * 16,
            }
        )
    )
    assert "(at most 1.1: not resolved)" in regret.summary([row], [POINT])


def samples(times: dict[str, list[float]], point: Point = POINT, wrong: str = "") -> Taken:
    taken = Taken()
    for subject, values in times.items():
        for turn, ns in enumerate(values):
            record = {"point": asdict(point), "launch": 0, "round": turn, "subject": subject, "ns": ns}
            taken.add({**record, "verified": subject != wrong})
    return taken


def test_points_that_were_not_reached_are_listed_and_take_the_verdict_from_the_mean():
    both = {"phicoll": [100.0] * 16, "phicoll:a": [100.0] * 16, "phicoll:b": [50.0] * 16}
    cut, never, alone, bad = (Point("scan", 2, "loop", "fresh", size) for size in (8, 16, 32, 64))
    points = [POINT, cut, never, alone, bad]
    tried = {point: list(both) for point in points} | {alone: ["phicoll"]}
    first = samples({s: values[:1] for s, values in both.items()})
    # The best of this one would be the candidate that was not tried any more.
    for point, of in ((cut, ("phicoll", "phicoll:a")), (alone, ("phicoll",)), (bad, tuple(both))):
        part = samples({s: both[s][:1] for s in of}, point, "phicoll" if point == bad else "")
        first.ns |= part.ns
        first.asked |= part.asked
        first.wrong |= part.wrong
    first.ended = "the time was over"
    chosen = {point: regret.nearest(first, point) for point in (POINT, alone, bad)}
    taken = samples(both)
    passes = regret.Passes(points, tried, first, chosen, taken)
    text = regret.text_of(passes)
    assert (
        "1 of 5 points: geometric mean 2.00 [2.00, 2.00] (at most 1.1: not judged, as 4 points are missing)"
        in text
    )
    assert "It ended early: the time was over." in text
    assert "not reached in the time by all candidates\n\n- scan, 2 ranks, loop, fresh: 8, 16" in text
    assert "no candidate beside `auto`\n\n- scan, 2 ranks, loop, fresh: 32" in text
    assert "`auto`'s result was wrong\n\n- scan, 2 ranks, loop, fresh: 64" in text
    assert "| b " in text
    whole = regret.text_of(regret.Passes([POINT], tried, first, chosen, taken))
    assert "(at most 1.1: missed)" in whole
    # The rounds, too, may end before each of the few was measured.
    short = samples({s: both[s] for s in ("phicoll", "phicoll:a")})
    text = regret.text_of(regret.Passes([POINT], tried, first, chosen, short))
    assert "None of 1 points has a verdict" in text
    assert "not reached in the time by the rounds of the best few" in text


def test_a_candidate_whose_result_is_wrong_in_the_rounds_is_not_the_best():
    taken = samples(
        {"phicoll": [100.0] * 16, "phicoll:a": [90.0] * 16, "phicoll:b": [10.0] * 16}, wrong="phicoll:b"
    )
    (row,) = regret.regrets(taken)
    assert row.opponent == "a"


def test_a_mean_does_not_depend_on_which_points_a_round_lacks():
    slow = {"phicoll": [200.0] * 16, "phicoll:a": [100.0] * 16}
    taken = samples(slow)
    taken.ns |= samples({s: [100.0] * 16 for s in slow}, OTHER).ns
    for at in [(0, turn) for turn in range(16) if turn % 4]:
        for by in taken.ns[OTHER].values():
            by.pop(at, None)
    found = regret.mean(regret.regrets(taken))
    assert (found.low, found.median, found.high) == pytest.approx((2**0.5,) * 3)
    assert not found.enough  # one has two units


def test_a_wrong_result_is_no_candidate_and_few_are_left():
    times = {"phicoll": [10.0], **{f"phicoll:x{i}": [float(i + 1)] for i in range(9)}}
    taken = taken_of(times)
    taken.wrong.add((POINT, "phicoll:x0"))
    assert regret.nearest(taken, POINT) == ["phicoll", "phicoll:x1", "phicoll:x2", "phicoll:x3", "phicoll:x4"]


def test_every_candidate_is_tried_once_where_it_has_another_effect():
    found = regret.specs(POINT, [0, 1])
    assert len(found) == len(set(found)) > 4
    assert all(spec.startswith("phicoll:") for spec in found)


MACHINE = simulated_regret.Setting("sandy-bridge-e5-2670", "balanced", "window", calls=2, warm_up=1)


def test_simulated_times_are_kept_and_compared_without_simulating_again(tmp_path, monkeypatch):
    cache = tmp_path / "times.jsonl"
    arguments = (["scan"], [9], [8], MACHINE)
    text = simulated_regret.run(*arguments, seconds=60, jobs=1, cache=cache)
    assert "| scan      |" in text
    assert "1 points: geometric mean 1.0" in text  # auto takes one of those tried
    kept = cache.read_text()
    assert len(kept.splitlines()) == len(set(kept.splitlines())) >= 3
    monkeypatch.setattr(simulated_regret.phicoll, "measure", None)
    assert simulated_regret.run(*arguments, seconds=60, jobs=1, cache=cache) == text
    assert cache.read_text() == kept


def test_simulated_candidates_whose_pieces_hold_the_call_are_tried_once():
    point = Point("allgather", 9, "loop", "fresh", 8)
    by_name = [spec.split(":")[0] for spec in simulated_regret.tried(point, MACHINE)]
    assert by_name.count("one-shot") == 1
    large = Point("allgather", 9, "loop", "fresh", 1 << 20)
    assert len(simulated_regret.tried(large, MACHINE)) > len(by_name)


def test_simulated_copies_through_the_kernel_stand_apart():
    row = simulated_regret.Row(POINT, "one-shot", 200.0, "mailbox", 100.0, 2, by_kernel_ns=50.0)
    assert (row.ratio, row.whole_ratio) == (2.0, 4.0)
    assert simulated_regret.mean([2.0, 0.5]) == pytest.approx(2**0.5)
    assert "2.00 (4.00)" in simulated_regret.means([row])


def test_with_no_time_the_simulations_that_are_left_are_counted():
    text = simulated_regret.run(["scan"], [9], [8], MACHINE, seconds=0, jobs=1, cache=None)
    assert "No point" in text
