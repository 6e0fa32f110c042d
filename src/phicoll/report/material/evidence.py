"""The evidence of a report: records, exact counts, verdicts and the doctor's findings."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from phicoll import bench
from phicoll.explaining.counting import PAPER_SHAPES, count
from phicoll.papers.claims import Finding, check_native
from phicoll.report.material.parts import DATA, MAIN, PAPERS, PLACES, RESULTS, Part, split_parts
from phicoll.report.material.simulated import Simulated
from phicoll.results import Results

__all__ = ["Doctor", "Evidence", "examine", "gather"]


@dataclass(frozen=True)
class Doctor:
    """Facts of the machine as (name, value), and advice in sentences."""

    facts: list[tuple[str, str]] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)


def examine() -> Doctor:
    """Run ``phicoll-bench doctor``. To be called before measuring, which would count as load."""
    done = subprocess.run([str(bench.find()), "doctor"], capture_output=True, text=True, check=False)
    facts, advice = [], []
    for line in done.stdout.splitlines():
        if line.startswith("- "):
            advice.append(line[2:].strip())
        elif len(line) > 25 and line[24] == " " and line[:24].strip():
            facts.append((line[:24].strip(), line[25:].strip()))
    return Doctor(facts, advice)


@dataclass
class Evidence:
    """The evidence that the report's sections read."""

    results: Results
    parts: list[Part]
    examined: Doctor | None = None
    simulated: Simulated | None = None
    #: The MPIs beside phicoll, in rounds of their own.
    mpi: Results | None = None

    @cached_property
    def doctor(self) -> Doctor:
        """What the doctor found, now if not before the run."""
        return self.examined or examine()

    @cached_property
    def counts(self) -> list[dict[str, Any]]:
        """Every barrier, counted at the papers' scale."""
        return list(count("barrier", "all", PAPER_SHAPES, placement="balanced"))

    @cached_property
    def findings(self) -> list[Finding]:
        """What this machine found of the claims, by number."""
        merged = Results([])
        for part in self.parts:
            if part.kind == MAIN and part.results is not None:
                merged = merged + part.results
        papers, places = self.one(PAPERS), self.one(PLACES)
        found = check_native(merged, papers.results if papers else None, places.results if places else None)
        return sorted(found, key=lambda finding: finding.claim.number)

    @property
    def file(self) -> str:
        """The name of the file of records, which lies beside the report."""
        return Path(self.results.source).name or RESULTS

    @property
    def data(self) -> list[Part]:
        """The operations that move data, with anything verified."""
        return [part for part in self.parts if part.kind == DATA and part.verified]

    @cached_property
    def mains(self) -> list[Part]:
        """The comparisons of all barriers with anything verified, fewest ranks first."""
        found = [part for part in self.parts if part.kind == MAIN and part.verified]
        return sorted(found, key=lambda part: part.ranks)

    @cached_property
    def context(self) -> dict[str, Any]:
        return self.results.contexts[0] if self.results.contexts else {}

    def one(self, kind: str) -> Part | None:
        return next((part for part in self.parts if part.kind == kind and part.results is not None), None)


def crowded(part: Part) -> bool:
    """Whether ranks of this part share CPUs, so that its unit is switches."""
    assert part.results is not None
    return any(point.get("oversubscribed") for point in part.results.points)


def gather(
    results: Results,
    doctor: Doctor | None = None,
    simulated: Simulated | None = None,
    mpi: Results | None = None,
) -> Evidence:
    """Sort the records into parts. What is counted and judged is computed when a section asks for it."""
    return Evidence(results, split_parts(results), doctor, simulated, mpi)
