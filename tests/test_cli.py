"""The command line: data on stdout, words on stderr, exit codes."""

from __future__ import annotations

import json
import re
import signal
import time

import pytest

import phicoll
from conftest import QUICK
from made_up import MadeUp, MadeUpSubject

B = MadeUpSubject("sense-reversing", 2.2)


@pytest.fixture
def path(tmp_path):
    return MadeUp().write(tmp_path / "r.jsonl")


@pytest.mark.parametrize("command", ["", "doctor", "list", "run", "compare", "plot", "count", "explain"])
def test_help_is_printed(phicoll_command, command):
    done = phicoll_command(*command.split(), "--help")
    assert done.returncode == 0
    assert "usage: phicoll" in done.stdout
    assert done.stderr == ""


def test_list_json_is_an_array_of_algorithms(phicoll_command):
    done = phicoll_command("list", "barrier", "--json")
    found = {one["name"]: one for one in json.loads(done.stdout)}
    assert done.returncode == 0
    assert {"name", "origin", "source", "summary", "parameters"} <= set(found["dissemination"])
    assert {"name", "range", "default", "meaning"} == set(found["dissemination"]["parameters"][0])
    assert found["std-barrier"]["origin"] == "reference"
    assert "sets: all" in phicoll_command("list", "barrier").stdout


def test_run_then_compare_then_plot(phicoll_command, tmp_path):
    path, figure = tmp_path / "r.jsonl", tmp_path / "r.png"
    algorithms = "dissemination:ways=3,static-tournament:ways=4:notify=local,std-barrier"
    words = ("--ranks", "2,4", "--mode", "threads,processes", "--oversubscribe", *QUICK)
    ran = phicoll_command("run", "barrier", "--algorithm", algorithms, *words, "-o", path)
    assert ran.returncode == 0, ran.stderr
    assert "barrier, 2 threads, loop" in ran.stdout
    compared = phicoll_command("compare", path, "--json")
    rows = json.loads(compared.stdout)
    assert compared.returncode == 0
    assert {(row["algorithm"], row["mode"], row["ranks"]) for row in rows} >= {
        ("dissemination", "threads", 2),
        ("static-tournament", "processes", 4),
        ("std-barrier", "threads", 4),
    }
    assert all(row["verified"] for row in rows)
    assert next(r for r in rows if r["algorithm"] == "dissemination")["parameters"]["ways"] in (3, "3")
    plotted = phicoll_command("plot", path, "--figure", figure)
    assert plotted.returncode == 0
    assert plotted.stdout == ""
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_run_prints_json_on_stdout_alone(phicoll_command):
    done = phicoll_command(
        "run", "barrier", "--algorithm", "dissemination", "--oversubscribe", *QUICK, "--json"
    )
    assert done.returncode == 0
    assert len(json.loads(done.stdout)) >= 2


def test_run_put_prints_a_table_or_json(phicoll_command):
    words = (
        "run",
        "put",
        "--sizes",
        "8,1K",
        "--pairs",
        "2",
        "--call",
        "0,100",
        "--machine",
        "xeon-phi-se10p",
    )
    done = phicoll_command(*words)
    assert done.returncode == 0
    assert "xeon-phi-se10p, simulated; medians of 2 rounds" in done.stdout
    assert [line.split()[:4] for line in done.stdout.splitlines()[1:-1]] == [
        ["put", size, "2", call] for size in ("8", "1024") for call in ("0", "100")
    ]
    found = json.loads(phicoll_command(*words, "--json").stdout)
    assert [point["row_ratio"] > 1 for point in found["points"]] == [False, True] * 2


def test_ctrl_c_exits_with_130_and_keeps_what_was_measured(tmp_path, start_python):
    path = tmp_path / "r.jsonl"
    words = ("--algorithm", "auto", "--launches", "1000", "--rounds", "1000", "--budget", "none", "-o", path)
    process = start_python("-m", "phicoll", "run", "barrier", *words)
    deadline = time.monotonic() + 90
    while not path.exists() or '"sample"' not in path.read_text():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, words = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "barrier, 2 threads, loop" in out
    assert "interrupted" in words
    assert phicoll.load(path).reason == "interrupted"


@pytest.mark.parametrize(
    ("words", "start"),
    [
        ("run barrier --algorithm disemination", "phicoll: algorithm: got 'disemination'; allowed: "),
        ("run barrier --ranks 0", "phicoll: ranks: got '0'; allowed: "),
        ("run barrier --budget x", "phicoll: budget: got 'x'; allowed: "),
        ("run barrier -o /nonexistent/r.jsonl", "phicoll: output: got '/nonexistent/r.jsonl'; allowed: "),
        (
            "run allreduce --algorithm paper-000",
            "phicoll: algorithm: got 'paper-000', whose algorithms are for barrier, broadcast, reduce; allowed: "
            "for allreduce: all, paper-003, or an algorithm's name",
        ),
        ("run put --pairs 0", "phicoll: pairs: got '0'; allowed: "),
        ("run put --calls 3", "phicoll: calls: got '3'; allowed: with put only sizes, "),
        ("run put:colour=red", "phicoll: put: got 'colour=red'; allowed: "),
        ("run barrier --pairs 2", "phicoll: pairs: got 2; allowed: only with put, "),
        ("run sendrecv", "phicoll: operation: got 'sendrecv'; allowed: "),
        ("list sendrecv", "phicoll: operation: got 'sendrecv'; allowed: "),
        ("compare /nonexistent.jsonl", "phicoll: /nonexistent.jsonl: got No such file"),
        ("compare /etc/passwd", "phicoll: /etc/passwd: got "),
        ("plot /etc/passwd --figure /nonexistent/r.png", "phicoll: figure: got "),
        ("count --shape 4", "phicoll: shape: got '4'; allowed: "),
        ("", "phicoll: command: got none; allowed: doctor, list, run, compare, "),
        (
            "barier",
            "phicoll: command: got 'barier'; allowed: nearest: run barrier; all: doctor, list, ",
        ),
        (
            "comparr r.jsonl",
            "phicoll: command: got 'comparr'; allowed: nearest: compare, compare-run; all: doctor, list, ",
        ),
        (
            "run barrier --speed 3",
            "phicoll: arguments: got '--speed'; allowed: nearest: --seed; all: what phicoll run --help lists",
        ),
        ("--verison", "phicoll: arguments: got '--verison'; allowed: nearest: --version; all: what phicoll "),
        (
            "run --speed 3",
            "phicoll: arguments: got '--speed'; allowed: nearest: --seed; all: what phicoll run ",
        ),
        ("run --seed 3", "phicoll: operation: got none; allowed: "),
        ("launch --rank", "phicoll.launch: ranks: got no value; allowed: one"),
        ("launch --speed x.py", "phicoll.launch: arguments: got '--speed'; allowed: "),
        (
            "launch -n 2 absent.py",
            "phicoll.launch: program: got 'absent.py'; allowed: a Python script that can",
        ),
        ("tune barrier --sizes 8", "phicoll: sizes: got '8'; allowed: only where data moves"),
        ("run", "phicoll: operation: got none; allowed: "),
        ("run barrier --ranks", "phicoll: ranks: got no value; allowed: one"),
        ("run barrier --resume", "phicoll: resume: got no file; allowed: -o with the file to continue"),
        ("plot a --figure b.png --kind pie", "phicoll: kind: got 'pie'; allowed: auto, comparison, "),
        ("count --ranks many", "phicoll: ranks: got 'many'; allowed: a whole number"),
        ("demo --budget much", "phicoll: budget: got 'much'; allowed: a number"),
    ],
)
def test_bad_input_is_one_line_on_stderr_and_exit_code_2(phicoll_command, words, start):
    done = phicoll_command(*words.split())
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(start)
    assert len(done.stderr.splitlines()) == 1


def test_compare_counts_cut_off_lines_in_words(phicoll_command, path):
    path.write_text(path.read_text()[:-20])
    done = phicoll_command("compare", path, "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)
    assert "1 cut-off line skipped" in done.stderr


def test_compare_with_a_baseline_exits_with_4_on_a_regression(phicoll_command, tmp_path):
    old = MadeUp(subjects=(B,), launches=10, rounds=10).write(tmp_path / "old.jsonl")
    new = MadeUp(subjects=(MadeUpSubject(B.spec, 3.3),), launches=10, rounds=10, seed=2).write(
        tmp_path / "new.jsonl"
    )
    done = phicoll_command("compare", new, "--baseline", old)
    assert done.returncode == 4
    assert "geometric mean of 2 ratio(s) in lines: 1." in done.stdout
    assert "2 slower, 0 faster, 0 unchanged, 0 unresolved (threshold 1.1)" in done.stdout
    same = phicoll_command("compare", old, "--baseline", old)
    assert same.returncode == 0
    assert re.search(r"0 slower, 0 faster, \d unchanged, \d unresolved", same.stdout)
    refused = phicoll_command("compare", old, "--all", "--summary")
    assert refused.returncode == 2
    assert "without --summary" in refused.stderr
    assert phicoll_command("compare", new, "--baseline", old, "--threshold", "2").returncode == 0


def test_compare_summary(phicoll_command, path):
    done = phicoll_command("compare", path, "--summary", "--json")
    assert json.loads(done.stdout)[0]["ideal"][0]["ranks"] == 2
    assert "ideal meta-algorithm" in phicoll_command("compare", path, "--summary").stdout


@pytest.mark.parametrize("kind", ["comparison", "ranks", "probes", "distributions"])
def test_plot_kinds(phicoll_command, path, tmp_path, kind):
    figure = tmp_path / "f.svg"
    done = phicoll_command("plot", path, "--figure", figure, "--kind", kind)
    assert done.returncode == 0, done.stderr
    assert "<svg" in figure.read_text()


def test_doctor_prints_json(phicoll_command):
    done = phicoll_command("doctor", "--json", "--no-probe")
    found = json.loads(done.stdout)
    assert done.returncode == 0
    assert {finding["level"] for finding in found["findings"]} <= {"good", "note", "warning"}
    assert found["facts"]["allowed_cpus"]
