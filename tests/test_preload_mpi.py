"""``phicoll mpi``: MPI programs whose collectives run in phicoll.

What needs an MPI runs under each that ``make mpis`` has put into build/mpi.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import shutil
import stat
import struct
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import phicoll
from phicoll.errors import ArgumentError, ResourceError
from phicoll.preload import building, mpi
from phicoll.preload.programs import needed_libraries, preloadable_programs, with_preload

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "tests" / "mpi"
MPIS = ("mpich", "openmpi", "intelmpi")
CALLS = {
    *("Barrier", "Bcast", "Reduce", "Allreduce", "Scan", "Exscan", "Reduce_scatter_block", "Reduce_scatter"),
    *("Gather", "Gatherv", "Scatter", "Scatterv", "Allgather", "Allgatherv", "Alltoall", "Alltoallv"),
}

Command = Callable[..., "subprocess.CompletedProcess[str]"]


class Profiled(NamedTuple):
    """A run that has ended, and its profile if one was made."""

    returncode: int
    stdout: str
    stderr: str
    profile: dict[str, Any]


class Installed:
    """An MPI, and the tests' programs compiled for it: one in build/mpi, or one of the system's whose programs' names end alike."""

    def __init__(self, name: str, folder: Path, root: Path | None = None, ending: str = "") -> None:
        self.name = name
        self.root = root or ROOT / "build" / "mpi" / name
        self.ending = ending
        self.folder = folder
        cache = folder / "cache" if root is None else folder.parent / f"cache{ending}"
        settings = {"I_MPI_FABRICS": "shm", "I_MPI_PIN": "0", "XDG_CACHE_HOME": str(cache)}
        if root is None:
            settings["OPAL_PREFIX"] = settings["I_MPI_ROOT"] = str(self.root)
            settings["FI_PROVIDER_PATH"] = str(self.root / "lib" / "libfabric" / "prov")
        self.environment = {**os.environ, **settings}

    def tool(self, name: str) -> Path:
        return self.root / "bin" / f"{name}{self.ending}"

    def compile(self, source: str, mpicc: str = "mpicc", flags: tuple[str, ...] = (), name: str = "") -> Path:
        if "." not in source:
            source += ".c"
        program = self.folder / (name or f"{Path(source).stem}-{mpicc}")
        if not program.exists():
            command = [self.tool(mpicc), "-O1", "-Wall", PROGRAMS / source, "-o", program, *flags, "-lm"]
            done = subprocess.run(command, capture_output=True, text=True, env=self.environment)
            assert done.returncode == 0, done.stderr
        return program

    def launcher(self, ranks: int) -> list[str]:
        words = {
            "openmpi": ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"],
            "mpich": ["-bind-to", "none"],
        }
        return [str(self.tool("mpiexec")), *words.get(self.name, []), "-n", str(ranks)]

    def run(
        self,
        ranks: int,
        *program: object,
        phicoll: bool = True,
        options: tuple[str, ...] = (),
        launching: tuple[str, ...] = (),
        profile: bool = False,
        **variables: str,
    ) -> Profiled:
        before = [sys.executable, "-m", "phicoll", "mpi", *options, "--"] if phicoll else []
        command = [*before, *self.launcher(ranks), *launching, *map(str, program)]
        if profile:
            command = [sys.executable, "-m", "phicoll", "profile", "--json", "--", *command]
        environment = {**self.environment, **variables}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
        output, begin, rest = done.stdout.rpartition('{\n  "seconds"') if profile else (done.stdout, "", "")
        return Profiled(done.returncode, output, done.stderr, json.loads(begin + rest or "{}"))


def in_build(name: str) -> bool:
    return (ROOT / "build" / "mpi" / name / "mpi_collectives").exists()


@pytest.fixture(scope="module", params=MPIS)
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    if not in_build(request.param):
        pytest.skip(f"no {request.param} in build/mpi: make mpis")
    return Installed(request.param, tmp_path_factory.mktemp(request.param))


def of_the_system(name: str, compiler: str, folder: Path) -> Installed:
    found = shutil.which(f"{compiler}.{name}")
    if found is None or shutil.which(f"mpiexec.{name}") is None:
        pytest.skip(f"no {name}: needs {compiler}.{name} and mpiexec.{name}, as Debian calls them")
    return Installed(name, folder, Path(found).parent.parent, f".{name}")


@pytest.fixture(scope="module", params=MPIS)
def any_mpi(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The one in build/mpi, or else the system's."""
    name, folder = request.param, tmp_path_factory.mktemp(f"{request.param}-any")
    return Installed(name, folder) if in_build(name) else of_the_system(name, "mpicc", folder)


FORTRAN = ("-w", "-fallow-argument-mismatch", "-ffree-line-length-none")


@pytest.fixture(scope="module", params=["openmpi", "mpich", "intelmpi"])
def fortran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """An MPI with Fortran's functions, which PyPI's do not all have."""
    name = request.param
    if (
        name == "intelmpi"
        and shutil.which("gfortran")
        and (ROOT / "build" / "mpi" / name / "bin" / "mpifc").exists()
    ):
        return Installed(name, tmp_path_factory.mktemp(f"{name}-fortran"))
    return of_the_system(name, "mpifort", tmp_path_factory.mktemp(f"{name}-fortran"))


def in_mpi_s_words(call: str) -> str:
    return "Bcast" if call == "broadcast" else call.capitalize()


def in_phicoll(done: Profiled) -> dict[str, int]:
    """The calls that ran in phicoll, with their number on all ranks."""
    found: Counter[str] = Counter()
    for row in done.profile["rows"]:
        if not row["algorithm"].startswith("MPI"):
            found[in_mpi_s_words(row["operation"])] += row["calls"] * row["ranks"]
    return dict(found)


def passed(done: Profiled) -> dict[str, dict[str, int]]:
    """The calls that the MPI served: why, and how many of all ranks."""
    found: dict[str, Counter[str]] = {}
    for row in done.profile["rows"]:
        if row["algorithm"].startswith("MPI"):
            counts = found.setdefault(in_mpi_s_words(row["operation"]), Counter())
            counts[row["algorithm"]] += row["calls"] * row["ranks"]
    return {call: dict(counts) for call, counts in found.items()}


def test_every_call_leaves_what_the_mpi_leaves(installed: Installed) -> None:
    done = installed.run(2, installed.compile("compare"), profile=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "compared" in done.stdout
    assert set(in_phicoll(done)) == CALLS
    why = {reason for reasons in passed(done).values() for reason in reasons}
    assert why == {"MPI (one rank)", "MPI (the communicator's first calls, 3 of each)"}


@pytest.mark.parametrize("by", ["header", "module", "f08"])
def test_fortran_s_calls_run_in_phicoll(fortran: Installed, by: str) -> None:
    flags = (f"-DBY_{by.upper()}", f"-J{fortran.folder}", *FORTRAN)
    compiler = "mpifort"
    if fortran.name == "intelmpi":
        modules = gfortran_modules(fortran)
        if by == "f08" or (by == "module" and modules is None):
            pytest.skip("no such module for this gfortran")
        compiler, flags = "mpifc", (*flags, "-fc=gfortran", *([f"-I{modules}"] if modules else []))
    program = fortran.compile("fortran.F90", compiler, flags, name=by)
    done = fortran.run(3, program, profile=True)
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stdout + done.stderr
    assert set(in_phicoll(done)) == CALLS
    first = "MPI (the communicator's first calls, 3 of each)"
    # the first three calls, once each
    assert passed(done) in (
        {"Barrier": {first: 3}, "Allreduce": {first: 6}},
        {"Barrier": {first: 6}, "Allreduce": {first: 3}},
    )


def gfortran_modules(intel: Installed) -> Path | None:
    """Those that this gfortran can read: of its own major version."""
    version = subprocess.run(["gfortran", "-dumpversion"], capture_output=True, text=True, check=True).stdout
    found = (intel.root / "include" / "mpi" / "gfortran").glob(f"{version.split('.')[0].strip()}.*")
    return next(found, None)


def test_fortran_s_names_are_served_in_every_spelling(fortran: Installed) -> None:
    libraries = {"openmpi": "-lmpi_mpifh", "mpich": "-lmpichfort", "intelmpi": "-lmpifort"}
    program = fortran.compile("spellings", flags=(libraries[fortran.name],))
    done = fortran.run(2, program, profile=True, PHICOLL_MPI_FIRST_CALLS="0")
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stdout + done.stderr
    assert in_phicoll(done)["Allreduce"] == 8  # of four names on two ranks
    assert passed(done) == {}


def test_a_program_for_the_standard_abi_gets_the_library_for_it(installed: Installed) -> None:
    if not (installed.root / "bin" / "mpicc_abi").exists():
        pytest.skip(f"this {installed.name} has no MPI-5 ABI")
    program = installed.compile("compare", "mpicc_abi")
    done = installed.run(2, program, 200, profile=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "compared" in done.stdout
    assert len(in_phicoll(done)) == 16
    assert [path.name[:23] for path in (installed.folder / "cache").rglob("*-abi-*")] == [
        "libphicoll-mpi-abi-1.0-"
    ]
    # Under a program for the MPI's own ABI that library would be the wrong one.
    library = next((installed.folder / "cache").rglob("*-abi-*"))
    done = installed.run(2, "env", f"LD_PRELOAD={library}", installed.compile("compare"), 200, phicoll=False)
    assert done.returncode == 0, done.stderr
    assert "compared" in done.stdout
    assert "this library was built for libmpi_abi.so.1" in done.stderr


@pytest.mark.long  # an MPI's own calls take milliseconds where its ranks, which do not yield, share CPUs
@pytest.mark.parametrize("ranks", [3, 4, 5, 8])
def test_more_ranks(installed: Installed, ranks: int) -> None:
    done = installed.run(ranks, installed.compile("compare"), 1000)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "compared" in done.stdout


@pytest.mark.long
def test_derived_types_may_have_more_than_2_gb(installed: Installed) -> None:
    free = re.search(r"MemAvailable: *(\d+)", Path("/proc/meminfo").read_text())
    if free is None or int(free[1]) < 10 << 20:
        pytest.skip("takes 9 GB of memory")
    done = installed.run(2, installed.compile("large"), profile=True, PHICOLL_MPI_FIRST_CALLS="0")
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr
    assert set(in_phicoll(done)) == {"Bcast", "Allgather", "Allgatherv"}
    assert passed(done) == {}


def test_a_rank_that_waits_lets_its_messages_go_on(installed: Installed) -> None:
    # No copies across processes, so that a large message needs both of its ranks.
    without = {
        "UCX_TLS": "posix,self",
        "OMPI_MCA_smsc": "^cma,knem,xpmem",
        "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
        "MPIR_CVAR_CH4_IPC_CMA_ENABLE": "0",
    }
    done = installed.run(2, installed.compile("progress"), profile=True, **without)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["got 1", "received 42"]
    assert "Barrier" in in_phicoll(done)


def test_ranks_are_groups_of_one_session(any_mpi: Installed) -> None:
    """A yield gives the CPU to another rank only within a session, and a signal to a rank is for it alone."""
    told = 'echo "group and session: $(cut -d" " -f5,6 /proc/$$/stat)"; exec "$0"'
    done = any_mpi.run(2, "sh", "-c", told, any_mpi.compile("progress"))
    assert done.returncode == 0, done.stderr
    groups, sessions = zip(*re.findall(r"group and session: (\d+) (\d+)", done.stdout), strict=True)
    assert len(set(groups)) == 2
    assert len(set(sessions)) == 1


def test_threads_have_communicators_of_their_own(installed: Installed) -> None:
    done = installed.run(2, installed.compile("threads"), profile=True)
    if done.stdout == "no threads\n":
        pytest.skip(f"this {installed.name} has no MPI_THREAD_MULTIPLE")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "right\n"
    assert {"Allreduce", "Bcast", "Barrier"} == set(in_phicoll(done))


@pytest.mark.parametrize("nodes", ["a a", "a a b"])
def test_attaching_lets_the_mpi_move_messages(installed: Installed, nodes: str) -> None:
    program = installed.compile("attaching")
    begun = time.monotonic()
    done = run_on_nodes(installed, nodes, program, PHICOLL_MPI_FIRST_CALLS="3")
    if done.stdout == "no threads\n":
        pytest.skip(f"this {installed.name} has no MPI_THREAD_MULTIPLE")
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr
    assert "stays with the MPI" not in done.stderr
    assert time.monotonic() - begun < 25  # attaching alone gives up after 30 s


def test_errors_are_the_mpi_s(installed: Installed) -> None:
    program = installed.compile("errors")
    plain = installed.run(2, program, phicoll=False)
    if plain.returncode != 0:
        pytest.skip(f"this {installed.name} was built without checks of arguments")
    done = installed.run(2, program)
    assert done.returncode == 0, done.stderr
    assert done.stdout == plain.stdout
    assert len(done.stdout.splitlines()) == 7


def test_arguments_without_a_meaning_may_be_null_on_one_rank(installed: Installed) -> None:
    program = installed.compile("insignificant")
    done = installed.run(3, program, profile=True, PHICOLL_MPI_FIRST_CALLS="0")
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr
    assert passed(done) == {}


def test_displacements_of_one_rank_may_be_addresses(installed: Installed) -> None:
    program = installed.compile("bottom", flags=("-fno-pie", "-no-pie"))
    done = installed.run(3, program, profile=True, PHICOLL_MPI_FIRST_CALLS="0")
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr
    assert passed(done) == {}


def run_on_nodes(
    installed: Installed,
    nodes: str,
    *program: object,
    options: tuple[str, ...] = (),
    launching: tuple[str, ...] = (),
    profile: bool = False,
    **variables: str,
) -> Profiled:
    """Run a rank on each of the named nodes."""
    script = installed.folder / "on-a-node"
    script.write_text(
        "#!/bin/bash\nnodes=($NODES)\n"
        'PHICOLL_NODE=${nodes[${PMI_RANK:-${OMPI_COMM_WORLD_RANK:-0}}]} exec "$@"\n'
    )
    script.chmod(0o755)
    return installed.run(
        len(nodes.split()),
        script,
        *program,
        options=options,
        launching=launching,
        profile=profile,
        NODES=nodes,
        **variables,
    )


def test_a_rank_on_each_node_leaves_calls_to_the_mpi(installed: Installed) -> None:
    done = run_on_nodes(installed, "a b", installed.compile("compare"), 200, profile=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert passed(done)["Barrier"].keys() >= {"MPI (several nodes)"}
    assert all(row["waited_s"] is None for row in done.profile["rows"] if row["ranks"] == 2)  # two clocks


@pytest.mark.parametrize(
    "nodes",
    ["a a b", "a b a b", *(pytest.param(n, marks=pytest.mark.long) for n in ("a a b b", "c a b b b a"))],
    ids=["unequal", "in-turn", "in-blocks", "three"],
)
def test_ranks_on_several_nodes_get_what_the_mpi_gives(installed: Installed, nodes: str) -> None:
    done = run_on_nodes(installed, nodes, installed.compile("compare"), 200, profile=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "compared" in done.stdout
    for call in ("Barrier", "Bcast", "Reduce", "Allreduce", "Gather", "Scatter", "Allgather"):
        assert call in in_phicoll(done), done.stderr
    assert "MPI (several nodes)" in passed(done)["Alltoallv"]
    done = run_on_nodes(installed, nodes, installed.compile("pieces"))
    assert (done.returncode, done.stdout) == (0, "pieces are right\n"), done.stderr


@pytest.mark.parametrize(
    ("nodes", "variable", "value"),
    [
        # Vector calls move a sum to a root that does not lead its node.
        ("a a b", "PHICOLL_SCATTER", "single-copy"),
        ("a a b", "PHICOLL_GATHER", "single-copy"),
        # More shared memory than a node's ranks have.
        ("a a b", "PHICOLL_BROADCAST", "ring:cell=1048576:cells=4096"),
        # An operator that does not commute. Many ranks sum by an allreduce.
        ("a a b", "PHICOLL_REDUCE", "tree-reconstructed"),
        (16 * "a " + "b", "PHICOLL_ALLREDUCE", "bruck"),
    ],
    ids=["scatter", "gather", "broadcast", "reduce", "allreduce"],
)
def test_an_algorithm_that_cannot_serve_a_call_within_a_node_gives_way(
    installed: Installed, nodes: str, variable: str, value: str
) -> None:
    more = {variable: value, "PHICOLL_MPI_FIRST_CALLS": "0"}
    done = run_on_nodes(installed, nodes, installed.compile("within"), profile=True, **more)
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr
    assert passed(done) == {}
    assert done.stderr.count(f"auto serves a {variable.split('_')[1].lower()} within a node: ") == 1


def test_new_communicators_over_nodes_are_made_and_freed(installed: Installed) -> None:
    program = installed.compile("compare")
    done = run_on_nodes(installed, "a a b", program, 16, PHICOLL_MPI_FIRST_CALLS="0")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "compared" in done.stdout


def test_threads_have_communicators_over_nodes(installed: Installed) -> None:
    done = run_on_nodes(installed, "a b a", installed.compile("threads"), profile=True)
    if done.stdout == "no threads\n":
        pytest.skip(f"this {installed.name} has no MPI_THREAD_MULTIPLE")
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr
    assert {"Allreduce", "Bcast", "Barrier"} == set(in_phicoll(done))


def test_what_the_mpi_refuses_between_nodes_leaves_no_rank_waiting(installed: Installed) -> None:
    done = run_on_nodes(installed, "a a b", installed.compile("refused"))
    assert sorted(line.split(":")[0] for line in done.stdout.splitlines()) == [
        "rank 0",
        "rank 1",
        "rank 2",
    ], done.stdout + done.stderr


def test_what_the_mpi_refused_some_nodes_leaves_no_other_waiting(installed: Installed) -> None:
    done = run_on_nodes(installed, "a a b b c", installed.compile("refused"), 4)
    refused = "raised" in done.stderr  # by a leader, whose node's other rank then tells
    assert (done.returncode != 0) == refused, done.stdout + done.stderr
    assert ("; the program ends, as other nodes wait for this one\n" in done.stderr) == refused


@pytest.mark.parametrize("lost", [1, 0], ids=["another", "leader"])
def test_a_node_that_loses_a_rank_ends_the_program(installed: Installed, lost: int) -> None:
    goes_on = {"openmpi": "--enable-recovery", "intelmpi": "-disable-auto-cleanup"}
    if installed.name not in goes_on:
        pytest.skip("this launcher ends the other ranks")
    program = installed.compile("lost")
    done = run_on_nodes(installed, "a a b", program, lost, launching=(goes_on[installed.name],))
    assert (done.returncode != 0, done.stdout) == (True, ""), done.stderr
    assert f"{lost}: its process died; the program ends, as other nodes wait for this one\n" in done.stderr
    assert done.stderr.count("; the program ends, ") == 1, done.stderr


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [("PHICOLL_ALLREDUCE", "fastest", "PHICOLL_ALLREDUCE"), ("PHICOLL_BCAST", "ring", "PHICOLL_BROADCAST")],
)
def test_a_bad_variable_is_one_line_and_the_program_runs(
    installed: Installed, variable: str, value: str, words: str
) -> None:
    done = installed.run(2, installed.compile("compare"), 200, **{variable: value})
    assert done.returncode == 0, done.stderr
    assert "compared" in done.stdout
    assert done.stderr.count("phicoll: mpi: all calls stay with the MPI") == 1
    assert words in done.stderr


def test_an_algorithm_that_cannot_serve_a_call_leaves_it_to_the_mpi(installed: Installed) -> None:
    named = {"PHICOLL_GATHER": "single-copy", "PHICOLL_SCATTER": "single-copy"}
    done = installed.run(4, installed.compile("compare"), 60, profile=True, **named)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "compared" in done.stdout
    lines = [line.split(":")[2] for line in done.stderr.splitlines() if "stays with the MPI" in line]
    assert " MPI_Gatherv stays with the MPI" in lines, done.stderr  # blocks of one size only
    assert len(lines) == len(set(lines)), done.stderr
    assert "MPI (the algorithm that a variable names cannot serve it)" in passed(done)["Gatherv"]
    assert "Gatherv" not in in_phicoll(done)


def test_the_number_of_first_calls_can_be_set(installed: Installed) -> None:
    program = installed.compile("progress")  # some dozen calls of one communicator
    for first, found in (
        ("0", "{}"),
        ("100", "first calls"),
        ("many", "got 'many'; allowed: a whole number"),
    ):
        done = installed.run(2, program, profile=True, PHICOLL_MPI_FIRST_CALLS=first)
        assert done.returncode == 0, done.stderr
        assert found in done.stderr + str(passed(done))
        assert ("Barrier" in in_phicoll(done)) == (first != "100")


def test_a_short_program_does_not_measure_the_host(any_mpi: Installed, tmp_path: Path) -> None:
    """Its first large call would take a tenth of a second longer: more than all that better choices bring it."""
    program = any_mpi.compile("once")
    mine = {"PHICOLL_CALIBRATION": "on", "PHICOLL_MPI_FIRST_CALLS": "0", "XDG_CACHE_HOME": str(tmp_path)}
    done = any_mpi.run(2, program, profile=True, **mine)
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr
    assert set(in_phicoll(done)) == {"Bcast"}
    assert not [*tmp_path.glob("phicoll/calibration*")]


def test_later_communicators_have_fewer_first_calls_with_threads(installed: Installed) -> None:
    done = installed.run(2, installed.compile("many"), profile=True)
    if done.stdout == "no threads\n":
        pytest.skip(f"this {installed.name} has no MPI_THREAD_MULTIPLE")
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr
    # Of four times 70, the first 63, 31, 15 and 7; all 63 of each had been 504.
    first = "MPI (the communicator's first calls, at most 63 of each)"
    assert passed(done)["Allreduce"] == {first: 2 * (63 + 31 + 15 + 7)}


@pytest.mark.parametrize("way", ["nothing", "idle", "at once", "closed"])
def test_a_program_gets_its_line_and_its_report_in_whatever_way_it_ends(
    installed: Installed, way: str
) -> None:
    done = installed.run(2, installed.compile("ends"), way, options=("--report",))
    said = [line for line in done.stderr.splitlines() if line.startswith("phicoll: ")]
    nothing = ["phicoll: mpi: nothing ran in phicoll: the program did not call MPI_Init"]
    assert said == (nothing if way == "nothing" else [])
    if way in ("at once", "closed"):
        assert re.search(r"^0.1 +2 +barrier .* 7 ", done.stderr, re.MULTILINE), done.stderr
        assert "left to the MPI: the communicator's first calls, 3 of each: 6 of barrier\n" in done.stderr
    else:
        assert "no collective calls in " in done.stderr


@pytest.mark.parametrize(
    ("words", "called"), [((), "(float64 sum, 16 bytes)"), (("passing",), " (which its MPI serves)")]
)
def test_a_mismatch_names_the_communicator_and_whose_numbers_they_are(
    any_mpi: Installed, words: tuple[str, ...], called: str
) -> None:
    done = any_mpi.run(2, any_mpi.compile("disagree"), *words)
    assert done.returncode != 0
    assert "went on" not in done.stdout
    assert (
        "on a communicator 'turned' (ranks 1, 0 of MPI_COMM_WORLD; numbers are MPI_COMM_WORLD's): group broken by rank 0: "
        f"rank 0 called allreduce{called} as call 6 while rank 1 called broadcast(root 1, 16 bytes)"
    ) in done.stderr


def test_the_library_binds_names_when_it_needs_them(any_mpi: Installed) -> None:
    """So that it can tell a program of another MPI, where they are missing."""
    words = [sys.executable, "-m", "phicoll", "mpi", "--build", "--mpicc", any_mpi.tool("mpicc")]
    library = subprocess.run(
        words, capture_output=True, text=True, env=any_mpi.environment, check=True
    ).stdout
    assert b"NOW" not in subprocess.run(["readelf", "-d", library.strip()], capture_output=True).stdout


def test_rank_0_decides_about_the_profile(installed: Installed) -> None:
    script = installed.folder / "report-of-one"
    script.write_text(
        "#!/bin/bash\n"
        '[ "${PMI_RANK:-${OMPI_COMM_WORLD_RANK:-0}}" = "$WITH" ] || unset PHICOLL_PROFILE\nexec "$@"\n'
    )
    script.chmod(0o755)
    for rank in ("0", "1"):
        done = installed.run(2, script, installed.compile("progress"), profile=True, WITH=rank)
        assert done.returncode == 0, done.stderr
        assert bool(done.profile["rows"]) == (rank == "0")
        assert all(row["waited_s"] is not None for row in done.profile["rows"])  # no rank's calls are missing


def test_a_library_that_is_preloaded_twice_is_one_line_a_rank(installed: Installed) -> None:
    library = subprocess.run(
        [sys.executable, "-m", "phicoll", "mpi", "--build", "--mpicc", installed.root / "bin" / "mpicc"],
        capture_output=True,
        text=True,
        env=installed.environment,
        check=True,
    ).stdout.strip()
    copy = installed.folder / "libphicoll-mpi-copy.so"
    shutil.copy(library, copy)
    done = installed.run(2, installed.compile("compare"), 200, phicoll=False, LD_PRELOAD=f"{library}:{copy}")
    assert done.returncode == 0, done.stderr
    assert "compared" in done.stdout
    assert f"preloaded twice: {copy}" in done.stderr


def test_a_library_for_another_mpi_leaves_the_program_alone(tmp_path: Path) -> None:
    both = [ROOT / "build" / "mpi" / name for name in ("mpich", "openmpi")]
    if not all((root / "mpi_collectives").exists() for root in both):
        pytest.skip("needs MPICH and Open MPI in build/mpi: make mpis")
    mpich, openmpi = (Installed(root.name, tmp_path) for root in both)
    library = mpi.build(mpi.find_mpi(str(openmpi.root / "bin" / "mpicc")))
    done = subprocess.run(
        [*mpich.launcher(2), "env", f"LD_PRELOAD={library}", mpich.compile("compare"), "200"],
        capture_output=True,
        text=True,
        env=mpich.environment,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "compared" in done.stdout
    mpicc = mpich.root / "bin" / "mpicc"
    assert (
        f"this library was built for libmpi.so.40: the program runs without it; phicoll mpi --mpicc {mpicc} builds one for it\n"
    ) in done.stderr


FROM_MPI = """
import os
import numpy as np
import phicoll
from mpi4py import MPI
whole = phicoll.Comm.from_mpi(MPI.COMM_WORLD)
total = np.empty(3)
whole.Allreduce(np.full(3, whole.rank + 0.5), total)
back = MPI.COMM_WORLD.Split(0, -MPI.COMM_WORLD.rank)
turned = phicoll.Comm.from_mpi(back)
first = turned.bcast(whole.rank)
try:
    phicoll.Comm.from_mpi(MPI.COMM_WORLD.rank)
except phicoll.ArgumentError as error:
    refused = str(error).split(";")[0]
try:
    phicoll.Comm.from_mpi(MPI.COMM_NULL)
except phicoll.ArgumentError as error:
    assert "a null communicator" in str(error)
descriptors = len(os.listdir("/proc/self/fd"))
for _ in range(20):
    again = phicoll.Comm.from_mpi(MPI.COMM_WORLD)
    assert again.allreduce(1) == 2
    again.Free()
    try:
        again.Barrier()
    except phicoll.Error as error:
        assert "was freed" in str(error)
assert len(os.listdir("/proc/self/fd")) == descriptors
if whole.rank == 0:
    print(whole.size, total[0], turned.rank, first, refused)
"""


def test_a_communicator_over_one_of_mpi4py_s(installed: Installed) -> None:
    python = installed.root / "bin" / "python"
    if (
        subprocess.run([python, "-c", "import mpi4py, numpy"], capture_output=True, check=False).returncode
        != 0
    ):
        pytest.skip(f"no mpi4py in build/mpi/{installed.name}")
    places = ":".join(path for path in sys.path if path.endswith("site-packages"))
    done = installed.run(2, python, "-c", FROM_MPI, phicoll=False, PYTHONPATH=places)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "2 2.0 1 1 comm: got 0\n"


# Without an MPI


def test_a_communicator_over_one_with_mpi4py_s_names() -> None:
    def work(comm: phicoll.Comm) -> tuple[int, int, list[int]]:
        over = phicoll.Comm.from_mpi(comm.Split(0, -comm.rank))
        return over.rank, over.size, over.allgather(comm.rank)

    assert phicoll.run(work, ranks=3) == [(2 - rank, 3, [2, 1, 0]) for rank in range(3)]


def change(program: Path, at: int, layout: str, value: int) -> None:
    data = bytearray(program.read_bytes())
    struct.pack_into(layout, data, at, value)
    program.write_bytes(data)
    program.chmod(0o755)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A copy of a program of this machine."""
    copy = tmp_path / "program"
    shutil.copy("/bin/true", copy)
    return copy


def test_an_ordinary_program_and_a_script_can_be_preloaded(program: Path, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    assert preloadable_programs(["-n", "2", str(program), str(script), "no such program"]) == [str(program)]


def test_programs_that_cannot_be_read_are_left_to_the_system(program: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut"
    cut.write_bytes(program.read_bytes()[:40])
    cut.chmod(0o755)
    assert preloadable_programs([str(cut)]) == []


def test_a_program_of_another_architecture_is_named(program: Path) -> None:
    change(program, 18, "<H", 40)  # e_machine: ARM
    with pytest.raises(ResourceError, match=f"{program} is a program of another architecture"):
        preloadable_programs(["-n", str(program)])


def test_a_static_program_is_named(program: Path) -> None:
    data = program.read_bytes()
    table, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
    for at in range(table, table + size * count, size):
        if struct.unpack_from("<I", data, at)[0] == 3:  # PT_INTERP
            change(program, at, "<I", 0)
    with pytest.raises(ResourceError, match=f"{program} is statically linked"):
        preloadable_programs([str(program)])


def test_a_setgid_program_is_named(program: Path) -> None:
    program.chmod(0o2755)
    if not program.stat().st_mode & 0o2000:
        pytest.skip("the file system keeps no such bits")
    with pytest.raises(ResourceError, match="setuid or setgid"):
        preloadable_programs([str(program)])


@pytest.mark.parametrize("user", [0, 1000])
def test_a_program_with_capabilities_is_named(
    program: Path, monkeypatch: pytest.MonkeyPatch, user: int
) -> None:
    monkeypatch.setattr(os, "getxattr", lambda path, name: b"\1" if name == "security.capability" else b"")
    monkeypatch.setattr(os, "getuid", lambda: user)
    if user == 0:  # whom they give nothing
        assert preloadable_programs([str(program)]) == [str(program)]
    else:
        with pytest.raises(ResourceError, match=f"{program} runs with rights of its own"):
            preloadable_programs([str(program)])


def test_a_program_of_another_c_library_is_named(program: Path) -> None:
    data = program.read_bytes()
    loader = re.search(rb"/[\w/.-]*/ld-linux[\w.-]*", data[:4096])
    assert loader is not None
    other = b"/lib/ld-musl.so.1"
    program.write_bytes(data[: loader.start()] + other.ljust(len(loader[0]), b"\0") + data[loader.end() :])
    with pytest.raises(
        ResourceError, match=f"{program} is a program of another C library, .*{other.decode()}"
    ):
        preloadable_programs([str(program)])


def test_an_argument_with_the_name_of_such_a_program_is_no_fault(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "mount"
    shutil.copy(program, other)
    change(other, 18, "<H", 40)  # e_machine: ARM
    monkeypatch.setenv("PATH", str(tmp_path))
    assert preloadable_programs(["-n", "2", str(program), "--mode", "mount"]) == [str(program)]


def test_what_was_preloaded_stays_behind_the_library() -> None:
    assert with_preload({}, Path("/a.so")) == {"LD_PRELOAD": "/a.so"}
    assert with_preload({"LD_PRELOAD": "/b.so /c.so"}, Path("/a.so")) == {"LD_PRELOAD": "/a.so:/b.so:/c.so"}


@pytest.mark.parametrize("folder", ["with space", "with:colon"])
def test_a_folder_that_cannot_be_preloaded_from_is_named(folder: str) -> None:
    with pytest.raises(ResourceError, match=f"a space or a colon: /{folder}/a.so"):
        with_preload({}, Path("/", folder, "a.so"))


def test_a_user_without_a_home_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr(building, "expanduser", lambda path: path)  # a user without an entry in passwd
    with pytest.raises(ResourceError, match="set HOME or XDG_CACHE_HOME"):
        building.cache_folder()


@pytest.mark.parametrize(
    ("header", "version"),
    [
        ('#define MPICH_VERSION "5.0.2"\n', "mpich-5.0.2"),
        ('#define MPICH_VERSION "3.4"\n#define I_MPI_VERSION "2021.18.1"\n', "intelmpi-2021.18.1"),
        (
            "#define OMPI_MAJOR_VERSION 5\n#define OMPI_MINOR_VERSION 0\n#define OMPI_RELEASE_VERSION 11\n",
            "openmpi-5.0.11",
        ),
        ("#define MPI_VERSION 4\n#define MPI_SUBVERSION 1\n", "mpi-4.1"),
        (
            "#define MPI_VERSION 5\n#define MPI_ABI_VERSION    1\n#define MPI_ABI_SUBVERSION 0\n",
            "abi-1.0",
        ),
    ],
)
def test_an_mpi_s_version_is_its_header_s(header: str, version: str) -> None:
    assert mpi.version_in(header) == version


@pytest.fixture
def launcher(tmp_path: Path) -> Path:
    """A launcher that runs its program, beside which an mpicc may be put."""
    path = tmp_path / "mpiexec"
    path.write_text('#!/bin/sh\nexec "$@"\n')
    path.chmod(0o755)
    return path


def fake_mpicc(folder: Path, script: str) -> None:
    path = folder / "mpicc"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_the_end_of_a_launcher_s_name_names_the_mpi(tmp_path: Path) -> None:
    # As Debian has it: mpirun -> elsewhere/mpirun -> mpirun.openmpi -> orterun, and each MPI's compiler.
    bin_, elsewhere = tmp_path / "bin", tmp_path / "elsewhere"
    for folder in (bin_, elsewhere):
        folder.mkdir()
    for link, target in (
        (bin_ / "mpirun", elsewhere / "mpirun"),
        (elsewhere / "mpirun", bin_ / "mpirun.openmpi"),
        (bin_ / "mpirun.openmpi", Path("orterun")),
        (bin_ / "mpiexec.mpich", Path("mpiexec.hydra")),
    ):
        link.symlink_to(target)
    for name in ("orterun", "mpiexec.hydra", "mpicc"):
        (bin_ / name).write_text("#!/bin/sh\n")
    for name, version in (("openmpi", "4.1.4"), ("mpich", "4.0.2")):
        include = tmp_path / name
        include.mkdir()
        (include / "mpi.h").write_text(f'#define MPICH_VERSION "{version}"\n')
        (bin_ / f"mpicc.{name}").write_text(f"#!/bin/sh\necho cc -I{include}\n")
    for path in bin_.iterdir():
        path.chmod(0o755)
    for launcher, ending in (
        ("mpirun", "openmpi"),
        ("mpirun.openmpi", "openmpi"),
        ("mpiexec.mpich", "mpich"),
    ):
        assert mpi.find_mpi(beside=str(bin_ / launcher)).mpicc == f"{bin_}/mpicc.{ending}"


def test_an_mpi_without_headers_is_one_line_and_the_program_runs(
    phicoll_command: Command, launcher: Path, tmp_path: Path
) -> None:
    fake_mpicc(tmp_path, "echo cc -I/nowhere -lmpi")
    done = phicoll_command("mpi", "--", launcher, "echo", "done")
    assert done.stdout == "done\n"
    assert done.returncode == 0
    assert done.stderr.count("\n") == 1
    assert "the program runs without phicoll" in done.stderr
    assert "has no mpi.h" in done.stderr


def test_a_program_without_mpi_is_one_line_and_runs(installed: Installed) -> None:
    source, program = installed.folder / "other.c", installed.folder / "other"
    source.write_text('#include <stdio.h>\nint main(void) { puts("done"); return 3; }\n')
    subprocess.run(["gcc", source, "-o", program], check=True)
    done = installed.run(2, program)
    assert (done.stdout, done.returncode) == ("done\ndone\n", 3)
    assert f"phicoll: mpi: the program runs without phicoll: {program} uses no MPI\n" in done.stderr


def test_a_static_program_is_one_line_and_runs(
    phicoll_command: Command, launcher: Path, tmp_path: Path
) -> None:
    source, program = tmp_path / "static.c", tmp_path / "static"
    source.write_text('#include <stdio.h>\nint main(void) { puts("done"); return 3; }\n')
    if subprocess.run(["gcc", "-static", source, "-o", program], capture_output=True).returncode != 0:
        pytest.skip("no static libc")
    done = phicoll_command("mpi", "--", launcher, program)
    assert (done.stdout, done.returncode) == ("done\n", 3)
    line = f"phicoll: mpi: the program runs without phicoll: {program} is statically linked\n"
    assert done.stderr == line
    assert phicoll_command("mpi", "--", program).stderr == line


WITHOUT_STDERR = ("bash", "-c", 'exec "$@" 2>&-', "bash")


def test_without_a_standard_error_the_program_runs(launcher: Path) -> None:
    command = [sys.executable, "-m", "phicoll", "mpi", "--mpicc", "/no/mpicc", "--", launcher, "echo", "done"]
    done = subprocess.run(
        [*WITHOUT_STDERR, *command], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr, done.returncode) == ("done\n", "", 0)


def test_ranks_without_a_standard_error_run(installed: Installed) -> None:
    program = installed.compile("progress")
    done = installed.run(2, *WITHOUT_STDERR, program, profile=True)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["got 1", "received 42"]
    assert "phicoll" not in done.stderr  # whatever has its number then is the program's


def test_a_compiler_that_fails_is_one_line_with_its_first_error(
    phicoll_command: Command, launcher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "mpi.h").write_text('#define MPICH_VERSION "9"\n')
    fake_mpicc(
        tmp_path, f'[ "$1" = -show ] && echo cc -I{tmp_path} && exit 0; echo "x.cpp:1: error: no" >&2; exit 1'
    )
    done = phicoll_command("mpi", "--", launcher, "echo", "done")
    assert done.stdout == "done\n"
    assert "mpich-9: x.cpp:1: error: no" in done.stderr


def test_a_library_is_built_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "mpi.h").write_text('#define MPICH_VERSION "9"\n')
    log, empty = tmp_path / "log", tmp_path / "empty.so"
    subprocess.run(["gcc", "-shared", "-x", "c", "/dev/null", "-o", empty], check=True)
    fake_mpicc(
        tmp_path,
        f'[ "$1" = -show ] && echo cc -I{tmp_path} && exit 0\n'
        f'echo built >> {log}\nwhile [ "$1" != -o ]; do shift; done; cp {empty} "$2"',
    )
    found = mpi.find_mpi(str(tmp_path / "mpicc"))
    library = mpi.build(found)
    assert library == mpi.build(found)
    assert Path(library).name.startswith("libphicoll-mpi-mpich-9-")
    assert log.read_text() == "built\n"
    (tmp_path / "mpi.h").write_text('#define MPICH_VERSION "10"\n')
    assert mpi.build(mpi.find_mpi(str(tmp_path / "mpicc"))) != library
    assert log.read_text() == "built\n" * 2
    for cut in (0, 32, empty.stat().st_size - 1):
        os.truncate(library, cut)
        assert mpi.build(found) == library
        assert Path(library).stat().st_size == empty.stat().st_size
    assert log.read_text() == "built\n" * 5


def test_what_an_mpicc_shows_is_asked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "mpi.h").write_text('#define MPICH_VERSION "9"\n')
    log = tmp_path / "log"
    script = f"echo asked >> {log}\necho ${{MPICH_CC:-cc}} -I{tmp_path}"
    fake_mpicc(tmp_path, script)

    def shown() -> str:
        return mpi.find_mpi(str(tmp_path / "mpicc")).shown

    assert shown() == shown() == f"cc -I{tmp_path}"
    assert log.read_text() == "asked\n"
    monkeypatch.setenv("MPICH_CC", "clang")
    assert shown() == shown() == f"clang -I{tmp_path}"
    assert log.read_text() == "asked\n" * 2
    fake_mpicc(tmp_path, f"{script} -O2")
    assert shown() == f"clang -I{tmp_path} -O2"
    for kept in (tmp_path / "cache" / "phicoll" / "preload").glob("mpicc-*.txt"):
        os.truncate(kept, 3)
    assert shown() == f"clang -I{tmp_path} -O2"
    assert log.read_text() == "asked\n" * 4


@pytest.mark.parametrize(
    ("beside", "words", "expected"),
    [
        (["hydra_pmi_proxy"], ["-n", "2", "p"], ["-genv", "LD_PRELOAD", "/a.so", "-n", "2", "p"]),
        (["ompi_info"], ["-n", "2", "p"], ["-x", "LD_PRELOAD=/a.so", "-n", "2", "p"]),
        ([], ["-n", "2", "p"], None),
        (["hydra_pmi_proxy", "ompi_info"], ["-n", "2", "p"], None),
        (["ompi_info"], ["-n", "1", "p", ":", "-n", "1", "q"], None),
        (["hydra_pmi_proxy"], ["-configfile", "f"], None),
        (["ompi_info"], ["-x", "LD_PRELOAD=/b.so", "p"], None),
        (["ompi_info"], ["--mca", "mca_base_env_list", "A=1", "p"], None),
    ],
)  # fmt: skip
def test_ranks_alone_get_the_library_where_the_launcher_is_known(
    launcher: Path, beside: list[str], words: list[str], expected: list[str] | None
) -> None:
    for name in beside:
        (launcher.parent / name).touch()
    found = mpi.for_ranks([str(launcher), *words], "LD_PRELOAD", "/a.so")
    assert found == (expected and [str(launcher), *expected])


def test_a_library_that_another_user_could_have_planted_is_not_preloaded(
    phicoll_command: Command, launcher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "mpi.h").write_text('#define MPICH_VERSION "9"\n')
    empty = tmp_path / "empty.so"
    subprocess.run(["gcc", "-shared", "-x", "c", "/dev/null", "-o", empty], check=True)
    fake_mpicc(
        tmp_path,
        f'[ "$1" = -show ] && echo cc -I{tmp_path} && exit 0\n'
        f'while [ "$1" != -o ]; do shift; done; cp {empty} "$2"',
    )
    library = mpi.build(mpi.find_mpi(str(tmp_path / "mpicc")))
    cache = Path(library).parent
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in (cache, cache.parent)} == {0o700}
    for path in (Path(library), cache, cache.parent, tmp_path / "cache"):
        mode = path.stat().st_mode
        path.chmod(mode | 0o002)
        done = phicoll_command("mpi", "--", launcher, "echo", "done")
        assert done.stdout == "done\n"
        assert f"the library {library} is not used, as others may write '{path}'" in done.stderr
        assert "or set XDG_CACHE_HOME" in done.stderr
        path.chmod(mode)
        if os.geteuid() == 0:
            os.chown(path, 1234, 1234)
            done = phicoll_command("mpi", "--", launcher, "echo", "done")
            assert done.stdout == "done\n"
            assert f"is not used, as '{path}' belongs to user 1234" in done.stderr
            os.chown(path, 0, 0)
    assert "is not used" not in phicoll_command("mpi", "--", launcher, "echo", "done").stderr
    Path(library).unlink()
    cache.chmod(0o777)  # nothing is built into such a folder either
    assert f"others may write '{cache}'" in phicoll_command("mpi", "--", launcher, "echo", "done").stderr
    assert list(cache.glob("*.so")) == []


def test_a_compiler_beside_a_program_is_its_owner_s_the_caller_s_or_root_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("MPICC", raising=False)
    (tmp_path / "mpi.h").write_text('#define MPICH_VERSION "9"\n')
    fake_mpicc(tmp_path, f"echo cc -I{tmp_path}")
    compiler, program = tmp_path / "mpicc", tmp_path / "mpiexec"
    program.touch(0o755)
    program.chmod(0o755)
    assert mpi.find_mpi(beside=str(program)).mpicc == str(compiler)
    compiler.chmod(0o757)
    with pytest.raises(ResourceError, match=r"no mpicc.*mpicc is not run, as everybody may write it"):
        mpi.find_mpi(beside=str(program))
    assert mpi.find_mpi(str(compiler), str(program)).mpicc == str(compiler)  # the one that was named
    compiler.chmod(0o755)
    if os.geteuid() != 0:
        return
    os.chown(compiler, 1234, 1234)
    with pytest.raises(
        ResourceError, match=r"mpicc is not run, as it belongs to user 1234: name the MPI's own by --mpicc"
    ):
        mpi.find_mpi(beside=str(program))
    os.chown(program, 1234, 1234)
    assert mpi.find_mpi(beside=str(program)).mpicc == str(compiler)
    os.chown(compiler, 0, 0)
    os.lchown(tmp_path / "mpicc", 0, 0)
    compiler.rename(tmp_path / "real")
    compiler.symlink_to(tmp_path / "real")
    os.lchown(compiler, 4321, 4321)
    with pytest.raises(ResourceError, match="belongs to user 4321"):
        mpi.find_mpi(beside=str(program))


def test_a_full_disk_and_one_that_cannot_be_written_are_named(
    phicoll_command: Command, launcher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "mpi.h").write_text('#define MPICH_VERSION "9"\n')
    said = (
        "/usr/bin/ld: final link failed: No space left on device\ncollect2: error: ld returned 1 exit status"
    )
    fake_mpicc(tmp_path, f'[ "$1" = -show ] && echo cc -I{tmp_path} && exit 0; echo "{said}" >&2; exit 1')
    done = phicoll_command("mpi", "--", launcher, "echo", "done")
    assert done.stdout == "done\n"
    folder = f"{tmp_path}/cache/phicoll/preload"
    assert (
        f"{folder}: the library cannot be written there (No space left on device): make room" in done.stderr
    )
    done = phicoll_command("mpi", "--", launcher, "echo", "done", env={"XDG_CACHE_HOME": "/proc/none"})
    assert done.stdout == "done\n"
    assert "/proc/none/phicoll/preload: the library cannot be written there (No such file" in done.stderr
    assert "or set XDG_CACHE_HOME to another folder" in done.stderr


def test_a_program_linked_with_the_standard_abi_wants_its_own_compiler(
    phicoll_command: Command, launcher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    empty, library, program = tmp_path / "empty.c", tmp_path / "libmpi_abi.so.1", tmp_path / "linked"
    empty.write_text("int main(void) { return 0; }\n")
    for words in (
        ["-shared", "-fPIC", "-Wl,-soname,libmpi_abi.so.1", "-o", library],
        ["-Wl,--no-as-needed", library, f"-Wl,-rpath,{tmp_path}", "-o", program],
    ):
        subprocess.run(["gcc", empty, *words], check=True)
    assert "libmpi_abi.so.1" in needed_libraries(["/bin/true", str(program)])
    assert "libmpi_abi.so.1" not in needed_libraries(["/bin/true", str(empty)])
    assert needed_libraries([]) == set()
    fake_mpicc(tmp_path, "echo cc -I/nowhere -lmpi")
    done = phicoll_command("mpi", "--", launcher, program)
    assert done.returncode == 0
    assert "the program runs without phicoll: no mpicc_abi" in done.stderr
    (tmp_path / "mpicc").rename(tmp_path / "mpicc_abi")
    done = phicoll_command("mpi", "--", launcher, program)
    assert f"{tmp_path}/mpicc_abi has no mpi.h beside it" in done.stderr


def test_no_command_and_no_such_launcher_are_refused() -> None:
    with pytest.raises(ArgumentError, match="command"):
        mpi.served([])
    with pytest.raises(ArgumentError, match="no-such-mpiexec"):
        mpi.served(["no-such-mpiexec", "-n", "2"])
    with pytest.raises(ResourceError, match="no mpicc: /no/mpicc"):
        mpi.find_mpi("/no/mpicc")


RANK = """
import ctypes, os, sys, time
library = ctypes.CDLL(sys.argv[1])
library.phicoll_preload_error.restype = ctypes.c_char_p
library.phicoll_preload_operator.restype = ctypes.c_void_p
turns, counts = 0, False
@ctypes.CFUNCTYPE(None)
def progress():
    global turns
    turns += 1
    if counts and turns > 10:
        open(sys.argv[4], "w").close()
group, comm = ctypes.c_void_p(), ctypes.c_void_p()
rank = int(sys.argv[3])
def fine(result):
    assert result == 0, library.phicoll_preload_error()
fine(library.phicoll_preload_attach(sys.argv[2].encode(), 2, rank, progress, ctypes.c_int64(30000), ctypes.c_int64(0), ctypes.byref(group)))
members = (ctypes.c_int * 2)(1, 0)
fine(library.phicoll_preload_create(group, members, 2, ctypes.byref(comm)))
turns, counts = 0, True
deadline = time.monotonic() + 60
while rank == 1 and not os.path.exists(sys.argv[4]):
    assert time.monotonic() < deadline, "rank 0 waits without progress"
    time.sleep(0.01)
class Request(ctypes.Structure):  # PhicollRequest of engine.hpp
    _fields_ = [
        *((name, ctypes.c_ubyte) for name in ("operation", "vector", "exclusive")),
        ("type", ctypes.c_uint),
        ("root", ctypes.c_int),
        ("send", ctypes.c_void_p),
        ("receive", ctypes.c_void_p),
        ("count", ctypes.c_size_t),
        *((name, ctypes.c_void_p) for name in ("op", "sent", "sent_at", "received", "received_at", "algorithm")),
    ]
def call(operation, **what):
    fine(library.phicoll_preload_call(comm, ctypes.byref(Request(operation, **what))))
call(0)  # a barrier
op = ctypes.c_void_p(library.phicoll_preload_operator(b"float64", b"sum"))
mine, total = ctypes.c_double(rank + 0.5), ctypes.c_double()
call(3, send=ctypes.addressof(mine), receive=ctypes.addressof(total), count=1, op=op)  # an allreduce
first = ctypes.c_int(rank)
call(1, receive=ctypes.addressof(first), count=4)  # a broadcast
print(rank, total.value, first.value, turns > 10 or rank == 1, library.phicoll_preload_operator(b"float64", b"land"))
library.phicoll_preload_free(comm)
library.phicoll_preload_leave(group)
"""


def test_the_library_s_plain_functions_join_two_processes(tmp_path: Path) -> None:
    """What a preloaded library is built on: attaching, an order of ranks of its own, progress in waits."""
    library = f"{mpi.native_folder()}/libphicoll-preload.so"
    name = f"phicoll-test-{os.getpid()}"
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", RANK, library, name, str(rank), tmp_path / "turned"],
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    outputs = [rank.communicate(timeout=60)[0] for rank in ranks]
    assert outputs == ["0 2.0 1 True None\n", "1 2.0 1 True None\n"]


def test_the_library_brings_nothing_but_its_functions_into_a_program() -> None:
    library = f"{mpi.native_folder()}/libphicoll-preload.so"
    names = subprocess.run(
        ["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True
    ).stdout
    assert {
        line.split()[-1] for line in names.splitlines() if not line.split()[-1].startswith("phicoll_preload_")
    } == set()
    needed = subprocess.run(["objdump", "-p", library], capture_output=True, text=True, check=True).stdout
    assert "hwloc" not in needed
    assert ctypes.CDLL(library).phicoll_preload_check_environment() == 0


def test_the_library_registers_its_process_once_it_is_loaded() -> None:
    """Later, when an MPI has started threads, the kernel would take some 20 ms for it."""
    number = {"x86_64": 324, "aarch64": 283}[os.uname().machine]  # membarrier(2)
    private, command = (
        8,
        "import ctypes, sys; sys.argv[1:] and ctypes.CDLL(sys.argv[1]); libc = ctypes.CDLL(None);",
    )
    code = f"{command} print(libc.syscall({number}, {private}, 0, 0))"

    def barrier(*words: str) -> str:
        return subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True).stdout

    if ctypes.CDLL(None).syscall(number, 0, 0, 0) & private == 0:
        pytest.skip("this kernel has no private expedited membarrier")
    assert barrier() == "-1\n"
    assert barrier(f"{mpi.native_folder()}/libphicoll-preload.so") == "0\n"


WATCHED = """
#include <mpi.h>

int main(int argc, char** argv) {
  double mine[4] = {1}, all[4];
  MPI_Comm twins[2];
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 2; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &twins[i]);
  for (int i = 0; i < 5; ++i) MPI_Allreduce(mine, all, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < 2; ++i) MPI_Barrier(twins[0]);
  for (int i = 0; i < 3; ++i) MPI_Barrier(twins[1]);
  MPI_Gather(rank ? mine : MPI_IN_PLACE, 2, MPI_DOUBLE, all, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
"""


def test_a_profile_only_watches_what_stays_with_the_mpi(any_mpi: Installed) -> None:
    source = any_mpi.folder / "watched.c"
    source.write_text(WATCHED)
    program = any_mpi.folder / "watched"
    done = subprocess.run(
        [any_mpi.tool("mpicc"), source, "-o", program],
        capture_output=True,
        text=True,
        env=any_mpi.environment,
    )
    assert done.returncode == 0, done.stderr
    command = [sys.executable, "-m", "phicoll", "profile", "--only", "--json", "--"]
    done = subprocess.run(
        [*command, *any_mpi.launcher(2), program],
        capture_output=True, text=True, env=any_mpi.environment, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "phicoll: " not in done.stderr
    rows = json.loads(done.stdout)["rows"]
    found = sorted((row["communicator"], row["operation"], row["bytes"], row["calls"]) for row in rows)
    barriers = [row for row in found if row[1] == "barrier"]
    assert [row for row in found if row[1] != "barrier"] == [
        ("0", "allreduce", 32, 5), ("0", "gather", 16, 1)
    ]  # fmt: skip
    assert sorted(row[3] for row in barriers) == [2, 3]  # each communicator of the same ranks has its own
    assert {row[0] for row in barriers} == {"0.1", "0.2"}
    assert {row["algorithm"] for row in rows} == {"MPI"}
    assert all(0 <= row["waited_s"] <= row["inside_s"] and row["ranks"] == 2 for row in rows)


def test_a_profile_only_watches_threads(any_mpi: Installed) -> None:
    command = [sys.executable, "-m", "phicoll", "profile", "--only", "--json", "--"]
    done = subprocess.run(
        [*command, *any_mpi.launcher(2), any_mpi.compile("threads")],
        capture_output=True, text=True, env=any_mpi.environment, timeout=300,
    )  # fmt: skip
    if "no threads\n" in done.stdout:
        pytest.skip(f"this {any_mpi.name} has no MPI_THREAD_MULTIPLE")
    assert done.returncode == 0, done.stderr
    said, _, table = done.stdout.partition("right\n")
    assert said == ""
    found = json.loads(table)["rows"]
    assert {row["algorithm"] for row in found} == {"MPI"}
    assert {(row["operation"], row["bytes"]) for row in found} == {
        ("allreduce", 4), ("broadcast", 4), ("barrier", 0)
    }  # fmt: skip


TWINS = r"""
#include "expect.h"
#include <pthread.h>
#include <unistd.h>

static MPI_Comm twins[2];

static void* use(void* which) {
  int value = 0, sum;
  for (int turn = 0; turn < 3; ++turn)
    if (which == &twins[0])
      MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, twins[0]);
    else
      MPI_Barrier(twins[1]);
  return NULL;
}

int main(int argc, char** argv) {
  pthread_t first, second;
  MPI_Comm mine;
  begin_with_threads(&argc, &argv);
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &mine);
  for (int i = 0; i < 2; ++i)
    if (argc == 1)
      MPI_Comm_dup(mine, &twins[i]);
    else
      MPI_Intercomm_create(mine, 0, MPI_COMM_WORLD, rank < 2 ? 2 : 0, 0, &twins[i]);
  pthread_create(&first, NULL, use, &twins[rank % 2]);
  usleep(50000);
  pthread_create(&second, NULL, use, &twins[1 - rank % 2]);
  pthread_join(first, NULL);
  pthread_join(second, NULL);
  MPI_Finalize();
  return 0;
}
"""


@pytest.mark.parametrize("between", [(), ("groups",)], ids=["communicators", "intercommunicators"])
def test_threads_may_use_twins_of_a_communicator_in_any_order(
    any_mpi: Installed, between: tuple[str, ...]
) -> None:
    source = any_mpi.folder / "twins.c"
    source.write_text(TWINS)
    program = any_mpi.compile(str(source), flags=("-I", str(PROGRAMS), "-lpthread"))
    command = [sys.executable, "-m", "phicoll", "profile", "--only", "--json", "--"]
    done = subprocess.run(
        [*command, *any_mpi.launcher(4), program, *between],
        capture_output=True, text=True, env=any_mpi.environment, timeout=300,
    )  # fmt: skip
    if "no threads\n" in done.stdout:
        pytest.skip(f"this {any_mpi.name} has no MPI_THREAD_MULTIPLE")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    found = sorted((row["operation"], row["calls"], row["ranks"]) for row in rows)
    assert found == [("allreduce", 3, 2), ("allreduce", 3, 2), ("barrier", 3, 2), ("barrier", 3, 2)]
    assert len({row["communicator"] for row in rows}) == 4


def test_a_profile_s_folder_may_have_a_long_name_and_a_missing_one_has_a_reason(
    any_mpi: Installed, tmp_path: Path
) -> None:
    program = any_mpi.compile("progress")
    folder = tmp_path.joinpath(*["long" * 50] * 6)
    folder.mkdir(parents=True)
    for name, said in ((folder, ""), (folder / "none", "(No such file or directory)")):
        done = any_mpi.run(2, program, PHICOLL_PROFILE=str(name))
        assert done.returncode == 0, done.stderr
        assert said in done.stderr
        assert ("no calls are watched" in done.stderr) == (said != "")
    assert list(folder.glob("*.calls"))
