"""A comparison as text: the cells that the terminal's and the notebook's tables share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from phicoll.compare.units import MIN_UNITS, Estimate

if TYPE_CHECKING:
    from phicoll.compare.table import Comparison, Row

__all__ = ["cells", "columns", "footer", "number", "to_text"]

NUMERIC = (1, 2, 3, 4, 5, 6)


def columns(rows: Sequence[Row]) -> tuple[str, ...]:
    """The heads of one setting's table; the unit is lines, or switches where ranks share a CPU."""
    unit = rows[0].subject.unit
    return ("algorithm", "median ns [95 %]", f"{unit} [95 %]", "ratio to best", "p95 ns", "max ns", "n", "")


def number(value: float | None) -> str:
    """Three significant digits, with thousands apart."""
    if value is None:
        return "-"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def interval(found: Estimate | None) -> str:
    if found is None:
        return "-"
    mark = "" if found.enough else " ?"  # too few units for the confidence
    return f"{number(found.median)} [{number(found.low)}, {number(found.high)}]{mark}"


def cells(row: Row) -> list[str]:
    """One row's cells, in the order of :func:`columns`."""
    if not row.verified:
        return [row.name, "not verified", "", "", "", "", str(row.samples), row.error or ""]
    ratio = row.ratio_to_best
    if ratio is None:
        ratio_text = "-"
    elif ratio.opponent == row.subject.spec:
        ratio_text = "1 (best)"
    else:
        ratio_text = f"{ratio.median:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]" + (
            "" if ratio.resolved else " ="
        )
    note = f"chose {row.chosen['spec']}" if row.chosen and row.chosen.get("spec") else ""
    return [
        row.name,
        interval(row.time),
        interval(row.in_units),
        ratio_text,
        number(row.p95_ns),
        number(row.max_ns),
        str(row.samples),
        note,
    ]


def footer(comparison: Comparison) -> list[str]:
    """What the signs mean, and what a reader has to know; only what occurs."""
    lines = []
    rows = [row for row in comparison.rows if row.verified]
    if any(row.ratio_to_best and not row.ratio_to_best.resolved and row.ratio_to_best.units for row in rows):
        lines.append("= : no difference resolved (sign test within rounds, Holm-corrected over the table)")
    if any(row.in_units and not row.in_units.enough for row in rows):
        lines.append("? : too few units for a 95 % interval; the whole range is shown")
    if any(row.subject.oversubscribed for row in rows):
        lines.append("switches : of a CPU between two ranks of it that hand a word to each other by yielding")
    if any(not row.subject.oversubscribed and row.lines for row in rows):
        lines.append("lines : one-way transfers of one cache line between the same CPUs, in the same round")
    few = sum(row.units < MIN_UNITS for row in rows)
    if few:
        lines.append(
            f"fewer than {MIN_UNITS} independent units in {few} of {len(rows)} rows: intervals are wide"
        )
    capped = sum(row.capped for row in rows)
    if capped:
        lines.append(f"{capped} sample(s) were cut by a time cap")
    if comparison.damaged_lines:
        lines.append(f"{comparison.damaged_lines} line(s) of the file were damaged or cut off, and skipped")
    return lines


def to_text(comparison: Comparison) -> str:
    """Plain text tables, one for each setting, columns aligned."""
    if not comparison.rows:
        return "no samples"
    parts = []
    for title, rows in comparison.groups():
        table = [list(columns(rows)), *(cells(row) for row in rows)]
        widths = [max(len(line[column]) for line in table) for column in range(len(table[0]))]
        parts.append(title)
        for index, line in enumerate(table):
            text = "  ".join(
                cell.rjust(size) if column in NUMERIC and index else cell.ljust(size)
                for column, (cell, size) in enumerate(zip(line, widths, strict=True))
            )
            parts.append("  " + text.rstrip())
        parts.append("")
    return "\n".join(parts + footer(comparison)).rstrip()
