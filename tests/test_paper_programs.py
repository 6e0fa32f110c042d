"""The papers' programs as subjects of a sweep. tests/cpp/test_paper_programs.cpp runs all of them."""

from __future__ import annotations

import pytest

import phicoll
from phicoll.cli import main
from phicoll.errors import ArgumentError
from phicoll.registry import PROGRAMS, moves_data, short_spec

ONCE = {"launches": 1, "rounds": 1, "calls": 1, "budget_s": "none"}


def test_a_program_is_swept_and_compared_like_a_collective(tmp_path):
    saved = tmp_path / "nbody.jsonl"
    results = phicoll.sweep(
        "nbody", algorithm="auto,pthread-barrier", mode=["threads", "processes"], save=saved, **ONCE
    )
    points = {(p["spec"], p["mode"]): p for p in results.points}
    assert set(points) == {(s, m) for s in ("auto", "pthread-barrier") for m in ("threads", "processes")}
    for point in points.values():
        assert point["operation"] == "nbody.S"
        assert point["verified"]
        assert point["verification"]["calls"] == 2002  # two barriers a step; after placing, and a sum
    assert {s["definition"] for s in results.samples} == {"loop"}
    assert "nbody.S, 2 threads, loop" in str(results.compare())
    # Read again, the records say the same; continuing a whole run adds nothing.
    again = phicoll.sweep(
        "nbody",
        algorithm="auto,pthread-barrier",
        mode=["threads", "processes"],
        save=saved,
        resume=True,
        **ONCE,
    )
    assert len(again.samples) == len(results.samples)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_is_right_at_every_number_of_ranks(program):
    options = {"ranks": "1..5", "mode": ["threads", "processes"], "oversubscribe": True}
    results = phicoll.sweep(program, algorithm="auto", **options, **ONCE)
    assert len(results.points) == 10
    assert all(point["verified"] for point in results.points)


def test_n_body_is_right_with_every_barrier():
    results = phicoll.sweep("nbody", algorithm="all", ranks=2, **ONCE)
    assert {p["algorithm"] for p in results.points} == {
        a.name for a in phicoll.algorithms("barrier") if a.origin != "reference"
    }
    assert all(point["verified"] for point in results.points)


def test_classes_are_subjects_beside_each_other():
    planned = phicoll.measuring.sweeps.plan("mg", problem_class=["S", "W"], algorithm="auto", **ONCE)
    assert planned.arguments[:2] == ["run", "mg.S"]
    assert planned.arguments[planned.arguments.index("--class") + 1] == "S,W"


def test_programs_are_listed(capsys):
    assert main(["list", "programs"]) == 0
    said = capsys.readouterr().out
    for program in PROGRAMS.values():
        assert program.name in said
        assert program.summary in said
    assert not moves_data("cg.S")
    assert short_spec("cg.S", "dissemination:ways=1") == "dissemination"


@pytest.mark.parametrize(
    ("operation", "options", "message"),
    [
        ("cg", {"problem_class": "Q"}, r"problem_class: got 'Q' of cg; allowed: S \(1,400 rows"),
        ("cg.Q", {}, "got 'Q' of cg"),
        ("cg", {"machine": "xeon-phi-5110p"}, "machine: got 'xeon-phi-5110p' with cg; allowed: none"),
        ("cg", {"sizes": 8}, "sizes: got '8'; allowed: only where data moves"),
        ("barrier", {"problem_class": "S"}, "problem_class: got 'S'; allowed: only with programs"),
        ("cgg", {}, "programs: nbody, cg, mg"),
        ("cg", {"problem_class": "Y", "ranks": 241, "oversubscribe": True}, "no more ranks than the matrix"),
    ],
)
def test_bad_input(operation, options, message):
    with pytest.raises(ArgumentError, match=message):
        phicoll.sweep(operation, **options)


def test_other_commands_refuse_a_program():
    with pytest.raises(ArgumentError, match="operation: got 'cg'"):
        phicoll.algorithms("cg")
