"""Observations: one value per sample, in ns and in the units of its round, read from the records."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

import phicoll._core as _core
from phicoll.foundations.streams import printable
from phicoll.results.reading.records import Record
from phicoll.results.reading.subject import Subject

__all__ = ["Observation", "Observations", "observe"]

Launch = tuple[str, int]  # (run, launch): launches of different runs are different
Round = tuple[str, int, int]  # run, launch, round


@dataclass(frozen=True, slots=True)
class Observation:
    """One sample with its value ``ns``.

    The value of a loop is the maximum over the ranks (simulated: the mean over the calls); that of a window is the
    mean of the middle half of its calls.

    ``lines`` and ``switches`` are ``ns`` divided by the ping-pong and by the switch time of the same round, ``None``
    without that probe; ``lines`` is also ``None`` if ranks share a CPU. ``cycles`` is the value in cycles of a
    simulated machine, ``None`` if it was measured.
    """

    subject: Subject
    verified: bool
    run: str
    launch: int
    round: int
    order: int | None
    ns: float
    calls: int
    capped: bool
    late: int
    lines: float | None
    switches: float | None
    cycles: float | None
    sample: Record = field(repr=False, compare=False)
    probes: Record = field(repr=False, compare=False)
    point: Record = field(repr=False, compare=False)

    @property
    def launch_key(self) -> Launch:
        return (self.run, self.launch)

    @property
    def round_key(self) -> Round:
        return (self.run, self.launch, self.round)

    @property
    def in_units(self) -> float | None:
        """The value in the unit of its subject (``subject.unit``)."""
        if self.subject.simulated:
            return self.cycles
        return self.switches if self.subject.oversubscribed else self.lines

    def call_values(self) -> list[float]:
        """The raw values in ns: the calls of a window, the simulated calls, or the mean of a measured loop."""
        if self.subject.definition == "window" or self.subject.simulated:
            return [float(ns) for ns in self.sample["ns"]]
        return [self.ns]


@dataclass
class Observations:
    """All observations, and the same grouped by subject in order of first appearance."""

    all: list[Observation] = field(default_factory=list)
    by_subject: dict[Subject, list[Observation]] = field(default_factory=dict)
    #: Samples of a point that is not in the file, or without a value.
    orphans: int = 0

    def values(self, subject: Subject) -> NDArray[np.float64]:
        """The values of one subject in ns, in the order of the file."""
        return np.array([observation.ns for observation in self.by_subject[subject]])


def observe(records: Iterable[Record]) -> Observations:
    """Join samples with their points and rounds."""
    points: dict[tuple[str, int], Record] = {}
    probes: dict[tuple[Any, ...], Record] = {}
    starts: dict[str, str] = {}
    samples: list[Record] = []
    for record in records:
        kind, run = record["kind"], record.get("run", "")
        if kind == "context":
            starts[run] = str((record.get("settings") or {}).get("start") or "warm")
        elif kind == "point":
            known = points.get((run, record["point"]))
            if known is not None and not known.get("verified"):  # one failure is final
                record = {**record, "verified": False, "verification": known.get("verification")}
            points[run, record["point"]] = record
        elif kind == "round":
            probes[run, record.get("mode"), record.get("ranks"), record["launch"], record["round"]] = record
        elif kind == "sample":
            samples.append(record)
    observations = Observations()
    subjects: dict[tuple[Any, ...], Subject] = {}
    for sample in samples:
        run = sample.get("run", "")
        point = points.get((run, sample["point"]))
        if point is None or not sample.get("ns"):
            observations.orphans += 1
            continue
        probe = probes.get(
            (run, point.get("mode"), point.get("ranks"), sample["launch"], sample["round"]), {}
        )
        # In older files the run's settings say it, or nothing does.
        start = str(point.get("start") or starts.get(run, "warm"))
        subject = subject_of(point, sample, probe, start, run, subjects)
        observation = observe_one(subject, point, sample, probe, run)
        observations.all.append(observation)
        observations.by_subject.setdefault(subject, []).append(observation)
    return observations


def subject_of(
    point: Record, sample: Record, probe: Record, start: str, run: str, known: dict[tuple[Any, ...], Subject]
) -> Subject:
    """The subject of a sample. Each is built once, as building one is slow."""

    def text(name: str, default: str = "") -> str:
        return printable(point.get(name) or default, one_line=True)

    label = probe.get("label")
    definition = sample.get("definition", "loop")
    delay, imbalance = sample.get("delay_ns") or 0, sample.get("imbalance_ns") or 0
    key = (run, point["point"], definition, delay, imbalance, label)
    subject = known.get(key)
    if subject is None:
        subject = known[key] = Subject(
            operation=text("operation", "barrier"),
            mode=text("mode", "threads"),
            machine=text("machine", "host"),
            ranks=int(point.get("ranks", 0)),
            size_bytes=int(point.get("size_bytes") or 0),
            placement=text("placement"),
            cpus=json.dumps(point.get("cpus") or []),
            oversubscribed=bool(point.get("oversubscribed")),
            definition=printable(definition, one_line=True),
            delay_ns=float(delay),
            imbalance_ns=float(imbalance),
            start=printable(start, one_line=True),
            label=None if label is None else printable(label, one_line=True),
            algorithm=text("algorithm", "?"),
            spec=text("spec") or text("algorithm", "?"),
            parameters=json.dumps(point.get("parameters") or {}, sort_keys=True),
            wait=text("wait"),
            store=text("store"),
            origin=text("origin"),
            source=text("source"),
            machine_digest=text("machine_digest"),
            buffers=text("buffers"),
            type=text("type"),
            op=text("op"),
        )
    return subject


def observe_one(subject: Subject, point: Record, sample: Record, probe: Record, run: str) -> Observation:
    raw = np.asarray(sample["ns"], dtype=float)
    value = sample.get("value_ns")
    if value is None:
        value = _core.midmean(raw) if subject.definition == "window" else raw.max()
    value = float(value)
    pingpong, switch = probe.get("pingpong_ns"), probe.get("switch_ns")
    return Observation(
        subject=subject,
        verified=bool(point.get("verified")),
        run=run,
        launch=int(sample["launch"]),
        round=int(sample["round"]),
        order=sample.get("order"),
        ns=value,
        calls=int(sample.get("calls") or raw.size),
        capped=bool(sample.get("capped")),
        late=int(sample.get("late") or 0),
        lines=None if subject.oversubscribed else quotient(value, pingpong),
        switches=quotient(value, switch) if subject.oversubscribed else None,
        cycles=sample.get("value_cycles"),
        sample=sample,
        probes=probe,
        point=point,
    )


def quotient(value: float, unit: float | None) -> float | None:
    """A value in a unit; None without the unit, or one that no probe gives."""
    found = value / unit if unit is not None and unit > 0 else math.inf
    return found if math.isfinite(found) else None
