"""``phicoll profile`` and ``phicoll.profile()``: what a program's collectives take, and who waits for whom.

Each rank's calls are read from the files that the core wrote (phicoll/group/profile.cpp). The calls of a communicator
come in the same order on all its ranks, so the call number k of an algorithm is one and the same call everywhere.
"""

from __future__ import annotations

import os
import shutil
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from phicoll.errors import Error
from phicoll.foundations.files import temporary_folder, write_text
from phicoll.foundations.html_table import html_table
from phicoll.foundations.markup import Html, fill, join, page_head
from phicoll.registry import moves_data, short_spec
from phicoll.results.reading.subject import size_text

__all__ = ["VARIABLE", "Profile", "ProfileRow", "profile", "read_profile"]

#: The environment variable that names the folder of the files.
VARIABLE = "PHICOLL_PROFILE"
HEADER = struct.Struct("@16sdQ4i4Q64s32s448s")
MAGIC = b"phicoll-calls-1\0"
HEADER_BYTES = 4096
#: Of a file system in memory, for the files.
LEAST_BYTES = 1 << 30
CALL = np.dtype([("entered", "u8"), ("left", "u8"), ("bytes", "u8")])


@dataclass(frozen=True)
class ProfileRow:
    """The calls of one operation, algorithm and size on one communicator; times are sums over ranks, in seconds.

    ``calls`` are a rank's, ``bytes`` the count argument's of one call. Of ``inside_s``, ``waited_s`` was before the
    last rank had entered. ``late_rank`` entered last most often, in the share ``late_share`` of the calls. None where a
    rank's calls are missing, or more than were kept.
    """

    communicator: str
    ranks: int
    operation: str
    algorithm: str
    bytes: int
    calls: int
    inside_s: float
    waited_s: float | None
    late_rank: int | None
    late_share: float | None


@dataclass
class Profile:
    """What was watched: ``rows``, those that took longest first, and the run's ``seconds``."""

    rows: list[ProfileRow] = field(default_factory=list)
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)

    def share(self, row: ProfileRow) -> float:
        """The share of the run that a rank spent in these calls, on average."""
        return row.inside_s / row.ranks / self.seconds if self.seconds > 0 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """The object that ``phicoll profile --json`` prints."""
        rows = [{**asdict(row), "share": self.share(row)} for row in self.rows]
        return {"seconds": self.seconds, "rows": rows, "notes": self.notes}

    def cells(self) -> Iterator[list[str]]:
        """The table's rows, as texts."""
        for row in self.rows:
            all_calls = row.calls * row.ranks
            waited = "-" if row.waited_s is None else f"{row.waited_s / max(row.inside_s, 1e-12):.0%}"
            late = "-" if row.late_rank is None else f"{row.late_rank} ({row.late_share:.0%})"
            yield [
                row.communicator,
                str(row.ranks),
                row.operation,
                size_text(row.bytes) if moves_data(row.operation) else "",
                short_spec(row.operation, row.algorithm),
                f"{row.calls:,}",
                f"{row.inside_s / max(all_calls, 1) * 1e6:,.3f}",
                f"{row.inside_s / row.ranks:.6f}",
                f"{self.share(row):.1%}",
                waited,
                late,
            ]

    def __str__(self) -> str:
        if not self.rows:
            return "\n".join([f"no collective calls in {self.seconds:.3f} s", *self.notes])
        lines = [HEADS, *self.cells()]
        widths = [max(len(line[i]) for line in lines) for i in range(len(HEADS))]
        table = [
            "  ".join(
                cell.ljust(width) if i in LEFT else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        ]
        return "\n".join([*table, f"a run of {self.seconds:.3f} s; means over ranks", *self.notes])

    def _repr_html_(self) -> str:
        return html_table(HEADS, self.cells(), left=[4], caption=f"a run of {self.seconds:.3f} s")

    def page(self, path: str | os.PathLike[str]) -> Path:
        """Write the table as an HTML page."""
        notes = join("", (fill("<p>{}</p>", note) for note in self.notes))
        title = "Collectives of a program"
        head = page_head(title, STYLE)
        table = Html(self._repr_html_())
        found = Path(path)
        write_text(found, fill("{}<body><h1>{}</h1>{}{}</body></html>\n", head, title, table, notes))
        return found


HEADS = [
    "communicator", "ranks", "operation", "message", "algorithm", "calls", "us a call", "seconds", "of the run",
    "waiting", "late rank",
]  # fmt: skip
LEFT = {0, 2, 4}
#: Of the page, whose policy lets no element have a style of its own.
STYLE = """body{font-family:sans-serif}td,th{padding:.2em .6em;text-align:right;white-space:nowrap}
td:nth-child(5){text-align:left;white-space:normal}"""


@dataclass
class Log:
    """One file: a rank's calls of one algorithm."""

    key: tuple[str, int, int, str, str]
    rank: int
    made: tuple[int, int]
    ns_per_tick: float
    calls: np.ndarray[Any, Any]
    more: tuple[int, int, int]


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


def read_profile(folder: Path, seconds: float) -> Profile:
    """The profile of the files in ``folder``, of a run that took ``seconds``."""
    found = Profile(seconds=seconds)
    logs: dict[tuple[str, int, int, str, str], list[Log]] = {}
    for path in folder.glob("*.calls"):
        if log := read_log(path):
            logs.setdefault(log.key, []).append(log)
    groups = list(dict.fromkeys(key[0] for key in sorted(logs)))
    parts = {group: sorted({key[1] for key in logs if key[0] == group and key[1]}) for group in groups}
    for key, files in logs.items():
        number = str(groups.index(key[0]))
        name = f"{number}.{parts[key[0]].index(key[1]) + 1}" if key[1] else number
        found.rows += rows_of(key, name, files, found.notes)
    found.rows.sort(key=lambda row: row.inside_s, reverse=True)
    return found


def rows_of(
    key: tuple[str, int, int, str, str], name: str, logs: list[Log], notes: list[str]
) -> Iterator[ProfileRow]:
    """A row for each size of one algorithm's calls on one communicator."""
    _, _, size, operation, algorithm = key
    ns = logs[0].ns_per_tick
    by_rank = {
        rank: np.concatenate([log.calls for log in sorted(of_rank, key=lambda log: log.made)])
        for rank in range(size)
        if (of_rank := [log for log in logs if log.rank == rank])
    }
    more = sum(log.more[0] for log in logs)
    if more:
        seconds = sum(log.more[1] for log in logs) * ns / 1e9
        notes.append(
            f"{operation} by {algorithm} on {name}: {more:,} more calls, {seconds:.6f} s, are not in the table: "
            "a rank keeps the first million of an algorithm"
        )
    # Where ranks died or left, the calls that all have made are one and the same up to the shortest list.
    whole = len(by_rank) == size and not more
    if whole:
        least = min(map(len, by_rank.values()))
        entered = np.stack([by_rank[rank]["entered"][:least] for rank in range(size)]).astype(np.int64)
        left = np.stack([by_rank[rank]["left"][:least] for rank in range(size)]).astype(np.int64)
        last = entered.max(axis=0)
        waited = np.clip(np.minimum(left, last) - entered, 0, None)
        late = entered.argmax(axis=0)
    every = np.concatenate([calls["bytes"] for calls in by_rank.values()])
    for message in np.unique(every):
        chosen = {rank: calls["bytes"] == message for rank, calls in by_rank.items()}
        inside = sum(
            float((calls["left"] - calls["entered"])[chosen[rank]].sum()) for rank, calls in by_rank.items()
        )
        calls = max(int(chosen[rank].sum()) for rank in by_rank)
        wait, late_rank, late_share = None, None, None
        if whole and least:
            common = by_rank[0]["bytes"][:least] == message
            wait = float(waited[:, common].sum()) * ns / 1e9
            if common.any() and size > 1:
                times = np.bincount(late[common], minlength=size)
                late_rank, late_share = int(times.argmax()), float(times.max() / times.sum())
        yield ProfileRow(
            name,
            size,
            operation,
            algorithm,
            int(message),
            calls,
            inside * ns / 1e9,
            wait,
            late_rank,
            late_share,
        )


def folder_in_memory() -> Path | None:
    """Where files are memory and nothing else, if there is much of it; else None. On a disk, pages cost more."""
    memory = Path("/dev/shm")
    try:
        roomy = shutil.disk_usage(memory).free >= LEAST_BYTES
    except OSError:
        return None
    return memory if roomy and os.access(memory, os.W_OK) else None


@contextmanager
def profile() -> Iterator[Profile]:
    """Watch the collectives of the groups that are started within the block.

    ``with phicoll.profile() as found: phicoll.run(work, ranks=4)``; then ``found`` is displayed as a table. The groups
    may be of threads or processes, also those of programs that the block starts.

    Raises
    ------
    Error
        Within another such block, or under ``phicoll profile``.
    """
    if os.environ.get(VARIABLE):
        raise Error("a profile is being made: one cannot be made within it")
    found = Profile()
    with temporary_folder("a profile", folder_in_memory()) as folder:
        os.environ[VARIABLE] = str(folder)
        begun = time.perf_counter()
        try:
            yield found
        finally:
            seconds = time.perf_counter() - begun
            del os.environ[VARIABLE]
            made = read_profile(folder, seconds)
            found.rows, found.seconds, found.notes = made.rows, made.seconds, made.notes
