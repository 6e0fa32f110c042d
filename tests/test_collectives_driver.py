"""The driver of benchmarks/rounds.py: bounds, excluded systems, early ends. Systems and clock are made up."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "benchmarks"))

import bare_loops
import collectives
import report
import rounds
import verdicts
from peer_errors import PeerError, PeerTimeoutError
from phicoll_peer import OPERATIONS
from points import Point, Taken
from states import states
from verdicts import rows_of

NAMES = ("quick", "slow")


class Clock:
    """Time that passes only where something made up takes some."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class MadeUpPeer:
    """Takes `seconds(operation, size)` for a sample, or as long as it may."""

    def __init__(self, made: MadeUpSystems, name: str, ranks: int) -> None:
        self.made, self.name, self.ranks = made, name, ranks
        self.failed: str | None = None
        self.facts = {"library": f"{name} 1.0", "ranks": ranks}

    def run(self, operation: str, size: int, *args: Any, timeout_s: float, **options: Any) -> dict[str, Any]:
        assert self.failed is None, "a peer that failed is not asked again"
        operation = OPERATIONS.get(operation, operation)
        self.made.asked.append((self.name, operation, size))
        self.made.calls.append((self.name, size, args[0], options["cap_ms"]))
        takes = self.made.seconds(self.name, operation, size)
        if isinstance(takes, Exception):
            raise takes
        self.made.clock.now += min(takes, timeout_s)
        if takes > timeout_s:
            self.failed = "no answer"
            raise PeerTimeoutError(f"{self.name}: no answer within {timeout_s:g} s")
        return {
            "ns": takes * 1e9,
            "calls": min(args[0], self.made.most),
            "capped": self.made.most < args[0],
            "verified": True,
            "effective": "made-up",
        }

    def probe(self, seed: int, timeout_s: float) -> dict[str, Any]:
        return {"pingpong_ns": 50.0}

    def close(self) -> None:
        self.made.closed += 1


class MadeUpSystems:
    def __init__(self, slow: dict[str, float | Exception] | None = None, start_s: float = 0.1) -> None:
        self.mpis: Sequence[str] = NAMES
        self.type = ""
        self.host = "the defaults"
        self.clock = Clock()
        self.asked: list[tuple[str, str, int]] = []
        self.calls: list[tuple[str, int, int, float]] = []
        self.most = 4
        self.slow, self.start_s = slow or {}, start_s
        self.started, self.closed = 0, 0

    def seconds(self, name: str, operation: str, size: int) -> float | Exception:
        found = self.slow.get(f"{name} {operation} {size}", self.slow.get(name, 0.01))
        return found

    def numbers(self) -> str:
        return self.host

    def start_phicoll(self, ranks: int, start_s: float) -> MadeUpPeer:
        return self.start_mpi("phicoll", ranks, start_s)

    def start_mpi(self, name: str, ranks: int, start_s: float) -> MadeUpPeer:
        self.started += 1
        self.clock.now += self.start_s
        return MadeUpPeer(self, name, ranks)


def run(systems: MadeUpSystems, points: Sequence[Point], **options: Any) -> Taken:
    options = {"rounds": 6, "launches": 1, "sample_s": 5.0, "clock": systems.clock} | options
    return rounds.take(points, lambda point: ["phicoll", *NAMES], systems=systems, **options)


def points_of(
    operation: str = "broadcast", sizes: Sequence[int] = (8, 64, 512, 4096), ranks: int = 2
) -> list[Point]:
    return [Point(operation, ranks, "loop", "fresh", size) for size in sizes]


def test_who_does_not_answer_is_out_from_that_size_on_and_the_time_is_lost_once() -> None:
    systems = MadeUpSystems({"slow broadcast 512": 100.0, "slow broadcast 4096": 100.0})
    points = [*points_of(), *points_of("reduce"), *points_of(ranks=4)]
    taken = run(systems, points)
    at = [size for name, operation, size in systems.asked if (name, operation) == ("slow", "broadcast")]
    # Two ranks and four ranks are asked for 512 bytes once each, and never for more.
    assert at.count(512) == 2
    assert 4096 not in at
    assert systems.clock.now < 2 * 5.0 + 10.0
    assert set(taken.dropped) == {("slow", "broadcast", 2), ("slow", "broadcast", 4)}
    assert {size for size, _ in taken.dropped.values()} == {512}
    assert taken.out_at(points[3]) == ["slow"]
    assert taken.out_at(points[1]) == []
    assert "slow" in taken.ns[Point("reduce", 2, "loop", "fresh", 4096)]
    assert len(taken.ns[points[3]]["quick"]) == 6
    assert not taken.ended


def test_who_refuses_or_dies_is_out_at_that_point_only() -> None:
    systems = MadeUpSystems({"slow broadcast 64": PeerError("slow: refused")})
    taken = run(systems, points_of())
    assert [size for name, _, size in systems.asked if name == "slow"].count(64) == 1
    assert "slow" in taken.ns[points_of()[3]]
    assert [str(point) for point, _ in taken.failed] == ["broadcast, 2 ranks, loop, fresh, 64"]


def test_a_job_that_was_killed_is_started_again() -> None:
    systems = MadeUpSystems({"slow broadcast 4096": 100.0})
    taken = run(systems, [*points_of(), *points_of("reduce")])
    assert systems.started == 3 + 1
    assert len(taken.ns[points_of("reduce")[3]]["slow"]) == 6


def test_who_cannot_be_the_best_is_asked_in_two_launches() -> None:
    systems = MadeUpSystems({"slow broadcast 64": 0.3, "slow broadcast 512": 0.1})
    taken = run(systems, points_of(), launches=4)
    at = [size for name, _, size in systems.asked if name == "slow"]
    assert [at.count(size) for size in (8, 64, 512)] == [24, 2, 24]
    assert set(taken.ns[points_of()[1]]["slow"]) == {(0, 0), (1, 0)}
    assert not taken.dropped
    assert rows_of(taken)[1].opponent == "quick"
    assert report.seldom_asked(taken) == {"slow": 1}


def test_one_disturbed_sample_does_not_end_an_mpis_part() -> None:
    systems = MadeUpSystems()
    seconds = systems.seconds

    def disturbed(name: str, operation: str, size: int) -> float | Exception:
        first = sum(one == (name, operation, size) for one in systems.asked) == 1
        return 1.0 if first and (name, size) == ("slow", 64) else seconds(name, operation, size)

    systems.seconds = disturbed  # type: ignore[method-assign]
    taken = run(systems, points_of(), launches=4)
    assert len(taken.ns[points_of()[1]]["slow"]) == 1 + 3 * 6


def test_every_launch_has_its_share_however_long_a_start_takes() -> None:
    systems = MadeUpSystems({"phicoll": 0.05}, start_s=1.0)
    taken = run(systems, points_of(), rounds=100, launches=10, seconds=60.0)
    launches = {launch for launch, _ in taken.ns[points_of()[0]]["phicoll"]}
    assert launches == set(range(10))


def test_all_make_as_many_calls_as_phicoll_fits_below_the_cap() -> None:
    systems = MadeUpSystems()
    systems.most = 7
    run(systems, points_of(sizes=(8, 1 << 24)), rounds=3, launches=2, cap_ms=20.0)
    assert {calls for _, size, calls, _ in systems.calls if size == 8} == {1000, 7}
    assert {calls for _, size, calls, _ in systems.calls if size == 1 << 24} == {4}
    # One sample to find out, which no system is compared by.
    assert [name for name, _, _, cap in systems.calls if cap == 20.0] == ["phicoll", "phicoll"]
    assert [calls for name, size, calls, _ in systems.calls if size == 8 and name != "phicoll"] == [7] * 12


def test_who_fails_when_calls_are_planned_is_asked_once() -> None:
    systems = MadeUpSystems(
        {"phicoll broadcast 64": 100.0, "phicoll reduce 8": PeerError("phicoll: refused")}
    )
    taken = run(systems, [*points_of(), *points_of("reduce")])
    at = [(operation, size) for name, operation, size in systems.asked if name == "phicoll"]
    assert [at.count(("broadcast", size)) for size in (8, 64, 512, 4096)] == [7, 1, 0, 0]
    assert [at.count(("reduce", size)) for size in (8, 64)] == [1, 7]
    assert systems.started == 3 + 1
    assert len(taken.ns[points_of()[1]]["slow"]) == 6
    assert set(taken.dropped) == {("phicoll", "broadcast", 2)}


@pytest.mark.parametrize("seconds", [20.0, 60.0, 600.0])
def test_the_time_is_kept_whatever_the_systems_do(seconds: float) -> None:
    systems = MadeUpSystems({"quick": 0.5, "slow": 4.9, "phicoll": 0.3}, start_s=1.0)
    points = [*points_of(), *points_of("reduce"), *points_of(ranks=4), *points_of(ranks=8)]
    taken = run(systems, points, rounds=1000, launches=2, seconds=seconds)
    assert taken.ended == "the time was over"
    assert systems.clock.now <= 1.1 * seconds
    assert not taken.dropped  # none was too slow; samples cut off by the end do not count
    assert len({point.ranks for point in taken.ns}) == 3 or seconds < 60


def test_every_number_of_ranks_gets_its_share_of_the_time() -> None:
    systems = MadeUpSystems({"quick": 0.1, "slow": 0.1, "phicoll": 0.1})
    points = [*points_of(ranks=2), *points_of(ranks=4), *points_of(ranks=8)]
    taken = run(systems, points, rounds=1000, seconds=300.0)
    done = {
        ranks: sum(len(taken.ns[p]["phicoll"]) for p in points if p.ranks == ranks) for ranks in (2, 4, 8)
    }
    assert min(done.values()) > 0.8 * max(done.values())


def test_many_short_launches_reach_all_sizes_alike() -> None:
    # A round takes as long as two launches' shares.
    systems = MadeUpSystems({"quick": 0.1, "slow": 0.1, "phicoll": 0.1})
    points = points_of(sizes=[8 << k for k in range(16)])
    taken = run(systems, points, rounds=4, launches=12, seconds=36.0)
    counts = [len(taken.ns[point]["phicoll"]) for point in points]
    assert min(counts) >= 3
    assert sum(counts[:8]) == pytest.approx(sum(counts[8:]), rel=0.3)
    assert len({launch for launch, _ in taken.ns[points[-1]]["phicoll"]}) >= 3


def test_without_an_mpi_time_that_is_over_leaves_out_sizes_alike() -> None:
    systems = MadeUpSystems({"phicoll": 0.1})
    systems.mpis = ()
    points = points_of(sizes=[8 << k for k in range(16)])
    taken = rounds.take(
        points, lambda point: ["phicoll", "phicoll:other"], systems=systems, rounds=1, seconds=3.0, clock=systems.clock
    )  # fmt: skip
    left_out = [point for point in points if point not in taken.ns]
    assert left_out
    assert left_out != points[-len(left_out) :]


def test_a_bound_follows_the_time_that_there_is() -> None:
    assert rounds.sample_bound(540) == pytest.approx(5.4)
    assert rounds.sample_bound(60) == 3
    assert rounds.sample_bound(float("inf")) == 60


def test_an_interrupt_keeps_what_there_is_and_ends_the_systems(tmp_path: Path) -> None:
    systems = MadeUpSystems()
    seconds = systems.seconds

    def interrupted(name: str, operation: str, size: int) -> float | Exception:
        if len(systems.asked) > 30:
            raise collectives.Ended("interrupted by SIGTERM")
        return seconds(name, operation, size)

    systems.seconds = interrupted  # type: ignore[method-assign]
    taken = run(systems, points_of(), out=tmp_path / "samples.jsonl")
    assert taken.ended == "interrupted by SIGTERM"
    assert systems.closed == systems.started == 3
    # Four of them, one a point, found out how many calls a sample has.
    assert sum(len(by) for of in taken.ns.values() for by in of.values()) == 30 - 4
    with (tmp_path / "samples.jsonl").open("a") as cut:
        cut.write('{"point": {"oper')
    again = Taken.read(tmp_path / "samples.jsonl")
    assert again.ns == taken.ns
    assert again.facts["slow"]["library"] == "slow 1.0"


def test_a_system_that_does_not_start_is_told_and_the_others_go_on() -> None:
    systems = MadeUpSystems()
    start = systems.start_mpi

    def refuse(name: str, ranks: int, start_s: float) -> MadeUpPeer:
        if name == "slow" or (name, ranks) == ("phicoll", 4):
            raise PeerError(f"{name} is not there")
        return start(name, ranks, start_s)

    systems.start_mpi = refuse  # type: ignore[method-assign]
    taken = run(systems, [*points_of(), *points_of(ranks=4)])
    assert any("slow did not start with 2 ranks" in note for note in taken.notes)
    assert any("phicoll did not start with 4 ranks" in note for note in taken.notes)
    assert set(taken.ns) == set(points_of())
    assert set(taken.subjects()) == {"phicoll", "quick"}


def test_a_report_says_at_once_who_took_no_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    systems = MadeUpSystems()
    start = systems.start_mpi

    def refuse(name: str, ranks: int, start_s: float) -> MadeUpPeer:
        if name == "slow":
            raise PeerError("no libmpi.so")
        return start(name, ranks, start_s)

    systems.start_mpi = refuse  # type: ignore[method-assign]
    monkeypatch.setattr(collectives, "Systems", lambda *given, **named: systems)
    assert collectives.report(arguments(tmp_path), [0, 1], [2], NAMES) == 0
    page = (tmp_path / "README.md").read_text()
    assert page.index("**Without slow, which took no part") < page.index("## The machine")
    assert "no libmpi.so" in page


def arguments(folder: Path, **options: Any) -> argparse.Namespace:
    plain = {
        "report": folder, "full": False, "sizes": "8,1M", "operations": "broadcast,scan", "again": False, "seed": 1,
        "rounds": 12, "launches": 1, "budget": 0, "kind": "processes", "cap_ms": 20.0,
        "mode": None, "buffers": None, "loops": False,
    }  # fmt: skip
    return argparse.Namespace(**(plain | options))


def test_exactly_the_points_that_are_asked_for() -> None:
    asked = arguments(Path(), mode="loop", buffers="both")
    found = collectives.product(asked, [2], ["barrier", "allreduce"], [8, 4096])
    assert [(point.operation, point.buffers, point.size) for point in found] == [
        ("barrier", "fresh", 0), ("barrier", "reused", 0), ("allreduce", "fresh", 8), ("allreduce", "fresh", 4096),
        ("allreduce", "reused", 8), ("allreduce", "reused", 4096),
    ]  # fmt: skip
    assert {point.definition for point in found} == {"loop"}


def test_a_report_that_is_interrupted_has_tables_and_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    systems = MadeUpSystems({"slow broadcast 1048576": 100.0})
    seconds = systems.seconds

    def interrupted(name: str, operation: str, size: int) -> float | Exception:
        if len(systems.asked) > 150:
            raise collectives.Ended("interrupted by SIGINT")
        return seconds(name, operation, size)

    systems.seconds = interrupted  # type: ignore[method-assign]
    monkeypatch.setattr(collectives, "Systems", lambda *given, **named: systems)
    assert collectives.report(arguments(tmp_path), [0, 1], [2, 4], NAMES) == 130
    page = (tmp_path / "README.md").read_text()
    assert "interrupted by SIGINT" in page
    assert "## The machine" in page
    assert "slow   | broadcast, " in page  # systems that took no part
    assert "quick 1.0" in page
    assert (tmp_path / "collectives-broadcast.png").stat().st_size > 1000
    table = (tmp_path / "broadcast.md").read_text()
    assert "80% of loop" in table
    # The same once more from the samples, without measuring, whatever is asked for, and on another machine.
    asked = len(systems.asked)
    (tmp_path / "broadcast.md").unlink()
    monkeypatch.setattr(report, "machine_rows", lambda *given: [["CPU", "another"]])
    monkeypatch.setattr(report, "commit", lambda: "later")
    other = arguments(
        tmp_path, again=True, seed=2, rounds=99, launches=9, budget=60, sizes="64", kind="threads"
    )
    assert collectives.report(other, [0], [8], ["quick"]) == 0
    assert (tmp_path / "broadcast.md").read_text() == table
    assert (tmp_path / "README.md").read_text() == page
    assert len(systems.asked) == asked


def test_older_samples_are_not_given_this_moments_machine(tmp_path: Path) -> None:
    older = [
        {
            "point": asdict(points_of()[0]),
            "launch": 0,
            "round": turn,
            "subject": s,
            "ns": 1.0,
            "verified": True,
        }
        for turn in range(12)
        for s in ("phicoll", "quick")
    ]
    (tmp_path / report.SAMPLES_FILE).write_text("".join(json.dumps(one) + "\n" for one in older))
    assert collectives.report(arguments(tmp_path, again=True), [0, 1], [2], NAMES) == 0
    page = (tmp_path / "README.md").read_text()
    assert "The samples do not say how they were made" in page
    assert "commit" not in page


def test_numbers_that_change_between_launches_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    systems = MadeUpSystems()
    monkeypatch.setattr(collectives, "Systems", lambda *given, **named: systems)
    assert collectives.report(arguments(tmp_path), [0, 1], [2], NAMES) == 0
    assert "numbers changed" not in (tmp_path / "README.md").read_text()
    assert "| the defaults" in (tmp_path / "README.md").read_text()
    start = systems.start_phicoll

    def calibrated(ranks: int, start_s: float) -> MadeUpPeer:
        if systems.started > 5:
            systems.host = "measured: take-copy=0"
        return start(ranks, start_s)

    systems.start_phicoll = calibrated  # type: ignore[method-assign]
    assert collectives.report(arguments(tmp_path, launches=2), [0, 1], [2], NAMES) == 0
    page = (tmp_path / "README.md").read_text()
    assert "The host's numbers changed between launches" in page
    assert "measured: take-copy=0 (2 of the starts and ends)" in page


def test_a_report_tries_all_bare_loops_and_keeps_the_best_few_as_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    systems = MadeUpSystems()
    monkeypatch.setattr(collectives, "Systems", lambda *given, **named: systems)
    options = {"loops": True, "rounds": 2, "sizes": "8,64K"}
    assert collectives.report(arguments(tmp_path, **options), [0, 1], [2], NAMES) == 0
    taken = Taken.read(tmp_path / report.SAMPLES_FILE)
    large = Point("broadcast", 2, "loop", "fresh", 64 << 10)
    found = [s for s in taken.ns[large] if s.startswith(verdicts.LOOP)]
    assert sorted(map(bare_loops.past_caches, found)) == [False] * bare_loops.FEW + [True] * bare_loops.FEW
    assert set(found) <= set(bare_loops.variations(large))
    for point in taken.ns:
        assert point.size > 8 or not any(s.startswith(verdicts.LOOP) for s in taken.ns[point])
    assert "of the best bare loop" in (tmp_path / "README.md").read_text()

    def interrupted(name: str, operation: str, size: int) -> float | Exception:
        raise collectives.Ended("interrupted by SIGINT")

    systems.seconds = interrupted  # type: ignore[method-assign]
    assert collectives.report(arguments(tmp_path, **options), [0, 1], [2], NAMES) == 130
    assert "interrupted by SIGINT" in (tmp_path / "README.md").read_text()


def test_loops_whose_rings_do_not_fit_are_not_tried() -> None:
    (few,), (many,) = (points_of("alltoall", sizes=[2 << 20], ranks=ranks) for ranks in (2, 8))
    assert any("ring=4194304" in loop for loop in bare_loops.variations(few))
    # 56 rings of 1 MB and more are over the 64 MB of a group's region.
    assert {loop.split("ring=")[1].split(":")[0] for loop in bare_loops.variations(many)} == {
        "16384", "32768", "262144",
    }  # fmt: skip


def test_a_point_has_limits_only_if_all_loops_were_tried_there() -> None:
    systems = MadeUpSystems({"phicoll": 0.1})
    systems.mpis = ()
    points = [*points_of(sizes=[64 << 10]), *points_of("reduce", sizes=[64 << 10])]
    count = len(bare_loops.variations(points[0]))
    take = rounds.take
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bare_loops, "take", lambda *given, **named: take(*given, **named, clock=systems.clock))
        loops, ended, without = bare_loops.limits_of(
            points, systems, 1, 0.1 * 3 * count
        )  # a first visit takes twice the count
    assert ended == "the time was over"
    assert len(without) == 1
    (whole,) = set(points) - set(without)
    assert loops(without[0]) == []
    assert len(loops(whole)) == 2 * bare_loops.FEW


def test_the_best_loops_are_shown_with_their_copies_times() -> None:
    taken, point = Taken(), Point("allgather", 2, "loop", "fresh", 64 << 10)
    best, other = f"{verdicts.LOOP}:store=string:stamps=on", f"{verdicts.LOOP}:store=avx2:stamps=on"
    for turn in range(6):
        base = {"point": asdict(point), "launch": 0, "round": turn}
        for subject, ns in ((best, 5000.0), (other, 6000.0)):
            taken.add({**base, "subject": subject, "ns": ns, "verified": True, "store_ns": [1500, 2000],
                       "load_ns": [2500, 3000]})  # fmt: skip
    text = bare_loops.text_of(taken, [point], full=True)
    assert "5 us" in text
    assert "2 us" in text
    assert "3 us" in text
    assert "| store=string:stamps=on | 1.00 |" in " ".join(text.split())
    assert "| store=avx2:stamps=on | 1.20 |" in " ".join(text.split())


def test_a_report_without_a_sample_is_still_one(tmp_path: Path) -> None:
    point = points_of()[0]
    settings = report.Settings(
        tmp_path, [0], [], 1, 1, 1, 1.0, [point], [], "processes", "interrupted by SIGTERM"
    )
    assert report.write_report(settings) == 130
    assert "Not reached in the time" in (tmp_path / "README.md").read_text()


def test_rounds_with_near_and_with_far_cpus_are_also_judged_apart(tmp_path: Path) -> None:
    taken = Taken()
    for k in range(20):
        far = k % 4 == 0
        at = {
            "point": {
                "operation": "allreduce",
                "ranks": 2,
                "definition": "loop",
                "buffers": "fresh",
                "size": 8,
            },
            "launch": 0,
            "round": k,
        }
        taken.add({**at, "probe": {"pingpong_ns": 160.0 if far else 36.0}})
        taken.add({**at, "subject": "phicoll", "ns": 400.0 if far else 100.0, "verified": True})
        taken.add({**at, "subject": "mpich", "ns": 200.0, "verified": True})
    near, far = states(taken)
    assert (near.line_ns, near.share, far.line_ns, far.share) == (36.0, 0.75, 160.0, 0.25)
    assert [row.ratio.median for row in rows_of(near.taken) if row.ratio] == [0.5]
    assert [row.ratio.median for row in rows_of(far.taken) if row.ratio] == [2.0]
    text = report.states_part([near, far], 2)
    assert "36 ns (near, 75% of the rounds" in text
    assert "160 ns (far)" in text
    one = taken.where(lambda point, at: at[1] % 4 != 0)
    one.line_ns = {point: dict.fromkeys(by, 36.0) for point, by in taken.line_ns.items()}
    assert states(one) == []
