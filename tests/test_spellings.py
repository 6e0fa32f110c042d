"""What users type first, and what their mistakes are told: spellings of options, operations, operators, machines."""

from __future__ import annotations

import subprocess
import sys

import pytest

import phicoll
from phicoll.bench import find

SIMULATED = ["--machine", "xeon-phi-5110p", "--rounds", "1"]
BENCH = [str(find())]


def call(program, words, folder):
    command = [sys.executable, "-m", "phicoll"] if program == ["phicoll"] else program
    return subprocess.run(
        [*command, *words], capture_output=True, text=True, cwd=folder, timeout=120, check=False
    )


@pytest.mark.parametrize("program", [["phicoll"], BENCH], ids=["phicoll", "phicoll-bench"])
def test_usual_spellings_are_taken(program, tmp_path):
    words = ["run", "barrier", "-n", "4", "--algorithm", "dissemination, auto", *SIMULATED, "-o", "/dev/null"]
    done = call(program, words, tmp_path)
    assert done.returncode == 0, done.stderr
    if program is not BENCH:  # phicoll-bench prints no table beside the records
        assert "dissemination" in done.stdout
        assert "auto" in done.stdout


@pytest.mark.parametrize("program", [["phicoll"], BENCH], ids=["phicoll", "phicoll-bench"])
@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("run barrier --machine xeonphi", "nearest: xeon-phi-3120a, xeon-phi-5110p, xeon-phi-se10p"),
        ("run allreduce --op add --machine xeon-phi-5110p", "nearest: sum;"),
        ("run barrier --rnaks 2", "nearest: --ranks"),
    ],
)
def test_what_was_meant_is_named(program, words, meant, tmp_path):
    done = call(program, words.split(), tmp_path)
    assert done.returncode == 2
    assert meant in done.stderr


def test_an_algorithm_in_the_operation_s_place_is_named():
    for function in (phicoll.explain, phicoll.count, phicoll.sweep):
        with pytest.raises(
            phicoll.ArgumentError, match="allowed: barrier, with 'dissemination:ways=3' as its"
        ):
            function("dissemination:ways=3")
    assert phicoll.count("barrier", "tree, dissemination", "4x1")[1]["algorithm"] == "dissemination"
    with pytest.raises(phicoll.ArgumentError, match="nearest: barrier"):
        phicoll.explain("bariers")


def test_no_lines_of_phicoll_s_are_in_the_traceback_of_bad_input():
    with pytest.raises(phicoll.ArgumentError) as caught:
        phicoll.explain("barrier", ranks="many")
    assert [entry.name for entry in caught.traceback][-1] == "checked"
    assert len(caught.traceback) == 2
    with pytest.raises(ZeroDivisionError) as caught:
        phicoll.run(lambda comm: 1 / 0, ranks=1, mode="threads")
    assert "1 / 0" in str(caught.value.__cause__)
    assert [entry.name for entry in caught.traceback][1:] == ["checked", "run", "results"]


def test_a_launcher_takes_mpiexec_s_option(tmp_path):
    done = call(
        ["phicoll"], ["launch", "-np", "2", "-c", "import phicoll; print(phicoll.COMM_WORLD.size)"], tmp_path
    )
    assert done.stdout.splitlines() == ["[0] 2", "[1] 2"] or done.stdout.splitlines() == ["[1] 2", "[0] 2"]
