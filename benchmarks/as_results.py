"""Samples as records (docs/records.md), for programs that read records."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from points import Taken

if TYPE_CHECKING:
    from phicoll.results import Results


def as_results(taken: Taken, mode: str, cpus: int, mpis: Collection[str] = ()) -> Results:
    """A point for each of phicoll's algorithms; `cpus`: how many the ranks share. With `mpis`, the MPIs are
    references beside them, and phicoll's have the names that were asked for."""
    from phicoll.results import Results

    head = {"schema": 1, "run": "0"}
    records: list[dict[str, Any]] = [{**head, "kind": "context", "phicoll": "results", "settings": {}}]
    number = 0
    for point in sorted(taken.ns):
        for subject, by_round in taken.ns[point].items():
            if subject in mpis:
                spec = subject
            elif subject.startswith("phicoll"):
                asked = subject.partition(":")[2] or "auto"
                spec = asked if mpis else taken.effective.get((point, subject)) or asked
            else:
                continue
            records.append(
                {
                    **head, "kind": "point", "point": number, "operation": point.operation,
                    "algorithm": spec.split(":")[0], "spec": spec, "mode": mode,
                    **({"origin": "reference"} if subject in mpis else {}), "ranks": point.ranks,
                    "size_bytes": point.size, "buffers": point.buffers,
                    "oversubscribed": point.ranks > cpus, "verified": (point, subject) not in taken.wrong,
                }
            )  # fmt: skip
            records += [
                {
                    **head, "kind": "sample", "point": number, "launch": launch, "round": turn,
                    "definition": point.definition,
                    "ns": [ns], "value_ns": ns, "calls": 1,
                }
                for (launch, turn), ns in by_round.items()
            ]  # fmt: skip
            number += 1
    return Results(records)
