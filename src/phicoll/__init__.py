"""phicoll: shared-memory collectives for many-core processors. Write once, run, measure, simulate.

    >>> import phicoll
    >>> phicoll.algorithms("barrier")                           # what there is
    >>> results = phicoll.measure("dissemination,std-barrier", ranks=2)
    >>> results.compare()                                       # medians with exact intervals, ratios within rounds
    >>> phicoll.sweep("barrier", ranks=[2, 4], mode=["threads", "processes"], oversubscribe=True).plot()
    >>> phicoll.run(lambda comm: comm.allreduce(comm.rank), ranks=4)  # collectives between processes

Importing phicoll loads the core and NumPy only; pandas, Matplotlib and the rest are loaded when they are used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from phicoll import _core
from phicoll.errors import (
    ArgumentError,
    BrokenGroupError,
    Error,
    FitError,
    PhicollWarning,
    ResourceError,
    ResultsFileError,
    TimeoutError,
    VerificationError,
)
from phicoll.results import Results, load

if TYPE_CHECKING:
    from phicoll.characterizing import Characterization, characterize
    from phicoll.comm import COMM_NULL, COMM_SELF, COMM_WORLD, IN_PLACE, UNDEFINED, Comm, Datatype, Op, world
    from phicoll.compare import Comparison, compare_with_baseline
    from phicoll.counting import count
    from phicoll.doctor import doctor
    from phicoll.explaining import Explanation, explain
    from phicoll.machine import Machine, load_machine, machines
    from phicoll.measuring import measure, sweep
    from phicoll.registry import Algorithm, algorithms, expand
    from phicoll.running import run
    from phicoll.tuning import tune, why
    from phicoll.validation import Validation, validate

__version__: str = _core.__version__

# The constants of phicoll.comm, loaded at first use.
# fmt: off
_OPERATORS = (
    "SUM", "PROD", "MIN", "MAX", "LAND", "LOR", "LXOR", "BAND", "BOR", "BXOR", "MINLOC", "MAXLOC",
    "REPLACE", "NO_OP",
)
_DATATYPES = (
    "BYTE", "CHAR", "SIGNED_CHAR", "UNSIGNED_CHAR", "SHORT", "UNSIGNED_SHORT", "INT", "UNSIGNED",
    "UNSIGNED_INT", "LONG", "UNSIGNED_LONG", "LONG_LONG", "UNSIGNED_LONG_LONG", "FLOAT", "DOUBLE",
    "LONG_DOUBLE", "BOOL", "C_BOOL", "INT8_T", "INT16_T", "INT32_T", "INT64_T", "UINT8_T", "UINT16_T",
    "UINT32_T", "UINT64_T", "COMPLEX", "DOUBLE_COMPLEX", "C_FLOAT_COMPLEX", "C_DOUBLE_COMPLEX",
    "FLOAT_INT", "DOUBLE_INT", "SHORT_INT", "LONG_INT", "TWO_INT", "TWOINT",
)
# fmt: on

__all__ = [
    "COMM_NULL",
    "COMM_SELF",
    "COMM_WORLD",
    "IN_PLACE",
    "UNDEFINED",
    "Algorithm",
    "ArgumentError",
    "BrokenGroupError",
    "Characterization",
    "Comm",
    "Comparison",
    "Datatype",
    "Error",
    "Explanation",
    "FitError",
    "Machine",
    "Op",
    "PhicollWarning",
    "ResourceError",
    "Results",
    "ResultsFileError",
    "TimeoutError",
    "Validation",
    "VerificationError",
    "__version__",
    "algorithms",
    "characterize",
    "compare_with_baseline",
    "count",
    "doctor",
    "expand",
    "explain",
    "load",
    "load_machine",
    "machines",
    "measure",
    "run",
    "sweep",
    "tune",
    "validate",
    "why",
    "world",
    *_OPERATORS,
    *_DATATYPES,
]

# Loaded at first use: the name, and the module that has it.
_LAZY = {
    "Algorithm": "phicoll.registry",
    "Comparison": "phicoll.compare",
    "Machine": "phicoll.machine",
    "Explanation": "phicoll.explaining",
    "Characterization": "phicoll.characterizing",
    "algorithms": "phicoll.registry",
    "characterize": "phicoll.characterizing",
    "compare_with_baseline": "phicoll.compare",
    "count": "phicoll.counting",
    "doctor": "phicoll.doctor",
    "expand": "phicoll.registry",
    "explain": "phicoll.explaining",
    "load_machine": "phicoll.machine",
    "machines": "phicoll.machine",
    "measure": "phicoll.measuring",
    "run": "phicoll.running",
    "sweep": "phicoll.measuring",
    "tune": "phicoll.tuning",
    "why": "phicoll.tuning",
    "Validation": "phicoll.validation",
    "validate": "phicoll.validation",
    "Comm": "phicoll.comm",
    "Datatype": "phicoll.comm",
    "Op": "phicoll.comm",
    "world": "phicoll.comm",
}

# Packages whose names the documents write out, such as phicoll.tuning.candidates.
_PACKAGES = ("characterizing", "claims", "kernels", "models", "tuning", "validation")


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"phicoll.{name}")
    if name in _LAZY:
        value = getattr(import_module(_LAZY[name]), name)
        globals()[name] = value
        return value
    if name == "COMM_WORLD":  # the running rank's own, never kept
        return import_module("phicoll.comm").world()
    if name.isupper():  # IN_PLACE, SUM, DOUBLE and so on
        comm = import_module("phicoll.comm")
        if name in comm.__all__:
            globals()[name] = value = getattr(comm, name)
            return value
    raise AttributeError(f"module 'phicoll' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PACKAGES})
