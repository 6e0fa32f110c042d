"""Results as DataFrames of pandas and as a Dataset of xarray."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from phicoll.errors import ArgumentError
from phicoll.foundations.extras import extra

if TYPE_CHECKING:
    import pandas as pd
    import xarray

    from phicoll.results.reading.observations import Observation
    from phicoll.results.reading.recorded import Recorded

__all__ = ["VIEWS", "frame_of", "to_dataframe", "to_xarray"]

VIEWS = ("samples", "calls", "rounds", "points")

#: Columns of text or of objects. Any other that is missing throughout is of numbers that nothing here has.
NOT_NUMBERS = frozenset(
    {"label", "chosen", "error", "placement", "unit", "ratio_to_best_best", "ratio_to_opponent_name"}
)

#: The dimensions of a Dataset beside the round, where they vary; other fields follow one of them, or are one too.
DIMENSIONS = ("operation", "spec", "mode", "ranks", "size_bytes", "definition")
#: The variables of a Dataset, if anything has them.
VALUES = ("ns", "lines", "switches", "cycles", "label")
MOST_CELLS = 20_000_000


def frame_of(rows: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """The DataFrame of rows. A column of numbers is numeric also where all of them are missing."""
    with extra("frames"):
        import pandas as pd

    frame = pd.DataFrame(rows)
    missing = [name for name in frame if name not in NOT_NUMBERS and frame[name].isna().all()]
    return frame.astype(dict.fromkeys(missing, float))


def to_dataframe(results: Recorded, what: str = "samples") -> pd.DataFrame:
    """The DataFrame of one of the :data:`VIEWS` of ``results``."""
    if what == "samples":
        return frame_of([sample_row(o) for o in results.observations.all])
    if what == "calls":
        rows = []
        for o in results.observations.all:
            if o.subject.definition == "window" or o.subject.simulated:
                base = identity(o)
                rows += [{**base, "call": call, "ns": ns} for call, ns in enumerate(o.call_values())]
        return frame_of(rows)
    if what == "rounds":
        return frame_of([plain(record) for record in results.rounds])
    if what == "points":
        return frame_of([plain(record) for record in results.points])
    raise ArgumentError("what", repr(what), ", ".join(VIEWS))


def to_xarray(results: Recorded) -> xarray.Dataset:
    """The verified samples of ``results`` as a Dataset; see :meth:`phicoll.Results.to_xarray`."""
    with extra("arrays"):
        import xarray
    verified = [o for o in results.observations.all if o.verified]
    if not verified:
        raise ArgumentError("results", "no verified sample", "at least one")
    frame = frame_of([sample_row(o) for o in verified])
    frame["round"] = frame.groupby(["run", "launch", "round"], sort=False).ngroup()
    fields = [name for name in identity(verified[0]) if name not in ("round", "verified", "label")]
    fixed = [name for name in fields if len(set(frame[name])) == 1]
    dimensions = [*(name for name in DIMENSIONS if name not in fixed), "round"]
    along = {name: "round" for name in ("run", "launch") if name not in fixed}
    for name in fields:
        if name not in (*fixed, *dimensions, *along):
            known = (d for d in dimensions if frame.groupby(d)[name].nunique(dropna=False).max() == 1)
            if dimension := next(known, ""):
                along[name] = dimension
            else:
                dimensions.insert(-1, name)
    cells = math.prod(frame[name].nunique() for name in dimensions)
    if cells > MOST_CELLS:
        raise ArgumentError(
            "results",
            f"{cells:,} points of {' x '.join(dimensions)}",
            f"{MOST_CELLS:,}; select() some of them",
        )
    values = [name for name in VALUES if frame[name].notna().any()]
    # If a resumed run measured a round again, its last value counts.
    indexed = frame.drop_duplicates(dimensions, keep="last").set_index(dimensions)
    found = xarray.Dataset.from_dataframe(indexed[values])
    coordinates: dict[str, Any] = {name: frame[name].iloc[0] for name in fixed}
    for name, dimension in along.items():
        of = frame.groupby(dimension)[name].first()
        coordinates[name] = (dimension, of.loc[found[dimension].to_numpy()].to_numpy())
    found["ns"].attrs = {"long_name": "time per call", "units": "ns"}
    return found.assign_coords(coordinates)


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
        "start": s.start,
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
