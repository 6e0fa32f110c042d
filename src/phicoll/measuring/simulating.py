"""Sweeps on a simulated machine: points are simulated one by one, by any executor of ``concurrent.futures``.

The core plans the sweep and simulates a point without the GIL. A point is a text that can be sent to any process on any
host. The same arguments give the same numbers, whatever executor simulates the points and in whatever order.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, NamedTuple

import phicoll._core as _core
from phicoll import bench
from phicoll.errors import BrokenGroupError, Error, ResourceError
from phicoll.foundations.files import Appended
from phicoll.measuring.clusters import Cluster, opened
from phicoll.results import Results, load
from phicoll.results.records import Record

__all__ = ["SimulatedPlan", "simulate_point"]

SHOWN_EVERY_S = 0.5  # how often progress within a point is shown

#: The result of a simulated point: record lines, the number of samples among them, and an error or "".
Point = tuple[list[str], int, str]
NOTHING: Point = ([], 0, "")


class Task(NamedTuple):
    """A point that is to be simulated."""

    text: str  #: what :func:`simulate_point` takes
    title: str
    calls: int  #: that its ranks make
    samples: int


def simulate_point(task: str) -> Point:
    """Simulate one point of a sweep. ``task`` is its text in the core's plan; docs/records.md describes the lines."""
    lines, samples, error = _core.simulate_point(task)
    return lines, samples, error


class SimulatedPlan:
    """A simulated sweep with checked arguments."""

    def __init__(
        self,
        plan: Callable[[str], dict[str, Any]],
        output: Path | None,
        resume: bool,
        executor: Executor | str | None,
        jobs: str | None,
    ) -> None:
        """``plan`` checks all arguments. It takes the file to continue, or "" for all points."""
        self.plan = plan
        self.take(plan(""))
        self.output = output
        self.resume = resume
        self.executor = executor
        self.jobs = _core.allowed_cpu_count() if jobs is None else int(jobs)

    def take(self, planned: dict[str, Any]) -> None:
        self.planned = planned
        self.specs: list[str] = planned["specs"]
        self.tasks = [Task(*task) for task in planned["tasks"]]
        self.budget: _core.PointBudget = planned["budget"]

    def run(self, progress: bench.Progress | None = None) -> Results:
        """Simulate the points that the budget allows. Ctrl-C keeps the finished points. A point that fails is marked;
        the others go on.
        """
        if self.output is None:
            return self.simulated(None, progress)
        with Appended(self.output, "save") as file:
            if file.begun and self.resume:
                self.take(self.plan(str(self.output)))  # no other run adds points to it any more
            elif file.begun:
                load(self.output)  # refuses to append to a file that is not phicoll's
            return self.simulated(file, progress)

    def simulated(self, file: Appended | None, progress: bench.Progress | None) -> Results:
        with opened(self.executor) as theirs:
            records = Records(file, self.planned)
            own = ThreadPoolExecutor(self.jobs) if theirs is None else None
            futures: list[Future[Point]] = []
            try:
                executor = own or theirs
                assert executor is not None
                futures = [executor.submit(simulate_point, task.text) for task in self.tasks]
                steps = Steps(self.tasks, progress)
                left: list[int] = []
                over = False
                for number, (future, task) in enumerate(zip(futures, self.tasks, strict=True)):
                    while not over and not wait([future], SHOWN_EVERY_S).done:
                        steps.show(task)
                        if isinstance(executor, Cluster):
                            executor.workers()
                        over = self.over(records.elapsed_s(), progress)
                        if over:
                            stop(own, futures)  # other executors' workers finish what they have begun
                    if future.cancelled() and not over and isinstance(executor, Cluster):
                        raise ResourceError(f"{executor.address}: the scheduler is gone")
                    point = NOTHING if future.cancelled() else future.result()
                    if point[1] < task.samples and not point[2]:
                        left.append(number)
                    records.add(point)
                    self.budget.done(number)
                    steps.done(task)
                if left:
                    bench.note(f"phicoll: {self.budget.left_out(left)}\n", progress)
                records.end("budget" if left else "complete")
            except KeyboardInterrupt:
                stop(own, futures)
                records.keep(futures)
                records.end("interrupted")
            except Exception as error:
                stop(own, futures)
                records.keep(futures)
                failure = describe(error)
                records.end("failed", str(failure))
                failure.results = records.results()
                raise failure from error
            finally:
                if own is not None:
                    own.shutdown()
            return records.results()

    def over(self, elapsed_s: float, progress: bench.Progress | None) -> bool:
        """Whether the budget is used up; prints a note, once, if it will be too short."""
        estimate = self.budget.estimate(elapsed_s)
        if estimate:
            bench.note(f"phicoll: {estimate}\n", progress)
        return self.budget.over(elapsed_s)


class Steps:
    """The progress of a sweep, in calls of ranks: of finished points, and of those that run in this
    process."""

    def __init__(self, tasks: Sequence[Task], progress: bench.Progress | None) -> None:
        self.progress = progress
        self.total = sum(task.calls for task in tasks)
        self.finished = 0
        self.before: int = _core.simulated_calls()

    def show(self, task: Task) -> None:
        if self.progress is not None:
            here = _core.simulated_calls() - self.before
            self.progress(min(max(self.finished, here), self.total), self.total, task.title)

    def done(self, task: Task) -> None:
        self.finished += task.calls
        self.show(task)


def stop(own: ThreadPoolExecutor | None, futures: Iterable[Future[Point]]) -> None:
    """Start no further point. Those that run on our own threads end within some ms."""
    for future in futures:
        future.cancel()
    if own is not None:
        _core.stop_simulating(True)
        try:
            own.shutdown(cancel_futures=True)
        finally:
            _core.stop_simulating(False)


def describe(error: Exception) -> Error:
    """An error of phicoll for an executor's exception."""
    if isinstance(error, Error):
        return error
    if isinstance(error, OSError):
        return ResourceError(str(error))
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        return ResourceError(f"no thread could be started to simulate: {error}")
    return BrokenGroupError(f"a point could not be simulated: {type(error).__name__}: {error}")


class Records:
    """The lines of a run, kept and written as they arrive."""

    def __init__(self, file: Appended | None, planned: dict[str, Any]) -> None:
        self.file = file
        self.run: str = planned["run"]
        self.resumed = planned["context"] is None
        self.lines: list[str] = [] if self.resumed else [planned["context"]]
        self.points: int = planned["points"]
        self.samples: int = planned["samples"]
        self.earlier_s: float = planned["elapsed_s"]
        self.taken = 0
        self.start = time.monotonic()
        self.write(self.lines)

    def elapsed_s(self) -> float:
        return time.monotonic() - self.start

    def write(self, lines: Sequence[str]) -> None:
        if self.file is not None and lines:
            self.file.write(lines)

    def add(self, point: Point) -> None:
        lines, samples, _ = point
        self.taken += 1
        self.points += bool(lines)
        self.samples += samples
        self.lines += lines
        self.write(lines)

    def keep(self, futures: Sequence[Future[Point]]) -> None:
        """Keep finished points, among those after the last one taken."""
        for future in futures[self.taken :]:
            if future.done():
                try:
                    self.add(future.result())
                except (Exception, CancelledError):
                    continue

    def end(self, reason: str, error: str | None = None) -> None:
        fields: Record = {"schema": 1, "kind": "end", "run": self.run, "reason": reason}
        if error is not None:
            fields["error"] = error
        fields["elapsed_s"] = round(self.elapsed_s() + self.earlier_s, 3)
        fields |= {"points": self.points, "samples": self.samples, "width_reached": None}
        line = json.dumps(fields, separators=(",", ":"), ensure_ascii=False)
        self.lines.append(line)
        self.write([line])

    def results(self) -> Results:
        if self.resumed and self.file is not None:
            whole = load(self.file.path)
            mine = [record for record in whole.records if record.get("run") == self.run]
            return Results(mine, damaged_lines=whole.damaged_lines, source=whole.source)
        return Results(list(self.parsed()), source="" if self.file is None else str(self.file.path))

    def parsed(self) -> Iterator[Record]:
        for line in self.lines:
            yield json.loads(line)
