"""The parts of the demo: a few sweeps that together take no longer than the budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import phicoll._core as _core
from phicoll.registry import moves_data
from phicoll.report.material.ratios import Setting, settings_of
from phicoll.results import Results
from phicoll.results.compare import Comparison
from phicoll.results.reading.subject import ranks_text

__all__ = [
    "BUDGET_S",
    "DATA",
    "MAIN",
    "MPI_FILE",
    "PAPERS",
    "PLACES",
    "RESULTS",
    "Part",
    "part_of",
    "plan_parts",
    "rank_counts",
    "split_parts",
]

#: The file of all raw records.
RESULTS = "results.jsonl.gz"
#: What ``make demo`` measures of the MPIs where ``make mpis`` has been run, beside phicoll in the same rounds.
MPI_FILE = "mpi.jsonl.gz"
#: Seconds of measuring; the report takes about 10 more.
BUDGET_S = 45.0

MAIN, PAPERS, PLACES, DATA = "main", "papers", "places", "data"

#: The papers' variants that their claims compare, for ranks that share the machine.
VARIANTS = (
    "sense-reversing",
    "combining-tree:arity=2:notify=global",
    "combining-tree:arity=4:notify=global",
    "combining-tree:arity=8:notify=global",
    "combining-tree:arity=4:notify=local",
    "static-tournament:ways=2:notify=local",
    "static-tournament:ways=2:notify=global",
    "dynamic-tournament:ways=2:notify=local",
    "dynamic-tournament:ways=2:notify=global",
    "dissemination:ways=1",
    "hybrid-dissemination",
)
#: Measured repeatedly at the same places of the arena.
REPEATED = ("sense-reversing:wait=spin", "sense-reversing:wait=pause", "hand-one-line")
QUICK = ("dissemination", "sense-reversing", "tree", "one-to-all", "hand-one-line", "hand-two-lines",
         "hand-counter-per-cpu", "pthread-barrier", "std-barrier")  # fmt: skip
#: Operations that move data, with some algorithms of each, and the sizes.
MOVING = {
    "broadcast": ("auto", "double-buffered", "tree-copy", "piece-per-rank"),
    "allreduce": ("auto", "flat-tree", "recursive-doubling", "rabenseifner"),
}
SIZES, QUICK_SIZES = "8,256,4K,64K,1M", "8,64K"
#: Each launch gets an equal share of its part's time.
LAUNCHES = 20
#: Places that phicoll-bench walks through before one comes again.
PLACES_COUNT = 64


@dataclass
class Part:
    """One sweep: its kind, its ranks, and its results."""

    kind: str
    ranks: int
    arguments: list[str] = field(default_factory=list)
    results: Results | None = None

    @property
    def operation(self) -> str:
        return self.arguments[1] if len(self.arguments) > 1 else "barrier"

    @property
    def title(self) -> str:
        return {
            MAIN: f"all barriers and references, {ranks_text(self.ranks)}",
            PAPERS: f"the papers' variants, {self.ranks} threads",
            PLACES: f"{self.ranks} threads, the same places again and again",
            DATA: f"{self.operation} over sizes, up to {self.ranks} processes",
        }[self.kind]

    @cached_property
    def verified(self) -> bool:
        """Whether any of its samples counts."""
        if self.results is None:
            return False
        points = self.results.points
        failed = {point["point"] for point in points if not point.get("verified")}
        return any(sample["point"] not in failed for sample in self.results.samples)

    @cached_property
    def comparison(self) -> Comparison:
        """The table of this part's own rounds."""
        assert self.results is not None
        return self.results.compare()

    @cached_property
    def settings(self) -> dict[tuple[str, str], Setting]:
        """Its subjects by (definition, mode)."""
        assert self.results is not None
        return settings_of(self.results.observations, self.comparison)

    @property
    def command(self) -> str:
        """The command that measures this part, for a shell."""
        return " ".join(["phicoll", *map(quote, self.arguments), "-o", "r.jsonl"])


def quote(word: str) -> str:
    return f"'{word}'" if any(c in word for c in " ()*?&;") else word


def rank_counts(cpus: int) -> list[int]:
    """Two ranks, one per CPU, and two per CPU; eight instead on a machine of one or two CPUs."""
    if cpus <= 2:
        return [2, 8]
    return list(dict.fromkeys([2, cpus, min(2 * cpus, 1024)]))


def plan_parts(budget_s: float = BUDGET_S, quick: bool = False, cpus: int | None = None) -> list[Part]:
    """The parts for this machine, or for one with ``cpus`` CPUs, with the budget shared among them."""
    cpus = _core.allowed_cpu_count() if cpus is None else cpus
    counts = rank_counts(cpus)
    algorithms = ",".join(QUICK) if quick else "all,references"
    rounds = 4 if quick else 12
    # A round of many ranks that share CPUs takes about ten times as long as one of two ranks.
    rest = 0.40 / (len(counts) - 1)
    shares = [
        (0.22, MAIN, 2),
        *((rest, MAIN, ranks) for ranks in counts[1:]),
        (0.08, PAPERS, min(counts[-1], 64)),
    ]
    if cpus >= 2:
        shares.append((0.06, PLACES, 2))
    parts = []
    for share, kind, ranks in shares:
        budget = share * budget_s
        launches = 3 if quick else LAUNCHES
        if kind == MAIN:
            options = ["--algorithm", algorithms, "--ranks", str(ranks), "--mode", "threads,processes"]
            options += ["--definition", "loop,window", "--launches", str(launches), "--rounds", str(rounds)]
            options += ["--window-calls", "16"]
        elif kind == PAPERS:
            options = ["--algorithm", ",".join(VARIANTS), "--ranks", str(ranks), "--mode", "threads"]
            options += ["--definition", "loop", "--launches", str(launches), "--rounds", str(2 * rounds)]
        else:
            visits = 2 if quick else 24
            options = ["--algorithm", ",".join(REPEATED), "--ranks", str(ranks), "--mode", "threads"]
            options += ["--definition", "loop", "--launches", "1", "--rounds", str(visits * PLACES_COUNT)]
        if ranks > cpus:
            options.append("--oversubscribe")
        options += ["--placement", "scatter", "--budget", f"{budget:.3g}"]
        parts.append(Part(kind, ranks, ["run", "barrier", *options]))
    for operation, algorithms_of in MOVING.items():
        options = [
            "--algorithm",
            ",".join(algorithms_of[: 2 if quick else None]),
            "--ranks",
            f"2,{counts[1]}",
        ]
        options += ["--mode", "processes", "--definition", "loop", "--sizes", QUICK_SIZES if quick else SIZES]
        options += ["--launches", str(3 if quick else LAUNCHES), "--rounds", "3"]
        if counts[1] > cpus:
            options.append("--oversubscribe")
        options += ["--placement", "scatter", "--budget", f"{0.12 * budget_s:.3g}"]
        parts.append(Part(DATA, counts[1], ["run", operation, *options]))
    return parts


def part_of(results: Results, cpus: int | None = None) -> Part:
    """The part that a run measured, found from its recorded command."""
    context = results.contexts[0] if results.contexts else {}
    settings = context.get("settings") or {}
    ranks = max((point["ranks"] for point in results.points), default=0)
    if any(moves_data(point.get("operation", "barrier")) for point in results.points):
        kind = DATA
    elif "window" in (settings.get("definitions") or ["window"]):
        kind = MAIN
    else:
        kind = PLACES if settings.get("launches") == 1 else PAPERS
    return Part(kind, ranks, shown_arguments(context.get("command") or []), results)


def shown_arguments(command: Sequence[str]) -> list[str]:
    """The recorded command without the program's path, the output file, and the options that Python added."""
    shown: list[str] = []
    skip = False
    for word in command[1:]:
        if skip:
            skip = False
        elif word in ("-o", "--seed"):
            skip = True
        elif word not in ("--progress", "--resume"):
            shown.append(word)
    return shown


def split_parts(results: Results) -> list[Part]:
    """The parts of a results file, one for each run, in their order."""
    by_run: dict[str, list[dict[str, object]]] = {}
    for record in results.records:
        by_run.setdefault(str(record.get("run", "")), []).append(record)
    return [part_of(Results(records, source=results.source)) for records in by_run.values()]
