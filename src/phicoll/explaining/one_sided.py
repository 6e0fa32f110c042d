"""OpenSHMEM's accesses between pairs of ranks, as PGAS microbenchmarks time them: by size, pairs and cost of a call."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import phicoll._core as _core
from phicoll.errors import ArgumentError
from phicoll.explaining.kernel_runs import check_mode, run
from phicoll.foundations.checks import argument_names, check_text, check_whole, check_wholes
from phicoll.foundations.extras import data_frame
from phicoll.foundations.html_table import html_table
from phicoll.foundations.nearest import near
from phicoll.measuring.sweeps import check_sizes, machine_text
from phicoll.registry import Machine
from phicoll.results.compare.text import aligned

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ACCESSES", "OneSidedTable", "OneSidedTime", "one_sided"]

WORD = 8
#: What times each kernel: one access of what the partner has just written, and many in a row to what stays in place.
FRESH = dict.fromkeys(("put", "get", "p", "g"), "transfers=1:remote=written") | {
    "atomic": "transfers=1",
    "wait-until": "turns=1",
}
IN_A_ROW = dict.fromkeys(("put", "get", "p", "g", "atomic"), "transfers") | {"wait-until": "turns"}
HEADS = ("access", "bytes", "pairs", "call", "fresh ns", "in a row ns", "GB/s", "/ load, store", "in a row")
#: OpenSHMEM's accesses: kernels between pairs of ranks.
ACCESSES = tuple(FRESH)
MOST_IN_A_ROW, BYTES_IN_A_ROW = 64, 1 << 16


@dataclass(frozen=True)
class OneSidedTime:
    """One point: times of an access in ns, medians of rounds, each the mean of its pairs."""

    access: str
    bytes: int
    pairs: int
    call: int  #: ticks that a call takes before the access; 0: loads and stores
    fresh_ns: float  #: one access of lines that the partner has just written; a put with its quiet
    row_ns: float  #: one of many in a row, from and to the same places
    gigabytes_a_second: float | None  #: of all pairs in a row; None where no bytes are counted
    fresh_ratio: float | None  #: ``fresh_ns`` over that of loads and stores in the same rounds (median)
    row_ratio: float | None  #: the same of ``row_ns``


@dataclass(frozen=True)
class OneSidedTable:
    """All points of :func:`one_sided`; ``str`` and notebooks show them as a table."""

    machine: str  #: ``"host"``, or the simulated machine's name
    mode: str  #: ``"threads"``, ``"processes"`` or ``"simulated"``
    rounds: int
    points: tuple[OneSidedTime, ...]

    def caption(self) -> str:
        """What was measured, in one line."""
        where = f"{self.machine}, simulated" if self.mode == "simulated" else f"{self.mode} of this machine"
        return f"{where}; medians of {self.rounds} rounds; ratios within rounds, to accesses without a call"

    def _cells(self) -> list[list[str]]:
        def of(value: float | None, digits: int) -> str:
            return "-" if value is None else f"{value:,.{digits}f}"

        return [
            [row.access, str(row.bytes), str(row.pairs), str(row.call), of(row.fresh_ns, 1), of(row.row_ns, 1),
             of(row.gigabytes_a_second, 2), of(row.fresh_ratio, 2), of(row.row_ratio, 2)]
            for row in self.points
        ]  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """The object that ``phicoll run put --json`` prints."""
        return asdict(self)

    def to_dataframe(self) -> pd.DataFrame:
        """A DataFrame with a row for each point."""
        return data_frame(self.to_dict()["points"])

    def __str__(self) -> str:
        table = [list(HEADS), *self._cells()]
        return "\n".join([*aligned(table, range(1, len(HEADS))), self.caption()])

    def _repr_html_(self) -> str:
        return html_table(HEADS, self._cells(), caption=self.caption())


def in_a_row(access: str, size: int) -> int:
    """How many accesses follow each other in a sample: fewer where they are large."""
    return max(1, min(MOST_IN_A_ROW, BYTES_IN_A_ROW // size))


@argument_names
def one_sided(
    access: str,
    *,
    sizes: int | str | Iterable[int | str] | None = None,
    pairs: int | str | Iterable[int] = 1,
    call: int | str | Iterable[int] = 0,
    machine: str | os.PathLike[str] | Machine | None = None,
    mode: str | None = None,
    rounds: int | None = None,
    samples: int | None = None,
    where: str | None = None,
    oversubscribe: bool = False,
    wait: str = "spin",
    seed: int = 1,
) -> OneSidedTable:
    """Time accesses between pairs of ranks, all pairs at the same time, as namashivayam-2014's figures 3 to 5 do.

    Parameters
    ----------
    access:
        ``"put"``, ``"get"``, ``"p"``, ``"g"``, ``"atomic"`` or ``"wait-until"``, perhaps with parameters of the
        kernel: ``"put:directions=both"``.
    sizes:
        Bytes of a put or get, from 8: numbers or texts such as ``"4K"``. By default 8 B to 512 KB.
    pairs:
        Numbers of pairs: n pairs are 2 n ranks, i and i + n.
    call:
        Ticks that a library's call takes before its access: cycles of the simulated machine, or of this one's
        time-stamp counter. 0 is what ``shmem_ptr`` gives, and phicoll's own inlined calls.
    machine:
        A simulated machine; ``None`` for this one.
    mode:
        On this machine, ``"threads"`` (default) or ``"processes"``.
    rounds:
        How often all points are timed, in random order; each simulated round has a seed of its own. By default 5,
        simulated 2.
    samples:
        Samples of each point and round; by default 200, simulated 10.
    where:
        As in :func:`run`.
    oversubscribe:
        Allow more ranks than CPUs; ``wait="yield"`` is then the better way to wait.
    wait:
        How ranks wait.
    seed:
        Of the addresses and the order.

    Raises
    ------
    ArgumentError
        Bad input; nothing was started.
    VerificationError
        The data were wrong after a sample.
    """
    name, _, parameters = check_text("access", access).partition(":")
    if name not in ACCESSES:
        raise ArgumentError("access", repr(access), near(name, ACCESSES))
    if name not in ("put", "get"):
        if sizes is not None:
            raise ArgumentError("sizes", repr(sizes), "only with put and get: others access a word")
        counts = [WORD]
    else:
        counts = check_sizes([1 << k for k in range(3, 20, 2)] if sizes is None else sizes)
        for size in counts:
            check_whole("sizes", size, WORD, 1 << 26)
    many = check_wholes("pairs", pairs, 1, 512)
    calls = check_wholes("call", call, 0, 1_000_000)
    on = None if machine is None else machine_text(machine)
    if mode is not None:
        check_mode(mode, on)
    turns = check_whole("rounds", (5 if on is None else 2) if rounds is None else rounds, 1)
    of_each = check_whole("samples", (200 if on is None else 10) if samples is None else samples, 1)
    if on is None and not oversubscribe and 2 * max(many) > _core.allowed_cpu_count():
        allowed = _core.allowed_cpu_count() // 2
        raise ArgumentError(
            "pairs", str(max(many)), f"1 to {allowed}, two CPUs each, or more with oversubscribe"
        )

    def spec(size: int, ticks: int, rest: str) -> str:
        size_of = f"bytes={size}" if name in ("put", "get") else ""
        return ":".join(part for part in (name, parameters, size_of, f"call={ticks}", rest) if part)

    points = [(size, n, ticks) for size in counts for n in many for ticks in calls]
    for size, _, ticks in points:
        _core.parse_kernel(spec(size, ticks, FRESH[name]))
    times: dict[tuple[int, int, int], list[float]] = {point: [] for point in points}
    order = random.Random(seed)
    for turn in range(turns):
        for size, n, ticks in order.sample(points, len(points)):
            row = f"{IN_A_ROW[name]}={in_a_row(name, size)}"
            for rest in (FRESH[name], row):
                found = run(
                    spec(size, ticks, rest),
                    machine=on,
                    mode=mode,
                    ranks=2 * n,
                    where=where,
                    samples=of_each,
                    seed=seed + turn,
                    wait=wait,
                    oversubscribe=oversubscribe,
                )
                times[size, n, ticks].append(float(np.median(found.mean_over_ranks)))
    by = "simulated" if on is not None else mode or "threads"
    return table_of(name, parameters, points, times, on or "host", by, turns)


def table_of(
    name: str,
    parameters: str,
    points: list[tuple[int, int, int]],
    times: dict[tuple[int, int, int], list[float]],
    machine: str,
    mode: str,
    rounds: int,
) -> OneSidedTable:
    both = 2 if "directions=both" in parameters else 1
    rows = []
    for size, n, ticks in points:
        own = np.array(times[size, n, ticks]).reshape(rounds, 2)
        fresh, row = map(float, np.median(own, axis=0))
        rate = both * n * size / row if name in ("put", "get") else None
        ratios: list[float | None] = [None, None]
        if (bare := times.get((size, n, 0))) is not None:
            ratios = np.median(own / np.maximum(np.array(bare).reshape(rounds, 2), 1e-3), axis=0).tolist()
        rows.append(OneSidedTime(name, size, n, ticks, fresh, row, rate, *ratios))
    return OneSidedTable(machine, mode, rounds, tuple(rows))
