"""Rounds: every system at every point, in a random order from a seed, with probes.

The time budget is kept: a sample has its own bound, and no wait exceeds the budget. A system that does not answer in
time is excluded from that point and from larger sizes of the same operation and number of ranks, so that the time is
lost only once. A run that is ended early keeps its samples.
"""

from __future__ import annotations

import json
import math
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol, TextIO

import mpi_peers
import phicoll_peer
from peer_errors import PeerError, PeerTimeoutError
from phicoll_peer import OPERATIONS
from points import Point, Taken

MPI_NAMES = {ours: theirs for theirs, ours in OPERATIONS.items()}
SAMPLE_S = 60.0
#: An MPI that takes this many times the best MPI's time in a launch's first round, and longer than a sample should
#: take, is not asked there again in this launch, and after two launches never: it is not the best one, and its ranks,
#: which spin on shared CPUs, would take most of a run. Once it may have been disturbed.
HOPELESS, HOPELESS_LAUNCHES = 20.0, 2
#: All systems make as many calls at a point as phicoll fits below the cap: if calls are few, the first ones, which find
#: ranks late and caches cold, count for much. A system that is this many times slower makes fewer.
SAME_CALLS = 2.0
#: The share of the budget by which a wait that began within it may exceed it.
GRACE = 0.04


class Peer(Protocol):
    """A system that takes part: phicoll_peer.PhicollPeer, mpi_peers.MpiPeer, or a test's."""

    failed: str | None
    facts: dict[str, Any]

    def run(self, *args: Any, **kwargs: Any) -> dict[str, Any]: ...
    def close(self) -> None: ...


class Budget:
    """The seconds that a run has."""

    def __init__(self, seconds: float, sample_s: float, clock: Callable[[], float]) -> None:
        self.clock, self.sample_s = clock, sample_s
        self.end = clock() + seconds
        self._grace = GRACE * seconds if math.isfinite(seconds) else 0.0

    def left(self) -> float:
        return self.end - self.clock()

    def of_a_wait(self, most: float) -> float:
        """The time that a wait may take, at most `most` seconds."""
        return max(0.0, min(most, self.left() + self._grace))


class TimeOverError(Exception):
    """A wait ended with the budget, through no system's fault."""


@dataclass
class Systems:
    """How the systems are started; tests bring their own."""

    cpus: Sequence[int]
    mpis: Sequence[str] = ()
    kind: str = "processes"
    #: Of phicoll's reductions; empty: float32, as MPI's.
    type: str = ""

    def numbers(self) -> str:
        """The host's numbers that phicoll's ranks have, in words: those that a calibration changed."""
        from phicoll import _core

        host, defaults = _core.host_numbers(), _core.default_numbers()
        changed: dict[str, list[str]] = {}
        for name, origin in host["origins"].items():
            if host["numbers"][name] != defaults[name]:
                changed.setdefault(origin, []).append(f"{name}={host['numbers'][name]}")
        return "; ".join(f"{origin}: {', '.join(of)}" for origin, of in changed.items()) or "the defaults"

    def start_phicoll(self, ranks: int, start_s: float) -> Any:
        return phicoll_peer.PhicollPeer(ranks, self.cpus, kind=self.kind, start_s=start_s)

    def start_mpi(self, name: str, ranks: int, start_s: float) -> Any:
        return mpi_peers.MpiPeer(name, ranks, self.cpus, start_s=start_s)


class Field:
    """The systems that take part, with one number of ranks; started for a launch."""

    def __init__(self, ranks: int, systems: Systems, budget: Budget, note: Callable[[str], None]) -> None:
        self.ranks, self.systems, self.budget, self.note = ranks, systems, budget, note
        self.mpis: dict[str, Any] = {}
        self.phicoll = systems.start_phicoll(ranks, budget.of_a_wait(360.0))
        try:
            for name in systems.mpis:
                self.start_mpi(name)
        except BaseException:
            self.close()
            raise

    def start_mpi(self, name: str) -> None:
        self.mpis.pop(name, None)
        try:
            self.mpis[name] = self.systems.start_mpi(name, self.ranks, self.budget.of_a_wait(60.0))
        except PeerError as error:
            self.note(f"{name} did not start with {self.ranks} ranks: {error}")

    def facts(self) -> dict[str, dict[str, Any]]:
        return {"phicoll": self.phicoll.facts, **{name: peer.facts for name, peer in self.mpis.items()}}

    def sample(self, point: Point, subject: str, seed: int, calls: int, cap_ms: float) -> dict[str, Any]:
        """One sample; a system that died is started again for the next one."""
        name, _, algorithm = subject.partition(":")
        timeout_s = self.budget.of_a_wait(self.budget.sample_s)
        try:
            if name == "phicoll":
                return self.phicoll.run(
                    point.operation, point.size, calls, point.definition, point.buffers,
                    algorithm=algorithm or "auto", cap_ms=cap_ms, seed=seed, timeout_s=timeout_s,
                    **({"type": self.systems.type} if self.systems.type else {}),
                )  # fmt: skip
            if name not in self.mpis:
                return {"error": "did not start"}
            found = self.mpis[name].run(
                MPI_NAMES[point.operation], point.size, calls, point.definition, point.buffers,
                cap_ms=cap_ms, seed=seed, offset=64 * (seed % 64), timeout_s=timeout_s,
            )  # fmt: skip
            return {k: found[k] for k in ("ns", "calls", "capped", "verified")}
        except PeerError as error:
            if isinstance(error, PeerTimeoutError) and timeout_s < self.budget.sample_s:
                raise TimeOverError from error
            self._revive(name)
            return {"error": str(error), "timeout": isinstance(error, PeerTimeoutError)}

    def _revive(self, name: str) -> None:
        if name == "phicoll" and self.phicoll.failed is not None:
            self.phicoll = self.systems.start_phicoll(self.ranks, self.budget.of_a_wait(360.0))
        elif name in self.mpis and self.mpis[name].failed is not None:
            self.start_mpi(name)

    def probe(self, seed: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        try:
            found = self.phicoll.probe(seed, timeout_s=self.budget.of_a_wait(60.0))
        except PeerError as error:
            if self.budget.left() <= 0:
                raise TimeOverError from error
            print(f"collectives: {error}", file=sys.stderr)
            self._revive("phicoll")
        return found

    def close(self) -> None:
        for peer in (self.phicoll, *self.mpis.values()):
            peer.close()


def calls_for(point: Point) -> int:
    """The number of calls: many for small messages, few for large ones; a window's calls are stamped one by
    one."""
    most = 32 if point.definition == "window" else 1000
    return max(4, min(most, (4 << 20) // max(1, point.size * point.ranks)))


def sample_bound(seconds: float) -> float:
    """How long one sample may take in a run of `seconds`. The shortest take some tens of ms."""
    return min(SAMPLE_S, max(3.0, seconds / 100))


class Run:
    """A run that goes on: what it writes, and where it is."""

    def __init__(self, budget: Budget, seed: int, calls: int, cap_ms: float, stream: TextIO | None) -> None:
        self.taken = Taken()
        self.budget, self.calls, self.cap_ms, self.stream = budget, calls, cap_ms, stream
        self.draw = random.Random(seed)
        #: How many calls a sample has at a point.
        self.planned: dict[Point, int] = {}
        #: Systems that are not asked again at a point, with the one that was faster.
        self.hopeless: dict[tuple[Point, str], str] = {}
        #: In how many launches they were found so.
        self.found_hopeless: Counter[tuple[Point, str]] = Counter()

    def note(self, record: dict[str, Any]) -> None:
        self.taken.add(record)
        if self.stream is not None:
            self.stream.write(json.dumps(record) + "\n")
            self.stream.flush()

    def say(self, text: str) -> None:
        if text not in self.taken.notes:
            print(f"collectives: {text}", file=sys.stderr)
            self.note({"note": text})

    def plan(self, field: Field, point: Point, subjects: Sequence[str], base: dict[str, Any]) -> None:
        """At the first visit: find how many calls a sample has there.

        Found by `auto`, or where that takes no part by the quickest of phicoll's algorithms.
        """
        wanted = self.calls or calls_for(point)
        ours = sorted(s for s in subjects if s.startswith("phicoll"))  # auto comes first
        for subject in ours or subjects:
            if self.budget.left() <= 0:
                raise TimeOverError
            found = field.sample(point, subject, self.draw.randrange(1 << 32), wanted, self.cap_ms)
            if "ns" in found:
                self.planned[point] = max(found["calls"], self.planned.get(point, 0))
                if subject == "phicoll":
                    break
            else:  # a system that fails here would fail again
                print(f"collectives: {point}: {found['error']}", file=sys.stderr)
                self.note({**base, "subject": subject, **found})
        self.planned.setdefault(point, wanted)

    def playing(self, point: Point, subjects: Sequence[str]) -> list[str]:
        """The subjects that still take part there."""
        left = [s for s in subjects if not self.taken.is_out(point, s)]
        return [s for s in left if self.hopeless.get((point, s)) not in left]

    def visit(self, field: Field, point: Point, subjects: Sequence[str], launch: int, turn: int) -> None:
        """One point in one round: the probes, and every subject that still takes part."""
        base = {"point": asdict(point), "launch": launch, "round": turn}
        if point not in self.planned and (playing := self.playing(point, subjects)):
            self.plan(field, point, playing, base)
        playing = self.playing(point, subjects)
        if not playing:
            return
        self.note({**base, "probe": field.probe(self.draw.randrange(1 << 32))})
        others: dict[str, dict[str, Any]] = {}
        for subject in self.draw.sample(playing, len(playing)):
            if self.budget.left() <= 0:
                raise TimeOverError
            seed = self.draw.randrange(1 << 32)
            found = field.sample(point, subject, seed, self.planned[point], SAME_CALLS * self.cap_ms)
            if "ns" not in found:
                print(f"collectives: {point}: {found['error']}", file=sys.stderr)
            elif not subject.startswith("phicoll") and found["ns"] > 0 and found["verified"]:
                others[subject] = found
            self.note({**base, "subject": subject, **found})
        if turn == 0 and others:
            best = min(others, key=lambda s: others[s]["ns"])
            for s, found in others.items():
                slow = found["capped"] or found["ns"] * found["calls"] > SAME_CALLS * self.cap_ms * 1e6
                if slow and found["ns"] > HOPELESS * others[best]["ns"]:
                    self.hopeless[point, s] = best
                    self.found_hopeless[point, s] += 1

    def launch(
        self, field: Field, points: Sequence[Point], subjects_of: Callable[[Point], Sequence[str]],
        launch: int, rounds: int, began: float, share: float, first: float,
    ) -> None:  # fmt: skip
        """Rounds until they are done or the share of the time is over; the first may go on until `first` is. Both count
        from the start of the systems, at `began`, but leave as much time for rounds as that took."""
        least = 2 * (self.budget.clock() - began)
        self.hopeless = {
            key: best for key, best in self.hopeless.items() if self.found_hopeless[key] >= HOPELESS_LAUNCHES
        }
        for name, facts in field.facts().items():
            self.note({"system": name, "facts": facts})
        for turn in range(rounds):
            order = self.draw.sample(list(points), len(points))
            if launch == turn == 0 and field.mpis:
                # The smallest first, so that an MPI that is too slow is out before the larger ones. Else any order, so
                # that time that is over leaves out sizes alike.
                order.sort(key=lambda point: point.size)
            for point in order:
                spent = self.budget.clock() - began
                if spent > max(least, first if turn == 0 else share) or self.budget.left() <= 0:
                    return
                self.visit(field, point, subjects_of(point), launch, turn)


def take(
    points: Sequence[Point],
    subjects_of: Callable[[Point], Sequence[str]],
    *,
    systems: Systems,
    rounds: int,
    launches: int = 1,
    seed: int = 1,
    calls: int = 0,
    cap_ms: float = 20.0,
    seconds: float = math.inf,
    sample_s: float | None = None,
    out: Path | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Taken:
    """Measures `launches` x `rounds` rounds of all points, fewer where `seconds` are over.

    `subjects_of`: the subjects of a point. `sample_s`: how long one sample may take (`sample_bound` unless given);
    a subject that takes longer is left out from that size on. An interrupt ends the run with what it has
    (`Taken.ended`).
    """
    counts = sorted({point.ranks for point in points})
    stream = out.open("a") if out is not None else None
    budget = Budget(seconds, sample_s or sample_bound(seconds), clock)
    run = Run(budget, seed, calls, cap_ms, stream)
    try:
        parts = launches * len(counts)
        done = 0
        for launch in range(launches):
            # In a single launch few ranks first: they leave time to many, which need more.
            for ranks in counts if launches == 1 else run.draw.sample(counts, len(counts)):
                if budget.left() <= 0:
                    raise TimeOverError
                # An equal share of the time that is left for each part that is left; the first round of all may take
                # more, as it should reach all sizes.
                share = budget.left() / (parts - done)
                first = share * max(1.5, launches / 4) if launch == 0 else share
                done += 1
                began = clock()
                try:
                    field = Field(ranks, systems, budget, run.say)
                except PeerError as error:
                    run.say(f"phicoll did not start with {ranks} ranks: {error}")
                    continue
                try:
                    mine = [point for point in points if point.ranks == ranks]
                    run.note({"numbers": systems.numbers()})
                    run.launch(field, mine, subjects_of, launch, rounds, began, share, first)
                    run.note({"numbers": systems.numbers()})  # a first large call may have measured them
                except PeerError as error:  # phicoll's set could not be started again
                    run.say(f"phicoll's {ranks} ranks ended: {error}")
                finally:
                    field.close()
        if budget.left() <= 0:
            run.note({"ended": "the time was over"})
    except TimeOverError:
        run.note({"ended": "the time was over"})
    except KeyboardInterrupt as interrupt:
        run.note({"ended": str(interrupt) or "interrupted"})
    finally:
        if stream is not None:
            stream.close()
    return run.taken
