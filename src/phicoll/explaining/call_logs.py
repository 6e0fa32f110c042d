"""The files that the core writes of each rank's calls (phicoll/group/profile.cpp).

The calls of a communicator come in the same order on all its ranks, so the call number k of an algorithm is one and the
same call everywhere.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["Watched", "read_logs"]

HEADER = struct.Struct("@16sdQ4i4Q64s32s448s")
MAGIC = b"phicoll-calls-1\0"
HEADER_BYTES = 4096
CALL = np.dtype([("entered", "u8"), ("left", "u8"), ("bytes", "u8")])


@dataclass
class Log:
    """One file: a rank's calls of one algorithm."""

    key: tuple[str, int, int, str, str]
    rank: int
    made: tuple[int, int]
    ns_per_tick: float
    calls: np.ndarray[Any, Any]
    more: tuple[int, int, int]


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
    by_rank: dict[int, np.ndarray[Any, Any]]
    more: tuple[int, int]

    def common(self) -> np.ndarray[Any, Any] | None:
        """The calls that all ranks have made, by rank; None where a rank's are missing, or more than were kept.

        Where ranks died or left, they are the calls up to the shortest list.
        """
        if len(self.by_rank) < self.ranks or self.more[0]:
            return None
        least = min(map(len, self.by_rank.values()))
        return np.stack([self.by_rank[rank][:least] for rank in range(self.ranks)])


def read_log(path: Path) -> Log | None:
    """A file's calls; None for one that a rank had not finished making when it died."""
    with path.open("rb") as file:
        head = file.read(HEADER.size)
        if len(head) < HEADER.size or not head.startswith(MAGIC):
            return None
        _, ns, place, rank, size, _, _, most, *more, group, operation, algorithm = HEADER.unpack(head)
        file.seek(HEADER_BYTES)
        pieces = []
        while piece := file.read(CALL.itemsize << 14):
            calls = np.frombuffer(piece[: len(piece) // CALL.itemsize * CALL.itemsize], CALL)
            ends = np.flatnonzero(calls["entered"] == 0)
            pieces.append(calls[: ends[0]] if len(ends) else calls)
            if len(ends):
                break
    texts = [text.split(b"\0")[0].decode(errors="replace") for text in (group, operation, algorithm)]
    process, number = path.stem.split("-")
    found = np.concatenate(pieces) if pieces else np.empty(0, CALL)
    return Log(
        (texts[0], place, size, texts[1], texts[2]),
        rank,
        (int(process), int(number)),
        ns,
        found[:most],
        tuple(more),
    )


def read_logs(folder: Path) -> list[Watched]:
    """What the files in ``folder`` have."""
    logs: dict[tuple[str, int, int, str, str], list[Log]] = {}
    for path in folder.glob("*.calls"):
        if log := read_log(path):
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
        calls = {
            rank: np.concatenate([log.calls for log in by_rank[rank]])
            for rank in range(size)
            if rank in by_rank
        }
        more = (sum(log.more[0] for log in files), sum(log.more[1] for log in files))
        found.append(Watched(name, size, operation, algorithm, files[0].ns_per_tick, calls, more))
    return found
