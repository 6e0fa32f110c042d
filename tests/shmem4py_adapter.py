"""Runs shmem4py's own tests with ``phicoll.shmem`` as ``shmem4py.shmem``.

    phicoll launch --as-shmem4py -n 2 tests/shmem4py_adapter.py SHMEM4PY/test

``SHMEM4PY`` is a checkout of https://github.com/mpi4py/shmem4py (its tests are not copied here). LEFT_OUT names the tests
that are skipped, and why.
"""

from __future__ import annotations

import sys
import types
import unittest
from typing import Any

import numpy as np

from phicoll.errors import ArgumentError, Error

#: By module, or by module and class.
LEFT_OUT = {"test_buf": "of shmem4py's private _getbuffer"}


class ForeignFunctions:
    """What the tests ask of cffi: where memory lies, and a value that is not a handle."""

    @staticmethod
    def from_buffer(memory: memoryview) -> Any:
        return np.asarray(memory)

    @staticmethod
    def cast(kind: str, value: Any) -> Any:
        return value.ctypes.data if kind == "uintptr_t" else value


def complete(shmem: Any) -> None:
    """Add what the tests look at beside what they test."""
    shmem.ffi = ForeignFunctions
    shmem.lib = types.SimpleNamespace(SHMEM_TEAM_NUM_CONTEXTS=1)
    # Bad input, which shmem4py says by these three.
    ArgumentError.__bases__ = (Error, ValueError, RuntimeError, TypeError, KeyError)


def main() -> int:
    from shmem4py import shmem

    complete(shmem)
    suite = unittest.defaultTestLoader.discover(sys.argv[1])
    for test in each(suite):
        reason = LEFT_OUT.get(type(test).__module__)
        if reason is not None:
            setattr(test, test._testMethodName, unittest.skip(reason)(getattr(test, test._testMethodName)))
    talks = shmem.my_pe() == 0
    result = unittest.TextTestRunner(verbosity=1 if talks else 0).run(suite)
    return 0 if result.wasSuccessful() else 1


def each(suite: Any) -> Any:
    for one in suite:
        if isinstance(one, unittest.TestSuite):
            yield from each(one)
        else:
            yield one


if __name__ == "__main__":
    sys.exit(main())
