"""Simulated machines: shipped ones, machine files of the user, and what-if changes (docs/machines.md)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import phicoll._core as _core
from phicoll.foundations.checks import argument_names, check_text
from phicoll.foundations.files import as_path
from phicoll.foundations.html_table import html_table
from phicoll.foundations.markup import code, fill

__all__ = ["Machine", "MachineList", "MachineParameter", "load_machine", "machine_parameters", "machines"]


@dataclass(frozen=True)
class MachineParameter:
    """One parameter of a machine, with its source.

    ``kind`` is ``measured``, ``published``, ``calibrated``, ``derived``, ``assumed`` or ``guessed``; ``changed`` if
    the machine's name overrides it; ``default`` if the machine's file omits it.
    """

    name: str
    value: int | str
    unit: str
    range: str
    kind: str
    source: str
    meaning: str

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        source = f"\n    {self.source}" if self.source else ""
        return f"{self.name} = {self.value}{unit}  ({self.kind}) {self.meaning}{source}"


@dataclass(frozen=True)
class Machine:
    """A simulated machine. ``name`` includes its changes; ``digest`` is a hash of all values in effect."""

    name: str
    summary: str
    digest: str
    cores: int
    contexts: int
    clock_mhz: int
    entries: tuple[MachineParameter, ...]

    @cached_property
    def parameters(self) -> dict[str, int | str]:
        """Parameter values by name: ``{"ring.hop": 2, ...}``."""
        return {entry.name: entry.value for entry in self.entries}

    @cached_property
    def evidence(self) -> dict[str, tuple[str, str]]:
        """(kind, source) of each parameter, by name."""
        return {entry.name: (entry.kind, entry.source) for entry in self.entries}

    def to_dict(self) -> dict[str, Any]:
        """The object that ``phicoll list machine NAME --json`` prints."""
        facts = {
            name: getattr(self, name)
            for name in ("name", "summary", "digest", "cores", "contexts", "clock_mhz")
        }
        return {**facts, "parameters": [vars(entry) for entry in self.entries]}

    def __str__(self) -> str:
        return "\n".join(
            [
                f"{self.name}: {self.summary}",
                f"{self.cores} cores, {self.contexts} contexts, {self.clock_mhz} MHz; digest {self.digest}",
                *map(str, self.entries),
            ]
        )

    def __repr__(self) -> str:
        return f"<Machine {self.name}: {self.cores} cores, {self.contexts} contexts, digest {self.digest}>"

    def _repr_html_(self) -> str:
        rows = [[code(e.name), f"{e.value} {e.unit}", e.kind, e.meaning, e.source] for e in self.entries]
        heads = ["parameter", "value", "kind", "meaning", "source"]
        title = fill("<p><b>{}</b>: {}; digest {}</p>", self.name, self.summary, self.digest)
        return title + html_table(heads, rows, left=(3, 4))


class MachineList(tuple[Machine, ...]):
    """Machines; displayed as a table in a notebook."""

    __slots__ = ()

    @property
    def names(self) -> list[str]:
        """The names alone."""
        return [machine.name for machine in self]

    def _repr_html_(self) -> str:
        rows = [[code(m.name), m.cores, m.contexts, m.clock_mhz, m.summary] for m in self]
        return html_table(["name", "cores", "contexts", "MHz", "summary"], rows, left=(4,))


def machines() -> MachineList:
    """The machines shipped with phicoll."""
    return MachineList(map(as_machine, _core.shipped_machines()))


@argument_names
def load_machine(machine: str | os.PathLike[str] | Machine) -> Machine:
    """Load a machine by name or from a file, optionally with changes.

    Parameters
    ----------
    machine:
        The name of a shipped machine, or the path of a machine file (it contains a slash or ends in ``.json``),
        optionally followed by changes: ``"xeon-phi-5110p:directory.service=0:ring.hop=0"``.

    Raises
    ------
    ArgumentError
        An unknown name (the message lists the nearest); an unreadable file; a field that is missing, unknown or out of
        range (the message gives its line and name); an unknown parameter.
    """
    if isinstance(machine, Machine):
        return machine
    text = machine if isinstance(machine, str) else path_text(as_path(machine, "machine"))
    return as_machine(_core.load_machine(check_text("machine", text)))


def machine_parameters() -> list[dict[str, Any]]:
    """Describe every parameter that a machine can have.

    Each has ``name``, ``unit``, ``range`` and ``meaning``; ``directory`` and ``table`` say whether machines of that
    protocol have it, ``optional`` whether a file may omit it.
    """
    return list(_core.machine_parameters())


def path_text(path: Path) -> str:
    """A path as text that the core recognises as a path and not as a name."""
    return str(path) if path.suffix == ".json" or path.is_absolute() else f"./{path}"


def as_machine(found: dict[str, Any]) -> Machine:
    facts = {name: value for name, value in found.items() if name != "parameters"}
    return Machine(**facts, entries=tuple(MachineParameter(**one) for one in found["parameters"]))
