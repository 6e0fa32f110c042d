"""Helpers shared by the findings on exact counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from phicoll.explaining.counting import count
from phicoll.papers.claims.statement import FAILS, HOLDS, Finding
from phicoll.papers.claims.statements import claim

__all__ = ["Counter", "agreement", "counter", "span"]


class Counter(Protocol):
    """Where the functions get counts, so that a test can give them made-up ones: a dict for each number of
    ranks, as ``phicoll.count`` returns them. ``work``: the operation, size and type."""

    def __call__(
        self, spec: str, ranks: Sequence[int], machine: str, placement: str, **work: Any
    ) -> list[dict[str, Any]]: ...


def counter(
    spec: str, ranks: Sequence[int], machine: str, placement: str, **work: Any
) -> list[dict[str, Any]]:
    """The :class:`Counter` that counts."""
    return [
        row
        for number in ranks
        for row in count(algorithm=spec, shape=machine, ranks=number, placement=placement, **work)
    ]


def agreement(
    number: str, found: Sequence[tuple[str, int, int]], what: str, under: str, remark: str = ""
) -> Finding:
    """A finding on a formula: ``found`` holds (case, counted, formula)."""
    wrong = [(case, counted, formula) for case, counted, formula in found if counted != formula]
    values: dict[str, object] = {"cases": len(found), "agree": len(found) - len(wrong)}
    if not wrong:
        text = f"The counted {what} equal the formula in all {len(found)} cases."
        return Finding(claim(number), HOLDS, text + remark, "counted", under, values)
    case, counted, formula = wrong[-1]
    direction = (
        "fewer" if all(c < f for _, c, f in wrong) else "more" if all(c > f for _, c, f in wrong) else "other"
    )
    text = (
        f"Equal to the formula in {len(found) - len(wrong)} of {len(found)} cases, {direction} {what} in the rest; "
        f"{case}: {counted} counted, {formula} by the formula."
    )
    return Finding(claim(number), FAILS, text + remark, "counted", under, values)


def span(ranks: Sequence[int]) -> str:
    return f"{min(ranks)} to {max(ranks)} ranks, {len(ranks)} counts"
