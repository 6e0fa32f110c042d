"""Barriers beside busy processes on two CPUs: phicoll's ways, MPIs, libgomp and libomp.

A round runs each subject at each point once, in random order. Ratios to the best peer of the kind are taken within
rounds. All of it is pinned to two CPUs. Also shown: the neighbours' share of the CPU that they have alone; and,
from the first round, the CPU that a rank takes while it waits for a late one, from 10 ms to 1 s and from then on.

    python benchmarks/neighbours.py [--rounds 7] [--neighbours 0,1,2,4] [--ranks 2,4] [--computing 0,20000]
        [--late-ms 3000] [--only mpi,omp,pthread,shmem,own] [--mpi4py PYTHON]

`phicoll.run` is compared with PYTHON's mpi4py.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from phicoll._core import median

SOURCES = Path(__file__).resolve().parent / "neighbours"
BUILD = Path(__file__).resolve().parent.parent / "build" / "mpi"
OURS = Path(sys.executable).parent
TIMEOUT_S = 60


@dataclass(frozen=True)
class Subject:
    """A way to run the loop: its command before the loop's arguments, and the environment it takes."""

    name: str
    kind: str
    ours: bool
    command: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()

    def words(self, ranks: int, rest: list[str]) -> list[str]:
        words = [word.format(ranks=ranks) for word in self.command]
        return [*words, str(ranks), *rest]


def compiled(compiler: str, program: Path, *flags: str, env: dict[str, str] | None = None) -> str | None:
    words = [compiler, "-O2", "-w", *flags, str(SOURCES / "loop.c"), "-o", str(program), "-lpthread"]
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, **(env or {})})
    if done.returncode != 0:
        print(f"neighbours: without {program.name}: {compiler}: {done.stderr[-200:]}", file=sys.stderr)
    return str(program) if done.returncode == 0 else None


def mpi_subjects(folder: Path, python: str | None = None) -> list[Subject]:
    """Each MPI in build/mpi, and Debian's, as it is and under `phicoll mpi`; from ``python``, which has mpi4py."""
    places = [(path.name, path / "bin", "") for path in sorted(BUILD.glob("*"))]
    places += [(f"debian-{end}", Path("/usr/bin"), f".{end}") for end in ("mpich", "openmpi")]
    found = []
    for name, binaries, end in places:
        compiler, launcher = binaries / f"mpicc{end}", binaries / f"mpiexec{end}"
        if not compiler.exists() or not launcher.exists():
            continue
        moved = {} if end else {"OPAL_PREFIX": str(binaries.parent), "I_MPI_ROOT": str(binaries.parent)}
        environment = {
            **moved, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "I_MPI_PIN": "off",
            "FI_PROVIDER_PATH": str(binaries.parent / "lib" / "libfabric" / "prov"),
        }  # fmt: skip
        program = compiled(str(compiler), folder / f"loop-{name}", "-DMPI", env=environment)
        if program is None:
            continue
        program_words, kind = [program], "mpi"
        if python:
            listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
            library = re.findall(r"libmpi\S* => (\S+)", listed)[0]
            (folder / name).mkdir()
            (folder / name / "libmpi.so.12").symlink_to(library)  # Debian's MPICH has another name
            environment |= {"MPI4PY_LIBMPI": library, "LD_LIBRARY_PATH": str(folder / name)}
            program_words, kind, name = [python, str(SOURCES / "loop.py"), "mpi4py"], "own", f"mpi4py, {name}"
        free = ["--bind-to", "none", "--oversubscribe"] if "openmpi" in name else []
        launch = (str(launcher), *free, "-n", "{ranks}", *program_words)
        variables = tuple(environment.items())
        found.append(Subject(name, kind, False, launch, environment=variables))
        before = (str(OURS / "phicoll"), "mpi", "--mpicc", str(compiler), "--")
        found.append(Subject(f"phicoll mpi, {name}", kind, True, (*before, *launch), environment=variables))
    return found


def subjects(folder: Path, kinds: list[str], mpi4py: str | None) -> list[Subject]:
    found = mpi_subjects(folder) if "mpi" in kinds else []
    threads = {("omp", "libgomp"): ["-fopenmp"], ("pthread", "glibc"): []}
    libraries = sorted(Path("/usr/lib").glob("llvm-*/lib/libomp.so"))
    if libraries and shutil.which("clang"):
        threads["omp", "libomp"] = ["-fopenmp=libomp", f"-Wl,-rpath,{libraries[-1].parent}"]
    for (kind, library), flags in threads.items():
        if kind not in kinds:
            continue
        compiler = "clang" if library == "libomp" else "gcc"
        if program := compiled(compiler, folder / f"loop-{library}", *flags):
            found.append(Subject(library, kind, False, (program,)))
            found.append(
                Subject(
                    f"phicoll {kind}, {library}", kind, True, (str(OURS / "phicoll"), kind, "--", program)
                )
            )
    if "shmem" in kinds and (program := compiled(str(OURS / "oshcc"), folder / "loop-shmem", "-DSHMEM")):
        found.append(Subject("oshrun", "shmem", True, (str(OURS / "oshrun"), "-n", "{ranks}", program)))
    if "own" in kinds:
        python = (sys.executable, str(SOURCES / "loop.py"))
        found += [
            Subject(f"phicoll.run, {mode}", "own", True, (*python, mode)) for mode in ("threads", "processes")
        ]
        found += mpi_subjects(folder, mpi4py) if mpi4py else []
    return found


class Neighbours:
    """Busy processes, from entering to leaving; then `rate`, their common progress a second."""

    def __init__(self, program: str, count: int) -> None:
        self.program, self.count, self.rate = program, count, 0.0

    def __enter__(self) -> Neighbours:
        self.all = [
            subprocess.Popen([self.program], stdout=subprocess.PIPE, text=True) for _ in range(self.count)
        ]
        time.sleep(0.05)
        self.began = time.monotonic()
        return self

    def __exit__(self, *_: object) -> None:
        for one in self.all:
            one.send_signal(signal.SIGTERM)
        took = time.monotonic() - self.began
        self.rate = sum(int(one.communicate()[0]) for one in self.all) / took


def measured(subject: Subject, ranks: int, rest: list[str]) -> list[float] | None:
    """ns a call, CPU ns a call, percent of a CPU in the late barrier, before a second and after it."""
    environment = {**os.environ, **dict(subject.environment)}
    try:
        done = subprocess.run(
            subject.words(ranks, rest), capture_output=True, text=True, timeout=TIMEOUT_S, env=environment
        )
    except subprocess.TimeoutExpired:
        print(f"neighbours: {subject.name}: more than {TIMEOUT_S} s", file=sys.stderr)
        return None
    try:
        _, _, _, _ = row = [float(word) for word in done.stdout.split()[-4:]]
    except ValueError:
        print(f"neighbours: {subject.name}: {done.stderr[-300:]}", file=sys.stderr)
        return None
    return row


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--neighbours", default="0,1,2,4")
    parser.add_argument("--ranks", default="2,4")
    parser.add_argument("--computing", default="0,20000", help="ns before each call")
    parser.add_argument("--calls", type=int, default=20000, help="of ranks that fit; of more a tenth")
    parser.add_argument("--late-ms", type=int, default=3000, help="0, or more than 1000")
    parser.add_argument("--only", default="mpi,omp,pthread,shmem,own")
    parser.add_argument("--mpi4py", help="a Python that has it")
    given = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    with tempfile.TemporaryDirectory(prefix="phicoll-") as name:
        folder = Path(name)
        busy = str(folder / "busy")
        subprocess.run(["gcc", "-O2", str(SOURCES / "busy.c"), "-o", busy], check=True)
        everyone = subjects(folder, given.only.split(","), given.mpi4py)
        numbers = {
            key: [int(n) for n in getattr(given, key).split(",")]
            for key in ("neighbours", "ranks", "computing")
        }
        points = [
            (n, r, c) for n in numbers["neighbours"] for r in numbers["ranks"] for c in numbers["computing"]
        ]
        alone: dict[int, float] = {}
        for count in numbers["neighbours"]:
            with Neighbours(busy, count) as nobody_beside:
                time.sleep(1)
            alone[count] = nobody_beside.rate
        found: dict[tuple[tuple[int, int, int], str], list[list[float] | None]] = {}
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            for turn in range(given.rounds):
                late_ms = str(0 if turn else given.late_ms)
                for done, point in enumerate(random.sample(points, len(points))):
                    print(f"neighbours: round {turn + 1}, point {done + 1} of {len(points)}", file=sys.stderr)
                    for subject in random.sample(everyone, len(everyone)):
                        count, ranks, computing = point
                        calls = given.calls if ranks <= 2 and not computing else given.calls // 10
                        with Neighbours(busy, count) as beside:
                            row = measured(subject, ranks, [str(calls), str(computing), late_ms])
                        share = beside.rate / alone[count] if count else 1.0
                        rows = found.setdefault((point, subject.name), [None] * given.rounds)
                        rows[turn] = row and [*row, share]
        except KeyboardInterrupt:
            print("neighbours: interrupted; what was measured follows", file=sys.stderr)
        report(points, everyone, found)


def report(points, everyone, found) -> None:  # type: ignore[no-untyped-def]
    """A table a point: medians, the ratio to the kind's best peer, chosen by odd rounds, compared in even ones."""
    for point in points:
        print("\n{} busy neighbours, {} ranks, {} ns of computing".format(*point))
        print(
            f"{'':34}{'ns':>10}{'cpu ns':>10}{'waits %':>9}{'then %':>7}{'they get':>9}{'to peer':>9}"
            "   lowest, highest, peer"
        )
        for subject in everyone:
            rows = found.get((point, subject.name), [])
            good = [row for row in rows if row]
            if not good:
                continue
            took, cpu, share = (median([row[i] for row in good]) for i in (0, 1, 4))
            line = (
                f"{subject.name:34}{took:>10.0f}{cpu:>10.0f}{good[0][2]:>9.2f}{good[0][3]:>7.2f}{share:>9.2f}"
            )
            peers = {
                peer.name: [row[0] for row in found.get((point, peer.name), [])[::2] if row]
                for peer in everyone
                if not peer.ours and peer.kind == ("mpi" if subject.kind == "shmem" else subject.kind)
            }
            peers = {peer: times for peer, times in peers.items() if times}
            if subject.ours and peers:
                best = min(peers, key=lambda peer: median(peers[peer]))
                pairs = list(zip(rows, found[point, best], strict=True))[1::2] or list(
                    zip(rows, found[point, best], strict=True)
                )
                ratios = sorted(a[0] / b[0] for a, b in pairs if a and b)
                if ratios:
                    line += f"{median(ratios):>9.2f}   {ratios[0]:.2f}, {ratios[-1]:.2f}, {best}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
