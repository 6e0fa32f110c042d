"""Raw samples of a characterisation as records (docs/records.md), appended round by round."""

from __future__ import annotations

import contextlib
import json
import secrets
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from types import TracebackType
from typing import Any

import phicoll._core as _core
from phicoll.foundations.files import Appended
from phicoll.models.characterizing.observations import Launch
from phicoll.results.reading.records import SCHEMA

__all__ = ["Recorder"]


class Recorder:
    """The file of one run: a context, then ``kernel`` and ``kernel-sample`` records of each launch with its round and
    the round's label, then an end. A killed run loses at most its last round. Without a path nothing is written."""

    def __init__(self, path: Path | None, settings: dict[str, Any]) -> None:
        self.file = None if path is None else Appended(path, "samples")
        self.run = secrets.token_hex(8)
        self.points = 0
        facts = _core.facts()
        host = (
            "cpu_model",
            "kernel",
            "virtualisation",
            "container",
            "governor",
            "boost",
            "huge_pages",
            "load",
        )
        context = self.line(
            "context",
            phicoll="results",
            created=datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            version=_core.__version__,
            host={name: facts[name] for name in host},
            topology=_core.topology(),
            allowed_cpus=_core.allowed_cpus(),
            cpu_quota=_core.cpu_quota(),
            settings=settings,
        )
        with contextlib.ExitStack() as stack:
            if self.file is not None:
                stack.enter_context(self.file).clear()
            self.put([context])
            stack.pop_all()

    def line(self, kind: str, **fields: Any) -> str:
        record = {"schema": SCHEMA, "kind": kind, "run": self.run, **fields}
        return json.dumps(record, separators=(",", ":"), ensure_ascii=False)

    def put(self, lines: Sequence[str]) -> None:
        if self.file is not None:
            self.file.write(lines)

    def add(self, launches: Sequence[Launch], label: str) -> None:
        """The launches of a round. Raises :class:`ResourceError` if the disk is full."""
        lines = []
        for launch in launches:
            raw = launch.raw
            if self.file is None or raw is None:
                continue
            kernel = self.line(
                "kernel",
                point=self.points,
                kernel=raw.spec.split(":")[0],
                spec=raw.spec,
                mode=raw.mode,
                machine=raw.machine,
                ranks=launch.subject.ranks,
                where=launch.where,
                samples=launch.subject.samples,
                seed=raw.seed,
                ns_per_tick=raw.ns_per_tick,
                per_sample=raw.per_sample,
                empty_ns=raw.empty_ns,
                bytes=raw.bytes,
                late=raw.late,
                wrong=0,
                verified=True,
                round=launch.round,
                label=label,
                subject=launch.subject.name,
                n=launch.subject.n,
            )
            lines.append(kernel)
            for rank, ticks in enumerate(raw.ticks):
                if ticks.size:
                    ns = raw.ns[rank].tolist()
                    lines.append(
                        self.line("kernel-sample", point=self.points, rank=rank, ticks=ticks.tolist(), ns=ns)
                    )
            self.points += 1
        self.put(lines)

    def __enter__(self) -> Recorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.file is not None:
            reason = "complete" if kind is None else "interrupted" if kind is KeyboardInterrupt else "failed"
            failed = {} if reason != "failed" else {"error": str(error)}
            with self.file:
                self.put([self.line("end", reason=reason, points=self.points, **failed)])
