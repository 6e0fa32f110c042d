"""``phicoll advise``: which of a program's calls are looked at, and that what gains is tried in the program."""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import phicoll
from phicoll._core import host_fingerprint
from phicoll.cli import main
from phicoll.explaining.call_logs import CALL as CALL_TYPE, Watched
from phicoll.explaining.profile import Profile, ProfileRow
from phicoll.measuring.compared_runs import ComparedRuns
from phicoll.models.tuning import advise as advising
from phicoll.models.tuning.advise import Advised, Call, calls_of
from phicoll.models.tuning.decision import NO_GAIN, Decision, Gain, Point
from phicoll.models.tuning.result import Tuned, rows_of
from phicoll.models.tuning.table import text_of
from phicoll.models.tuning.trials import Trials
from phicoll.preload.alternatives import alternatives


def row(operation, size, inside_s, waited_s, *, ranks=2, algorithm="ring", communicator="0"):
    return ProfileRow(communicator, ranks, operation, algorithm, size, 10, inside_s, waited_s, 0, 1.0)


def test_calls_are_ordered_by_the_time_that_nobody_was_waited_for():
    rows = [
        row("allreduce", 8, 9.0, 8.9),
        row("broadcast", 64, 2.0, 0.0),
        row("broadcast", 64, 1.0, 0.0, communicator="0.1", algorithm="flat"),
        row("barrier", 0, 4.0, None),
        row("barrier", 0, 100.0, 0.0, ranks=1),
        row("alltoall", 0, 100.0, 0.0),
    ]
    calls = calls_of(Profile(rows, seconds=10.0))
    assert [(one.operation, one.bytes, one.calls) for one in calls] == [
        ("barrier", 0, 10), ("broadcast", 64, 20), ("allreduce", 8, 10)
    ]  # fmt: skip
    assert [one.own_s for one in calls] == pytest.approx([2.0, 1.5, 0.05])
    assert calls[0].share == pytest.approx(0.2)


def test_calls_of_disjoint_groups_are_means_over_all_ranks():
    pairs = [row("allreduce", 8, 1.0, 0.0, communicator=f"0.{number}") for number in range(1, 5)]
    with_ranks = calls_of(Profile(pairs, seconds=10.0), {"0": 8})
    assert [(one.calls, one.own_s, one.share) for one in with_ranks] == [(10, 0.5, 0.05)]
    # One call of all ranks says as much, but those of another group do not.
    pairs += [row("barrier", 0, 8.0, 0.0, ranks=8), row("barrier", 0, 1.0, 0.0, communicator="1")]
    found = {
        (one.operation, one.ranks): (one.calls, one.own_s) for one in calls_of(Profile(pairs, seconds=10.0))
    }
    assert found == {("allreduce", 2): (10, 0.5), ("barrier", 8): (10, 1.0), ("barrier", 2): (10, 0.5)}


def decision(call, spec="auto"):
    gain = NO_GAIN if spec == "auto" else Gain(2.0, 1.5, 2.5, 0.95, 8, 8)
    point = Point(call.operation, call.mode, call.ranks, 2, call.bytes)
    return Decision(point, "ring", 100.0, spec, gain, "one-shot", NO_GAIN, tried=3)


CALL = Call("allreduce", "processes", 2, 8, 20, 1.0, 0.5, "ring")


@pytest.mark.parametrize(
    ("ours", "difference", "kept", "last"),
    [
        (1.0, "", True, "wrote here.tuning; PHICOLL_TUNING=here.tuning uses it"),
        (1.0, "", False, "give -o FILE to keep the table"),
        (3.0, "", True, "wrote here.tuning; no advice: the program is not faster with the table"),
        (3.0, "", False, "no advice: the program is not faster with the table"),
        (1.0, "'1' and '2'", False, "no advice: the outputs differ with the table"),
    ],
)
def test_a_table_is_advised_if_the_program_is_faster_with_it(ours, difference, kept, last):
    found = Advised([CALL], 2.0, {CALL: decision(CALL, "one-shot")}, Path("here.tuning") if kept else None)
    found.runs = ComparedRuns("", ([2.0] * 8, [ours] * 8), difference, compared=True)
    assert str(found).splitlines()[-1] == last


def test_that_no_calls_take_enough_is_said_of_the_calls_alone():
    few = Call("allreduce", "processes", 2, 8, 20, 0.001, 0.0001, "ring")
    assert str(Advised([few], 10.0)) == "no calls that take enough of the run"
    assert str(Advised([CALL], 2.0, notes=["undecided: of 8 B: why"])) == "undecided: of 8 B: why"


def test_sizes_that_no_float_fills_are_measured_at_the_next(monkeypatch, tmp_path):
    sizes = {"allreduce": [10, 12, 64], "broadcast": [10], "reduce": [1 << 60, 6]}
    calls = [Call(name, "processes", 2, size, 9, 1.0, 0.1, "ring") for name in sizes for size in sizes[name]]
    asked = []
    tuned_as(monkeypatch, False, asked)
    found = Advised(calls, 10.0)
    advising.decide_all(found, calls, 60.0, tmp_path / "a.tuning", False)
    assert [(name, at) for name, _, at, _ in asked] == [
        ("allreduce", [12, 64]),
        ("broadcast", [10]),
        ("reduce", [8]),
    ]
    taken = {(call.operation, call.bytes): one.point.size for call, one in found.decisions.items()}
    assert taken == {
        ("allreduce", 10): 12, ("allreduce", 12): 12, ("allreduce", 64): 64, ("broadcast", 10): 10, ("reduce", 6): 8
    }  # fmt: skip
    assert len(found.notes) == 1
    assert "was not measured: sizes: got" in found.notes[0]


def test_what_comes_before_a_table_is_noted(monkeypatch):
    own = Call("allreduce", "processes", 2, 8, 20, 1.0, 0.5, "flat")
    blocks = Call("reduce_scatter_block", "processes", 2, 8, 20, 1.0, 0.5, "flat")
    monkeypatch.setenv("PHICOLL_REDUCE_SCATTER", "ring")
    found = Advised([own, CALL, blocks], 2.0, {call: decision(call) for call in (own, CALL, blocks)})
    first, second = advising.chosen_otherwise(found, found.calls)
    assert "is served by flat in the program, and by ring where it was measured" in first
    assert "what PHICOLL_REDUCE_SCATTER names" in second


PROGRAM = """
import numpy as np, phicoll

def work(comm):
    total = np.empty(1)
    for _ in range(20):
        comm.Allreduce(np.ones(1), total)

if __name__ == "__main__":
    phicoll.run(work, ranks=2)
"""
#: It starts soon. With a table that has the choice it prints the second word.
SHORT = 'import os, sys; t = os.environ.get("PHICOLL_TUNING"); print(sys.argv[1 + (t and "one-shot" in open(t).read() or 0)])'


def tuned_as(monkeypatch, gains, asked):
    def tune(operation, *, ranks, sizes, mode, budget_s, save, progress):
        asked.append((operation, ranks, sizes, mode))
        better = gains and operation == "allreduce"
        decisions = [
            Decision(
                Point(operation, mode, ranks, 2, size),
                "ring",
                100.0,
                "one-shot" if better else "auto",
                Gain(2.0, 1.5, 2.5, 0.95, 8, 8) if better else NO_GAIN,
                "one-shot",
                NO_GAIN,
                tried=3,
            )
            for size in sizes or [0]
        ]
        save.write_text(text_of("host", host_fingerprint(), [], {}, rows_of(decisions)))
        return Tuned(decisions, {}, "", save, "measure", False)

    monkeypatch.setattr(advising, "tune", tune)


def test_what_gains_is_measured_again_in_the_program(monkeypatch, tmp_path, capfd):
    asked = []
    tuned_as(monkeypatch, True, asked)
    monkeypatch.setattr(advising, "calls_of", lambda *_: [CALL])
    monkeypatch.delenv("PHICOLL_TUNING", raising=False)
    command = ["--", sys.executable, "-Sc", SHORT, "right"]
    table = tmp_path / "here.tuning"
    assert main(["advise", "--rounds", "1", "-o", str(table), *command, "right"]) == 0
    assert asked == [("allreduce", 2, [8], "processes")]
    said = capfd.readouterr().out
    assert "one-shot is 2.00 (1.50 to 2.50) times faster than ring, which saves" in said
    assert "within 1 rounds" in said
    assert "the outputs are equal" in said
    # One round resolves nothing.
    assert f"wrote {table}; no advice: the program is not faster with the table" in said
    assert main(["advise", "--rounds", "1", "--json", *command, "wrong"]) == 3
    found = json.loads(capfd.readouterr().out)
    assert "'right' and 'wrong'" in found["runs"]["difference"]
    assert found["table"] is None


def test_where_nothing_gains_the_program_runs_once(monkeypatch, tmp_path, capfd):
    asked = []
    tuned_as(monkeypatch, False, asked)
    monkeypatch.setattr(advising, "LEAST_SHARE", 0.0)
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    assert main(["advise", "--", sys.executable, str(path)]) == 0
    assert ("allreduce", 2, [8], "processes") in asked
    said = capfd.readouterr().out
    assert "allreduce of 8 B among 2 processes: 20 calls" in said
    assert "none of 3 resolved faster than ring" in said
    assert "rounds" not in said


def test_an_mpi_s_algorithms_are_tried_in_the_program(monkeypatch, capfd):
    # How long the runs take, one after the other.
    spans = {"": 4.0, "slow": 6.0, "fast": 1.0}
    tried = []

    def run_of(_, environment):
        tried.append(environment.get("WAY", ""))
        if tried[-1] == "broken":
            raise phicoll.Error("sh ends with 7")

    monkeypatch.setattr(advising, "launcher_kind", lambda _: "hydra")
    monkeypatch.setattr(advising, "only_watched", lambda command: (command, {}))
    monkeypatch.setattr(
        advising, "alternatives", lambda *_: {way: {"WAY": way} for way in ("slow", "broken", "none", "fast")}
    )
    monkeypatch.setattr(advising, "finished_run", run_of)
    monkeypatch.setattr(
        advising, "calls_of", lambda *_: [Call("barrier", "processes", 2, 0, 9, 1.0, 0.5, "MPI")]
    )
    of_calls = advising.span
    monkeypatch.setattr(advising, "span", lambda run: spans.get(tried[-1]) or of_calls(run))
    assert main(["advise", "--rounds", "1", "--json", "--", "sh", "-c", "echo way=$WAY"]) == 3
    found = json.loads(capfd.readouterr().out)
    # The faster half is tried again, beside the MPI's choice.
    assert tried == ["", "slow", "broken", "none", "fast", *3 * ["", "fast"]]
    assert found["tried"] == {"barrier": {"the MPI's choice": 4.0, "slow": 6.0, "fast": 1.0}}
    assert found["variables"] == {"WAY": "fast"}
    assert found["notes"] == [
        "barrier by broken: sh ends with 7",
        "barrier by none: the run shows no collective calls",
    ]
    assert "'way=' and 'way=fast'" in found["runs"]["difference"]
    assert main(["advise", "-o", "here", "--", "sh"]) == 2
    assert "output: got 'here'; allowed: without an MPI's launcher" in capfd.readouterr().err
    assert main(["advise", "--rounds", "1", "--", "sh", "-c", "echo $0 > /dev/null"]) == 0
    said = capfd.readouterr().out
    assert "barrier, seconds from the first call to the last: fast 1, the MPI's choice 4, slow 6" in said
    assert "no advice: the program is not faster with WAY=fast" in said  # one round resolves nothing


def test_what_an_mpi_could_not_try_is_noted(monkeypatch, capfd):
    monkeypatch.setattr(advising, "launcher_kind", lambda _: "openmpi")
    monkeypatch.setattr(advising, "only_watched", lambda command: (command, {}))
    monkeypatch.setattr(
        advising, "calls_of", lambda *_: [Call("barrier", "processes", 2, 0, 9, 1.0, 0.5, "MPI")]
    )
    monkeypatch.setattr(advising, "alternatives", lambda *_: {"slow": {}, "fast": {}})
    monkeypatch.setattr(advising, "span", lambda _: 1.0)
    assert main(["advise", "--budget", "1e-9", "--", "true"]) == 0
    assert "no time was left to try slow, fast for barrier; give a larger budget" in capfd.readouterr().out
    monkeypatch.setattr(advising, "alternatives", alternatives)
    monkeypatch.setattr("phicoll.preload.alternatives.on_path", lambda _: "/nothing/here/orterun")
    assert main(["advise", "--", "true"]) == 0
    said = capfd.readouterr().out
    assert said == "no ompi_info beside true, which would list the algorithms (No such file or directory)\n"


def test_trials_go_on_with_those_that_were_faster_and_compare_medians():
    # In its first run "lucky" is the fastest, in the others the slowest.
    own = {
        "": [4.0] * 4,
        "lucky": [1.0, 9.0, 9.0, 9.0],
        "steady": [2.0] * 4,
        "slow": [6.0] * 4,
        "slower": [7.0] * 4,
    }
    runs = {way: iter(seconds) for way, seconds in own.items()}
    tried = []

    def seconds_of(variables):
        tried.append(variables.get("WAY", ""))
        return next(runs[tried[-1]])

    ways = {"barrier": {way: {"WAY": way} for way in own if way}}
    trials = Trials(ways, 4.0, seconds_of, time.monotonic() + 60, None)
    trials.run()
    assert tried == ["lucky", "steady", "slow", "slower", "", "lucky", "steady", "", "steady", "", "steady"]
    assert trials.medians()["barrier"] == {
        "the MPI's choice": 4.0, "lucky": 5.0, "steady": 2.0, "slow": 6.0, "slower": 7.0
    }  # fmt: skip
    assert trials.fastest() == {"WAY": "steady"}


def test_what_fails_in_a_later_pass_or_did_not_stay_is_not_chosen():
    # "lucky" stays alone and is slow then, so "tried once" would have the least median; "breaks" fails later.
    own = {"": [4.0] * 4, "lucky": [1.0, 9.0, 9.0, 9.0], "tried once": [2.0]}
    runs = {way: iter(seconds) for way, seconds in own.items()}

    def seconds_of(variables):
        return next(runs[variables.get("WAY", "")])

    end = time.monotonic() + 60
    trials = Trials({"barrier": {way: {"WAY": way} for way in own if way}}, 4.0, seconds_of, end, None)
    trials.run()
    assert trials.fastest() == {}

    calls = iter([1.0])

    def breaks(variables):
        if variables and (seconds := next(calls, None)):
            return seconds
        raise phicoll.Error("sh ends with 7")

    trials = Trials({"barrier": {"breaks": {"WAY": "breaks"}}}, 4.0, breaks, end, None)
    trials.run()
    assert trials.fastest() == {}
    assert trials.notes == [f"{name}: sh ends with 7" for name in ("the MPI's choice", "barrier by breaks")]


def test_a_run_is_as_long_as_from_its_first_call_to_its_last():
    # Calls of two operations, on two ranks: what passes between them counts, too.
    def made(operation, *by_rank):
        arrays = {
            rank: np.array([(*call, 8, 0, 1) for call in calls], CALL_TYPE)
            for rank, calls in enumerate(by_rank)
        }
        return Watched("0", 2, operation, "MPI", 2.0, arrays, (0, 0))

    barrier = made("barrier", [(1000, 1100)], [(900, 1100)])
    allreduce = made("allreduce", [(5000, 5100), (6000, 6500)], [])
    assert advising.span(Profile([], 1.0, watched=[barrier, allreduce])) == pytest.approx(2 * 5600e-9)


def test_advice_shows_how_far_it_is(monkeypatch, capfd):
    monkeypatch.setattr(advising, "launcher_kind", lambda _: "openmpi")
    monkeypatch.setattr(advising, "only_watched", lambda command: (command, {}))
    monkeypatch.setattr(
        advising, "calls_of", lambda *_: [Call("barrier", "processes", 2, 0, 9, 1.0, 0.5, "MPI")]
    )
    monkeypatch.setattr(advising, "alternatives", lambda *_: {"slow": {"WAY": "slow"}})
    monkeypatch.setattr(advising, "span", lambda _: 1.0)
    monkeypatch.setattr("phicoll.foundations.progress.INTERVAL_S", 0.0)
    monkeypatch.setattr(advising.Trials, "fastest", lambda _: {"WAY": "slow"})
    advising.advise(["true"], rounds=1, progress=True)
    said = capfd.readouterr().err
    for title in ("the calls of true", "pass 4 of 4: barrier by slow", "rounds of true"):
        assert title in said


def test_an_mpi_s_algorithms_are_those_that_it_names():
    found = alternatives("hydra", "mpiexec", "broadcast", {2, 8})
    assert found["binomial"] == {"MPIR_CVAR_BCAST_INTRA_ALGORITHM": "binomial"}
    assert found["release_gather"] == {"MPIR_CVAR_BCAST_POSIX_INTRA_ALGORITHM": "release_gather"}
    assert alternatives("hydra", "mpiexec", "scan", {2}) == {}
    if shutil.which("ompi_info") is None:
        pytest.skip("no Open MPI")
    found = alternatives("openmpi", shutil.which("ompi_info"), "allreduce", {8})
    assert found["recursive_doubling"] == {
        "OMPI_MCA_coll_tuned_use_dynamic_rules": "1", "OMPI_MCA_coll_tuned_allreduce_algorithm": "3"
    }  # fmt: skip
    assert "ignore" not in found
    # With two_proc Open MPI ends a program of other numbers of ranks.
    by_ranks = [
        set(alternatives("openmpi", shutil.which("ompi_info"), "barrier", ranks)) for ranks in ({2}, {2, 8})
    ]
    assert by_ranks[0] - by_ranks[1] == {"two_proc"}


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("", 2, "command: got none"),
        ("-- /nothing/here", 2, "command: got '/nothing/here'"),
        ("--rounds 0 -- true", 2, "rounds: got 0; allowed: at least 1"),
        ("--budget 0 -- true", 2, "budget: got "),
        ("-o /nothing/here -- true", 2, "output: got '/nothing/here'"),
        ("-- false", 1, "false ends with 1"),
    ],
)
def test_bad_input(words, code, message, capfd):
    assert main(["advise", *words.split()]) == code
    assert message in capfd.readouterr().err


def test_a_program_without_collectives_says_so(capfd):
    assert main(["advise", "--", "true"]) == 0
    assert "no collective calls of several ranks" in capfd.readouterr().out
