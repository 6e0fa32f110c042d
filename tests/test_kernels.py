"""The memory kernels from Python: shapes, labels, determinism, and errors that name the argument."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import phicoll
from phicoll import kernels

MACHINE = "xeon-phi-5110p"


def test_every_kernel_says_what_a_sample_is():
    found = kernels.kernels()
    assert [k.name for k in found] == [
        "read-latency",
        "ping-pong",
        "multi-line",
        "contention",
        "read-by-all",
        "stream",
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
    measured = kernels.run("read-latency:owner=self", ranks=1, samples=3)
    assert (measured.mode, measured.machine) == ("threads", "host")
    assert (measured.measured > 0).all()


@pytest.mark.parametrize(
    ("act", "named"),
    [
        (lambda: kernels.run("pingpong"), "kernel"),
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
