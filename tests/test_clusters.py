"""Sweeps on a cluster: executors by name, on a Dask cluster of this machine and on Slurm where it is set up."""

import contextlib
import gc
import os
import shutil
import signal
import socket
import ssl
import stat
import subprocess
import sys
import time
from concurrent.futures import Future
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

import phicoll
from phicoll import _core
from phicoll.measuring import clusters
from phicoll.measuring.clusters import Cluster, check_executor, of_hosts, opened, slurm_values
from phicoll.models.tuning import tune

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

FEW = {"machine": "xeon-phi-5110p", "ranks": 13, "calls": 3, "rounds": 2}
HERE = {"ranks": 2, "budget_s": "none", "launches": 1, "rounds": 2, "seed": 3}


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as found:
        yield found


@pytest.fixture
def address(cluster):
    return f"dask:{cluster.scheduler_address}"


def cycles(results):
    return [sample["cycles"] for sample in results.samples]


def test_simulated_points_are_those_of_one_host(address):
    options = {"algorithm": "tree,dissemination", "definition": "loop", **FEW}
    assert cycles(phicoll.sweep(executor=address, **options)) == cycles(phicoll.sweep(**options))


def test_a_host_with_two_workers_measures_once_and_names_itself(address, tmp_path):
    path = tmp_path / "r.jsonl"
    found = phicoll.sweep(algorithm="auto", executor=address, save=path, **HERE)
    name = clusters.identify()[0]
    assert len(found.contexts) == 1
    assert found.contexts[0]["host"]["name"] == name
    assert {point["machine"] for point in found.points} == {name}
    assert found.samples
    assert name in str(found.compare())
    assert phicoll.load(path).records == found.records


def test_another_run_is_appended_and_hosts_are_kept_apart(address, tmp_path):
    path = tmp_path / "r.jsonl"
    phicoll.sweep(algorithm="auto", save=path, **HERE)
    phicoll.sweep(algorithm="auto", executor=address, save=path, **HERE)
    both = phicoll.load(path)
    assert len(both.contexts) == 2
    assert {row.subject.machine for row in both.compare().rows} == {"host", clusters.identify()[0]}


def test_what_a_host_refuses_is_refused(address):
    with pytest.raises(
        phicoll.ArgumentError, match=rf"ranks: got 999; allowed.*\(on {clusters.identify()[0]}\)"
    ):
        phicoll.sweep(algorithm="auto", executor=address, ranks=999)


def test_tuning_simulates_on_the_cluster(address):
    options = {"machine": "xeon-phi-5110p", "ranks": 4, "rounds": 2, "algorithm": "tree"}
    there, here = (tune("barrier", executor=where, **options) for where in (address, None))
    assert [one.rule for one in there.decisions] == [one.rule for one in here.decisions]
    with pytest.raises(phicoll.ArgumentError, match=r"executor: .*only with a machine"):
        tune("barrier", executor=address)


def end_worker():
    os._exit(1)


def test_a_host_whose_worker_ends_is_an_error_and_no_wait():
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as mine,
        opened(f"dask:{mine.scheduler_address}") as there,
    ):
        try:
            [found] = dict(there.on_each_host(there.hosts(), end_worker)).values()
        except phicoll.ResourceError as error:  # no other worker has come by then
            found = error
    assert isinstance(found, phicoll.ResourceError)
    assert "ended" in str(found)


class Interrupted:
    """Two hosts, of which the first has ended when Ctrl-C comes."""

    def hosts(self):
        return {"first": "", "second": ""}

    def on_each_host(self, hosts, task):
        assert list(hosts) == ["first", "second"]
        yield "first", task()
        raise KeyboardInterrupt


def test_an_interrupted_sweep_keeps_the_hosts_that_have_ended(monkeypatch, tmp_path):
    @contextlib.contextmanager
    def two_hosts(executor):
        yield Interrupted()

    monkeypatch.setattr(clusters, "Cluster", Interrupted)
    monkeypatch.setattr(clusters, "opened", two_hosts)
    path = tmp_path / "r.jsonl"
    with pytest.warns(phicoll.PhicollWarning, match="interrupted"):
        found = phicoll.sweep(algorithm="auto", executor="dask:there", save=path, **HERE)
    assert found.interrupted
    assert {point["machine"] for point in found.points} == {"first"}
    assert phicoll.load(path).interrupted


class Client:
    """Dask's, of two hosts, of which the first has answered when the scheduler ends."""

    status = "closed"

    def get_executor(self):
        return None

    def submit(self, task, workers, pure):
        found = Future()
        if workers == ["a"]:
            found.set_result(task())
        return found

    def run(self, task):
        raise OSError("the worker at a does not answer")


def test_what_has_arrived_is_kept_when_the_scheduler_ends():
    there = Cluster(Client(), "dask:there")
    first, second = there.on_each_host({"one": "a", "two": "b"}, lambda: 7)
    assert first == ("one", 7)
    assert second[0] == "two"
    assert "the scheduler is gone" in str(second[1])


def test_a_worker_that_ends_before_it_names_its_host_is_an_error_of_phicoll():
    with pytest.raises(phicoll.ResourceError, match=r"dask:there: a worker has ended.*does not answer"):
        Cluster(Client(), "dask:there").hosts()


class Failing:
    """Three hosts, of which one measures."""

    def hosts(self):
        return {"one": "", "two": "", "three": ""}

    def on_each_host(self, hosts, task):
        yield "two", ([], phicoll.ResourceError("no memory"))
        yield "one", task()
        yield "three", phicoll.ResourceError("no memory")


def test_the_errors_of_all_hosts_are_told_and_what_was_measured_is_kept(monkeypatch):
    @contextlib.contextmanager
    def three_hosts(executor):
        yield Failing()

    monkeypatch.setattr(clusters, "Cluster", Failing)
    monkeypatch.setattr(clusters, "opened", three_hosts)
    with pytest.raises(phicoll.ResourceError, match=r"^two, three: no memory$") as caught:
        phicoll.sweep(algorithm="auto", executor="dask:there", **HERE)
    assert {point["machine"] for point in caught.value.results.points} == {"one"}


def test_errors_of_several_hosts_are_one():
    few, more = (phicoll.ArgumentError("ranks", "9", f"1 to {most}") for most in (2, 4))
    refused = of_hosts([("a", few), ("b", more), ("c", few)])
    assert isinstance(refused, phicoll.ArgumentError)
    assert str(refused) == "ranks: got 9; allowed: 1 to 2 (on a, c); 1 to 4 (on b)"
    broken = of_hosts([("a", few), ("b", phicoll.BrokenGroupError("rank 1 died"))])
    assert isinstance(broken, phicoll.BrokenGroupError)
    assert str(broken) == "a: ranks: got 9; allowed: 1 to 2; b: rank 1 died"


def test_records_are_not_appended_to_a_file_of_others(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_text("a diary\n")
    with pytest.raises(phicoll.ArgumentError):
        phicoll.sweep(algorithm="auto", executor="dask:127.0.0.1:9", save=path)
    assert path.read_text() == "a diary\n"


def test_workers_with_another_version_are_refused(address, monkeypatch):
    monkeypatch.setattr(_core, "__version__", "0.0.0")
    with pytest.raises(phicoll.ResourceError, match=r"phicoll is .* and 0\.0\.0 here"), opened(address):
        pass


def test_a_scheduler_without_workers_is_refused():
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=":0") as empty,
        pytest.raises(phicoll.ResourceError, match="has no workers"),
        opened(f"dask:{empty.scheduler_address}"),
    ):
        pass


def test_no_scheduler_is_refused(monkeypatch):
    monkeypatch.setattr(clusters, "CONNECT_S", 0.5)
    with pytest.raises(phicoll.ResourceError, match=r"no Dask scheduler answers at 127\.0\.0\.1:9"):
        phicoll.sweep(algorithm="auto", executor="dask:127.0.0.1:9")


def test_a_client_that_cannot_connect_is_closed_and_not_left_to_the_garbage_collector():
    with pytest.raises(OSError, match="connect"):
        clusters.client_of(distributed, "tcp://127.0.0.1:9", timeout=0.1)
    refused = [one for one in gc.get_objects() if isinstance(one, distributed.Client)]
    assert {one.status for one in refused if one.status != "running"} == {"closed"}


def test_an_address_without_a_port_is_refused_at_once(monkeypatch):
    monkeypatch.setattr(distributed, "Client", None)
    with pytest.raises(phicoll.ResourceError, match="answers at nonsense: missing port number"):
        phicoll.sweep(algorithm="auto", executor="dask:nonsense")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("dusk:here", "got 'dusk:here'; allowed: dask:ADDRESS, or slurm"),
        ("dask", "got 'dask'; allowed: dask:ADDRESS"),
        ("slurm:node=2", "slurm with 'node=2'; allowed: nearest: nodes"),
        ("slurm:nodes", "allowed: nodes=VALUE"),
        ("slurm:nodes=two", "a whole number from 1 on"),
        ("slurm:nodes=\u00b2", "a whole number from 1 on"),
        ("slurm:nodes=0", "got 0"),
    ],
)
def test_texts_that_name_no_executor_are_refused(text, words):
    with pytest.raises(phicoll.ArgumentError, match="executor") as caught:
        check_executor(text)
    assert words in str(caught.value)


def test_a_measured_sweep_of_a_cluster_is_not_resumed(tmp_path):
    with pytest.raises(phicoll.ArgumentError, match="resume"):
        phicoll.sweep(executor="slurm", resume=True, save=tmp_path / "r.jsonl")


def test_the_keys_of_slurm():
    assert slurm_values("nodes=2:partition=short:minutes=90") == {
        "nodes": 2,
        "minutes": 90,
        "partition": "short",
    }


def test_slurm_is_told_to_be_missing(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(phicoll.ResourceError, match="sbatch, which is not on the PATH"):
        phicoll.sweep(executor="slurm")


@pytest.mark.parametrize(
    ("number", "status"), [pytest.param(signal.SIGINT, 130, marks=pytest.mark.long), (signal.SIGTERM, 143)]
)
def test_a_signal_cancels_the_slurm_job(number, status, tmp_path):
    for name, text in {
        "sbatch": "echo 17",
        "srun": "",
        "scancel": f"echo $* >> {tmp_path}/cancelled",
    }.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o700)
    process = subprocess.Popen(
        [sys.executable, "-m", "phicoll", "run", "barrier", "--executor", "slurm"],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    assert "waiting for the Slurm job 17" in process.stderr.readline()
    process.send_signal(number)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == status, said
    assert (tmp_path / "cancelled").read_text() == "17\n"


@pytest.fixture
def made_up_slurm(tmp_path, monkeypatch):
    """Programs with the names of Slurm's, which run a job here at once."""

    def make(**programs):
        for name, text in programs.items():
            (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
            (tmp_path / name).chmod(0o700)

    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    make(
        sbatch='for word; do :; done; sh -c "exec $word" >log 2>&1 & echo $! >job; echo 17',
        srun='exec "$@"',
        scancel="kill $(cat job)",
    )
    yield make
    if (tmp_path / "job").exists():
        number, end = int((tmp_path / "job").read_text()), time.monotonic() + 20
        while Path(f"/proc/{number}").exists() and time.monotonic() < end:
            time.sleep(0.05)
        assert not Path(f"/proc/{number}").exists()


def test_only_who_has_a_job_s_certificate_can_use_its_scheduler(made_up_slurm, tmp_path):
    def answers(port):
        for page in ("health", "metrics", "info/main/workers.html"):
            try:
                with urlopen(f"http://127.0.0.1:{port}/{page}", timeout=5) as answer:
                    yield answer.status
            except HTTPError as error:
                yield error.code

    with opened("slurm") as there:
        address = there.client.scheduler.address
        assert address.startswith("tls://")
        assert all(worker.startswith("tls://") for worker in there.workers())
        [folder] = tmp_path.glob(".phicoll-*")
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}
        strange = distributed.Security.temporary()
        for where, security in ((address.replace("tls", "tcp"), None), (address, strange)):
            with pytest.raises(OSError, match=r"(?i)connect|certificate"):
                clusters.client_of(distributed, where, security=security, timeout=2)
        careless = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        careless.check_hostname, careless.verify_mode = False, ssl.CERT_NONE
        where = urlsplit(address)
        with (
            pytest.raises(OSError, match=r"(?i)certificate.required"),
            socket.create_connection((where.hostname, where.port)) as plain,
            careless.wrap_socket(plain) as one,
        ):
            one.recv(1)
        with pytest.raises(phicoll.ResourceError, match="answers at tls://"), opened(f"dask:{address}"):
            pass  # nor does phicoll itself without a certificate
        tls = "distributed.comm.tls."
        named = {"ca-file": "tls-ca-file", "client.cert": "tls-cert", "client.key": "tls-key"}
        configured = {tls + key: str(folder / f"{name}.pem") for key, name in named.items()}
        with dask.config.set(configured), opened(f"dask:{address}") as other:
            assert other.workers() == there.workers()
        assert there.submit(len, "abc").result() == 3
        for service in there.client.cluster.scheduler.services.values():  # no page without a certificate
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", service.port), timeout=5)
        [port] = there.client.run(lambda dask_worker: dask_worker.http_server.port).values()
        assert list(answers(port)) == [404, 404, 404]
    assert not folder.exists()


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("slurm_load_jobs error: Invalid job id specified", "job 17 ended before its workers started"),
        ("squeue: error: no controller", "squeue failed 3 times: squeue: error: no controller"),
    ],
)
def test_a_job_that_slurm_does_not_know_is_not_waited_for(said, words, made_up_slurm, monkeypatch):
    made_up_slurm(sbatch="echo 17", scancel="", squeue=f"echo '{said}' >&2; exit 1")
    monkeypatch.setattr(clusters, "ASK_S", 0)
    monkeypatch.setattr(clusters, "WAIT_S", 0.01)
    monkeypatch.setattr(clusters, "MOST_FAILURES", 3)
    with pytest.raises(phicoll.ResourceError, match=words), opened("slurm"):
        pass


def has_slurm():
    if shutil.which("sinfo") is None:
        return False
    try:
        return subprocess.run(["sinfo", "-h", "-t", "idle"], capture_output=True, timeout=10).stdout
    except subprocess.TimeoutExpired:
        return False


@pytest.mark.skipif("not has_slurm()")
def test_slurm_measures_on_a_node_and_cancels_its_job(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = phicoll.sweep(algorithm="auto", executor="slurm:minutes=2", **HERE)
    assert len(found.contexts) == 1
    assert found.samples
    with pytest.raises(phicoll.ResourceError, match="invalid partition"):
        phicoll.sweep(algorithm="auto", executor="slurm:partition=none", **HERE)
