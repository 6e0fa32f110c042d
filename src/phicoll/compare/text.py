"""A comparison as text: the cells that the terminal's and the notebook's tables share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phicoll.compare.units import Estimate

if TYPE_CHECKING:
    from phicoll.compare.table import Comparison, Row

__all__ = ["COLUMNS", "cells", "number", "to_text"]

COLUMNS = ("algorithm", "median ns [95 %]", "lines [95 %]", "ratio to best", "p95 ns", "max ns", "n", "")
NUMERIC = (1, 2, 3, 4, 5, 6)


def number(value: float | None) -> str:
    """Three significant digits, with thousands apart."""
    if value is None:
        return "-"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def interval(found: Estimate | None, suffix: str = "") -> str:
    if found is None:
        return "-"
    mark = "" if found.enough else " ?"  # too few units for the confidence
    return f"{number(found.median)}{suffix} [{number(found.low)}, {number(found.high)}]{mark}"


def cells(row: Row) -> list[str]:
    """One row's cells, in the order of :data:`COLUMNS`."""
    if not row.verified:
        return [row.subject.spec, "not verified", "", "", "", "", str(row.samples), row.error or ""]
    suffix = " sw" if row.subject.oversubscribed else ""
    ratio = row.ratio_to_best
    if ratio is None:
        ratio_text = "-"
    elif ratio.opponent == row.subject.spec:
        ratio_text = "1 (best)"
    else:
        ratio_text = f"{ratio.median:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]" + ("" if ratio.resolved else " =")
    note = f"chose {row.chosen['spec']}" if row.chosen and row.chosen.get("spec") else ""
    return [
        row.subject.spec,
        interval(row.time),
        interval(row.in_units, suffix),
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
        lines.append("sw : in switches of a CPU between two ranks; else in transfers of one cache line")
    if comparison.damaged_lines:
        lines.append(f"{comparison.damaged_lines} cut-off line(s) of the file were skipped")
    notes = sorted({note for row in rows for note in row.notes})
    return lines + notes[:6]


def to_text(comparison: Comparison, width: int | None = None) -> str:
    """Plain text tables, one for each setting, columns aligned."""
    if not comparison.rows:
        return "no samples"
    parts = []
    for title, rows in comparison.groups():
        table = [list(COLUMNS), *(cells(row) for row in rows)]
        widths = [max(len(line[column]) for line in table) for column in range(len(COLUMNS))]
        parts.append(title)
        for index, line in enumerate(table):
            text = "  ".join(
                cell.rjust(size) if column in NUMERIC and index else cell.ljust(size)
                for column, (cell, size) in enumerate(zip(line, widths, strict=True))
            )
            parts.append("  " + text.rstrip())
        parts.append("")
    return "\n".join(parts + footer(comparison)).rstrip()
