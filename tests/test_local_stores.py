"""A machine with local stores: the same algorithms run on it, within its limits, and what it lacks is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import phicoll
from phicoll import kernels
from phicoll.measuring import plan
from phicoll.measuring.simulating import SimulatedPlan, simulate_point

CELL = "cell-qs20"
STORES = f"{CELL}:local.data=store"
# What does not take blocks of different sizes.
BY_BLOCKS = {
    "gatherv": {"single-copy"},
    "scatterv": {"single-copy"},
    "alltoallv": {"single-copy", "one-shot"},
}
SHIPPED = Path(__file__).parents[1] / "src/cpp/phicoll/sim/machines"
# The paper's algorithms.
PAPER = {
    "barrier": [
        "one-to-all",
        "one-to-all:transfer=list",
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
        "local-store-tree:degree=3:small=header",
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


@pytest.mark.parametrize("machine", [CELL, STORES])
@pytest.mark.parametrize(
    "operation",
    [
        *("allreduce", "allgather", "allgatherv", "alltoall", "alltoallv", "gather", "gatherv", "scatter"),
        *("scatterv", "scan", "exscan", "reduce_scatter_block", "reduce_scatter"),
    ],
)
def test_all_other_operations_have_the_right_data(operation, machine):
    """Sizes that are no multiple of 16 bytes are padded on the way; what is beside the data stays."""
    not_here = {"bruck", "prepared"} | BY_BLOCKS.get(operation, set())
    names = {a.name for a in phicoll.algorithms(operation) if a.origin in ("paper", "phicoll")}
    wanted = sorted(names - not_here)
    found = simulate(operation, wanted, [5], f"{machine}:noise.jitter=3000", sizes="4,1700")
    assert {spec.partition(":")[0] for spec in found.index.unique("spec")} >= set(wanted)


def test_a_list_takes_one_place_of_the_queue_and_is_slower_than_its_puts():
    puts, lists = "one-to-all", "one-to-all:transfer=list"
    times = {}
    for queue in (1, 16):
        found = simulate("barrier", [puts, lists], [4, 16], f"{CELL}:dma.queue={queue}")
        for (spec, ranks), ns in found.items():
            times["list" in spec, ranks, queue] = ns
    assert times[True, 16, 1] == times[True, 16, 16]
    assert times[False, 16, 1] > 2 * times[False, 16, 16]
    assert times[True, 16, 16] > times[False, 16, 16]


def test_a_small_message_comes_with_the_entry_that_announces_it():
    tree = "local-store-tree:degree=3"
    found = simulate("broadcast", [tree, f"{tree}:small=header"], [16], sizes="8,48,64")
    by = {"header" in spec: found[spec, 16] for spec in found.index.unique("spec")}
    assert (by[True][[8, 48]] < 0.9 * by[False][[8, 48]]).all()
    assert by[True][64] == by[False][64]


def test_data_in_local_stores_never_waits_for_memory():
    spec = ["one-to-all-shifted"]
    memory, stores = (
        simulate("broadcast", spec, [16], machine, sizes="16K").iloc[0] for machine in (CELL, STORES)
    )
    assert stores < 0.8 * memory
    with pytest.raises(phicoll.ArgumentError, match="bytes of its local store, 131072 of them its data"):
        simulate("broadcast", spec, [4], STORES, sizes="128K")


def test_rings_limit_what_a_chip_s_stores_exchange():
    rates = [
        8
        * 7
        * 2048
        / simulate("alltoall", ["single-copy"], [8], f"{STORES}:dma.rings={n}", sizes="2K").iloc[0]
        for n in (0, 4, 2)
    ]
    assert rates[0] >= rates[1] > rates[2]


def test_pairs_stream_between_their_stores_at_the_ports_rate():
    """One way, both ways, four pairs: no store's way in waits for its way out, and pairs hardly for each other."""
    get = "get:bytes=32768:transfers=16:pattern=neighbours"

    def rate(spec, ranks, machine=STORES):
        return kernels.run(
            spec, ranks=ranks, where="compact", machine=machine, samples=3
        ).gigabytes_a_second.mean()

    ports = 25.0
    assert rate(get, 2) == pytest.approx(ports, rel=0.03)
    assert rate(f"{get}:directions=both", 2) == pytest.approx(2 * ports, rel=0.03)
    assert rate(f"{get}:directions=both", 8) == pytest.approx(8 * ports, rel=0.06)
    assert rate(get.replace("get", "put"), 2) == pytest.approx(ports, rel=0.03)
    # Data in main memory goes through the rank's buffers, once in and once out.
    assert rate(get, 2, CELL) == pytest.approx(7 / 2, rel=0.1)
    with pytest.raises(phicoll.ArgumentError, match="rank 0 needs 131072 bytes"):
        rate("get:bytes=65536:pattern=neighbours", 2)
    with pytest.raises(phicoll.ArgumentError, match="measures lines of caches"):
        rate("read-latency", 2)


def test_calls_are_timed_by_a_clock_that_goes_in_steps():
    found = phicoll.sweep("barrier", algorithm="dissemination", ranks=[8], machine=f"{CELL}:clock.resolution=70",
                          definition="window", calls=5, seed=1, progress=False)  # fmt: skip
    assert {value % 70 for value in found.to_dataframe()["ns"]} == {0}


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
        (f"{CELL}:dma.rings=3", {}, "an even number"),
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
    for carrier in ("queues, commands in them", "units", "buses", "rings", "links between chips"):
        assert carrier in found.text


def test_a_buffer_that_does_not_fit_the_local_store_is_refused():
    with pytest.raises(phicoll.ArgumentError, match="bytes of its local store"):
        simulate("broadcast", ["local-store-tree:piece=65536"], [4], sizes="256K")


def events_of(calls: int, operation: str, algorithm: str, **options: object) -> int:
    planned = plan(
        operation, algorithm=algorithm, machine=CELL, ranks=16, rounds=1, calls=calls, seed=1, **options
    )
    assert isinstance(planned, SimulatedPlan)
    [(point, _)] = planned.planned.tasks
    lines, _, error = simulate_point(planned.planned.text, point)
    assert not error
    return json.loads(lines[-1])["counters"]["events"]


def test_a_simulated_call_takes_few_events():
    """Its time follows from them, at 0.1 us each and 0.4 us each that moves a piece of data: see
    benchmarks/simulator.py, which holds a barrier to 50 us and a broadcast of 1 MB to 0.2 s."""
    for algorithm in PAPER["barrier"]:
        assert 50 < (events_of(30, "barrier", algorithm) - events_of(10, "barrier", algorithm)) / 20 < 450
    for algorithm in ("tree-copy:degree=3", "piece-per-rank", "local-store-tree:degree=3"):
        assert 5000 < events_of(1, "broadcast", algorithm, sizes="1M") < 300_000
