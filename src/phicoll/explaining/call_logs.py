"""The files that the core writes of each rank's calls (phicoll/group/profile.cpp).

The calls of a communicator come in the same order on all its ranks, so the call number k of an algorithm is one and the
same call everywhere. Of many calls of about one size some are timed and stand for others: the same ones on all ranks,
but for those after long calls.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

from phicoll.registry import CALLS

__all__ = ["BYTES", "Watched", "call_name", "read_logs"]

HEADER = struct.Struct("@16sdQ4i4Q64s32s448s")
MAGIC = b"phicoll-calls-3\0"
HEADER_BYTES = 4096
#: As they are written: calls, or how many in a row were not timed (``entered``), if ``left`` is 0.
RECORD = np.dtype([("entered", "u8"), ("left", "u8"), ("what", "u8")])
#: In ``what``, beside the bytes of the count argument: a call with counts, and an exclusive scan.
COUNTED, EXCLUSIVE = 1 << 63, 1 << 62
#: Timed calls: their number on the communicator, and how many calls each stands for.
CALL = np.dtype([*RECORD.descr, ("number", "u8"), ("weight", "f8")])
BYTES = (1 << 48) - 1
#: The bits of how many calls before a timed one were not timed; it was written over their record.
BEFORE = EXCLUSIVE - 1 - BYTES
#: By operation: the call of it that has a name of its own.
OTHER_CALL = {operation: call for call, operation in CALLS.items() if call != operation}

#: Begins the names of groups that may be on several hosts.
OF_MPI = "mpi:"

Array = np.ndarray[Any, Any]


def call_name(operation: str, what: int) -> str:
    """The name of a call, such as ``gatherv``, by its operation and what was written of it."""
    return OTHER_CALL.get(operation, operation) if what & (COUNTED | EXCLUSIVE) else operation


@dataclass
class Log:
    """One file: a rank's ``calls`` of one algorithm that were timed, and of how many; ``host`` numbers the rank's."""

    key: tuple[str, int, int, str, str]
    rank: int
    host: int
    mode: str
    made: tuple[int, int]
    ns_per_tick: float
    calls: Array
    count: int
    more: tuple[int, int]


@dataclass
class Watched:
    """The calls of one algorithm on one communicator, by rank, each in the order in which they were made.

    ``more`` are the calls that were not kept, and their ticks.
    """

    communicator: str
    ranks: int
    operation: str
    algorithm: str
    ns_per_tick: float
    by_rank: dict[int, Array]
    more: tuple[int, int]
    mode: str = "processes"
    one_clock: bool = True

    def common(self) -> Array | None:
        """The calls that all ranks have timed, by rank.

        None where a rank's are missing, or more than were kept, or ranks are on several hosts.
        """
        if len(self.by_rank) < self.ranks or self.more[0] or not self.one_clock:
            return None
        numbers = reduce(np.intersect1d, (calls["number"] for calls in self.by_rank.values()))
        found = []
        for rank in range(self.ranks):
            calls = self.by_rank[rank]
            kept = np.isin(calls["number"], numbers)
            found.append(calls[kept])
            stand_for(found[-1], calls[~kept])
        return np.stack(found)


def stand_for(timed: Array, others: Array) -> None:
    """Add the weights of ``others`` to those of ``timed`` calls: the next one of their size.

    If there is none, to the one before; and if none of the size was timed, to those of the nearest size.
    """
    for size in np.unique(others["what"]) if len(timed) else ():
        what = timed["what"]
        # Unsigned, so that it is exact with flags in the highest bits.
        apart = np.where(what > size, what - size, size - what)
        chosen = np.flatnonzero(what == what[apart.argmin()])
        these = others[others["what"] == size]
        next_one = np.searchsorted(timed["number"][chosen], these["number"]).clip(max=len(chosen) - 1)
        np.add.at(timed["weight"], chosen[next_one], these["weight"])


def counts_of(records: Array) -> Array:
    """How many calls each record is of."""
    before = (records["what"] & np.uint64(BEFORE)) >> np.uint64(48)
    return np.where(records["left"] == 0, records["entered"], before + np.uint64(1)).astype(np.int64)


def timed_calls(records: Array) -> Array:
    """The calls that were timed. Their weights for each size come to the number of its calls."""
    calls = np.empty(len(records), CALL)
    for name in RECORD.names or ():
        calls[name] = records[name]
    calls["what"] &= np.uint64(~BEFORE & (1 << 64) - 1)
    skipped = records["left"] == 0
    counts = counts_of(records)
    calls["number"], calls["weight"] = np.cumsum(counts) - np.where(skipped, counts, 1), counts
    timed = calls[~skipped]
    stand_for(timed, calls[skipped])
    return timed


def read_log(path: Path) -> Log | None:
    """A file's calls; None for one that a rank had not finished making when it died."""
    with path.open("rb") as file:
        head = file.read(HEADER.size)
        if len(head) < HEADER.size or not head.startswith(MAGIC):
            return None
        _, ns, place, rank, size, host, shared, most, calls, timed, ticks, *names = HEADER.unpack(head)
        file.seek(HEADER_BYTES)
        pieces = []
        while piece := file.read(RECORD.itemsize << 14):
            records = np.frombuffer(piece[: len(piece) // RECORD.itemsize * RECORD.itemsize], RECORD)
            ends = np.flatnonzero(records["entered"] == 0)
            pieces.append(records[: ends[0]] if len(ends) else records)
            if len(ends):
                break
    group, operation, algorithm = (text.split(b"\0")[0].decode(errors="replace") for text in names)
    process, number = path.stem.split("-")
    found = (np.concatenate(pieces) if pieces else np.empty(0, RECORD))[:most]
    count = int(counts_of(found).sum())
    if host and not group.startswith(OF_MPI):  # what tells groups of one host apart
        group = f"{host}/{group}"
    return Log(
        (group, place, size, operation, algorithm),
        rank,
        host,
        "processes" if shared else "threads",
        (int(process), int(number)),
        ns,
        timed_calls(found),
        count,
        (calls, ticks * calls // max(timed, 1)),
    )


def joined(logs: Sequence[Log]) -> Array:
    """The calls of an algorithm that was made several times, one after the other."""
    before = 0
    pieces = []
    for log in logs:
        calls = log.calls.copy()
        calls["number"] += before
        before += log.count
        pieces.append(calls)
    return np.concatenate(pieces)


def to_one_clock(logs: Sequence[Log]) -> None:
    """Give other hosts' calls ticks of the same length as the first's; each host's first call is at one time."""
    by_host: dict[int, list[Log]] = {}
    for log in logs:
        by_host.setdefault(log.host, []).append(log)
    begun = {
        host: min((int(log.calls["entered"][0]) for log in of if len(log.calls)), default=0)
        for host, of in by_host.items()
    }
    first = min(by_host, default=0)
    for host in by_host.keys() - {first}:
        ns = by_host[first][0].ns_per_tick
        for log in by_host[host]:
            ticks = log.ns_per_tick / ns
            for name in ("entered", "left"):
                after = (log.calls[name] - np.uint64(begun[host])) * ticks
                log.calls[name] = after.astype(np.uint64) + np.uint64(begun[first])
            log.more = (log.more[0], round(log.more[1] * ticks))
            log.ns_per_tick = ns


def read_logs(folder: Path) -> list[Watched]:
    """What the files in ``folder`` have."""
    every = [log for path in folder.glob("*.calls") if (log := read_log(path))]
    to_one_clock(every)
    logs: dict[tuple[str, int, int, str, str], list[Log]] = {}
    for log in every:
        logs.setdefault(log.key, []).append(log)
    groups = list(dict.fromkeys(key[0] for key in sorted(logs)))
    parts = {group: sorted({key[1] for key in logs if key[0] == group and key[1]}) for group in groups}
    found = []
    for (group, place, size, operation, algorithm), files in logs.items():
        number = str(groups.index(group))
        name = f"{number}.{parts[group].index(place) + 1}" if place else number
        by_rank: dict[int, list[Log]] = {}
        for log in sorted(files, key=lambda log: log.made):
            by_rank.setdefault(log.rank, []).append(log)
        calls = {rank: joined(by_rank[rank]) for rank in range(size) if rank in by_rank}
        more = (sum(log.more[0] for log in files), sum(log.more[1] for log in files))
        one = files[0]
        one_clock = len({log.host for log in files}) == 1
        found.append(
            Watched(name, size, operation, algorithm, one.ns_per_tick, calls, more, one.mode, one_clock)
        )
    return found
