"""Whether a challenger replaces the built-in rule, from one sweep's rounds.

The best challenger is chosen on odd rounds and compared with the rule on even ones: chosen and compared on the same
rounds it would look better than it is. It replaces the rule only if the whole interval of its time over the rule's
lies below 1. The same halves serve every other choice (a model's) that is held against the best.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from phicoll.registry import short_spec
from phicoll.results import Results
from phicoll.results.compare.best import Rounds, by_round, choose_best, split
from phicoll.results.compare.units import CONFIDENCE, estimate, units_of
from phicoll.results.observations import Observation, Round, observe
from phicoll.results.subject import Subject, size_text

if TYPE_CHECKING:
    from phicoll.models.tuning.prediction import ModelChoice

__all__ = ["Decision", "Gain", "Point", "decide"]


@dataclass(frozen=True)
class Gain:
    """How many times faster: the median over ``rounds`` of the other's time over this one's, with its interval."""

    median: float
    low: float
    high: float
    confidence: float
    units: int
    rounds: int

    @property
    def resolved(self) -> bool:
        """Whether the interval excludes 1, at the confidence that was asked for."""
        return self.confidence >= CONFIDENCE - 1e-12 and not self.low <= 1 <= self.high

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.low:.2f} to {self.high:.2f})"


#: One that stands for itself.
NO_GAIN = Gain(1.0, 1.0, 1.0, 1.0, 0, 0)


@dataclass(frozen=True)
class Point:
    """What is decided on: an operation by so many ranks, of so many bytes (0 for a barrier)."""

    operation: str
    mode: str
    ranks: int
    cpus: int
    size: int

    def title(self) -> str:
        words = [self.operation, f"{self.ranks}/{self.cpus} {self.mode}"]
        return " ".join(words if self.operation == "barrier" else [*words, size_text(self.size)])


@dataclass(frozen=True)
class Decision:
    """What was found at a point.

    Attributes
    ----------
    rule, rule_ns:
        The built-in rules' choice and its median time, in ns.
    spec, gain:
        What the table says, ``"auto"`` where the rule stays, and how many times faster it is than the rule.
    best, best_gain:
        The challenger that odd rounds took, and its gain over the rule on even ones, resolved or not.
    model, model_gain:
        What the model takes (of its largest times), and that one's gain over the rule; None where nothing is modelled.
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
    #: Of everything that was tried: its median time over the rule's, over even rounds; and over odd ones, by which
    #: whoever takes one of several has to take it.
    ratios: dict[str, float] = field(default_factory=dict)
    odd_ratios: dict[str, float] = field(default_factory=dict)
    #: What of it the model knows, the best by the model first.
    modelled: tuple[str, ...] = ()
    #: The time of the model's choice over that of the best of all, and of the best of what the model knows, which odd
    #: rounds took, on even ones; None where the model's choice was not measured.
    model_loss: Gain | None = None
    model_loss_of_its_own: Gain | None = None
    #: Of a prediction: how many of the constants in it are another machine's, of how many.
    assumed: int = 0
    used: int = 0

    def written(self, texts: Mapping[str, str]) -> Decision:
        """With what is chosen as its candidate's text says it: short, and with no value of this rank count alone."""
        return replace(self, spec=texts.get(self.spec, self.spec))

    @property
    def rule_unknown(self) -> bool:
        """Whether a model alone was asked, and does not know what the rule takes: then the rule stays."""
        return self.by == "model" and self.rule not in self.modelled

    def comment(self) -> str:
        """What stands behind the row."""
        operation = self.point.operation
        at = "" if operation == "barrier" else f" at {size_text(self.point.size)}"
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
        return asdict(self)

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Decision:
        values = dict(found)
        values["point"] = Point(**values["point"])
        for name in ("gain", "best_gain", "model_gain", "model_loss", "model_loss_of_its_own"):
            values[name] = Gain(**values[name]) if values.get(name) else None
        for name in ("failed", "modelled"):
            values[name] = tuple(values[name])
        return cls(**values)


def observations_of(results: Results) -> dict[str, tuple[Subject, list[Observation]]]:
    """Verified observations by spec: rounds of every label count, since ratios are taken within rounds."""
    found: dict[str, tuple[Subject, list[Observation]]] = {}
    for subject, of in observe(results.records).by_subject.items():
        if all(one.verified for one in of):
            found.setdefault(subject.spec, (subject, []))[1].extend(of)
    return found


def gain_over(rule: Rounds, other: Rounds, rounds: set[Round]) -> Gain | None:
    """How many times faster ``other`` is than ``rule``; None where they share no round."""
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
    """Of everything the median time over the rule's, in these rounds."""
    gains = {spec: gain_of(spec, rule, values, rounds) for spec in values}
    return {spec: 1 / gain.median for spec, gain in gains.items() if gain is not None}


def loss_of(
    spec: str,
    subjects: Mapping[Subject, Rounds],
    values: Mapping[str, Rounds],
    odd: set[Round],
    even: set[Round],
) -> Gain | None:
    """How many times longer ``spec`` takes on even rounds than the one of ``subjects`` that odd rounds take."""
    best = choose_best(subjects, odd)
    return None if best is None else gain_of(best.spec, spec, values, even)


def decide(
    point: Point,
    rule: str,
    results: Results,
    known: ModelChoice | None = None,
    tried: Sequence[str] = (),
) -> Decision | None:
    """The decision at a point; None where the rule or every challenger has no verified round.

    Parameters
    ----------
    rule:
        The canonical spec that the built-in rules take.
    results:
        A sweep of the rule and its challengers in one setting.
    known:
        What a model takes of the rule and its challengers.
    tried:
        What was asked for; what of it failed its verification is told.
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
