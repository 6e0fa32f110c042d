"""The models' validation: what is compared and judged, and that its page shows all of it."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest

import phicoll
from conftest import page_written_twice
from phicoll.cli import main
from phicoll.models import machine_model
from phicoll.papers.claims import UNRESOLVED
from phicoll.papers.validation.predictions import validate_models
from phicoll.papers.validation.predictions.outcome import HostPart
from phicoll.papers.validation.predictions.runs import OCCUPIED, REDUCE, TABLE_4_1
from phicoll.papers.validation.predictions.statements import MODELLED, SIMULATED, judge_models
from phicoll.papers.validation.predictions.validation import model_of_host
from phicoll.papers.validation.quantity import number


@pytest.fixture(scope="module")
def found():
    return validate_models(quick=True, progress=False)


def test_every_piece_has_both_sets_of_constants_and_a_simulated_time(found):
    assert {p.group for p in found.pieces} == {
        "One line there and back", "Messages of many lines", "Readers of one line", "Long messages"
    }  # fmt: skip
    for p in found.pieces:
        assert p.kind == "simulated"
        assert set(p.modelled) == {"published", "simulated"}
        assert np.isfinite(p.observed)
        assert p.observed > 0
        assert p.error("published") == pytest.approx(p.modelled["published"] / p.observed - 1)


def test_single_lines_with_the_machines_own_constants_come_out(found):
    (one,) = (p for p in found.pieces if p.name == "E to E, middle distance")
    assert abs(one.error("simulated")) < 0.1


def test_every_modelled_collective_is_held_against_runs_with_both_starts(found):
    for constants in ("published", "simulated"):
        for start in ("evicted", "warm"):
            rows = found.compared[constants][start].rows
            assert {r.subject.start for r in rows} == {start}
            assert {(r.subject.operation, r.subject.algorithm) for r in rows} >= {
                ("broadcast", "model-tree"), ("broadcast", "fibonacci"), ("broadcast", "pipelined-slices"),
                ("broadcast", "flat-large"), ("barrier", "dissemination-acknowledged"), ("reduce", "model-tree"),
                ("allreduce", "recursive-doubling"), ("allreduce", "bruck"),
            }  # fmt: skip
            assert not found.compared[constants][start].skipped


def test_the_papers_own_algorithms_run_in_its_form_and_their_share_is_told(found):
    for constants, of in found.compared.items():
        rows = of["evicted"].rows
        ran = {(r.subject.operation, r.name, r.subject.size_bytes): r for r in rows}
        assert set(TABLE_4_1) <= set(ran)
        specs = {key[1]: ran[key].spec for key in TABLE_4_1}
        assert ":occupied=yes" in specs["model-tree:occupied=yes"]
        assert ":buffers=parent" in specs[REDUCE]
        trees = [r for r in rows if r.subject.operation == "broadcast" and r.subject.size_bytes == 8]
        assert len(trees) == 12
        assert all(r.name.endswith(OCCUPIED) for r in trees)
        inside = [r.inside for r in rows if (r.subject.operation, r.name, r.subject.size_bytes) in TABLE_4_1]
        told = f"of the algorithms of table 4.1, evicted start {np.mean(inside):.0%}"
        assert any(constants in line and line.endswith(told) for line in found.summary())
    coverage = next(f for f in found.findings if f.claim.number == "004-32")
    assert "Of the algorithms of table 4.1" in coverage.measured


def test_statements_are_judged_or_not_resolved_and_numbered_once(found):
    numbers = [f.claim.number for f in found.findings]
    assert len(numbers) == len(set(numbers))
    assert set(numbers) == set(MODELLED) | set(SIMULATED)
    assert all(f.measured for f in found.findings)
    assert all(f.verdict == UNRESOLVED for f in found.findings if "seeds" in f.values)


def test_what_the_printed_numbers_decide():
    verdicts = {f.claim.number: f.verdict for f in judge_models(machine_model("xeon-phi-5110p"))}
    assert {n for n, v in verdicts.items() if v == "holds"} >= {
        "004-15",
        "004-16",
        "004-26",
        "004-27",
        "004-28",
    }
    assert verdicts["004-20"] == "does not hold"


def test_the_page_is_the_same_twice_and_has_every_piece_row_and_statement(found, tmp_path):
    text = page_written_twice(found, tmp_path, largest=400_000)
    for p in found.pieces:
        row = p.name.partition(", ")[0]
        errors = [p.error(n) for n in p.modelled]
        shown = [number(p.observed), *(f"{e:+.0%}" for e in errors if e is not None)]
        assert any(
            line.startswith(f"| {row} |") and "; ".join(shown) in line for line in text.splitlines()
        ), p.name
    for constants in found.compared.values():
        for start in constants.values():
            for r in start.rows:
                assert re.search(
                    rf"^\| {re.escape(f'{r.subject.operation} {r.name}')}(, [^|]+)? \|", text, re.MULTILINE
                )
    assert all(f.claim.number in text for f in found.findings)
    for label in ("published", "simulated", "modelled"):
        assert f"*{label}*" in text
    assert "nan" not in text


def test_what_was_measured_on_a_host_has_a_page_of_its_own(found, tmp_path):
    """`make claims` writes the simulated one anew on any host, and must not lose the other."""
    evicted = found.compared["published"]["evicted"]
    part = HostPart(machine_model("xeon-phi-5110p"), "A CPU", "2026-01-31", found.pieces, evicted)
    files = replace(found, host=part).page(tmp_path / "models.md")
    text, host = ((tmp_path / name).read_text() for name in ("models.md", "models-host.md"))
    assert "*Measured* on A CPU, 2026-01-31" in host
    assert "A CPU" not in text
    assert "measured samples" not in text
    assert "](models-host.md)" in text
    assert "](models.md)" in host
    assert {"models-host.md", "models-host-samples.svg"} <= {file.name for file in files}


def test_text_and_json_have_all_of_it(found):
    assert json.dumps(found.to_dict())
    assert all(f.claim.number in str(found) for f in found.findings)
    assert all(len(line) <= 100 for line in str(found).splitlines())
    assert len(str(found).splitlines()) <= 100
    assert "every value and row: --page FILE or --json" in str(found)
    assert len(found.to_dict()["bands"]) == sum(
        len(of.rows) for c in found.compared.values() for of in c.values()
    )


def test_another_machines_file_is_refused_before_anything_runs_or_used_with_a_warning(tmp_path, capsys):
    elsewhere = tmp_path / "other.json"
    found = phicoll.characterize(
        "quick", elsewhere, machine="xeon-phi-5110p", name="other", rounds=1, progress=False
    )
    assert found.path == elsewhere
    with pytest.raises(phicoll.ArgumentError, match=r"host: got .*; allowed: .* any with foreign=use"):
        validate_models(quick=True, host=elsewhere)
    assert main(["validate", "models", "--quick", "--host", str(elsewhere), "--foreign", "refuse"]) == 2
    assert "any with foreign=use" in capsys.readouterr().err
    with pytest.warns(phicoll.PhicollWarning, match="is not this host's, but is used"):
        assert model_of_host(elsewhere, "use").name == "other"
    with pytest.raises(phicoll.ArgumentError, match="foreign: got 'warn'; allowed: refuse, use"):
        validate_models(quick=True, host=elsewhere, foreign="warn")


@pytest.mark.parametrize("seeds", [0, 1001, True, "2"])
def test_bad_seeds_are_refused(seeds):
    with pytest.raises(phicoll.ArgumentError, match="seeds"):
        validate_models(seeds=seeds)


def test_the_command_takes_a_host_for_models_alone(capsys):
    assert main(["validate", "xeon-phi-5110p", "--host", "here.json"]) == 2
    assert "host" in capsys.readouterr().err
    for machine in ("xeon-phi-5110p", "models"):  # there is no file to be another machine's
        assert main(["validate", machine, "--foreign", "use"]) == 2
        assert "foreign: got use" in capsys.readouterr().err
