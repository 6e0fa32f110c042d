"""Measure a machine and fit its model: one machine file for the simulator and the models (docs/characterizing.md).

A characterisation is a plan (what is measured), rounds of it on a target (this host, a simulated machine),
observations, the constants that follow from them, and the machine file.
"""

from __future__ import annotations

from phicoll.models.characterizing.characterization import Characterization, characterize
from phicoll.models.characterizing.identity import check_host, difference_to_host, is_this_host

__all__ = ["Characterization", "characterize", "check_host", "difference_to_host", "is_this_host"]
