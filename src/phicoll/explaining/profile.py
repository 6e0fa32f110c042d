"""``phicoll profile`` and ``phicoll.profile()``: what a program's collectives take, and who waits for whom."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from phicoll.errors import Error
from phicoll.explaining.call_logs import BYTES, Array, Watched, call_name, read_logs
from phicoll.explaining.timeline import timeline
from phicoll.foundations.files import check_writable, temporary_folder, write_text
from phicoll.foundations.html_table import html_table
from phicoll.foundations.markup import STYLE, Html, fill, join, page_head
from phicoll.registry import moves_data, short_spec
from phicoll.results.reading.subject import size_text

__all__ = ["VARIABLE", "Profile", "ProfileRow", "profile"]

#: The environment variable that names the folder of the files.
VARIABLE = "PHICOLL_PROFILE"
#: Set: each call is timed.
EVERY = "PHICOLL_PROFILE_EVERY"
#: In the text's table.
MOST_ROWS = 24
#: Of a file system in memory, for the files.
LEAST_BYTES = 1 << 30


@dataclass(frozen=True)
class ProfileRow:
    """The calls of one name, algorithm and size on one communicator; times are sums over ranks, in seconds.

    ``calls`` are a rank's, ``bytes`` the count argument's of one call. Of ``inside_s``, ``waited_s`` was before the
    last rank had entered. ``late_rank`` entered last most often, in the share ``late_share`` of the calls. None where a
    rank's calls are missing, or more than were kept. Times are those of ``timed`` calls of a rank, which stand for all;
    ``error_s`` is then half the 95 % interval of ``inside_s``.
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
    mode: str = "processes"
    timed: int = 0
    error_s: float = 0.0

    @property
    def own_s(self) -> float:
        """Of ``inside_s``, the time after the last rank had entered, which another algorithm may shorten."""
        return self.inside_s - (self.waited_s or 0.0)


@dataclass
class Profile:
    """What was watched: ``rows``, those that took longest first, and the run's ``seconds``."""

    rows: list[ProfileRow] = field(default_factory=list)
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)
    watched: list[Watched] = field(default_factory=list, repr=False)

    def trace(self, path: str | os.PathLike[str]) -> Path:
        """Write a timeline that ui.perfetto.dev opens: each rank's calls, and what of them it waited.

        Raises
        ------
        ArgumentError, ResourceError
            The file cannot be written.
        """
        target = check_writable(path, "trace")
        write_text(target, timeline(self.watched))
        return target

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
                f"{row.inside_s / row.ranks:.6f}"
                + (f" ±{row.error_s / row.inside_s:.1%}" if row.error_s else ""),
                f"{self.share(row):.1%}",
                waited,
                late,
            ]

    def __str__(self) -> str:
        if not self.rows:
            return "\n".join([f"no collective calls in {self.seconds:.3f} s", *self.notes])
        lines = [HEADS, *islice(self.cells(), MOST_ROWS)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(HEADS))]
        table = [
            "  ".join(
                cell.ljust(width) if i in LEFT else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        ]
        if rest := self.rows[MOST_ROWS:]:
            seconds = sum(row.inside_s / row.ranks for row in rest)
            table.append(
                f"and {len(rest)} more rows of {seconds:.6f} s in all, which phicoll profile --json has"
            )
        return "\n".join([*table, f"a run of {self.seconds:.3f} s; means over ranks", *self.notes])

    def _repr_html_(self) -> str:
        return html_table(HEADS, self.cells(), left=[4], caption=f"a run of {self.seconds:.3f} s")

    def page(self, path: str | os.PathLike[str]) -> Path:
        """Write the table as an HTML page, with a bar for each row."""
        title = "Collectives of a program"
        longest = max((row.inside_s / row.ranks for row in self.rows), default=0.0)
        lines = [
            fill(
                "<tr>{}<td>{}</td></tr>",
                join("", (fill("<td>{}</td>", breakable(c)) for c in cells)),
                bar(row, longest),
            )
            for row, cells in zip(self.rows, self.cells(), strict=True)
        ]
        heads = join("", (fill("<th>{}</th>", name) for name in (*HEADS, BAR_HEAD)))
        notes = join(
            "",
            (
                fill("<p>{}</p>", note)
                for note in (f"A run of {self.seconds:.3f} s; means over ranks.", *self.notes)
            ),
        )
        text = fill(
            "{}<body><h1>{}</h1>{}<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table></body></html>\n",
            page_head(title, STYLE + NUMBERS),
            title,
            notes,
            heads,
            join("", lines),
        )
        found = Path(path)
        write_text(found, text)
        return found


HEADS = [
    "communicator", "ranks", "operation", "message", "algorithm", "calls", "us a call", "seconds", "of the run",
    "waiting", "late rank",
]  # fmt: skip
LEFT = {0, 2, 4}
#: Of the page, whose policy lets no element have a style of its own.
NUMBERS = "td:nth-child(2), td:nth-child(n+6):nth-child(-n+11) { text-align: right; white-space: nowrap; }\n"
BAR_HEAD = "waiting | after the last had entered"
BAR_WIDTH = 240


def breakable(text: str) -> Html:
    """A cell in which an algorithm's parameters may begin a line."""
    return join("", (part + Html("<wbr>") if part == ":" else part for part in re.split("(:)", text)))


def bar(row: ProfileRow, longest: float) -> Html:
    """A row's time in its calls as a bar, beside the longest row's: what it waited, and what remains."""
    whole = BAR_WIDTH * row.inside_s / row.ranks / max(longest, 1e-12)
    waited = whole * (row.waited_s or 0.0) / max(row.inside_s, 1e-12)
    return fill(
        '<svg width="{}" height="14" role="img"><title>waiting {:.6f} s of {:.6f} s</title>'
        '<rect width="{:.1f}" height="14" fill="#D55E00"/>'
        '<rect x="{:.1f}" width="{:.1f}" height="14" fill="#0072B2"/></svg>',
        BAR_WIDTH,
        (row.waited_s or 0.0) / row.ranks,
        row.inside_s / row.ranks,
        waited,
        waited,
        whole - waited,
    )


def profile_of(watched: list[Watched], seconds: float) -> Profile:
    """The profile of a run that took ``seconds``."""
    found = Profile(seconds=seconds)
    for one in watched:
        found.rows += rows_of(one)
        if one.more[0]:
            found.notes.append(
                f"{one.operation} by {one.algorithm} on {one.communicator}: {one.more[0]:,} more calls, "
                f"{one.more[1] * one.ns_per_tick / 1e9:.6f} s, are not in the table: a rank keeps the first million "
                "of an algorithm"
            )
    found.rows.sort(key=lambda row: row.inside_s, reverse=True)
    found.notes += passed_through(found.rows)
    return found


def remarks(folder: Path) -> Iterator[str]:
    """What libraries under the program said of the processes, in the folder's other files."""
    texts = (path.read_text(errors="replace") for path in sorted(folder.glob("*.remarks")))
    for line, times in Counter(line for text in texts for line in text.splitlines()).items():
        yield line if times == 1 else f"{line}, in each of {times:,} processes"


def passed_through(rows: Sequence[ProfileRow]) -> Iterator[str]:
    """Why phicoll left calls to the MPI, a line each, with how many these are of all ranks."""
    calls: dict[str, Counter[str]] = {}
    for row in rows:
        if reason := re.fullmatch(r"MPI \((.*)\)", row.algorithm):
            calls.setdefault(reason[1], Counter())[row.operation] += row.calls * row.ranks
    for reason, of in calls.items():
        counts = ", ".join(f"{number:,} of {call}" for call, number in sorted(of.items()))
        yield f"left to the MPI: {reason}: {counts}"


def rows_of(one: Watched) -> Iterator[ProfileRow]:
    """A row for each size of one algorithm's calls on one communicator."""
    ns = one.ns_per_tick
    common = one.common()
    if common is not None and common.size:
        entered, left = common["entered"].astype(np.int64), common["left"].astype(np.int64)
        waited = np.clip(np.minimum(left, entered.max(axis=0)) - entered, 0, None) * common["weight"]
        all_of = (left - entered) * common["weight"]
        late = entered.argmax(axis=0)
    every = np.concatenate([calls["what"] for calls in one.by_rank.values()])
    for what in np.unique(every):
        chosen = [calls[calls["what"] == what] for calls in one.by_rank.values()]
        inside = sum(float((times(calls) * calls["weight"]).sum()) for calls in chosen)
        wait, late_rank, late_share = None, None, None
        if common is not None and common.size:
            of_size = common[0]["what"] == what
            wait = (
                inside
                * ns
                / 1e9
                * float(waited[:, of_size].sum())
                / max(float(all_of[:, of_size].sum()), 1.0)
            )
            if of_size.any() and one.ranks > 1:
                weights = common[0]["weight"][of_size]
                shares = np.bincount(late[of_size], weights, minlength=one.ranks)
                late_rank, late_share = int(shares.argmax()), float(shares.max() / shares.sum())
        yield ProfileRow(
            one.communicator,
            one.ranks,
            call_name(one.operation, int(what)),
            one.algorithm,
            int(what) & BYTES,
            max(round(float(calls["weight"].sum())) for calls in chosen),
            inside * ns / 1e9,
            wait,
            late_rank,
            late_share,
            one.mode,
            max(map(len, chosen)),
            sum(map(error, chosen)) * ns / 1e9,
        )


def times(calls: Array) -> Array:
    """Their ticks."""
    return (calls["left"] - calls["entered"]).astype(np.float64)


def error(calls: Array) -> float:
    """Half the 95 % interval of the ticks of all calls that timed ones stand for."""
    weights = calls["weight"]
    if not (weights > 1).any():
        return 0.0
    from_mean = times(calls) - np.average(times(calls), weights=weights)
    return float(1.96 * np.sqrt((weights * (weights - 1) * from_mean**2).sum()))


def folder_in_memory() -> Path | None:
    """Where files are memory and nothing else, if there is much of it; else None. On a disk, pages cost more."""
    memory = Path("/dev/shm")
    try:
        roomy = shutil.disk_usage(memory).free >= LEAST_BYTES
    except OSError:
        return None
    return memory if roomy and os.access(memory, os.W_OK) else None


@contextmanager
def profile(trace: str | os.PathLike[str] | None = None, *, every: bool = False) -> Iterator[Profile]:
    """Watch the collectives of the groups that are started within the block.

    ``with phicoll.profile() as found: phicoll.run(work, ranks=4)``; then ``found`` is displayed as a table. The groups
    may be of threads or processes, also those of programs that the block starts.

    Parameters
    ----------
    trace:
        A file for a timeline that ui.perfetto.dev opens: each rank's calls, and what of them it waited.
    every:
        Time each call, as for a timeline. By default about one in eight of the calls of a size after the first 1,024.

    Raises
    ------
    ArgumentError
        The file cannot be written.
    Error
        Within another such block, or under ``phicoll profile``.
    """
    if os.environ.get(VARIABLE):
        raise Error("a profile is being made: one cannot be made within it")
    target = None if trace is None else check_writable(trace, "trace")
    found = Profile()
    with temporary_folder("a profile", folder_in_memory()) as folder:
        os.environ[VARIABLE] = str(folder)
        if target is not None or every:
            os.environ[EVERY] = "1"
        begun = time.perf_counter()
        try:
            yield found
        finally:
            seconds = time.perf_counter() - begun
            del os.environ[VARIABLE]
            os.environ.pop(EVERY, None)
            found.watched = read_logs(folder)
            made = profile_of(found.watched, seconds)
            made.notes += remarks(folder)
            found.rows, found.seconds, found.notes = made.rows, made.seconds, made.notes
    if target is not None:
        found.trace(target)
