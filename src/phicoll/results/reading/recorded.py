"""The part of :class:`phicoll.Results` that tables, figures and files use."""

from __future__ import annotations

from typing import Protocol

from phicoll.results.reading.observations import Observations
from phicoll.results.reading.records import Record

__all__ = ["Recorded"]


class Recorded(Protocol):
    """Records of one or more runs, and the values in them."""

    @property
    def records(self) -> list[Record]: ...
    @property
    def damaged_lines(self) -> int: ...
    @property
    def points(self) -> list[Record]: ...
    @property
    def rounds(self) -> list[Record]: ...
    @property
    def observations(self) -> Observations: ...
