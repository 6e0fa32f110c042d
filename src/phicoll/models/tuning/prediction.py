"""The models' predictions for candidates, and their choices."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phicoll.errors import ArgumentError
from phicoll.registry import moves_data

if TYPE_CHECKING:
    from phicoll.models import MachineModel

__all__ = ["ModelChoice", "Predicted", "model_choice", "model_of", "predicted"]

#: The start that calls have in a program: flags and slots lie where the last call left them.
START = "warm"


@dataclass(frozen=True)
class Predicted:
    """A model's least and largest time in ns, the constants that it uses, and those of them that were assumed."""

    low_ns: float
    high_ns: float
    source: str
    machine: str
    assumed: tuple[str, ...]
    used: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__} | {"used": len(self.used)}

    def __str__(self) -> str:
        return (
            f"{self.low_ns:,.0f} to {self.high_ns:,.0f} ns by the model of {self.machine} ({self.source}); "
            f"{len(self.assumed)} of {len(self.used)} constants assumed"
        )


@dataclass(frozen=True)
class ModelChoice:
    """A model's choice among several specs: the one whose largest time is least.

    ``alike`` says whether the least times choose the same. ``order`` has every spec that is modelled, the best first.
    ``used`` are the constants in any of their predictions, ``assumed`` those of them that are another machine's.
    """

    spec: str
    alike: bool
    order: tuple[str, ...]
    high_ns: dict[str, float]
    assumed: tuple[str, ...]
    used: int


def model_of(
    model: str | os.PathLike[str] | MachineModel | None, machine: str | None, foreign: str = "refuse"
) -> MachineModel | None:
    """The model that was named, otherwise the simulated machine's, otherwise None.

    Raises ArgumentError if there is no such model. If this host is to be tuned by another host's file, ``foreign``
    says whether to refuse it (ArgumentError) or use it with a warning.
    """
    from phicoll.models import machine_model
    from phicoll.models.characterizing.identity import check_foreign, check_host

    check_foreign(foreign, argument="model_foreign")
    if model is not None:
        found = machine_model(model, argument="model")
        if machine is None and isinstance(model, str | os.PathLike) and Path(model).is_file():
            check_host(model, foreign, argument="model")
        return found
    if machine is None:
        return None
    try:
        return machine_model(machine)
    except ArgumentError:
        return None


def predicted(
    operation: str, spec: str, ranks: int, size: int, model: MachineModel | None, sharing: bool = False
) -> tuple[Predicted | None, str]:
    """The prediction, or None and the reason."""
    from phicoll.models import CONSTANTS, modelled, predict

    if model is None:
        return None, "none: name a machine file that has one (phicoll characterize makes it)"
    if sharing:
        return None, "none: the models are of ranks with a CPU each"
    name = spec.partition(":")[0]
    if name not in modelled().get(operation, ()):
        return None, f"none: {name} is not modelled"
    try:
        found = predict(operation, spec, ranks, size if moves_data(operation) else 0, model, start=START)
    except ArgumentError as error:
        if error.argument in CONSTANTS:
            return None, f"none: {error.argument} is {error.got}"
        return None, f"none: {name} with {error.argument} {error.got} is not modelled"
    prediction = Predicted(
        found.low_ns, found.high_ns, found.source, model.name, tuple(found.assumed), found.used
    )
    return prediction, ""


def model_choice(
    operation: str, specs: Iterable[str], ranks: int, size: int, model: MachineModel | None, sharing: bool
) -> ModelChoice | None:
    """The model's choice among ``specs``; None if it knows none of them."""
    found: dict[str, Predicted] = {}
    for spec in specs:
        prediction, _ = predicted(operation, spec, ranks, size, model, sharing)
        if prediction is not None:
            found[spec] = prediction
    if not found:
        return None
    order = sorted(found, key=lambda spec: found[spec].high_ns)
    least = min(found, key=lambda spec: found[spec].low_ns)
    # A spec with the same least time as the choice does not count as a different choice.
    alike = found[least].low_ns >= found[order[0]].low_ns
    assumed = tuple(sorted({name for one in found.values() for name in one.assumed}))
    return ModelChoice(
        order[0],
        alike,
        tuple(order),
        {spec: found[spec].high_ns for spec in order},
        assumed,
        len({name for one in found.values() for name in one.used}),
    )
