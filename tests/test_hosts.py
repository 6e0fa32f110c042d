"""sweep(host=): against an sshd on this machine, with this user's own key and a port of its own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import phicoll
from conftest import Run
from phicoll import bench
from phicoll.measuring.sweeps import plan
from phicoll.results.results import from_lines

SSHD = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
QUICK = {
    "algorithm": "dissemination",
    "ranks": 2,
    "budget_s": "none",
    "launches": 1,
    "rounds": 2,
    "oversubscribe": True,
}
CONTEXT = json.dumps({"schema": 1, "kind": "context", "run": "a", "phicoll": "results"})
END = json.dumps({"schema": 1, "kind": "end", "run": "a", "reason": "interrupted"})


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[subprocess.Popen[bytes]]:
    """A server for this user alone. ``ssh mic0`` logs in there; ``stranger`` has no key, ``nowhere`` no server."""
    if SSHD is None or shutil.which("ssh") is None or shutil.which("ssh-keygen") is None:
        pytest.skip("needs OpenSSH's sshd, ssh and ssh-keygen")
    folder = tmp_path_factory.mktemp("sshd")
    for name in ("own", "server", "full", "other"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "sshd_config").write_text(
        f"ListenAddress 127.0.0.1:{port}\nHostKey {folder}/server\nAuthorizedKeysFile {folder}/keys\n"
        "StrictModes no\nPasswordAuthentication no\nPidFile none\n"
    )
    key = " ".join((folder / "server.pub").read_text().split()[:2])
    (folder / "known").write_text(f"[127.0.0.1]:{port} {key}\n")
    tar = folder / "tar"
    tar.write_text("#!/bin/sh\necho tar: phicoll-bench: No space left on device >&2\nexit 2\n")
    tar.chmod(0o755)
    own, full = ((folder / f"{name}.pub").read_text() for name in ("own", "full"))
    full = f'command="export PATH={folder}:$PATH; eval \\"$SSH_ORIGINAL_COMMAND\\"" {full}'
    (folder / "keys").write_text(own + full)
    (folder / "config").write_text(
        f"Host nowhere\n  Port 1\nHost full\n  IdentityFile {folder}/full\nHost stranger\n  IdentityFile {folder}/other\n"
        f"Host mic0\n  IdentityFile {folder}/own\n"
        f"Host *\n  HostName 127.0.0.1\n  Port {port}\n  IdentitiesOnly yes\n"
        f"  UserKnownHostsFile {folder}/known\n  GlobalKnownHostsFile /dev/null\n"
    )
    before = os.environ.get("PHICOLL_SSH")
    # Where a server of root's keeps its half without rights; a service would make it.
    empty = Path("/run/sshd")
    made = os.geteuid() == 0 and not empty.exists()
    if made:
        empty.mkdir(mode=0o755)
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen([SSHD, "-D", "-e", "-f", folder / "sshd_config"], stderr=log)
    try:
        while server.poll() is None and "Server listening" not in (folder / "log").read_text():
            time.sleep(0.01)
        if server.poll() is not None:
            pytest.fail(f"sshd does not start: {(folder / 'log').read_text()}")
        os.environ["PHICOLL_SSH"] = f"ssh -F {folder}/config"
        yield server
    finally:
        os.environ.pop("PHICOLL_SSH", None)
        if before is not None:
            os.environ["PHICOLL_SSH"] = before
        server.kill()
        server.wait()
        if made:
            empty.rmdir()


@pytest.fixture
def stand_in(sshd: subprocess.Popen[bytes], tmp_path: Path) -> Callable[[str], Path]:
    """Writes a shell script in phicoll-bench's place, which says where it runs and begins a run."""

    def write(script: str) -> Path:
        path = tmp_path / "phicoll-bench"
        path.write_text(f"#!/bin/sh\necho $0 >{tmp_path}/where\necho '{CONTEXT}'\n{script}\n")
        path.chmod(0o755)
        return path

    return write


def where(tmp_path: Path) -> Path:
    """The folder in which the stand-in ran, which is not to be there any more."""
    folder = Path((tmp_path / "where").read_text().strip()).parent
    assert folder.parent == Path("/tmp")
    assert folder.name.startswith("phicoll-")
    return folder


def expect_gone(folder: Path) -> None:
    """The host removes it once the connection has ended, which may take it a moment."""
    for _ in range(3000):
        if not folder.exists():
            return
        time.sleep(0.01)
    pytest.fail(f"{folder} is still there")


def test_a_sweep_runs_on_another_host_and_goes_on_there(
    sshd: subprocess.Popen[bytes], phicoll_command: Run, tmp_path: Path
) -> None:
    """The native program in the card's place."""
    path = tmp_path / "r.jsonl"
    results = phicoll.sweep(host="mic0", host_bench=bench.find().parent, save=path, **QUICK)
    assert {point["machine"] for point in results.points} == {"mic0"}
    assert [context["host"]["name"] for context in results.contexts] == ["mic0"]
    assert len(results.samples) == 4
    lines = path.read_text().splitlines()
    assert phicoll.load(path).records == results.records

    cut = [number for number, line in enumerate(lines) if kind_of(line) == "sample"][1] + 1
    path.write_text("\n".join(lines[:cut]) + "\n")  # the connection was lost after the first round
    done = phicoll_command("run", "barrier", "--host", "mic0", "--resume", "-o", path, *words())
    assert done.returncode == 0, done.stderr
    again = phicoll.load(path)
    assert len(again.contexts) == 1
    assert len(again.samples) == 4
    assert {point["machine"] for point in again.points} == {"mic0"}

    for host, allowed in (("stranger", "a run of 'stranger'"), (None, "--host mic0")):
        with pytest.raises(phicoll.ArgumentError, match="resume: got a run of the host 'mic0'") as caught:
            phicoll.sweep(host=host, save=path, resume=True, **QUICK)
        assert allowed.removeprefix("--") in caught.value.allowed


def words() -> list[str]:
    return [
        word
        for name, value in QUICK.items()
        for word in ([f"--{name.removesuffix('_s')}"] + ([] if value is True else [str(value)]))
    ]


@pytest.mark.parametrize(
    ("host", "said"),
    [
        ("nowhere", "nowhere: ssh cannot log in: .*Connection refused"),
        ("stranger", "stranger: ssh cannot log in: .*Permission denied.*`ssh stranger true` has to work"),
        (
            "full",
            r"full: phicoll-bench \(\d+\.\d MB\) cannot be stored in /tmp, .* full: tar: .*No space left on device",
        ),
    ],
)
def test_what_keeps_the_program_from_its_host_is_said(
    sshd: subprocess.Popen[bytes], host: str, said: str
) -> None:
    with pytest.raises(phicoll.ResourceError, match=said) as caught:
        phicoll.sweep(host=host, **QUICK)
    assert caught.value.results is None


def test_a_program_for_another_machine_is_refused(sshd: subprocess.Popen[bytes], tmp_path: Path) -> None:
    path = tmp_path / "phicoll-bench"
    path.write_bytes(b"\x7fELF" + bytes(14) + (181).to_bytes(2, "little") + bytes(44))
    with pytest.raises(phicoll.ArgumentError) as caught:
        phicoll.sweep(host="mic0", host_bench=path, **QUICK)
    assert (
        str(caught.value)
        == f"host_bench: got a program for k1om; allowed: one for {os.uname().machine}, as mic0 is"
    )


def test_an_end_of_the_program_there_is_told(stand_in: Callable[[str], Path], tmp_path: Path) -> None:
    refused = "echo 'phicoll-bench: ranks: got 999; allowed: 1 to 240' >&2; exit 2"
    with pytest.raises(phicoll.ArgumentError, match=r"^ranks: got 999; allowed: 1 to 240 \(on mic0\)$"):
        phicoll.sweep(host="mic0", host_bench=stand_in(refused), **QUICK)
    with pytest.raises(phicoll.BrokenGroupError, match=r"ended by SIGSEGV \(on mic0\)") as caught:
        phicoll.sweep(host="mic0", host_bench=stand_in("kill -SEGV $$"), **QUICK)
    assert len(caught.value.results.contexts) == 1
    expect_gone(where(tmp_path))


def test_a_lost_connection_ends_both_sides_and_keeps_what_came(
    sshd: subprocess.Popen[bytes], stand_in: Callable[[str], Path], tmp_path: Path
) -> None:
    path = stand_in(
        f"trap 'echo ended >{tmp_path}/ended; exit 130' TERM\necho progress: 1 2 x >&2\nsleep 60 & wait"
    )

    def lose(done: int, *_: object) -> None:
        if done:
            children = Path(f"/proc/{sshd.pid}/task/{sshd.pid}/children").read_text()
            for child in children.split():
                os.kill(int(child), signal.SIGKILL)

    with pytest.raises(phicoll.BrokenGroupError, match="mic0: the connection was lost: ") as caught:
        plan("barrier", host="mic0", host_bench=path, save=tmp_path / "r.jsonl", **QUICK).run(lose)
    assert len(caught.value.results.contexts) == 1
    expect_gone(where(tmp_path))
    assert (tmp_path / "ended").exists()


def test_ctrl_c_ends_the_program_there(stand_in: Callable[[str], Path], tmp_path: Path) -> None:
    path = stand_in(
        f"trap \"echo '{END.replace(chr(34), chr(92) * 3 + chr(34))}'; exit 130\" TERM\n"
        "echo progress: 1 2 x >&2\nsleep 60 & wait"
    )

    def press(done: int, *_: object) -> None:
        if done:
            os.kill(os.getpid(), signal.SIGINT)

    results = plan("barrier", host="mic0", host_bench=path, **QUICK).run(press)
    assert results.interrupted
    expect_gone(where(tmp_path))


def test_phicoll_bench_goes_on_with_the_run_at_its_standard_input(tmp_path: Path) -> None:
    """As it does on a host, whose disk may have no room for the records."""
    path = tmp_path / "r.jsonl"
    line = [bench.find(), "run", "barrier", *words()]
    lines = subprocess.run(line, capture_output=True, text=True, check=True).stdout.splitlines()
    cut = [number for number, line in enumerate(lines) if kind_of(line) == "sample"][1] + 1
    path.write_text("\n".join(lines[:cut]) + "\n")
    with path.open() as file:
        rest = subprocess.run(
            [*line, "--resume"], stdin=file, capture_output=True, text=True, check=True
        ).stdout
    assert [kind for kind in map(kind_of, rest.splitlines()) if kind in ("context", "end")] == ["end"]
    assert len(from_lines([*lines[:cut], *rest.splitlines()], "both").samples) == 4
    none = subprocess.run(
        [*line, "--resume"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert (none.returncode, "resume: got '/dev/stdin'" in none.stderr) == (2, True), none.stderr


def kind_of(line: str) -> str:
    return json.loads(line)["kind"]


@pytest.mark.parametrize("name", ["", "-oProxyCommand=true", "two words", 7])
def test_a_name_that_is_no_host_s_is_refused(name: object) -> None:
    with pytest.raises(phicoll.ArgumentError, match="host: got"):
        phicoll.sweep(host=name)


def test_options_that_do_not_go_with_a_host_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for options, said in (
        ({"host_bench": "x"}, "host_bench: got 'x'; allowed: only with host"),
        ({"host": "mic0", "executor": "slurm"}, "executor: got 'slurm'; allowed: not with host"),
        ({"host": "mic0", "machine": "xeon-phi-5110p"}, "host: got 'mic0'; allowed: only without a machine"),
        ({"host": "mic0", "host_bench": "/nowhere"}, "host_bench: got '/nowhere'"),
        ({"host": "mic0", "host_bench": __file__}, "host_bench: got .*, which is no program"),
    ):
        with pytest.raises(phicoll.ArgumentError, match=said):
            phicoll.sweep(**options)
    done = subprocess.run([bench.find(), "run", "barrier", "--host", "mic0"], capture_output=True, text=True)
    assert (done.returncode, "host: got 'mic0'; allowed: phicoll run" in done.stderr) == (2, True)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    with pytest.raises(phicoll.ResourceError, match="ssh was not found"):
        phicoll.sweep(host="mic0", **QUICK)
