"""The papers' statements, with verdicts from this machine, exact counting and simulation (docs/claims.md)."""

from __future__ import annotations

from phicoll.papers.claims.counted import check_counts
from phicoll.papers.claims.counting import counter
from phicoll.papers.claims.data import check_data, wanted
from phicoll.papers.claims.modelled import MODELLED
from phicoll.papers.claims.native import check_native
from phicoll.papers.claims.statement import (
    CANNOT,
    ELSEWHERE,
    FAILS,
    HOLDS,
    UNRESOLVED,
    VERDICTS,
    Claim,
    Finding,
    in_words,
    tally,
)
from phicoll.papers.claims.statements import CLAIMS, DATA, SIMULATED, WAITING, claim

__all__ = [
    "CANNOT",
    "CLAIMS",
    "DATA",
    "ELSEWHERE",
    "FAILS",
    "HOLDS",
    "MODELLED",
    "SIMULATED",
    "UNRESOLVED",
    "VERDICTS",
    "WAITING",
    "Claim",
    "Finding",
    "check_counts",
    "check_data",
    "check_native",
    "claim",
    "counter",
    "in_words",
    "tally",
    "wanted",
]
