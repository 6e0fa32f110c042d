"""A constant of a machine's model: a number with its unit, kind and source."""

from __future__ import annotations

import difflib
import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

from phicoll.errors import ArgumentError

__all__ = ["CONSTANTS", "KINDS", "Constant", "Kind", "Meaning"]

Kind = Literal["measured", "published", "simulated", "assumed", "undetermined"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class Meaning:
    """The meaning of a constant's name: its unit, whether it must be above 0, the paper's symbol, a description."""

    unit: str
    positive: bool
    symbol: str
    text: str


def names() -> dict[str, Meaning]:
    found = {
        "line.local": Meaning("ns", True, "R_L", "read of a line in the own core's cache"),
        "line.remote": Meaning(
            "ns", True, "R_R", "read of a line in another core's cache, whatever its state"
        ),
        "line.memory": Meaning("ns", True, "R_I", "read of a line that is in no cache"),
    }
    words = {"M": "modified", "E": "exclusive", "S": "shared", "F": "forwarded"}
    for place, symbol, where in (
        ("remote", "R", "another core's cache"),
        ("far", "N", "the cache of a core of another package"),
    ):
        for state, word in words.items():
            found[f"line.{place}.{state}"] = Meaning(
                "ns", True, f"R_{symbol},{state}", f"read of a {word} line in {where}"
            )
    found["line.far.memory"] = Meaning(
        "ns", True, "R_N,I", "read of a line that is in no cache, in another package's memory"
    )
    found["overhead"] = Meaning(
        "ns", False, "O", "what a ping-pong of one line takes over its three reads, between cores"
    )
    found["overhead.same-core"] = Meaning("ns", False, "O", "the same between two ranks of one core")
    for pair in ("EE", "EI", "IE", "II"):
        found[f"multi.{pair}.o"] = Meaning("ns", True, "o", "each further line of a ping-pong of many lines")
        found[f"multi.{pair}.q"] = Meaning("ns", False, "q", "its start-up")
        found[f"multi.{pair}.p"] = Meaning("ns", False, "p", "what of the start-up more lines make up for")
        found[f"contention.{pair}.c"] = Meaning(
            "ns", True, "c", "each further rank that copies the same line"
        )
        found[f"contention.{pair}.b"] = Meaning("ns", False, "b", "what they pay whatever their number")
        found[f"contention.{pair}.a"] = Meaning("ns", False, "a", "what of that falls with their number")
    found["bandwidth.F"] = Meaning("1", True, "F", "factor on a long message's line reads")
    found["bandwidth.P"] = Meaning("1", True, "P", "lines that a core has under way")
    found["copy"] = Meaning("GB/s", True, "BW", "what a pair of ranks copies of a long message")
    found["switch"] = Meaning("ns", True, "", "from one rank to another on the same CPU")
    found["combine"] = Meaning("ns", True, "gamma", "combining a line of one further operand")
    return found


#: Every constant a model can have.
CONSTANTS: dict[str, Meaning] = names()


@dataclass(frozen=True)
class Constant:
    """A number of a machine's model.

    Parameters
    ----------
    value:
        The number in ``unit``; ``None`` exactly if ``kind`` is ``undetermined``.
    unit:
        ``ns``, ``GB/s`` or ``1``, as :data:`phicoll.models.CONSTANTS` has it for the name.
    kind:
        ``measured`` (on the machine itself), ``published``, ``simulated`` (of a simulated machine), ``assumed``
        (taken from another machine, named in ``source``) or ``undetermined``.
    source:
        Its origin: kernel and samples, paper and table, or the machine it was taken from; for an undetermined constant
        the reason.
    standard_error:
        The standard error of the value, in ``unit``; ``None`` if unknown.

    Raises
    ------
    ArgumentError
        A value or standard error that is not finite, a negative standard error, an unknown kind, no source, a value
        that does not go with the kind.
    """

    value: float | None
    unit: str
    kind: Kind
    source: str
    standard_error: float | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ArgumentError("kind", repr(self.kind), ", ".join(KINDS))
        if (self.value is None) != (self.kind == "undetermined"):
            allowed = "None" if self.kind == "undetermined" else "a number"
            raise ArgumentError("value", repr(self.value), f"{allowed}, because kind is {self.kind!r}")
        if self.value is not None and not is_number(self.value):
            raise ArgumentError("value", repr(self.value), "a finite number")
        if self.standard_error is not None and not (
            is_number(self.standard_error) and self.standard_error >= 0
        ):
            raise ArgumentError(
                "standard_error", repr(self.standard_error), "a finite number from 0 on, or None"
            )
        if not isinstance(self.unit, str) or self.unit not in {"ns", "GB/s", "1"}:
            raise ArgumentError("unit", repr(self.unit), "'ns', 'GB/s', '1'")
        if not isinstance(self.source, str) or not self.source:
            raise ArgumentError("source", repr(self.source), "a text that says where the constant is from")

    @classmethod
    def undetermined(cls, unit: str, reason: str) -> Constant:
        """A constant without a value, and the reason."""
        return cls(None, unit, "undetermined", reason)

    def check(self, name: str) -> None:
        """Raise ArgumentError unless this can be the constant ``name``."""
        meaning = CONSTANTS.get(name)
        if meaning is None:
            near = difflib.get_close_matches(name, CONSTANTS, n=2)
            raise ArgumentError(
                "constant",
                repr(name),
                (f"nearest: {', '.join(near)}; " if near else "") + "docs/models.md has all",
            )
        if self.unit != meaning.unit:
            raise ArgumentError(name, f"unit {self.unit!r}", f"unit {meaning.unit!r}")
        if meaning.positive and self.value is not None and self.value <= 0:
            raise ArgumentError(name, f"{self.value:g} {self.unit}", "a value above 0")

    def to_json(self) -> dict[str, Any]:
        """The constant as an object of a machine file."""
        found = {"value": self.value, "unit": self.unit, "kind": self.kind, "source": self.source}
        if self.standard_error is not None:
            found["standard_error"] = self.standard_error
        return found

    def __str__(self) -> str:
        if self.value is None:
            return f"undetermined: {self.source}"
        error = "" if self.standard_error is None else f" ± {self.standard_error:.2g}"
        unit = "" if self.unit == "1" else f" {self.unit}"
        return f"{self.value:g}{error}{unit}  ({self.kind}) {self.source}"


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
