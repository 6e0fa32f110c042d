"""Sweeps on a simulated machine: points are simulated one by one, by any executor of ``concurrent.futures``.

The core plans the sweep, has its points simulated and keeps its records. Its own threads, without the GIL, are the
default. A point is a text that can be sent to any process on any host. The same arguments give the same numbers,
whatever simulates the points and in whatever order.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import Executor, Future, wait
from pathlib import Path

import phicoll._core as _core
from phicoll import bench
from phicoll.errors import BrokenGroupError, Error, ResourceError
from phicoll.foundations.files import Appended
from phicoll.measuring.clusters import Cluster, opened
from phicoll.measuring.options import python_names
from phicoll.results import Results, load

__all__ = ["SimulatedPlan", "simulate_point"]

SHOWN_EVERY_S = 0.5  # how often progress within a point is shown
SOON_S = 0.05  # how long a point may still take after Ctrl-C

#: The result of a simulated point: record lines, the number of samples among them, and an error or "".
Point = tuple[list[str], int, str]
NOTHING: Point = ([], 0, "")


def simulate_point(run: str, point: str) -> Point:
    """Simulate one point of a sweep. Both are texts of the core's: :attr:`SimulatedRun.text` and one of ``tasks``;
    docs/records.md describes the lines.
    """
    return _core.simulate_point(run, point)


class SimulatedPlan:
    """A simulated sweep with checked arguments."""

    def __init__(
        self,
        run: _core.SimulatedRun,
        command: Sequence[str],
        output: Path | None,
        resume: bool,
        executor: Executor | str | None,
        jobs: str | None,
    ) -> None:
        self.planned = run
        self.command = list(command)
        self.specs = run.specs
        self.output = output
        self.resume = resume
        self.executor = executor
        self.jobs = _core.allowed_cpu_count() if jobs is None else int(jobs)

    def run(self, progress: bench.Progress | None = None) -> Results:
        """Simulate the points that the budget allows. Ctrl-C keeps the finished points. A point that fails is marked;
        the others go on.
        """
        if self.output is None:
            return self.simulated(None, progress)
        with Appended(self.output, "save") as file:
            if file.begun and self.resume:
                with python_names():
                    self.planned.resume(str(self.output))  # no other run adds points to it any more
            elif file.begun:
                load(self.output)  # refuses to append to a file that is not phicoll's
            return self.simulated(file, progress)

    def simulated(self, file: Appended | None, progress: bench.Progress | None) -> Results:
        watcher = Watcher(file, progress)
        with opened(self.executor) as executor:
            workers = self.jobs if executor is None else Futures(self.planned, executor)
            try:
                self.planned.simulate(workers, watcher, self.command)
            except Error as error:
                error.results = self.results(watcher, file)
                raise
            return self.results(watcher, file)

    def results(self, watcher: Watcher, file: Appended | None) -> Results:
        if self.planned.resumed and file is not None:
            whole = load(file.path)
            mine = [record for record in whole.records if record.get("run") == self.planned.id]
            return Results(mine, damaged_lines=whole.damaged_lines, source=whole.source)
        return Results(list(map(json.loads, watcher.lines)), source="" if file is None else str(file.path))


class Futures:
    """A run's points in an executor, as the core's workers. Those that it has begun go on after :meth:`stop`."""

    def __init__(self, run: _core.SimulatedRun, executor: Executor) -> None:
        self.planned = run
        self.executor = executor
        self.stopped = False
        self.futures: list[Future[Point]] = []

    def take(self, index: int) -> Point | None:
        """The result of a point, or None if there is none yet."""
        try:
            if not self.futures and not self.stopped:
                text = self.planned.text
                for point, _ in self.planned.tasks:
                    self.futures.append(self.executor.submit(simulate_point, text, point))
            if index >= len(self.futures):
                return NOTHING
            future = self.futures[index]
            if not wait([future], SOON_S if self.stopped else SHOWN_EVERY_S).done:
                if isinstance(self.executor, Cluster):
                    self.executor.workers()
                return None
            if not future.cancelled():
                return future.result()
        except Exception as error:
            raise describe(error) from error
        if not self.stopped and isinstance(self.executor, Cluster):
            raise ResourceError(f"{self.executor.address}: the scheduler is gone")
        return NOTHING

    def stop(self) -> None:
        if not self.stopped:
            self.stopped = True
            for future in self.futures:
                future.cancel()


def describe(error: Exception) -> Error:
    """An error of phicoll for an executor's exception."""
    if isinstance(error, Error):
        return error
    if isinstance(error, OSError):
        return ResourceError(str(error))
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        return ResourceError(f"no thread could be started to simulate: {error}")
    return BrokenGroupError(f"a point could not be simulated: {type(error).__name__}: {error}")


class Watcher:
    """What the core calls during a run: its lines are kept, and written as they arrive."""

    def __init__(self, file: Appended | None, progress: bench.Progress | None) -> None:
        self.file = file
        self.shown = progress
        self.lines: list[str] = []

    def write(self, line: str) -> None:
        if self.lines[-1:] != [line]:  # Ctrl-C has it written again
            self.lines.append(line)
        if self.file is not None:
            self.file.write([line])

    def note(self, text: str) -> None:
        bench.note(f"phicoll: {text}\n", self.shown)

    def progress(self, done: int, total: int, title: str) -> None:
        if self.shown is not None:
            self.shown(done, total, title)
