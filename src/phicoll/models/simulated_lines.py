"""Line costs that follow from a simulated machine's parameters, without simulating anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from phicoll.errors import ArgumentError
from phicoll.models.constant import Constant, is_number

__all__ = ["line_costs_of_parameters"]

#: Parameters of protocol `table` whose cost is a whole read, by constant.
TABLE = {
    "line.remote.M": "table.near_modified",
    "line.remote.E": "table.near_exclusive",
    "line.remote.S": "table.near_shared",
    "line.far.M": "table.far_modified",
    "line.far.E": "table.far_exclusive",
    "line.far.S": "table.far_shared",
    "line.memory": "table.memory",
    "line.far.memory": "table.far_memory",
}


def line_costs_of_parameters(where: str, parameters: Mapping[str, Any]) -> dict[str, Constant]:
    """Line costs in ns of a simulated machine (docs/simulator.md: what a transfer is made of).

    Parameters
    ----------
    where:
        Name or file, for errors and sources.
    parameters:
        Values by name, times in cycles.

    Raises
    ------
    ArgumentError
        A parameter that is needed is missing or no number.
    """

    def cycles(name: str) -> float:
        value = parameters.get(name)
        if not is_number(value):
            raise ArgumentError("machine", f"{where}: {name} is {value!r}", "a machine file with that number")
        return float(value)  # type: ignore[arg-type]

    ns = 1000 / cycles("topology.clock_mhz")

    def constant(sum_of_cycles: float, names: str) -> Constant:
        return Constant(round(sum_of_cycles * ns, 3), "ns", "simulated", f"{where}: {names}")

    found = {"line.local": constant(cycles("core.l1_hit"), "core.l1_hit")}
    if parameters.get("topology.protocol") == "table":
        around = cycles("request.miss") + cycles("request.fill")
        for name, parameter in TABLE.items():
            found[name] = constant(around + cycles(parameter), f"request.miss + request.fill + {parameter}")
        return found
    around = cycles("request.miss") + cycles("request.fill") + cycles("directory.latency")
    # A message goes a quarter of the ring on average.
    leg = cycles("ring.inject") + cycles("ring.hop") * cycles("topology.ring_stops") / 4
    legs = "(ring.inject + ring.hop x ring_stops / 4)"
    found["line.remote"] = constant(
        around + cycles("owner.latency") + cycles("directory.acknowledge") + 4 * leg,
        f"miss + fill + directory + owner + acknowledgement + 4 {legs}",
    )
    found["line.memory"] = constant(
        around + cycles("memory.latency") + 3 * leg, f"miss + fill + directory + memory + 3 {legs}"
    )
    return found
