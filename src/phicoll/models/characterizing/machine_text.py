"""The machine file of a characterisation, which the simulator and the models read. Each entry is a line."""

from __future__ import annotations

import json
from typing import Any

import phicoll._core as _core
from phicoll.models.characterizing.identity import host_object
from phicoll.models.characterizing.observations import Observations
from phicoll.models.constants.constant import Constant
from phicoll.registry.machines import Machine

__all__ = ["file_text", "host_file", "simulated_file"]

#: The costs that the simulator's parameters come from, by the subjects that show them.
READS = {
    "near_modified": "near.M",
    "near_exclusive": "near.E",
    "near_shared": "near.S",
    "far_modified": "far.M",
    "far_exclusive": "far.E",
    "far_shared": "far.S",
    "memory": "near.memory",
}


def host_file(
    costs: _core.HostCosts, found: Observations, constants: dict[str, Constant], name: str
) -> dict[str, Any]:
    """This host's file: the simulator's parameters (protocol ``table``) from its costs, the model, and the host."""
    for cost, subject in READS.items():
        estimate = found.estimate(found.by_round(subject))
        if estimate is not None and estimate.value > 0:
            launch = found.launches[subject, 1][0]
            how = f"{launch.subject.spec} on CPUs {launch.where}, {estimate.rounds} rounds"
            costs.set_cost(cost, estimate.value, estimate.low, estimate.high, how)
    file = json.loads(_core.fit_machine_text(costs, name))
    return with_sections(file, constants, host_object(costs.clock_mhz))


def simulated_file(machine: Machine, text: str, constants: dict[str, Constant], name: str) -> dict[str, Any]:
    """A simulated machine's file: its own parameters, and the model that its kernels show."""
    file = json.loads(_core.machine_file_text(text))
    file["name"] = name
    file["summary"] = f"{machine.summary}; its model is from kernels simulated on it"
    file.pop("host", None)
    return with_sections(file, constants, None)


def with_sections(
    file: dict[str, Any], constants: dict[str, Constant], host: dict[str, Any] | None
) -> dict[str, Any]:
    head = {key: file[key] for key in ("phicoll", "name", "summary")}
    whose = {} if host is None else {"host": host}
    model = {name: constant.to_json() for name, constant in constants.items()}
    return {**head, **whose, "model": model, "parameters": file["parameters"]}


def file_text(file: dict[str, Any]) -> str:
    """JSON with a line for each entry of a section, as machine files are."""
    parts = []
    for key, value in file.items():
        if key in ("model", "parameters"):
            lines = [f"    {text(name)}: {text(entry)}" for name, entry in value.items()]
            parts.append(f"  {text(key)}: {{\n" + ",\n".join(lines) + "\n  }")
        else:
            parts.append(f"  {text(key)}: {text(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
