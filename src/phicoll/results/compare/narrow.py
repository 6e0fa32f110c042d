"""Comparison tables in a terminal that is too narrow for them: less in a row, in steps, until they fit."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace

from phicoll.results.compare.shown import Shown

__all__ = ["fitted", "terminal_width"]


def terminal_width() -> int | None:
    """The columns of the terminal on stdout; None where stdout is a file or a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout is not None and sys.stdout.isatty() else None


def fitted(table: Shown, width: int) -> Shown:
    """The table with as few of the steps as make it fit; one that no step makes fit has them all."""
    for step in steps():
        if max(map(len, table.grid())) <= width:
            break
        table = step(table)
    return table


def steps() -> Iterator[Callable[[Shown], Shown]]:
    yield notes_below
    yield lambda table: ratios_without(table, r" \(\d+ units?\)$")
    for head in ("max ", "p95 ", "lines ", "switches ", "cycles ", "GB/s"):
        yield lambda table, head=head: without(table, head)  # type: ignore[misc]
    yield lambda table: ratios_without(table, r" \[.*\]")


def notes_below(table: Shown) -> Shown:
    """The last column, which has no head, as lines below the table."""
    name = table.heads.index("algorithm")  # after the size, which the first row of several has
    size, notes = "", []
    for row in table.cells:
        size = row[0] if name and row[0] else size
        if row[-1]:
            notes.append(f"  {row[name]}{', ' if size else ''}{size}: {row[-1]}")
    return replace(
        table,
        heads=table.heads[:-1],
        cells=[row[:-1] for row in table.cells],
        notes=notes,
    )


def ratios_without(table: Shown, pattern: str) -> Shown:
    """The table without a part of the cells in its column of ratios."""
    at = next(at for at, head in enumerate(table.heads) if head.startswith("ratio to "))
    return replace(
        table, cells=[[*row[:at], re.sub(pattern, "", row[at]), *row[at + 1 :]] for row in table.cells]
    )


def without(table: Shown, head: str) -> Shown:
    """The table without the column whose head begins so."""
    at = next((index for index, name in enumerate(table.heads) if name.startswith(head)), None)
    if at is None:
        return table
    return replace(
        table,
        heads=[*table.heads[:at], *table.heads[at + 1 :]],
        cells=[[*row[:at], *row[at + 1 :]] for row in table.cells],
        numeric=[index - (index > at) for index in table.numeric if index != at],
        dropped=[*table.dropped, table.heads[at].partition(" [")[0]],
    )
