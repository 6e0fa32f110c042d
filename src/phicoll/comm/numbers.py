"""Whole numbers among the arguments of a communicator's calls. Each refuses others with ArgumentError."""

from __future__ import annotations

from collections.abc import Iterable
from operator import index
from typing import Any

from phicoll.errors import ArgumentError

__all__ = ["rank_or_tag", "root_of", "signed", "whole_count", "whole_counts"]


def signed(argument: str, value: Any) -> int:
    """Any whole number."""
    try:
        return index(value)
    except TypeError:
        raise ArgumentError(argument, repr(value), "a whole number") from None


def whole_count(value: Any, argument: str = "recvcounts") -> int:
    """A whole number from 0."""
    found = signed(argument, value)
    if found < 0:
        raise ArgumentError(argument, str(found), "a whole number from 0")
    return found


def rank_or_tag(argument: str, value: Any) -> int:
    """A number that the core can take, which then checks whether there is such a rank or tag."""
    found = signed(argument, value)
    if not -(2**31) <= found < 2**31:
        raise ArgumentError(argument, str(found), f"0..{2**31 - 1}")
    return found


def root_of(size: int, root: Any) -> int:
    """A root's rank among ``size`` ranks."""
    try:
        number = index(root)
    except TypeError:
        number = -1
    if not 0 <= number < size:
        raise ArgumentError("root", repr(root), f"0..{size - 1}")
    return number


def whole_counts(given: Iterable[Any], ranks: int) -> list[int]:
    """A count for each rank (``recvcounts``)."""
    counts = [whole_count(count) for count in given]
    if len(counts) != ranks:
        raise ArgumentError("recvcounts", f"{len(counts)} counts", f"{ranks}, one for each rank")
    return counts
