"""The time of a line between each two cores: the ping-pong kernel over all pairs, as a matrix and a heat map."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import phicoll._core as _core
from phicoll.errors import ArgumentError
from phicoll.explaining.kernel_runs import KernelSamples, run
from phicoll.foundations.checks import argument_names, check_items, check_text, check_whole
from phicoll.foundations.extras import extra
from phicoll.measuring.sweeps import machine_text
from phicoll.registry import Machine, load_machine

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["LINES", "MOST_CPUS", "LatencyMatrix", "latency_matrix"]

LINES = ("fresh", "repeated")
MOST_CPUS = 1024


@dataclass(frozen=True, eq=False)
class LatencyMatrix:
    """Half of a round trip of one line between each two CPUs, in ns.

    Row and column ``i`` belong to ``cpus[i]``: a CPU of this machine, or a context of a simulated one. Each pair is
    measured once, so the matrix is symmetric; its diagonal is NaN.
    """

    machine: str  #: ``"host"``, or the simulated machine's name
    mode: str  #: ``"threads"`` or ``"simulated"``
    cpus: tuple[int, ...]
    spec: str  #: the kernel
    lines: str  #: ``"fresh"`` or ``"repeated"``
    seed: int
    samples: NDArray[np.float64] = field(repr=False)  #: n x n x samples, raw
    late: int  #: samples for whose common start a rank was late (kept)

    @property
    def matrix(self) -> NDArray[np.float64]:
        """n x n, ns: the median of each pair's samples."""
        return np.asarray(np.median(self.samples, axis=2))

    @property
    def pairs(self) -> NDArray[np.float64]:
        """The matrix above its diagonal, one value per pair."""
        return np.asarray(self.matrix[np.triu_indices(len(self.cpus), 1)])

    @property
    def simulated(self) -> bool:
        """Whether a simulated machine was measured."""
        return self.mode == "simulated"

    def to_dataframe(self) -> pd.DataFrame:
        """The matrix as a DataFrame with the CPUs as index and columns."""
        with extra("frames"):
            import pandas as pd

        names = pd.Index(self.cpus, name="cpu")
        return pd.DataFrame(self.matrix, index=names, columns=names)

    def to_dict(self) -> dict[str, Any]:
        """The object that ``phicoll latency --json`` prints; the diagonal is null."""
        rows = [[None if np.isnan(ns) else round(float(ns), 2) for ns in row] for row in self.matrix]
        return {
            "machine": self.machine,
            "mode": self.mode,
            "cpus": list(self.cpus),
            "spec": self.spec,
            "lines": self.lines,
            "samples": int(self.samples.shape[2]),
            "seed": self.seed,
            "late": self.late,
            "least_ns": round(float(self.pairs.min()), 2),
            "median_ns": round(float(np.median(self.pairs)), 2),
            "most_ns": round(float(self.pairs.max()), 2),
            "matrix_ns": rows,
        }

    def plot(self, ax: Axes | None = None) -> Figure | Axes:
        """Draw a heat map. Returns the figure, or ``ax`` if it is given."""
        from phicoll.plots.canvas import new_figure
        from phicoll.plots.latency_matrix import draw_latency_matrix, size_of

        if ax is not None:
            return draw_latency_matrix(ax, self)
        figure = new_figure(*size_of(self))
        figure.set_layout_engine("compressed")  # a square matrix, nothing cut off
        draw_latency_matrix(figure.add_subplot(), self)
        return figure

    def caption(self) -> str:
        """What was measured, in one line."""
        where = f"{self.machine}, simulated" if self.simulated else "this machine"
        return (
            f"one line between each two of {len(self.cpus)} CPUs, {where}: half a round trip, median of "
            f"{self.samples.shape[2]} samples, {self.lines} lines"
        )

    def __str__(self) -> str:
        least, middle, most = self.pairs.min(), np.median(self.pairs), self.pairs.max()
        text = f"{self.caption()}\nleast {least:.1f} ns, median {middle:.1f} ns, most {most:.1f} ns"
        if len(self.cpus) <= 16:
            rows = [["cpu", *map(str, self.cpus)]]
            for cpu, row in zip(self.cpus, self.matrix, strict=True):
                rows.append([str(cpu), *("-" if np.isnan(ns) else f"{ns:.1f}" for ns in row)])
            widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
            text += "\n" + "\n".join(
                "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows
            )
        return text


@argument_names
def latency_matrix(
    machine: str | os.PathLike[str] | Machine | None = None,
    cpus: Iterable[int] | None = None,
    samples: int | None = None,
    *,
    state: str = "M",
    receive: str = "M",
    lines: str = "fresh",
    seed: int = 1,
    jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> LatencyMatrix:
    """Run the ping-pong kernel between each two CPUs.

    Parameters
    ----------
    machine:
        A simulated machine, by name, file or object, optionally with changes; ``None`` measures this one.
    cpus:
        Two or more CPUs of this machine, or contexts of a simulated one (core x contexts of a core + context). By
        default all allowed CPUs, or the first context of each core.
    samples:
        Samples per pair, each with different lines; by default 200 on this machine and 20 simulated.
    state, receive:
        States of the send and receive lines, as for the kernel.
    lines:
        ``"fresh"``: every pair has its own lines. ``"repeated"``: all pairs have the same lines (simulated: with the
        same home directories), so that pairs differ only in their CPUs.
    seed:
        Seed of the lines.
    jobs:
        Pairs simulated at the same time; by default the number of CPUs. Measured pairs run one after another.
    progress:
        Called with (pairs done, pairs) between pairs.

    Raises
    ------
    ArgumentError
        Bad input; nothing was started.
    """
    if lines not in LINES:
        raise ArgumentError("lines", repr(lines), ", ".join(LINES))
    text = None if machine is None else machine_text(machine)
    count = (20 if text else 200) if samples is None else samples
    check_whole("samples", count, 1, 100_000)
    if jobs is not None:
        check_whole("jobs", jobs, 1, MOST_CPUS)
    check_whole("seed", seed, 0, 2**53 - 1)
    for name, value in (("state", state), ("receive", receive)):
        check_text(name, value)
    chosen = check_cpus(text, cpus)
    spec = _core.parse_kernel(f"ping-pong:state={state}:receive={receive}")
    pairs = list(combinations(range(len(chosen)), 2))

    def measure(number: int) -> KernelSamples:
        a, b = pairs[number]
        # 53 bits, different for every pair; it determines the lines and, simulated, their home directories.
        own = seed if lines == "repeated" else (seed * 0x9E3779B97F4A7 + number) % (1 << 53)
        return run(spec, machine=text, where=f"{chosen[a]},{chosen[b]}", samples=count, seed=own)

    found = np.full((len(chosen), len(chosen), count), np.nan)
    late = 0
    with ThreadPoolExecutor((jobs or _core.allowed_cpu_count()) if text else 1) as pool:
        try:
            for number, result in enumerate(pool.map(measure, range(len(pairs)))):
                a, b = pairs[number]
                found[a, b] = found[b, a] = result.ns[0]
                late += result.late
                if progress is not None:
                    progress(number + 1, len(pairs))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return LatencyMatrix(
        machine=result.machine,
        mode=result.mode,
        cpus=tuple(chosen),
        spec=spec,
        lines=lines,
        seed=seed,
        samples=found,
        late=late,
    )


def check_cpus(machine: str | None, cpus: Iterable[int] | None) -> list[int]:
    """Check that ``cpus`` are two or more different CPUs of the machine."""
    if machine is None:
        there = [int(cpu) for cpu in _core.allowed_cpus()]
        default = there
        allowed = "two or more of the CPUs that may be used: " + ", ".join(map(str, there))
    else:
        loaded = load_machine(machine)
        there = list(range(loaded.contexts))
        default = there[:: loaded.contexts // loaded.cores]
        allowed = f"two or more contexts of {loaded.name}, 0 to {loaded.contexts - 1}"
    chosen = default if cpus is None else check_items("cpus", cpus, allowed)
    if (
        not all(isinstance(cpu, int) for cpu in chosen)
        or len(chosen) < 2
        or len(set(chosen)) < len(chosen)
        or not set(chosen) <= set(there)
    ):
        raise ArgumentError("cpus", repr(chosen), allowed)
    return chosen
