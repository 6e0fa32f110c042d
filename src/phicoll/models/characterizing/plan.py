"""The plan of a characterisation: which kernels are measured, with which sizes, where, and how often per round."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from phicoll.errors import ArgumentError

__all__ = ["EFFORTS", "PAIRS", "Effort", "Subject", "effort_of", "subjects"]

#: States of the send and the receive lines, as in the constants' names.
PAIRS = ("EE", "EI", "IE", "II")


@dataclass(frozen=True)
class Effort:
    """The amount of measurement. A round visits every subject once, each in its own launch."""

    name: str
    samples: float  #: factor on the samples of a launch
    lines: tuple[int, ...]  #: of messages in the multi-line ping-pong
    long_lines: tuple[int, ...]  #: of messages that show bandwidth
    receivers: tuple[int, ...]  #: of contention, as far as there are cores
    all_pairs: bool  #: ping-pongs of all states, not only those that constants come from
    budget_s: float
    rounds: int  #: at most
    least_rounds: int  #: before the target width counts
    target_width: float  #: of the intervals of the line costs, relative
    all_distances: bool  #: on a simulated ring, instead of only the middle one
    seeds: int  #: for a simulated machine, one round each

    def simulated(self) -> Effort:
        """The effort for a simulated machine: rounds differ only by seed, samples are cheap, long messages are not."""
        return replace(
            self,
            samples=4 * self.samples,
            long_lines=tuple(lines for lines in self.long_lines if lines <= 2048),
            rounds=self.seeds,
            least_rounds=self.seeds,
            budget_s=math.inf,
        )


EFFORTS = {
    effort.name: effort
    for effort in (
        Effort(
            "quick",
            samples=1,
            lines=(1, 2, 4, 8, 16, 32, 64, 128),
            long_lines=(512, 2048, 8192),
            receivers=(1, 2, 4, 8, 16, 32, 59),
            all_pairs=False,
            budget_s=40,
            rounds=40,
            least_rounds=12,
            target_width=0.05,
            all_distances=False,
            seeds=3,
        ),
        Effort(
            "thorough",
            samples=2,
            lines=(1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128),
            long_lines=(256, 512, 1024, 2048, 4096, 8192, 16384),
            receivers=(1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 40, 48, 59, 80, 120),
            all_pairs=True,
            budget_s=900,
            rounds=400,
            least_rounds=20,
            target_width=0.02,
            all_distances=True,
            seeds=9,
        ),
    )
}


def effort_of(mode: str) -> Effort:
    if mode not in EFFORTS:
        raise ArgumentError("mode", repr(mode), ", ".join(EFFORTS))
    return EFFORTS[mode]


@dataclass(frozen=True)
class Subject:
    """One kernel with its parameters. Constants look it up by ``name`` and ``n``.

    ``place`` is ``one`` (a rank), ``near`` (two cores of a package), ``near-helper`` (and another holder of the line),
    ``far``, ``far-helper`` (the owner in another package), ``siblings`` (two hardware threads of a core), ``spread``
    (one rank per core) or ``same-cpu``.
    """

    name: str
    spec: str
    ranks: int
    place: str
    samples: int
    n: int = 1


def subjects(effort: Effort, cores: int) -> list[Subject]:
    """Everything that a machine of ``cores`` cores may show; a target leaves out subjects that it has no place for."""
    found: list[Subject] = []

    def add(name: str, spec: str, ranks: int, place: str, samples: float, n: int = 1) -> None:
        found.append(Subject(name, spec, ranks, place, max(2, round(samples * effort.samples)), n))

    for state in "ME":
        add(f"local.{state}", f"read-latency:state={state}:owner=self", 1, "one", 20)
    add("local.memory", "read-latency:state=I:owner=self", 1, "one", 20)
    for place in ("near", "far"):
        for state in "ME":
            add(f"{place}.{state}", f"read-latency:state={state}", 2, place, 20)
        for state in "SF":
            add(f"{place}.{state}", f"read-latency:state={state}", 3, f"{place}-helper", 20)
        add(f"{place}.memory", "read-latency:state=I", 2, place, 20)
    for send in "MESI":
        for receive in "MES":
            if effort.all_pairs or (send, receive) in (("E", "E"), ("M", "M"), ("I", "E")):
                add(f"ping-pong.{send}{receive}", f"ping-pong:state={send}:receive={receive}", 2, "near", 40)
    add("ping-pong.siblings", "ping-pong:state=E:receive=E", 2, "siblings", 40)
    for send, receive in PAIRS:
        spec = f"multi-line:state={send}:receive={receive}"
        for lines in effort.lines:
            add(
                f"multi.{send}{receive}", f"{spec}:lines={lines}", 2, "near", 20 if lines <= 32 else 10, lines
            )
    for lines in effort.long_lines:
        add("bandwidth", f"multi-line:state=I:receive=I:lines={lines}", 2, "near", 3, lines)
    for send, receive in PAIRS:
        for receivers in effort.receivers:
            if receivers < cores:
                spec = f"contention:state={send}:receive={receive}"
                add(f"contention.{send}{receive}", spec, receivers + 1, "spread", 20, receivers)
    add("switch", "switch:turns=16", 2, "same-cpu", 20)
    return found
