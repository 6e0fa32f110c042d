"""Where a program runs: without standard streams, in an encoding that lacks letters, in a folder with strange files."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import textwrap

import pytest

from phicoll.errors import ResourceError
from phicoll.foundations import descriptors
from phicoll.foundations.programs import environment_before_python

LONG_S = 60  # no test waits so long for anything that works
WHOLE = """
    import sys
    import phicoll

    def work(comm):
        print("a word")
        return comm.allreduce(1)

    found = phicoll.run(work, ranks=2)
    sys.exit(0 if found == [2, 2] else 1)
"""


def python(code, tmp_path, redirection="", **variables):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(code))
    command = ["bash", "-c", f'exec "$@" {redirection}', "bash", sys.executable, script]
    return subprocess.run(command, capture_output=True, text=True, timeout=LONG_S, check=False, cwd=tmp_path,
                          env={**os.environ, **variables})  # fmt: skip


def launched(words, redirection="", **variables):
    command = [sys.executable, "-m", "phicoll", "launch", "-n", "2", *words]
    return subprocess.run(["bash", "-c", f'exec "$@" {redirection}', "bash", *command], capture_output=True,
                          timeout=LONG_S, check=False, env={**os.environ, **variables})  # fmt: skip


@pytest.mark.parametrize(("closed", "words"), [("<&-", 1), (">&-", 0), ("2>&-", 1), ("<&- >&- 2>&-", 0)])
def test_rank_processes_start_without_standard_streams(closed, words, tmp_path):
    done = python(WHOLE, tmp_path, closed)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines().count("[0] a word") == words


@pytest.mark.parametrize("rank", [0, 1])
def test_nothing_of_a_group_by_name_has_a_standard_streams_number(rank, tmp_path):
    """Rank 0, which comes first, serves the name; the other gets the group's memory from it, before the barrier."""
    name = f"streams-{os.getpid()}-{rank}"
    code = f"""
        import os, sys, time
        import phicoll._core as core
        from phicoll.comm.worlds import as_world
        rank = int(sys.argv[1])
        group = core.attach("{name}", 2, rank, 1 << 24, 1 << 24)
        with as_world(group) as comm:
            comm.Barrier()
        for _ in range(500):  # another thread may open a file for a moment
            free = [number for number in range(3) if not os.path.exists(f"/proc/self/fd/{{number}}")]
            if free == [0, 1, 2]:
                break
            time.sleep(0.01)
        group.close()
        os._exit(0 if rank != {rank} or free == [0, 1, 2] else 1)
    """
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(code))
    command = f'exec "$@" {"<&- >&- 2>&-"}'
    ranks = [
        subprocess.Popen(["bash", "-c", command, "bash", sys.executable, script, str(r)]) for r in range(2)
    ]
    assert [one.wait(LONG_S) for one in ranks] == [0, 0]


def test_nobody_elses_lines_where_sys_is_empty(tmp_path):
    """As in some containers. hwloc then prints lines of its own; the CPUs are counted without it."""
    empty = tmp_path / "empty"
    empty.mkdir()
    namespace = ["unshare", "-m" if os.geteuid() == 0 else "-rm"]
    without = [*namespace, "sh", "-c", 'mount --bind "$0" /sys && exec "$@"', empty]
    if subprocess.run([*without, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this system lets nobody mount")
    code = "import phicoll; print(len(phicoll.doctor(probe=False).facts['topology']))"
    done = subprocess.run([*without, sys.executable, "-c", code], capture_output=True, text=True,
                          timeout=LONG_S, check=False)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) >= 1


def test_ranks_run_after_the_program_has_closed_its_output(tmp_path):
    done = python(WHOLE.replace("    found =", "    sys.stdout.close()\n    found ="), tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-", "<&- >&- 2>&-"])
def test_programs_are_launched_without_standard_streams(closed):
    code = 'import phicoll; print("a word"); assert phicoll.COMM_WORLD.allreduce(1) == 2'
    done = launched(["-c", code], closed)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", ["list barrier", "count barrier --algorithm dissemination --shape 4x2"])
def test_a_command_without_a_standard_output_ends_well(command):
    words = [sys.executable, "-m", "phicoll", *command.split()]
    done = subprocess.run(["bash", "-c", 'exec "$@" >&-', "bash", *words], capture_output=True, text=True,
                          timeout=LONG_S, check=False)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_words_stay_away_from_data_without_a_standard_error():
    sweep = ["--algorithm", "dissemination", "--machine", "xeon-phi-5110p", "--ranks", "8", "--calls", "2"]
    command = [sys.executable, "-m", "phicoll", "run", "barrier", *sweep, "--json"]
    with_it, without = (
        subprocess.run(
            ["bash", "-c", f'exec "$@" {closed}', "bash", *command],
            capture_output=True,
            text=True,
            timeout=LONG_S,
            check=True,
        )
        for closed in ("", "2>&-")
    )
    assert "phicoll: " in with_it.stderr
    assert without.stdout == with_it.stdout


@pytest.mark.parametrize("encoding", ["ascii", "iso8859-2"])
def test_letters_that_the_output_lacks_are_escaped(encoding):
    done = launched(["printf", "h\u00f1\\n"], PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stderr) == (0, b"")
    assert sorted(done.stdout.splitlines()) == [b"[0] h\\xf1", b"[1] h\\xf1"]


@pytest.mark.parametrize("before", ["", "sys.stdout.close()"])
def test_abort_ends_a_rank_whose_output_is_closed(before, tmp_path):
    code = f"""
        import sys
        from phicoll import COMM_WORLD
        {before or "pass"}
        COMM_WORLD.Abort(3)
    """
    assert python(code, tmp_path, "" if before else ">&-").returncode == 3


PROGRAM_STARTERS = {
    "launch": ["-m", "phicoll", "launch", "-n", "1"],
    "omp": ["-m", "phicoll", "omp", "--"],
    "oshrun": ["-c", "from phicoll.scripts import oshrun; oshrun()", "-n", "1"],
}


def program_of(starter, words, **variables):
    """What a program prints that a command starts, without what the command says."""
    environment = {
        name: value for name, value in os.environ.items() if name not in ("LC_ALL", "LC_CTYPE", "LANG")
    }
    done = subprocess.run([sys.executable, *PROGRAM_STARTERS[starter], *words], capture_output=True, text=True,
                          timeout=LONG_S, check=False, env={**environment, **variables})  # fmt: skip
    assert done.returncode == (3 if starter == "oshrun" else 0), done.stderr  # which misses a PE's shmem_init
    return [line.removeprefix("[0] ") for line in done.stdout.splitlines()]


@pytest.mark.parametrize("starter", PROGRAM_STARTERS)
def test_a_program_finds_the_signals_as_a_shell_leaves_them(starter):
    [line] = program_of(starter, ["grep", "SigIgn", "/proc/self/status"])
    ignored = int(line.split()[1], 16)
    assert not ignored & (1 << (signal.SIGPIPE - 1) | 1 << (signal.SIGXFSZ - 1))


@pytest.mark.parametrize("starter", PROGRAM_STARTERS)
@pytest.mark.parametrize("given", [{}, {"LC_CTYPE": "C"}, {"LC_CTYPE": "C.UTF-8"}, {"LC_ALL": "C"}])
def test_a_program_finds_the_locale_that_was_set(starter, given):
    found = [line for line in program_of(starter, ["env"], **given) if line.startswith("LC_")]
    assert found == [f"{name}={value}" for name, value in given.items()]


def test_the_locale_stays_as_it_is_where_nothing_shows_what_was_set(monkeypatch):
    def absent(name, *_):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(name))

    monkeypatch.setenv("LC_CTYPE", "C.UTF-8")
    with monkeypatch.context() as hidden:
        hidden.setattr("builtins.open", absent)
        found = environment_before_python()
    assert found == dict(os.environ)


@pytest.mark.parametrize("starter", PROGRAM_STARTERS)
def test_a_script_without_an_interpreter_is_the_shell_s(starter, tmp_path):
    script = tmp_path / "script"
    script.write_text('echo "$0" "$@"\n')
    script.chmod(0o755)
    assert program_of(starter, [script, "a b", "c"]) == [f"{script} a b c"]
    found = program_of(starter, ["script", "d"], PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert found == [f"{script} d"]


@pytest.mark.parametrize("starter", ["launch", "omp"])
def test_a_file_that_is_neither_a_program_nor_a_script_is_refused(starter, tmp_path):
    other = tmp_path / "other"
    other.write_bytes(b"\0" * 300)
    other.chmod(0o755)
    done = subprocess.run([sys.executable, *PROGRAM_STARTERS[starter], other], capture_output=True, text=True,
                          timeout=LONG_S, check=False)  # fmt: skip
    assert done.returncode != 0
    assert "Exec format error" in done.stderr
    assert "Traceback" not in done.stderr


def test_files_here_that_are_called_like_modules_are_not_taken(tmp_path):
    here = tmp_path / "here"
    here.mkdir()
    for name in ("pickle", "mmap", "numpy"):
        (here / f"{name}.py").write_text("raise SystemExit('the wrong one')\n")
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(WHOLE))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=LONG_S,
                          check=False, cwd=here)  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("end", ["sys.stdout.close()", "sys.stdout = None"])
def test_a_function_may_close_its_output(end, tmp_path):
    done = python(WHOLE.replace('print("a word")', end), tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_program_that_imports_multiprocessing_is_pickled_as_before(tmp_path):
    code = """
        import __main__
        import multiprocessing
        import threading
        import phicoll

        lock = threading.Lock()  # cannot be pickled

        def work(comm):
            return getattr(__main__, "__file__", None)

        if __name__ == "__main__":
            print(phicoll.run(work, ranks=2))
    """
    done = python(code, tmp_path)
    assert (done.stdout, done.stderr) == ("[None, None]\n", "")


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_worker_of_multiprocessing_runs_ranks(method, tmp_path):
    code = f"""
        import multiprocessing
        import phicoll

        class Pair:
            def __init__(self, a):
                self.a = a

        def work(comm, pair):
            return Pair(comm.allreduce(pair.a))

        def whole(number):
            return [pair.a for pair in phicoll.run(work, ranks=2, args=(Pair(number),))]

        if __name__ == "__main__":
            with multiprocessing.get_context("{method}").Pool(1) as pool:
                print(pool.map(whole, [3]))
    """
    done = python(code, tmp_path)
    assert (done.stdout, done.stderr) == ("[[6, 6]]\n", "")


FEW_DESCRIPTORS = """
    import resource
    import sys
    import phicoll
    from phicoll.comm import rank_processes
    from phicoll.foundations import descriptors

    descriptors.SPARE = 8
    LEAST, WATCHED = 4 + 3 * 4, 4 + 4 * 4  # of four ranks
    there = descriptors.open_now() + descriptors.SPARE

    def limits(comm):
        return resource.getrlimit(resource.RLIMIT_NOFILE)

    def told(hard):
        before = (24, there + hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        try:
            assert phicoll.run(limits, ranks=4) == [before] * 4
            return "ran"
        except phicoll.ResourceError as error:
            return str(error)
        finally:
            assert resource.getrlimit(resource.RLIMIT_NOFILE) == before

    print(told(WATCHED))
    print(told(LEAST))  # without descriptors of the processes
    words = told(LEAST - 1)
    assert words.startswith(f"4 ranks need {there + LEAST} open descriptors"), words
    assert f"may have {there + LEAST - 1}:" in words, words
"""


def test_the_limit_on_descriptors_is_raised_for_the_time_of_a_run_or_told_at_once(tmp_path):
    """256 ranks need more than the usual soft limit of 1024."""
    done = python(FEW_DESCRIPTORS, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["ran", "ran"]


def test_limits_of_runs_at_the_same_time_add_up(monkeypatch):
    monkeypatch.setattr(descriptors, "open_now", lambda: 10)
    monkeypatch.setattr(descriptors, "SPARE", 6)
    set_to = []
    monkeypatch.setattr(descriptors.resource, "getrlimit", lambda _: set_to[-1] if set_to else (100, 1000))
    monkeypatch.setattr(descriptors.resource, "setrlimit", lambda _, limit: set_to.append(limit))
    with descriptors.room_for(200, 150, "these") as first:
        with descriptors.room_for(300, 200, "those") as second:
            assert set_to == [(216, 1000), (516, 1000)]
        with descriptors.room_for(900, 700, "these") as third:
            assert set_to[-1] == (1000, 1000)
        assert (first, second, third) == (True, True, False)
        with pytest.raises(
            ResourceError, match="those need 1016 open descriptors, and this process may have 1000"
        ):
            descriptors.room_for(900, 800, "those").__enter__()
    assert set_to[-1] == (100, 1000)
