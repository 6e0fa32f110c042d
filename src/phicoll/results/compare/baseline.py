"""The table of a comparison with a baseline, its geometric means and its counts, as text."""

from __future__ import annotations

from collections.abc import Sequence

from phicoll.foundations.streams import printable
from phicoll.results.compare.regression import Regression
from phicoll.results.compare.shown import MOST_ROWS
from phicoll.results.compare.summary import geomean
from phicoll.results.compare.text import aligned, number
from phicoll.results.reading.names import short_name

__all__ = ["baseline_text"]

HEADS = ("algorithm", "old", "new", "ratio [95 %]", "")


def baseline_text(found: Sequence[Regression], show_all: bool = False) -> str:
    """A table for each setting, the geometric mean of the ratios in each unit, and how many are slower and faster."""
    if not found:
        return "no subject is in both"
    shown = set(range(len(found))) if show_all else rows_to_show(found)
    groups: dict[str, list[Regression]] = {}
    for index in sorted(shown):
        groups.setdefault(f"{found[index].subject.title()}, in {found[index].unit}", []).append(found[index])
    lines = []
    for title, rows in groups.items():
        lines += [title, *aligned([HEADS, *map(cells, rows)], numeric=(1, 2, 3)), ""]
    if len(shown) < len(found):
        lines.append(
            f"{len(found) - len(shown)} of {len(found)} rows, none slower or faster, are not shown (--all shows them)"
        )
    for unit in dict.fromkeys(one.unit for one in found):
        ratios = [one.ratio for one in found if one.unit == unit]
        lines.append(f"geometric mean of {len(ratios)} ratio(s) in {unit}: {geomean(ratios):.3f}")
    slower, faster = sum(one.regressed for one in found), sum(one.improved for one in found)
    unchanged = sum(one.unchanged and not (one.regressed or one.improved) for one in found)
    unresolved = len(found) - slower - faster - unchanged
    lines.append(
        f"{slower} slower, {faster} faster, {unchanged} unchanged, {unresolved} unresolved "
        f"(threshold {found[0].threshold:g})"
    )
    return printable("\n".join(lines))


def rows_to_show(found: Sequence[Regression]) -> set[int]:
    """The numbers of all rows that are slower or faster, and of the first others up to :data:`MOST_ROWS`."""
    changed = [index for index, one in enumerate(found) if one.regressed or one.improved]
    others = [index for index, one in enumerate(found) if not (one.regressed or one.improved)]
    return {*changed, *others[: max(0, MOST_ROWS - len(changed))]}


def cells(one: Regression) -> tuple[str, ...]:
    limits = f" [{one.low:.2f}, {one.high:.2f}]" if one.enough else ""
    return (
        short_name(one.subject),
        number(one.old),
        number(one.new),
        f"{one.ratio:.2f}{limits}",
        one.verdict,
    )
