"""The constants of a machine's model: published ones, and those of machine files."""

from phicoll.models.constants.constant import CONSTANTS, KINDS, Constant
from phicoll.models.constants.machine_model import MachineModel
from phicoll.models.constants.named_model import machine_model
from phicoll.models.constants.published import PUBLISHED, SANDY_BRIDGE_E5_2670, XEON_PHI_5110P

__all__ = [
    "CONSTANTS",
    "KINDS",
    "PUBLISHED",
    "SANDY_BRIDGE_E5_2670",
    "XEON_PHI_5110P",
    "Constant",
    "MachineModel",
    "machine_model",
]
