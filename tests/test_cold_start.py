"""`start="evicted"`: flags and slots are in memory alone before each call, measured and simulated."""

from __future__ import annotations

import json

import numpy as np
import pytest

import phicoll
from phicoll.cli import main
from phicoll.measuring import plan

MACHINE = "xeon-phi-5110p"


def simulate(operation: str, start: str | None, **options):
    given = {"ranks": 30, "calls": 5, "placement": "scatter", "skew_ns": 0, "progress": False, **options}
    return phicoll.sweep(operation, machine=MACHINE, definition="window", start=start, **given)


@pytest.mark.parametrize(
    ("operation", "options"),
    [
        ("barrier", {"algorithm": "dissemination:ways=1"}),
        ("broadcast", {"algorithm": "model-tree", "sizes": 64}),
        ("reduce", {"algorithm": "send-receive-tree", "sizes": 64}),
        ("allreduce", {"algorithm": "recursive-doubling", "sizes": 64}),
    ],
)
def test_a_simulated_cold_start_costs_more_and_says_so(operation, options):
    # Over several seeds: with one of them lines may lie so that ranks keep meeting.
    cold, warm = (simulate(operation, start, rounds=4, **options) for start in ("evicted", "warm"))
    assert [point["start"] for point in cold.points] == ["evicted"]
    assert [point["start"] for point in warm.points] == ["warm"]
    assert all(point["verified"] for point in cold.points + warm.points)
    cold_ns, warm_ns = (np.mean([sample["ns"] for sample in found.samples]) for found in (cold, warm))
    assert cold_ns > warm_ns
    row = next(iter(cold.compare()))
    assert row.subject.start == "evicted"
    assert "evicted start" in row.subject.title()


def test_the_start_is_warm_unless_it_is_given():
    options = {"algorithm": "tree", "ranks": 4}
    np.testing.assert_array_equal(
        simulate("barrier", None, **options).samples[0]["ns"],
        simulate("barrier", "warm", **options).samples[0]["ns"],
    )


def test_a_run_with_another_start_is_not_gone_on_with(tmp_path):
    path = tmp_path / "cold.jsonl"
    options = {"algorithm": "tree", "ranks": 4}
    simulate("barrier", "evicted", save=path, **options)
    with pytest.raises(phicoll.ArgumentError) as refused:
        simulate("barrier", "warm", save=path, resume=True, **options)
    assert refused.value.argument == "start"


def test_files_without_the_field_are_warm_or_what_their_settings_say(tmp_path):
    path = tmp_path / "old.jsonl"
    simulate("barrier", "evicted", algorithm="tree", ranks=4, save=path)
    records = [json.loads(line) for line in path.read_text().splitlines()]
    for record in records:
        if record["kind"] == "point":
            del record["start"]

    def starts() -> set[str]:
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        return {row.subject.start for row in phicoll.load(path).compare()}

    assert starts() == {"evicted"}
    del records[0]["settings"]["start"]
    assert starts() == {"warm"}


@pytest.mark.parametrize("operation", ["barrier", "broadcast", "allreduce"])
def test_measured_runs_have_it_too(operation):
    data = {} if operation == "barrier" else {"sizes": 256}
    found = phicoll.sweep(
        operation,
        algorithm="auto",
        ranks=2,
        oversubscribe=True,
        definition="window",
        start="evicted",
        mode=("threads", "processes"),
        launches=1,
        rounds=1,
        window_calls=4,
        progress=False,
        **data,
    )
    assert {point["start"] for point in found.points} == {"evicted"}
    assert {sample["definition"] for sample in found.samples} == {"window"}
    assert all(point["verified"] for point in found.points)
    assert all(ns > 0 for sample in found.samples for ns in sample["ns"])


@pytest.mark.parametrize("machine", [None, MACHINE])
@pytest.mark.parametrize("definition", ["loop", ("loop", "window")])
def test_back_to_back_calls_cannot_start_cold(machine, definition):
    with pytest.raises(phicoll.ArgumentError) as refused:
        phicoll.sweep(machine=machine, algorithm="tree", definition=definition, start="evicted")
    assert refused.value.argument == "start"
    assert "window" in refused.value.allowed


def test_a_cold_start_is_measured_by_windows_unless_a_definition_is_given():
    found = phicoll.sweep(machine=MACHINE, algorithm="tree", ranks=4, start="evicted", progress=False)
    assert {sample["definition"] for sample in found.samples} == {"window"}
    asked = plan(algorithm="tree", ranks=2, start="evicted", oversubscribe=True).arguments
    assert asked[asked.index("--definition") + 1] == "window"
    asked = plan(algorithm="tree", ranks=2, oversubscribe=True).arguments
    assert asked[asked.index("--definition") + 1] == "loop,window"


def test_the_command_implies_windows_and_refuses_by_its_own_options(capsys):
    words = [
        "run",
        "barrier",
        "--algorithm",
        "tree",
        "--ranks",
        "4",
        "--machine",
        MACHINE,
        "--start",
        "evicted",
    ]
    assert main([*words, "--set", "no-progress"]) == 0
    assert "window" in capsys.readouterr().out
    assert main([*words, "--definition", "loop,window"]) == 2
    said = capsys.readouterr().err
    assert (
        "start: got 'evicted' with --definition loop,window; allowed: evicted with --definition window"
        in said
    )
