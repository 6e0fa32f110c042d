"""The ratio of two groups of subjects, within the rounds that they share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from phicoll.results.compare.best import by_round, choose_best, split
from phicoll.results.compare.units import CONFIDENCE, estimate, units_of
from phicoll.results.reading.names import short_name
from phicoll.results.reading.observations import Observation
from phicoll.results.reading.subject import Subject

__all__ = ["Versus", "family_ratio"]


@dataclass(frozen=True)
class Versus:
    """The time of ``ours`` divided by that of ``theirs`` in the same rounds, with the exact sign-test interval."""

    ours: str
    theirs: str
    median: float
    low: float
    high: float
    enough: bool
    unit: str
    units: int

    def to_dict(self) -> dict[str, object]:
        return asdict(self)


def family_ratio(
    ours: Mapping[Subject, Sequence[Observation]],
    theirs: Mapping[Subject, Sequence[Observation]],
    comparisons: int = 1,
) -> Versus | None:
    """The best of one group against the best of the other.

    Where a group has several members its best is chosen on odd rounds and compared on even ones, so that the choice
    does not flatter it. ``comparisons`` divides the error probability (Bonferroni). ``None`` without a shared round.
    """
    mine = {subject: by_round(of) for subject, of in ours.items()}
    other = {subject: by_round(of) for subject, of in theirs.items()}
    rounds = sorted(
        {key for by in mine.values() for key in by} & {key for by in other.values() for key in by}
    )
    if not rounds:
        return None
    chosen_on, compared = (set(rounds), set(rounds)) if len(mine) == len(other) == 1 else split(rounds)
    if not compared or not chosen_on:
        chosen_on = compared = set(rounds)
    a, b = choose_best(mine, chosen_on), choose_best(other, chosen_on)
    if a is None or b is None:
        return None
    shared = [key for key in rounds if key in compared and key in mine[a] and key in other[b]]
    if not shared:
        return None
    units = units_of(
        [float(np.exp(mine[a][key] - other[b][key])) for key in shared], [key[:2] for key in shared]
    )
    found = estimate(np.log(units.values), 1 - (1 - CONFIDENCE) / comparisons)
    return Versus(
        short_name(a),
        short_name(b),
        float(np.exp(found.median)),
        float(np.exp(found.low)),
        float(np.exp(found.high)),
        found.enough,
        units.kind,
        len(units),
    )
