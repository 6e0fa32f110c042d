"""Checks of the models' parameters; errors name the parameter, what it got and what is allowed."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from phicoll.errors import ArgumentError

__all__ = ["MAX_RANKS", "check_choice", "check_levels", "check_whole"]

#: Ranks of the largest group (docs/collectives.md).
MAX_RANKS = 1024


def check_whole(name: str, value: Any, least: int, most: int | None = None, why: str = "") -> int:
    """Check that ``value`` is a whole number from ``least`` to ``most`` and return it as an int."""
    if least == most:
        allowed = f"{least}{why}"
    else:
        allowed = f"a whole number from {least}" + (f" to {most}" if most is not None else " on") + why
    if isinstance(value, bool):
        raise ArgumentError(name, repr(value), allowed)
    try:
        found = operator.index(value)
    except TypeError:
        raise ArgumentError(name, repr(value), allowed) from None
    if found < least or (most is not None and found > most):
        raise ArgumentError(name, str(found), allowed)
    return found


def check_choice(name: str, value: Any, allowed: Iterable[str]) -> str:
    """Check that ``value`` is one of ``allowed``."""
    words = tuple(allowed)
    if value not in words:
        raise ArgumentError(name, repr(value), ", ".join(words))
    return str(value)


def check_levels(levels: Any) -> tuple[int, ...]:
    """Check counts of children (k_1, ..., k_d), each at least 1."""
    try:
        found = tuple(levels)
    except TypeError:
        raise ArgumentError("levels", repr(levels), "counts of children, from the root's down") from None
    return tuple(check_whole(f"levels[{i}]", k, 1, MAX_RANKS - 1) for i, k in enumerate(found))
