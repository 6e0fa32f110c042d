"""The regret of `auto` (benchmarks/regret.py), from made-up samples."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

import regret
import simulated_regret
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


def test_where_auto_is_ahead_there_is_no_regret():
    ahead = taken_of({"phicoll": [50.0] * 12, "phicoll:one-shot": [100.0] * 12})
    behind = taken_of(
        {"phicoll": [144.0] * 12, "phicoll:one-shot": [100.0] * 12}, Point("scan", 2, "loop", "fresh", 8)
    )
    ahead.ns |= behind.ns
    rows = regret.regrets(ahead)
    assert regret.mean(rows) == pytest.approx(1.2)
    assert [regret.word(row) for row in rows] == ["", "above"]
    assert "geometric mean 1.200 (at most 1.1: missed)" in regret.summary(rows)
    assert "1 of 2 points above 1.3" in regret.summary(rows)


def test_a_wrong_result_is_no_candidate_and_few_are_left():
    times = {"phicoll": [10.0], **{f"phicoll:x{i}": [float(i + 1)] for i in range(9)}}
    taken = taken_of(times)
    taken.wrong.add((POINT, "phicoll:x0"))
    assert regret.nearest(taken, POINT) == ["phicoll", "phicoll:x1", "phicoll:x2", "phicoll:x3", "phicoll:x4"]


def test_every_candidate_is_tried_once_where_it_has_another_effect():
    found = regret.specs(POINT, [0, 1])
    assert len(found) == len(set(found)) > 4
    assert all(spec.startswith("phicoll:") for spec in found)


MACHINE = simulated_regret.Setting("sandy-bridge-e5-2670", "balanced", "loop", calls=2, warm_up=1)


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
