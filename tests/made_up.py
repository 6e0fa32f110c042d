"""Made-up record files for tests. Every number here is drawn from a seeded distribution: nothing was measured.

The files have the form of docs/records.md. What the numbers should come out as is known, which is what makes them good
for testing; they must never be shown as results.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

Record = dict[str, Any]


@dataclass(frozen=True)
class MadeUpSubject:
    """An algorithm that takes ``lines`` one-way transfers per call, or ``switches`` if ranks share a CPU."""

    spec: str
    lines: float
    origin: str = "paper"
    verified: bool = True
    wait: str = "adaptive"

    @property
    def algorithm(self) -> str:
        return self.spec.split(":")[0]

    @property
    def parameters(self) -> dict[str, str]:
        return dict(pair.split("=") for pair in self.spec.split(":")[1:])


DEFAULT = (
    MadeUpSubject("dissemination:ways=3:layout=line-per-round:reset=episode", 1.1),
    MadeUpSubject("static-tournament:ways=4:notify=local", 2.2),
    MadeUpSubject("sense-reversing", 2.6),
    MadeUpSubject("hand-one-line", 1.0, origin="reference"),
    MadeUpSubject("std-barrier", 9.0, origin="reference"),
)


@dataclass
class MadeUp:
    """How the file is drawn. ``launch_sigma`` and ``round_sigma`` are of log time; ``drift`` moves both probe and
    subjects from round to round, as virtual machines do."""

    subjects: Sequence[MadeUpSubject] = DEFAULT
    ranks: Sequence[int] = (2,)
    modes: Sequence[str] = ("threads",)
    definitions: Sequence[str] = ("loop", "window")
    launches: int = 6
    rounds: int = 8
    calls: int = 12
    cpus: int = 2
    line_ns: float = 60.0
    switch_ns: float = 900.0
    launch_sigma: float = 0.0
    round_sigma: float = 0.05
    drift: float = 0.4
    same_core: float = 0.0
    seed: int = 1
    run: str = "00000000000000aa"
    end: str | None = "complete"
    settings: dict[str, Any] = field(default_factory=dict)

    def records(self) -> list[Record]:
        random = np.random.default_rng(self.seed)
        found: list[Record] = [self.context()]
        points = self.points()
        found += points
        for mode in self.modes:
            for ranks in self.ranks:
                here = [point for point in points if point["mode"] == mode and point["ranks"] == ranks]
                for launch in range(self.launches):
                    of_launch = random.normal(0, self.launch_sigma, size=len(here))
                    for number in range(self.rounds):
                        probe = self.round(random, mode, ranks, launch, number)
                        found.append(probe)
                        found += self.samples(random, here, probe, of_launch)
        if self.end is not None:
            found.append(
                {
                    **self.head("end"),
                    "reason": self.end,
                    "elapsed_s": 1.0,
                    "points": len(points),
                    "samples": sum(record["kind"] == "sample" for record in found),
                    "width_reached": None,
                }
            )
        return found

    def text(self) -> str:
        return "".join(json.dumps(record) + "\n" for record in self.records())

    def write(self, path: Path) -> Path:
        path.write_text(self.text(), encoding="utf-8")
        return path

    def head(self, kind: str) -> Record:
        return {"schema": 1, "kind": kind, "run": self.run}

    def context(self) -> Record:
        return {
            **self.head("context"),
            "phicoll": "results",
            "created": "2000-01-01T00:00:00Z",
            "command": ["made-up"],
            "version": "0.1.0",
            "git": None,
            "compiler": {"id": "GNU", "version": "12.2.0", "flags": "-O2"},
            "host": {
                "cpu_model": "made up for a test",
                "kernel": "6.1",
                "virtualisation": "none",
                "governor": None,
                "huge_pages": "madvise",
                "load": [0.1, 0.1, 0.1],
                "memory_bytes": 1 << 33,
            },
            "topology": [
                {"cpu": cpu, "core": cpu, "l3": 0, "numa": 0, "package": 0} for cpu in range(self.cpus)
            ],
            "caches": [
                {"level": 1, "type": "data", "size_bytes": 32768, "line_bytes": 64, "shared_cpus": [0]}
            ],
            "allowed_cpus": list(range(self.cpus)),
            "cpu_quota": None,
            "clock": {
                "source": "tsc",
                "resolution_ns": 1,
                "overhead_ns": 10,
                "invariant": True,
                "offset_ns": 3,
            },
            "seed": self.seed,
            "settings": {"start": "warm", **self.settings},
        }

    def points(self) -> list[Record]:
        found = []
        for mode in self.modes:
            for ranks in self.ranks:
                for subject in self.subjects:
                    found.append(
                        {
                            **self.head("point"),
                            "point": len(found),
                            "operation": "barrier",
                            "algorithm": subject.algorithm,
                            "spec": subject.spec,
                            "parameters": subject.parameters,
                            "effective": subject.parameters,
                            "origin": subject.origin,
                            "source": "made up",
                            "wait": subject.wait,
                            "store": "plain",
                            "mode": mode,
                            "machine": "host",
                            "ranks": ranks,
                            "cpus": [rank % self.cpus for rank in range(ranks)],
                            "placement": "compact",
                            "observed_cpus": [rank % self.cpus for rank in range(ranks)],
                            "oversubscribed": ranks > self.cpus,
                            "size_bytes": 0,
                            "chosen": None,
                            "verified": subject.verified,
                            "verification": {
                                "calls": 100,
                                "error": None
                                if subject.verified
                                else "rank 1 left call 3 when rank 0 had entered call 2",
                            },
                        }
                    )
        return found

    def round(self, random: np.random.Generator, mode: str, ranks: int, launch: int, number: int) -> Record:
        same_core = bool(random.random() < self.same_core)
        line = self.line_ns * float(np.exp(random.normal(0, self.drift))) * (0.3 if same_core else 1.0)
        return {
            **self.head("round"),
            "launch": launch,
            "round": number,
            "mode": mode,
            "ranks": ranks,
            "place": launch * self.rounds + number,
            "t_s": 0.01 * (launch * self.rounds + number),
            "label": "same-core" if same_core else "remote",
            "local_ns": 1.4,
            "read_ns": 4.0 if same_core else 1.3 * line,
            "pingpong_ns": line,
            "switch_ns": self.switch_ns * float(np.exp(random.normal(0, 0.05)))
            if ranks > self.cpus
            else None,
            "empty_ns": 0.4,
        }

    def samples(
        self, random: np.random.Generator, points: Sequence[Record], probe: Record, of_launch: np.ndarray
    ) -> list[Record]:
        found = []
        unit = probe["switch_ns"] or probe["pingpong_ns"]
        for definition in self.definitions:
            order = random.permutation(len(points))
            for position, index in enumerate(order):
                point = points[index]
                lines = next(subject.lines for subject in self.subjects if subject.spec == point["spec"])
                noise = random.normal(0, self.round_sigma) + of_launch[index]
                value = lines * unit * float(np.exp(noise)) * (1.5 if definition == "window" else 1.0)
                if definition == "window":
                    ns = [value * float(np.exp(random.normal(0, 0.1))) for _ in range(self.calls)]
                else:
                    ns = [value * (1 - 0.01 * rank) for rank in range(point["ranks"])]
                found.append(
                    {
                        **self.head("sample"),
                        "point": point["point"],
                        "launch": probe["launch"],
                        "round": probe["round"],
                        "order": position,
                        "definition": definition,
                        "calls": self.calls,
                        "capped": False,
                        "delay_ns": 0,
                        "imbalance_ns": 0,
                        "ns": ns,
                        **({"late": 0} if definition == "window" else {}),
                    }
                )
        return found
