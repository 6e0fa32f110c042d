"""Claims and findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

__all__ = [
    "AS_STATED",
    "BUILT_IN",
    "CALIBRATED",
    "CANNOT",
    "FAILS",
    "HERE",
    "HOLDS",
    "NOT_MEASURED",
    "OTHERWISE",
    "PAPERS",
    "UNRESOLVED",
    "VERDICTS",
    "Claim",
    "Finding",
    "in_words",
    "tally",
]

#: It could have come out otherwise, and did not.
HOLDS = "holds"
FAILS = "does not hold"
UNRESOLVED = "not resolved"
#: The published number set a parameter of the machine.
CALIBRATED = "calibrated"
#: The model could not have said otherwise.
BUILT_IN = "built in"
CANNOT = "cannot be checked here"
VERDICTS = (HOLDS, FAILS, UNRESOLVED, CALIBRATED, BUILT_IN, CANNOT)
#: Verdicts on several claims, where their words differ from those on one.
_PLURAL = {HOLDS: "hold", FAILS: "do not hold"}

#: What a run on this machine found. It is no verdict: the statements are about the papers' machines.
AS_STATED = "as stated"
OTHERWISE = "otherwise"
NOT_MEASURED = "not measured"
HERE = (AS_STATED, OTHERWISE, UNRESOLVED, NOT_MEASURED)

#: The papers by the first part of a claim's number; docs/papers.md has the full references.
PAPERS = {
    "000": "panigrahi-2014",
    "001": "rodchenko-2015",
    "002": "velamati-2007",
    "003": "namashivayam-2014",
    "004": "ramos-hoefler-2013",
}


@dataclass(frozen=True)
class Claim:
    """A statement of a paper, paraphrased, and the conditions under which the paper makes it."""

    number: str  # such as "000-20": paper, then the statement's number
    section: str  # of the paper
    statement: str
    conditions: str

    @property
    def paper(self) -> str:
        """The paper, by author and year."""
        return PAPERS[self.number.partition("-")[0]]


@dataclass(frozen=True)
class Finding:
    """A verdict on a claim, or what a run on this machine found, with its evidence.

    ``how`` is ``"counted"`` (exact, on the counting port), ``"simulated"``, ``"modelled"`` (by an equation), ``"measured"``
    (native, on this machine) or ``"none"``.
    ``under`` gives the conditions of the check if they are not the paper's.
    """

    claim: Claim
    verdict: str
    measured: str
    how: str
    under: str = ""
    #: Numbers behind the verdict, for programs.
    values: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        allowed = HERE if self.how == "measured" else VERDICTS
        if self.verdict not in allowed:
            raise ValueError(f"verdict: got {self.verdict!r}; allowed: {', '.join(allowed)}")

    def to_dict(self) -> dict[str, object]:
        """The finding as plain objects."""
        return {
            "claim": self.claim.number,
            "paper": self.claim.paper,
            "section": self.claim.section,
            "statement": self.claim.statement,
            "conditions": self.claim.conditions,
            "verdict": self.verdict,
            "how": self.how,
            "measured": self.measured,
            "under": self.under,
            "values": dict(self.values),
        }


def tally(findings: Iterable[Finding]) -> dict[str, int]:
    """How many findings have each verdict that occurs, in the order of :data:`VERDICTS`, then of :data:`HERE`."""
    counts = Counter(finding.verdict for finding in findings)
    return {verdict: counts[verdict] for verdict in dict.fromkeys((*VERDICTS, *HERE)) if counts[verdict]}


def in_words(verdict: str, count: int) -> str:
    """A verdict with its number of claims: "2 do not hold"."""
    return f"{count} {verdict if count == 1 else _PLURAL.get(verdict, verdict)}"
