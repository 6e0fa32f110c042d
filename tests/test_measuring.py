"""measure and sweep on this machine: real runs, short ones."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import subprocess
import sys
import time

import pytest

import phicoll
from phicoll import _core, bench
from phicoll.foundations.progress import display
from phicoll.measuring import plan
from phicoll.measuring.options import OPTIONS

QUICK = {
    "launches": 2,
    "rounds": 4,
    "calls": 50,
    "window_calls": 8,
    "progress": False,
    "oversubscribe": True,
    "lock_wait_s": 120,
}


def test_a_measurement_has_every_kind_of_record(tmp_path):
    path = tmp_path / "r.jsonl"
    results = phicoll.measure("dissemination:ways=3,sense-reversing", ranks=2, save=path, seed=7, **QUICK)
    assert results.reason == "complete"
    assert {record["kind"] for record in results.records} == {"context", "point", "round", "sample", "end"}
    assert results.records == phicoll.load(path).records
    assert results.contexts[0]["seed"] == 7
    assert results.contexts[0]["version"] == phicoll.__version__
    assert len(results) == 2 * 2 * 4 * 2
    assert not results.unverified
    for row in results.compare():
        assert row.verified
        assert row.time.median > 0


def test_threads_and_processes_in_one_sweep():
    results = phicoll.sweep(
        "barrier", algorithm="dissemination", ranks=[1, 2, 5], mode=["threads", "processes"], **QUICK
    )
    settings = {(s.mode, s.ranks, s.definition) for s in results.subjects}
    assert len(settings) == 2 * 3 * 2
    assert all(s.oversubscribed == (s.ranks > _core.allowed_cpu_count()) for s in results.subjects)


def test_a_run_can_be_resumed_where_it_was_cut(tmp_path):
    path = tmp_path / "r.jsonl"
    options = {"ranks": 2, "save": path, "seed": 3, **QUICK}
    whole = phicoll.measure("dissemination", **options)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[: len(lines) // 2]) + lines[len(lines) // 2][:9])
    with pytest.warns(phicoll.PhicollWarning, match="1 (damaged|cut-off) line"):
        resumed = phicoll.measure("dissemination", resume=True, **options)
    assert resumed.reason == "complete"
    assert resumed.records[: len(lines) // 2] == whole.records[: len(lines) // 2]
    assert len(resumed) >= len(whole)
    assert {record["run"] for record in resumed.records} == {whole.records[0]["run"]}


@pytest.mark.parametrize(
    ("options", "argument", "words"),
    [
        ({"algorithm": "disemination"}, "algorithm", "dissemination"),
        ({"algorithm": "dissemination:ways=0"}, "dissemination:ways", "1 to 1024"),
        ({"ranks": 0}, "ranks", "from 1 to 1024"),
        ({"ranks": [2, 1025]}, "ranks", "from 1 to 1024"),
        ({"ranks": 2.5}, "ranks", "from 1 to 1024"),
        ({"ranks": True}, "ranks", "from 1 to 1024"),
        ({"ranks": []}, "ranks", "1 to 1024"),
        ({"ranks": "4..2"}, "ranks", "first..last"),
        ({"ranks": "2..x"}, "ranks", "from 1 to 1024"),
        ({"ranks": 1024, "oversubscribe": False}, "ranks", "oversubscribe"),
        ({"mode": "fibers"}, "mode", "threads, processes"),
        ({"definition": "mean"}, "definition", "loop, window"),
        ({"placement": "close"}, "placement", "compact"),
        ({"placement": [0, 0]}, "placement", "once"),
        ({"placement": [0, 4095]}, "placement", "CPUs"),
        ({"launches": 0}, "launches", "from 1"),
        ({"rounds": "many"}, "rounds", "from 1"),
        ({"budget_s": 0}, "budget_s", "above 0"),
        ({"target_width": -1}, "target_width", "above 0"),
        ({"delay_ns": -1}, "delay_ns", "0 or above"),
        ({"imbalance_ns": float("nan")}, "imbalance_ns", "0 or above"),
        ({"lock_wait_s": "long"}, "lock_wait_s", "0 or above"),
        ({"seed": -1}, "seed", "from 0"),
        ({"wait": "doze"}, "wait", "adaptive"),
        ({"start": "cold"}, "start", "warm, evicted"),
        ({"start": "evicted", "definition": ("loop", "window")}, "start", "window"),
        ({"resume": True}, "resume", "save="),
        ({"save": "/nonexistent/r.jsonl"}, "save", "folder that exists"),
        ({"save": "r.parquet"}, "save", "JSON Lines"),
        ({"on_interrupt": "ignore"}, "on_interrupt", "return, raise"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_bad_input_is_refused_before_anything_starts(monkeypatch, options, argument, words):
    monkeypatch.setattr(bench, "execute", lambda *_: pytest.fail("something was started"))
    with pytest.raises(phicoll.ArgumentError) as caught:
        phicoll.sweep("barrier", **{"algorithm": "dissemination", **QUICK, **options})
    assert caught.value.argument == argument
    assert words in caught.value.allowed


def test_ranges_of_ranks():
    words = plan(algorithm="dissemination", ranks="1,2,4..8:2", oversubscribe=True).arguments
    assert words[words.index("--ranks") + 1] == "1,2,4,6,8"


def test_a_second_run_in_a_file_is_returned_alone_and_kept_with_the_first(tmp_path):
    path = tmp_path / "r.jsonl"
    first = phicoll.measure("dissemination", save=path, **QUICK)
    second = phicoll.measure("sense-reversing", save=path, **QUICK)
    assert {s.algorithm for s in second.subjects} == {"sense-reversing"}
    assert phicoll.load(path).records == first.records + second.records


def test_a_file_that_is_not_ours_is_not_resumed_into(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("dear diary\n")
    with pytest.raises(phicoll.ResultsFileError):
        phicoll.measure("dissemination", save=path, resume=True, **QUICK)
    assert path.read_text() == "dear diary\n"


def test_what_the_program_refuses_is_an_argument_error_too():
    with pytest.raises(phicoll.ArgumentError) as caught:
        bench.run(["run", "barrier", "--ranks", "0"])
    assert caught.value.argument == "ranks"
    assert "1024" in caught.value.allowed


def fake(tmp_path, script):
    """A stand-in for phicoll-bench, to see how its ends are understood."""
    path = tmp_path / "phicoll-bench"
    path.write_text(
        f"#!{sys.executable}\nimport sys, os, signal\nout = open(sys.argv[sys.argv.index('-o') + 1], 'w')\n{script}"
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


CONTEXT = json.dumps({"schema": 1, "kind": "context", "run": "a", "phicoll": "results"})
FAILED = json.dumps({"schema": 1, "kind": "end", "run": "a", "reason": "failed", "error": "rank 1 died"})


def test_a_broken_group_is_an_error_that_keeps_what_was_measured(tmp_path, monkeypatch):
    script = f"out.write({CONTEXT!r} + chr(10) + {FAILED!r} + chr(10)); out.close(); sys.exit(3)"
    monkeypatch.setenv("PHICOLL_BENCH", str(fake(tmp_path, script)))
    with pytest.raises(phicoll.BrokenGroupError, match="rank 1 died") as caught:
        phicoll.measure("dissemination", **QUICK)
    assert caught.value.results.reason == "failed"


def test_a_program_that_is_killed_is_an_error_that_keeps_what_was_measured(tmp_path, monkeypatch):
    script = f"out.write({CONTEXT!r} + chr(10)); out.close(); os.kill(os.getpid(), signal.SIGKILL)"
    monkeypatch.setenv("PHICOLL_BENCH", str(fake(tmp_path, script)))
    with pytest.raises(phicoll.BrokenGroupError, match="SIGKILL"):
        phicoll.measure("dissemination", **QUICK)


def test_progress_is_passed_on_and_words_are_not_lost(tmp_path, monkeypatch):
    script = (
        f"out.write({CONTEXT!r} + chr(10)); out.close()\n"
        "print('progress: 1 4 2 threads', file=sys.stderr); print('progress: 4 4 done', file=sys.stderr)"
    )
    monkeypatch.setenv("PHICOLL_BENCH", str(fake(tmp_path, script)))
    seen = []
    plan(algorithm="dissemination").run(lambda *what: seen.append(what))
    assert seen == [(1, 4, "2 threads"), (4, 4, "done")]


def test_a_script_that_names_itself_as_the_program_says_so(tmp_path):
    script = tmp_path / "phicoll-bench"
    script.write_text(f"#!{sys.executable}\nfrom phicoll.scripts import phicoll_bench\nphicoll_bench()\n")
    script.chmod(0o755)
    done = subprocess.run(
        [script], env={**os.environ, "PHICOLL_BENCH": str(script)}, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert done.stderr == (
        f"phicoll-bench: PHICOLL_BENCH: got '{script}', this script; allowed: the program that it starts\n"
    )


def test_what_the_machine_refuses_is_not_taken_for_an_older_run(tmp_path, monkeypatch):
    path = tmp_path / "r.jsonl"
    phicoll.measure("dissemination", save=path, **QUICK)
    path_of_fake = tmp_path / "refusing"
    path_of_fake.write_text("#!/bin/sh\necho 'phicoll-bench: CPU 0 is in use' >&2\nexit 3\n")
    path_of_fake.chmod(0o755)
    monkeypatch.setenv("PHICOLL_BENCH", str(path_of_fake))
    with pytest.raises(phicoll.ResourceError, match="CPU 0 is in use"):
        phicoll.measure("dissemination", save=path, **QUICK)


def test_progress_is_drawn_between_rounds(monkeypatch):
    """The program waits for the word that the bar is drawn."""
    seen = []

    def slow(*what):
        time.sleep(0.05)
        seen.append(what)

    results = plan(algorithm="dissemination", launches=2, rounds=4, calls=50, window_calls=8).run(slow)
    assert results.reason == "complete"
    assert seen
    assert seen[-1][0] == seen[-1][1] == len(results.rounds)


def test_the_bar_fits_the_terminal_and_disappears(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "70")
    with display(True) as shown:
        shown.last = 0.0  # drawn at once, not half a second later
        shown.update(25, 100, "launch 3 with 2 ranks")
        shown.update(26, 100, "too early to draw again")
        shown.update(100, 100, "done")
    printed = capsys.readouterr()
    assert printed.out == ""
    lines = printed.err.split("\r\x1b[K")[1:]
    assert lines[0] == "starting"
    assert lines[1].startswith("launch 3 with 2 ranks [#######.......................] 25/100, 0:00, ")
    assert lines[2].startswith("done [##############################] 100/100, 0:00")
    assert lines[3:] == [""]
    assert max(map(len, lines)) < 70


def test_a_missing_program_is_named(monkeypatch):
    monkeypatch.setenv("PHICOLL_BENCH", "/nonexistent/phicoll-bench")
    with pytest.raises(phicoll.ResourceError, match="PHICOLL_BENCH"):
        phicoll.measure("dissemination", **QUICK)


def test_an_unverified_subject_is_warned_about(tmp_path, monkeypatch):
    from made_up import MadeUp, MadeUpSubject

    text = MadeUp(
        subjects=(MadeUpSubject("tree:degree=6", 1.0, verified=False),), launches=1, rounds=1
    ).text()
    monkeypatch.setenv("PHICOLL_BENCH", str(fake(tmp_path, f"out.write({text!r}); out.close(); sys.exit(3)")))
    with pytest.warns(phicoll.PhicollWarning, match="not verified.*tree"):
        results = phicoll.measure("tree", **QUICK)
    assert len(results.unverified) == 1


LONG = (
    "import phicoll, sys\n"
    "r = phicoll.sweep('barrier', algorithm='dissemination,sense-reversing', ranks=2, launches=1000, rounds=1000,"
    " save=sys.argv[1], budget_s='none', oversubscribe=True, lock_wait_s=60, progress=False)\n"
    "print(r.reason, r.interrupted, len(r) > 0)\n"
)


def start_long(start_python, path):
    process = start_python("-W", "ignore", "-c", LONG, path)
    deadline = time.monotonic() + 90
    while not (path.exists() and '"kind":"sample"' in path.read_text().replace(": ", ":")):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return process


def test_ctrl_c_ends_cleanly_and_returns_what_was_measured(tmp_path, start_python):
    path = tmp_path / "r.jsonl"
    process = start_long(start_python, path)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert out.split() == ["interrupted", "True", "True"]
    results = phicoll.load(path)
    assert results.reason == "interrupted"
    assert results.damaged_lines == 0


def test_a_killed_python_leaves_no_measurement_running(tmp_path, start_python):
    path = tmp_path / "r.jsonl"
    process = start_long(start_python, path)
    children = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True
    ).stdout
    pids = [int(pid) for pid in children.split()]
    assert pids
    process.kill()
    process.communicate(timeout=30)
    deadline = time.monotonic() + 60
    while any(running(pid) for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert phicoll.load(path).reason == "interrupted"


def running(pid):
    try:
        os.kill(pid, 0)
        state = next(line for line in open(f"/proc/{pid}/status") if line.startswith("State:"))  # noqa: PTH123, SIM115
    except (ProcessLookupError, FileNotFoundError):
        return False
    return "Z" not in state


def test_slow_subjects_end_with_the_budget(capfd):
    begin = time.monotonic()
    found = phicoll.sweep(
        "barrier", ranks=8, wait="spin", budget_s=2, progress=False, oversubscribe=True, lock_wait_s=120
    )
    assert found.reason == "budget"
    assert time.monotonic() - begin < 60
    sampled = {sample["point"] for sample in found.samples}
    assert sampled == {point["point"] for point in found.points}, "what has a point was measured"
    assert found.ends[-1]["points"] == len(sampled)
    if _core.allowed_cpu_count() <= 2:
        assert "phicoll: note: the budget is too short for " in capfd.readouterr().err


def test_a_sweep_says_how_long_it_takes_and_that_its_default_budget_is_shorter(start_python):
    words = [
        "--algorithm",
        "dissemination",
        "--oversubscribe",
        "--launches",
        "3000",
        "--set",
        "lock-wait=120",
    ]
    process = start_python("-m", "phicoll", "run", "barrier", *words)
    assert process.stderr is not None
    said = process.stderr.readline()
    found = re.fullmatch(
        r"phicoll: note: all rounds take about (\d+) s; the budget ends the sweep after 20 s\n", said
    )
    assert found, said
    assert int(found[1]) > 20
    process.send_signal(signal.SIGINT)


def test_a_budget_can_be_lifted():
    assert "--budget none" in " ".join(plan("barrier", ranks=1, budget_s="none").arguments)
    assert OPTIONS["budget_s"].native.value == "20"
    settings = phicoll.measure("auto", ranks=1, budget_s="none", **QUICK).contexts[0]["settings"]
    assert settings["budget_s"] is None
    assert phicoll.measure("auto", ranks=1, **QUICK).contexts[0]["settings"]["budget_s"] == 20
