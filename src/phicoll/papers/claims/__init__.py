"""The papers' statements, with verdicts from this machine, exact counting and simulation (docs/claims.md)."""

from __future__ import annotations

from phicoll.papers.claims.counted import check_counts
from phicoll.papers.claims.counting import counter
from phicoll.papers.claims.data import check_data, wanted
from phicoll.papers.claims.native import check_native
from phicoll.papers.claims.rows import Report, StatementRow, completed, report
from phicoll.papers.claims.statement import (
    AS_STATED,
    BUILT_IN,
    CALIBRATED,
    CANNOT,
    FAILS,
    HERE,
    HOLDS,
    NOT_MEASURED,
    OTHERWISE,
    UNRESOLVED,
    VERDICTS,
    Claim,
    Finding,
    in_words,
    tally,
)
from phicoll.papers.claims.statements import CLAIMS, claim

__all__ = [
    "AS_STATED",
    "BUILT_IN",
    "CALIBRATED",
    "CANNOT",
    "CLAIMS",
    "FAILS",
    "HERE",
    "HOLDS",
    "NOT_MEASURED",
    "OTHERWISE",
    "UNRESOLVED",
    "VERDICTS",
    "Claim",
    "Finding",
    "Report",
    "StatementRow",
    "check_counts",
    "check_data",
    "check_native",
    "claim",
    "completed",
    "counter",
    "in_words",
    "report",
    "tally",
    "wanted",
]
