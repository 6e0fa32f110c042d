"""A machine with local stores: the same algorithms run on it, within its limits, and what it lacks is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import phicoll

CELL = "cell-qs20"
SHIPPED = Path(__file__).parents[1] / "src/cpp/phicoll/sim/machines"
# The paper's algorithms.
PAPER = {
    "barrier": [
        "one-to-all",
        "signal-register:release=flags",
        "k-nomial-tree:degree=4",
        "pairwise-exchange",
        "dissemination",
    ],
    "broadcast": [
        "paper-002",
        "tree-copy:degree=3",
        "one-to-all-shifted",
        "root-copies",
        "piece-per-rank",
        "local-store-tree:degree=3",
        "local-store-tree:degree=1",
    ],
    "reduce": ["paper-002", "local-store-tree:degree=3", "piece-per-rank", "send-receive-tree"],
}


def simulate(operation, algorithms, ranks, machine=CELL, **more):
    """ns of a call by spec, processes and size, every result checked."""
    results = phicoll.sweep(operation, algorithm=algorithms, ranks=ranks, machine=machine, calls=3, seed=1,
                            progress=False, **{"rounds": 1, **more})  # fmt: skip
    assert not results.unverified
    by = ["spec", "ranks", *(["size_bytes"] if operation != "barrier" else [])]
    return results.to_dataframe().groupby(by)["ns"].mean().dropna()


@pytest.mark.parametrize("operation", PAPER)
def test_the_paper_s_algorithms_are_right_in_many_orders_of_commands(operation):
    sizes = {} if operation == "barrier" else {"sizes": "8,3000,40000"}
    found = simulate(operation, PAPER[operation], [3, 16], f"{CELL}:noise.jitter=5000", rounds=2, **sizes)
    names = {spec.partition(":")[0] for spec in found.index.unique("spec")}
    assert names >= {spec.partition(":")[0] for spec in PAPER[operation]}
    # `paper-002` is the set of all of the paper's, too.
    assert len(found) >= len(PAPER[operation]) * 2 * (3 if sizes else 1)


def test_bandwidth_comes_close_to_the_memory_controller_s_and_stays_below():
    found = simulate("broadcast", ["local-store-tree:degree=3:trailing=barrier"], [8, 16], sizes="256K")
    for (_, ranks, size), ns in found.items():
        assert 0.7 * 25.6 < ranks * size / ns < 25.6


def test_two_buffers_are_faster_than_one():
    one, two = (
        simulate("broadcast", ["root-copies"], [4], f"{CELL}:dma.buffers={n}", sizes="256K").iloc[0]
        for n in (1, 2)
    )
    assert two < one


def test_dissemination_jumps_where_the_second_chip_begins():
    found = simulate("barrier", ["dissemination", "pairwise-exchange"], [8, 10, 16], placement="compact")
    by = {spec.partition(":")[0]: found[spec] for spec in found.index.unique("spec")}
    assert by["dissemination"][10] > 1.5 * by["dissemination"][8]
    assert by["pairwise-exchange"][16] < by["dissemination"][16]


@pytest.mark.parametrize(
    ("machine", "options", "words"),
    [
        (CELL, {"ranks": [17]}, "1 to 16"),
        (CELL, {"algorithm": "tournament-tree"}, "no coherent memory"),
        (CELL, {"start": "evicted"}, "no caches"),
        (f"{CELL}:ring.hop=1", {}, "topology.protocol"),
        (f"{CELL}:dma.buffers=4:local.code_kib=200", {}, "room for"),
        (f"{CELL}:dma.buffers=1:local.code_kib=230", {}, "room for"),  # a reduction takes two
        ("xeon-phi-5110p:dma.near=1", {}, "topology.protocol"),
    ],
)
def test_what_the_machine_lacks_is_refused(machine, options, words):
    wanted = {"algorithm": "dissemination", "ranks": [4], "calls": 2, "progress": False, **options}
    with pytest.raises(phicoll.ArgumentError, match=words):
        phicoll.sweep("barrier", machine=machine, **wanted)


def test_a_message_beyond_the_simulated_main_memory_is_refused():
    with pytest.raises(phicoll.ArgumentError, match="64 MB in all in the main memory"):
        simulate("broadcast", ["root-copies"], [16], sizes="8M")


def test_a_machine_file_of_one_kind_with_parameters_of_the_other_is_refused(tmp_path):
    shipped = json.loads((SHIPPED / f"{CELL}.json").read_text())
    more = {"value": 1, "kind": "assumed", "source": "a test"}
    shipped["parameters"]["ring.hop"] = more
    (tmp_path / "mixed.json").write_text(json.dumps(shipped))
    with pytest.raises(phicoll.ArgumentError, match=r"ring\.hop"):
        phicoll.load_machine(str(tmp_path / "mixed.json"))


def test_explain_says_what_carries_commands_and_follows_them():
    found = phicoll.explain("barrier", "dissemination", ranks=16, machine=CELL, calls=3)
    # Four phases, each a command and its latency, which is larger between the chips.
    assert found.causes.loc["latency", "cycles"] > 4 * 200
    assert found.causes.loc["unit", "cycles"] > 0
    assert found.path["latency"].gt(0).sum() >= 4
    for carrier in ("queues, commands in them", "units", "buses", "links between chips"):
        assert carrier in found.text


def test_a_buffer_that_does_not_fit_the_local_store_is_refused():
    with pytest.raises(phicoll.ArgumentError, match="bytes of its local store"):
        simulate("broadcast", ["local-store-tree:piece=65536"], [4], sizes="256K")
