"""Sweeps on other hosts: the workers of a Dask cluster.

``dask:ADDRESS`` names a scheduler that runs. ``slurm`` starts one here, and a worker in a Slurm job on each node.
Any worker simulates points. A sweep that measures runs once on each host that has a worker.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import phicoll._core as _core
from phicoll import bench
from phicoll.errors import ArgumentError, ResourceError
from phicoll.foundations.checks import check_whole
from phicoll.foundations.extras import extra
from phicoll.foundations.nearest import near
from phicoll.results import Results
from phicoll.results.records import Record

__all__ = ["Cluster", "ClusterPlan", "check_executor", "opened"]

#: What a host measured, and the error that ended it.
Measured = tuple[list[Record], Exception | None]

FORMS = "dask:ADDRESS, or slurm with nodes=, partition=, account= and minutes= after colons"
CONNECT_S = 10.0
LOGS = "slurm-logs"  # what the jobs print
WAIT_S = 0.5  # between looks at whether workers have come
MINUTES = 60
#: The keys of ``slurm``: those with a number, and those with a text.
COUNTS, TEXTS = {"nodes": 1, "minutes": MINUTES}, ("partition", "account")


def check_executor(executor: Any) -> None:
    """Refuse what is neither an executor of ``concurrent.futures`` nor a text of a known form. Connects to nothing."""
    if isinstance(executor, str):
        kind, _, rest = executor.partition(":")
        if kind == "slurm":
            slurm_values(rest)
        elif kind != "dask" or not rest:
            raise ArgumentError("executor", repr(executor), FORMS)
    elif executor is not None and not callable(getattr(executor, "submit", None)):
        raise ArgumentError("executor", repr(executor), f"an executor of concurrent.futures, or {FORMS}")


def slurm_values(text: str) -> dict[str, Any]:
    """``nodes=2:partition=short`` as a dictionary, with defaults."""
    found: dict[str, Any] = dict(COUNTS)
    for part in text.split(":") if text else []:
        key, equals, value = part.partition("=")
        if key not in (*COUNTS, *TEXTS):
            raise ArgumentError("executor", f"slurm with {part!r}", near(key, [*COUNTS, *TEXTS]))
        if not equals or not value:
            raise ArgumentError("executor", f"slurm with {part!r}", f"{key}=VALUE")
        if key in COUNTS and not value.isdigit():
            raise ArgumentError("executor", f"slurm with {part!r}", f"{key}= and a whole number from 1 on")
        found[key] = check_whole(f"executor: {key}", int(value), 1) if key in COUNTS else value
    return found


class Cluster(Executor):
    """A Dask client as an executor, and a way to run a function once on each host."""

    def __init__(self, client: Any, address: str) -> None:
        self.client = client
        self.address = address
        self.pool = client.get_executor()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Run ``fn`` on any worker."""
        return self.pool.submit(fn, *args, **kwargs)

    def workers(self) -> set[str]:
        """The addresses of the workers that are there."""
        return set(self.client.scheduler_info(n_workers=-1)["workers"])

    def check(self) -> None:
        """Raise ResourceError if no worker is left: what was submitted would wait for ever."""
        if not self.workers():
            raise ResourceError(f"{self.address}: no worker is left; their jobs or hosts ended")

    def hosts(self) -> dict[str, str]:
        """A worker of each host, by the host's name."""
        found = {name: address for address, (name, _) in self.client.run(identify).items()}
        return dict(sorted(found.items()))

    def check_versions(self) -> None:
        """Raise ResourceError if a worker cannot import phicoll, or has another version than this host."""
        here = _core.__version__
        try:
            there = self.client.run(identify)
        except Exception as error:
            raise ResourceError(
                f"{self.address}: a worker cannot use phicoll: {type(error).__name__}: {error}"
            ) from error
        for name, version in there.values():
            if version != here:
                raise ResourceError(f"{self.address}: phicoll is {version} on {name} and {here} here")

    def on_each_host(self, task: Callable[[], Any]) -> Iterator[tuple[str, Any]]:
        """Run ``task`` once on each host, at the same time.

        Yields each host's name with the result, or the exception, in the order in which they end.
        """
        running = {
            name: (address, self.client.submit(task, workers=[address], pure=False))
            for name, address in self.hosts().items()
        }
        try:
            while running:
                workers = self.workers()
                for name, (address, future) in list(running.items()):
                    if not future.done() and address in workers:
                        continue
                    del running[name]
                    if future.done():
                        yield name, future.exception() or future.result()
                    else:
                        yield name, ResourceError(f"{name}: its worker ended")
                time.sleep(0.1)
        finally:
            for _, future in running.values():
                future.cancel()


class ClusterPlan:
    """A sweep that runs on each host of a cluster. Each host checks the arguments, as it knows its CPUs."""

    def __init__(self, task: Callable[[], Measured], output: Path | None, executor: str) -> None:
        self.task = task
        self.output = output
        self.executor = executor

    def run(self, progress: bench.Progress | None = None) -> Results:
        """Measure on all hosts at the same time, and gather their records: points name their host as ``machine``.

        A host that fails does not stop the others. Its error is raised when all have ended.
        """
        found, failed = Results([]), None
        with opened(self.executor) as cluster:
            assert isinstance(cluster, Cluster)
            hosts = len(cluster.hosts())
            try:
                for done, (name, one) in enumerate(cluster.on_each_host(self.task)):
                    if progress is not None:
                        progress(done + 1, hosts, f"{name} has ended")
                    records, error = one if isinstance(one, tuple) else ([], one)
                    failed = failed or error
                    found += self.keep(name, records)
            except KeyboardInterrupt:
                if not found.records:
                    raise
        if failed is not None:
            failed.results = found
            raise failed
        return found

    def keep(self, name: str, records: list[Record]) -> Results:
        """The records of a host, which are written too."""
        for record in records:
            if record["kind"] == "point":
                record["machine"] = name
            elif record["kind"] == "context":
                record["host"] = {"name": name, **(record.get("host") or {})}
        if self.output is not None:
            with self.output.open("a", encoding="utf-8") as stream:
                stream.writelines(json.dumps(record, separators=(",", ":")) + "\n" for record in records)
        return Results(records, source=str(self.output or ""))


def identify() -> tuple[str, str]:
    """This host's name, and phicoll's version."""
    return os.uname().nodename, _core.__version__


@contextlib.contextmanager
def opened(executor: Executor | str | None) -> Iterator[Executor | None]:
    """The executor that a text names, while it is used; other executors as they are.

    Raises
    ------
    ResourceError
        A package or Slurm is missing, the scheduler does not answer, or it has no workers that can use phicoll.
    """
    if not isinstance(executor, str):
        yield executor
        return
    kind, _, rest = executor.partition(":")
    with contextlib.ExitStack() as stack:
        stack.enter_context(extra("cluster"))
        import distributed

        if kind == "dask":
            client = connect(distributed, rest)
            stack.callback(client.close)
            if not client.scheduler_info(n_workers=-1)["workers"]:
                raise ResourceError(f"executor: the scheduler at {rest} has no workers")
        else:
            client = start_jobs(stack, slurm_values(rest))
        cluster = Cluster(client, executor)
        cluster.check_versions()
        yield cluster


def connect(distributed: Any, address: str) -> Any:
    """A client of the scheduler at an address."""
    try:
        return distributed.Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        reason = str(error) or type(error).__name__
        raise ResourceError(f"executor: no Dask scheduler answers at {address}: {reason}") from error


def start_jobs(stack: contextlib.ExitStack, values: dict[str, Any]) -> Any:
    """A client of a scheduler that starts here, with a worker in a Slurm job on each of some nodes.

    A worker has its node to itself, with all its CPUs and memory. It waits for the jobs to start, however long Slurm
    lets them wait; Ctrl-C cancels them.
    """
    import dask_jobqueue
    import distributed

    if shutil.which("sbatch") is None:
        raise ResourceError("executor: slurm needs sbatch, which is not on the PATH")
    cluster = dask_jobqueue.SLURMCluster(
        queue=values.get("partition"),
        account=values.get("account"),
        walltime=f"{values['minutes'] // 60:02}:{values['minutes'] % 60:02}:00",
        job_name="phicoll",
        log_directory=LOGS,
        cores=1,
        memory="1GB",  # this and the cores only satisfy the class: the node's own follow
        processes=1,
        job_directives_skip=["--cpus-per-task", "--mem"],
        job_extra_directives=["--nodes=1", "--exclusive"],
        worker_extra_args=["--nthreads", "0", "--memory-limit", "auto"],
        scheduler_options={"dashboard_address": ":0"},
    )
    stack.callback(cluster.close)
    tried = slurm("sbatch", "--test-only", text=cluster.job_script())
    if tried.returncode != 0:
        raise ResourceError(f"executor: {first_line(tried.stderr)}")
    bench.note(f"phicoll: waiting for {values['nodes']} of Slurm's nodes\n", None)
    cluster.scale(jobs=values["nodes"])
    client = distributed.Client(cluster, set_as_default=False)
    stack.callback(client.close)
    while len(client.scheduler_info(n_workers=-1)["workers"]) < values["nodes"]:
        check_jobs([job.job_id for job in cluster.workers.values()])
        time.sleep(WAIT_S)
    return client


def check_jobs(jobs: list[str | None]) -> None:
    """Raise ResourceError if a submitted job, whose worker is waited for, is neither queued nor running."""
    known = [job for job in jobs if job]
    told = slurm("squeue", "--noheader", "--format=%i", "--jobs", ",".join(known)) if known else None
    if told is not None and told.returncode == 0 and (ended := set(known) - set(told.stdout.split())):
        raise ResourceError(
            f"executor: the Slurm job {min(ended)} ended before its worker came; see {LOGS}/phicoll-{min(ended)}.err"
        )


def slurm(*command: str, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, input=text, capture_output=True, text=True)


def first_line(text: str) -> str:
    return text.strip().partition("\n")[0]
