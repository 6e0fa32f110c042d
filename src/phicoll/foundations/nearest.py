"""The names nearest to one that is unknown, for error messages."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["near", "nearest"]


def nearest(word: str, allowed: Iterable[str]) -> list[str]:
    """At most two of the allowed words, the nearest first; none if none is near."""
    import difflib

    return difflib.get_close_matches(word, list(allowed), n=2)


def near(word: object, allowed: Iterable[str]) -> str:
    """The allowed words as text, those nearest to ``word`` first."""
    words = list(allowed)
    found = nearest(word, words) if isinstance(word, str) else []
    return (f"nearest: {', '.join(found)}; all: " if found else "") + ", ".join(words)
