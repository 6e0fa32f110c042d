"""``phicoll compare-run``: a program with phicoll and without, by turns."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from phicoll.cli import main
from phicoll.measuring.compared_runs import ComparedRuns, different
from phicoll.preload.kinds import kind_of

#: Prints what the environment says and its own time, and ends with the code in argv[1] if phicoll is preloaded.
PROGRAM = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  const char* const preload = getenv("LD_PRELOAD");
  const int ours = preload != NULL && strstr(preload, "libphicoll-") != NULL;
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, NULL, 1);
  pthread_barrier_wait(&barrier);
  printf("right\\ntook %d.5 s\\n", ours ? 1 : 3);
  if (argc > 2) printf("%s\\n", ours ? argv[2] : "other");
  return ours && argc > 1 ? atoi(argv[1]) : 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    made = tmp_path_factory.mktemp("compare-run") / "program"
    made.with_suffix(".c").write_text(PROGRAM)
    subprocess.run(["gcc", "-O1", made.with_suffix(".c"), "-o", made, "-lpthread"], check=True)
    return str(made)


def test_times_are_compared_within_rounds_and_outputs_are_equal(program, capfd):
    assert main(["compare-run", "--rounds", "6", "--time", "took (.*) s", "--json", "--", program]) == 0
    said = json.loads(capfd.readouterr().out)
    assert (said["kind"], said["equal"]) == ("pthread", True)
    assert (said["without"], said["with"]) == ([3.5] * 6, [1.5] * 6)
    assert said["ratio"]["enough"]
    assert said["ratio"]["median"] == pytest.approx(1.5 / 3.5)


def test_a_whole_run_is_timed_where_no_time_is_named(program, capfd):
    assert main(["compare-run", "--rounds", "1", "--ignore", "took.*", "--", program]) == 0
    said = capfd.readouterr().out
    assert "within 1 rounds" in said
    assert "? : a 95 % interval takes 6 rounds" in said
    assert "the outputs are equal" in said


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("", 3, "the outputs differ with phicoll: 'took 3.5 s' and 'took 1.5 s'"),
        ("0 more", 3, "the outputs differ with phicoll: 'took 3.5 s' and 'took 1.5 s'"),
        ("7", 3, "ends with 7 with phicoll"),
    ],
)
def test_what_differs_is_named(program, words, code, message, capfd):
    assert main(["compare-run", "--rounds", "1", "--", program, *words.split()]) == code
    assert message in capfd.readouterr().out


def test_a_slowdown_beyond_the_threshold_is_an_exit_code(program):
    words = ["compare-run", "--rounds", "1", "--time", "took (.*) s"]
    assert main([*words, "--threshold", "0.5", "--", program]) == 0
    assert main([*words, "--threshold", "0.2", "--", program]) == 4


def test_lines_may_come_in_another_order():
    assert different("a\nb\n", "b\na\n") == ""
    assert different("a\nb\n", "a\nc\n") == "'b' and 'c'"
    assert different("a\n", "a\na\n") == "'a', in one alone"


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("", 2, "command: got none"),
        ("-- /nothing/here", 2, "command: got '/nothing/here'"),
        ("--with omp -- phicoll omp -- ls", 2, "command: got 'phicoll'; allowed: the program itself"),
        ("-- ls", 2, "with: got none, and ls does not show its kind; allowed: one of mpi, omp, pthread"),
        ("--rounds 0 -- ls", 2, "rounds: got 0; allowed: at least 1"),
        ("--ignore ( -- ls", 2, "ignore: got '('; allowed: a regular expression"),
        ("--time x -- ls", 2, "time: got 'x'; allowed: a regular expression with one group"),
        ("--with pthread -- false", 1, "false ends with 1 without phicoll"),
        ("--with pthread --time (x) -- true", 1, "true prints no time that '(x)' matches"),
    ],
)
def test_bad_input(words, code, message, capfd):
    assert main(["compare-run", *words.split()]) == code
    assert message in capfd.readouterr().err


def test_what_phicoll_says_is_told(capfd):
    assert main(["compare-run", "--with", "pthread", "--rounds", "1", "--", "true"]) == 0
    assert "phicoll: pthread: " in capfd.readouterr().out


def test_a_launcher_shows_its_kind():
    assert kind_of(["/usr/bin/mpiexec.openmpi", "-n", "2", "python3"]) == "mpi"


def test_an_interrupted_comparison_shows_the_rounds_that_ended():
    found = ComparedRuns("omp", ([2.0, 2.0], [1.0]), interrupted=True)
    assert found.ratio is not None
    assert found.ratio.median == 0.5
