"""The memory kernels from Python: shapes, labels, determinism, and errors that name the argument."""

from __future__ import annotations

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from matplotlib.figure import Figure

import phicoll
from phicoll import _core, bench, kernels

MACHINE = "xeon-phi-5110p"


def test_every_kernel_says_what_a_sample_is():
    found = kernels.kernels()
    assert [k.name for k in found] == [
        "read-latency",
        "ping-pong",
        "multi-line",
        "pair-bandwidth",
        "put",
        "get",
        "p",
        "g",
        "atomic",
        "wait-until",
        "contention",
        "read-by-all",
        "stream",
        "switch",
    ]
    assert all(k.sample and k.source and k.parameters for k in found)
    assert "ramos-hoefler-2013" in found._repr_html_()


@pytest.mark.parametrize("state", ["M", "E", "S"])
def test_local_is_faster_than_remote_and_that_than_memory(state):
    local = kernels.read_latency(state, "local", machine=MACHINE, samples=20).mean()
    remote = kernels.read_latency(state, "middle", machine=MACHINE, samples=20).mean()
    memory = kernels.read_latency("I", "middle", machine=MACHINE, samples=20).mean()
    assert 2 * local < remote < memory


def test_the_same_arguments_give_the_same_simulated_samples_side_by_side():
    def simulate(seed: int) -> np.ndarray:
        return kernels.contention(20, machine=MACHINE, samples=5, seed=seed)

    with ThreadPoolExecutor(4) as pool:
        first, again, other = pool.map(simulate, [1, 1, 2])
    assert first.shape == (20, 5)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_rows_are_the_ranks_that_measured():
    assert kernels.contention(1, machine=MACHINE, samples=3).shape == (1, 3)
    assert kernels.read_by_all(5, "fours", machine=MACHINE, samples=3).shape == (5, 3)
    assert kernels.read_by_all(5, machine=MACHINE, samples=3).shape == (4, 3)
    assert kernels.multi_line(4, distance="adjacent", machine=MACHINE, samples=3).shape == (3,)
    assert kernels.stream(2, lines=32, machine=MACHINE, samples=3).shape == (3,)


def test_results_are_labelled():
    simulated = kernels.run("ping-pong", machine=f"{MACHINE}:ring.hop=0", where="middle", samples=3)
    assert (simulated.mode, simulated.machine) == ("simulated", f"{MACHINE}:ring.hop=0")
    np.testing.assert_allclose(
        simulated.ns[0], simulated.ticks[0] * simulated.ns_per_tick / simulated.per_sample
    )
    assert simulated.ns[1].size == 0
    assert simulated.empty_ns == 0  # a simulated stamp takes no time
    measured = kernels.run("read-latency:owner=self", ranks=1, samples=3)
    assert 0 < measured.empty_ns < 1e6
    assert (measured.mode, measured.machine) == ("threads", "host")
    assert (measured.measured > 0).all()


def test_bandwidth_is_a_row_a_pair():
    link = kernels.pair_bandwidth(3, "link", lines=8, machine=MACHINE, samples=3)
    assert link.shape == (3, 3)
    assert (link > 0).all()
    across = kernels.pair_bandwidth(1, "across", lines=8, machine="sandy-bridge-e5-2670", samples=3)
    assert across.shape == (1, 3)
    if _core.allowed_cpu_count() >= 2:
        here = kernels.pair_bandwidth(1, "neighbours", lines=64, samples=5)
        assert here.shape == (1, 5)
        assert (here > 0).all()


@pytest.mark.parametrize("way", ["put", "get", "p", "g"])
def test_a_call_adds_its_stated_cost_to_a_transfer(way):
    def transfer(machine=MACHINE, ranks=2, **parameters):
        spec = ":".join([way, *(f"{name}={value}" for name, value in parameters.items())])
        return kernels.run(spec, machine=machine, ranks=ranks, samples=4)

    clock = phicoll.load_machine(MACHINE).parameters["topology.clock_mhz"] / 1000  # cycles a ns
    bare, called = (transfer(call=call, remote="written").measured.mean() for call in (0, 2000))
    assert 0 < bare < 2000 / clock < called < bare + 2000 / clock + 1
    near, far = (transfer(call=0, remote=remote).measured.mean() for remote in ("kept", "written"))
    assert near < far / 3  # what is in the rank's cache, and what is in its partner's
    if way in ("p", "g"):
        return
    both = transfer(ranks=4, directions="both", bytes=1024, transfers=16)
    assert both.measured.shape == (4, 4)
    assert both.gigabytes_a_second.max() <= 4 * 1024 / both.measured.max(axis=0).min() * (1 + 1e-9)
    here = transfer(machine=None, bytes=1000, transfers=3, ranks=2)
    assert here.measured.shape == (4,)


def test_atomics_on_one_word_wait_for_each_other():
    def operation(spec, ranks=8):
        return kernels.run(
            f"atomic:transfers=16:{spec}", machine=MACHINE, ranks=ranks, samples=3
        ).measured.mean()

    alone, crowded = operation("on=partner"), operation("on=root")
    assert 3 * alone < crowded
    assert operation("on=partner:operation=fetch") < alone  # a load needs the line in no state of its own
    assert alone < operation("on=shared:operation=compare-swap", ranks=2)


def test_a_call_in_front_of_a_wait_is_hidden_while_the_answer_is_on_its_way():
    def half_a_trip(call):
        return kernels.run(f"wait-until:turns=8:call={call}", machine=MACHINE, samples=4).measured.mean()

    clock = phicoll.load_machine(MACHINE).parameters["topology.clock_mhz"] / 1000
    bare, called = half_a_trip(0), half_a_trip(50)
    assert bare + 50 / clock - 1 < called < bare + 100 / clock


def test_one_sided_accesses_by_size_pairs_and_cost_of_a_call():
    found = kernels.one_sided(
        "put", sizes="8,16K", pairs="1,2", call=[0, 200], machine="xeon-phi-se10p", samples=2
    )
    assert [(p.bytes, p.pairs, p.call) for p in found.points] == [
        (size, pairs, call) for size in (8, 16384) for pairs in (1, 2) for call in (0, 200)
    ]
    bare, called = found.points[:2]
    assert bare.fresh_ratio == bare.row_ratio == 1
    assert called.row_ns == pytest.approx(bare.row_ns + 200 / 1.1, abs=1)
    assert called.row_ratio == pytest.approx(called.row_ns / bare.row_ns, rel=0.01)
    assert found.points[-1].row_ratio < 1.1  # a call is nothing beside 16 KB
    assert found.points[2].gigabytes_a_second == pytest.approx(2 * bare.gigabytes_a_second, rel=0.2)
    assert found.to_dict()["points"][0]["access"] == "put"
    assert "put" in found._repr_html_()
    assert list(found.to_dataframe()["pairs"]) == [1, 1, 2, 2] * 2


@pytest.mark.parametrize("access", kernels.ACCESSES)
def test_one_sided_accesses_run_on_this_machine(access):
    found = kernels.one_sided(
        access, call=[0, 100], rounds=1, samples=5, **({"sizes": 64} if access in ("put", "get") else {})
    )
    assert found.mode == "threads"
    assert found.points[1].row_ns > found.points[0].row_ns > 0


def test_kernels_run_between_processes():
    options = {"mode": "processes", "oversubscribe": True, "wait": "yield"}
    found = kernels.run("ping-pong", samples=5, **options)
    assert (found.machine, found.mode, found.measured.shape) == ("host", "processes", (5,))
    assert found.ns[1].size == 0
    assert (found.measured == found.ticks[0] * found.ns_per_tick / found.per_sample).all()
    copies = kernels.run("pair-bandwidth:pattern=neighbours", samples=5, **options)
    assert copies.gigabytes_a_second.shape == (5,)
    assert (copies.gigabytes_a_second > 0).all()
    table = kernels.one_sided("put", sizes=64, rounds=1, samples=5, **options)
    assert table.mode == "processes"
    assert "processes of this machine" in str(table)
    assert table.points[0].row_ns > 0


@pytest.mark.parametrize("access", ["put", "get"])
@pytest.mark.parametrize("where", [{"machine": "xeon-phi-se10p", "samples": 2}, {"samples": 20}])
def test_both_ways_at_once_count_both_ranks_bytes(access, where):
    both, one = (
        kernels.one_sided(f"{access}{rest}", sizes="4K", rounds=1, **where).points[0]
        for rest in (":directions=both", "")
    )
    assert both.gigabytes_a_second == pytest.approx(2 * 4096 / both.row_ns)
    assert one.gigabytes_a_second == pytest.approx(4096 / one.row_ns)
    if "machine" in where:  # the ring and both caches carry two streams as they carry one, as far as 003 says
        assert both.gigabytes_a_second > 1.2 * one.gigabytes_a_second


@pytest.mark.parametrize(
    ("access", "arguments", "named"),
    [
        ("put", {"mode": "fibers"}, "mode"),
        ("put", {"mode": "processes", "machine": "xeon-phi-se10p"}, "mode"),
        ("putt", {}, "access"),
        ("barrier", {}, "access"),
        ("p", {"sizes": 8}, "sizes"),
        ("put", {"sizes": 7}, "sizes"),
        ("put", {"sizes": []}, "sizes"),
        ("put", {"pairs": 0}, "pairs"),
        ("put", {"pairs": 512}, "pairs"),
        ("put", {"pairs": []}, "pairs"),
        ("put", {"call": -1}, "call"),
        ("put", {"rounds": 0}, "rounds"),
        ("put", {"samples": 0}, "samples"),
        ("put", {"where": "nowhere"}, "where"),
        ("put", {"machine": "abacus"}, "machine"),
        ("put:bytes=8", {}, "put:bytes"),
        ("put:colour=red", {}, "put"),
    ],
)
def test_bad_accesses_are_refused_by_name(access, arguments, named):
    with pytest.raises(phicoll.ArgumentError) as error:
        kernels.one_sided(access, **arguments)
    assert error.value.argument == named


def test_stream_by_put_and_get_pays_for_its_calls():
    def rate(spec):
        return np.median(
            kernels.run(f"stream:lines=256:{spec}", machine=MACHINE, samples=3).gigabytes_a_second
        )

    assert (
        rate("way=put-get:block=16:call=4000") < rate("way=put-get:block=16") < rate("ahead=16:store=no-read")
    )


def test_a_switch_is_measured_on_one_cpu():
    found = kernels.switch(samples=5, turns=4)
    assert found.shape == (5,)
    assert (found > 0).all()
    run = kernels.run("switch:turns=4", ranks=3, samples=5)
    assert run.per_sample == 12
    last = _core.allowed_cpus()[-1]
    assert kernels.switch(cpu=last, ranks=3, samples=2, turns=1).shape == (2,)


def test_a_line_that_its_owner_forwards():
    machine = "sandy-bridge-e5-2670"
    forwarded = kernels.read_latency("F", "same-package", machine=machine, samples=10).mean()
    alone = kernels.read_latency("E", "same-package", machine=machine, samples=10).mean()
    assert forwarded < alone


def test_a_matrix_of_all_pairs():
    found = kernels.latency_matrix(MACHINE, cpus=[0, 4, 120, 236], samples=4)
    matrix = found.matrix
    assert matrix.shape == (4, 4)
    assert found.samples.shape == (4, 4, 4)
    assert np.isnan(np.diag(matrix)).all()
    np.testing.assert_array_equal(matrix, matrix.T)
    assert np.isfinite(found.pairs).all()
    frame = found.to_dataframe()
    assert frame.loc[0, 120] == matrix[0, 2]
    again = kernels.latency_matrix(MACHINE, cpus=[0, 4, 120, 236], samples=4, jobs=1)
    np.testing.assert_array_equal(found.samples, again.samples)
    told = found.to_dict()
    assert told["matrix_ns"][0][0] is None
    assert told["mode"] == "simulated"
    assert str(found).count("\n") == 6
    assert found.plot().axes
    left, right = Figure().subplots(1, 2)
    assert found.plot(right) is right
    assert right.images
    assert not left.has_data()


def test_far_cores_are_further_and_contexts_of_a_core_near():
    cpus = [0, 1, 4, 120]  # two contexts of core 0, core 1, core 30
    found = kernels.latency_matrix(MACHINE, cpus=cpus, samples=10, lines="repeated").matrix
    assert found[0, 1] < found[0, 2]
    packages = kernels.latency_matrix("sandy-bridge-e5-2670", cpus=[0, 2, 16], samples=4).matrix
    assert packages[0, 1] < packages[0, 2]


def test_the_matrix_of_this_machine():
    if _core.allowed_cpu_count() < 2:
        pytest.skip("needs two CPUs")
    cpus = _core.allowed_cpus()[:2]
    found = kernels.latency_matrix(cpus=cpus, samples=5)
    assert found.machine == "host"
    assert found.matrix.shape == (2, 2)
    assert found.pairs[0] > 0
    assert "this machine" in found.caption()


def test_the_matrix_from_the_command_line(phicoll_command, tmp_path):
    figure = tmp_path / "matrix.png"
    words = (
        "latency",
        "--machine",
        MACHINE,
        "--cpus",
        "0,4-5",
        "--samples",
        "2",
        "--json",
        "--figure",
        figure,
    )
    done = phicoll_command(*words)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["cpus"] == [0, 4, 5]
    assert figure.stat().st_size > 1000
    refused = phicoll_command("latency", "--machine", MACHINE, "--cpus", "0,x")
    assert refused.returncode == 2
    assert refused.stderr.startswith("phicoll: cpus: got '0,x'")


def run_bench(*words: str) -> subprocess.CompletedProcess[str]:
    command = [bench.find(), "kernel", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_records_hold_what_the_stamps_take():
    done = run_bench("read-latency:owner=self", "switch:turns=2", "--samples", "5", "-o", "-")
    assert done.returncode == 0, done.stderr
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert [r["kind"] for r in records] == ["context", *["kernel", "kernel-sample"] * 2, "end"]
    ours, switch = (r for r in records if r["kind"] == "kernel")
    assert 0 < ours["empty_ns"] < 1e6
    assert "note" not in ours
    assert len(set(switch["cpus"])) == 1
    for sample in (r for r in records if r["kind"] == "kernel-sample"):
        assert len(sample["empty_ticks"]) == 33
        assert all(ticks >= 0 for ticks in sample["empty_ticks"])


def test_a_state_that_a_machine_does_not_have_is_skipped_and_recorded():
    words = ("ping-pong", "--machine", MACHINE, "--where", "middle", "--samples", "2")
    done = run_bench(*words, "--state", "E,F", "-o", "-")
    assert done.returncode == 0, done.stderr
    assert (
        "skipped: ping-pong:state=F:receive=E: the protocol of xeon-phi-5110p has no state F" in done.stderr
    )
    found = [r for r in map(json.loads, done.stdout.splitlines()) if r["kind"] == "kernel"]
    assert [r.get("skipped") for r in found] == [None, "the protocol of xeon-phi-5110p has no state F"]
    alone = run_bench(*words, "--state", "F")
    assert alone.returncode == 2
    assert "has no state F" in alone.stderr


@pytest.mark.parametrize(
    ("act", "named"),
    [
        (lambda: kernels.read_latency("F", "middle", machine=MACHINE), "kernel"),
        (lambda: kernels.run("switch", machine=MACHINE), "kernel"),
        (lambda: kernels.run("switch", ranks=1), "ranks"),
        (lambda: kernels.run("read-latency", ranks=1025), "ranks"),
        (lambda: kernels.run("read-latency", where="next-door", samples=1), "where"),
        (lambda: kernels.run("read-latency", where="across-packages", machine=MACHINE), "where"),
        (lambda: kernels.pair_bandwidth(0), "pairs"),
        (lambda: kernels.pair_bandwidth(1, "grouped", machine=MACHINE), "ranks"),
        (lambda: kernels.latency_matrix(MACHINE, cpus=[0]), "cpus"),
        (lambda: kernels.latency_matrix(MACHINE, cpus=[0, 240]), "cpus"),
        (lambda: kernels.latency_matrix(MACHINE, cpus=[3, 3]), "cpus"),
        (lambda: kernels.latency_matrix(cpus=[0, 99999]), "cpus"),
        (lambda: kernels.latency_matrix(MACHINE, samples=0), "samples"),
        (lambda: kernels.latency_matrix(MACHINE, lines="same"), "lines"),
        (lambda: kernels.latency_matrix(MACHINE, jobs=0), "jobs"),
        (lambda: kernels.latency_matrix(MACHINE, receive="I"), "ping-pong:receive"),
        (lambda: kernels.run("pingpong"), "kernel"),
        (lambda: kernels.run("put:bytes=4", machine=MACHINE), "put:bytes"),
        (lambda: kernels.run("get:call=-1", machine=MACHINE), "get:call"),
        (lambda: kernels.run("put", ranks=3, machine=MACHINE), "ranks"),
        (lambda: kernels.run("ping-pong", samples=0), "samples"),
        (lambda: kernels.run("ping-pong", machine=MACHINE, ranks=3), "ranks"),
        (lambda: kernels.run("contention", machine=MACHINE, ranks=241), "ranks"),
        (lambda: kernels.ping_pong(receive="I", machine=MACHINE), "ping-pong:receive"),
        (lambda: kernels.ping_pong(distance="far", machine=MACHINE), "distance"),
        (lambda: kernels.read_latency("E", machine="xeon-phi-1"), "machine"),
        (lambda: kernels.run("ping-pong", machine=MACHINE, wait="nap"), "wait"),
    ],
)
def test_bad_input_is_refused_by_name(act, named):
    with pytest.raises(phicoll.ArgumentError) as refused:
        act()
    assert str(refused.value).startswith(f"{named}: got ")
