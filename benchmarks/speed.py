"""`make bench`: barriers and prepared calls beside hand-written references and other systems, held against targets.

Everything is measured within rounds that interleave all subjects (docs/measuring.md); a ratio is the median of the
ratios within rounds labelled remote, with its exact 95 % interval. A target is met if the whole interval meets it,
missed if the whole interval misses it, and otherwise unresolved.

    python benchmarks/speed.py [--out DIRECTORY] [--budget 480]
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import phicoll
from phicoll.papers.claims.versus import Versus, family_ratio
from phicoll.results.compare.units import estimate
from phicoll.results.reading.observations import Observation
from phicoll.results.reading.subject import Subject

Observed = dict[Subject, list[Observation]]
EIGHT_BYTES = ("allreduce", "allgather", "alltoall", "broadcast", "reduce")  # written by hand for two ranks
HAND_WRITTEN = ("hand-one-line", "hand-two-lines", "hand-counter-per-cpu", "hand-flat-flags")


@dataclass
class Target:
    """``ratio`` is time over time; ``bound`` is its upper limit."""

    what: str
    ratio: float
    low: float
    high: float
    bound: float
    note: str = ""

    @property
    def verdict(self) -> str:
        if self.high <= self.bound:
            return "met"
        return "missed" if self.low > self.bound else "not resolved"


def is_hand_written(subject: Subject) -> bool:
    return subject.algorithm in HAND_WRITTEN


def is_reference(subject: Subject) -> bool:
    return subject.origin == "reference" and not is_hand_written(subject)


def is_ours(subject: Subject) -> bool:
    return subject.origin != "reference"


def named(*names: str) -> Callable[[Subject], bool]:
    return lambda subject: subject.algorithm in names


def setting(observed: Observed, mode: str, definition: str) -> Observed:
    """The subjects of one table: verified ones, rounds labelled remote."""
    return {
        s: of
        for s, of in observed.items()
        if s.mode == mode and s.definition == definition and s.label == "remote"
    }


def versus(
    group: Observed, ours: Callable[[Subject], bool], theirs: Callable[[Subject], bool]
) -> Versus | None:
    return family_ratio(
        {s: o for s, o in group.items() if ours(s)}, {s: o for s, o in group.items() if theirs(s)}
    )


def target(what: str, found: Versus | None, bound: float) -> Target | None:
    if found is None:
        print(f"speed: no rounds for: {what}", file=sys.stderr)
        return None
    return Target(what, found.median, found.low, found.high, bound, f"{found.ours} / {found.theirs}")


def launch_medians(of: Iterable[Observation]) -> np.ndarray:
    launches: dict[object, list[float]] = {}
    for one in of:
        if one.in_units is not None:
            launches.setdefault(one.launch_key, []).append(one.in_units)
    return np.array([np.median(values) for values in launches.values()])


def processes_over_threads(observed: Observed, definition: str) -> list[Target]:
    """Distributions over places and launches: they share no rounds, so each is in lines and the bound is the wider."""
    targets = []
    threads = {s.spec: o for s, o in setting(observed, "threads", definition).items() if is_ours(s)}
    processes = {s.spec: o for s, o in setting(observed, "processes", definition).items() if is_ours(s)}
    for spec in threads.keys() & processes.keys():
        a, b = (estimate(launch_medians(group[spec]), 0.975) for group in (processes, threads))
        name = spec.split(":")[0]
        targets.append(
            Target(
                f"processes / threads, {definition}: {name}",
                a.median / b.median,
                a.low / b.high,
                a.high / b.low,
                1.10,
            )
        )
    return sorted(targets, key=lambda t: t.ratio)


def two_ranks(observed: Observed) -> list[Target | None]:
    loop = setting(observed, "threads", "loop")
    window = setting(observed, "threads", "window")
    return [
        target("2 threads, loop: best / hand-one-line", versus(loop, is_ours, named("hand-one-line")), 1.10),
        target("2 threads, loop: best / best reference", versus(loop, is_ours, is_reference), 1 / 3.5),
        target(
            "2 threads, loop: hand-one-line / best reference",
            versus(loop, named("hand-one-line"), is_reference),
            1 / 3.5,
        ),
        target(
            "2 threads, window: auto / hand-written reference",
            versus(window, named("auto"), is_hand_written),
            1.05,
        ),
        target("2 threads, window: auto / best reference", versus(window, named("auto"), is_reference), 1.0),
        target("2 threads, window: auto / best", versus(window, named("auto"), is_ours), 1.05),
    ]


def prepared(operation: str, observed: Observed) -> Target | None:
    group = setting(observed, "processes", "window")
    return target(
        f"2 processes, window: {operation}, prepared / hand-pair",
        versus(group, named("prepared"), named("hand-pair")),
        1.05,
    )


def many_ranks(observed: Observed, ranks: int) -> list[Target | None]:
    targets = []
    for mode in ("threads", "processes"):
        for definition in ("loop", "window"):
            group = setting(observed, mode, definition)
            where = f"{ranks} {mode}, {definition}"
            targets.append(
                target(
                    f"{where}: auto / hand-written reference",
                    versus(group, named("auto"), is_hand_written),
                    1.10,
                )
            )
            reference = versus(group, named("auto"), is_reference)
            targets.append(target(f"{where}: auto / fastest reference", reference, 1 / 1.5))
            hand = versus(group, is_hand_written, is_reference)
            targets.append(target(f"{where}: hand-written reference / fastest reference", hand, 1 / 1.5))
    return targets


def table(title: str, targets: Iterable[Target | None]) -> str:
    lines = [title, f"  {'target':58s} {'ratio [95 %]':>22s} {'at most':>8s}  verdict"]
    for t in targets:
        if t is not None:
            interval = f"{t.ratio:.3f} [{t.low:.3f}, {t.high:.3f}]"
            lines.append(f"  {t.what:58s} {interval:>22s} {t.bound:8.3f}  {t.verdict:12s} {t.note}")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--out", type=Path, default=Path("bench-out"), help="directory of the records (default: bench-out)"
    )
    parser.add_argument(
        "--budget", type=float, default=480.0, metavar="S", help="seconds for all of it (default: 480)"
    )
    arguments = parser.parse_args()
    cpus = len(os.sched_getaffinity(0))
    if cpus < 2:
        print("speed: needs two CPUs", file=sys.stderr)
        return 2
    arguments.out.mkdir(parents=True, exist_ok=True)
    shared = {"mode": ["threads", "processes"], "definition": ["loop", "window"], "placement": "compact"}
    seconds = arguments.budget
    pair, crowd = arguments.out / "two-ranks.jsonl", arguments.out / "crowded.jsonl"
    for path in (pair, crowd):
        path.unlink(missing_ok=True)
    two = phicoll.sweep(
        algorithm="all,dissemination:layout=packed,references", ranks=2, launches=24, rounds=8,
        budget_s=0.3 * seconds, save=pair, **shared,
    )  # fmt: skip
    eight = {}
    for operation in EIGHT_BYTES:
        path = arguments.out / f"eight-bytes-{operation}.jsonl"
        path.unlink(missing_ok=True)
        found = phicoll.sweep(
            operation, algorithm="prepared,hand-pair", sizes=8, ranks=2, mode="processes", definition="window",
            placement="compact", launches=24, rounds=12, budget_s=0.2 * seconds / len(EIGHT_BYTES), save=path,
        )  # fmt: skip
        eight[operation] = {s: list(of) for s, of in found.observations.by_subject.items()}
    crowded = 4 * cpus
    many = phicoll.sweep(
        algorithm="all,references", ranks=crowded, oversubscribe=True, launches=24, rounds=4,
        budget_s=0.5 * seconds, save=crowd, **shared,
    )  # fmt: skip
    print(two.compare())
    print(many.compare())
    two_by = {s: list(of) for s, of in two.observations.by_subject.items()}
    many_by = {s: list(of) for s, of in many.observations.by_subject.items()}
    print(table("Two ranks on two CPUs", two_ranks(two_by)))
    print()
    print(table("Two ranks, calls of 8 bytes", [prepared(*one) for one in eight.items()]))
    print()
    for definition in ("loop", "window"):
        print(
            table(
                f"Processes against threads, two ranks, {definition}",
                processes_over_threads(two_by, definition),
            )
        )
        print()
    print(table(f"{crowded} ranks on {cpus} CPUs", many_ranks(many_by, crowded)))
    print(f"\nrecords: {pair}, {crowd}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
