"""Reads of one line: the full model by place and state, and the simplified one of three costs.

Source: ramos-hoefler-2013 section 1.3 (Tables 1.5 to 1.8): an operation is a read R_{L,S} of a line in state S at a
place L; a read for ownership costs the same, a write-back nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from phicoll.models.constants.constant import Constant
from phicoll.models.equations.checks import check_choice

__all__ = [
    "PLACES",
    "STATES",
    "Constants",
    "SimplifiedCosts",
    "Warm",
    "local",
    "memory",
    "read",
    "remote",
    "shared_start",
    "simplified",
]

STATES = ("M", "E", "S", "F", "I")
PLACES = ("local", "remote", "far")


class Constants(Protocol):
    """A source of constants: a :class:`phicoll.models.MachineModel` or a wrapper of one."""

    def value(self, name: str) -> float: ...
    def constant(self, name: str) -> Constant: ...


@dataclass(frozen=True)
class SimplifiedCosts:
    """R_L, R_R and R_I in ns (Table 1.5b)."""

    local: float
    remote: float
    memory: float


def local(model: Constants) -> float:
    """R_L: a read in the core's own cache, ns."""
    return model.value("line.local")


def memory(model: Constants, *, far: bool = False) -> float:
    """R_I, ns; ``far``: the memory of another package, R_{N,I}."""
    return model.value("line.far.memory" if far else "line.memory")


def shared_start(model: Constants) -> float:
    """The time of a call's first access to a shared structure, ns: R_I, as chapter 4 assumes that it is in memory.

    In a model wrapped in :class:`Warm` it is R_R: the last call left the structure in another core's cache.
    """
    return remote(model) if isinstance(model, Warm) else memory(model)


class Warm:
    """A model's constants for back-to-back calls, between which flags and slots are not evicted.

    phicoll's addition: the paper's collectives begin with flags and slots in memory.
    """

    def __init__(self, model: Constants) -> None:
        self.model = model

    def value(self, name: str) -> float:
        """The model's value of a constant."""
        return self.model.value(name)

    def constant(self, name: str) -> Constant:
        """The model's constant of that name."""
        return self.model.constant(name)


def remote(model: Constants) -> float:
    """R_R: a read in another core's cache whatever the state, ns.

    Where a machine's states cannot be put into one number (section 1.3.4), that of a modified line stands for it: what
    the collectives read was written by another rank. A number of the machine's own goes before an assumed one.
    """
    names = ("line.remote", "line.remote.M")
    for kinds in (("assumed", "undetermined"), ("undetermined",)):
        for name in names:
            if model.constant(name).kind not in kinds:
                return model.value(name)
    return model.value("line.remote")


def read(model: Constants, place: str, state: str) -> float:
    """R_{place,state} in ns, the full model.

    Parameters
    ----------
    place:
        ``local`` (L), ``remote`` (R, on Sandy Bridge P) or ``far`` (N: another package).
    state:
        ``M``, ``E``, ``S``, ``F`` or ``I``. Of a remote state that the model lacks, the simplified cost.

    Raises
    ------
    ArgumentError
        An unknown place or state; a cost that the model does not have.
    """
    check_choice("place", place, PLACES)
    check_choice("state", state, STATES)
    if state == "I":
        return memory(model, far=place == "far")
    if place == "local":
        return local(model)
    name = f"line.{place}.{state}"
    if place == "remote" and model.constant(name).value is None:
        return model.value("line.remote")
    return model.value(name)


def simplified(model: Constants) -> SimplifiedCosts:
    """The three costs of Table 1.5b."""
    return SimplifiedCosts(local(model), remote(model), memory(model))
