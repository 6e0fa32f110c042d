"""Analytic models of memory and collectives, their predictions, and comparisons with runs (docs/models.md).

Models are pure functions (``phicoll.models.equations``) of a machine's constants (``phicoll.models.constants``).
:mod:`phicoll.models.optima` minimises them, :mod:`phicoll.models.fits` fits constants to measurements,
:mod:`phicoll.models.characterizing` measures a machine, :mod:`phicoll.models.tuning` chooses algorithms.

Times are in nanoseconds, sizes in cache lines of 64 bytes unless a name says otherwise.

    >>> from phicoll.models import machine_model, predict
    >>> phi = machine_model("xeon-phi-5110p")
    >>> phi.value("line.remote")
    235.8
    >>> print(predict("broadcast", "model-tree", ranks=60, size=8, model=phi).band)
    5772.1 to 11261.6 ns
"""

from __future__ import annotations

from phicoll.models.comparison import ComparedRuns, compare_with_runs
from phicoll.models.constants import (
    CONSTANTS,
    KINDS,
    PUBLISHED,
    SANDY_BRIDGE_E5_2670,
    XEON_PHI_5110P,
    Constant,
    MachineModel,
    machine_model,
)
from phicoll.models.equations.band import Band
from phicoll.models.predict import Prediction, modelled, predict

__all__ = [
    "CONSTANTS",
    "KINDS",
    "PUBLISHED",
    "SANDY_BRIDGE_E5_2670",
    "XEON_PHI_5110P",
    "Band",
    "ComparedRuns",
    "Constant",
    "MachineModel",
    "Prediction",
    "compare_with_runs",
    "machine_model",
    "modelled",
    "predict",
]
