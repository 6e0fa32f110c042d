"""A sweep on another host that ssh can log in to, such as a Xeon Phi card.

One connection carries all: phicoll-bench, which goes into a new folder of the host's /tmp, then what it prints, as it
prints it. The host needs a shell, mkdir, head, tar and rm, and neither Python nor scp.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import secrets
import shlex
import signal
import subprocess
import tarfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phicoll import bench
from phicoll.errors import ArgumentError, BrokenGroupError, Error, ResourceError
from phicoll.foundations.checks import check_text
from phicoll.foundations.files import Appended, as_path
from phicoll.foundations.programs import on_path
from phicoll.foundations.streams import printable
from phicoll.results import load
from phicoll.results.reading.records import Record

__all__ = ["Host", "check_host", "name_host"]

#: A host that is gone is noticed within a minute. No question is asked: the program comes by the standard input.
SSH_OPTIONS = ["-T", "-oBatchMode=yes", "-oConnectTimeout=20", "-oServerAliveInterval=15", "-oLogLevel=ERROR"]
SSH_FAILED = 255
#: Exit codes of SCRIPT's own.
OTHER_MACHINE, NO_ROOM = 91, 92
BEGUN = "phicoll-bench: begun\n"
#: What ``uname -m`` prints where programs of an ELF machine run.
MACHINES = {3: "i686", 62: "x86_64", 181: "k1om", 183: "aarch64"}

#: Each line is a command. Whatever ends the connection ends the standard input, and the guard ends the program.
SCRIPT = """
case $(uname -m) in {others}) echo $(uname -m) >&2; exit {other_machine};; esac
mkdir -m 700 {folder} || exit {no_room}
trap "rm -rf {folder}" EXIT
trap "exit 1" HUP INT TERM PIPE
head -c {size} | tar -x -f - -C {folder} || exit {no_room}
echo {begun} >&2
exec 3<&0
{program} <{folder}/earlier.jsonl 3<&- & program=$!
{{ read -r line; kill -TERM $program; sleep {patience}; kill -KILL $program; }} <&3 >/dev/null 2>&1 & guard=$!
wait $program; code=$?; kill $guard; exit $code
"""


def name_host(record: Record, name: str) -> None:
    """Say in a record of another host which it is from."""
    if record["kind"] == "point":
        record["machine"] = name
    elif record["kind"] == "context":
        record["host"] = {"name": name, **(record.get("host") or {})}


def nameless(record: Record, name: str) -> Record:
    """The record as the host itself wrote it. Raises ArgumentError if another host did."""
    if record["kind"] == "point":
        return {**record, "machine": "host"}
    if record["kind"] == "context":
        host = dict(record.get("host") or {})
        found = host.pop("name", None)
        if found != name:
            whose = f"the host {found!r}" if found else "this host"
            raise ArgumentError("resume", f"a run of {whose}", f"a run of {name!r}, as host says")
        return {**record, "host": host}
    return record


@dataclass(frozen=True)
class Host:
    """A host by its name for ssh, and the phicoll-bench that runs there."""

    name: str
    program: Path
    machine: str  # as ``uname -m`` says, or ""

    def execute(
        self, arguments: Sequence[str], output: Path, progress: bench.Progress | None
    ) -> bench.Outcome:
        """Run ``phicoll-bench`` there; see :func:`phicoll.bench.run`."""
        words = list(arguments)
        if progress is not None:
            words.append("--progress")
            progress(0, 1, f"copying phicoll-bench to {self.name}")
        with Appended(output, "save") as file:
            earlier: list[Record] = []
            if file.begun:
                before = load(output)  # refuses to append to a file that is not phicoll's
                if "--resume" in words:
                    run = before.contexts[-1]["run"] if before.contexts else None
                    mine = (record for record in before.records if record.get("run") == run)
                    earlier = [nameless(record, self.name) for record in mine]
            if not earlier:
                words = [word for word in words if word != "--resume"]
            return Connection(self, file).run(words, earlier, progress)

    def archive(self, earlier: list[Record]) -> bytes:
        """The files that the program needs there: itself, the libraries beside it, the records of a run to resume."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            text = b"".join(json.dumps(record).encode() + b"\n" for record in earlier)
            add(tar, "earlier.jsonl", text)
            add(tar, "phicoll-bench", self.program.read_bytes())
            for library in libraries(self.program):
                add(tar, library.name, library.read_bytes())
        return packed.getvalue()

    def command(self, words: Sequence[str], size: int) -> list[str]:
        """What runs the program there, with an archive of ``size`` bytes at the standard input."""
        folder = f"/tmp/phicoll-{secrets.token_hex(8)}"
        others = "|".join(name for name in MACHINES.values() if name != self.machine)
        program = f"{folder}/phicoll-bench {shlex.join(words)}"
        if any(libraries(self.program)):
            program = f"LD_LIBRARY_PATH={folder} {program}"
        script = SCRIPT.format(
            others=others if self.machine else "none",
            other_machine=OTHER_MACHINE,
            no_room=NO_ROOM,
            folder=folder,
            size=size,
            begun=BEGUN.strip(),
            program=program,
            patience=round(bench.PATIENCE_S),
        )
        # On one line, as some shells take no quoted text of several.
        line = shlex.quote("; ".join(script.strip().splitlines()))
        return [*ssh_words(), *SSH_OPTIONS, "--", self.name, f"sh -c {line}"]


def ssh_words() -> list[str]:
    text = os.environ.get("PHICOLL_SSH", "")
    try:
        return shlex.split(text) or ["ssh"]
    except ValueError as error:
        raise ArgumentError("PHICOLL_SSH", repr(text), f"a command ({error})") from error


def kill(process: subprocess.Popen[bytes]) -> None:
    """End ssh, and what PHICOLL_SSH put before it: they have a session of their own."""
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)


def add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), 0o700
    tar.addfile(entry, io.BytesIO(content))


def libraries(program: Path) -> Iterator[Path]:
    """The shared libraries that were put beside the program."""
    return (path for path in sorted(program.parent.glob("lib*.so*")) if path.is_file())


class Connection:
    """A run of the program on a host, whose records are written as they arrive."""

    def __init__(self, host: Host, file: Appended) -> None:
        self.host = host
        self.file = file
        self.words: list[str] = []
        self.size = 0  # of what is copied, in bytes
        self.begun = threading.Event()
        self.failure: Error | None = None  # the records could not be written

    def run(
        self, words: Sequence[str], earlier: list[Record], progress: bench.Progress | None
    ) -> bench.Outcome:
        before = bench.size_of(self.file.path)
        archive = self.host.archive(earlier)
        self.size = len(archive)
        command = self.host.command(words, len(archive))
        if on_path(command[0]) is None:
            raise ResourceError(f"{command[0]} was not found: a host is reached by OpenSSH's client")
        process: subprocess.Popen[bytes] = bench.started_alone(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert process.stderr is not None
        stderr = io.TextIOWrapper(process.stderr, errors="replace")
        interrupted = bench.attended(
            process,
            [
                functools.partial(bench.listen, stderr, self.hear, progress),
                functools.partial(self.keep, process),
                functools.partial(send, process, archive),
            ],
            self.stop,
        )
        results = load(self.file.path) if bench.size_of(self.file.path) > before else None
        error = self.error(process.returncode)
        if error is not None and not interrupted:
            error.results = results
            raise error
        code = process.returncode
        ended_by = code - 128 if code != bench.INTERRUPTED else 0
        code = -ended_by if ended_by in set(signal.Signals) else code
        return bench.Outcome(results, code, "".join(self.words), interrupted, self.host.name)

    def hear(self, line: str) -> None:
        if line == BEGUN:
            self.begun.set()
        else:
            self.words.append(line)

    def keep(self, process: subprocess.Popen[bytes]) -> None:
        """Write the records, with the host's name. What a shell prints when it starts, and half a line, is none."""
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                if not line.startswith(b"{") or not line.endswith(b"\n"):
                    continue
                try:
                    record = json.loads(line)
                    name_host(record, self.host.name)
                    self.file.write([json.dumps(record, separators=(",", ":"))])
                except (Error, ValueError, TypeError, LookupError) as error:
                    ours = isinstance(error, Error)
                    self.failure = (
                        error if ours else BrokenGroupError(f"{self.host.name}: not a record: {line!r}")
                    )
                    kill(process)
                    return

    def stop(self, process: subprocess.Popen[bytes]) -> None:
        """End the program by the end of its standard input, and what it does not answer at once."""
        if not self.begun.is_set():
            kill(process)
        assert process.stdin is not None
        with contextlib.suppress(OSError):
            process.stdin.close()
        try:
            process.wait(bench.PATIENCE_S)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            kill(process)
            process.wait()

    def error(self, code: int) -> Error | None:
        """What went wrong around the program."""
        host, said = self.host, " ".join("".join(self.words).split())
        if self.failure is not None:
            return self.failure
        if code == OTHER_MACHINE:
            there = printable(said.split()[-1] if said else "another", one_line=True)
            return ArgumentError(
                "host_bench", f"a program for {host.machine}", f"one for {there}, as {host.name} is"
            )
        if code == NO_ROOM:
            where = f"{host.name}: phicoll-bench ({self.size / 1e6:.1f} MB) cannot be stored in /tmp, which may be full"
            return ResourceError(f"{where}: {said or 'tar failed'}")
        if code == SSH_FAILED or code < 0:
            said = said or (f"ssh was ended by signal {-code}" if code < 0 else "ssh says nothing")
            if self.begun.is_set():
                return BrokenGroupError(f"{host.name}: the connection was lost: {said}")
            return ResourceError(
                f"{host.name}: ssh cannot log in: {said}; `ssh {host.name} true` has to work without a question"
            )
        return None


def send(process: subprocess.Popen[bytes], archive: bytes) -> None:
    assert process.stdin is not None
    with contextlib.suppress(OSError, ValueError):  # what ended the connection is told by its exit code
        process.stdin.write(archive)
        process.stdin.flush()


def check_host(name: Any, program: Any) -> Host:
    """A host, and the program for it: a file or the folder that it was built in, by default this host's own.

    Raises
    ------
    ArgumentError
        The name cannot be a host's, or there is no such program.
    """
    ssh_words()
    name = check_text("host", name, "a host's name, as ssh takes it")
    if not name or name.startswith("-") or not name.isprintable() or " " in name:
        raise ArgumentError("host", repr(name), "a host's name, as ssh takes it")
    if program is None:
        found = bench.find()
    else:
        path = as_path(program, "host_bench")
        places = [path / place / "phicoll-bench" for place in (".", "src/cpp/bench", "bin")]
        found = next((one for one in places if one.is_file()), path)
    try:
        with found.open("rb") as file:
            head = file.read(20)
    except OSError as error:
        raise ArgumentError("host_bench", f"{str(found)!r} ({error.strerror})", "a phicoll-bench") from error
    if head[:2] == b"#!":
        return Host(name, found, "")
    if head[:4] != b"\x7fELF":
        raise ArgumentError("host_bench", f"{str(found)!r}, which is no program", "a phicoll-bench")
    return Host(name, found, MACHINES.get(int.from_bytes(head[18:20], "little"), ""))
