"""Runs mpi4py's own tests against ``phicoll.MPI`` in place of ``mpi4py.MPI``, and counts them.

    phicoll launch --as-mpi4py -n 3 tests/mpi4py_adapter.py MPI4PY/test [test_cco_buf ...]

``MPI4PY`` is a checkout of https://github.com/mpi4py/mpi4py (its tests are not copied here). ``LEFT_OUT`` has every test that
does not pass, with the reason; all others have to.
"""

from __future__ import annotations

import sys
import unittest
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from phicoll import MPI

#: What does not pass, by the reason: patterns of "module.class.test", or of a module that cannot be imported.
LEFT_OUT: dict[str, list[str]] = {
    "ranks have no topology": [
        "test_cco_ngh_*",
        "test_cco_pr_ngh_buf.*",
        "test_comm_topo.*.testC*",
        "test_comm_topo.*.testGraph*",
        "test_subclass.TestMyCart*",
        "test_subclass.TestMyGraph*",
    ],
    "a communicator has one group": ["test_*_inter.*", "test_util_pkl5.*Inter"],
    "a group keeps its ranks": ["test_dynproc", "test_spawn.*"],
    "there are no derived types: NumPy's arrays may be strided and structured": [
        "*.testBcastTypeIndexed",
        "*.testAlltoallwBottom",
        "test_pack.*",
        *(
            f"test_datatype.*.test{name}"
            for name in (
                *(
                    "CodeCharStr",
                    "Commit",
                    "Contiguous*",
                    "Darray",
                    "Dup",
                    "F90*",
                    "Get[NSV]*",
                    "H*",
                    "I*",
                    "MatchSize",
                    "Named",
                ),
                *("Resized", "Struct", "Subarray", "V*"),
            )
        ),
    ],
    "objects have MPI's own attributes alone": ["test_attributes.*.testAttr*"],
    "there are no user-defined error handlers": ["test_errhandler.*.testC*"],
    "there are no files of MPI's": ["test_errhandler.TestErrhandlerFile*"],
    "there are no sessions": ["test_comm.*.testCreateFromGroup"],
    "there are no generalized requests": ["test_grequest.*"],
    "a group that has lost a rank is broken": ["test_ulfm.*"],
    "parts of a machine are not offered": [
        "test_comm.*.testSplitTypeHW*",
        "test_comm.*.testSplitTypeResourceGuided",
    ],
    "errors have few of MPI's classes, and null objects answer some questions": [
        "test_environ.*.testLastUsedCode",
        "test_errorcode.*.testException",
        "test_exceptions.*.testKeyvalInvalid",
        *(
            f"test_exceptions.TestExc{name}.*"
            for name in ("*Null", "Datatype", "Info", "InfoEnv", "Status", "Group*", "Errhandler*")
        ),
    ],
    "handles have no numbers, and no memory that a library of C reads": [
        "test_cffi.*",
        "test_ctypes.*",
        "test_handle.*.testHandle[IM]*",
        "test_handle.*.testFintArray",
        "test_p2p_buf.*.testConstructor",
        "test_status.*.testToMemory",
        *(
            f"test_objmodel.*.test{name}"
            for name in (
                "AHandleOf",
                "AddressOf",
                "Constants",
                "Handle",
                "Hash",
                "Init",
                "Reduce",
                "SafeFreeConstant",
            )
        ),
        "test_objmodel.*.testSizeOf",
        "test_objmodel.*.testWeakRef",
    ],
    "objects of Python's belong to their rank": [
        "test_comm.*.testPickle",
        "test_win.*.testPickle*",
        "test_subclass.*.testPickle",
    ],
    "mpi4py's own buffers are not offered": [
        "test_buffer.*",
        "test_comm.*.testBuffering",
        "test_doc",
        "test_msgspec.*.testBuffer",
        "test_util_pkl5.*.testPickle5",
    ],
    "memory of GPUs": ["test_msgspec.*CAI*", "test_msgspec.*.testMessageCAIBuf", "test_msgspec.*GPU*"],
    "NumPy reads DLPack's capsules, and refuses some in its own words": [
        *(
            f"test_msgspec.TestMessageDLPack*.test{name}"
            for name in (
                *(
                    "ByteOffset",
                    "Capsule",
                    "Contiguous",
                    "Device",
                    "DtypeCode",
                    "DtypeLanes",
                    "Ndim",
                    "Readonly",
                ),
                *("Shape", "Strides", "Version"),
            )
        ),
    ],
    "windows have no Put and Get: a segment is an array": ["test_msgspec.TestMessageRMA.*"],
    "phicoll takes more: either byte order, arrays that are not contiguous": [
        "test_msgspec.*.testByteOrder",
        "test_msgspec.*.testNotContiguous",
    ],
    "phicoll takes whole numbers alone as counts, and its own errors for unknown types": [
        "test_msgspec.*.testCountNumPy*",
        "test_msgspec.*.testMessageBad",
        "test_msgspec.*.testMessageBottom",
    ],
    "pkl5's own protocol, which takes a message for several": [
        f"test_util_pkl5.*.test{name}" for name in ("IBSendAndRecv", "Irecv", "Message", "Request")
    ],
    "assigns an array of ints to an operator's bytes, as only mpi4py's own buffers take it": [
        "test_op.*.testCreate"
    ],
    "an error that one rank alone sees breaks the group": [
        "test_util_pkl5.*.testScatterIntra",
        "test_util_pkl5.*.testAlltoallIntra",
    ],
    "wants mpi4py's limit of 32 operators": ["test_op.*.testCreateMany"],
    "private to mpi4py": ["*.testCommLock"],
    "of mpi4py's package: its headers, configuration, profilers, other modules": [
        "test_mpiabi.*",
        "test_mpiapi.*",
        "test_package.*.test[CDFGHLSV]*",
        "test_package.*.testTyping",
        "test_package.*.testImport[BFMRTU]*",
        "test_toplevel.*.testGet*",
        "test_toplevel.*.testInitKwArgs",
        "test_toplevel.*.testProfile",
        "test_util_dtlib",
        "test_util_pool",
        "test_util_sync",
    ],
}


def reason_of(name: str) -> str | None:
    """Why a test, or a module, is left out; None if it is not."""
    return next(
        (why for why, names in LEFT_OUT.items() if any(fnmatchcase(name, pattern) for pattern in names)), None
    )


class Counting(unittest.TextTestResult):
    """Counts the tests that are left out by the reason, and those that mpi4py itself skips."""

    left_out: ClassVar[Counter[str]] = Counter()

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:  # noqa: N802
        self.left_out[reason if reason in LEFT_OUT else "skipped by the suite itself"] += 1
        super().addSkip(test, reason)


class OfferedAlone(unittest.TestLoader):
    """Skips what LEFT_OUT names."""

    def getTestCaseNames(self, testCaseClass: Any) -> Any:  # noqa: N802, N803
        found = list(super().getTestCaseNames(testCaseClass))
        reasons = {
            name: reason_of(f"{testCaseClass.__module__}.{testCaseClass.__qualname__}.{name}")
            for name in found
        }
        for name, why in reasons.items():
            if why is not None:
                setattr(testCaseClass, name, unittest.skip(why)(getattr(testCaseClass, name)))
        if found and None not in reasons.values():  # nor is anything set up for them
            unittest.skip(str(reasons[found[0]]))(testCaseClass)
        return found


def prepare() -> None:
    """Set up what the tests look at beside what they test."""
    import arrayimpl

    # Not those whose capsules of DLPack ctypes makes: NumPy knows no long double by DLPack.
    arrayimpl.ArrayBackends[:] = [arrayimpl.ArrayArray, arrayimpl.ArrayNumPy]


def main() -> int:
    folder, *names = sys.argv[1:]
    sys.path.insert(0, folder)
    sys.modules["cupy"] = sys.modules["numba"] = None  # type: ignore[assignment]
    prepare()
    talks = MPI.COMM_WORLD.rank == 0
    loader, suite = OfferedAlone(), unittest.TestSuite()
    for name in names or sorted(path.stem for path in Path(folder).glob("test_*.py")):
        why = reason_of(name)
        if why is None:
            suite.addTest(loader.loadTestsFromName(name))
        elif talks:
            print(f"{name}: {why}")
    if "test_win" in sys.modules:
        # It sets bytes of a memoryview by a number, as only mpi4py's own memory takes it.
        sys.modules["test_win"].memzero = lambda memory: np.frombuffer(memory, np.uint8).fill(0)
    runner = unittest.TextTestRunner(verbosity=1 if talks else 0, resultclass=Counting)
    result = runner.run(suite)
    if talks:
        failed = len({getattr(test, "test_case", test).id() for test, _ in result.failures + result.errors})
        passed = result.testsRun - sum(Counting.left_out.values()) - failed
        print(f"{passed} passed, {failed} failed; not run, and why:")
        for why, count in Counting.left_out.most_common():
            print(f"{count:5}  {why}")
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
