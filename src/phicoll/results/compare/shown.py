"""The tables that a comparison is shown as: one for each setting, and one over all sizes where data moves.

Long ones are cut: the slowest rows are shown only on request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from phicoll.foundations.html_table import html_table
from phicoll.foundations.markup import Html, fill, join
from phicoll.results.compare.row import Row
from phicoll.results.compare.text import (
    aligned,
    cells,
    columns,
    interval,
    number,
    ratio_cell,
    ratio_head,
    wrapped,
)
from phicoll.results.reading.subject import size_text

__all__ = ["MOST_ROWS", "Shown", "shown"]

#: Further rows of a table are shown only on request.
MOST_ROWS = 40


def size_heads(rows: Sequence[Row]) -> tuple[str, ...]:
    return ("size", "algorithm", "median us [95 %]", "GB/s", ratio_head(rows), "n", "")


@dataclass(frozen=True)
class Shown:
    """One table: its cells as text, the columns that hold numbers, and how many rows it leaves out.

    In a narrow terminal also its notes, which then stand below, and the heads of the columns that it drops.
    """

    title: str
    heads: Sequence[str]
    cells: Sequence[Sequence[str]]
    numeric: Sequence[int]
    left_out: int
    notes: Sequence[str] = ()
    dropped: Sequence[str] = ()

    def lines(self, width: int | None = None) -> list[str]:
        """The table as text; ``width`` wraps what stands above and below the grid."""
        return [
            *wrapped([self.title], width),
            *self.grid(),
            *wrapped([*self.notes, *self.more()], width),
        ]

    def grid(self) -> list[str]:
        """The lines of the heads and the rows."""
        return aligned([self.heads, *self.cells], self.numeric)

    def html(self) -> Html:
        table = html_table(self.heads, self.cells, caption=self.title)
        return table + join("", (fill("<p><small>{}</small></p>", line) for line in self.more()))

    def more(self) -> list[str]:
        lines = []
        if self.left_out:
            lines.append(
                f"  {self.left_out} slower row(s) not shown (all: phicoll compare --all, to_dataframe())"
            )
        if self.dropped:
            lines.append(f"  not shown: {', '.join(self.dropped)} (all: a wider terminal, or a file)")
        return lines


def shown(groups: Sequence[tuple[str, Sequence[Row]]], show_all: bool = False) -> list[Shown]:
    """The tables of settings, given with their titles; those that differ in their size alone have one in common."""
    series: dict[object, list[tuple[str, Sequence[Row]]]] = {}
    for title, rows in groups:
        series.setdefault(rows[0].subject.series, []).append((title, rows))
    return [
        over_sizes([rows for _, rows in of], show_all) if len(of) > 1 else of_setting(*of[0], show_all)
        for of in series.values()
    ]


def of_setting(title: str, rows: Sequence[Row], show_all: bool) -> Shown:
    kept = list(rows) if show_all else cut(rows, MOST_ROWS)
    return Shown(title, columns(rows), [cells(row) for row in kept], range(1, 7), len(rows) - len(kept))


def over_sizes(by_size: Sequence[Sequence[Row]], show_all: bool) -> Shown:
    """A block of rows for each size, the best first; each block gives up its slowest where the table is too long."""
    total = sum(map(len, by_size))
    most = total if show_all or total <= MOST_ROWS else max(2, MOST_ROWS // len(by_size))
    body = []
    for rows in by_size:
        kept = cut(rows, most)
        sizes = [size_text(rows[0].subject.size_bytes)] + [""] * (len(kept) - 1)
        body += [[size, *size_cells(row)] for size, row in zip(sizes, kept, strict=True)]
    title = by_size[0][0].subject.title(size=False)
    heads = size_heads([row for rows in by_size for row in rows])
    return Shown(title, heads, body, (0, 2, 3, 4, 5), total - len(body))


def cut(rows: Sequence[Row], most: int) -> list[Row]:
    """The first rows, and any that is `auto` or was not verified."""
    return [
        row
        for index, row in enumerate(rows)
        if index < most or row.subject.algorithm == "auto" or not row.verified
    ]


def size_cells(row: Row) -> list[str]:
    full = cells(row)
    if not row.verified:
        return [row.name, "not verified", "", "", str(row.samples), full[-1]]
    units = row.units if row.subject.simulated else None
    return [
        row.name,
        interval(row.time, 1e-3, units),
        number(row.gigabytes_a_second),
        ratio_cell(row),
        str(row.samples),
        full[-1],
    ]
