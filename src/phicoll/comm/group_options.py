"""The options of a group of ranks, and their checks."""

from __future__ import annotations

import os
from operator import index
from typing import Any, NamedTuple

import phicoll._core as _core
from phicoll.errors import ArgumentError
from phicoll.foundations.checks import check_text

__all__ = ["GroupOptions", "checked_placement", "checked_tuning", "milliseconds", "whole_number"]

MEMORY_LIMIT = 64 << 20  # bytes that a group's collectives may take by default
HEAP_LIMIT = 1 << 30  # bytes that a group's arrays and sub-communicators may take; allocated as they are used
MOST_BYTES = 1 << 47
ATTACH_TIMEOUT_MS = 30_000  # plus a share per rank: interpreters start slowly if ranks outnumber the CPUs
ATTACH_TIMEOUT_MS_A_RANK = 1_000
MOST_RANKS = 1024
MODES = ("processes", "threads")


class GroupOptions(NamedTuple):
    """The checked options with which a group is made."""

    ranks: int
    placement: str
    memory_limit: int
    heap_limit: int
    timeout_ms: int
    wait: str
    tuning: str = ""
    tuning_foreign: str = ""

    def launched_group(self) -> Any:
        return _core.LaunchedGroup(
            ranks=self.ranks,
            placement=self.placement,
            memory_limit=self.memory_limit,
            heap_limit=self.heap_limit,
            timeout_ms=self.timeout_ms,
            attach_timeout_ms=ATTACH_TIMEOUT_MS + self.ranks * ATTACH_TIMEOUT_MS_A_RANK,
            tuning=self.tuning,
            tuning_foreign=self.tuning_foreign,
        )


def whole_number(name: str, value: Any, least: int, most: int) -> int:
    try:
        number = index(value)
    except TypeError:
        number = least - 1
    if isinstance(value, bool) or not least <= number <= most:
        raise ArgumentError(name, repr(value), f"a whole number from {least} to {most}")
    return number


def checked_placement(placement: Any, ranks: int) -> str:
    """Check a placement before anything is started; empty text for none."""
    if placement is None or placement == "":
        return ""
    text = check_text("placement", placement, "compact, scatter, balanced or a list of CPUs")
    _core.place(ranks, text)
    return text


def checked_tuning(tuning: Any) -> str:
    """A table's path as the core takes it; empty for the environment's. The core reads it when the group is made."""
    if tuning is None:
        return ""
    path = os.fspath(tuning) if isinstance(tuning, os.PathLike) else tuning
    return check_text("tuning", path, "a tuning table's path, or 'none'")


def milliseconds(timeout: float | None) -> int:
    if timeout is None:
        return 0
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not 0 < timeout < 1e9:
        raise ArgumentError("timeout", repr(timeout), "seconds above 0 and below 1e9, or None for no limit")
    return max(1, round(timeout * 1000))
