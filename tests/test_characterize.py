"""Characterising: a simulated Xeon Phi gives the published constants back; a host gives a file that says what it is."""

from __future__ import annotations

import json
import math
import re
import signal
import time
import warnings
from dataclasses import replace

import numpy as np
import pytest

import phicoll
from phicoll import _core
from phicoll.errors import ArgumentError, PhicollWarning
from phicoll.models import CONSTANTS, XEON_PHI_5110P, Constant, machine_model
from phicoll.models.characterizing import check_host, difference_to_host, is_this_host
from phicoll.models.characterizing.characterization import filled, warn_of_fits
from phicoll.models.characterizing.constants import derive
from phicoll.models.characterizing.observations import Launch, Observations
from phicoll.models.characterizing.plan import EFFORTS, PAIRS, Subject, subjects
from phicoll.models.characterizing.rounds import observe
from phicoll.models.characterizing.targets import Host, Simulated
from phicoll.models.fits.bandwidth_fit import fit_bandwidth

PHI = "xeon-phi-5110p"


@pytest.fixture(scope="module")
def phi(tmp_path_factory):
    path = tmp_path_factory.mktemp("phi") / "phi.json"
    return phicoll.characterize("quick", path, machine=PHI, family=None)


@pytest.mark.parametrize(
    ("name", "tolerance"),
    [
        ("line.local", 0.02),
        ("line.remote", 0.05),
        ("line.remote.M", 0.05),
        ("line.remote.E", 0.05),
        ("line.remote.S", 0.05),
        ("line.memory", 0.05),
        ("multi.EE.o", 0.10),
        ("multi.II.o", 0.10),
        ("contention.EE.c", 0.10),
    ],
)
def test_a_simulated_xeon_phi_shows_the_published_constants(phi, name, tolerance):
    constant = phi.model.constant(name)
    assert constant.kind == "simulated"
    assert constant.value == pytest.approx(XEON_PHI_5110P.value(name), rel=tolerance)


def test_its_overheads_are_the_published_ones_within_their_spread(phi):
    # 18 to 20 between cores (Table 2.6), 48 within one (Table 2.4): differences of ping-pongs of 497 and 74 ns.
    assert phi.model.value("overhead") == pytest.approx(18, abs=15)
    assert phi.model.value("overhead.same-core") == pytest.approx(48, abs=5)


def test_its_simplified_model_is_the_paper_s(phi):
    names = [set(cluster.names) for cluster in phi.clusters]
    assert {"line.remote.M", "line.remote.E", "line.remote.S"} in names
    assert {"line.local"} in names
    assert "one cluster" in phi.model.constant("line.remote").source


def test_what_it_cannot_show_says_why(phi):
    assert phi.model.constant("line.remote.F").source.endswith("has no state F")
    assert phi.model.constant("line.far.M").source == "the machine has one package"
    assert "context of a simulated machine" in phi.model.constant("switch").source
    with pytest.raises(ArgumentError, match=r"line\.far\.M: got undetermined"):
        phi.model.value("line.far.M")
    assert set(phi.model.constants) == set(CONSTANTS)


def test_its_fits_hold_on_points_that_they_did_not_see(phi):
    assert set(phi.fits) >= {f"multi.{pair}" for pair in PAIRS} | {f"contention.{pair}" for pair in PAIRS}
    assert phi.fits["contention.EE"].form.name == "contention"
    assert phi.fits["contention.IE"].form.name == "contention-memory"
    assert phi.fits["contention.EE"].held_out().relative_rms < 0.2
    assert "off on unseen points" in phi.model.constant("contention.EE.c").source


def test_its_file_is_a_machine_for_the_simulator_and_a_model(phi):
    machine = phicoll.load_machine(phi.path)
    assert machine.digest == phicoll.load_machine(PHI).digest
    assert machine.name == phi.model.name == f"{PHI}-simulated"  # its model is not the shipped machine's
    read = machine_model(phi.path)
    assert {n: c.value for n, c in read.constants.items()} == {
        n: c.value for n, c in phi.model.constants.items()
    }
    assert not is_this_host(phi.path)
    assert "no host" in difference_to_host(phi.path)


def test_the_same_seed_gives_the_same_file(phi):
    assert phicoll.characterize("quick", machine=PHI, family=None, rounds=3).text == phi.text


def test_samples_are_kept(phi):
    samples = phi.samples("near.E")
    assert samples.shape == (3, 80)
    assert phi.labels == {"remote": 3}
    with pytest.raises(ArgumentError, match="subject: got"):
        phi.samples("near.X")


def test_a_machine_of_two_packages_shows_its_far_lines():
    found = phicoll.characterize("quick", machine="sandy-bridge-e5-2670", family=None, rounds=1)
    for name in (
        "line.far.M",
        "line.far.E",
        "line.far.memory",
        "line.remote.M",
        "line.remote.E",
        "line.remote.F",
    ):
        assert found.model.value(name) == pytest.approx(
            machine_model("sandy-bridge-e5-2670").value(name), rel=0.1
        )
    assert found.model.constant("line.remote").kind == "simulated"
    assert "differ by more than their deviations" in found.model.constant("line.remote").source


def test_a_machine_of_two_cores_takes_contention_from_its_family():
    changed = "sandy-bridge-e5-2670:topology.packages=1:topology.cores=2"
    alone = phicoll.characterize("quick", machine=changed, family=None, rounds=1).model
    for name in ("contention.EE.c", "line.remote.S"):
        assert alone.constant(name).kind == "undetermined"
    with_family = phicoll.characterize("quick", machine=changed, rounds=1).model
    assumed = with_family.constant("contention.EE.c")
    assert assumed.kind == "assumed"
    ratio = with_family.value("line.remote") / XEON_PHI_5110P.value("line.remote")
    assert assumed.value == pytest.approx(XEON_PHI_5110P.value("contention.EE.c") * ratio, rel=1e-3)
    assert PHI in assumed.source
    assert "the ratio of line.remote" in assumed.source


# Made-up observations, as a host may show them.


def made_up(values: dict[str, float], label: str = "remote", rounds: int = 8) -> Observations:
    """Launches of constant subjects with a little noise."""
    random = np.random.default_rng(1)
    found = Observations(simulated=False)
    for number in range(rounds):
        found.labels[number] = label
        for name, value in values.items():
            subject = Subject(
                name.split("@")[0], f"made-up:{name}", 2, "near", 10, int((name + "@1").split("@")[1])
            )
            found.add(Launch(subject, number, "0,1", value * (1 + 0.01 * random.normal(size=10)), 0.0))
    return found


HERE = {"local.M": 2.0, "local.E": 2.0, "local.memory": 100.0, "near.M": 60.0, "near.E": 52.0, "near.memory": 104.0,
        "ping-pong.EE": 130.0, "switch": 900.0}  # fmt: skip


def test_an_overhead_is_what_the_reads_do_not_explain():
    constants = derive(made_up(HERE), "here").constants
    assert constants["overhead"].value == pytest.approx(130 - 2 - 52 - 60, abs=2)
    assert 0 < constants["overhead"].standard_error < 2
    assert constants["line.memory"].value == pytest.approx(102, rel=0.02)
    assert constants["switch"].value == pytest.approx(900, rel=0.02)


def test_a_switch_to_other_programs_is_none():
    constants = derive(made_up({**HERE, "switch": 1.2e6}), "here").constants
    assert constants["switch"].kind == "undetermined"
    assert "other programs" in constants["switch"].source


def test_same_core_rounds_are_fitted_apart():
    found = made_up(HERE)
    same = made_up({**HERE, "near.M": 2.1, "near.E": 2.1, "ping-pong.EE": 20.0}, "same-core")
    for launches in same.launches.values():
        for launch in launches:
            found.add(replace(launch, round=launch.round + 100))
    found.labels |= {number + 100: "same-core" for number in same.labels}
    constants = derive(found, "here").constants
    assert constants["line.remote.M"].value == pytest.approx(60, rel=0.02)
    assert constants["overhead.same-core"].value == pytest.approx(20 - 6, abs=1)
    only = derive(same, "here").constants
    assert only["line.remote.M"].kind == "undetermined"
    assert "no round had its CPUs on distinct cores (same-core)" in only["line.remote.M"].source


def test_mixed_rounds_show_only_what_one_core_shows():
    constants = derive(made_up(HERE, "mixed"), "here").constants
    known = {name for name, constant in constants.items() if constant.kind == "measured"}
    assert known == {"line.local", "line.memory", "switch"}
    assert "no round had its CPUs on distinct cores (mixed)" in constants["overhead"].source


def test_lines_that_cannot_be_evicted_are_no_memory():
    constants = derive(made_up({**HERE, "local.memory": 2.1, "near.memory": 2.2}), "here").constants
    assert constants["line.memory"].kind == "undetermined"
    assert "lines cannot be evicted" in constants["line.memory"].source
    assert "line.memory" in constants["bandwidth.F"].source


def test_data_that_say_nothing_leave_a_constant_undetermined_by_name():
    flat = {f"multi.EE@{n}": 500.0 for n in (1, 2, 4)}  # three points, three parameters
    constants = derive(made_up({**HERE, **flat}), "here").constants
    assert constants["multi.EE.o"].kind == "undetermined"
    assert "3 points for o N + q - p/N; it takes 4 or more" in constants["multi.EE.o"].source
    falling = {f"contention.EE@{n}": 900.0 - 40 * n for n in (1, 2, 3, 4, 6, 8)}
    constants = derive(made_up({**HERE, **falling}), "here").constants
    assert constants["contention.EE.c"].kind == "undetermined"
    assert "but must be above 0" in constants["contention.EE.c"].source


WILD = {n: 300 + 20.0 * n for n in (1, 2, 4, 8, 16, 32, 64, 128)} | {1: 2000.0}


def test_a_fit_that_misses_unseen_points_by_half_is_not_taken():
    made = derive(made_up({**HERE, **{f"multi.EI@{n}": ns for n, ns in WILD.items()}}), "here")
    for letter in "oqp":
        constant = made.constants[f"multi.EI.{letter}"]
        assert constant.kind == "undetermined"
        assert re.search(r"off on unseen points: more than 50%$", constant.source)
    assert made.fits["multi.EI"].held_out().relative_rms > 0.5  # it can still be looked at
    assert list(made.refused) == ["multi.EI"]
    with pytest.warns(
        PhicollWarning, match=r"multi\.EI is not used, but more rounds may determine it: .* more than 50%"
    ):
        warn_of_fits(made)
    steady = derive(made_up({**HERE, **{f"multi.EI@{n}": 300 + 20.0 * n for n in WILD}}), "here")
    assert steady.constants["multi.EI.o"].value == pytest.approx(20, rel=0.05)
    assert not steady.refused


@pytest.mark.parametrize(("error", "kind"), [(198.0, "undetermined"), (20.0, "measured")])
def test_lines_under_way_with_an_error_above_their_number_are_not_taken(monkeypatch, error, kind):
    def fitted(n, ns, **given):
        return replace(fit_bandwidth(n, ns, **given), in_flight_error=error, in_flight=197.0)

    monkeypatch.setattr("phicoll.models.characterizing.constants.fit_bandwidth", fitted)
    messages = {f"bandwidth@{n}": 200.0 + 20 * n for n in (512, 2048, 8192)}
    messages |= {f"multi.II@{n}": 200.0 + 20 * n for n in (1, 2, 4, 8, 16, 32)}
    made = derive(made_up({**HERE, **messages}), "here")
    assert {made.constants[f"bandwidth.{name}"].kind for name in "FP"} == {kind}  # neither without the other
    assert ("bandwidth" in made.refused) == (kind == "undetermined")
    if made.refused:
        assert "P = 197 with a standard error of 198" in made.constants["bandwidth.F"].source


def test_contention_needs_a_core_for_each_reader():
    constants = derive(made_up({**HERE, "contention.EE@1": 150.0}), "here").constants
    assert "2 cores show a line with 1 reader at most" in constants["contention.EE.c"].source
    assert "ranks that share a CPU" in constants["contention.II.c"].source
    assert not [s for s in subjects(EFFORTS["thorough"], cores=2) if s.n > 1 and s.place == "spread"]
    assert max(s.ranks for s in subjects(EFFORTS["thorough"], cores=16) if s.place == "spread") == 16 - 3


def test_a_family_fills_what_is_undetermined_and_says_so():
    constants = {
        "line.remote": Constant(117.9, "ns", "measured", "made up"),
        "contention.EE.c": Constant.undetermined("ns", "two CPUs"),
        "bandwidth.F": Constant.undetermined("1", "made up"),
        "switch": Constant.undetermined("ns", "made up"),
    }
    found = filled(constants, XEON_PHI_5110P)
    assert found["contention.EE.c"].value == pytest.approx(56.2 / 2, rel=1e-3)
    assert "two CPUs" in found["contention.EE.c"].source
    assert found["bandwidth.F"].value == XEON_PHI_5110P.value("bandwidth.F")  # a ratio has no unit to scale
    assert found["switch"].kind == "undetermined"  # the family has none either
    assert found["line.remote"] is constants["line.remote"]


# This host: structure, not numbers.


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    path = tmp_path_factory.mktemp("here") / "here.json"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PhicollWarning)
        found = phicoll.characterize("quick", path, name="mine", rounds=1, budget_s=0, lock_wait_s=100)
    return found


def test_a_host_gives_a_file_that_says_whose_it_is(here):
    file = json.loads(here.path.read_text())
    assert list(file) == ["phicoll", "name", "summary", "host", "model", "parameters"]
    assert file["host"] == {"cpu": _core.facts()["cpu_model"], "allowed_cpus": _core.allowed_cpu_count(),
                            "clock_mhz": file["host"]["clock_mhz"]}  # fmt: skip
    assert is_this_host(here.path)
    check_host(here.path)
    machine = phicoll.load_machine(here.path)
    assert machine.name == "mine"
    assert machine.parameters["topology.protocol"] == "table"
    assert machine.evidence["core.l1_hit"][0] == "measured"
    assert machine.evidence["core.store_buffer"] == ("assumed", "as sandy-bridge-e5-2670")
    assert machine.contexts >= len(_core.allowed_cpus())


def test_every_constant_of_a_host_says_where_it_is_from(here):
    assert set(here.model.constants) == set(CONSTANTS)
    assert here.model.constant("line.local").kind == "measured"
    assert here.model.constant("combine").kind == "measured"
    assert "no standard error" in here.model.constant("combine").source
    for name, constant in here.model.constants.items():
        assert constant.kind in ("measured", "assumed", "undetermined"), name
        assert constant.source
        if constant.kind == "measured" and not name.startswith("overhead"):
            assert math.isfinite(constant.value)
    if Host().cores == 2:
        assert here.model.constant("contention.EE.c").kind != "measured"
        assert here.model.constant("line.remote.S").kind != "measured"
    if Host().cores >= 2 and here.labels.get("remote"):
        for name in ("line.remote.M", "line.memory", "overhead", "multi.EE.o", "copy", "switch"):
            constant = here.model.constant(name)
            # On a busy machine a fit may determine nothing. The constant is then another machine's, and says so.
            vague = constant.kind == "assumed" and "with a standard error of" in constant.source
            assert vague or constant.kind in ("measured", "undetermined"), (name, constant.source)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"cpu": "another"}, "its processor is 'another'"),
        ({"allowed_cpus": 999}, "its number of allowed CPUs is 999"),
        ({"clock_mhz": 1}, "its clock runs at 1 MHz"),
    ],
)
def test_another_machine_s_file_is_refused_or_used_with_a_warning(here, tmp_path, change, says):
    file = json.loads(here.path.read_text())
    file["host"] |= change
    other = tmp_path / "other.json"
    other.write_text(json.dumps(file))
    assert not is_this_host(other)
    with pytest.raises(ArgumentError, match=re.escape(says)):
        check_host(other)
    with pytest.warns(PhicollWarning, match=re.escape(says)):
        check_host(other, foreign="use")
    with pytest.raises(ArgumentError, match="foreign: got 'maybe'; allowed: refuse, use"):
        check_host(other, foreign="maybe")


def test_what_is_no_machine_file_is_refused(tmp_path):
    with pytest.raises(ArgumentError, match="a machine file that can be read"):
        is_this_host(tmp_path / "none.json")
    for text in ("{", "[]", '{"phicoll": "results"}'):
        (tmp_path / "odd.json").write_text(text)
        with pytest.raises(ArgumentError, match="a machine file"):
            is_this_host(tmp_path / "odd.json")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"mode": "slow"}, "mode: got 'slow'; allowed: quick, thorough"),
        ({"machine": "no-such"}, "machine: got"),
        ({"machine": 3}, "machine: got 3"),
        ({"family": "no-such"}, "family: got"),
        ({"name": "a:b"}, "name: got 'a:b'"),
        ({"name": PHI}, "no shipped machine"),
        ({"machine": PHI, "name": PHI}, "name: got 'xeon-phi-5110p'; allowed: one that no shipped machine"),
        ({"rounds": 0}, "rounds: got 0"),
        ({"budget_s": -1}, "budget_s: got -1"),
        ({"budget_s": math.nan}, "budget_s: got nan"),
        ({"lock_wait_s": -3}, "lock_wait_s: got -3"),
        ({"seed": -1}, "seed: got -1"),
        ({"path": "/nonexistent/m.json"}, "path: got '/nonexistent/m.json'"),
    ],
)
def test_bad_input_is_refused_before_anything_is_measured(monkeypatch, arguments, named):
    monkeypatch.setattr(_core, "measure_host_costs", None)  # would fail otherwise
    with pytest.raises(ArgumentError, match=named):
        phicoll.characterize(**arguments)


def test_a_state_that_cannot_be_had_is_skipped_and_recorded():
    target = Simulated.of(PHI, all_distances=False)
    effort = replace(
        EFFORTS["quick"].simulated(), rounds=1, lines=(1,), long_lines=(64,), receivers=(1,), samples=0.1
    )
    steps = []
    found = observe(target, effort, 1, lambda done, total, what: steps.append((done, total, what)))
    assert found.skipped["near.F"].endswith("has no state F")
    assert ("near.F", 1) not in found.launches
    assert all(0 <= done <= total for done, total, _ in steps)


def test_the_command_writes_the_file_and_prints_the_constants(phicoll_command, tmp_path):
    path = tmp_path / "m.json"
    changed = "sandy-bridge-e5-2670:topology.packages=1:topology.cores=2"
    done = phicoll_command(
        "characterize", "--machine", changed, "--set", "rounds=1", "--name", "two", "-o", path
    )
    assert done.returncode == 0, done.stderr
    assert f"wrote {path}" in done.stderr
    assert re.search(r"line\.remote\.M +\S+ ns  \(simulated\)", done.stdout)
    printed = phicoll_command(
        "characterize", "--machine", changed, "--set", "rounds=1", "--name", "two", "--json"
    )
    assert printed.stdout == path.read_text()
    refused = phicoll_command("characterize", "-o", "/nonexistent/m.json")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "output: got '/nonexistent/m.json'" in refused.stderr


def test_ctrl_c_leaves_no_machine_file_and_what_was_measured(start_python, tmp_path):
    path, raw = tmp_path / "m.json", tmp_path / "raw.jsonl"
    words = ("--thorough", "--machine", PHI, "-o", path, "--set", f"samples={raw}")
    child = start_python("-m", "phicoll", "characterize", *words)
    deadline = time.monotonic() + 120
    while not (raw.exists() and '"kernel-sample"' in raw.read_text()):  # a round is done
        assert time.monotonic() < deadline
        assert child.poll() is None
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=120)
    assert child.returncode == 130
    assert "interrupted" in said
    assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == [raw]
    records = phicoll.load(raw).records
    assert records[-1]["kind"] == "end"
    assert records[-1]["reason"] == "interrupted"


def test_raw_samples_are_records_with_their_round(tmp_path):
    raw = tmp_path / "raw.jsonl"
    two = "sandy-bridge-e5-2670:topology.packages=1:topology.cores=2"
    found = phicoll.characterize("quick", machine=two, samples=raw, rounds=2)
    records = phicoll.load(raw).records
    assert [record["kind"] for record in (records[0], records[-1])] == ["context", "end"]
    reads = [r for r in records if r["kind"] == "kernel" and r["subject"] == "near.E"]
    assert [(r["round"], r["label"], r["mode"]) for r in reads] == [
        (0, "remote", "simulated"),
        (1, "remote", "simulated"),
    ]
    samples = [r["ns"] for r in records if r["kind"] == "kernel-sample" and r["point"] == reads[1]["point"]]
    np.testing.assert_allclose(samples[0], found.samples("near.E")[1])
