"""A tuning table's text: rows with their reasons as comments, added to what a file already has.

The format is the core's (docs/tuning.md); the core reads and checks it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import phicoll._core as _core
from phicoll.errors import ArgumentError
from phicoll.foundations.checks import check_text
from phicoll.foundations.files import write_text

__all__ = ["Group", "Row", "Table", "default_rules", "load_table"]

FIRST_LINE = "phicoll tuning 1"

#: The built-in rules' name, which `phicoll list rules` prints.
RULES = "defaults.tuning"

#: Operation, mode, ranks and CPUs: the rows of one group replace each other.
Group = tuple[str, str, int | str, int | str]


@dataclass(frozen=True)
class Row:
    """``spec`` applies from ``from_bytes`` of the count argument on. ``auto`` leaves it to the built-in rules.

    A rule has texts for numbers: ``"9-64"`` ranks, ``"own+parts"`` CPUs, from ``"2*cell"`` on (docs/tuning.md).
    """

    operation: str
    mode: str
    ranks: int | str
    cpus: int | str
    from_bytes: int | str
    spec: str
    comment: str = field(default="", compare=False)
    line: int = field(default=0, compare=False)

    @property
    def group(self) -> Group:
        return (self.operation, self.mode, self.ranks, self.cpus)

    def __str__(self) -> str:
        text = f"{self.operation} {self.mode} {self.ranks}/{self.cpus} {self.from_bytes} {self.spec}"
        return f"{text}  # {self.comment}" if self.comment else text


@dataclass(frozen=True)
class Table:
    """A tuning table. Tables that choose alike have the same ``digest``."""

    name: str
    machine: str
    host: str
    digest: str
    rows: tuple[Row, ...]

    def __str__(self) -> str:
        head = [f"{self.name}: {len(self.rows)} rows, machine {self.machine or 'any'}, digest {self.digest}"]
        return "\n".join(head + [f"  {row}" for row in self.rows])


def load_table(path: str | os.PathLike[str]) -> Table:
    """Read a table. Raises an ArgumentError("tuning") that names the file, the line and what is allowed there."""
    return as_table(_core.tuning_table(tuning_text(path)))


def default_rules() -> Table:
    """What ``auto`` takes where no other table says anything, with the reasons."""
    return as_table(_core.default_rules())


def tuning_text(path: Any) -> str:
    """A table's path as the core takes it."""
    return check_text(
        "tuning", str(path) if isinstance(path, Path) else path, "a tuning table's path, or 'none'"
    )


def as_table(found: dict[str, Any]) -> Table:
    rows = tuple(Row(**row) for row in found["rows"])
    return Table(found["name"], found["machine"], found["host"], found["digest"], rows)


#: A size up to this one stands for all smaller ones, which take one line or less.
SMALL = 64


def thresholds(sizes: Sequence[int]) -> list[int]:
    """The size from which each of the rising ``sizes`` stands for its neighbourhood: the geometric means between them.

    The first stands for everything from 0 on if it is small. Otherwise it stands for sizes from its half on, since
    nothing is known about smaller ones.
    """
    first = 0 if sizes[0] <= SMALL else sizes[0] // 2
    return [first, *(math.isqrt(max(1, low) * high) + 1 for low, high in zip(sizes, sizes[1:], strict=False))]


def merged(rows: Iterable[Row]) -> list[Row]:
    """Merge neighbouring rows of a group with the same spec into one row with all their comments."""
    found: list[Row] = []
    for row in sorted(rows, key=lambda row: (row.group, row.from_bytes)):
        last = found[-1] if found else None
        if last is not None and last.group == row.group and last.spec == row.spec:
            comment = "; ".join(text for text in (last.comment, row.comment) if text)
            found[-1] = Row(*last.group, last.from_bytes, last.spec, comment)
        else:
            found.append(row)
    return found


def costs_text(costs: dict[str, int]) -> str:
    """A table of line costs only, valid for any machine."""
    return "\n".join([FIRST_LINE, *(f"cost {name} {value}" for name, value in costs.items()), ""])


def text_of(
    machine: str,
    host: str,
    notes: Sequence[str],
    costs: dict[str, int],
    rows: Sequence[Row],
    numbers: dict[str, int] | None = None,
) -> str:
    """The whole table."""
    lines = [FIRST_LINE, *(f"# {note}" for note in notes), f"machine {machine}"]
    if host:
        lines.append(f"host {host}")
    lines += [f"cost {name} {value}" for name, value in costs.items()]
    lines += [f"number {name} {value}" for name, value in (numbers or {}).items()]
    lines.append("# operation mode ranks/cpus from-bytes spec")
    lines += map(str, rows)
    return "\n".join(lines) + "\n"


class TableFile:
    """The file that a tuning run writes. Its rows for other groups of the same machine are kept.

    ``costs`` are the line costs that it already has, by which the designed algorithms in its rows were chosen.
    ``numbers`` are its host's numbers, which stay.
    """

    def __init__(self, path: Path, machine: str, host: str) -> None:
        check_text("save", str(path), "a file's name")
        self.path = path
        self.machine = machine
        self.host = host
        self.kept: list[Row] = []
        self.costs: dict[str, int] = {}
        self.numbers: dict[str, int] = {}
        if path.exists() and path.stat().st_size:
            known = load_table(path)
            for name, theirs, ours in (("machine", known.machine, machine), ("host", known.host, host)):
                if theirs != ours:
                    raise ArgumentError(
                        "save", f"'{path}', a table of {name} {theirs!r}", f"one of {ours!r}, or a new file"
                    )
            entries = [line.partition("#")[0].split() for line in path.read_text().split("\n")]
            self.costs = {entry[1]: int(entry[2]) for entry in entries if entry[:1] == ["cost"]}
            self.numbers = {entry[1]: int(entry[2]) for entry in entries if entry[:1] == ["number"]}
            self.kept = list(known.rows)

    def write(self, rows: Sequence[Row], notes: Sequence[str], costs: dict[str, int]) -> str:
        """Replace the file by one that also has ``rows``. Returns its text."""
        new = {row.group for row in rows}
        kept = [row for row in self.kept if row.group not in new]
        text = text_of(self.machine, self.host, notes, costs, [*kept, *rows], self.numbers)
        _core.parse_tuning(text, str(self.path))  # write nothing that cannot be read back
        write_text(self.path, text)
        return text
