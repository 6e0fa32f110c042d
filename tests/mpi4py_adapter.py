"""Runs mpi4py's own tests of the collectives against phicoll: a module ``mpi4py.MPI`` made of phicoll's names.

    python -m phicoll.launch -n 3 tests/mpi4py_adapter.py MPI4PY/test test_cco_buf test_cco_vec test_cco_obj

``MPI4PY`` is a checkout of https://github.com/mpi4py/mpi4py (its tests are not copied here). Skipped, each with its reason:
point-to-point communication, derived datatypes and Alltoallw, which phicoll does not have; arrays without the buffer protocol (DLPack, GPUs) and of
long double, which no operator of phicoll's knows.
"""

from __future__ import annotations

import sys
import types
import unittest
from typing import Any, NoReturn

import numpy as np

import phicoll
from phicoll.comm import DATATYPES, OPERATORS
from phicoll.comm.communicator import POINT_TO_POINT
from phicoll.errors import ArgumentError

USUAL = ["test_cco_buf", "test_cco_vec", "test_cco_obj"]


def not_there(*args: Any, **named: Any) -> NoReturn:
    raise unittest.SkipTest("phicoll has no derived datatypes")


def not_offered(*args: Any, **named: Any) -> NoReturn:
    raise unittest.SkipTest("phicoll has no point-to-point communication")


def from_code(code: str) -> Any:
    """The element type of a typecode of the array module or NumPy's; the first of MPI's names for it."""
    return next((known for known in DATATYPES.values() if known.dtype == np.dtype(code)), None)


def not_implemented(*args: Any, **named: Any) -> NoReturn:
    raise NotImplementedError


def module() -> types.ModuleType:
    """``mpi4py.MPI``."""
    mpi = types.ModuleType("mpi4py.MPI")
    for name, value in {**DATATYPES, **OPERATORS}.items():
        setattr(mpi, name, value)
    for name in ("COMM_WORLD", "COMM_SELF", "COMM_NULL", "IN_PLACE", "UNDEFINED", "Comm", "Op", "Datatype"):
        setattr(mpi, name, getattr(phicoll, name))
    mpi.BOTTOM = object()
    mpi.DATATYPE_NULL = mpi.LONG_DOUBLE = mpi.C_LONG_DOUBLE_COMPLEX = None
    mpi.OP_NULL = None
    mpi.THREAD_SINGLE, mpi.THREAD_MULTIPLE = 0, 3
    mpi.ERR_ROOT, mpi.ERR_ARG = 7, 12
    mpi.Exception = ArgumentError
    mpi.Intracomm = lambda comm: comm
    mpi.Query_thread = lambda: mpi.THREAD_MULTIPLE
    mpi.Get_version = lambda: (4, 0)
    mpi.Get_abi_version = lambda: (0, 0)
    mpi.get_vendor = lambda: ("phicoll", tuple(int(part) for part in phicoll.__version__.split(".")))
    mpi.Get_address = not_there
    ArgumentError.Get_error_class = lambda self: mpi.ERR_ROOT if self.argument == "root" else mpi.ERR_ARG
    phicoll.Comm.Alltoallw = not_implemented
    for name in POINT_TO_POINT:
        setattr(phicoll.Comm, name, not_offered)
    phicoll.Datatype.fromcode = staticmethod(from_code)
    phicoll.Datatype.Create_indexed_block = phicoll.Datatype.Create_struct = not_there
    return mpi


def main() -> int:
    folder, *names = sys.argv[1:]
    sys.path.insert(0, folder)
    package = types.ModuleType("mpi4py")
    package.__path__ = []
    package.MPI = sys.modules["mpi4py.MPI"] = module()
    sys.modules["mpi4py"] = package

    import arrayimpl

    arrayimpl.ArrayBackends[:] = [arrayimpl.ArrayArray, arrayimpl.ArrayNumPy]
    suite = unittest.defaultTestLoader.loadTestsFromNames(names or USUAL)
    talks = phicoll.COMM_WORLD.rank == 0
    result = unittest.TextTestRunner(verbosity=1 if talks else 0).run(suite)
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
