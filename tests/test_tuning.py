"""Tuning tables end to end: made up, made by tuning a simulated machine, and everything that is refused."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import phicoll
from made_up import MadeUpSubject
from phicoll import _core, tuning
from phicoll.cli import main
from phicoll.errors import ArgumentError, PhicollWarning
from phicoll.foundations.files import Appended
from phicoll.models.tuning.decision import Decision, Gain, Point, decide
from phicoll.models.tuning.prediction import ModelChoice
from phicoll.models.tuning.result import Tuned, rows_of
from phicoll.models.tuning.setting import Setting
from phicoll.models.tuning.table import merged, thresholds
from phicoll.models.tuning.tune import Run
from phicoll.registry import OPERATIONS, expand

PHI = "xeon-phi-5110p"
HEAD = "phicoll tuning 1\n"


@pytest.fixture(autouse=True)
def no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PHICOLL_TUNING", raising=False)
    monkeypatch.delenv("PHICOLL_TUNING_FOREIGN", raising=False)


@pytest.fixture
def table(tmp_path: Path):
    def write(text: str, name: str = "made-up.tuning") -> Path:
        path = tmp_path / name
        path.write_text(HEAD + text)
        return path

    return write


def for_two(operation: str, mode: str, rest: str) -> str:
    """Rows for two ranks, whether they have a CPU each here or not."""
    return "".join(f"{operation} {mode} {group} {rest}\n" for group in ("2/2", "2/1"))


# --- the choices of auto


def ask(comm):
    total = comm.allreduce(comm.rank)
    comm.barrier()
    return total, comm.why("allreduce", 8), comm.why("allreduce", 1 << 16), comm.why("barrier")


def test_a_table_changes_what_auto_does(table, mode, monkeypatch):
    rows = for_two("allreduce", mode, "0 recursive-doubling")
    rows += for_two("allreduce", mode, "4096 sliced:chunk=4096") + for_two("barrier", mode, "0 tree:degree=3")
    path = table(rows)
    for total, small, large, barrier in phicoll.run(ask, ranks=2, mode=mode, tuning=path):
        assert total == 1
        assert small.startswith("recursive-doubling:")
        assert f"tuned: {path}, line " in small
        assert large.startswith("sliced:chunk=4096:")
        assert barrier.startswith("tree:")
        assert "tuned: " in barrier
    monkeypatch.setenv("PHICOLL_TUNING", str(path))
    assert "tuned: " in phicoll.run(ask, ranks=2, mode=mode)[1][1]
    assert "tuned: " not in phicoll.run(ask, ranks=2, mode=mode, tuning="none")[1][1]


def test_a_table_changes_what_auto_does_on_a_simulated_machine(table, monkeypatch):
    path = table(
        f"machine {PHI}\nbarrier simulated 4/240 0 tree:degree=3\nallreduce simulated 4/240 0 recursive-doubling\n"
    )
    plain = phicoll.measure("auto", machine=PHI, ranks=4, rounds=1, calls=3)
    monkeypatch.setenv("PHICOLL_TUNING", str(path))
    tuned = phicoll.measure("auto,tree:degree=3", machine=PHI, ranks=4, rounds=1, calls=3)
    auto, tree = (
        next(r for r in tuned.compare() if r.subject.algorithm == name) for name in ("auto", "tree")
    )
    assert auto.chosen["why"] == f"tuned: {path}, line 3"
    assert auto.chosen["spec"].startswith("tree:degree=3:")
    assert auto.cycles.median == tree.cycles.median  # stored alike too
    assert "tuned" not in plain.compare()[0].chosen["why"]
    data = phicoll.sweep("allreduce", algorithm="auto", machine=PHI, ranks=4, sizes=512, rounds=1, calls=3)
    assert data.compare()[0].chosen["spec"].startswith("recursive-doubling:")
    assert "tuning" in next(r for r in data.records if r["kind"] == "context")["settings"]


def test_a_measured_run_says_which_row_auto_took(table):
    path = table(for_two("barrier", "threads", "0 tree:degree=3"))
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PHICOLL_TUNING", str(path))
        options = {"ranks": 2, "launches": 1, "rounds": 1, "definition": "loop", "oversubscribe": True}
        (row,) = phicoll.measure("auto", **options).compare()[:1]
    assert row.chosen["spec"].startswith("tree:")
    assert row.chosen["why"].startswith("tuned: ")


# --- why


def test_why_names_row_or_rule(table):
    path = table(
        "allreduce processes 8/2 0 auto\nallreduce processes 8/2 4096 recursive-doubling\n"
        "allreduce processes 8/2 1000000 bruck\n"
    )
    rule = phicoll.why("allreduce", 8, 65536, placement="0")
    assert not rule.tuned
    assert rule.table is None
    assert rule.sharing
    assert rule.spec == rule.rule
    small = phicoll.why("allreduce", 8, 8, placement="0", tuning=path)
    assert not small.tuned
    assert "by rule, as " in small.reason
    assert small.to_bytes <= 4095
    large = phicoll.why("allreduce", 8, "64K", placement="0", tuning=path)
    assert large.tuned
    assert large.spec.startswith("recursive-doubling:")
    assert large.from_bytes == 4096
    assert large.rule == rule.spec
    assert "line 3" in large.reason
    assert "nearest" in large.reason
    ordered = phicoll.why("allreduce", 8, "1M", placement="0", tuning=path, commutative=False)
    assert not ordered.tuned
    assert "bruck of " in ordered.reason
    assert "cannot serve" in ordered.reason
    assert json.loads(json.dumps(large.to_dict()))["table"]["path"] == str(path)
    assert "because     tuned: " in str(large)
    assert "rule " in str(large)


@pytest.mark.parametrize("ranks", [2, 4])
def test_why_answers_what_a_communicator_does(ranks, monkeypatch):
    """For every call, by rule and if the environment chooses."""
    calls = [
        "barrier",
        "Bcast",
        "reduce",
        "gather",
        "Gatherv",
        "scatterv",
        "allgatherv",
        "alltoallv",
        "exscan",
    ]
    calls += ["reduce_scatter", "reduce_scatter_block"]

    def of_communicator():
        return phicoll.run(
            lambda comm: [comm.why(name, 40_000) for name in calls], ranks=ranks, mode="threads"
        )[0]

    def of_command():
        sizes = [0 if name == "barrier" else 40_000 for name in calls]
        found = [
            phicoll.why(name, ranks, size, mode="threads") for name, size in zip(calls, sizes, strict=True)
        ]
        return [(one.spec, one.reason, one.environment) for one in found]

    def same():
        for told, (spec, reason, _) in zip(of_communicator(), of_command(), strict=True):
            name, _, parameters = told.removesuffix(f": {reason}").partition(":")
            assert spec.startswith(name)
            assert set(parameters.split(":")) - {""} <= set(spec.split(":"))

    same()
    assert not any(environment for _, _, environment in of_command())
    for name, spec in (
        ("BARRIER", "sense-reversing"),
        ("BROADCAST", "binomial"),
        ("GATHER", "mailbox:cells=16"),
    ):
        monkeypatch.setenv(f"PHICOLL_{name}", spec)
    same()
    decided = {name: environment for name, (_, _, environment) in zip(calls, of_command(), strict=True)}
    assert {name: variable for name, variable in decided.items() if variable} == {
        "barrier": "PHICOLL_BARRIER",
        "Bcast": "PHICOLL_BROADCAST",
        "gather": "PHICOLL_GATHER",
        "Gatherv": "PHICOLL_GATHER",
    }


@pytest.mark.parametrize(
    ("machine", "ranks", "ends"),
    [
        ("epyc-7742", 16, 0),
        ("epyc-7742", 64, 32 << 10),
        ("epyc-7742", 240, 32 << 10),
        (PHI, 64, 0),
        (PHI, 240, 2 << 10),
    ],
)
def test_many_ranks_pass_small_broadcasts_through_the_levels(machine: str, ranks: int, ends: int) -> None:
    def chosen(size: int) -> dict[str, object]:
        found = _core.choose(
            operation="broadcast", size=size, ranks=ranks, mode="simulated", placement="balanced", machine=machine,
            tuning="", foreign="", type="float32", op="sum", vector=False, commutative=True, memory_limit=64 << 20,
        )  # fmt: skip
        return dict(found["choice"])

    assert chosen(ends)["algorithm"] == "ring"
    assert chosen(ends)["from_bytes"] == ends
    if ends:
        below = chosen(ends - 1)
        assert str(below["spec"]).startswith("hierarchical:group=nested:piece=2048:")
        assert (below["from_bytes"], below["to_bytes"]) == (0, ends - 1)


def test_why_says_that_the_environment_decided(monkeypatch):
    monkeypatch.setenv("PHICOLL_BROADCAST", "binomial")
    found = phicoll.why("broadcast", 2, 64)
    assert found.call == "broadcast"
    assert found.reason == "PHICOLL_BROADCAST in the environment"
    assert "rule        ring:direct=1048576:far=copied: " in str(found)
    assert found.to_dict()["environment"] == "PHICOLL_BROADCAST"
    assert phicoll.why("broadcast", 2, 64, machine=PHI).environment == ""
    monkeypatch.setenv("PHICOLL_BROADCAST", "auto")
    assert phicoll.why("broadcast", 2, 64).spec.startswith("ring")
    monkeypatch.setenv("PHICOLL_BROADCAST", "nope")
    with pytest.raises(ArgumentError, match="PHICOLL_BROADCAST: got 'nope'"):
        phicoll.why("broadcast")
    monkeypatch.delenv("PHICOLL_BROADCAST")
    monkeypatch.setenv("PHICOLL_ALLREDUCE", "bruck")
    with pytest.raises(ArgumentError, match=r"PHICOLL_ALLREDUCE: got bruck.*bit_identical=no"):
        phicoll.why("allreduce", 2, 64)
    assert phicoll.why("allreduce", 2, 64, type="int32").spec.startswith("bruck")


def test_why_asks_the_table_as_a_call_with_counts_does(table):
    path = table("gather processes 8/2 0 auto\ngather processes 8/2 4096 mailbox:cells=32\n")
    assert phicoll.why("gather", 8, "64K", placement="0", tuning=path).tuned
    assert not phicoll.why("gatherv", 8, "64K", placement="0", tuning=path).tuned
    assert phicoll.why("gatherv", 8, "64K", placement="0", tuning=path).call == "gatherv"


def test_why_asks_the_model_and_counts_what_was_assumed():
    found = phicoll.why("barrier", 16, machine=PHI)
    assert found.mode == "simulated"
    assert found.cpus == 240
    modelled = phicoll.why("broadcast", 16, 64, machine=PHI, tuning="none")
    assert (modelled.prediction is None) == modelled.no_prediction.startswith("none")
    assert phicoll.why("broadcast", 16, "4K", machine=PHI, tuning="none").no_prediction == (
        "none: ring is not modelled"
    )
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PHICOLL_TUNING", "none")
        assert phicoll.why("barrier", 2).no_prediction.startswith("none: name a machine file")


def test_why_predicts_what_a_row_names(table):
    path = table("broadcast simulated 16/240 0 model-tree\n")
    found = phicoll.why("broadcast", 16, 64, machine=PHI, tuning=path)
    assert found.tuned
    assert found.prediction is not None
    assert 0 < found.prediction.low_ns <= found.prediction.high_ns
    assert f"of {len(found.prediction.used)} constants assumed" in str(found)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"operation": "allreduse"}, "operation"),
        ({"operation": "barrier", "ranks": 0}, "ranks"),
        ({"operation": "barrier", "ranks": 2000}, "ranks"),
        ({"operation": "barrier", "mode": "simulated"}, "mode"),
        ({"operation": "barrier", "mode": "threads", "machine": PHI}, "mode"),
        ({"operation": "barrier", "ranks": 241, "machine": PHI}, "ranks"),
        ({"operation": "broadcast", "commutative": False}, "commutative"),
        ({"operation": 5}, "operation"),
        ({"operation": "GATHERV"}, "operation"),
        ({"operation": "broadcast", "size": [8, 16]}, "size"),
        ({"operation": "broadcast", "size": -1}, "size"),
        ({"operation": "allreduce", "size": 3}, "size"),
        ({"operation": "barrier", "tuning": "/nowhere/at.all"}, "tuning"),
        ({"operation": "barrier", "foreign": "perhaps"}, "foreign"),
        ({"operation": "barrier", "model": "no-such-machine"}, None),
    ],
)
def test_why_refuses(arguments, named):
    with pytest.raises(ArgumentError) as raised:
        phicoll.why(**arguments)
    assert named is None or raised.value.argument == named


# --- tables


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("allreduce processes 8/2 0 one-shut\n", [":2: algorithm 'one-shut'", "nearest: one-shot"]),
        ("\n# fine\nallreduce proceses 8/2 0 one-shot\n", [":4: mode 'proceses'", "threads, processes"]),
        ("allreduce processes 8 0 one-shot\n", [":2: '8'", "ranks/CPUs such as 8/2"]),
        ("barrier threads 8/2 0 tree:degree=1\n", [":2: tree:degree '1'", "2 to 1024"]),
    ],
)
def test_a_bad_line_is_named_wherever_a_table_is_read(table, text, said):
    path = table(text)
    for read in (
        lambda: tuning.load_table(path),
        lambda: phicoll.run(ask, ranks=2, tuning=path),
        lambda: phicoll.run(ask, ranks=2, mode="threads", tuning=path),
        lambda: phicoll.why("barrier", 2, tuning=path),
    ):
        with pytest.raises(ArgumentError) as raised:
            read()
        assert raised.value.argument == "tuning"
        message = str(raised.value)
        assert message.startswith(f"tuning: got {path}")
        assert all(part in message for part in said), message


def test_another_hosts_table_is_refused_or_used_with_a_warning(table, capfd):
    path = table("host 3 cpus, Another CPU\n" + for_two("barrier", "threads", "0 tree"))
    with pytest.raises(
        ArgumentError, match=r"a table of host '3 cpus, Another CPU'.*PHICOLL_TUNING_FOREIGN=use"
    ):
        phicoll.run(ask, ranks=2, mode="threads", tuning=path)
    assert "tuned: " in phicoll.run(ask, ranks=2, mode="threads", tuning=path, tuning_foreign="use")[0][3]
    assert "warning: " in capfd.readouterr().err
    with pytest.raises(ArgumentError, match="a table of machine 'elsewhere'"):
        phicoll.why("barrier", 2, machine=PHI, tuning=table("machine elsewhere\n"))


def test_a_pinned_program_takes_the_hosts_table(table):
    """An MPI pins each rank to a CPU: the table is still this host's."""
    path = table(f"host {_core.host_fingerprint()}\n" + for_two("barrier", "threads", "0 tree"))
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert "tuned: " in phicoll.run(ask, ranks=2, mode="threads", tuning=path)[0][3]
    finally:
        os.sched_setaffinity(0, allowed)


def test_run_refuses_what_is_no_path():
    with pytest.raises(ArgumentError, match="tuning: got 3"):
        phicoll.run(ask, ranks=2, tuning=3)


def test_sizes_speak_for_their_neighbourhood_and_equal_neighbours_are_one_row():
    assert thresholds([8, 512, 8192]) == [0, 65, 2049]
    assert thresholds([8192]) == [4096]  # and below it nothing is known
    points = [Point("allreduce", "processes", 2, 2, size) for size in (8, 512, 8192)]
    gain = Gain(1.5, 1.2, 1.7, 0.97, 12, 40)
    specs = ("auto", "sliced", "sliced")
    decisions = [
        Decision(point, "one-shot", 100.0, spec, gain, spec, gain)
        for point, spec in zip(points, specs, strict=True)
    ]
    rows = rows_of(decisions)
    assert [(row.from_bytes, row.spec) for row in rows] == [(0, "auto"), (65, "sliced")]
    assert rows[1].comment.count("measured gain 1.50 (1.20 to 1.70)") == 2
    assert merged(rows) == rows
    above = rows_of(decisions[2:])
    assert [(row.from_bytes, row.spec) for row in above] == [(0, "auto"), (4096, "sliced")]
    assert Decision.from_dict(json.loads(json.dumps(decisions[0].to_dict()))) == decisions[0]
    found = Tuned(decisions, {}, "", None, "measure", False)
    assert found.gain == pytest.approx(1.5)
    assert "1.500 (2 of 3 points changed)" in str(found)


def test_the_best_one_everywhere_is_chosen_on_odd_rounds_and_judged_on_even_ones():
    gain = Gain(1.0, 0.9, 1.1, 0.97, 12, 40)
    point = Point("allreduce", "processes", 2, 2, 8)
    even, odd = {"rule": 1.0, "x": 0.5, "y": 0.8}, {"rule": 1.0, "x": 0.9, "y": 0.7}
    one = Decision(point, "rule", 100.0, "auto", gain, "x", gain, ratios=even, odd_ratios=odd)
    (summary,) = Tuned([one], {}, "", None, "measure", False).summaries()
    assert summary.single == "y"
    assert summary.single_gain == pytest.approx(1.25)


def test_a_model_s_loss_counts_where_it_was_resolved():
    alike, longer = Gain(1.05, 0.9, 1.2, 0.97, 12, 40), Gain(1.5, 1.3, 1.7, 0.97, 12, 40)
    nothing = Gain(1.0, 1.0, 1.0, 1.0, 0, 0)
    decisions = [
        Decision(
            Point("allreduce", "processes", 2, 2, size),
            *("one-shot", 100.0, "auto", nothing, "sliced", nothing),
            model="sliced",
            alike=True,
            model_loss=loss,
            model_loss_of_its_own=nothing,
        )
        for size, loss in ((8, alike), (512, longer), (8192, nothing))
    ]
    found = Tuned(decisions, {}, "", None, "measure", False)
    assert found.to_dict()["model"]["loss"] == pytest.approx(1.5)
    assert found.to_dict()["model"]["resolved"] == 1
    assert found.to_dict()["model"]["loss_of_its_own"] is None
    assert "took 1.500 times the time of the measured best (geometric mean over the 1 of 3 points" in str(
        found
    )
    assert "the best that the model knows: no difference was resolved at any of 3 points" in str(found)
    assert Decision.from_dict(json.loads(json.dumps(decisions[1].to_dict()))) == decisions[1]


def test_candidates_exist_for_every_operation():
    for operation in OPERATIONS:
        texts = tuning.candidates(operation)
        assert len(texts) >= 3
        assert len(expand(texts, operation)) == len(texts)
        assert "auto" not in texts


# --- decisions


def decided(made_up, rule_lines: float, other_lines: float):
    subjects = [MadeUpSubject("tree", rule_lines), MadeUpSubject("dissemination", other_lines)]
    results = made_up(subjects=subjects, definitions=("loop",), launches=12, rounds=4)
    known = ModelChoice("dissemination", True, ("dissemination", "tree"), {}, ("overhead",), 3)
    return decide(Point("barrier", "threads", 2, 2, 0), "tree", results, known)


def test_a_challenger_must_be_resolved_faster(made_up):
    found = decided(made_up, 2.0, 1.0)
    assert found.spec == "dissemination"
    assert found.gain.resolved
    assert found.gain.median == pytest.approx(2, rel=0.1)
    assert found.model_gain == found.best_gain
    assert (found.assumed, found.used) == (1, 3)
    assert found.model_loss.median == 1  # it is the best
    assert found.odd_ratios["dissemination"] == pytest.approx(0.5, rel=0.1)
    assert found.ratios["dissemination"] == pytest.approx(0.5, rel=0.1)
    slower = decided(made_up, 1.0, 2.0)
    assert slower.spec == "auto"
    assert slower.gain.median == 1
    assert slower.best_gain.median < 1
    assert slower.model_loss.resolved
    assert slower.model_loss.median == pytest.approx(2, rel=0.1)
    same = decided(made_up, 1.0, 1.0)
    assert same.spec == "auto"
    assert "none of 1 resolved faster" in same.comment()


def test_nothing_is_decided_without_the_rule(made_up):
    results = made_up(subjects=[MadeUpSubject("dissemination", 1.0)], definitions=("loop",))
    assert decide(Point("barrier", "threads", 2, 2, 0), "tree", results) is None
    alone = made_up(subjects=[MadeUpSubject("tree", 1.0)], definitions=("loop",))
    assert decide(Point("barrier", "threads", 2, 2, 0), "tree", alone) is None
    failed = [MadeUpSubject("tree", 1.0, verified=False), MadeUpSubject("dissemination", 1.0)]
    results = made_up(subjects=failed, definitions=("loop",))
    assert decide(Point("barrier", "threads", 2, 2, 0), "tree", results) is None


# --- tuning a simulated machine: deterministic

QUICK = {
    "machine": PHI,
    "ranks": 4,
    "rounds": 12,
    "progress": False,
}
FEW = ["dissemination:ways=3", "tree:degree=6", "centralized-lines"]


def tune_barrier(**options):
    return phicoll.tune("barrier", algorithm=FEW, **QUICK, **options)


def test_tuning_a_simulated_machine_writes_a_table_that_auto_uses(tmp_path: Path, monkeypatch):
    path = tmp_path / "phi.tuning"
    found = tune_barrier(save=path)
    (decision,) = found.decisions
    assert decision.point == Point("barrier", "simulated", 4, 240, 0)
    assert len(decision.ratios) == 4
    assert decision.rule_ns > 0
    best = min(decision.ratios, key=lambda spec: decision.ratios[spec])
    if decision.spec == "auto":
        assert best == decision.rule or not (decision.best_gain.resolved and decision.best_gain.low > 1)
    else:
        assert decision.spec == best != decision.rule
    assert found.path == path
    assert path.read_text() == found.text
    assert tuning.load_table(path).rows == tuple(found.rows)
    assert tune_barrier().text == found.text  # nothing is left to chance
    monkeypatch.setenv("PHICOLL_TUNING", str(path))
    auto = phicoll.measure("auto", machine=PHI, ranks=4, rounds=1, calls=3).compare()[0]
    assert str(path) in auto.chosen["why"]
    assert decision.spec.split(":")[0] in (auto.chosen["spec"].split(":")[0], "auto")


def test_tuning_a_bad_rule_replaces_it(tmp_path: Path):
    """The rule's place is taken by what is faster, whatever the rule is: here the slowest is put in its place."""
    point = Point("barrier", "simulated", 8, 240, 0)
    results = phicoll.measure(FEW, machine=PHI, ranks=8, rounds=12, calls=3)
    slowest = max(results.compare(), key=lambda row: row.time.median).subject.spec
    found = decide(point, slowest, results)
    assert found.spec != "auto"
    assert found.gain.low > 1


def test_what_a_file_has_for_other_groups_stays_and_resume_goes_on(tmp_path: Path):
    path = tmp_path / "phi.tuning"
    path.write_text(
        HEAD
        + f"machine {PHI}\nbarrier simulated 9/240 0 tree  # mine\nbarrier simulated 4/240 0 all-to-all\n"
    )
    first = tune_barrier(save=path)
    assert "barrier simulated 9/240 0 tree  # mine" in path.read_text()
    assert "all-to-all" not in path.read_text()
    again = tune_barrier(save=path, resume=True)
    assert again.decisions == first.decisions
    with pytest.raises(ArgumentError, match="save: got"):
        phicoll.tune("barrier", algorithm=FEW, machine="xeon-phi-se10p", ranks=4, save=path)
    other = tmp_path / "other.tuning"
    (tmp_path / "other.tuning.jsonl").write_text('{"tuning": 1, "machine": "elsewhere"}\n')
    with pytest.raises(ArgumentError, match="resume"):
        tune_barrier(save=other, resume=True)


def test_resume_with_others_keeps_what_was_decided(tmp_path: Path):
    path = tmp_path / "phi.tuning"
    options = {"machine": PHI, "ranks": 4, "by": "model", "save": path, "progress": False}
    first = phicoll.tune("broadcast", sizes="64,4K", **options)
    rest = phicoll.tune("broadcast,barrier", sizes="64K", resume=True, **options)
    assert [one.point.size for one in rest.decisions] == [64, 4096, 65536, 0]
    assert rest.decisions[:2] == first.decisions
    assert "at 64 B" in path.read_text()
    anew = phicoll.tune("broadcast", sizes="64K", **options)
    assert [one.point.size for one in anew.decisions] == [65536]
    assert "at 64 B" not in path.read_text()


def test_a_decision_that_cannot_be_read_is_named_by_its_line(tmp_path: Path):
    path = tmp_path / "phi.tuning"
    tune_barrier(save=path)
    journal = tmp_path / "phi.tuning.jsonl"
    head, *decisions = journal.read_text().splitlines()
    journal.write_text("\n".join([head, "nonsense", *decisions, ""]))
    with pytest.raises(ArgumentError, match=r"phi\.tuning\.jsonl:2: 'nonsense'"):
        tune_barrier(save=path, resume=True)


def test_a_table_that_another_run_tunes_is_refused(tmp_path: Path):
    path, journal = tmp_path / "phi.tuning", tmp_path / "phi.tuning.jsonl"
    tune_barrier(save=path)
    before = path.read_bytes(), journal.read_bytes()
    with Appended(journal, "save"):
        for resume in (False, True):
            with pytest.raises(
                ArgumentError, match=r"save: got '.*phi\.tuning\.jsonl', which another run is"
            ):
                tune_barrier(save=path, resume=resume)
    assert (path.read_bytes(), journal.read_bytes()) == before
    tune_barrier(save=path, resume=True)


def test_a_run_that_is_refused_leaves_no_journal(tmp_path: Path):
    (tmp_path / "phi.tuning").write_text(HEAD + "machine xeon-phi-se10p\n")
    with pytest.raises(ArgumentError, match="save: got"):
        tune_barrier(save=tmp_path / "phi.tuning")
    assert [one.name for one in tmp_path.iterdir()] == ["phi.tuning"]


def test_costs_that_a_table_has_stay_where_no_model_gives_others(tmp_path: Path):
    path = tmp_path / "here.tuning"
    path.write_text(
        HEAD
        + "machine host\n"
        + f"host {_core.host_fingerprint()}\ncost local 77  # mine\nnumber rotate 4096\n"
    )
    here = Setting(
        "", "host", _core.host_fingerprint(), 2, "compact", "loop", ["threads"], None, None, None, None
    )
    run = Run(here, "measure", {}, path, None, False)
    assert run.costs == {"local": 77}
    run.write()
    assert "cost local 77\nnumber rotate 4096\n" in path.read_text()
    assert run.head()["costs"] == {"local": 77}


def test_a_model_of_another_host_is_used_with_a_warning(tmp_path: Path):
    path = tmp_path / "elsewhere.json"
    host = {"cpu": "Some CPU", "allowed_cpus": 4096, "clock_mhz": 1}
    path.write_text(json.dumps({"phicoll": "machine", "name": "elsewhere", "host": host, "model": {}}))
    with pytest.warns(PhicollWarning, match="not this host's, but is used: its processor is 'Some CPU'"):
        phicoll.why("barrier", 2, model=path, foreign="use")
    with pytest.raises(ArgumentError, match="model: got"):
        phicoll.why("barrier", 2, model=tmp_path / "none.json")


def test_a_model_of_another_host_is_refused_where_that_is_asked_for(tmp_path: Path, capsys):
    path = tmp_path / "elsewhere.json"
    host = {"cpu": "Some CPU", "allowed_cpus": 4096, "clock_mhz": 1}
    path.write_text(json.dumps({"phicoll": "machine", "name": "elsewhere", "host": host, "model": {}}))
    refused = r"^model: got .*its processor is 'Some CPU'.*; allowed: .* any with foreign=use"
    with pytest.raises(ArgumentError, match=refused):
        phicoll.why("barrier", 2, model=path, foreign="refuse")
    with pytest.raises(ArgumentError, match=refused):
        phicoll.tune("barrier", ranks=2, by="model", model=path, model_foreign="refuse", progress=False)
    with pytest.raises(ArgumentError, match="foreign: got 'warn'; allowed: refuse, use"):
        phicoll.why("barrier", 2, foreign="warn")
    # A simulated machine is not a host: the caller may choose any model for it.
    assert phicoll.why("barrier", 2, machine=PHI, model=path, foreign="refuse").prediction is None
    for words in ("why barrier", "tune barrier --ranks 2 --by model --set no-progress"):
        command = words.split()
        named = [*command, "--model", str(path)]
        for asked in ([], ["--foreign", "refuse"]):
            assert main([*named, *asked]) == 2
            assert "any with foreign=use" in capsys.readouterr().err
        assert main([*named, "--foreign", "use"]) == 0
        assert "is not this host's, but is used" in capsys.readouterr().err
    assert main([*command, "--foreign", "use"]) == 2
    assert "foreign: got use without a model; allowed: with --model FILE" in capsys.readouterr().err


def test_ctrl_c_keeps_what_was_decided_and_resume_decides_the_rest(tmp_path: Path, monkeypatch):
    path = tmp_path / "phi.tuning"
    options = {"algorithm": FEW, "machine": PHI, "ranks": "4,8", "save": path, "progress": False}
    one = Run.one

    def pressed(self, point, seconds):
        if point.ranks == 8:
            raise KeyboardInterrupt
        return one(self, point, seconds)

    with monkeypatch.context() as patched:
        patched.setattr(Run, "one", pressed)
        first = phicoll.tune("barrier", **options)
    assert first.interrupted
    assert [decision.point.ranks for decision in first.decisions] == [4]
    assert {row.ranks for row in tuning.load_table(path).rows} == {4}
    assert "PHICOLL_TUNING" not in os.environ
    with (tmp_path / "phi.tuning.jsonl").open("a") as journal:
        journal.write('{"point": {"oper')  # a run that was killed while it wrote
    rest = phicoll.tune("barrier", resume=True, **options)
    assert not rest.interrupted
    assert [decision.point.ranks for decision in rest.decisions] == [4, 8]
    assert rest.decisions[0] == first.decisions[0]
    assert {row.ranks for row in tuning.load_table(path).rows} == {4, 8}


def test_points_without_time_are_named(tmp_path: Path):
    found = phicoll.tune("barrier", ranks="2,3", budget_s=6e-5, save=tmp_path / "t.tuning", progress=False)
    assert found.decisions == []
    assert set(found.undecided.values()) == {"no time was left: give more seconds, or resume"}
    assert tuning.load_table(tmp_path / "t.tuning").rows == ()  # everything by the rules


def test_what_cannot_be_decided_is_said():
    # One changes the order of summation, the other is the rule's choice.
    found = phicoll.tune("allreduce", algorithm="bruck,one-shot", sizes=8, **QUICK)
    assert found.decisions == []
    assert list(found.undecided) == ["allreduce 4/240 simulated 8 B"]
    assert "undecided: allreduce 4/240 simulated 8 B: nothing to try but the rule" in str(found)


def test_tuning_by_model_runs_nothing_and_says_what_was_assumed(tmp_path: Path):
    path = tmp_path / "phi.tuning"
    found = phicoll.tune(
        "broadcast,barrier", machine=PHI, ranks="16,32", sizes="64,4K", by="model", save=path, progress=False
    )
    assert found.decisions
    assert all(decision.by == "model" for decision in found.decisions)
    assert all(decision.alike is not None and decision.model for decision in found.decisions)
    kept = [decision for decision in found.decisions if decision.rule not in decision.modelled]
    assert kept  # the model does not know them, and so cannot tell that anything is faster
    assert all(decision.rule_unknown and decision.spec == "auto" for decision in kept)
    assert "the model does not know the rule" in str(found)
    assert "it does not know ring:direct=2097152:far=copied, which stays" in found.text
    assert "by the model" in found.text
    assert "constants assumed" in found.text
    assert "cost local 86" in found.text
    assert "choose alike at" in str(found)
    assert tuning.load_table(path).rows


def test_tuning_by_model_then_measurement_tries_fewer_and_says_how_close_the_model_came():
    options = {
        "sizes": 64,
        "algorithm": ["flat", "k-nomial:degree=2", "k-nomial:degree=4", "model-tree", "fibonacci"],
    }
    everything = phicoll.tune("broadcast", by="measure", **options, **QUICK)
    few = phicoll.tune("broadcast", by="model-then-measure", **options, **QUICK)
    assert few.decisions[0].tried < everything.decisions[0].tried
    assert few.decisions[0].tried <= 3
    (loss,) = everything.model_losses()
    assert loss.median > 0.9
    assert ("the model's choice took" in str(everything)) == loss.resolved


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"operations": "allreduse"}, "operations"),
        ({"by": "guess"}, "by"),
        ({"definition": "loop,window"}, "definition"),
        ({"by": "model"}, "model"),
        ({"mode": "simulated"}, "mode"),
        ({"mode": "threads", "machine": PHI}, "mode"),
        ({"ranks": 0}, "ranks"),
        ({"ranks": 241, "machine": PHI}, "ranks"),
        ({"budget_s": 0}, "budget_s"),
        ({"budget_s": "soon"}, "budget_s"),
        ({"launches": 3, "machine": PHI}, "launches"),
        ({"algorithm": "tree"}, "algorithm"),
        ({"operations": "barrier", "algorithm": "trie"}, "algorithm"),
        ({"resume": True}, "resume"),
        ({"save": "/nowhere/at/all.tuning"}, "save"),
        ({"machine": "no-such-machine"}, "machine"),
        ({"sizes": "many"}, "sizes"),
        ({"sizes": -1}, "sizes"),
        ({"operations": "barrier,allreduce", "sizes": 6}, "sizes"),
    ],
)
def test_tune_refuses(arguments, named):
    with pytest.raises(ArgumentError) as raised:
        phicoll.tune(**arguments)
    assert raised.value.argument == named


# --- measured, in short


def test_tuning_this_machine(tmp_path: Path):
    path = tmp_path / "here.tuning"
    found = phicoll.tune(
        "barrier",
        algorithm=["dissemination", "tree", "all-to-all"],
        ranks=2,
        mode="threads",
        budget_s=6,
        launches=2,
        rounds=2,
        save=path,
        progress=False,
    )
    assert [decision.point.ranks for decision in found.decisions] == [2]
    assert f"host {_core.host_fingerprint()}\n" in path.read_text()
    assert (
        phicoll.why("barrier", 2, mode="threads", tuning=path).table.digest == tuning.load_table(path).digest
    )


# --- the command line


def test_commands(phicoll_command, tmp_path: Path):
    path = tmp_path / "phi.tuning"
    words = [
        "tune",
        "barrier",
        "--algorithm",
        ",".join(FEW),
        "--machine",
        PHI,
        "--ranks",
        "4",
    ]
    done = phicoll_command(*words, "-o", path)
    assert done.returncode == 0, done.stderr
    assert "geometric means over the points" in done.stdout
    assert f"wrote {path}" in done.stdout
    done = phicoll_command("why", "barrier", "--ranks", "4", "--machine", PHI, "--tuning", path, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["table"]["path"] == str(path)
    done = phicoll_command("why", "allreduce", "--ranks", "8", "--size", "65536", "--mode", "processes")
    assert done.returncode == 0
    assert "because" in done.stdout
    bad = tmp_path / "bad.tuning"
    bad.write_text(HEAD + "barrier threads 2/2 0 trie\n")
    done = phicoll_command("why", "barrier", "--tuning", bad)
    assert done.returncode == 2
    assert done.stderr.startswith(f"phicoll: tuning: got {bad}:2: algorithm 'trie'")
    done = phicoll_command("tune", "--by", "model", env={**os.environ})
    assert done.returncode == 2
    assert done.stderr.startswith("phicoll: model: got none")
    for words, said in (
        (("why", "barrier", "--size", "8"), "size"),
        (("why", "allreduce", "--size", "-1"), "size: got '-1'"),
        (("why", "allreduce", "--memory-limit", "x"), "memory-limit: got 'x'"),
        (("tune", "--sizes", "-1"), "sizes: got '-1'"),
    ):
        done = phicoll_command(*words)
        assert done.returncode == 2
        assert done.stderr.startswith(f"phicoll: {said}")


def test_quick_measures_the_hosts_numbers_and_keeps_them(phicoll_command, tmp_path: Path):
    if _core.allowed_cpu_count() < 2:
        pytest.skip("one CPU: no two ranks could measure")
    env = {"XDG_CACHE_HOME": str(tmp_path), "PHICOLL_CALIBRATION": "on"}
    found = json.loads(phicoll_command("tune", "--quick", "--json", env=env).stdout)
    assert found["host"] == _core.host_kind()
    assert set(found["numbers"]) == set(found["defaults"])
    kept = Path(found["file"])
    assert kept.parent == tmp_path / "phicoll"
    assert f"number rotate {found['numbers']['rotate']}\n" in kept.read_text()
    # As an undisturbed measurement leaves them, and then as a disturbed one.
    rotate = kept.read_text().replace("number rotate", "number rotate 4099\n#")
    for seen, attempts, said in (
        ("1", "0", "(host's numbers, measured here)"),
        ("1", "2", "measured here; the last calibration was disturbed"),
        ("0", "0", "(host's numbers, from the file)"),
    ):
        text = rotate.replace("number disturbed", f"number disturbed {attempts}\n#")
        kept.write_text(text.replace("number numbers-seen", f"number numbers-seen {seen}\n#"))
        text = phicoll_command("why", "scan", "--size", "5000", env=env).stdout
        assert "rotate=4099" in text
        assert said in text
    own = tmp_path / "own.tuning"
    own.write_text("phicoll tuning 1\nnumber rotate 4101\n")
    text = phicoll_command("why", "scan", "--size", "5000", "--tuning", own, env=env).stdout
    assert "rotate=4101 (host's numbers, from the table)" in text
    off = phicoll_command("why", "scan", "--size", "5000", env={**env, "PHICOLL_CALIBRATION": "off"}).stdout
    assert "rotate=24576 (host's numbers, default)" in off
    again = phicoll_command("tune", "--quick", env=env).stdout
    assert f"kept in {kept}" in again
    nowhere = phicoll_command("tune", "--quick", env={**env, "XDG_CACHE_HOME": "/proc/nowhere"}).stdout
    assert "not kept" in nowhere
    refused = phicoll_command("tune", "allreduce", "--quick", env=env)
    assert refused.returncode == 2
    assert "quick: got with operations" in refused.stderr


@pytest.mark.parametrize("use", ["off", "read"])
def test_quick_does_not_measure_what_the_environment_forbids(use: str, phicoll_command, tmp_path: Path):
    env = {"XDG_CACHE_HOME": str(tmp_path), "PHICOLL_CALIBRATION": use}
    refused = phicoll_command("tune", "--quick", env=env)
    assert refused.returncode == 2
    assert f"PHICOLL_CALIBRATION: got '{use}'; allowed: on" in refused.stderr
    assert not (tmp_path / "phicoll").exists()


def test_why_names_a_number_at_which_another_rule_turns_too(phicoll_command, tmp_path: Path):
    """Two ranks read in place from 1 MB on, where they also begin to split the work."""
    env = {"XDG_CACHE_HOME": str(tmp_path), "PHICOLL_CALIBRATION": "read"}
    text = phicoll_command("why", "allreduce", "--ranks", "2", "--size", "2M", env=env).stdout
    assert "read where it lies" in text
    assert "direct=1048576" in text


def test_why_says_from_where_on_blocks_are_stored_where_they_go(phicoll_command, tmp_path: Path):
    env = {"XDG_CACHE_HOME": str(tmp_path), "PHICOLL_CALIBRATION": "read"}

    def why(operation: str, size: str) -> str:
        return phicoll_command("why", operation, "--ranks", "2", "--size", size, env=env).stdout

    for operation, below, at in (
        ("allgather", "32K", "64K"),
        ("alltoall", "1K", "256K"),
        ("gather", "64K", "128K"),
    ):
        assert "stored where they go" not in why(operation, below)
        assert "stored where they go" in why(operation, at)
    assert "65,535" in why("allgather", "32K")
    assert "65,536" in why("allgather", "256K")
    assert "read where it lies" in why("scatter", "4M")
