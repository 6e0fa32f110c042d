"""Calibration of the MPI side: our timer around MPI's calls must agree with MPI's own benchmark programs.

In each round, point by point in random order, our worker (`mpi_peers.MpiPeer`) and a program are launched on the same
CPUs. The program runs while our worker sleeps; our worker measures the point just before and just after it. The
ratio is the geometric mean of ours / theirs. Each point has its own launches. The programs:

- plain: `benchmarks/mpi/plain_loop.c`, the usual loop between two readings of MPI_Wtime; beside our mode "loop".
- IMB: Intel's IMB-MPI1, which comes with Intel MPI and runs on MPICH too (one binary interface), without its barrier
  between calls (-sync off); beside our mode "loop". It prints hundredths of a microsecond: the interval is widened by
  half of one on either side. Around a broadcast or an allreduce it reads the clock at each call,
  which shows at 8 bytes.
- OSU: the OSU micro-benchmarks, where somebody has built them (`--osu DIRECTORY` with `<mpi>/osu_barrier`, `osu_bcast`,
  `osu_allreduce`); beside our mode "separated", which is their definition.

A row says `agrees` if the median ratio's exact 95 % interval holds 1, `differs` by the sign test and Holm's
correction, else `not resolved`.

    python benchmarks/mpi_calibration.py [--rounds 12] [--osu DIRECTORY] [--mpi mpich,openmpi,intelmpi]
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from mpi_peers import NAMES, ROOT, MpiPeer, PeerError, available, duration, environment, mpiexec

POINTS = (("barrier", 0), ("bcast", 8), ("allreduce", 8), ("allreduce", 4096))
# Intel MPI's first thousand calls in a job's life may be slow; IMB makes warm-up calls of its own number.
WARMUP, CALLS = 5000, 20000
IMB = ROOT / "intelmpi" / "bin" / "IMB-MPI1"
Point = tuple[str, int]
Program = Callable[[str, list[int], Point], float]


def launch(name: str, cpus: list[int], program: list[str], seconds: int = 40) -> str:
    """The program's output; each rank is pinned from outside to its CPU. PeerError where it fails or takes too long."""
    line = mpiexec(name)
    for rank, cpu in enumerate(cpus):
        # A rank ends itself, as the ranks of a killed launcher may spin on.
        bounded = ["timeout", "-s", "KILL", str(seconds), "taskset", "-c", str(cpu)]
        line += ([":"] if rank else []) + ["-n", "1", *bounded, *program]
    variables = environment(name)
    if program[0] == str(IMB) and name == "mpich":
        variables["LD_LIBRARY_PATH"] = str(ROOT / "mpich" / "lib")
    what = f"{name}: {' '.join([Path(program[0]).name, *program[1:]])}"
    with subprocess.Popen(
        line,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as job:
        try:
            said, _ = job.communicate(timeout=seconds + 5)
        except BaseException as error:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(job.pid, signal.SIGKILL)
            if isinstance(error, subprocess.TimeoutExpired):
                raise PeerError(f"{what}: not done within {seconds + 5} s") from error
            raise
    if job.returncode != 0:
        raise PeerError(f"{what}: ended with {job.returncode}: {' | '.join(said.strip().splitlines()[-4:])}")
    return said


def ours(peer: MpiPeer, at: Point, mode: str) -> float:
    sample = peer.run(*at, CALLS, mode, "reused", warmup=WARMUP, cap_ms=20e3)
    if not sample["verified"]:
        raise PeerError(f"{peer.name}: {at[0]} of {at[1]} bytes is not what it must be")
    return sample["ns"]


def plain(name: str, cpus: list[int], at: Point) -> float:
    arguments = [at[0], str(at[1]), str(CALLS), str(WARMUP)]
    return float(launch(name, cpus, [str(ROOT / name / "plain_loop"), *arguments]))


def imb(name: str, cpus: list[int], at: Point) -> float:
    flags = [
        "-npmin",
        str(len(cpus)),
        "-iter",
        str(CALLS),
        "-iter_policy",
        "off",
        "-sync",
        "off",
        "-time",
        "20",
    ]
    flags += ["-root_shift", "off", "-zero_size", "off"]
    with tempfile.NamedTemporaryFile("w", suffix=".sizes") as sizes:
        sizes.write(f"{at[1]}\n")
        sizes.flush()
        text = launch(name, cpus, [str(IMB), *flags, "-msglen", sizes.name, at[0].capitalize()])
    # The line after the title: [bytes] repetitions t_min t_max t_avg, in microseconds.
    lines = text.splitlines()
    title = next(i for i, line in enumerate(lines) if "#repetitions" in line)
    return 1e3 * float(lines[title + 1].split()[-2])


def osu(directory: Path) -> Program:
    def run(name: str, cpus: list[int], at: Point) -> float:
        flags = ["-i", str(CALLS), "-x", str(WARMUP), "-f"]
        if at[0] != "barrier":
            flags += ["-m", f"{at[1]}:{at[1]}"]
        text = launch(name, cpus, [str(directory / name / f"osu_{at[0]}"), *flags])
        numbers = [line.split() for line in text.splitlines() if line.strip() and not line.startswith("#")]
        # Average, minimum, maximum in us, after the size if there is one.
        return 1e3 * float(numbers[-1][0 if at[0] == "barrier" else 1])

    return run


@dataclass
class Row:
    mpi: str
    program: str
    point: Point
    resolution_ns: float
    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)

    @property
    def ratios(self) -> list[float]:
        return [a / b for a, b in zip(self.ours, self.theirs, strict=True)]

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Exact, of the median ratio, from order statistics; all of it where the rounds are too few for the level."""
        ordered, n = sorted(self.ratios), len(self.ours)
        cut, tail = 0, 0.5**n
        while True:
            tail += math.comb(n, cut + 1) * 0.5**n
            if 2 * tail > 1 - level:
                break
            cut += 1
        widening = self.resolution_ns / statistics.median(self.theirs)
        return ordered[cut] * (1 - widening), ordered[n - 1 - cut] * (1 + widening)

    @property
    def p(self) -> float:
        """Two-sided sign test of ours against theirs; a difference below the resolution is a tie and left out."""
        differences = [a - b for a, b in zip(self.ours, self.theirs, strict=True)]
        signs = [d > 0 for d in differences if abs(d) > self.resolution_ns]
        rarer, n = min(sum(signs), len(signs) - sum(signs)), len(signs)
        return min(1.0, 2 * sum(math.comb(n, k) for k in range(rarer + 1)) * 0.5**n)


def holm(p: list[float]) -> list[float]:
    corrected, largest = [0.0] * len(p), 0.0
    for rank, i in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        largest = max(largest, min(1.0, p[i] * (len(p) - rank)))
        corrected[i] = largest
    return corrected


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mpi", default=",".join(available()) or ",".join(NAMES))
    parser.add_argument("--cpus", help="one rank on each (default: the first two allowed)")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--osu", type=Path, help="directory with <mpi>/osu_barrier, osu_bcast, osu_allreduce")
    parser.add_argument("--programs", default="plain,IMB,OSU", help="default: all that are there")
    parser.add_argument("--seed", type=int, default=1)
    a = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the jobs are ended and cleaned up
    cpus = [int(c) for c in a.cpus.split(",")] if a.cpus else sorted(os.sched_getaffinity(0))[:2]
    if len(cpus) < 2:
        print("calibration: needs two CPUs", file=sys.stderr)
        return 2

    programs: dict[str, list[tuple[str, Program, str, float]]] = {}
    for name in a.mpi.split(","):
        if name not in available():
            print(f"calibration: without {name}; run: make {name}", file=sys.stderr)
            continue
        programs[name] = [("plain", plain, "loop", 0.0)]
        if name != "openmpi" and IMB.exists():
            programs[name].append(("IMB", imb, "loop", 5.0))
        if a.osu is not None and (a.osu / name / "osu_barrier").exists():
            programs[name].append(("OSU", osu(a.osu), "separated", 0.0))
    for name, of in programs.items():
        programs[name] = [one for one in of if one[0] in a.programs.split(",")]
    rows = {(n, p, at): Row(n, p, at, r) for n, of in programs.items() for p, _, _, r in of for at in POINTS}
    draw = random.Random(a.seed)
    for turn in range(a.rounds):
        every = [(name, one, at) for name, of in programs.items() for one in of for at in POINTS]
        for name, (program, run, mode, _), at in draw.sample(every, len(every)):
            try:
                with MpiPeer(name, len(cpus), cpus) as peer:
                    before = ours(peer, at, mode)
                    theirs = run(name, cpus, at)
                    row = rows[name, program, at]
                    row.ours.append(math.sqrt(before * ours(peer, at, mode)))
                    row.theirs.append(theirs)
            except PeerError as error:
                print(f"calibration: round {turn + 1}: {error}", file=sys.stderr)
        print(f"round {turn + 1} of {a.rounds}", file=sys.stderr)

    kept = [row for row in rows.values() if row.ours]
    differs = [p < 0.05 for p in holm([row.p for row in kept])]
    print(f"ours over theirs on CPUs {cpus}, median of {a.rounds} rounds with its exact 95 % interval")
    print(f"{'mpi':9s} {'operation':10s} {'bytes':>6s} {'program':8s} {'ours':>9s} {'theirs':>9s}  ratio")
    for row, different in zip(kept, differs, strict=True):
        low, high = row.interval()
        verdict = "differs" if different else "agrees" if low <= 1 <= high else "not resolved"
        print(
            f"{row.mpi:9s} {row.point[0]:10s} {row.point[1]:6d} {row.program:8s} "
            f"{duration(statistics.median(row.ours)):>9s} {duration(statistics.median(row.theirs)):>9s}  "
            f"{statistics.median(row.ratios):.3f} [{low:.3f}, {high:.3f}]  {verdict}"
        )
    return 1 if any(differs) or not kept else 0


if __name__ == "__main__":
    sys.exit(main())
