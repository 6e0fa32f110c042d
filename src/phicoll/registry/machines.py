"""Simulated machines: the shipped ones, a user's own files, and what-if changes (docs/machines.md)."""

from __future__ import annotations

import html
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import phicoll._core as _core
from phicoll.foundations.html_table import code, html_table

__all__ = ["Machine", "MachineList", "MachineParameter", "load_machine", "machine_parameters", "machines"]


@dataclass(frozen=True)
class MachineParameter:
    """One number or choice of a machine, and where it comes from.

    ``kind`` is ``measured``, ``published``, ``calibrated``, ``derived``, ``assumed`` or ``guessed``; ``changed`` where
    the machine's name changes it and ``default`` where its file leaves it out.
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
    """A simulated machine. ``name`` says what was changed; ``digest`` is a hash of every value in effect."""

    name: str
    summary: str
    digest: str
    cores: int
    contexts: int
    clock_mhz: int
    entries: tuple[MachineParameter, ...]

    @cached_property
    def parameters(self) -> dict[str, int | str]:
        """Values by name, such as ``{"ring.hop": 2, ...}``."""
        return {entry.name: entry.value for entry in self.entries}

    @cached_property
    def evidence(self) -> dict[str, tuple[str, str]]:
        """Kind and source by name."""
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
        title = f"<p><b>{html.escape(self.name)}</b>: {html.escape(self.summary)}; digest {self.digest}</p>"
        return title + html_table(heads, rows, left=(3, 4))


class MachineList(tuple[Machine, ...]):
    """Machines; shows itself as a table in a notebook."""

    __slots__ = ()

    @property
    def names(self) -> list[str]:
        return [machine.name for machine in self]

    def _repr_html_(self) -> str:
        rows = [[code(m.name), m.cores, m.contexts, m.clock_mhz, m.summary] for m in self]
        return html_table(["name", "cores", "contexts", "MHz", "summary"], rows, left=(4,))


def machines() -> MachineList:
    """The machines that come with phicoll."""
    return MachineList(map(as_machine, _core.shipped_machines()))


def load_machine(machine: str | os.PathLike[str] | Machine) -> Machine:
    """A machine by name or file, perhaps with changes.

    Parameters
    ----------
    machine:
        A shipped machine's name, or the path of a machine file (it has a slash or ends in ``.json``), perhaps
        followed by changes: ``"xeon-phi-5110p:directory.service=0:ring.hop=0"``.

    Raises
    ------
    ArgumentError
        An unknown name (with the nearest), a file that cannot be read, a field of it that is missing, unknown or out of
        range (with its line and name), an unknown parameter.
    """
    if isinstance(machine, Machine):
        return machine
    text = machine if isinstance(machine, str) else path_text(Path(machine))
    return as_machine(_core.load_machine(text))


def machine_parameters() -> list[dict[str, Any]]:
    """Every parameter a machine can have: ``name``, ``unit``, ``range``, ``meaning``; whether machines of the protocols
    ``directory`` and ``table`` have it; whether a file may leave it out (``optional``)."""
    return list(_core.machine_parameters())


def path_text(path: Path) -> str:
    """A path as load_machine recognises it."""
    return str(path) if path.suffix == ".json" or path.is_absolute() else f"./{path}"


def as_machine(found: dict[str, Any]) -> Machine:
    facts = {name: value for name, value in found.items() if name != "parameters"}
    return Machine(**facts, entries=tuple(MachineParameter(**one) for one in found["parameters"]))
