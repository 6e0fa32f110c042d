"""phicoll: shared-memory collectives for many-core processors. Write once, run, measure, simulate.

    >>> import phicoll
    >>> phicoll.algorithms("barrier")                           # what there is
    >>> results = phicoll.measure("dissemination,std-barrier", ranks=2)
    >>> results.compare()                                       # medians with exact intervals, ratios within rounds
    >>> phicoll.sweep("barrier", ranks=[2, 4], mode=["threads", "processes"], oversubscribe=True).plot()
    >>> phicoll.run(lambda comm: comm.allreduce(comm.rank), ranks=4)  # collectives between processes

Importing phicoll loads next to nothing; the core, NumPy, and the extras' pandas, Matplotlib and the rest are loaded
when they are used.
"""

from __future__ import annotations

from os.path import exists

from phicoll.errors import (
    ArgumentError,
    BrokenGroupError,
    Error,
    FitError as FitError,
    PhicollWarning as PhicollWarning,
    ResourceError as ResourceError,
    ResultsFileError as ResultsFileError,
    TimeoutError as TimeoutError,
    VerificationError as VerificationError,
)

TYPE_CHECKING = False  # as typing's, whose import takes longer than all that is imported here
if TYPE_CHECKING:
    from typing import Any

    from phicoll.comm import (
        ANY_SOURCE,
        ANY_TAG,
        COMM_NULL,
        COMM_SELF,
        COMM_WORLD,
        IN_PLACE,
        PROC_NULL,
        REQUEST_NULL,
        UNDEFINED,
        Comm,
        Datatype,
        Op,
        Prequest,
        Request,
        Status,
        world,
    )
    from phicoll.comm.running import run
    from phicoll.explaining.counting import count
    from phicoll.explaining.explanation import Explanation as Explanation, explain
    from phicoll.explaining.profile import Profile as Profile, profile
    from phicoll.measuring import measure, sweep
    from phicoll.measuring.doctor import doctor
    from phicoll.models.characterizing import Characterization as Characterization, characterize
    from phicoll.models.tuning import tune, why
    from phicoll.papers.validation import Validation as Validation, validate
    from phicoll.registry import (
        Algorithm as Algorithm,
        Machine as Machine,
        algorithms,
        expand as expand,
        load_machine,
        machines,
    )
    from phicoll.results import Results, load
    from phicoll.results.compare import (
        Comparison as Comparison,
        compare_with_baseline as compare_with_baseline,
    )

    __version__: str

# The constants of phicoll.comm, loaded at first use.
# fmt: off
_OPERATORS = (
    "SUM", "PROD", "MIN", "MAX", "LAND", "LOR", "LXOR", "BAND", "BOR", "BXOR", "MINLOC", "MAXLOC",
    "REPLACE", "NO_OP",
)
_DATATYPES = (
    "BYTE", "CHAR", "SIGNED_CHAR", "UNSIGNED_CHAR", "SHORT", "UNSIGNED_SHORT", "INT", "UNSIGNED",
    "UNSIGNED_INT", "SIGNED_SHORT", "SIGNED_INT", "SIGNED_LONG", "SIGNED_LONG_LONG", "LONG", "UNSIGNED_LONG",
    "LONG_LONG", "UNSIGNED_LONG_LONG", "FLOAT", "DOUBLE", "LONG_DOUBLE", "BOOL", "C_BOOL", "CXX_BOOL", "WCHAR",
    "PACKED", "AINT", "OFFSET", "COUNT", "SINT8_T", "SINT16_T", "SINT32_T", "SINT64_T", "INT8_T", "INT16_T",
    "INT32_T", "INT64_T", "UINT8_T", "UINT16_T", "UINT32_T", "UINT64_T", "COMPLEX", "DOUBLE_COMPLEX",
    "C_COMPLEX", "CXX_FLOAT_COMPLEX", "CXX_DOUBLE_COMPLEX", "CXX_LONG_DOUBLE_COMPLEX", "C_FLOAT_COMPLEX",
    "C_DOUBLE_COMPLEX", "C_LONG_DOUBLE_COMPLEX",
    "FLOAT_INT", "DOUBLE_INT", "SHORT_INT", "LONG_INT", "LONG_DOUBLE_INT", "TWO_INT", "TWOINT",
)
# fmt: on

# What a user types, and what programs written for mpi4py expect of a star import. The other names, in _LAZY below and
# in phicoll.errors, are there all the same.
__all__ = [
    "ANY_SOURCE",
    "ANY_TAG",
    "COMM_NULL",
    "COMM_SELF",
    "COMM_WORLD",
    "IN_PLACE",
    "PROC_NULL",
    "REQUEST_NULL",
    "UNDEFINED",
    "ArgumentError",
    "BrokenGroupError",
    "Comm",
    "Datatype",
    "Error",
    "Op",
    "Prequest",
    "Request",
    "Results",
    "Status",
    "algorithms",
    "characterize",
    "count",
    "doctor",
    "explain",
    "load",
    "load_machine",
    "machines",
    "measure",
    "profile",
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
    "__version__": "phicoll._core",
    "Algorithm": "phicoll.registry",
    "Comparison": "phicoll.results.compare",
    "Machine": "phicoll.registry",
    "Results": "phicoll.results",
    "Explanation": "phicoll.explaining.explanation",
    "Profile": "phicoll.explaining.profile",
    "Characterization": "phicoll.models.characterizing",
    "algorithms": "phicoll.registry",
    "characterize": "phicoll.models.characterizing",
    "compare_with_baseline": "phicoll.results.compare",
    "count": "phicoll.explaining.counting",
    "doctor": "phicoll.measuring.doctor",
    "expand": "phicoll.registry",
    "explain": "phicoll.explaining.explanation",
    "load": "phicoll.results",
    "load_machine": "phicoll.registry",
    "machines": "phicoll.registry",
    "measure": "phicoll.measuring",
    "profile": "phicoll.explaining.profile",
    "run": "phicoll.comm.running",
    "sweep": "phicoll.measuring",
    "tune": "phicoll.models.tuning",
    "why": "phicoll.models.tuning",
    "Validation": "phicoll.papers.validation",
    "validate": "phicoll.papers.validation",
    "Comm": "phicoll.comm",
    "Datatype": "phicoll.comm",
    "Op": "phicoll.comm",
    "Prequest": "phicoll.comm",
    "Request": "phicoll.comm",
    "Status": "phicoll.comm",
    "world": "phicoll.comm",
}

# Modules that are written out from here, such as phicoll.tuning.candidates: the name, and where the module is.
_MODULES = {
    "MPI": "phicoll.MPI",
    "characterizing": "phicoll.models.characterizing",
    "claims": "phicoll.papers.claims",
    "kernels": "phicoll.explaining.kernels",
    "models": "phicoll.models",
    "shmem": "phicoll.shmem",
    "tuning": "phicoll.models.tuning",
    "validation": "phicoll.papers.validation",
}


# A star import asks for all of __all__.
if not exists(f"{__path__[0]}/registry"):  # noqa: PTH110
    from phicoll.foundations.laboratory import of_laboratory

    for _name in [_name for _name in __all__ if of_laboratory(_LAZY.get(_name, ""))]:
        __all__.remove(_name)


def __getattr__(name: str) -> Any:
    if name in _MODULES or name in _LAZY:
        from phicoll.foundations.laboratory import load

        if name in _MODULES:
            return load(_MODULES[name], f"phicoll.{name}")
        value = getattr(load(_LAZY[name], f"phicoll.{name}"), name)
        globals()[name] = value
        return value
    from importlib import import_module

    if name == "COMM_WORLD":  # the running rank's own, never kept
        return import_module("phicoll.comm").world()
    if name.isupper():  # IN_PLACE, SUM, DOUBLE and so on
        comm = import_module("phicoll.comm")
        if name in comm.__all__:
            globals()[name] = value = getattr(comm, name)
            return value
    from phicoll.foundations.nearest import nearest

    found = nearest(name, (known for known in __dir__() if not known.startswith("_")))
    words = f"; nearest: {', '.join(found)}" if found else ""
    raise AttributeError(f"module 'phicoll' has no attribute {name!r}{words}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_LAZY, *_MODULES})
