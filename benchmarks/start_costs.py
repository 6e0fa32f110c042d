"""`make bench`: what `phicoll omp`, `pthread` and `mpi` add to a program that does nothing, in ms.

A round starts each program both ways, in random order; a difference is taken within a round. ``--mpi``: the folder of
an MPI's programs, of which two ranks start and end; build/mpi/mpich/bin, if it is there, unless given.

    python benchmarks/start_costs.py [--rounds 15] [--mpi FOLDER]
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from phicoll._core import median

PHICOLL = str(Path(sys.executable).parent / "phicoll")
MPICH = Path(__file__).resolve().parent.parent / "build" / "mpi" / "mpich" / "bin"
EMPTY = "#include <mpi.h>\nint main(int n, char** w) { MPI_Init(&n, &w); return MPI_Finalize(); }\n"
GOALS_MS = {"omp": 50, "pthread": 50, "mpi": 100}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--mpi", type=Path, default=MPICH)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="phicoll-") as folder:
        programs = {"omp": ["true"], "pthread": ["true"]}
        root = str(given.mpi.parent)
        environment = {**os.environ, "OPAL_PREFIX": root, "I_MPI_ROOT": root}
        environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        if (given.mpi / "mpicc").exists():
            source, program = Path(folder, "empty.c"), f"{folder}/empty"
            source.write_text(EMPTY)
            subprocess.run([given.mpi / "mpicc", source, "-o", program], check=True, env=environment)
            programs["mpi"] = [str(given.mpi / "mpiexec"), "-n", "2", program]

        def took_ms(words: list[str]) -> float:
            began = time.perf_counter()
            subprocess.run(words, check=True, env=environment, capture_output=True)
            return 1e3 * (time.perf_counter() - began)

        for kind, words in programs.items():
            ways = (words, [PHICOLL, kind, "--", *words])
            took_ms(ways[1])  # which may compile
            differences = []
            for _ in range(given.rounds):
                times = {id(way): took_ms(way) for way in random.sample(ways, 2)}
                differences.append(times[id(ways[1])] - times[id(words)])
            low, high = min(differences), max(differences)
            print(
                f"phicoll {kind:8}{median(differences):7.1f} ms more ({low:.1f} to {high:.1f}); goal {GOALS_MS[kind]}"
            )


if __name__ == "__main__":
    main()
