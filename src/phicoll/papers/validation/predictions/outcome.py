"""The outcome of a validation of the models: predictions beside runs, and statements with verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from phicoll.models import ComparedRuns, MachineModel
from phicoll.papers.claims import Finding, in_words, tally
from phicoll.papers.validation.outcome import MachineOutcome
from phicoll.papers.validation.predictions.pieces import Piece
from phicoll.papers.validation.predictions.statements import table_4_1

__all__ = ["PUBLISHED", "SIMULATED", "HostPart", "ModelOutcome"]

#: Names of the two sets of constants of the Xeon Phi.
PUBLISHED, SIMULATED = "published", "simulated"


@dataclass(frozen=True)
class HostPart:
    """Measurements on this host, with the bands of its own model."""

    model: MachineModel
    cpu: str
    date: str
    pieces: tuple[Piece, ...]
    compared: ComparedRuns


@dataclass(frozen=True)
class ModelOutcome(MachineOutcome):
    """Predictions with the published constants and with those of the simulated machine, beside its runs.

    ``compared``: by constants (``published``, ``simulated``), then by start; ``host`` where a machine file was given.
    """

    models: dict[str, MachineModel]
    pieces: tuple[Piece, ...]
    compared: dict[str, dict[str, ComparedRuns]]
    findings: tuple[Finding, ...]
    host: HostPart | None

    def to_dict(self) -> dict[str, Any]:
        bands = [
            {"constants": constants, **row.to_dict()}
            for constants, of in self.compared.items()
            for found in of.values()
            for row in found.rows
        ]
        found: dict[str, Any] = {
            **super().to_dict(),
            "models": {name: model.to_json() for name, model in self.models.items()},
            "pieces": [piece.to_dict() for piece in self.pieces],
            "bands": bands,
            "claims": [finding.to_dict() for finding in self.findings],
        }
        if self.host is not None:
            found["host"] = {
                "cpu": self.host.cpu,
                "date": self.host.date,
                "model": self.host.model.to_json(),
                "pieces": [piece.to_dict() for piece in self.host.pieces],
                "bands": [row.to_dict() for row in self.host.compared.rows],
            }
        return found

    def inside_simulated(self) -> list[str]:
        """How many simulated samples lie in the models' bands, in words."""
        lines = []
        for constants, of in self.compared.items():
            shares = ", ".join(f"{start} start {found.inside:.0%}" for start, found in of.items())
            printed = f"of the algorithms of table 4.1, evicted start {table_4_1(of['evicted']):.0%}"
            lines.append(
                f"simulated samples inside the bands of the {constants} constants: {shares}; {printed}"
            )
        return lines

    def inside(self) -> list[str]:
        """The same, and of the measured samples."""
        lines = self.inside_simulated()
        if self.host is not None:
            lines.append(
                f"measured samples inside the bands of {self.host.model.name}: {self.host.compared.inside:.0%}"
            )
        return lines

    def summary(self) -> list[str]:
        """The outcome in a few lines."""
        counts = [in_words(*counted) for counted in tally(self.findings).items()]
        return [*self.inside(), f"statements: {', '.join(counts)}"]
