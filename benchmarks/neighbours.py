"""Barriers beside busy processes on two CPUs: phicoll's ways, MPIs, OpenSHMEM, libgomp, libomp, glibc and Python.

A round runs each subject of a kind at a point once, in random order. Ratios to the kind's best peer are taken within
rounds; the other half of the rounds chooses the peer. Shown, too: the neighbours' share of what they count alone, and
with --late-ms the CPU that a rank takes in a wait. A run that takes too long counts as the longest.

    python benchmarks/neighbours.py [--rounds 7] [--budget SECONDS] [--rows FILE]

Parts of a long measurement add rows to FILE; the tables are of all of it.
"""

from __future__ import annotations

import argparse
import json
import math
import mmap
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from phicoll._core import median, median_interval

SOURCES = Path(__file__).resolve().parent / "neighbours"
BUILD = Path(__file__).resolve().parent.parent / "build" / "mpi"
OURS = Path(sys.executable).parent
TIMEOUT_S = 6
Point = tuple[int, int, int]  # busy neighbours, ranks, ns of computing


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


def mpi_subjects(folder: Path, only: list[str], python: str | None = None) -> list[Subject]:
    """Each MPI in build/mpi, and Debian's, as it is and under `phicoll mpi`; or from ``python``, which has mpi4py."""
    places = [(path.name, path / "bin", "") for path in sorted(BUILD.glob("*"))]
    places += [(f"debian-{end}", Path("/usr/bin"), f".{end}") for end in ("mpich", "openmpi")]
    found = []
    for name, binaries, end in places:
        compiler, launcher = binaries / f"mpicc{end}", binaries / f"mpiexec{end}"
        if (only and name not in only) or not compiler.exists() or not launcher.exists():
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
            program_words, kind = [python, str(SOURCES / "loop.py"), "mpi4py"], "processes"
            name = f"mpi4py, {name}"
        free = ["--bind-to", "none", "--oversubscribe"] if "openmpi" in name else []
        launch = (str(launcher), *free, "-n", "{ranks}", *program_words)
        variables = tuple(environment.items())
        found.append(Subject(name, kind, False, launch, environment=variables))
        if python:
            continue
        before = (str(OURS / "phicoll"), "mpi", "--mpicc", str(compiler), "--")
        # Its library is compiled now, not in a run that is timed.
        subprocess.run(
            [*before, str(launcher), "-n", "1", "true"], env={**os.environ, **environment}, check=True
        )
        found.append(Subject(f"phicoll mpi, {name}", kind, True, (*before, *launch), environment=variables))
    return found


def shmem_subjects(folder: Path) -> list[Subject]:
    """phicoll's OpenSHMEM, and Open MPI's if Debian's is here and runs."""
    found = []
    if program := compiled(str(OURS / "oshcc"), folder / "loop-shmem", "-DSHMEM"):
        found.append(
            Subject("phicoll's oshrun", "shmem", True, (str(OURS / "oshrun"), "-n", "{ranks}", program))
        )
    theirs = Path("/usr/bin/oshcc")
    if theirs.exists() and (program := compiled(str(theirs), folder / "loop-oshmem", "-DSHMEM")):
        launch = ("/usr/bin/oshrun", "--allow-run-as-root", "--bind-to", "none", "--oversubscribe")
        found.append(Subject("Open MPI's oshrun", "shmem", False, (*launch, "-n", "{ranks}", program)))
    return found


def subjects(folder: Path, given: argparse.Namespace) -> list[Subject]:
    """The ways of the kinds asked for. Threads of `phicoll.run` have Python's own barrier for a peer."""
    kinds, mpis = given.only.split(","), [name for name in given.mpis.split(",") if name]
    found = mpi_subjects(folder, mpis) if "mpi" in kinds else []
    threads = {("omp", "libgomp"): ["-fopenmp"], ("pthread", "glibc"): []}
    libraries = sorted(Path("/usr/lib").glob("llvm-*/lib/libomp.so*"))
    if libraries and shutil.which("clang"):
        threads["omp", "libomp"] = ["-fopenmp=libomp", f"-Wl,-rpath,{libraries[-1].parent}"]
    for (kind, library), flags in threads.items():
        if kind not in kinds:
            continue
        compiler = "clang" if library == "libomp" else "gcc"
        if program := compiled(compiler, folder / f"loop-{library}", *flags):
            found.append(Subject(library, kind, False, (program,)))
            command = (str(OURS / "phicoll"), kind, "--", program)
            found.append(Subject(f"phicoll {kind}, {library}", kind, True, command))
    if "shmem" in kinds:
        found += shmem_subjects(folder)
    python = (sys.executable, str(SOURCES / "loop.py"))
    for mode in {"threads", "processes"} & set(kinds):
        found.append(Subject(f"phicoll.run, {mode}", mode, True, (*python, mode)))
    if "threads" in kinds:
        found.append(Subject("threading.Barrier", "threads", False, (*python, "threading")))
    if "processes" in kinds and given.mpi4py:
        found += mpi_subjects(folder, mpis, given.mpi4py)
    return found


class Neighbours:
    """Busy processes, from entering to leaving, and the file where they count."""

    def __init__(self, program: str, file: Path, count: int) -> None:
        self.words, self.file = [program, str(file), str(count)], file

    def __enter__(self) -> Neighbours:
        self.file.unlink(missing_ok=True)
        self.process = subprocess.Popen(self.words)
        while not self.file.exists() or self.file.stat().st_size == 0:
            time.sleep(0.005)
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()  # its children end with it
        self.process.wait()

    def alone(self, seconds: float) -> float:
        """Their counts a second while nothing else runs here."""
        with self.file.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as counts:

            def count() -> int:
                return sum(struct.unpack(f"{len(counts) // 8}L", counts[:]))

            time.sleep(0.05)
            before, began = count(), time.monotonic()
            time.sleep(seconds)
            return (count() - before) / (time.monotonic() - began)


def measured(subject: Subject, ranks: int, rest: list[str]) -> list[float] | None:
    """What loop.c prints; nothing if it takes too long. Raises ValueError if the subject fails."""
    environment = {**os.environ, **dict(subject.environment)}
    process = subprocess.Popen(
        subject.words(ranks, rest), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=environment, start_new_session=True,
    )  # fmt: skip
    try:
        output, errors = process.communicate(timeout=TIMEOUT_S + int(rest[2]) / 1000)
    except subprocess.TimeoutExpired:
        process.terminate()  # a launcher ends its ranks
        try:
            process.communicate(timeout=1)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        return None
    words = output.split()[-5:]
    if len(words) != 5:
        raise ValueError(f"{subject.name}: {errors[-300:]}")
    return [float(word) for word in words]


def measure(given: argparse.Namespace, folder: Path, rows: Path) -> None:
    """Adds rows to the file until the rounds or the budget are over."""
    end = time.monotonic() + given.budget
    busy, counts = folder / "busy", folder / "counts"
    subprocess.run(["gcc", "-O2", str(SOURCES / "busy.c"), "-o", str(busy)], check=True)
    everyone = subjects(folder, given)
    numbers = [
        [int(n) for n in getattr(given, key).split(",")] for key in ("neighbours", "ranks", "computing")
    ]
    kinds = sorted({subject.kind for subject in everyone})
    points = [(kind, (n, r, c)) for kind in kinds for n in numbers[0] for r in numbers[1] for c in numbers[2]]
    rounds = Counter((kind, point) for _, kind, point in {row[:3] for row in read(rows)})
    alone: dict[int, float] = {}
    out_of: set[str] = set()
    while rounds.total() < given.rounds * len(points):
        kind, point = min(points, key=lambda one: (rounds[one], random.random()))
        rounds[kind, point] += 1
        count, ranks, computing = point
        turn = time.time_ns()
        with Neighbours(str(busy), counts, count) as beside:
            if count and count not in alone:
                alone[count] = beside.alone(0.5)
            of_kind = [one for one in everyone if one.kind == kind and one.name not in out_of]
            for subject in random.sample(of_kind, len(of_kind)):
                if time.monotonic() > end:
                    return
                rest = [given.loop_ms, computing, given.late_ms, counts]
                try:
                    row = measured(subject, ranks, [str(word) for word in rest])
                except ValueError as error:
                    print(f"neighbours: left out: {error}", file=sys.stderr)
                    out_of.add(subject.name)
                    continue
                if row:
                    row[4] = row[4] / alone[count] if count else 1.0
                with rows.open("a") as file:
                    file.write(json.dumps([turn, kind, point, subject.name, subject.ours, row]) + "\n")


def read(rows: Path) -> list[tuple[int, str, Point, str, bool, list[float] | None]]:
    if not rows.exists():
        return []
    lines = map(json.loads, rows.read_text().splitlines())
    return [(turn, kind, tuple(point), *rest) for turn, kind, point, *rest in lines]


def ratio(ours: dict[int, float], peers: dict[str, dict[int, float]]) -> str:
    """Within rounds, to the best peer by the other half of the rounds. Two runs that took too long say nothing."""
    turns = sorted(ours)
    found, names = [], Counter()
    for half in (0, 1):
        chosen_by, compared = turns[half::2], turns[1 - half :: 2]
        of = {name: [times[turn] for turn in chosen_by if turn in times] for name, times in peers.items()}
        of = {name: times for name, times in of.items() if times}
        if not of:
            continue
        best = min(of, key=lambda name: median(of[name]))
        pairs = [(ours[turn], peers[best][turn]) for turn in compared if turn in peers[best]]
        found += [a / b for a, b in pairs if math.isfinite(min(a, b))]
        names[best] += len(compared)
    if not found:
        return "–"
    low, high, _ = median_interval(found, 0.95)
    name = f", {names.most_common(1)[0][0]}" if len(peers) > 1 else ""
    return f"{median(found):.2f} ({low:.2f} to {high:.2f}{name})"


def report(rows: Path) -> None:
    """A Markdown table for each of phicoll's ways, with a row a point."""
    all_rows = read(rows)
    times: dict[tuple[str, Point, str], dict[int, float]] = {}
    good: dict[tuple[str, Point, str], list[list[float]]] = {}
    for turn, kind, point, name, _, row in all_rows:
        times.setdefault((kind, point, name), {})[turn] = row[0] if row else math.inf
        good.setdefault((kind, point, name), []).extend([row] if row else [])

    def column(at: tuple[str, Point, str], i: int, form: str) -> str:
        return format(median([row[i] for row in good[at]]), form) if good.get(at) else "–"

    def ns(at: tuple[str, Point, str]) -> str:
        of = list(times.get(at, {}).values())
        ended = sum(map(math.isinf, of))
        return (f"{median(of):,.0f}" if of else "–") + (f" ({ended} of {len(of)} ended)" if ended else "")

    for kind, subject in sorted({(row[1], row[3]) for row in all_rows if row[4]}):
        own = subject.split(", ", 1)[-1]
        peers = sorted({row[3] for row in all_rows if row[1] == kind and not row[4]})
        own = own if own in peers else peers[0] if peers else own
        print(f"\n{subject}, beside {own}, ns a barrier\n")
        heads = ["busy", "ranks", "us between", "rounds", "without", "with", "ratio", "to the best peer"]
        heads += ["they get, without and with", "% of a CPU, waiting"]
        print(f"| {' | '.join(heads)} |\n|{len(heads) * '--:|'}")
        for point in sorted({row[2] for row in all_rows if row[1] == kind}):
            at, there = (kind, point, subject), (kind, point, own)
            if at not in times:
                continue
            beside = {name: times.get((kind, point, name), {}) for name in peers}
            waits = [row for row in good[at] if row[2] or row[3]]
            cells = [
                point[0], point[1], point[2] // 1000, len(times[at]), ns(there), ns(at),
                ratio(times[at], {own: beside.get(own, {})}), ratio(times[at], beside),
                f"{column(there, 4, '.2f')}, {column(at, 4, '.2f')}" if point[0] else "",
                f"{median([row[2] for row in waits]):.2f}, {median([row[3] for row in waits]):.2f}" if waits else "",
            ]  # fmt: skip
            print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--rounds", type=int, default=7, help="at most, those of FILE with them; 0 only prints"
    )
    parser.add_argument("--budget", type=float, default=math.inf, help="seconds; a run that has begun ends")
    parser.add_argument("--rows", type=Path, help="a file of JSON lines")
    parser.add_argument("--neighbours", default="0,1,2,4")
    parser.add_argument("--ranks", default="2,4")
    parser.add_argument("--computing", default="0,20000", help="ns before each call")
    parser.add_argument("--loop-ms", type=int, default=150)
    parser.add_argument("--late-ms", type=int, default=0, help="0, or more than 1000")
    parser.add_argument("--only", default="mpi,omp,pthread,shmem,threads,processes")
    parser.add_argument("--mpis", default="", help="all that are found, unless given")
    parser.add_argument("--mpi4py", help="a Python that has it: the peer of processes")
    given = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="phicoll-") as name:
        rows = given.rows or Path(name, "rows")
        try:
            measure(given, Path(name), rows)
        except KeyboardInterrupt:
            print("neighbours: interrupted; what was measured follows", file=sys.stderr)
        report(rows)


if __name__ == "__main__":
    main()
