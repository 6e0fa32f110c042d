"""`make bench`: what `phicoll omp`, `pthread` and `mpi` add to a program that does nothing, in ms.

A round starts each program both ways, in random order; a difference is taken within a round. ``--mpicc``: an MPI's
compiler, as mpicc.openmpi, beside which is the launcher; two ranks start and end. The one in build/mpi/mpich/bin, if it
is there, unless given. Beside the wall time, the CPU time of all processes.

    python benchmarks/start_costs.py [--rounds 15] [--only mpi] [--mpicc COMPILER]
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from phicoll._core import median

PHICOLL = str(Path(sys.executable).parent / "phicoll")
MPICH = Path(__file__).resolve().parent.parent / "build" / "mpi" / "mpich" / "bin" / "mpicc"
EMPTY = "#include <mpi.h>\nint main(int n, char** w) { MPI_Init(&n, &w); return MPI_Finalize(); }\n"
GOALS_MS = {"omp": 50, "pthread": 50, "mpi": 100}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default="omp,pthread,mpi")
    parser.add_argument("--mpicc", type=Path, default=MPICH)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="phicoll-") as folder:
        programs = {"omp": ["true"], "pthread": ["true"]}
        environment = {
            **os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        }  # fmt: skip
        if mpicc := shutil.which(str(given.mpicc)):
            if not Path(mpicc).is_relative_to("/usr"):  # moved, as by pip
                environment |= dict.fromkeys(("OPAL_PREFIX", "I_MPI_ROOT"), str(Path(mpicc).parent.parent))
            source, program = Path(folder, "empty.c"), f"{folder}/empty"
            source.write_text(EMPTY)
            subprocess.run([mpicc, source, "-o", program], check=True, env=environment)
            programs["mpi"] = [mpicc.replace("mpicc", "mpiexec"), "-n", "2", program]

        def took_ms(words: list[str]) -> tuple[float, float]:
            """The wall time, and the CPU time of all processes that the command starts and waits for."""
            began, before = time.perf_counter(), os.times()
            subprocess.run(words, check=True, env=environment, capture_output=True)
            took, after = time.perf_counter() - began, os.times()
            return 1e3 * took, 1e3 * (sum(after[2:4]) - sum(before[2:4]))

        for kind in given.only.split(","):
            if kind not in programs:
                continue
            words = programs[kind]
            ways = (words, [PHICOLL, kind, "--", *words])
            took_ms(ways[1])  # which may compile
            differences, cpu = [], []
            for _ in range(given.rounds):
                times = {id(way): took_ms(way) for way in random.sample(ways, 2)}
                differences.append(times[id(ways[1])][0] - times[id(words)][0])
                cpu.append(times[id(ways[1])][1] - times[id(words)][1])
            low, high = min(differences), max(differences)
            print(
                f"phicoll {kind:8}{median(differences):7.1f} ms more ({low:.1f} to {high:.1f}), "
                f"{median(cpu):.0f} ms of CPU time; goal {GOALS_MS[kind]}",
                flush=True,
            )


if __name__ == "__main__":
    main()
