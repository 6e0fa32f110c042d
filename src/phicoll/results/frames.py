"""DataFrame views of results."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from phicoll.errors import ArgumentError
from phicoll.foundations.extras import extra

if TYPE_CHECKING:
    import pandas as pd

    from phicoll.results.observations import Observation
    from phicoll.results.recorded import Recorded

__all__ = ["VIEWS", "to_dataframe"]

VIEWS = ("samples", "calls", "rounds", "points")


def to_dataframe(results: Recorded, what: str = "samples") -> pd.DataFrame:
    """The DataFrame of one of the :data:`VIEWS` of ``results``."""
    with extra("frames"):
        import pandas as pd

    if what == "samples":
        return pd.DataFrame([sample_row(o) for o in results.observations.all])
    if what == "calls":
        rows = []
        for o in results.observations.all:
            if o.subject.definition == "window" or o.subject.simulated:
                base = identity(o)
                rows += [{**base, "call": call, "ns": ns} for call, ns in enumerate(o.call_values())]
        return pd.DataFrame(rows)
    if what == "rounds":
        return pd.DataFrame([plain(record) for record in results.rounds])
    if what == "points":
        return pd.DataFrame([plain(record) for record in results.points])
    raise ArgumentError("what", repr(what), ", ".join(VIEWS))


def identity(o: Observation) -> dict[str, Any]:
    s = o.subject
    return {
        "run": o.run,
        "launch": o.launch,
        "round": o.round,
        "operation": s.operation,
        "algorithm": s.algorithm,
        "spec": s.spec,
        "origin": s.origin,
        "wait": s.wait,
        "store": s.store,
        "mode": s.mode,
        "machine": s.machine,
        "ranks": s.ranks,
        "size_bytes": s.size_bytes,
        "buffers": s.buffers,
        "type": s.type,
        "op": s.op,
        "placement": s.placement,
        "oversubscribed": s.oversubscribed,
        "definition": s.definition,
        "delay_ns": s.delay_ns,
        "imbalance_ns": s.imbalance_ns,
        "label": s.label,
        "verified": o.verified,
    }


def sample_row(o: Observation) -> dict[str, Any]:
    return {
        **identity(o),
        "ns": o.ns,
        "lines": o.lines,
        "switches": o.switches,
        "cycles": o.cycles,
        "calls": o.calls,
        "capped": o.capped,
        "late": o.late,
        "order": o.order,
        "place": o.probes.get("place"),
        "t_s": o.probes.get("t_s"),
        "local_ns": o.probes.get("local_ns"),
        "read_ns": o.probes.get("read_ns"),
        "pingpong_ns": o.probes.get("pingpong_ns"),
        "switch_ns": o.probes.get("switch_ns"),
        "empty_ns": o.probes.get("empty_ns"),
    }


def plain(record: dict[str, Any]) -> dict[str, Any]:
    """A record as a row, with nested values as JSON text so that rows can be compared and grouped."""
    return {
        name: json.dumps(value) if isinstance(value, list | dict) else value
        for name, value in record.items()
        if name not in ("schema", "kind")
    }
