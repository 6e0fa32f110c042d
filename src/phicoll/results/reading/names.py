"""Short names of algorithms for tables and figures."""

from __future__ import annotations

from phicoll.registry import short_spec
from phicoll.results.reading.subject import Subject

__all__ = ["short_name"]


def short_name(subject: Subject) -> str:
    """The subject's spec without the parameters that have default values."""
    return short_spec(subject.operation, subject.spec)
