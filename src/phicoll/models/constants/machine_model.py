"""A machine's model: its constants by name, from a machine file, a published set or a simulated machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from phicoll.errors import ArgumentError
from phicoll.foundations.html_table import html_table
from phicoll.foundations.markup import code, fill
from phicoll.models.constants.constant import CONSTANTS, Constant, is_number

__all__ = ["MachineModel"]

FIELDS = ("value", "unit", "kind", "source", "standard_error")


@dataclass(frozen=True)
class MachineModel:
    """A machine's constants by name (:data:`phicoll.models.CONSTANTS` has all names).

    A missing constant counts as undetermined. Raises :class:`~phicoll.errors.ArgumentError` for an unknown name or a
    constant of the wrong unit or sign.
    """

    name: str
    constants: Mapping[str, Constant]

    def __post_init__(self) -> None:
        for name, constant in self.constants.items():
            constant.check(name)

    def constant(self, name: str) -> Constant:
        """The constant of that name, an undetermined one if the model lacks it. ArgumentError: no such name."""
        found = self.constants.get(name)
        if found is not None:
            return found
        absent = Constant.undetermined(
            CONSTANTS[name].unit if name in CONSTANTS else "1", "not in this model"
        )
        absent.check(name)
        return absent

    def value(self, name: str) -> float:
        """A constant's value in its unit. ArgumentError names one that is undetermined, and its reason."""
        constant = self.constant(name)
        if constant.value is None:
            raise ArgumentError(
                name,
                f"undetermined for {self.name} ({constant.source})",
                "a machine that has it, or with_family(another machine's model)",
            )
        return float(constant.value)

    def known(self, name: str) -> bool:
        """Whether the constant has a value."""
        return self.constant(name).value is not None

    @property
    def assumed(self) -> tuple[str, ...]:
        """Names of the constants that were taken from another machine."""
        return tuple(name for name, constant in self.constants.items() if constant.kind == "assumed")

    @property
    def undetermined(self) -> tuple[str, ...]:
        """Names of the constants without a value, of all that exist."""
        return tuple(name for name in CONSTANTS if not self.known(name))

    def with_family(self, other: MachineModel) -> MachineModel:
        """This model with undetermined constants taken from another machine's and marked ``assumed``.

        Times are scaled by the ratio of the two machines' ``line.remote`` (else ``line.remote.M``), if both have it.
        What both lack stays undetermined. The constants' sources say all this.
        """
        ratio = ratio_of_lines(self, other)
        found = {}
        for name in CONSTANTS:
            own, theirs = self.constant(name), other.constant(name)
            if own.value is None and theirs.value is not None:
                scale = ratio if theirs.unit == "ns" else None
                times = "" if scale is None else f" x {scale:.3g}, the ratio of line.remote"
                own = Constant(
                    float(theirs.value if scale is None else f"{theirs.value * scale:.5g}"),
                    theirs.unit,
                    "assumed",
                    f"{other.name}: {theirs.value:g}{times} ({theirs.source}); here {own.source}",
                )
            if own.value is not None or name in self.constants:
                found[name] = own
        return MachineModel(self.name, found)

    def to_json(self) -> dict[str, dict[str, Any]]:
        """The ``model`` section of a machine file."""
        return {name: constant.to_json() for name, constant in self.constants.items()}

    @classmethod
    def from_json(cls, name: str, section: object, where: str = "model") -> MachineModel:
        """The model of a machine file's ``model`` section.

        Raises
        ------
        ArgumentError
            A constant that does not exist, a field that is missing, unknown, or of another type; ``where`` and the
            constant are named.
        """
        if not isinstance(section, dict):
            raise ArgumentError(where, type(section).__name__, "an object of constants by name")
        found = {}
        for key, entry in section.items():
            at = f"{where}: {key}"
            if not isinstance(entry, dict):
                raise ArgumentError(at, repr(entry), "an object with value, unit, kind, source")
            for field in entry:
                if field not in FIELDS:
                    raise ArgumentError(at, f"field {field!r}", ", ".join(FIELDS))
            for field in FIELDS[:-1]:
                if field not in entry:
                    raise ArgumentError(
                        at, f"no {field}", "value (null where undetermined), unit, kind, source"
                    )
            for field in ("value", "standard_error"):
                if entry.get(field) is not None and not is_number(entry[field]):
                    raise ArgumentError(f"{at}.{field}", repr(entry[field]), "a finite number or null")
            try:
                constant = Constant(**entry)
                constant.check(key)
            except ArgumentError as error:
                field = "" if error.argument in (key, "constant") else f".{error.argument}"
                raise ArgumentError(at + field, error.got, error.allowed) from None
            found[key] = constant
        return cls(name, found)

    def __str__(self) -> str:
        width = max((len(name) for name in self.constants), default=0)
        return "\n".join([self.name, *(f"  {name:<{width}}  {c}" for name, c in self.constants.items())])

    def _repr_html_(self) -> str:
        rows = [
            [
                code(name),
                "" if c.value is None else f"{c.value:g}",
                "" if c.standard_error is None else f"{c.standard_error:.2g}",
                c.unit,
                c.kind,
                c.source,
            ]
            for name, c in self.constants.items()
        ]
        heads = ["constant", "value", "standard error", "unit", "kind", "source"]
        return fill("<p><b>{}</b></p>{}", self.name, html_table(heads, rows, left=(5,)))


def ratio_of_lines(own: MachineModel, other: MachineModel) -> float | None:
    """The time of a line from another core on one machine / on the other; None if either is unknown."""
    names = ("line.remote", "line.remote.M")
    here, there = (
        next((float(c.value) for c in map(m.constant, names) if c.value is not None), None)
        for m in (own, other)
    )
    return None if here is None or there is None else here / there
