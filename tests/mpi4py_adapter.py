"""Runs mpi4py's own tests of what phicoll offers, with ``phicoll.MPI`` as ``mpi4py.MPI``.

    phicoll launch --as-mpi4py -n 3 tests/mpi4py_adapter.py MPI4PY/test test_cco_buf test_p2p_obj

``MPI4PY`` is a checkout of https://github.com/mpi4py/mpi4py (its tests are not copied here). Skipped, each with its reason:
derived datatypes, which phicoll does not have, arrays of GPUs, and what LEFT_OUT names.
"""

from __future__ import annotations

import sys
import unittest
from typing import Any, NoReturn

import numpy as np

from phicoll import MPI

USUAL = [
    "test_cco_buf",
    "test_cco_vec",
    "test_cco_obj",
    "test_cco_nb_buf",
    "test_cco_nb_vec",
    "test_cco_pr_buf",
    "test_cco_pr_vec",
    "test_p2p_buf",
    "test_p2p_buf_matched",
    "test_p2p_obj",
    "test_p2p_obj_matched",
    "test_group",
    "test_request",
    "test_comm",
    "test_op",
    "test_status",
    "test_info",
    "test_environ",
    "test_win",
    "test_msgzero",
    "test_pickle",
    *(
        f"test_msgspec.TestMessage{name}"
        for name in (
            "Simple",
            "SimpleArray",
            "SimpleNumPy",
            "Block",
            "Vector",
            "VectorArray",
            "VectorNumPy",
            "VectorW",
            "Reduce",
            "ReduceScatter",
        )
    ),
]


def not_there(*args: Any, **named: Any) -> NoReturn:
    raise unittest.SkipTest("phicoll has no derived datatypes")


def complete(mpi: Any) -> None:
    """Add what the tests look at beside what they test."""
    mpi.Get_abi_version = lambda: (0, 0)
    mpi.WIN_FLAVOR_CREATE, mpi.WIN_FLAVOR_ALLOCATE, mpi.WIN_FLAVOR_DYNAMIC, mpi.WIN_SEPARATE = -1, -2, -3, -4
    mpi.Datatype.Create_indexed_block = mpi.Datatype.Create_struct = not_there


#: Tests that are skipped, by module or for all, and why.
LEFT_OUT = {
    "": {
        "testCommLock": "private to mpi4py",
    },
    "test_p2p_buf": {"testConstructor": "makes a request of the number of an MPI library's handle"},
    "test_op": {
        "testCreate": "assigns an array of ints to a memoryview of bytes, which only mpi4py's own buffers take",
        "testCreateMany": "wants mpi4py's limit of 32 operators",
    },
    "test_status": {"testToMemory": "reads the C struct of an MPI library"},
    "test_comm": {
        "testPickle": "a communicator belongs to its rank",
        "testBuffering": "mpi4py's own buffers are not offered",
        "testCreateFromGroup": "sessions are not offered",
        "testSplitTypeHWGuided": "parts of a machine are not offered",
        "testSplitTypeResourceGuided": "parts of a machine are not offered",
        "testSplitTypeHWUnguided": "parts of a machine are not offered",
    },
    "test_msgspec": {
        "testBuffer": "mpi4py's own buffers are not offered",
        "testMessageMemory": "mpi4py's own buffers are not offered",
        "testMessageBad": "wants KeyError for an unknown type",
        "testByteOrder": "phicoll moves elements of either byte order",
        "testNotContiguous": "phicoll packs arrays that are not contiguous",
        "testCountNumPyScalar": "phicoll refuses counts that are not whole numbers",
        "testCountNumPyZeroDim": "phicoll refuses counts that are not whole numbers",
        "testCountNumPyArray": "phicoll refuses counts that are not whole numbers",
        "testMessageCAIBuf": "memory of GPUs",
    },
    "test_environ": {
        "testGetHWResourceInfo": "new in MPI 4.1",
        "testLastUsedCode": "there are no error codes",
    },
}


class OfferedAlone(unittest.TestLoader):
    """Skips what LEFT_OUT names."""

    def getTestCaseNames(self, testCaseClass: Any) -> Any:  # noqa: N802, N803
        reasons = {**LEFT_OUT[""], **LEFT_OUT.get(testCaseClass.__module__, {})}
        found = list(super().getTestCaseNames(testCaseClass))
        for name in found:
            if name in reasons:
                setattr(testCaseClass, name, unittest.skip(reasons[name])(getattr(testCaseClass, name)))
        return found


def main() -> int:
    folder, *names = sys.argv[1:]
    sys.path.insert(0, folder)
    complete(MPI)

    import arrayimpl

    # Not those whose DLPack capsules ctypes makes: their destructor cannot follow NumPy's use of them.
    arrayimpl.ArrayBackends[:] = [arrayimpl.ArrayArray, arrayimpl.ArrayNumPy]
    suite = OfferedAlone().loadTestsFromNames(names or USUAL)
    if (
        "test_win" in sys.modules
    ):  # it sets bytes of a memoryview by a number, as only mpi4py's own memory takes it
        sys.modules["test_win"].memzero = lambda memory: np.frombuffer(memory, np.uint8).fill(0)
    talks = MPI.COMM_WORLD.rank == 0
    result = unittest.TextTestRunner(verbosity=1 if talks else 0).run(suite)
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
