"""The schema of records: the fields that are used, and their types (docs/records.md).

Every record that is read is checked once; later code needs no checks. Other fields, and records of other
kinds, may hold anything. ``record_schema.cpp`` has the fields that the C++ programs use.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

__all__ = ["record_fault"]

Whole = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Number = Annotated[float, Meta(gt=-(2.0**64), lt=2.0**64)]
Text = str | None
Flag = bool | None
Object = dict[str, Any] | None


class Host(msgspec.Struct):
    cpu_model: Text = None
    load: list[Number] | None = None


class Simulated(msgspec.Struct):
    name: str
    digest: str


class Context(msgspec.Struct):
    run: str = ""
    created: Text = None
    command: list[str] | None = None
    host: Host | None = None
    machines: list[Simulated] | None = None
    topology: list[dict[str, Any]] | None = None
    caches: list[dict[str, Any]] | None = None
    allowed_cpus: list[int] | None = None
    compiler: Object = None
    clock: Object = None
    git: Object = None
    settings: Object = None


class Verification(msgspec.Struct):
    calls: Whole | None = None
    episodes: Whole | None = None
    error: Text = None


class Point(msgspec.Struct):
    point: Whole
    algorithm: str
    mode: str
    ranks: Whole
    run: str = ""
    operation: str = "barrier"
    spec: Text = None
    parameters: Object = None
    effective: Object = None
    origin: Text = None
    source: Text = None
    wait: Text = None
    store: Text = None
    machine: str = "host"
    machine_digest: Text = None
    clock_mhz: Number | None = None
    cpus: list[Whole] | None = None
    placement: Text = None
    start: Text = None
    oversubscribed: Flag = None
    size_bytes: Annotated[int, Meta(ge=0, le=2**53)] | None = None
    buffers: Text = None
    type: Text = None
    op: Text = None
    moved_bytes: Number | None = None
    chosen: Object = None
    verified: Flag = None
    verification: Verification | None = None


class Round(msgspec.Struct):
    mode: str
    ranks: Whole
    launch: Whole
    round: Whole
    run: str = ""
    place: Whole | None = None
    label: Text = None
    t_s: Number | None = None
    local_ns: Number | None = None
    read_ns: Number | None = None
    pingpong_ns: Number | None = None
    switch_ns: Number | None = None
    empty_ns: Number | None = None


class Sample(msgspec.Struct):
    point: Whole
    launch: Whole
    round: Whole
    ns: list[Number]
    run: str = ""
    order: Whole | None = None
    definition: str = "loop"
    calls: Whole | None = None
    capped: Flag = None
    delay_ns: Number | None = None
    imbalance_ns: Number | None = None
    value_ns: Number | None = None
    value_cycles: Number | None = None
    late: Whole | None = None


class End(msgspec.Struct):
    run: str = ""
    reason: str = "complete"
    steal_share: Number | None = None
    error: Text = None


KINDS: dict[str, Any] = {
    "context": Context,
    "point": Point,
    "round": Round,
    "sample": Sample,
    "end": End,
}


def record_fault(record: dict[str, Any]) -> str:
    """What is wrong with a record, "Expected `int`, got `str` - at `$.launch`"; empty if nothing is."""
    kind = record["kind"]
    if not isinstance(kind, str):
        return f"Expected `str`, got `{type(kind).__name__}` - at `$.kind`"
    try:
        msgspec.convert(record, KINDS.get(kind, dict[str, Any]))
    except (msgspec.ValidationError, OverflowError) as error:
        return str(error)
    return ""
