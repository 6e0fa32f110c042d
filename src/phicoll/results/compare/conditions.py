"""Under what conditions a run was made, and what it left out, from the fields of its own records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from phicoll.registry import moves_data, short_spec
from phicoll.results.reading.records import Record
from phicoll.results.reading.subject import ranks_text, size_text

__all__ = ["conditions", "left_out", "why_not_verified"]

HIGH_LOAD = 0.5  # of one CPU; above it other work shares CPUs with the ranks
HIGH_STEAL = 0.01  # of the CPUs' time

MOST_LEFT_OUT = 8


def conditions(contexts: Iterable[Record], ends: Iterable[Record]) -> list[str]:
    """Warnings if a machine was busy when a run began, or lost time to its hypervisor during one."""
    found = []
    load = max((load_of(context) for context in contexts), default=0.0)
    if load > HIGH_LOAD:
        found.append(f"warning: the machine was busy when a run began (load {load:.1f} for each CPU)")
    steal = max((float(end.get("steal_share") or 0) for end in ends), default=0.0)
    if steal > HIGH_STEAL:
        found.append(f"warning: the hypervisor took {steal:.1%} of the CPUs' time during a run (steal)")
    return found


def load_of(context: Record) -> float:
    """The load average for each allowed CPU when a measured run began; 0 if unknown or simulated."""
    load, cpus = (context.get("host") or {}).get("load"), context.get("allowed_cpus")
    known = load and load[0] is not None and cpus and not context.get("machines")
    return float(load[0]) / len(cpus) if known else 0.0


def left_out(points: Iterable[Record], sampled: set[Any]) -> list[str]:
    """Subjects that were not verified and have no samples, with the reason; ``sampled`` are (run, point) with some."""
    failed = {(p.get("run", ""), p["point"]): p for p in points if not p.get("verified")}
    found = [
        f"not verified, left out: {title(point)}: {why_not_verified(point)}"
        for key, point in failed.items()
        if key not in sampled
    ]
    more = len(found) - MOST_LEFT_OUT
    return found if more <= 0 else [*found[:MOST_LEFT_OUT], f"not verified, left out: {more} more"]


def why_not_verified(point: Record) -> str:
    """The reason that a point's record gives."""
    return str((point.get("verification") or {}).get("error") or "the record has no reason")


def title(point: Record) -> str:
    """``ring, 8 threads, 4 KB``."""
    operation = point.get("operation", "barrier")
    words: Sequence[str] = [
        short_spec(operation, str(point.get("spec") or point["algorithm"])),
        f"{ranks_text(point['ranks'])}, simulated"
        if point["mode"] == "simulated"
        else f"{point['ranks']} {point['mode']}",
    ]
    if moves_data(operation):
        words = [*words, size_text(int(point.get("size_bytes") or 0))]
    return ", ".join(words)
