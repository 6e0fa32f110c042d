"""Whether a challenger replaces the built-in rule, from one sweep's rounds.

The best challenger is chosen on odd rounds and compared with the rule on even ones. Chosen and compared on the same
rounds, it would look better than it is. It replaces the rule only if the whole interval of its time over the rule's
lies below 1. Other choices (a model's) are compared with the best on the same halves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from phicoll.registry import moves_data, short_spec
from phicoll.results import Results
from phicoll.results.compare.best import Rounds, by_round, choose_best, split
from phicoll.results.compare.units import CONFIDENCE, estimate, units_of
from phicoll.results.reading.observations import Observation, Round, observe
from phicoll.results.reading.subject import Subject, size_text

if TYPE_CHECKING:
    from phicoll.models.tuning.prediction import ModelChoice

__all__ = ["Decision", "Gain", "Point", "decide"]


@dataclass(frozen=True)
class Gain:
    """A ratio of speeds: the median over ``rounds`` of the other's time over this one's, with its interval."""

    median: float
    low: float
    high: float
    confidence: float
    units: int
    rounds: int

    @property
    def resolved(self) -> bool:
        """Whether the interval excludes 1 at the requested confidence."""
        return self.confidence >= CONFIDENCE - 1e-12 and not self.low <= 1 <= self.high

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.low:.2f} to {self.high:.2f})"


#: The gain of a spec over itself.
NO_GAIN = Gain(1.0, 1.0, 1.0, 1.0, 0, 0)


@dataclass(frozen=True)
class Point:
    """The subject of a decision: an operation with a number of ranks and a size in bytes (0 for a barrier)."""

    operation: str
    mode: str
    ranks: int
    cpus: int
    size: int

    def title(self) -> str:
        words = [self.operation, f"{self.ranks}/{self.cpus} {self.mode}"]
        return " ".join([*words, size_text(self.size)] if moves_data(self.operation) else words)


@dataclass(frozen=True)
class Decision:
    """The decision at a point, and what led to it.

    Attributes
    ----------
    rule, rule_ns:
        The built-in rules' choice and its median time, in ns.
    spec, gain:
        The table's choice, ``"auto"`` if the rule stays, and how many times faster it is than the rule.
    best, best_gain:
        The challenger chosen on odd rounds, and its gain over the rule on even ones, resolved or not.
    model, model_gain:
        The model's choice (by its largest times), and its gain over the rule; None if nothing is modelled.
    alike:
        Whether the model's smallest and largest times choose alike.
    by:
        ``measure`` or ``model``.
    """

    point: Point
    rule: str
    rule_ns: float | None
    spec: str
    gain: Gain
    best: str
    best_gain: Gain
    model: str | None = None
    model_gain: Gain | None = None
    alike: bool | None = None
    by: str = "measure"
    tried: int = 0
    failed: tuple[str, ...] = ()
    #: The median time over the rule's of everything that was tried, on even rounds; and on odd rounds, by which any
    #: choice among several must be made.
    ratios: dict[str, float] = field(default_factory=dict)
    odd_ratios: dict[str, float] = field(default_factory=dict)
    #: Those of them that the model knows, the model's best first.
    modelled: tuple[str, ...] = ()
    #: On even rounds, the time of the model's choice over that of the best of all, and of the best that the model knows
    #: (both chosen on odd rounds); None if the model's choice was not measured.
    model_loss: Gain | None = None
    model_loss_of_its_own: Gain | None = None
    #: The number of constants in the prediction that are another machine's, and the number of all.
    assumed: int = 0
    used: int = 0

    def written(self, texts: Mapping[str, str]) -> Decision:
        """The decision with the choice as its candidate is written: short, without values for this rank count alone."""
        return replace(self, spec=texts.get(self.spec, self.spec))

    @property
    def rule_unknown(self) -> bool:
        """Whether only a model decided, and does not know the rule's choice: then the rule stays."""
        return self.by == "model" and self.rule not in self.modelled

    def comment(self) -> str:
        """The comment after the table's row."""
        operation = self.point.operation
        at = f" at {size_text(self.point.size)}" if moves_data(operation) else ""
        rule = short_spec(operation, self.rule)
        if self.rule_unknown:
            return f"by the model{at}: it does not know {rule}, which stays"
        if self.by == "model":
            than = (
                f"none that it knows is faster than {rule}"
                if self.spec == "auto"
                else f"{self.gain.median:.2f} times faster than {rule}"
            )
            return f"by the model{at}: {than}; {self.assumed} of {self.used} constants assumed"
        if self.spec == "auto":
            return f"measured{at}: none of {self.tried} resolved faster than {rule}"
        return f"measured gain {self.gain} over {rule}{at}"

    def to_dict(self) -> dict[str, Any]:
        """The decision as plain objects."""
        return asdict(self)

    @classmethod
    def from_dict(cls, found: Any) -> Decision:
        """The decision of an object that ``to_dict`` made. Raises ValueError for anything else."""
        try:
            return msgspec.convert(found, cls)
        except msgspec.ValidationError as error:
            raise ValueError(str(error)) from None


def observations_of(results: Results) -> dict[str, tuple[Subject, list[Observation]]]:
    """Verified observations by spec. Rounds of every label count, since ratios are taken within rounds."""
    found: dict[str, tuple[Subject, list[Observation]]] = {}
    for subject, of in observe(results.records).by_subject.items():
        if all(one.verified for one in of):
            found.setdefault(subject.spec, (subject, []))[1].extend(of)
    return found


def gain_over(rule: Rounds, other: Rounds, rounds: set[Round]) -> Gain | None:
    """How many times faster ``other`` is than ``rule``; None if they share no round."""
    shared = sorted(key for key in rounds if key in rule and key in other)
    if not shared:
        return None
    units = units_of([float(np.exp(rule[key] - other[key])) for key in shared], [key[:2] for key in shared])
    found = estimate(np.log(units.values))
    median, low, high = (float(np.exp(value)) for value in (found.median, found.low, found.high))
    return Gain(median, low, high, found.confidence, len(units), len(shared))


def gain_of(spec: str, than: str, values: Mapping[str, Rounds], rounds: set[Round]) -> Gain | None:
    return NO_GAIN if spec == than else gain_over(values[than], values[spec], rounds)


def ratios_to(rule: str, values: Mapping[str, Rounds], rounds: set[Round]) -> dict[str, float]:
    """The median time of everything over the rule's, in these rounds."""
    gains = {spec: gain_of(spec, rule, values, rounds) for spec in values}
    return {spec: 1 / gain.median for spec, gain in gains.items() if gain is not None}


def loss_of(
    spec: str,
    subjects: Mapping[Subject, Rounds],
    values: Mapping[str, Rounds],
    odd: set[Round],
    even: set[Round],
) -> Gain | None:
    """How many times longer ``spec`` takes, on even rounds, than the best of ``subjects`` by odd rounds."""
    best = choose_best(subjects, odd)
    return None if best is None else gain_of(best.spec, spec, values, even)


def decide(
    point: Point,
    rule: str,
    results: Results,
    known: ModelChoice | None = None,
    tried: Sequence[str] = (),
) -> Decision | None:
    """The decision at a point; None if the rule or every challenger has no verified round.

    Parameters
    ----------
    rule:
        The canonical spec that the built-in rules choose.
    results:
        A sweep of the rule and its challengers in one setting.
    known:
        A model's choice among the rule and its challengers.
    tried:
        The specs that were to be tried; those that failed verification are reported.
    """
    found = observations_of(results)
    values = {spec: by_round(of) for spec, (_, of) in found.items()}
    if rule not in values:
        return None
    odd, even = split(sorted({key for by in values.values() for key in by}))
    challengers = {found[spec][0]: by for spec, by in values.items() if spec != rule}
    if not challengers or not odd:
        return None
    chosen = choose_best(challengers, odd)
    best = chosen.spec if chosen is not None else rule
    gain = gain_over(values[rule], values[best], even) or NO_GAIN
    better = best != rule and gain.resolved and gain.low > 1
    model_gain = model_loss = loss_of_its_own = None
    if known is not None and known.spec in values:
        model_gain = gain_of(known.spec, rule, values, even)
        subjects = {found[spec][0]: by for spec, by in values.items()}
        model_loss = loss_of(known.spec, subjects, values, odd, even)
        own = {found[spec][0]: values[spec] for spec in known.order if spec in values}
        loss_of_its_own = loss_of(known.spec, own, values, odd, even)
    failed = {str(record.get("spec")) for record in results.unverified}
    return Decision(
        point=point,
        rule=rule,
        rule_ns=float(np.median([one.ns for one in found[rule][1]])),
        spec=best if better else "auto",
        gain=gain if better else NO_GAIN,
        best=best,
        best_gain=gain,
        model=known.spec if known is not None else None,
        model_gain=model_gain,
        alike=known.alike if known is not None else None,
        modelled=known.order if known is not None else (),
        assumed=len(known.assumed) if known is not None else 0,
        used=known.used if known is not None else 0,
        tried=len(challengers),
        failed=tuple(spec for spec in tried if spec in failed),
        ratios=ratios_to(rule, values, even),
        odd_ratios=ratios_to(rule, values, odd),
        model_loss=model_loss,
        model_loss_of_its_own=loss_of_its_own,
    )
