"""A comparison as text: cells shared by the tables of terminals and notebooks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from textwrap import wrap

from phicoll.foundations.streams import printable
from phicoll.registry import short_spec
from phicoll.results.compare.row import Row
from phicoll.results.compare.units import MIN_UNITS, Estimate

__all__ = [
    "aligned",
    "cells",
    "columns",
    "footer",
    "interval",
    "number",
    "ratio_cell",
    "ratio_head",
    "wrapped",
]

WIDE = 2.0  # spread of the samples; above it nanoseconds alone say little


def columns(rows: Sequence[Row]) -> tuple[str, ...]:
    """The column heads of one setting's table.

    Measured times are in ns and in lines, or switches if ranks share a CPU; simulated ones in us and cycles.
    """
    unit = rows[0].subject.unit
    if rows[0].subject.simulated:
        return (
            "algorithm",
            "median us [seeds]",
            "cycles [seeds]",
            ratio_head(rows),
            "p95 us",
            "max us",
            "n",
            "",
        )
    return ("algorithm", "median ns [95 %]", f"{unit} [95 %]", ratio_head(rows), "p95 ns", "max ns", "n", "")


def ratio_head(rows: Sequence[Row]) -> str:
    """The head of the column of ratios: to the best subject, or to the opponent that was given."""
    given = next((row for row in rows if row.ratio_to_opponent), None)
    if given is None or given.ratio is None:
        return "ratio to best"
    return f"ratio to {short_spec(given.subject.operation, given.ratio.opponent)}"


def number(value: float | None) -> str:
    """A number with three significant digits and thousands separators."""
    if value is None:
        return "-"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def interval(found: Estimate | None, scale: float = 1.0, units: int | None = None) -> str:
    """Median and interval; the median alone if there is a single unit."""
    if found is None:
        return "-"
    if units == 1:
        return number(found.median * scale)
    mark = "" if found.enough else " ?"  # too few units for the confidence
    median, low, high = (number(value * scale) for value in (found.median, found.low, found.high))
    return f"{median} [{low}, {high}]{mark}"


def scaled(value: float | None, scale: float) -> float | None:
    return None if value is None else value * scale


def ratio_cell(row: Row) -> str:
    """The ratio with the interval of its test; ``n.s.`` where that includes 1 or the units are too few for one."""
    ratio = row.ratio
    if ratio is None:
        return "-"
    if ratio.opponent == row.subject.spec:
        return "1 (best)" if ratio.chosen else "1"
    if row.subject.simulated and row.units == 1:
        return f"{ratio.median:.2f}"
    limits = f" [{ratio.low:.2f}, {ratio.high:.2f}]" if ratio.enough else ""
    plural = "unit" if ratio.units == 1 else "units"
    return f"{ratio.median:.2f}{limits}" + ("" if ratio.resolved else f" n.s. ({ratio.units} {plural})")


def cells(row: Row) -> list[str]:
    """One row's cells, in the order of :func:`columns`."""
    if not row.verified:
        return [row.name, "not verified", "", "", "", "", str(row.samples), row.error or ""]
    chosen = str((row.chosen or {}).get("spec") or "")
    note = f"chose {short_spec(row.subject.operation, chosen)}" if chosen else ""
    scale = 1e-3 if row.subject.simulated else 1.0
    units = row.units if row.subject.simulated else None
    return [
        row.name,
        interval(row.time, scale, units),
        interval(row.in_units, units=units),
        ratio_cell(row),
        number(scaled(row.p95_ns, scale)),
        number(scaled(row.max_ns, scale)),
        str(row.samples),
        note,
    ]


def footer(all_rows: Sequence[Row], damaged_lines: int, heads: Collection[str]) -> list[str]:
    """Explanations of the signs that occur in the tables, and warnings about their numbers.

    ``heads`` are those of the tables' columns.
    """
    lines = []
    verified = [row for row in all_rows if row.verified]
    rows = [row for row in verified if not row.subject.simulated]
    seeds = [row for row in verified if row.subject.simulated]
    if seeds:
        lines.append(
            "simulated, not measured: n samples, each with a seed of its own; "
            + (
                "intervals are over the seeds"
                if any(row.units > 1 for row in seeds)
                else "one seed has no interval"
            )
        )
    shown = rows + [row for row in seeds if row.units > 1]
    if any(row.ratio and not row.ratio.resolved and row.ratio.units for row in shown):
        lines.append(
            "n.s. : not significant (sign test within rounds, Holm-corrected over the table); no interval where the "
            "units are too few for one"
        )
    if any(of and not of.enough for row in shown for of in (row.time, row.in_units)):
        lines.append("? : too few units for a 95 % interval; the whole range is shown")
    if "switches [95 %]" in heads:
        lines.append(
            "switches : of a CPU between two of its ranks, which hand a word to each other by yielding"
        )
    if "lines [95 %]" in heads:
        lines.append("lines : one-way transfers of one cache line between the same CPUs, in the same round")
    if "GB/s" in heads:
        lines.append("GB/s : the size over the median time, 1e9 bytes a second (algbw of nccl-tests)")
    few = sum(row.units < MIN_UNITS for row in rows)
    if few:
        lines.append(
            f"fewer than {MIN_UNITS} independent units in {few} of {len(rows)} rows: intervals are wide"
        )
    capped = sum(row.capped for row in rows)
    if capped:
        lines.append(f"{capped} sample(s) were cut by a time cap")
    wide = sum(row.spread is not None and row.spread > WIDE for row in rows)
    if wide:
        lines.append(
            f"warning: in {wide} of {len(rows)} rows the middle 80 % of the times span more than a factor of {WIDE:g}; "
            "ratios, which are taken within rounds, say more"
        )
    if damaged_lines:
        lines.append(f"{damaged_lines} line(s) of the file were damaged or cut off, and skipped")
    return lines


def aligned(table: Sequence[Sequence[str]], numeric: Collection[int]) -> list[str]:
    """The lines of a table whose first row is its heads; the columns numbered in ``numeric`` are aligned right."""
    table = [[printable(cell, one_line=True) for cell in line] for line in table]
    widths = [max(len(line[column]) for line in table) for column in range(len(table[0]))]
    lines = []
    for index, line in enumerate(table):
        text = "  ".join(
            cell.rjust(size) if column in numeric and index else cell.ljust(size)
            for column, (cell, size) in enumerate(zip(line, widths, strict=True))
        )
        lines.append("  " + text.rstrip())
    return lines


def wrapped(lines: Iterable[str], width: int | None) -> list[str]:
    """Sentences in lines of at most ``width`` columns, if any; no word is broken."""
    if width is None:
        return list(lines)
    pieces = []
    for line in lines:
        indent = " " * (len(line) - len(line.lstrip()))
        pieces += wrap(
            line.strip(),
            width,
            initial_indent=indent,
            subsequent_indent=indent + "  ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    return pieces
