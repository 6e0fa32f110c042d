"""Sweeps on other hosts: the workers of a Dask cluster.

``dask:ADDRESS`` names a scheduler that runs. ``slurm`` starts one here, and a Slurm job with a worker on each node.
Any worker simulates points. A sweep that measures runs once on each host that has a worker.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import phicoll._core as _core
from phicoll import bench
from phicoll.errors import ArgumentError, BrokenGroupError, Error, ResourceError
from phicoll.foundations.checks import check_whole
from phicoll.foundations.extras import extra
from phicoll.foundations.files import Appended, temporary_folder, writing
from phicoll.foundations.nearest import near
from phicoll.measuring.hosts import name_host
from phicoll.results import Results, load
from phicoll.results.reading.records import Record

__all__ = ["Cluster", "ClusterPlan", "check_executor", "opened"]

#: What a host measured, and the error that ended it.
Measured = tuple[list[Record], Exception | None]
#: Hosts and their errors.
Failures = list[tuple[str, Exception]]

FORMS = "dask:ADDRESS, or slurm with nodes=, partition=, account= and minutes= after colons"
CONNECT_S = 10.0
LOG = "phicoll-%j.log"  # what the job prints
RESULT_S = 60.0  # for the records of a host that has ended
WAIT_S = 1.0  # between looks at workers, whose scheduler may share a CPU with what is measured
ASK_S = 20.0  # between questions to Slurm
MOST_FAILURES = 30  # questions in a row without an answer, in 10 minutes or more
FORGOTTEN = "Invalid job id"  # what squeue says of a job that ended some minutes ago
MINUTES = 60
#: Keys of ``slurm`` with a number, and its default; and with a text.
COUNTS, TEXTS = {"nodes": 1, "minutes": MINUTES}, ("partition", "account")


def check_executor(executor: Any) -> None:
    """Refuse what is neither an executor of ``concurrent.futures`` nor a text of a known form. Does not connect."""
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
        if key in COUNTS and not value.isdecimal():
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
        """The addresses of the workers that are there.

        Raises ResourceError if the scheduler or all workers are gone: submitted tasks would wait for ever.
        """
        if self.client.status != "running":
            raise ResourceError(f"{self.address}: the scheduler is gone")
        try:
            found = set(self.client.scheduler_info(n_workers=-1)["workers"])
        except (OSError, RuntimeError) as error:  # it has just gone
            raise ResourceError(f"{self.address}: the scheduler is gone") from error
        if not found:
            raise ResourceError(f"{self.address}: no worker is left: their jobs or hosts have ended")
        return found

    def hosts(self) -> dict[str, str]:
        """A worker of each host, by the host's name.

        Raises ResourceError if a worker cannot import phicoll, or has another version than this host.
        """
        here = _core.__version__
        try:
            there = self.client.run(identify)
        except Exception as error:
            raise ResourceError(
                f"{self.address}: a worker has ended, or cannot use phicoll: {type(error).__name__}: {error}"
            ) from error
        for name, version in there.values():
            if version != here:
                raise ResourceError(f"{self.address}: phicoll is {version} on {name} and {here} here")
        return dict(sorted((name, address) for address, (name, _) in there.items()))

    def on_each_host(self, hosts: dict[str, str], task: Callable[[], Any]) -> Iterator[tuple[str, Any]]:
        """Run ``task`` once on each of the hosts, at the same time.

        Yields each host's name with the result, or the exception, in the order in which they end.
        """
        running = {
            name: (address, self.client.submit(task, workers=[address], pure=False))
            for name, address in hosts.items()
        }
        try:
            while running:
                end: Exception = ResourceError("its worker has ended")
                try:
                    workers = self.workers()
                except ResourceError as error:  # what has arrived is taken all the same
                    workers, end = set(), error
                for name, (address, future) in list(running.items()):
                    if future.done() or address not in workers:
                        del running[name]
                        yield name, outcome(future, end)
                if running:
                    time.sleep(WAIT_S)
        finally:
            for _, future in running.values():
                future.cancel()


def outcome(future: Any, end: Exception) -> Any:
    """The result of a Dask future whose task has ended, or its exception; ``end`` if its worker ended before."""
    if not future.done() or future.cancelled():
        return end
    try:
        return future.result(timeout=RESULT_S)
    except Exception as error:
        return error


class ClusterPlan:
    """A sweep that runs on each host of a cluster. Each host checks the arguments, as it knows its CPUs."""

    def __init__(self, task: Callable[[], Measured], output: Path | None, executor: str) -> None:
        self.task = task
        self.output = output
        self.executor = executor

    def run(self, progress: bench.Progress | None = None) -> Results:
        """Measure on all hosts at the same time, and gather their records: points name their host as ``machine``.

        A host that fails does not stop the others. Its error is raised when all have ended. Ctrl-C returns what hosts
        that have ended measured, as interrupted.
        """
        if self.output is None:
            return self.gathered(None, progress)
        with Appended(self.output, "save") as file:
            if file.begun:
                load(self.output)  # refuses to append to a file that is not phicoll's
            return self.gathered(file, progress)

    def gathered(self, file: Appended | None, progress: bench.Progress | None) -> Results:
        found = Results([])
        failed: Failures = []
        with opened(self.executor) as cluster:
            assert isinstance(cluster, Cluster)
            hosts = cluster.hosts()
            try:
                for done, (name, one) in enumerate(cluster.on_each_host(hosts, self.task)):
                    if progress is not None:
                        progress(done + 1, len(hosts), f"{name} has ended")
                    records, error = one if isinstance(one, tuple) else ([], one)
                    if error is not None:
                        failed.append((name, error))
                    found += self.keep(name, records, file)
            except KeyboardInterrupt:
                if failed:
                    bench.note(f"phicoll: {of_hosts(failed)}\n", progress)
                if not found.contexts:
                    raise
                end = {"schema": 1, "kind": "end", "run": found.contexts[-1]["run"], "reason": "interrupted"}
                return found + self.keep("", [end], file)
        if failed:
            failure = of_hosts(failed)
            failure.results = found
            raise failure
        return found

    def keep(self, name: str, records: list[Record], file: Appended | None) -> Results:
        """The records of a host, which are written too."""
        for record in records:
            name_host(record, name)
        if file is not None:
            file.write(json.dumps(record, separators=(",", ":")) for record in records)
        return Results(records, source=str(self.output or ""))


def of_hosts(failed: Failures) -> Error:
    """The errors of hosts as one error, which names the hosts."""
    refused = [(name, error) for name, error in failed if isinstance(error, ArgumentError)]
    if len(refused) == len(failed) and len({(error.argument, error.got) for _, error in refused}) == 1:
        allowed = by_text((name, error.allowed) for name, error in refused)
        first = refused[0][1]
        said = "; ".join(f"{text} (on {names})" for text, names in allowed.items())
        return ArgumentError(first.argument, first.got, said)
    texts = by_text((name, str(error) or type(error).__name__) for name, error in failed)
    broken = any(isinstance(error, BrokenGroupError) for _, error in failed)
    kind = BrokenGroupError if broken else ResourceError
    return kind("; ".join(f"{names}: {text}" for text, names in texts.items()))


def by_text(said: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The names of the hosts that say the same, "one, two", by what they say."""
    names: dict[str, list[str]] = {}
    for name, text in said:
        names.setdefault(text, []).append(name)
    return {text: ", ".join(hosts) for text, hosts in names.items()}


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
        with extra("cluster"):
            import distributed
        if kind == "dask":
            client = connect(distributed, rest)
            stack.callback(client.close)
            if not client.scheduler_info(n_workers=-1)["workers"]:
                raise ResourceError(f"executor: the scheduler at {rest} has no workers")
        else:
            client = start_job(stack, distributed, slurm_values(rest))
        cluster = Cluster(client, executor)
        cluster.hosts()  # refuses workers that cannot use phicoll
        yield cluster


def client_of(distributed: Any, scheduler: Any, **options: Any) -> Any:
    """A client that is not Dask's default. One that cannot connect is closed at once.

    Dask leaves it to the garbage collector. That may run while another client starts, in either of its threads, and the
    close then waits for a lock which the start holds.
    """
    client = distributed.Client.__new__(distributed.Client)
    try:
        client.__init__(scheduler, set_as_default=False, **options)
    except BaseException:
        with contextlib.suppress(AttributeError):  # it failed before it had anything to close
            client.close()
        raise
    return client


def connect(distributed: Any, address: str) -> Any:
    """A client of the scheduler at an address."""
    try:
        distributed.comm.resolve_address(address)  # refuses at once what a client would need 20 s to give up
        return client_of(distributed, address, timeout=CONNECT_S)
    except (OSError, TypeError, ValueError) as error:  # TypeError: tls:// without certificates
        reason = str(error) or type(error).__name__
        raise ResourceError(f"executor: no Dask scheduler answers at {address}: {reason}") from error


def start_job(stack: contextlib.ExitStack, distributed: Any, values: dict[str, Any]) -> Any:
    """A client of a scheduler that starts here, with a worker on each node of a Slurm job.

    Whoever can send tasks to a scheduler or a worker runs programs as this user, so each end of a connection shows a
    certificate of this run. The job has its nodes to itself. Waits until it runs, with no limit, but not for a Slurm
    that no longer answers; Ctrl-C and SIGTERM cancel the job.
    """
    if shutil.which("sbatch") is None:
        raise ResourceError("executor: slurm needs sbatch, which is not on the PATH")
    stack.enter_context(ended_in_order())
    with extra("cluster"):
        import cryptography  # noqa: F401 (Dask makes certificates by it)
    security = distributed.Security.temporary()
    words = stack.enter_context(certificate_words(security))
    scheduler = stack.enter_context(
        distributed.LocalCluster(
            n_workers=0,
            host="0.0.0.0",
            security=security,
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            silence_logs=50,
        )
    )
    # What Dask serves without its dashboard tells every user of this host about the job, too.
    scheduler.scheduler.http_server.stop()
    client = stack.enter_context(client_of(distributed, scheduler))
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", scheduler.scheduler_address, *words]
    # Without a limit, as the job has all of its nodes' memory: Dask would take Slurm's RealMemory, which is 1 MB where
    # slurm.conf names none, and restart its workers for ever.
    worker += ["--nthreads", "0", "--no-dashboard", "--death-timeout", "60", "--memory-limit", "0"]
    options = [f"--{key}={values[key]}" for key in TEXTS if key in values]
    options += [
        f"--nodes={values['nodes']}",
        f"--time={values['minutes']}",
        "--ntasks-per-node=1",
        "--exclusive",
    ]
    options += ["--mem=0", "--job-name=phicoll", f"--output={LOG}"]
    environment = {**os.environ, "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False"}
    environment["DASK_DISTRIBUTED__WORKER__HTTP__ROUTES"] = "[]"  # nor do the workers serve any page
    told = slurm("sbatch", "--parsable", *options, "--wrap", shlex.join(["srun", *worker]), env=environment)
    if told.returncode != 0:
        raise ResourceError(f"executor: {told.stderr.strip().partition(chr(10))[0]}")
    job = told.stdout.strip().partition(";")[0]
    stack.callback(slurm, "scancel", job)
    bench.note(f"phicoll: waiting for the Slurm job {job}\n", None)
    log, state, failures, asked = LOG.replace("%j", job), "", 0, time.monotonic()
    while (workers := len(client.scheduler_info(n_workers=-1)["workers"])) < values["nodes"]:
        time.sleep(WAIT_S)
        if time.monotonic() - asked > ASK_S:
            asked = time.monotonic()
            told = slurm("squeue", "--noheader", "--format=%i %T (%r)", "--jobs", job)
            gone = FORGOTTEN in told.stderr
            if told.returncode != 0 and not gone:  # Slurm is busy, or starts anew
                failures += 1
                if failures == MOST_FAILURES:
                    raise ResourceError(
                        f"executor: waiting for the Slurm job {job}, squeue failed {failures} times: "
                        f"{told.stderr.strip()}"
                    )
                continue
            failures = 0
            number, _, found = told.stdout.strip().partition(" ")
            if gone or number != job:
                raise ResourceError(
                    f"executor: the Slurm job {job} ended before its workers started; see {log}"
                )
            if found.startswith("RUNNING"):
                found = f"RUNNING, and {workers} of {values['nodes']} workers have connected; see {log}"
            if found != state:
                state = found
                bench.note(f"phicoll: the Slurm job {job} is {state}\n", None)
    return client


@contextlib.contextmanager
def certificate_words(security: Any) -> Iterator[list[str]]:
    """What a worker's command line says of its certificate and key: files that only this user can read, for a while.

    They are in the working folder, which the nodes see.
    """
    with temporary_folder("the workers' certificate", Path.cwd()) as folder:
        words = []
        for option, text in (
            ("--tls-ca-file", security.tls_ca_file),
            ("--tls-cert", security.tls_worker_cert),
            ("--tls-key", security.tls_worker_key),
        ):
            path = folder / f"{option[2:]}.pem"
            with writing(path):
                path.touch(0o600)
                path.write_text(text, encoding="ascii")
            words += [option, str(path)]
        yield words


@contextlib.contextmanager
def ended_in_order() -> Iterator[None]:
    """SIGTERM, which would end this program at once, raises SystemExit meanwhile."""
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    ):
        yield
        return
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def slurm(*command: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, env=env)
