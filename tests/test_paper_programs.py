"""The papers' programs as subjects of a sweep."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

import phicoll
from phicoll.cli import main
from phicoll.errors import ArgumentError
from phicoll.registry import PROGRAMS, moves_data, short_spec

#: Class S has 12 planes of points.
MOST_RANKS = {"sp": 12}
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


@pytest.mark.parametrize(
    "ranks", [[1, 2, 5], pytest.param([3, 4, *range(6, 18)], marks=pytest.mark.long)], ids=["some", "others"]
)
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_is_right_at_every_number_of_ranks(program, ranks):
    options = {"ranks": ranks, "mode": ["threads", "processes"], "oversubscribe": True}
    results = phicoll.sweep(program, algorithm="auto", **options, **ONCE)
    taken = [n for n in ranks if n <= MOST_RANKS.get(program, n)]  # the others are left out
    assert sorted(point["ranks"] for point in results.points) == sorted(2 * taken)
    assert all(point["verified"] for point in results.points)


@pytest.mark.parametrize("program", ["jacobi", "is", "is-shmem"])
def test_larger_classes_are_right_too(program):
    results = phicoll.sweep(program, problem_class="W", algorithm="auto", ranks=3, oversubscribe=True, **ONCE)
    assert all(point["verified"] for point in results.points)


#: The four of namashivayam-2014.
REDUCTIONS = "flat-tree,recursive-doubling,bruck:bit_identical=no,rabenseifner"


@pytest.mark.parametrize("program", ["is-shmem", "stream-shmem"])
def test_every_way_is_right_with_every_reduction_of_the_paper(program):
    ways = list(PROGRAMS[program].ways)
    results = phicoll.sweep(program, way=ways, algorithm=REDUCTIONS, mode="processes", ranks=2, **ONCE)
    assert {p["operation"] for p in results.points} == {f"{program}.S.{way}" for way in ways}
    assert len(results.points) == 4 * len(ways)
    assert all(point["verified"] for point in results.points)
    named = phicoll.sweep(f"{program}.S.{ways[1]}", algorithm="auto", **ONCE)
    assert named.points[0]["operation"] == f"{program}.S.{ways[1]}"


def test_sp_is_right_by_either_way():
    results = phicoll.sweep("sp", way=["loads", "get"], algorithm="auto", ranks=2, mode="processes", **ONCE)
    assert len(results.points) == 2
    assert all(point["verified"] for point in results.points)


@pytest.mark.parametrize(
    "program",
    ["nbody", pytest.param("cg", marks=pytest.mark.long), pytest.param("mg", marks=pytest.mark.long)],
)
def test_programs_of_barriers_are_right_with_every_barrier(program):
    results = phicoll.sweep(program, algorithm="all", ranks=2, **ONCE)
    assert {p["algorithm"] for p in results.points} == {
        a.name for a in phicoll.algorithms("barrier") if a.origin != "reference"
    }
    assert all(point["verified"] for point in results.points)


def test_classes_are_subjects_beside_each_other():
    planned = phicoll.measuring.sweeps.plan("mg", problem_class=["S", "W"], algorithm="auto", **ONCE)
    assert planned.arguments[:2] == ["run", "mg.S"]
    assert planned.arguments[planned.arguments.index("--class") + 1] == "S,W"


@pytest.mark.parametrize(("program", "letter"), [("nbody", "S"), ("cg", "Y"), ("mg", "S"), ("sp", "S")])
def test_a_simulated_program_makes_the_calls_of_a_native_one(program, letter):
    native = phicoll.sweep(program, problem_class=letter, algorithm="auto", ranks=2, **ONCE)
    options = {"machine": "xeon-phi-5110p", "ranks": [2, 6], "calls": 2, "progress": False}
    simulated = phicoll.sweep(
        program, problem_class=letter, algorithm="dissemination,combining-tree", **options
    )
    assert len(simulated.points) == 4
    for point in simulated.points:
        assert point["verified"]
        assert point["verification"]["calls"] == native.points[0]["verification"]["calls"]
    for sample in simulated.samples:
        told = sample["iterations"]
        assert (told["simulated"], told["warm_up"], len(told["ns"])) == (3, 1, 3)
        steady = sum(told["ns"][1:]) / 2 * (told["all"] - 3)
        assert sample["value_ns"] == pytest.approx(sample["ns"][0], abs=0.1)
        assert sample["value_ns"] > sum(told["ns"]) + steady - 10


@pytest.mark.parametrize(
    ("program", "algorithms"),
    [
        ("transport", "tree-reconstructed,send-receive-tree"),
        ("balancing", "auto,one-shot"),
        ("is-shmem", f"{REDUCTIONS},all-reads-all"),
        ("is-shmem.S.get", "recursive-doubling:transfer=put-get"),
        ("is-shmem.S.loads", "rabenseifner"),
        ("stream-shmem", "flat-tree:transfer=load-store"),
    ],
)
def test_a_simulated_program_of_data_makes_the_calls_of_a_native_one(program, algorithms):
    native = phicoll.sweep(program, algorithm="auto", ranks=2, **ONCE)
    simulated = phicoll.sweep(
        program, algorithm=algorithms, machine="xeon-phi-se10p", ranks=[2, 5], progress=False
    )
    assert len(simulated.points) == 2 * len(algorithms.split(","))
    for point in simulated.points:
        assert point["verified"]
        if point["ranks"] == 2:
            assert point["verification"]["calls"] == native.points[0]["verification"]["calls"]


def test_a_library_s_calls_take_their_time_in_puts_and_gets_only():
    def time_of(way, put):
        machine = f"xeon-phi-se10p:software.put={put}"
        return phicoll.sweep(
            "is-shmem", way=way, algorithm="rabenseifner", ranks=4, machine=machine, progress=False
        ).samples[0]["value_ns"]

    cycles, clock = 5000, phicoll.load_machine("xeon-phi-se10p").parameters["topology.clock_mhz"]
    # Two gets from each of four ranks in each of ten iterations, which waits may hide in part.
    assert time_of("get", cycles) - time_of("get", 0) == pytest.approx(80 * cycles / clock * 1000, rel=0.2)
    assert time_of("loads", cycles) == time_of("loads", 0)


def test_what_sp_gets_is_copied_which_takes_its_time():
    loads, get = phicoll.sweep(
        "sp",
        way=["loads", "get"],
        algorithm="dissemination",
        machine="xeon-phi-se10p",
        ranks=6,
        progress=False,
    ).samples
    assert loads["value_ns"] < 0.99 * get["value_ns"]


def test_the_iterations_left_out_take_as_long_as_those_simulated():
    options = {"machine": "xeon-phi-5110p", "algorithm": "hybrid-dissemination", "ranks": 16}
    with ThreadPoolExecutor(1) as executor:  # points go to it as text
        whole, part = (
            phicoll.sweep("mg", calls=n, progress=False, executor=executor, **options).samples[0]  # type: ignore[arg-type]
            for n in (3, 2)
        )
    assert (whole["iterations"]["all"], whole["iterations"]["simulated"]) == (4, 4)
    assert part["value_ns"] == pytest.approx(whole["value_ns"], rel=0.03)


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
        ("is-shmem", {"way": "push"}, r"way: got 'push' of is-shmem; allowed: put \(keys are put"),
        ("is-shmem.S.push", {}, "way: got 'push' of is-shmem"),
        ("cg", {"way": "put"}, "way: got 'put' of cg; allowed: none"),
        ("barrier", {"way": "put"}, "way: got 'put'; allowed: only with programs"),
        (
            "sgd",
            {"machine": "xeon-phi-5110p"},
            "got 'xeon-phi-5110p' with sgd.S; allowed: programs that are simulated: nbody, cg",
        ),
        ("cg", {"machine": "xeon-phi-5110p", "start": "evicted"}, "'window' with cg.S; allowed: loop"),
        ("cg", {"machine": "xeon-phi-5110p", "delay_ns": 5}, "delay_ns: got 5 with cg.S; allowed: 0"),
        (
            "cg",
            {"machine": "xeon-phi-se10p", "problem_class": "Y", "ranks": 241},
            "241 with cg.Y; allowed: no more",
        ),
        ("cg", {"sizes": 8}, "sizes: got '8'; allowed: only where data moves"),
        ("barrier", {"problem_class": "S"}, "problem_class: got 'S'; allowed: only with programs"),
        ("cgg", {}, "programs: nbody, cg, mg, sp"),
        ("cg", {"problem_class": "Y", "ranks": 241, "oversubscribe": True}, "no more ranks than the matrix"),
    ],
)
def test_bad_input(operation, options, message):
    with pytest.raises(ArgumentError, match=message):
        phicoll.sweep(operation, **options)


def test_other_commands_refuse_a_program():
    with pytest.raises(ArgumentError, match="operation: got 'cg'"):
        phicoll.algorithms("cg")
