"""The papers' memory kernels: on threads or processes of this machine, or on a simulated one.

    >>> from phicoll import kernels
    >>> kernels.read_latency("E", distance="middle", machine="xeon-phi-5110p").mean()   # ns
    >>> kernels.contention(59, machine="xeon-phi-5110p").mean(axis=1)                   # a row a receiver

Every function returns raw samples in nanoseconds (``stream``: GB/s), measured if ``machine`` is ``None`` (by ``mode``,
on threads or processes), simulated if it names a machine; docs/kernels.md defines a sample. The seed determines the
addresses and, on a simulated machine, the lines' home directories: the same arguments give the same simulated samples
on any host. The global interpreter lock is released, so simulations can run in parallel threads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import phicoll._core as _core
from phicoll.errors import ArgumentError
from phicoll.explaining.kernel_runs import KernelSamples, Samples, run
from phicoll.explaining.latency import LatencyMatrix, latency_matrix
from phicoll.explaining.one_sided import ACCESSES, OneSidedTable, OneSidedTime, one_sided
from phicoll.foundations.html_table import html_table
from phicoll.foundations.markup import code

__all__ = [
    "ACCESSES",
    "Kernel",
    "KernelList",
    "KernelSamples",
    "LatencyMatrix",
    "OneSidedTable",
    "OneSidedTime",
    "contention",
    "kernels",
    "latency_matrix",
    "multi_line",
    "one_sided",
    "pair_bandwidth",
    "ping_pong",
    "read_by_all",
    "read_latency",
    "run",
    "stream",
    "switch",
]


@dataclass(frozen=True)
class Kernel:
    """One kernel: its name, its source, what it measures and what one sample is."""

    name: str
    source: str
    summary: str
    sample: str
    parameters: tuple[dict[str, str], ...]

    def __str__(self) -> str:
        return ":".join([self.name, *(f"{p['name']}={p['default']}" for p in self.parameters)])


class KernelList(tuple[Kernel, ...]):
    """All kernels; displayed as a table in a notebook."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        rows = [[code(str(k)), k.source, k.summary, k.sample] for k in self]
        return html_table(["kernel", "source", "", "a sample is"], rows, left=(2, 3))


def kernels() -> KernelList:
    """All kernels with their parameters, in the order of the core's list."""
    return KernelList(
        Kernel(k["name"], k["source"], k["summary"], k["sample"], tuple(k["parameters"]))
        for k in _core.kernels()
    )


def read_latency(
    state: str = "E",
    distance: str | None = None,
    *,
    machine: str | None = None,
    mode: str | None = None,
    reads: int = 32,
    samples: int = 200,
    seed: int = 1,
) -> Samples:
    """One read of a line in ``state`` (M, E, S, F, I) of a rank at ``distance``: ns, one value per sample.

    A sample is the mean of ``reads`` dependent reads. ``distance="local"`` reads the rank's own lines; other distances
    are those of ``where`` in :func:`run`. States S and F need a further rank on its own core: in S that rank read the
    line last, in F the owner did, which then answers (MESIF). A simulated directory protocol refuses F; on this machine
    its meaning depends on the processor's protocol. Source: ramos-hoefler-2013, section 1.3.1.
    """
    owner = "self" if distance == "local" else "other"
    ranks = (1 if owner == "self" else 2) + (1 if state in ("S", "F") else 0)
    where = ("adjacent" if machine is not None else "scatter") if distance == "local" else distance
    spec = f"read-latency:state={state}:owner={owner}:reads={reads}"
    return run(
        spec, machine=machine, mode=mode, ranks=ranks, where=where, samples=samples, seed=seed
    ).measured


def ping_pong(
    state: str = "E",
    receive: str = "E",
    distance: str | None = None,
    *,
    machine: str | None = None,
    mode: str | None = None,
    samples: int = 1000,
    seed: int = 1,
) -> Samples:
    """Half of a round trip of one line, ns, by the states of send and receive lines.

    Source: ramos-hoefler-2013, chapter 2.
    """
    spec = f"ping-pong:state={state}:receive={receive}"
    return run(spec, machine=machine, mode=mode, where=distance, samples=samples, seed=seed).measured


def multi_line(
    lines: int,
    state: str = "E",
    receive: str = "E",
    distance: str | None = None,
    *,
    machine: str | None = None,
    mode: str | None = None,
    samples: int = 300,
    seed: int = 1,
) -> Samples:
    """Half of a round trip of a message of ``lines`` lines, ns. Source: ramos-hoefler-2013, section 3.1."""
    spec = f"multi-line:state={state}:receive={receive}:lines={lines}"
    return run(spec, machine=machine, mode=mode, where=distance, samples=samples, seed=seed).measured


def pair_bandwidth(
    pairs: int,
    pattern: str = "grouped",
    *,
    lines: int = 1024,
    state: str = "I",
    receive: str = "I",
    machine: str | None = None,
    mode: str | None = None,
    where: str | None = None,
    samples: int = 100,
    seed: int = 1,
) -> Samples:
    """Bandwidth of pairs of ranks that copy messages of ``lines`` lines from each other: GB/s per pair.

    It is the message's bytes / half of a round trip, with all pairs at the same time. The result has two dimensions,
    one row per pair. ``pattern`` is ``"neighbours"``; ``"grouped"`` (interleaved in groups of four); ``"link"``
    (nested: on up to half of a ring all pairs cross one link); or ``"across"`` (two packages, each pair in both).
    Source: ramos-hoefler-2013, appendix A.
    """
    if not isinstance(pairs, int) or pairs < 1:
        raise ArgumentError("pairs", repr(pairs), "a whole number from 1")
    spec = f"pair-bandwidth:pattern={pattern}:state={state}:receive={receive}:lines={lines}"
    found = run(spec, machine=machine, mode=mode, ranks=2 * pairs, where=where, samples=samples, seed=seed)
    return np.atleast_2d(found.bytes / found.measured)


def switch(
    *, ranks: int = 2, cpu: int | None = None, turns: int = 16, samples: int = 200, mode: str | None = None
) -> Samples:
    """Switches of a CPU between ``ranks`` ranks on it, by yielding: ns per switch, one value per sample.

    On this machine only. ``cpu`` is by default the first allowed one. Source: phicoll.
    """
    where = None if cpu is None else str(cpu)
    return run(f"switch:turns={turns}", ranks=ranks, where=where, samples=samples, mode=mode).measured


def contention(
    receivers: int,
    state: str = "E",
    receive: str = "E",
    *,
    machine: str | None = None,
    mode: str | None = None,
    where: str | None = None,
    samples: int = 200,
    seed: int = 1,
) -> Samples:
    """Receivers that copy one line at the same time: ns, one row per receiver (always two dimensions).

    ``state`` is that of the common line, ``receive`` that of the private lines. Source: ramos-hoefler-2013,
    section 3.2.
    """
    spec = f"contention:state={state}:receive={receive}"
    found = run(
        spec, machine=machine, mode=mode, ranks=receivers + 1, where=where, samples=samples, seed=seed
    )
    return np.atleast_2d(found.measured)


def read_by_all(
    ranks: int,
    pattern: str = "root",
    lines: int = 1,
    *,
    state: str = "M",
    machine: str | None = None,
    mode: str | None = None,
    where: str | None = None,
    samples: int = 100,
    seed: int = 1,
) -> Samples:
    """Ranks that copy one root's lines, or one another's: ns, one row per reader (always two dimensions).

    Patterns ``root``, ``next`` (I), ``second`` (II) and ``fours`` (III). Source: panigrahi-2014, section IV.
    """
    spec = f"read-by-all:pattern={pattern}:state={state}:lines={lines}"
    found = run(spec, machine=machine, mode=mode, ranks=ranks, where=where, samples=samples, seed=seed)
    return np.atleast_2d(found.measured)


def stream(
    ranks: int,
    operation: str = "triad",
    *,
    lines: int = 4096,
    store: str = "plain",
    machine: str | None = None,
    mode: str | None = None,
    where: str | None = None,
    samples: int = 5,
    seed: int = 1,
) -> Samples:
    """Bandwidth of memory: GB/s of all ranks, one value per sample, counted as STREAM does. Source: McCalpin 1995.

    ``lines`` is a rank's part of each of the three arrays; it should exceed the caches.
    """
    spec = f"stream:operation={operation}:lines={lines}:store={store}"
    found = run(spec, machine=machine, mode=mode, ranks=ranks, where=where, samples=samples, seed=seed)
    return found.gigabytes_a_second
