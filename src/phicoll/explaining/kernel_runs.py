"""One run of any kernel, on threads of this machine or on a simulated one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import phicoll._core as _core
from phicoll import bench
from phicoll.errors import ArgumentError, VerificationError
from phicoll.foundations.nearest import near
from phicoll.measuring.options import python_names

__all__ = ["KernelSamples", "Samples", "check_mode", "run"]

Samples = NDArray[np.float64]
#: What ranks of this machine may be.
MODES = ("threads", "processes")


@dataclass(frozen=True)
class KernelSamples:
    """The samples of one run of a kernel.

    ``ns`` has an array per rank, empty for ranks that only help; ``late`` counts samples for whose common start a rank
    was late (they are kept).
    """

    spec: str
    machine: str  #: ``"host"``, or the simulated machine's name
    mode: str  #: ``"threads"``, ``"processes"`` or ``"simulated"``
    seed: int
    ns: tuple[Samples, ...]
    ticks: tuple[NDArray[np.int64], ...]  #: raw, before any division
    ns_per_tick: float
    per_sample: int  #: accesses, or one-way trips, in a sample: ``ns = ticks * ns_per_tick / per_sample``
    bytes: int  #: bytes that one rank moves in a sample; 0 if none are counted
    gigabytes_a_second: Samples  #: GB/s of all measuring ranks together, by the slowest rank's time
    late: int
    empty_ns: float  #: two stamps with nothing between them (median): in every sample before it is divided

    @property
    def measured(self) -> Samples:
        """The samples of the ranks that measured, one row per rank; one-dimensional for a single rank."""
        rows = [row for row in self.ns if row.size]
        return rows[0] if len(rows) == 1 else np.vstack(rows)

    @property
    def mean_over_ranks(self) -> Samples:
        """The mean of the ranks that measured, one value per sample."""
        return np.asarray(np.atleast_2d(self.measured).mean(axis=0))


def run(
    spec: str,
    *,
    machine: str | None = None,
    mode: str | None = None,
    ranks: int = 2,
    where: str | None = None,
    samples: int = 1000,
    seed: int = 1,
    wait: str = "spin",
    oversubscribe: bool = False,
) -> KernelSamples:
    """Run any kernel.

    Parameters
    ----------
    spec:
        A kernel and its parameters, ``"ping-pong:state=E:receive=S"``; :func:`kernels` lists both.
    machine:
        A simulated machine's name or file, optionally with changes (``"xeon-phi-5110p:ring.hop=0"``); ``None`` for
        this machine.
    mode:
        On this machine, ``"threads"`` (default) or ``"processes"``, which have the kernel's memory at addresses of
        their own; ``phicoll-bench`` starts them, as a process of Python cannot be forked safely.
    ranks:
        The number of ranks; each kernel limits it.
    where:
        ``"compact"``, ``"scatter"`` (one rank per core as far as possible), ``"balanced"``, CPUs such as ``"0,4"``, or
        the distance of the second rank from the first: ``"same-cpu"``, ``"same-core"``, ``"same-l3"``, ``"other-l3"``,
        ``"other-package"``, ``"across-packages"`` (half of the ranks in each of two); on a simulated machine
        ``"same-core"``, ``"adjacent"``, ``"middle"``, ``"maximum"``, ``"same-package"``, ``"other-package"``,
        ``"across-packages"`` or the second rank's core. By default ``"scatter"``, or what the kernel needs.
    samples:
        The number of samples per rank.
    seed:
        Seed of the addresses, and of the home directories of lines on a simulated machine.
    wait:
        How ranks wait; the papers' kernels spin.
    oversubscribe:
        Allow more ranks than CPUs on this machine; they should not spin then.

    Raises
    ------
    ArgumentError
        Bad input, a place or a state that the machine does not have, or more ranks than allowed CPUs; nothing was
        started.
    VerificationError
        The data were wrong after a sample.
    """
    if not isinstance(samples, int) or samples < 1:
        raise ArgumentError("samples", repr(samples), "a whole number from 1")
    place = where or ""
    if mode is not None:
        check_mode(mode, machine)
    found: dict[str, Any]
    if mode == "processes":
        words = ["kernel", spec, "--mode", mode, "--ranks", str(ranks), "--samples", str(samples)]
        words += ["--seed", str(seed), "--wait", wait]
        words += ["--where", place] if place else []
        words += ["--oversubscribe"] if oversubscribe else []
        with python_names():
            found = by_processes(bench.run(words).records, ranks)
    elif machine is None:
        found = _core.run_kernel(spec, ranks, place, samples, seed, wait, oversubscribe=oversubscribe)
    else:
        found = _core.simulate_kernel(machine, spec, ranks, place, samples, seed, wait)
    if found["wrong"]:
        raise VerificationError(f"{found['spec']}: the data were wrong after {found['wrong']} samples")
    return KernelSamples(
        spec=found["spec"],
        machine="host" if machine is None else found["machine"],
        mode="simulated" if machine is not None else mode or "threads",
        seed=seed,
        ns=tuple(found["ns"]),
        ticks=tuple(found["ticks"]),
        ns_per_tick=found["ns_per_tick"],
        per_sample=found["per_sample"],
        bytes=found["bytes"],
        gigabytes_a_second=found["gigabytes_a_second"],
        late=found["late"],
        empty_ns=found["empty_ns"],
    )


def check_mode(mode: Any, machine: Any) -> None:
    """Refuse a mode that there is not, or any beside a simulated machine."""
    if mode not in MODES:
        raise ArgumentError("mode", repr(mode), near(str(mode), MODES))
    if machine is not None:
        raise ArgumentError("mode", repr(mode), "only without a machine")


def by_processes(records: list[dict[str, Any]], ranks: int) -> dict[str, Any]:
    """What ``_core.run_kernel`` returns, from the records of ``phicoll-bench kernel``."""
    kernel = next(record for record in records if record["kind"] == "kernel")
    ticks = [np.empty(0, np.int64)] * ranks
    for record in records:
        if record["kind"] == "kernel-sample":
            ticks[record["rank"]] = np.array(record["ticks"], np.int64)
    return kernel | {
        "ticks": ticks,
        "ns": [one * (kernel["ns_per_tick"] / kernel["per_sample"]) for one in ticks],
        "gigabytes_a_second": np.array(kernel["gigabytes_a_second"], np.float64),
    }
