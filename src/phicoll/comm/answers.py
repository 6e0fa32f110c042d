"""Files in memory by which a rank gets its function and hands back what it returned.

Each rank needs this to start, so it imports little.
"""

from __future__ import annotations

import mmap
import os
import pickle
from typing import Any

__all__ = ["read_pickle", "write_all"]


def write_all(descriptor: int, parts: list[bytes | memoryview]) -> None:
    at = 0
    for part in parts:
        rest = memoryview(part)
        while rest:
            written = os.pwrite(descriptor, rest[: 1 << 30], at)
            at += written
            rest = rest[written:]


def read_pickle(descriptor: int) -> Any:
    with mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ) as whole:
        return pickle.loads(whole)
