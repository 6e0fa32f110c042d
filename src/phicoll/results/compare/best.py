"""Ratios to the best subject of a setting, within rounds.

The best of several is chosen on odd rounds and compared on even ones; chosen and compared on the same rounds it would
look better than it is. A ratio is the median of log ratios within rounds, with the exact interval of the sign test,
Holm-corrected over the rows of the setting's table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

import phicoll._core as _core
from phicoll.results.compare.units import CONFIDENCE, Units, estimate, units_of
from phicoll.results.reading.observations import Observation, Round
from phicoll.results.reading.subject import Subject

__all__ = ["Ratio", "choose_best", "ratios_to"]

Rounds = dict[Round, float]  # round: log of the value in ns


@dataclass(frozen=True)
class Ratio:
    """A subject's time divided by the opponent's in the same rounds; above 1 is slower.

    ``confidence`` is that of the interval after Holm's correction, ``p_holm`` the corrected p-value of the sign test.
    ``enough`` says whether the units sufficed for it; otherwise ``low`` and ``high`` are the whole range.
    ``resolved`` says whether an interval with units enough excludes 1; if not, no difference was resolved.
    """

    opponent: str
    median: float
    low: float
    high: float
    confidence: float
    p_holm: float
    enough: bool
    resolved: bool
    unit: str
    units: int
    rounds: int
    note: str | None = None
    chosen: bool = True  # the opponent is the best; else it was given

    def to_dict(self) -> dict[str, object]:
        """The ratio as ``phicoll compare --json`` prints it."""
        return {
            "median": self.median,
            "low": self.low,
            "high": self.high,
            "best" if self.chosen else "name": self.opponent,
            "confidence": self.confidence,
            "p_holm": self.p_holm,
            "enough": self.enough,
            "resolved": self.resolved,
            "unit": self.unit,
            "units": self.units,
            "rounds": self.rounds,
        }


def by_round(observations: Sequence[Observation]) -> Rounds:
    """Log values by round. If a resumed run measured a round again, its last value counts."""
    return {o.round_key: float(np.log(max(o.ns, _core.SMALLEST_NS))) for o in observations}


def split(rounds: Sequence[Round]) -> tuple[set[Round], set[Round]]:
    """(odd, even) rounds by their number, or by their position if all numbers have the same parity."""
    odd = {key for key in rounds if key[2] % 2 == 1}
    even = set(rounds) - odd
    if not odd or not even:
        ordered = sorted(rounds)
        odd, even = set(ordered[1::2]), set(ordered[0::2])
    return odd, even


def choose_best(values: Mapping[Subject, Rounds], rounds: set[Round]) -> Subject | None:
    """The subject with the lowest median over ``rounds`` of (its log value - the round's median over subjects).

    Where several runs are in one file it is one that shares rounds with the most others.
    """
    numbers = {key: number for number, key in enumerate(sorted(rounds))}
    logs = [{numbers[key]: log for key, log in by.items() if key in numbers} for by in values.values()]
    best = _core.choose_best(logs, list(numbers.values()))
    return list(values)[best] if best < len(logs) else None


def ratios_to(
    observations: Mapping[Subject, Sequence[Observation]], against: Subject | None = None
) -> dict[Subject, Ratio]:
    """Ratios of the subjects of one setting to the best of them, or to ``against``.

    All subjects must be verified. One that shares no round with the opponent gets no ratio.
    """
    values = {subject: by_round(of) for subject, of in observations.items()}
    rounds = sorted({key for by in values.values() for key in by})
    if not rounds:
        return {}
    note = None
    if against is not None:
        opponent, compared = against, set(rounds)
    else:
        odd, even = split(rounds)
        chosen = choose_best(values, odd) if odd else None
        if chosen is None or not even:
            chosen, even = choose_best(values, set(rounds)), set(rounds)
            note = "one round: the best was chosen on the round it is compared on"
        assert chosen is not None
        opponent, compared = chosen, even
    units: dict[Subject, Units] = {}
    for subject, by in values.items():
        shared = [key for key in rounds if key in compared and key in by and key in values[opponent]]
        if subject != opponent and shared:
            ratios = [float(np.exp(by[key] - values[opponent][key])) for key in shared]
            units[subject] = units_of(ratios, [key[:2] for key in shared])
    p_raw = [float(_core.sign_test(np.log(of.values))) for of in units.values()]
    levels, p_holm = holm_levels(p_raw, CONFIDENCE)
    ratios_of: dict[Subject, Ratio] = {}
    if opponent in values:
        ratios_of[opponent] = Ratio(
            opponent.spec,
            1.0,
            1.0,
            1.0,
            1.0,
            1.0,
            True,
            False,
            "round",
            0,
            len(compared),
            note,
            against is None,
        )
    for (subject, of), level, p in zip(units.items(), levels, p_holm, strict=True):
        found = estimate(np.log(of.values), level)
        ratios_of[subject] = Ratio(
            opponent=opponent.spec,
            median=float(np.exp(found.median)),
            low=float(np.exp(found.low)),
            high=float(np.exp(found.high)),
            confidence=found.confidence,
            p_holm=p,
            enough=found.enough,
            resolved=found.enough and (found.low > 0 or found.high < 0),
            unit=of.kind,
            units=len(of),
            rounds=sum(1 for key in compared if key in values[subject] and key in values[opponent]),
            note=note or of.note,
            chosen=against is None,
        )
    return ratios_of


def holm_levels(p_values: Sequence[float], confidence: float) -> tuple[list[float], list[float]]:
    """The confidence of each row's interval under Holm's step-down procedure, and the corrected p-values.

    An interval of that confidence excludes "no difference" exactly if Holm's procedure rejects it.
    """
    return _core.holm_levels(p_values, confidence), _core.holm(p_values)
