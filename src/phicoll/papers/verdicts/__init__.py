"""Judging of the papers' statements: counting, simulation and models together, one finding a statement."""

from __future__ import annotations

from phicoll.papers.verdicts.judging import Judged, judge

__all__ = ["Judged", "judge"]
