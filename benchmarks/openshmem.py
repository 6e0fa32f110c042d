"""`make bench`: OpenSHMEM calls beside loads and stores written by hand, and beside another OpenSHMEM library.

A round starts each program once, in random order, on two CPUs: ``shmem/calls.c`` compiled against phicoll, with raw
loops in place of the calls, and against the library whose ``oshcc`` and ``oshrun`` are in ``--other`` (Debian's
libopenmpi-dev and openmpi-bin by default, if they are installed). A ratio is taken within a round. Then
``shmem/barriers.cpp``: barrier_all and ``Communicator::barrier`` of 8 PEs on two CPUs.

    python benchmarks/openshmem.py [--rounds 7] [--other /usr/bin] [--python PYTHON]

``--python``: an interpreter that has shmem4py, built for the other library. ``shmem/calls.py`` is then timed by both.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from phicoll._core import median

SOURCE = Path(__file__).resolve().parent / "shmem" / "calls.c"
OURS = Path(sys.executable).parent
OSHRUN = [str(OURS / "oshrun"), "-n", "2", "--placement", "compact"]
Times = dict[str, float]


def compiled(compiler: Path, program: Path, *flags: str) -> Path:
    subprocess.run([compiler, "-O2", *flags, SOURCE, "-o", program], check=True)
    return program


def commands(folder: Path, other: Path) -> dict[str, list[str]]:
    found = {
        "phicoll": [*OSHRUN, str(compiled(OURS / "oshcc", folder / "phicoll"))],
        "raw": [*OSHRUN, str(compiled(OURS / "oshcc", folder / "raw", "-DRAW"))],
    }
    if (other / "oshcc").exists():
        program = compiled(other / "oshcc", folder / "other", "-w")
        found["other"] = [str(other / "oshrun"), "-n", "2", "--bind-to", "core", str(program)]
    else:
        print(f"without another OpenSHMEM library: there is no {other / 'oshcc'}", file=sys.stderr)
    return found


def python_commands(other: Path, python: Path) -> dict[str, list[str]]:
    program = str(SOURCE.with_suffix(".py"))
    return {
        "phicoll": [*OSHRUN, sys.executable, program],
        "other": [str(other / "oshrun"), "-n", "2", "--bind-to", "core", str(python), program, "shmem4py"],
    }


def measured(command: list[str]) -> Times:
    """What the program printed; its exit code does not count, as Open MPI 4.1's finalize crashes."""
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if not lines:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr[-500:]}")
    found: Times = json.loads(lines[0])
    return found


def barriers(folder: Path, count: int) -> None:
    """The median of `count` launches' ratios, 8 PEs on two CPUs."""
    program = folder / "barriers"
    headers = SOURCE.parents[2] / "src" / "cpp"
    source = SOURCE.with_name("barriers.cpp")
    command = [OURS / "oshc++", "-O2", "-std=c++17", f"-I{headers}", source, "-o", program]
    subprocess.run(command, check=True)
    launch = [str(OURS / "oshrun"), "-n", "8", "--placement", "compact", str(program)]
    found = [measured(launch) for _ in range(count)]
    ratio = median([one["barrier_all"] / one["Communicator::barrier"] for one in found])
    took = median([one["barrier_all"] for one in found])
    print(f"\n8 PEs on two CPUs: barrier_all {took:,.0f} ns, {ratio:.2f} of Communicator::barrier")


def table(programs: dict[str, list[str]], count: int) -> None:
    """The medians of `count` rounds, and of the ratios within them."""
    rounds = []
    for _ in range(count):
        order = random.sample(sorted(programs), len(programs))
        rounds.append({name: measured(programs[name]) for name in order})
    print(f"| call | {' | '.join(f'{name} ns' for name in programs)} | phicoll / raw | other / phicoll |")
    print("|---|" + "---|" * (len(programs) + 2))
    for call in rounds[0]["phicoll"]:

        def ratio(above: str, below: str, call: str = call) -> str:
            pairs = [(one[above], one[below]) for one in rounds if above in one and below in one]
            if not pairs or call not in pairs[0][0] or call not in pairs[0][1]:
                return ""
            return f"{median([a[call] / max(b[call], 1e-3) for a, b in pairs]):.2f}"

        times = [
            median([one[name][call] for one in rounds]) if call in rounds[0][name] else None
            for name in programs
        ]
        cells = ["" if time is None else f"{time:,.1f}" for time in times]
        print(f"| {call} | {' | '.join(cells)} | {ratio('phicoll', 'raw')} | {ratio('other', 'phicoll')} |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--other", type=Path, default=Path("/usr/bin"))
    parser.add_argument("--python", type=Path)
    parser.add_argument("--only-python", action="store_true")
    given = parser.parse_args()
    if not given.only_python:
        with tempfile.TemporaryDirectory(prefix="phicoll-") as folder:
            table(commands(Path(folder), given.other), given.rounds)
            barriers(Path(folder), given.rounds)
    if given.python is not None:
        print("\nFrom Python, phicoll.shmem and shmem4py:\n")
        table(python_commands(given.other, given.python), given.rounds)


if __name__ == "__main__":
    main()
