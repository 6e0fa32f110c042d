"""Loading a machine's model by name or from a file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import phicoll._core as _core
from phicoll.errors import ArgumentError
from phicoll.foundations.checks import check_text
from phicoll.foundations.files import as_path, input_bytes
from phicoll.models.constants.machine_model import MachineModel
from phicoll.models.constants.published import PUBLISHED

__all__ = ["machine_model", "read_machine_file"]


def machine_model(
    machine: str | os.PathLike[str] | MachineModel, *, argument: str = "machine"
) -> MachineModel:
    """Load a machine's model by name or from a file.

    Parameters
    ----------
    machine:
        The name of a shipped machine; ``"xeon-phi-5110p"`` and ``"sandy-bridge-e5-2670"`` have the published constants
        (ramos-hoefler-2013). Or the path of a machine file (it has a slash or ends in ``.json``). The model is the
        file's ``model`` section, as the core's algorithms take it; without one nothing is known. With changes
        after it (``"xeon-phi-5110p:ring.hop=0"``) every constant is ``assumed``: the unchanged machine's.
    argument:
        The name of the argument in errors.

    Raises
    ------
    ArgumentError
        An unknown name, a file that cannot be read or is not a machine file, a wrong field of it (file and field).
    """
    if isinstance(machine, MachineModel):
        return machine
    if not isinstance(machine, str | os.PathLike):
        raise ArgumentError(argument, repr(machine), "a name, a path or a MachineModel")
    try:
        return model_named(machine)
    except ArgumentError as error:
        if error.argument != "machine":
            raise
        raise ArgumentError(argument, error.got, error.allowed) from None


def model_named(machine: str | os.PathLike[str]) -> MachineModel:
    text = check_text("machine", os.fspath(machine))
    colon = text.find(":", text.rfind("/") + 1)
    if (
        not isinstance(machine, str)
        or os.path.isfile(text)  # noqa: PTH113 (false for a name that is too long)
        or (colon < 0 and ("/" in text or text.endswith(".json")))
    ):
        return model_of_file(Path(text))
    if text in PUBLISHED:
        return PUBLISHED[text]
    name = _core.load_machine(text)["name"]
    if colon >= 0:
        unchanged = model_named(text[:colon])
        return unchanged if name == unchanged.name else MachineModel(name, {}).with_family(unchanged)
    return model_of_object(json.loads(_core.machine_file_text(text)), text)


def read_machine_file(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a machine file; only checks that it is one.

    Raises
    ------
    ArgumentError
        A file that cannot be read or is not a machine file.
    """
    path = as_path(path, "machine")
    try:
        file = json.loads(input_bytes(path))  # takes NaN, so that its field is named
    except OSError as error:
        raise ArgumentError(
            "machine", f"{path} ({error.strerror})", "a machine file that can be read"
        ) from None
    except (ValueError, RecursionError) as error:
        raise ArgumentError("machine", f"{path} ({error})", "a machine file, which is JSON") from None
    if not isinstance(file, dict) or file.get("phicoll") != "machine":
        raise ArgumentError("machine", str(path), 'a machine file: an object with "phicoll": "machine"')
    return file


def model_of_file(path: Path) -> MachineModel:
    return model_of_object(read_machine_file(path), str(path))


def model_of_object(file: Mapping[str, Any], where: str) -> MachineModel:
    name = file.get("name")
    if not isinstance(name, str) or not name:
        raise ArgumentError("machine", f"{where}: name {name!r}", "a text")
    if "model" not in file and not isinstance(file.get("parameters"), dict):
        raise ArgumentError("machine", f"{where}: no parameters", "a machine file with model or parameters")
    return MachineModel.from_json(name, file.get("model", {}), f"{where}: model")
