"""Validation: what is compared, what a verdict takes, and that the shipped machines keep what they were calibrated on."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import phicoll
import phicoll.papers.validation
from conftest import page_written_twice
from phicoll.cli import main
from phicoll.models.constants import published_tables as published
from phicoll.papers.claims import CALIBRATED as SET, CANNOT, FAILS, HOLDS, UNRESOLVED, report
from phicoll.papers.validation import guesses, points, programs, today
from phicoll.papers.validation.judges import JUDGES, Judge
from phicoll.papers.validation.quantity import CALIBRATED, HELD_OUT, Quantity, number
from phicoll.papers.validation.ranked import judged, verdict_over
from phicoll.papers.validation.transfers import fit


@pytest.fixture(scope="module")
def phi():
    return phicoll.validate("xeon-phi-5110p", quick=True, progress=False)


@pytest.fixture(scope="module")
def se10p():
    return phicoll.validate("xeon-phi-se10p", quick=True, progress=False)


def test_calibrated_quantities_are_within_their_bound(phi, se10p):
    bad = [(q.name, round(q.error, 3)) for v in (phi, se10p) for q in v.calibrated if q.verdict != HOLDS]
    assert not bad
    assert phi.good
    assert se10p.good
    assert all(q.bound == 0.05 for v in (phi, se10p) for q in v.calibrated)


def test_what_is_calibrated_is_the_short_list_and_no_factor_over_another_library(phi, se10p):
    names = [q.name for v in (phi, se10p) for q in v.calibrated]
    assert len(names) == 16
    assert not any("Intel" in name or "surrogate" in name for name in names)
    assert sum(q.role == HELD_OUT for q in phi.quantities) > 100
    held_out = [q for q in se10p.quantities if q.role == HELD_OUT]
    assert len(held_out) >= 12
    assert all(q.source and q.claim for q in held_out)
    assert sum(q.group == "Programs over OpenSHMEM" for q in held_out) == 3


def test_failures_are_shown(phi):
    failing = [q for q in phi.quantities if q.verdict == FAILS]
    assert any("start-up" in q.name for q in failing)
    assert all(q.why for q in failing if q.role == HELD_OUT and q.group == "Messages of many lines")
    text = str(phi)
    for q in failing:
        assert q.name in text


def test_a_machine_judges_the_statements_of_its_judges(phi, se10p):
    for found in (phi, se10p):
        wanted = [n for judge in JUDGES if judge.machine == found.machine.name for n in judge.numbers]
        assert [f.claim.number for f in found.findings] == sorted(wanted)
        assert all(f.measured for f in found.findings)


def test_the_report_is_of_the_shipped_machines():
    for name, digest in report().machines.items():
        assert phicoll.load_machine(name).digest == digest, "make claims"


def test_two_seeds_never_resolve_an_order(phi):
    ranked = [f for f in phi.findings if "seeds" in f.values]
    assert len(ranked) > 10
    assert {f.verdict for f in ranked} == {UNRESOLVED}


def test_the_frame_has_a_row_for_each_quantity_and_statement(phi):
    frame = phi.to_dataframe()
    assert len(frame) == len(phi.quantities) + len(phi.findings)
    assert {"published", "simulated", "error", "verdict", "claim", "why"} <= set(frame.columns)
    assert json.dumps(phi.to_dict())


def test_the_page_is_the_same_twice_and_has_every_row(phi, tmp_path):
    text = page_written_twice(phi, tmp_path, largest=300_000)
    for q in phi.quantities:
        error = f"{q.error:+.1%}" if q.verdict == HOLDS else f"**{q.error:+.1%}**"
        shown = f"{number(q.published)}; {number(q.simulated)}; {error}"
        rows = [line for line in text.splitlines() if line.startswith(f"| {q.row or q.name}")]
        assert any(shown in row for row in rows), q.name
    assert all(f.claim.number in text for f in phi.findings)
    assert not any(f.measured in text for f in phi.findings)  # verdicts are on one page


def test_a_machine_that_misses_its_calibration_ends_with_exit_code_1(capsys):
    assert main(["validate", "sandy-bridge-e5-2670:table.near_modified=200", "--quick"]) == 1
    seen = capsys.readouterr()
    assert "state M, same-package" in seen.err


def test_the_table_machine_is_calibrated_and_claims_nothing(capsys):
    found = phicoll.validate("sandy-bridge-e5-2670", quick=True, progress=False)
    assert not any(q.role == HELD_OUT for q in found.quantities)
    assert [(f.claim.number, f.verdict) for f in found.findings] == [("004-43", SET), ("004-44", CANNOT)]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"machine": "xeon-phi-3120a"}, "nothing is published"),
        ({"machine": "xeon-phi-5110"}, "xeon-phi-5110p"),
        ({"seeds": 0}, "seeds"),
    ],
)
def test_bad_input_is_refused_before_anything_runs(arguments, words):
    with pytest.raises(phicoll.ArgumentError, match=words):
        phicoll.validate(**{"quick": True, **arguments})


@pytest.mark.parametrize(
    ("yes", "of", "verdict"),
    [(20, 20, HOLDS), (15, 20, HOLDS), (14, 20, UNRESOLVED), (6, 20, UNRESOLVED), (5, 20, FAILS), (5, 5, UNRESOLVED), (6, 6, HOLDS)],
)  # fmt: skip
def test_an_order_takes_enough_seeds(yes, of, verdict):
    assert verdict_over([True] * yes + [False] * (of - yes)) == verdict


def test_the_fit_finds_its_own_coefficients():
    n = [1, 2, 4, 8, 16]
    assert fit(n, [76 * k + 1521 - 1096 / k for k in n]) == pytest.approx((76, 1521, 1096))
    assert fit(n, [5.0 * k + 2 for k in n], inverse=False) == pytest.approx((5, 2, 0))


def test_a_quantity_knows_its_error():
    q = Quantity("g", "n", CALIBRATED, 100.0, 106.0, bound=0.05)
    assert q.error == pytest.approx(0.06)
    assert q.verdict == FAILS
    assert Quantity("g", "n", CALIBRATED, 100.0, float("nan")).verdict == FAILS
    assert number(12345.6) == "12,346"


def test_published_tables_are_whole():
    assert [len(published.PHI_PING_PONG[at]) for at in published.DISTANCES] == [6, 12, 12, 12]
    assert all(len(places) == 4 for places in published.PHI_READ.values())


def test_points_that_two_checks_want_run_once():
    ran = []

    class Counted(points.Kernel):
        def run(self):
            ran.append(self.spec)
            return [np.ones(2)]

    def check(name):
        found = yield [Counted("m", "same", 1, "w", 1), Counted("m", name, 1, "w", 1)]
        return [len(found)]

    with ThreadPoolExecutor(2) as executor:
        assert points.work_through([check("a"), check("b")], executor) == [[2], [2]]
    assert sorted(ran) == ["a", "b", "same"]


def test_guesses_are_halved_doubled_and_switched(monkeypatch, tmp_path, capsys):
    machine = phicoll.load_machine("xeon-phi-5110p")

    def check(at, _):
        (one,) = yield [points.Kernel(at, "read-latency:state=M:owner=other", 2, "scatter", 4)]
        mean = float(np.mean(one[0]))
        return [
            Quantity("Reads", "M", HELD_OUT, 235.8, mean),
            Quantity("Reads", "set", CALIBRATED, 1.0, mean),
        ]

    monkeypatch.setattr(guesses, "JUDGES", (Judge(machine.name, check),))
    page = tmp_path / "guesses.md"
    assert main(["validate", machine.name, "--guesses", "--json", "--page", str(page)]) == 0
    found = json.loads(capsys.readouterr().out)
    guessed = {entry.name: entry.value for entry in machine.entries if entry.kind == "guessed"}
    tried = {name: {row["value"] for row in found["rows"] if row["parameter"] == name} for name in guessed}
    assert tried["ring.inject"] == {guessed["ring.inject"] // 2, 2 * guessed["ring.inject"]}
    assert tried["memory.fill"] == {"join"}
    assert all(tried[name] or any(one.startswith(name) for one in found["left_out"]) for name in guessed)
    assert {row["name"] for row in found["rows"]} == {"M"}
    moved = {(row["parameter"], row["value"]): row["changed"] - row["simulated"] for row in found["rows"]}
    assert moved["ring.inject", 2 * guessed["ring.inject"]] > 0 == moved["memory.fill", "join"]
    assert f"ring.inject = {2 * guessed['ring.inject']}" in page.read_text()
    assert "](guesses-moves.svg)" in page.read_text()
    assert f"ring.inject = {2 * guessed['ring.inject']}" in (tmp_path / "guesses-moves.svg").read_text()


@pytest.mark.parametrize("name", ["epyc-7742", "kunpeng-920", "xeon-8375c"])
def test_a_machine_of_today_keeps_its_lines_and_what_was_predicted_of_it(name):
    found = phicoll.validate(name, quick=True, progress=False)
    assert found.good
    assert {q.role for q in found.quantities} == {CALIBRATED, HELD_OUT}
    predicted = today.frozen(name)
    points = today.points_of(name)
    assert {(f"{p.operation} {p.spec}", str(p.ranks), str(p.size)) for p in points} == {
        (what, n, size) for what, of in predicted.items() for n, sizes in of.items() for size in sizes
    }
    (first,) = (p for p in points if (p.operation, p.spec, p.ranks) == ("barrier", "auto", 16))
    assert first.run()[0] / 1000 == pytest.approx(predicted["barrier auto"]["16"]["0"], rel=1e-3), (
        "the model has changed: the page says what it was when the prediction was frozen"
    )


def test_a_guess_that_turns_a_verdict_is_named_with_what_it_makes(monkeypatch):
    def check(at, _):
        yield []
        return [judged("001-01", "ring.inject=" not in at, "t"), judged("001-02", True, "t")]

    judges = (Judge("xeon-phi-5110p", check, ("001-01", "001-02")), Judge("xeon-phi-5110p", programs.figure_5, ("001-21",)))  # fmt: skip
    monkeypatch.setattr(guesses, "JUDGES", judges)
    inject = phicoll.load_machine("xeon-phi-5110p").parameters["ring.inject"]
    told = []
    with ThreadPoolExecutor(1) as executor:
        found = guesses.turning(["xeon-phi-5110p"], executor, lambda *of: told.append(of))
    assert found["001-02"] == (HOLDS, ())
    verdict, turned = found["001-01"]
    assert verdict == HOLDS
    assert turned == tuple(f"ring.inject = {v} ({inject}): {FAILS}" for v in (inject // 2, 2 * inject))
    assert set(found) == {"001-01", "001-02"}, "slow checks are left out"
    assert told[-1][0] == told[-1][1]


def test_guesses_need_a_machine_of_which_something_is_held_out(capsys):
    assert main(["validate", "models", "--guesses"]) == 2
    assert main(["validate", "sandy-bridge-e5-2670", "--guesses", "--quick"]) == 2
    assert "quantities are held out" in capsys.readouterr().err


@pytest.mark.parametrize("name", phicoll.papers.validation.MACHINES)
def test_the_committed_page_is_of_the_shipped_machine(name):
    page = Path(__file__).parent.parent / "docs" / f"validation-{name}.md"
    digest = phicoll.load_machine(name).digest
    assert f"`{digest}`" in page.read_text(), f"write it again: phicoll validate {name} --page {page}"
