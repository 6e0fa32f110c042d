"""The demo's simulated part: a few barriers over the ranks of a Xeon Phi, and where the time of one of them goes.

Nothing here is measured; its records and its section are separate. The same seed gives the same numbers on any host.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from phicoll.explaining.explanation import Explanation, explain
from phicoll.foundations.files import write_text
from phicoll.measuring import sweep
from phicoll.registry import short_spec
from phicoll.results import Results, load

__all__ = [
    "FILE",
    "MACHINE",
    "PATH_FILE",
    "Simulated",
    "explain_command",
    "reload",
    "simulate",
    "sweep_command",
    "times_of",
]

MACHINE = "xeon-phi-5110p"
FILE = "simulated.jsonl.gz"
PATH_FILE = "simulated-path.json"
SPECS = (
    "hybrid-dissemination",
    "dissemination",
    "combining-tree",
    "tree",
    "static-tournament",
    "simd-flags",
    "combining-tree:notify=global",
    "sense-reversing",
)
RANKS = (8, 16, 30, 60, 90, 120, 150, 180, 210, 240)
QUICK_RANKS = (8, 60, 120, 240)
ROUNDS, CALLS, WARM_UP, SEED = 5, 5, 1, 1
QUICK_ROUNDS = 2
EXPLAINED = "hybrid-dissemination"


@dataclass(frozen=True)
class Simulated:
    """The content of the section on the simulated machine."""

    results: Results
    quick: bool

    @property
    def whole(self) -> bool:
        """Whether it was not interrupted: else there is no critical path, and points may be missing."""
        return not self.results.interrupted

    @cached_property
    def path(self) -> Explanation:
        """The critical path, the same to the cycle whenever it is computed; only its figure and its table need it."""
        return explain("barrier", EXPLAINED, MACHINE, seed=SEED)


def simulate(folder: Path | None = None, quick: bool = False) -> Simulated:
    """Simulate for some seconds; records are written to ``folder``, if given, replacing older ones.

    Ctrl-C leaves out the points that are missing, and the critical path.
    """
    results = sweep(
        algorithm=SPECS,
        ranks=QUICK_RANKS if quick else RANKS,
        machine=MACHINE,
        rounds=QUICK_ROUNDS if quick else ROUNDS,
        calls=CALLS,
        warm_up=WARM_UP,
        seed=SEED,
        budget_s="none",
        progress=False,
    )
    simulated = Simulated(results, quick)
    if folder is not None:
        results.save(folder / FILE)
        if simulated.whole:
            text = json.dumps(simulated.path.data, separators=(",", ":")) + "\n"
            write_text(folder / PATH_FILE, text)
    return simulated


def reload(folder: Path) -> Simulated | None:
    """Load the records of an earlier :func:`simulate`."""
    if not (folder / FILE).exists():
        return None
    results = load(folder / FILE)
    return Simulated(results, len({p["ranks"] for p in results.points}) < len(RANKS))


def sweep_command(simulated: Simulated) -> str:
    """The command lines that make the records."""
    ranks = QUICK_RANKS if simulated.quick else RANKS
    return (
        f"phicoll run barrier --machine {MACHINE} --algorithm {','.join(SPECS)} --ranks {','.join(map(str, ranks))} "
        f"--rounds {QUICK_ROUNDS if simulated.quick else ROUNDS} --calls {CALLS} --set warm-up={WARM_UP} --seed {SEED} -o s.jsonl"
    )


def explain_command() -> str:
    return f"phicoll explain barrier --algorithm {EXPLAINED} --machine {MACHINE} --seed {SEED}"


def times_of(simulated: Simulated) -> dict[str, dict[int, list[float]]]:
    """The value of each placement in ns, by barrier and ranks."""
    points = {
        point["point"]: (short_name(point), int(point["ranks"]))
        for point in simulated.results.points
        if point.get("verified")
    }
    found: dict[str, dict[int, list[float]]] = {}
    for sample in simulated.results.samples:
        if sample["point"] in points and "value_ns" in sample:
            name, ranks = points[sample["point"]]
            found.setdefault(name, {}).setdefault(ranks, []).append(float(sample["value_ns"]))
    return found


def short_name(point: Mapping[str, object]) -> str:
    """A point's spec without stores and waiting, which all points share."""
    spec = short_spec("barrier", str(point["spec"]))
    return ":".join(part for part in spec.split(":") if not part.startswith(("store=", "wait=")))
