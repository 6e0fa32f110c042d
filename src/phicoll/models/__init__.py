"""Analytic models of memory and collectives: constants of machines, and pure functions of them (docs/models.md).

Times are in nanoseconds, sizes in cache lines of 64 bytes unless a name says otherwise.

    >>> from phicoll.models import machine_model
    >>> phi = machine_model("xeon-phi-5110p")
    >>> phi.value("line.remote")
    235.8
"""

from __future__ import annotations

from phicoll.models.band import Band
from phicoll.models.constant import CONSTANTS, KINDS, Constant
from phicoll.models.machine_model import MachineModel, machine_model
from phicoll.models.published import PUBLISHED, SANDY_BRIDGE_E5_2670, XEON_PHI_5110P

__all__ = [
    "CONSTANTS",
    "KINDS",
    "PUBLISHED",
    "SANDY_BRIDGE_E5_2670",
    "XEON_PHI_5110P",
    "Band",
    "Constant",
    "MachineModel",
    "machine_model",
]
