"""``phicoll omp`` and ``phicoll pthread``: OpenMP programs and programs with pthread barriers."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from phicoll.errors import ArgumentError
from phicoll.preload import threads
from phicoll.preload.programs import native_folder

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "tests"


def libomp() -> list[str]:
    found = sorted(Path("/usr/lib").glob("llvm-*/lib/libomp.so"))
    return [f"-L{found[-1].parent}", f"-Wl,-rpath,{found[-1].parent}", "-lomp"] if found else []


def libiomp5() -> list[str]:
    found = Path(sys.prefix) / "lib" / "libiomp5.so"
    return [str(found), f"-Wl,-rpath,{found.parent}"] if found.exists() else []


class Compiled:
    """The tests' programs as GCC or Clang compiles them, linked with a runtime."""

    def __init__(self, folder: Path, compiler: str, runtime: list[str]) -> None:
        self.folder = folder
        self.compiler = compiler
        self.runtime = runtime

    def program(self, source: str, *flags: str, name: str = "", openmp: bool = True) -> Path:
        made = self.folder / (name or Path(source).stem)
        if not made.exists():
            # GCC's -fopenmp would link libgomp.
            objects = self.folder / f"{made.name}.o"
            compile_ = [self.compiler, "-O2", "-Wall", "-c", PROGRAMS / source, "-o", objects, *flags]
            link = [self.compiler, objects, "-o", made, *flags, "-lpthread", "-ldl"]
            if openmp:
                compile_ += ["-fopenmp"]
                link += self.runtime or ["-fopenmp"]
            for command in (compile_, link):
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                assert done.returncode == 0, done.stderr
        return made


class Profiled(NamedTuple):
    """A run that has ended, and its profile."""

    returncode: int
    stdout: str
    stderr: str
    profile: dict[str, Any]


def run(
    kind: str, *program: object, options: tuple[str, ...] = (), plain: bool = False, **variables: str
) -> subprocess.CompletedProcess[str]:
    before = [] if plain else [sys.executable, "-m", "phicoll", kind, *options, "--"]
    return subprocess.run(
        [*before, *map(str, program)],
        capture_output=True,
        text=True,
        env={**os.environ, **variables},
        timeout=120,
        check=False,
    )


def profiled(kind: str, *program: object, options: tuple[str, ...] = (), **variables: str) -> Profiled:
    """A run with its profile."""
    command = [sys.executable, "-m", "phicoll", kind, *options, "--", *map(str, program)]
    environment = {**os.environ, **variables}
    return watched(command, environment)


def watched(command: list[str], environment: dict[str, str]) -> Profiled:
    words = [sys.executable, "-m", "phicoll", "profile", "--json", "--", *command]
    done = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=120, check=False)
    output, begin, rest = done.stdout.rpartition('{\n  "seconds"')
    return Profiled(done.returncode, output, done.stderr, json.loads(begin + rest))


def calls(done: Profiled) -> dict[int, int]:
    """Of a profile: threads, and their barriers in phicoll."""
    found: dict[int, int] = {}
    for row in done.profile["rows"]:
        found[row["ranks"]] = found.get(row["ranks"], 0) + row["calls"]
    return found


def calls_of_pairs(done: Profiled) -> list[int]:
    """The barriers of two threads in each of several processes."""
    return sorted(row["calls"] for row in done.profile["rows"] if row["ranks"] == 2)


RUNTIMES = {"libgomp": list, "libomp": libomp, "libiomp5": libiomp5}


@pytest.fixture(scope="module", params=["gcc-libgomp", "gcc-libomp", "gcc-libiomp5", "clang-libomp"])
def openmp(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    compiler, runtime = request.param.split("-")
    if compiler == "clang":
        compiler = next(filter(None, map(shutil.which, ("clang", "clang-14", "clang-16", "clang-19"))), None)
    flags = RUNTIMES[runtime]()
    if compiler is None or (runtime != "libgomp" and not flags):
        pytest.skip(f"no {request.param}")
    made = Compiled(tmp_path_factory.mktemp(request.param), compiler, flags)
    if compiler != "gcc":
        header = made.folder / "omp.h"  # Clang's is not always beside it
        found = sorted(Path("/usr/lib").glob("llvm-*/lib/clang/*/include/omp.h"))
        header.write_text(f'#include "{found[-1]}"\n' if found else "int omp_get_thread_num(void);\n")
        made.runtime = [*flags, f"-I{made.folder}"]
    return made


def flags_of(openmp: Compiled) -> tuple[str, ...]:
    return () if openmp.compiler == "gcc" else (f"-I{openmp.folder}",)


# OpenMP


def test_what_was_written_before_a_barrier_is_seen_after(openmp: Compiled) -> None:
    done = profiled("omp", openmp.program("openmp/compare.c", *flags_of(openmp)), 25)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "right\n"
    assert set(calls(done)) == set(range(2, 9))
    assert "barriers of the runtime" not in done.stderr


@pytest.mark.parametrize(
    "barrier", ["sense-reversing", "hybrid-dissemination", "static-tournament:wait=yield"]
)
def test_any_barrier_serves(openmp: Compiled, barrier: str) -> None:
    program = openmp.program("openmp/compare.c", *flags_of(openmp))
    done = run("omp", program, 3, options=("--barrier", barrier))
    assert done.stdout == "right\n", done.stdout + done.stderr


def test_a_program_with_tasks_is_left_alone_with_a_word(openmp: Compiled) -> None:
    done = profiled("omp", openmp.program("openmp/tasks.c", *flags_of(openmp)))
    assert (done.returncode, done.stdout) == (0, "50 of 50\n")
    assert "stay with its runtime: it uses OpenMP tasks, which run in barriers (" in done.stderr
    assert calls(done) == {}


# Which imports the linker puts into the GNU hash table, and whether there is one, depends on these.
@pytest.mark.parametrize("hashes", ["gnu", "sysv", "both"])
@pytest.mark.parametrize("calls_by", ["-fPIE -pie", "-no-pie", "-no-pie -Wl,-z,now", "-no-pie -fno-plt"])
def test_a_program_s_tasks_are_found_however_it_is_linked(
    openmp: Compiled, calls_by: str, hashes: str
) -> None:
    flags = (*calls_by.split(), f"-Wl,--hash-style={hashes}", *flags_of(openmp))
    program = openmp.program("openmp/tasks.c", *flags, name=f"tasks{calls_by}{hashes}".replace(" ", ""))
    done = profiled("omp", program)
    assert (done.returncode, done.stdout) == (0, "50 of 50\n")
    assert "stay with its runtime: it uses OpenMP tasks, which run in barriers (" in done.stderr
    assert calls(done) == {}


def test_a_program_that_cancels_is_left_alone_with_a_word(openmp: Compiled) -> None:
    program = openmp.program("openmp/cancel.c", *flags_of(openmp))
    done = run("omp", program, OMP_CANCELLATION="true")
    assert (done.returncode, done.stdout) == (0, "100 rounds\n")
    assert "it uses OpenMP cancellation, which ends barriers (" in done.stderr


def plugin(openmp: Compiled, *flags: str, name: str) -> Path:
    return openmp.program("openmp/plugin.c", "-fPIC", "-shared", *flags, *flags_of(openmp), name=name)


def test_a_host_that_loads_openmp_later_gains(openmp: Compiled) -> None:
    host = openmp.program("openmp/host.c", openmp=False)
    done = profiled("omp", host, plugin(openmp, name="plugin.so"))
    assert done.stdout == "0 wrong\n", done.stderr
    assert calls(done) == {3: 398}


def test_a_loaded_object_with_tasks_is_found(openmp: Compiled) -> None:
    host = openmp.program("openmp/host.c", openmp=False)
    plain, tasks = plugin(openmp, name="plugin.so"), plugin(openmp, "-DTASKS", name="tasks.so")
    done = profiled("omp", host, plain, tasks, plain)
    assert done.stdout == "0 wrong\n" * 3, done.stderr
    assert f"{tasks} uses OpenMP tasks" in done.stderr
    assert calls(done) == {3: 398}


def test_tasks_of_an_object_that_is_loaded_in_a_region_are_done(openmp: Compiled) -> None:
    host = openmp.program("openmp/host.c", "-DTEAM", *flags_of(openmp), name="team")
    tasks = plugin(openmp, "-DTASKS", name="tasks.so")
    done = profiled("omp", host, tasks, tasks)
    assert done.stdout == "50 of 50\n" * 2, done.stderr
    assert "loaded in a parallel region uses OpenMP tasks" in done.stderr
    assert calls(done) == {2: 2}


def test_a_region_begins_in_a_constructor_beside_the_program_s_first(openmp: Compiled) -> None:
    source = "openmp/constructor.c"
    host = openmp.program(source, "-rdynamic", *flags_of(openmp), name="constructors-host")
    loaded = openmp.program(source, "-DLOADED", "-fPIC", "-shared", *flags_of(openmp), name="constructor.so")
    done = profiled("omp", host, loaded)
    assert done.stdout == "3 2\n", done.stderr
    assert calls(done) == {2: 2}


def test_a_constructor_waits_for_a_thread_that_begins_its_object_s_first_region(openmp: Compiled) -> None:
    if openmp.runtime:
        pytest.skip("this runtime asks the dynamic linker, and hangs without phicoll, too")
    host = openmp.program("openmp/host.c", openmp=False)
    done = profiled("omp", host, plugin(openmp, "-DWAITS", name="waits.so"))
    assert done.stdout == "0 wrong in a constructor\n0 wrong\n", done.stderr
    assert calls(done) == {3: 2 * 398}


def test_an_object_may_be_closed_and_loaded_again(openmp: Compiled) -> None:
    host = openmp.program("openmp/host.c", "-DCLOSES", name="closes", openmp=False)
    loaded = plugin(openmp, name="plugin.so")
    done = profiled("omp", host, loaded, loaded, loaded)
    assert done.stdout == 3 * "0 wrong\n", done.stderr
    assert calls(done) == {3: 3 * 398}


def test_deep_regions_of_llvm_s_compilers_need_little_stack(openmp: Compiled) -> None:
    if openmp.runtime == []:
        pytest.skip("libgomp has no such regions")
    program = openmp.program("openmp/deep.c", *flags_of(openmp))
    right = "12000 20 70 2695\n"
    for plainly in (True, False):
        done = run("omp", program, 2000, plain=plainly, OMP_NUM_THREADS="1")
        assert (done.returncode, done.stdout) == (0, right), done.stderr


def test_a_child_of_fork_begins_regions_and_counts_its_own(openmp: Compiled) -> None:
    # A child's lock counts those who waited for it in the parent: under load 1 to 5 of 6 programs hang.
    if openmp.runtime:
        pytest.skip("children of LLVM's and Intel's runtimes hang without phicoll, too")
    done = profiled("omp", openmp.program("openmp/forks.c", *flags_of(openmp)))
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr
    assert calls_of_pairs(done)[:400] == 400 * [1]  # the last is the parent's
    assert "omp: 1 parallel regions, in each of 400 processes" in done.profile["notes"]


def test_a_program_that_uses_no_openmp_is_told_so() -> None:
    done = run("omp", sys.executable, "-c", "print('done')")
    assert done.stdout == "done\n"
    assert (
        done.stderr
        == "phicoll: omp: the program began no parallel region of an OpenMP library that is shared\n"
    )


# pthread


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    return Compiled(tmp_path_factory.mktemp("plain"), "gcc", [])


def test_pthread_barriers_are_glibc_s_in_every_manner(plain: Compiled) -> None:
    program = compare(plain, "pthread")
    assert run("pthread", program, 24, plain=True).stdout == "right\n"
    for options in ((), ("--barrier", "sense-reversing"), ("--barrier", "dissemination:ways=2")):
        done = profiled("pthread", program, 120, options=options)
        assert done.stdout == "right\n", done.stdout + done.stderr
        assert set(calls(done)) == set(range(2, 9))
        made, elsewhere = done.profile["notes"]
        assert int(made.split()[1]) > 3000  # a thousand for two, three and four threads
        assert "barriers went on in glibc: more threads came" in elsewhere


@pytest.mark.parametrize("barrier", ["auto", "dissemination:wait=yield", "dissemination:wait=adaptive"])
def test_a_wait_in_a_barrier_is_no_point_of_cancellation(
    plain: Compiled, barrier: str, tmp_path: Path
) -> None:
    program = plain.program("pthread/cancelled.c", openmp=False)
    assert run("pthread", program, plain=True).stdout == "right\n"
    table = tmp_path / "table"  # is read in the first wait
    table.write_text("phicoll tuning 1\n")
    done = profiled("pthread", program, options=("--barrier", barrier), PHICOLL_TUNING=str(table))
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr
    assert calls(done) == {2: 6}
    if barrier == "auto":  # the runtimes of Clang and Intel cancel their threads anywhere
        program = plain.program("openmp/cancelled.c", name="omp-cancelled")
        done = run("omp", program, OMP_WAIT_POLICY="active")
        assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr


def test_a_child_of_fork_uses_barriers_and_counts_its_own(plain: Compiled) -> None:
    done = profiled("pthread", plain.program("pthread/forks.c", openmp=False))
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr
    assert calls_of_pairs(done) == [2, *(400 * [3])]


def test_a_constructor_waits_for_threads_that_use_a_barrier(plain: Compiled) -> None:
    source = "pthread/constructor.c"
    host = plain.program(source, name="constructors-host", openmp=False)
    loaded = plain.program(source, "-DLOADED", "-fPIC", "-shared", name="constructor.so", openmp=False)
    done = profiled("pthread", host, loaded)
    assert done.stdout == "loaded\n", done.stderr
    assert calls(done) == {2: 10}


def test_a_program_without_a_free_key_has_its_barriers(plain: Compiled) -> None:
    program = plain.program("pthread/no_key.c", openmp=False)
    done = profiled("pthread", program)
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr
    why = "it has taken all keys of threads (pthread_key_create)"
    assert done.stderr.startswith(f"phicoll: pthread: the program's barriers stay with glibc: {why}\n")
    assert done.profile["notes"] == [
        "pthread: 1 barriers made",
        f"pthread: 1 barriers stayed with glibc: {why}",
    ]
    assert calls(done) == {}


def test_a_program_without_pthread_barriers_is_told_so() -> None:
    done = run("pthread", sys.executable, "-c", "print('done')")
    assert done.stdout == "done\n"
    assert done.stderr == "phicoll: pthread: the program made no pthread barrier\n"


# Bad input of both


def compare(plain: Compiled, kind: str) -> Path:
    return plain.program(
        f"{'openmp' if kind == 'omp' else kind}/compare.c", name=f"{kind}-compare", openmp=kind == "omp"
    )


@pytest.mark.parametrize("kind", ["omp", "pthread"])
def test_two_copies_of_a_library_are_one_line(plain: Compiled, kind: str, tmp_path: Path) -> None:
    copies = [tmp_path / name / f"libphicoll-{kind}.so" for name in ("one", "two")]
    for copy in copies:
        copy.parent.mkdir()
        shutil.copy(f"{native_folder()}/{copy.name}", copy)
    program = compare(plain, kind)
    variables = {"LD_PRELOAD": ":".join(map(str, copies)), "LD_LIBRARY_PATH": native_folder()}
    done = watched(
        ["env", *(f"{name}={value}" for name, value in variables.items()), str(program), "12"],
        dict(os.environ),
    )
    assert done.stdout == "right\n", done.stderr
    assert done.stderr.startswith(f"phicoll: {kind}: preloaded twice: the first library serves\n")
    assert set(calls(done)) == set(range(2, 9))


@pytest.mark.parametrize("kind", ["omp", "pthread"])
def test_a_variable_that_names_no_algorithm_is_one_line(plain: Compiled, kind: str) -> None:
    done = run(kind, compare(plain, kind), 12, **{f"PHICOLL_{kind.upper()}_BARRIER": "disemination"})
    assert done.stdout == "right\n"
    assert done.stderr.count("\n") == 1
    assert f"PHICOLL_{kind.upper()}_BARRIER" in done.stderr
    assert "dissemination" in done.stderr


@pytest.mark.parametrize("kind", ["omp", "pthread"])
def test_an_unusable_tuning_table_is_one_line(plain: Compiled, kind: str) -> None:
    done = run(kind, compare(plain, kind), 12, PHICOLL_TUNING="/no/such/table")
    assert done.stdout == "right\n"
    assert done.stderr.count("\n") == 1
    assert "barriers stay with " in done.stderr
    assert "/no/such/table" in done.stderr
    done = run(kind, compare(plain, kind), 12, options=("--report",), PHICOLL_TUNING="/no/such/table")
    theirs = {"omp": "barriers, by thread: ", "pthread": "[0-9] barriers stayed with glibc: "}
    assert re.search(f"{kind}: .*{theirs[kind]}tuning: got '/no/such/table'", done.stderr), done.stderr


@pytest.mark.parametrize("kind", ["omp", "pthread"])
def test_a_barrier_leaves_errno_as_it_is(plain: Compiled, kind: str) -> None:
    folder = "openmp" if kind == "omp" else kind
    program = plain.program(f"{folder}/errno.c", name=f"{kind}-errno", openmp=kind == "omp")
    for variables in ({}, {"OMP_WAIT_POLICY": "passive"}, {"PHICOLL_TUNING": "/no/such/table"}):
        assert run(kind, program, **variables).stdout == "right\n"


@pytest.mark.parametrize("kind", ["omp", "pthread"])
def test_without_a_standard_error_nothing_is_printed(plain: Compiled, kind: str, tmp_path: Path) -> None:
    source, own = tmp_path / f"own-{kind}.c", tmp_path / "own"
    source.write_text("""
#include <fcntl.h>
#include <pthread.h>
int main(int count, char** words) {
  const int file = open(words[count - 1], O_CREAT | O_WRONLY, 0600);  // gets the number of standard error
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, 0, 2);
#pragma omp parallel
  {
#pragma omp barrier
  }
  return file == 2 ? 0 : 1;
}
""")
    program = plain.program(str(source), openmp=kind == "omp")
    for name in ("auto", "disemination"):  # the report, or why there is none
        variables = {f"PHICOLL_{kind.upper()}_BARRIER": name}
        without = ("bash", "-c", 'exec "$@" 2>&-', "bash")
        done = run(kind, *without, program, own, options=("--report",), **variables)
        assert done.returncode == 0
        assert own.read_text() == ""
        assert f"{kind}: " in run(kind, program, own, options=("--report",), **variables).stderr


NOTHING_USED = {
    "omp": "phicoll: omp: the program began no parallel region of an OpenMP library that is shared\n",
    "pthread": "phicoll: pthread: the program made no pthread barrier\n",
}
NO_BARRIERS = {"omp": "omp: 1 parallel regions", "pthread": "pthread: 1 barriers made"}


@pytest.mark.parametrize("way", ["fclose", "close", "replaced", "_exit", "_Exit", "quick_exit", "handler"])
@pytest.mark.parametrize("kind", ["omp", "pthread"])
def test_a_program_gets_its_line_and_its_report_in_whatever_way_it_ends(
    plain: Compiled, kind: str, way: str, tmp_path: Path
) -> None:
    program = plain.program("pthread/ends.c", name=f"{kind}-ends", openmp=kind == "omp")
    own = tmp_path / "own"
    done = run(kind, program, way)
    assert (done.returncode, done.stderr) == (0, NOTHING_USED[kind])
    done = run(kind, program, way, options=("--report",))
    assert re.fullmatch(rf"{NOTHING_USED[kind]}no collective calls in [0-9.]+ s\n", done.stderr)
    done = run(kind, program, way, "region", own, options=("--report",))
    assert re.fullmatch(rf"no collective calls in [0-9.]+ s\n{NO_BARRIERS[kind]}\n", done.stderr)
    done = profiled(kind, program, way, "barrier", own)
    assert (done.returncode, calls(done)) == (0, {2: 1})
    assert not own.exists() or own.read_text() == ""


def test_a_child_that_ends_at_once_says_nothing_of_its_parent_s(plain: Compiled) -> None:
    code = "import os\nif os.fork() == 0: os._exit(0)\nos.wait()\nprint('done')"
    for kind in ("omp", "pthread"):
        done = profiled(kind, sys.executable, "-c", code)
        assert (done.stdout, done.stderr, done.profile["notes"]) == ("done\n", "", [])


def test_the_copy_of_standard_error_does_not_outlive_a_fork(tmp_path: Path) -> None:
    # A daemon would hold its parent's pipe, and whoever reads that would wait for it.
    code = (
        "import os, sys, time\n"
        "if os.fork() == 0:\n    os.closerange(0, 3)\n"
        "    while not os.path.exists(sys.argv[1]): time.sleep(0.01)\n    os._exit(0)\n"
    )
    flag = tmp_path / "end"
    done = run("pthread", sys.executable, "-c", code, flag)  # returns when no process has the pipe
    flag.write_text("")
    assert done.returncode == 0


@pytest.mark.parametrize("kind", ["omp", "pthread"])
def test_a_library_that_is_preloaded_already_is_one_line(kind: str) -> None:
    done = run(kind, "echo", "done", LD_PRELOAD=f"{native_folder()}/libphicoll-{kind}.so")
    assert done.stdout == "done\n"
    assert done.stderr == f"phicoll: {kind}: the library is preloaded already, and stays\n"


@pytest.mark.parametrize("kind", ["omp", "pthread"])
def test_a_static_program_is_one_line(kind: str, tmp_path: Path) -> None:
    source = tmp_path / "static.c"
    source.write_text('#include <stdio.h>\nint main(void) { return puts("done") < 0; }\n')
    program = tmp_path / "static"
    if subprocess.run(["gcc", "-static", source, "-o", program], capture_output=True).returncode != 0:
        pytest.skip("no static libc")
    done = run(kind, program)
    assert done.stdout == "done\n"
    assert (
        done.stderr == f"phicoll: {kind}: the program runs without phicoll: {program} is statically linked\n"
    )


@pytest.mark.parametrize("kind", threads.KINDS)
def test_bad_arguments_are_refused(kind: str) -> None:
    with pytest.raises(ArgumentError, match="command: got nothing"):
        threads.served(kind, [])
    with pytest.raises(ArgumentError, match="no-such-program"):
        threads.served(kind, ["no-such-program"])
    with pytest.raises(ArgumentError, match="dissemination"):
        threads.served(kind, ["true"], barrier="disemination")
    with pytest.raises(ArgumentError, match="barrier: got 'dissemination,auto'"):
        threads.served(kind, ["true"], barrier="dissemination,auto")
    for unfit in ("junk", "all", "libgomp", "auto,auto", ""):
        with pytest.raises(
            ArgumentError, match=rf"barrier: got '{unfit}'; allowed: one algorithm; "
        ) as caught:
            threads.served(kind, ["true"], barrier=unfit)
        allowed = str(caught.value).partition("allowed: ")[2]
        assert "hybrid-dissemination" in allowed
        assert "references" not in allowed
        assert "hand-one-line" not in allowed


@pytest.mark.parametrize("kind", ["omp", "pthread"])
def test_the_command_within_itself_works(kind: str) -> None:
    phicoll = Path(sys.executable).with_name("phicoll")
    done = run(kind, phicoll, kind, "--", "echo", "done")
    assert done.stdout == "done\n"
    assert done.stderr.startswith(f"phicoll: {kind}: the second 'phicoll {kind}' alone counts\n")
    assert "already" not in done.stderr


def test_an_empty_path_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ArgumentError, match=r"got 'true'; allowed: a program on the PATH, which is empty"):
        threads.served("omp", ["true"])
