"""Runs mpi4py's own tests of what phicoll offers, with ``phicoll.MPI`` as ``mpi4py.MPI``.

    phicoll launch --as-mpi4py -n 3 tests/mpi4py_adapter.py MPI4PY/test test_cco_buf test_p2p_obj

``MPI4PY`` is a checkout of https://github.com/mpi4py/mpi4py (its tests are not copied here). Skipped, each with its reason:
derived datatypes and Alltoallw, which phicoll does not have; arrays without the buffer
protocol (DLPack, GPUs) and of long double, which no operator of phicoll's knows.
"""

from __future__ import annotations

import pickle
import sys
import unittest
from typing import Any, NoReturn

import numpy as np

from phicoll import MPI
from phicoll.errors import ArgumentError

USUAL = [
    "test_cco_buf",
    "test_cco_vec",
    "test_cco_obj",
    "test_p2p_buf",
    "test_p2p_buf_matched",
    "test_p2p_obj",
    "test_p2p_obj_matched",
    "test_group",
    "test_request",
]


def not_there(*args: Any, **named: Any) -> NoReturn:
    raise unittest.SkipTest("phicoll has no derived datatypes")


def not_implemented(*args: Any, **named: Any) -> NoReturn:
    raise NotImplementedError


def from_code(code: str) -> Any:
    """The element type of a typecode of the array module or NumPy's; the first of MPI's names for it."""
    return next((known for known in MPI.DATATYPES.values() if known.dtype == np.dtype(code)), None)


def complete(mpi: Any) -> None:
    """Add what the tests look at beside what they test."""
    mpi.BOTTOM = object()
    mpi.ERR_OTHER = 15
    mpi.pickle = pickle
    mpi.DATATYPE_NULL = mpi.LONG_DOUBLE = mpi.C_LONG_DOUBLE_COMPLEX = None
    mpi.OP_NULL = None
    mpi.ERR_ROOT, mpi.ERR_ARG = 7, 12
    mpi.Exception = ArgumentError
    mpi.Intracomm = lambda comm: comm
    mpi.Get_abi_version = lambda: (0, 0)
    mpi.get_vendor = lambda: ("phicoll", (0, 0, 0))
    mpi.Get_address = not_there
    ArgumentError.Get_error_class = lambda self: mpi.ERR_ROOT if self.argument == "root" else mpi.ERR_ARG
    mpi.Comm.Alltoallw = not_implemented
    mpi.Datatype.fromcode = staticmethod(from_code)
    mpi.Datatype.Create_indexed_block = mpi.Datatype.Create_struct = not_there


class OfferedAlone(unittest.TestLoader):
    """Leaves out tests of what is private to mpi4py, or new in MPI 4.1."""

    def getTestCaseNames(self, testCaseClass: Any) -> Any:  # noqa: N802, N803
        without = {"testCommLock", "testGetStatusAny", "testGetStatusSome"}
        if testCaseClass.__module__ == "test_p2p_buf":
            without.add("testConstructor")  # from the number of an MPI library's handle
        return [name for name in super().getTestCaseNames(testCaseClass) if name not in without]


def main() -> int:
    folder, *names = sys.argv[1:]
    sys.path.insert(0, folder)
    complete(MPI)

    import arrayimpl

    arrayimpl.ArrayBackends[:] = [arrayimpl.ArrayArray, arrayimpl.ArrayNumPy]
    suite = OfferedAlone().loadTestsFromNames(names or USUAL)
    talks = MPI.COMM_WORLD.rank == 0
    result = unittest.TextTestRunner(verbosity=1 if talks else 0).run(suite)
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
