"""``phicoll advise``: which of a program's calls are looked at, and that what gains is tried in the program."""

from __future__ import annotations

import json
import shutil
import sys

import pytest

import phicoll
from phicoll._core import host_fingerprint
from phicoll.cli import main
from phicoll.explaining.profile import Profile, ProfileRow
from phicoll.models.tuning import advise as advising
from phicoll.models.tuning.advise import calls_of
from phicoll.models.tuning.decision import NO_GAIN, Decision, Gain, Point
from phicoll.models.tuning.result import Tuned, rows_of
from phicoll.models.tuning.table import text_of
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


PROGRAM = """
import os, sys, time
import numpy as np, phicoll

def work(comm):
    total = np.empty(1)
    for _ in range(20):
        time.sleep(0.001)
        comm.Allreduce(np.ones(1), total)

if __name__ == "__main__":
    phicoll.run(work, ranks=2)
    table = os.environ.get("PHICOLL_TUNING")
    print("with" if table and "one-shot" in open(table).read() else "without", file=sys.stderr)
    print("right" if not table or {right} else "wrong")
"""


@pytest.fixture
def command(tmp_path, monkeypatch):
    """The words that run the program; every call is looked at, and ``tune`` is ``tuned_as``'s."""
    monkeypatch.setattr(advising, "LEAST_SHARE", 0.0)
    monkeypatch.delenv("PHICOLL_TUNING", raising=False)

    def made(right):
        path = tmp_path / "program.py"
        path.write_text(PROGRAM.format(right=right))
        return ["--", sys.executable, str(path)]

    return made


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


def test_what_gains_is_measured_again_in_the_program(command, monkeypatch, tmp_path, capfd):
    asked = []
    tuned_as(monkeypatch, True, asked)
    table = tmp_path / "here.tuning"
    assert main(["advise", "--rounds", "2", "-o", str(table), *command(True)]) == 0
    assert ("allreduce", 2, [8], "processes") in asked
    said = capfd.readouterr().out
    assert "one-shot is 2.00 (1.50 to 2.50) times faster than ring, which saves" in said
    assert "within 2 rounds" in said
    assert "the outputs are equal" in said
    assert f"PHICOLL_TUNING={table} uses it" in said
    assert main(["advise", "--rounds", "1", "--json", *command(False)]) == 3
    found = json.loads(capfd.readouterr().out)
    assert "'right' and 'wrong'" in found["runs"]["difference"]
    assert found["table"] is None


def test_where_nothing_gains_the_program_runs_once(command, monkeypatch, capfd):
    tuned_as(monkeypatch, False, [])
    assert main(["advise", *command(True)]) == 0
    said = capfd.readouterr().out
    assert "allreduce of 8 B among 2 processes: 20 calls" in said
    assert "none of 3 resolved faster than ring" in said
    assert "rounds" not in said


def test_an_mpi_s_algorithms_are_tried_in_the_program(monkeypatch, capfd):
    # In the runs one after the other, the calls take so long of a rank.
    own = {"": 4.0, "slow": 6.0, "fast": 1.0}
    tried = []

    def run_of(_, environment):
        tried.append(environment.get("WAY", ""))
        if tried[-1] == "broken":
            raise phicoll.Error("sh ends with 7")

    monkeypatch.setattr(advising, "launcher_kind", lambda _: "hydra")
    monkeypatch.setattr(advising, "only_watched", lambda command: (command, {}))
    monkeypatch.setattr(
        advising, "alternatives", lambda *_: {way: {"WAY": way} for way in ("slow", "broken", "fast")}
    )
    monkeypatch.setattr(advising, "finished_run", run_of)
    monkeypatch.setattr(
        advising,
        "calls_of",
        lambda _: [advising.Call("barrier", "processes", 2, 0, 9, own[tried[-1]], 0.5, "MPI")],
    )
    assert main(["advise", "--rounds", "1", "--json", "--", "sh", "-c", "echo way=$WAY"]) == 3
    found = json.loads(capfd.readouterr().out)
    assert tried == ["", "slow", "broken", "fast"]
    assert found["tried"] == {"barrier": {"the MPI's choice": 4.0, "slow": 6.0, "fast": 1.0}}
    assert found["variables"] == {"WAY": "fast"}
    assert found["notes"] == ["barrier by broken: sh ends with 7"]
    assert "'way=' and 'way=fast'" in found["runs"]["difference"]
    assert main(["advise", "-o", "here", "--", "sh"]) == 2
    assert "output: got 'here'; allowed: without an MPI's launcher" in capfd.readouterr().err
    assert main(["advise", "--rounds", "1", "--", "sh", "-c", "echo $0 > /dev/null"]) == 0
    said = capfd.readouterr().out
    assert "barrier, a rank's seconds: fast 1, the MPI's choice 4, slow 6" in said
    assert "no advice: the program is not faster with WAY=fast" in said  # one round resolves nothing


def test_an_mpi_s_algorithms_are_those_that_it_names():
    found = alternatives("hydra", "mpiexec", "broadcast")
    assert found["binomial"] == {"MPIR_CVAR_BCAST_INTRA_ALGORITHM": "binomial"}
    assert found["release_gather"] == {"MPIR_CVAR_BCAST_POSIX_INTRA_ALGORITHM": "release_gather"}
    assert alternatives("hydra", "mpiexec", "scan") == {}
    if shutil.which("ompi_info") is None:
        pytest.skip("no Open MPI")
    found = alternatives("openmpi", shutil.which("ompi_info"), "allreduce")
    assert found["recursive_doubling"] == {
        "OMPI_MCA_coll_tuned_use_dynamic_rules": "1", "OMPI_MCA_coll_tuned_allreduce_algorithm": "3"
    }  # fmt: skip
    assert "ignore" not in found


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
