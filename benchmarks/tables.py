"""The tables of a report, in Markdown that is readable as it is."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import replace

from mpi_peers import duration
from points import Point, Taken, size_text
from states import border_of
from verdicts import LEAST_SHARE, NOT_SLOWER, Ratio, Row, at_limit, at_most, loop_of, mean_of

HEADLINE = ("broadcast", "reduce", "allreduce", "allgather", "alltoall")
#: Ranges of sizes with targets for geometric means: with a CPU for each rank, and with fewer.
SMALL, LARGE = (8, 4 << 10), (32 << 10, 16 << 20)
TARGETS = {"small": 2.0, "large": 1.2, "crowded": 2.0}
#: Of large exchanges, in which both ranks copy as much as the machine lets them.
LARGE_EXCHANGE = {"allgather": 1.0, "alltoall": 1.0}
BACK_TO_BACK_LINES = {"broadcast": 0.3, "allreduce": 1.5, "allgather": 1.5, "alltoall": 1.5}
WINDOW_RATIO = 1.1
#: How many times as fast calls are wanted whose buffers lie in the group's heap.
HEAP_SPEED = 1.5


def table(head: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int] = (0,)) -> str:
    """Cells padded to columns; the columns in `left` are aligned to the left."""
    cells = [[str(cell).replace("|", "/") for cell in row] for row in (head, *rows)]
    widths = [max(3, *(len(row[i]) for row in cells)) for i in range(len(head))]
    pad = [str.ljust if i in left else str.rjust for i in range(len(head))]
    lines = [
        "| " + " | ".join(p(c, w) for p, c, w in zip(pad, row, widths, strict=True)) + " |" for row in cells
    ]
    rule = "|" + "|".join("-" * (w + 1) + ("-" if i in left else ":") for i, w in enumerate(widths)) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])


def listed(points: Iterable[Point]) -> str:
    """A line for each setting, with the sizes."""
    by_setting: dict[str, list[str]] = {}
    for point in points:
        by_setting.setdefault(point.title(), []).append(size_text(point.size))
    return "\n".join(f"- {of}: {', '.join(sizes)}" for of, sizes in by_setting.items())


def number(ns: float | None) -> str:
    return "-" if ns is None else duration(ns)


def share(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"


def plain(value: object) -> str:
    return "-" if value is None else str(value)


def side_by_side(taken: Taken, subjects: Sequence[str], rounds: int) -> str:
    """Medians of all subjects, one line per point, and the ratio of phicoll's best to the best of the
    others."""
    parts: list[str] = []
    border = border_of(taken)
    for setting in dict.fromkeys(point.setting for point in sorted(taken.ns)):
        rows = []
        points = [point for point in sorted(taken.ns) if point.setting == setting]
        for point in points:
            medians = {s: taken.median(point, s) for s in subjects}
            ours = [m for s, m in medians.items() if m is not None and s.startswith("phicoll")]
            theirs = [m for s, m in medians.items() if m is not None and not s.startswith("phicoll")]
            line = taken.line_ns.get(point)
            loop_ns = loop_of(taken, point, taken.ns[point].get("phicoll", {}), border).median()
            rows.append(
                [
                    size_text(point.size),
                    *(
                        "wrong"
                        if (point, s) in taken.wrong
                        else "out"
                        if m is None and taken.is_out(point, s)
                        else number(m) + (f" ({few})" if (few := taken.few(point, s)) else "")
                        for s, m in medians.items()
                    ),
                    f"{min(ours) / statistics.median(line.values()):.2f}" if ours and line else "-",
                    share(loop_ns / min(ours)) if ours and loop_ns else "-",
                    f"{min(ours) / min(theirs):.3f}" if ours and theirs else "-",
                    taken.effective.get((point, "phicoll"), ""),
                ]
            )
        head = ["bytes", *subjects, "lines", "of loop", "best/MPI", "auto took"]
        parts.append(
            f"{points[0].title()}: medians of {rounds} rounds\n\n" + table(head, rows, (len(head) - 1,))
        )
    return "\n\n".join(parts)


def ratio_tables(rows: Sequence[Row], limits: Sequence[Row] = ()) -> dict[str, str]:
    """phicoll against the best of the others, with intervals, by setting."""
    at = {row.point: at_limit(row) for row in limits}
    found = {}
    for setting in dict.fromkeys(row.point.setting for row in rows):
        lines = [
            [
                size_text(row.point.size),
                number(row.ns),
                f"{row.opponent} {number(row.opponent_ns)}" if row.opponent else "-",
                plain(row.ratio),
                verdict_of(row, at.get(row.point, "-")),
                "-" if row.lines is None else f"{row.lines.median:.2f}",
                share(row.share),
                plain(row.loop_ratio),
                at.get(row.point, "-"),
                ", ".join(row.out) or "-",
                row.effective,
            ]
            for row in rows
            if row.point.setting == setting
        ]
        title = next(row.point.title() for row in rows if row.point.setting == setting)
        found[title] = table(
            ["bytes", "phicoll", "best other", "time ratio [95 %]", "verdict", "lines", "of loop", "loop/other [95 %]",
             f"{LEAST_SHARE:.0%} of loop", "took no part", "auto took"],
            lines, (4, 8, 9, 10),
        )  # fmt: skip
    return found


def verdict_of(row: Row, limit: str) -> str:
    """The verdict, which says if the call is already at the machine's limit, the best bare loop, or if that
    loop itself takes longer than the opponent; with a question mark where that is in doubt."""
    if row.verdict.rstrip("?") in ("slower", "unresolved") and limit.rstrip("?") == "met":
        return f"{row.verdict}, at the copy limit" + ("?" if limit.endswith("?") else "")
    loop = at_most(row.loop_ratio, NOT_SLOWER)
    if row.verdict.startswith("slower") and loop.rstrip("?") == "missed":
        return f"{row.verdict}, as the loop" + ("?" if loop.endswith("?") else "")
    return row.verdict


def geomean_table(rows: Sequence[Row], crowded_from: int) -> str:
    """Speed over the best other's, geometric means by operation, with targets if there are any."""
    lines = []
    for setting in dict.fromkeys(row.point.setting for row in rows):
        operation, ranks, definition, buffers = setting
        of = [row for row in rows if row.point.setting == setting]
        cells, verdicts = [], []
        crowded = ranks > crowded_from
        for name, (least, most) in (("small", SMALL), ("large", LARGE), ("all", (0, 1 << 60))):
            found = mean_of(r for r in of if least <= r.point.size <= most)
            cells.append(speed(found))
            wanted = TARGETS["crowded"] if crowded else TARGETS.get(name)
            if name == "large" and not crowded:
                wanted = LARGE_EXCHANGE.get(operation, wanted)
            if found and wanted and operation in HEADLINE and (name != "all") != crowded:
                word = at_most(found, 1 / wanted)
                verdicts.append(f"{name} " + word.replace("missed", f"below {wanted:g}"))
        lines.append([operation, str(ranks), f"{definition}, {buffers}", *cells, ", ".join(verdicts) or "-"])
    return table(
        ["operation", "ranks", "definition, buffers", "8 B..4 KB", "32 KB..16 MB", "all", "targets"],
        lines, (0, 2, 6),
    )  # fmt: skip


def speed(of_time: Ratio | None) -> str:
    """The inverse of a time ratio."""
    if of_time is None:
        return "-"
    return str(replace(of_time, median=1 / of_time.median, low=1 / of_time.high, high=1 / of_time.low))


def hand_table(rows: Sequence[Row]) -> str:
    """Eight bytes between two ranks beside the hand-written reference, with the targets."""
    lines = []
    for row in rows:
        word = "-"
        if row.point.definition == "window":
            word = f"at most {WINDOW_RATIO:g}: {at_most(row.ratio, WINDOW_RATIO)}"
        elif row.lines is not None and row.point.operation in BACK_TO_BACK_LINES:
            most = BACK_TO_BACK_LINES[row.point.operation]
            word = f"at most {most:g} lines: {at_most(row.lines, most)}"
        lines.append(
            [
                row.point.title(), number(row.ns), number(row.opponent_ns), plain(row.ratio),
                plain(row.lines), word,
            ]
        )  # fmt: skip
    return table(
        ["operation", "phicoll", "by hand", "time ratio [95 %]", "lines [95 %]", "target"], lines, (0, 5)
    )


def heap_table(rows: Sequence[Row]) -> str:
    """Buffers in the group's heap beside private ones, and each operation's geometric mean."""
    lines = []
    for operation in dict.fromkeys(row.point.operation for row in rows):
        of = [row for row in rows if row.point.operation == operation]
        mean = mean_of(of)
        lines += [
            [row.point.title(), size_text(row.point.size), number(row.ns), number(row.opponent_ns),
             "-" if row.ratio is None else speed(row.ratio), at_most(row.ratio, 1 / HEAP_SPEED)]
            for row in of
        ]  # fmt: skip
        lines.append([f"{operation}, all", "-", "-", "-", speed(mean), at_most(mean, 1 / HEAP_SPEED)])
    return table(
        ["operation", "bytes", "in the heap", "private", "speed [95 %]", f"at least {HEAP_SPEED:g}"],
        lines, (0, 5),
    )  # fmt: skip


def composition_table(rows: Sequence[Row]) -> str:
    return table(
        ["operation", "bytes", "composition", "phicoll", "composed", "time ratio [95 %]", "verdict"],
        [
            [r.point.title(), size_text(r.point.size), plain(r.opponent), number(r.ns), number(r.opponent_ns),
             plain(r.ratio), r.verdict]
            for r in rows
        ],
        (0, 2, 6),
    )  # fmt: skip


def limit_table(rows: Sequence[Row]) -> str:
    return table(
        ["operation", "bytes", "phicoll", "best bare loop", "time ratio [95 %]", "share", "verdict", "auto took"],
        [
            [r.point.title(), size_text(r.point.size), number(r.ns), f"{number(r.opponent_ns)} {r.opponent}",
             plain(r.ratio), share(r.share), at_limit(r), r.effective]
            for r in rows
        ],
        (0, 3, 6, 7),
    )  # fmt: skip


def out_table(taken: Taken) -> str:
    """The systems that took no part, where, and why."""
    lines = [
        [subject, f"{operation}, {ranks} ranks, from {size_text(size)} on", why]
        for (subject, operation, ranks), (size, why) in sorted(taken.dropped.items())
    ]
    lines += [[subject, str(point), why] for (point, subject), why in sorted(taken.failed.items())]
    lines += [[subject, str(point), "a wrong result"] for point, subject in sorted(taken.wrong)]
    return table(["system", "where", "why"], lines, (0, 1, 2))
