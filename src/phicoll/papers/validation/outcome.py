"""The outcome of a validation: quantities beside their published values, and statements with verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from phicoll.foundations.extras import data_frame
from phicoll.papers.claims import HOLDS, Finding, in_words, tally
from phicoll.papers.validation.quantity import CALIBRATED, Quantity
from phicoll.registry import Machine

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MachineOutcome", "Outcome"]


@dataclass(frozen=True)
class MachineOutcome:
    """What was found of a machine, by so much effort."""

    machine: Machine
    effort: Any
    elapsed_s: float

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain objects."""
        return {
            "machine": self.machine.name,
            "digest": self.machine.digest,
            "elapsed_s": self.elapsed_s,
            "effort": vars(self.effort),
        }


@dataclass(frozen=True)
class Outcome(MachineOutcome):
    """Every quantity and every statement, failures included."""

    quantities: tuple[Quantity, ...]
    findings: tuple[Finding, ...]

    @property
    def calibrated(self) -> list[Quantity]:
        return [q for q in self.quantities if q.role == CALIBRATED]

    @property
    def good(self) -> bool:
        """Whether every calibrated quantity is inside its bound."""
        return all(q.verdict == HOLDS for q in self.calibrated)

    def to_dataframe(self) -> pd.DataFrame:
        """A row for each quantity, then one for each statement (``kind`` is ``"claim"``)."""
        return data_frame(self.rows)

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [q.to_dict() for q in self.quantities] + [
            {"kind": "claim", "group": f.claim.paper, "name": f.claim.statement, "claim": f.claim.number,
             "verdict": f.verdict, "source": f.claim.conditions, "why": f.measured}
            for f in self.findings
        ]  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        return {
            **super().to_dict(),
            "quantities": [q.to_dict() for q in self.quantities],
            "claims": [f.to_dict() for f in self.findings],
        }

    def within(self) -> list[str]:
        """How many quantities of each kind are within their bounds, in words."""
        lines = []
        for role in dict.fromkeys(q.role for q in self.quantities):
            of = [q for q in self.quantities if q.role == role]
            good = sum(q.verdict == HOLDS for q in of)
            lines.append(f"{role}: {good} of {len(of)} quantities within their bounds")
        return lines

    def summary(self) -> list[str]:
        """The numbers of quantities within bounds and of each verdict, in words."""
        lines = self.within()
        if self.findings:
            counts = [in_words(*counted) for counted in tally(self.findings).items()]
            lines.append(f"statements: {', '.join(counts)}")
        return lines
