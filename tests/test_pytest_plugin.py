"""The pytest plugin, run by pytest in pytest."""

from __future__ import annotations

import re

import pytest

import phicoll
from made_up import MadeUp, MadeUpSubject

BENCHMARK = """
def test_one(sweep):
    results = sweep("barrier", algorithm="sense-reversing", launches=6, rounds=12, calls=60, window_calls=8,
                    definition="loop", oversubscribe=True, lock_wait_s=120)
    assert not results.unverified
"""


def test_a_sweep_is_run_saved_and_shown(pytester, tmp_path):
    pytester.makepyfile(BENCHMARK)
    saved = tmp_path / "out.jsonl"
    result = pytester.runpytest_subprocess("--phicoll-ranks", "2,3", "--phicoll-save", str(saved))
    result.assert_outcomes(passed=1)
    assert {point["ranks"] for point in phicoll.load(saved).points} == {2, 3}
    result.stdout.fnmatch_lines(["*phicoll*", "*sense-reversing*", f"*saved: {saved}*"])


@pytest.mark.parametrize(("lines", "slower"), [(0.01, True), (1e6, False)])
def test_a_resolved_regression_fails(pytester, tmp_path, lines, slower):
    """Against made-up baselines that are a thousand times faster, or slower, than anything real."""
    (spec,) = phicoll.expand("sense-reversing")
    # Which label this machine's rounds get is not the test's to choose: the baseline has both, and of 16 launches one
    # label has the 8 that an interval over two rows needs.
    made = MadeUp(
        subjects=(MadeUpSubject(spec, lines),), launches=40, rounds=6, definitions=("loop",), same_core=0.5
    )
    old = made.write(tmp_path / "old.jsonl")
    pytester.makepyfile(BENCHMARK.replace("rounds=12", "rounds=3").replace("launches=6", "launches=16"))
    result = pytester.runpytest_subprocess("--phicoll-baseline", str(old))
    if slower:
        result.assert_outcomes(passed=1, errors=1)
        result.stdout.fnmatch_lines(
            ["*slower than the baseline*", "*sense-reversing*times the baseline in lines*"]
        )
    else:
        result.assert_outcomes(passed=1)
        result.stdout.fnmatch_lines(["*against the baseline*", "*faster*"])


@pytest.mark.parametrize(
    "words",
    [
        ["--phicoll-ranks", "0"],
        ["--phicoll-baseline", "/nonexistent.jsonl"],
        ["--phicoll-save", "/nonexistent/out.jsonl"],
        ["--phicoll-save", "out.txt"],
        ["--phicoll-threshold", "0"],
    ],
    ids=" ".join,
)
def test_bad_options_stop_pytest_before_any_test(pytester, words):
    pytester.makepyfile(BENCHMARK)
    result = pytester.runpytest_subprocess(*words)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{words[0][2:].split('-')[-1]}*allowed: *"]) if "baseline" not in words[
        0
    ] else None


def test_without_options_the_plugin_is_silent(pytester):
    pytester.makepyfile("def test_nothing(): pass")
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(passed=1)
    assert "phicoll --" not in result.stdout.str()


WRONG = """
import numpy as np, phicoll

def test_call():
    phicoll.COMM_SELF.Bcast(np.zeros(1), root=3)

def test_function():
    phicoll.explain("barrier", ranks="many")

def test_rank():
    phicoll.run(lambda comm: comm.Send(np.zeros(1), 7), ranks=2, mode="threads")

def test_other(monkeypatch):
    monkeypatch.setattr("phicoll.comm.derived.checked_info", lambda *args: 1 / 0)
    phicoll.COMM_SELF.Dup()
"""


def test_a_traceback_shows_the_caller_s_lines(pytester):
    pytester.makepyfile(WRONG)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(failed=4)
    frames = [line for line in result.outlines if re.match(r"\S+\.py:\d+:", line)]
    for name in ("test_call", "test_function", "test_rank"):
        begin = next(at for at, line in enumerate(result.outlines) if re.match(f"_+ {name} _+", line))
        end = next(
            at for at, line in enumerate(result.outlines[begin + 1 :], begin + 1) if re.match("_+ ", line)
        )
        own = [line for line in result.outlines[begin:end] if re.match(r"\S+\.py:\d+:", line)]
        assert own
        assert not [line for line in own if "/phicoll/" in line], own
    assert any("derived.py" in line for line in frames)  # of an error that is not phicoll's
