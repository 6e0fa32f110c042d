"""Where a program runs: without standard streams, in an encoding that lacks letters, in a folder with strange files."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

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


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_rank_processes_start_without_standard_streams(closed, tmp_path):
    done = python(WHOLE, tmp_path, closed)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines().count("[0] a word") == (">&-" not in closed.replace("2>&-", ""))


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


def test_letters_that_the_output_lacks_are_escaped():
    done = launched(["printf", "h\u00fc\\n"], PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, b"")
    assert sorted(done.stdout.splitlines()) == [b"[0] h\\xfc", b"[1] h\\xfc"]


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
