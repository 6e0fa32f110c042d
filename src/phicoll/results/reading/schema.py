"""The schema of records: the fields that are used, their types and ranges (docs/records.md).

Every record that is read is checked once; later code needs no checks. Other fields, and records of other
kinds, may hold anything. ``record_schema.cpp`` has the fields that the C++ programs use.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

__all__ = ["record_fault"]

#: The longest list: the calls of a window are at most 100,000.
MOST_LISTED = 1 << 20

Whole = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Count = Annotated[int, Meta(ge=1, le=2**31 - 1)]
Number = Annotated[float, Meta(gt=-(2.0**64), lt=2.0**64)]
#: Times, sizes.
Amount = Annotated[float, Meta(ge=0, lt=2.0**64)]
Text = str | None
Flag = bool | None
Object = dict[str, Any] | None


class Host(msgspec.Struct):
    cpu_model: Text = None
    load: list[Amount] | None = None


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
    ranks: Count
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
    clock_mhz: Amount | None = None
    cpus: Annotated[list[Whole], Meta(max_length=MOST_LISTED)] | None = None
    placement: Text = None
    start: Text = None
    oversubscribed: Flag = None
    size_bytes: Annotated[int, Meta(ge=0, le=2**53)] | None = None
    buffers: Text = None
    type: Text = None
    op: Text = None
    moved_bytes: Amount | None = None
    chosen: Object = None
    verified: Flag = None
    verification: Verification | None = None


class Round(msgspec.Struct):
    mode: str
    ranks: Count
    launch: Whole
    round: Whole
    run: str = ""
    place: Whole | None = None
    label: Text = None
    t_s: Amount | None = None
    local_ns: Amount | None = None
    read_ns: Amount | None = None
    pingpong_ns: Amount | None = None
    switch_ns: Amount | None = None
    empty_ns: Amount | None = None


class Sample(msgspec.Struct):
    """Phicoll leaves fields out, but writes no null."""

    point: Whole
    launch: Whole
    round: Whole
    ns: Annotated[list[Amount], Meta(min_length=1, max_length=MOST_LISTED)]
    run: str = ""
    order: Whole | UnsetType = UNSET
    definition: str = "loop"
    calls: Count | UnsetType = UNSET
    capped: bool | UnsetType = UNSET
    delay_ns: Amount | UnsetType = UNSET
    imbalance_ns: Amount | UnsetType = UNSET
    value_ns: Amount | UnsetType = UNSET
    value_cycles: Amount | UnsetType = UNSET
    late: Whole | UnsetType = UNSET


class End(msgspec.Struct):
    run: str = ""
    reason: str = "complete"
    elapsed_s: Amount | None = None
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
