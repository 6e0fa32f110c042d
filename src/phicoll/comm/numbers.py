"""Whole numbers among the arguments of a communicator's calls. Each refuses others with ArgumentError."""

from __future__ import annotations

from operator import index
from typing import Any

from phicoll.errors import ArgumentError

__all__ = ["rank_or_tag", "signed", "whole_count"]


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
