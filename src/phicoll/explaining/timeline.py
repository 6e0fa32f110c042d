"""A profile's timeline in Chrome's trace event format, as of a simulated call; Perfetto opens it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from phicoll.explaining.call_logs import BYTES, Watched, call_name

__all__ = ["timeline"]

#: A viewer takes no more events than that with ease; they have some 100 MB.
MOST_CALLS = 400_000


def timeline(watched: Sequence[Watched]) -> str:
    """The text. A communicator is a process, a rank a track with its calls, and in each call what it waited.

    Of more than 400,000 calls it has those that began first. Times are in microseconds from the first call on.
    """
    entries = [calls["entered"] for one in watched for calls in one.by_rank.values()]
    every = np.sort(np.concatenate(entries)) if entries else np.empty(0, np.uint64)
    begun, ended = (int(every[0]), int(every[: MOST_CALLS + 1][-1])) if len(every) else (0, 0)
    if len(every) <= MOST_CALLS:
        ended += 1
    events = ",".join(json.dumps(one, separators=(",", ":")) for one in events_of(watched, begun, ended))
    return f'{{"traceEvents":[{events}],"displayTimeUnit":"ns"}}'


def events_of(watched: Sequence[Watched], begun: int, ended: int) -> Iterator[dict[str, Any]]:
    names = sorted({(one.communicator, one.ranks) for one in watched})
    for number, (name, ranks) in enumerate(names):
        yield named("process", f"communicator {name}", number)
        yield from (named("thread", f"rank {rank}", number, rank) for rank in range(ranks))
        for one in watched:
            if one.communicator == name:
                yield from calls_of(one, number, begun, ended)


def named(what: str, name: str, process: int, thread: int = 0) -> dict[str, Any]:
    return {"ph": "M", "name": f"{what}_name", "pid": process, "tid": thread, "args": {"name": name}}


def calls_of(one: Watched, process: int, begun: int, ended: int) -> Iterator[dict[str, Any]]:
    """The events of the calls that were entered from the tick ``begun`` on and before ``ended``."""
    common = one.common()
    ends: dict[int, tuple[int, int]] = {}  # by the call's number: when the last rank entered, and which
    if common is not None:
        last, late = common["entered"].max(axis=0).tolist(), common["entered"].argmax(axis=0).tolist()
        ends = dict(zip(common[0]["number"].tolist(), zip(last, late, strict=True), strict=True))

    def event(name: str, rank: int, entered: int, left: int, **facts: Any) -> dict[str, Any]:
        us = one.ns_per_tick / 1e3
        at, took = round((entered - begun) * us, 3), round((left - entered) * us, 3)
        return {"ph": "X", "name": name, "pid": process, "tid": rank, "ts": at, "dur": took, "args": facts}

    for rank, calls in one.by_rank.items():
        for entered, left, what, number, _ in calls.tolist():
            if entered >= ended:
                break
            name = call_name(one.operation, what)
            yield event(name, rank, entered, left, algorithm=one.algorithm, bytes=what & BYTES, call=number)
            end, who = ends.get(number, (0, 0))
            if (waited := min(left, end)) > entered:
                yield event(f"waits for rank {who}", rank, entered, waited)
