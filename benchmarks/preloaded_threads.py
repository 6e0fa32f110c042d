"""`make bench`: barriers of OpenMP and pthread programs as they are and with `phicoll omp` and `phicoll pthread`.

A round runs each program both ways, in random order. A ratio is taken within a round.

    python benchmarks/preloaded_threads.py [--rounds 9] [--threads 2,8]
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from phicoll._core import median

SOURCES = Path(__file__).resolve().parent / "threads"
PHICOLL = Path(sys.executable).parent / "phicoll"
NAMES = {"omp": ("omp barrier", "omp for, static"), "pthread": ("pthread_barrier_wait",)}


def compiled(folder: Path) -> dict[tuple[str, str], Path]:
    """Kind and library, with the program: OpenMP's for libgomp and, where it is installed, libomp."""
    libraries = sorted(Path("/usr/lib").glob("llvm-*/lib/libomp.so"))
    wanted = {("omp", "libgomp"): ("openmp.c", ["-fopenmp"]), ("pthread", "glibc"): ("pthread.c", [])}
    if libraries:
        folder_of = libraries[-1].parent
        wanted["omp", "libomp"] = ("openmp.c", [f"-L{folder_of}", f"-Wl,-rpath,{folder_of}", "-lomp"])
    programs = {}
    for (kind, library), (source, link) in wanted.items():
        program = folder / f"{kind}-{library}"
        objects = folder / f"{kind}.o"
        flags = ["-fopenmp"] if kind == "omp" else []
        subprocess.run(["gcc", "-O2", *flags, "-c", SOURCES / source, "-o", objects], check=True)
        subprocess.run(["gcc", objects, "-o", program, *link, "-lpthread"], check=True)
        programs[kind, library] = program
    return programs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", default="2,8", help="numbers of threads")
    arguments = parser.parse_args()
    print(
        f"{'':24}{'library':>10}{'threads':>8}{'plain ns':>11}{'phicoll ns':>11}{'ratio':>8}   lowest, highest"
    )
    with tempfile.TemporaryDirectory() as folder:
        programs = compiled(Path(folder))
        for threads in map(int, arguments.threads.split(",")):
            times: dict[tuple[str, str, bool], list[list[float]]] = {}
            calls = 100000 if threads <= 2 else 500
            for _ in range(arguments.rounds):
                order = [(*key, with_phicoll) for key in programs for with_phicoll in (False, True)]
                random.shuffle(order)
                for kind, library, with_phicoll in order:
                    command = [str(programs[kind, library]), str(threads), str(calls)]
                    before = [str(PHICOLL), kind, "--"] if with_phicoll else []
                    done = subprocess.run(
                        [*before, *command], capture_output=True, text=True, check=True, timeout=120
                    )
                    times.setdefault((kind, library, with_phicoll), []).append(
                        [float(t) for t in done.stdout.split()]
                    )
            for kind, library in programs:
                for column, name in enumerate(NAMES[kind]):
                    plain, ours = ([row[column] for row in times[kind, library, w]] for w in (False, True))
                    ratios = sorted(b / a for a, b in zip(plain, ours, strict=True))
                    print(
                        f"{name:24}{library:>10}{threads:>8}{median(plain):>11.0f}{median(ours):>11.0f}"
                        f"{median(ratios):>8.2f}   {ratios[0]:.2f}, {ratios[-1]:.2f}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
