"""``phicoll launch``: scripts, modules and code as ranks, and what rank 0 reads."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

LAUNCHERS = {
    "module": [sys.executable, "-m", "phicoll.launch"],
    "command": [sys.executable, "-m", "phicoll", "launch"],
}
WORDS = "import sys, phicoll; w = phicoll.COMM_WORLD; sys.stdout.write(f'{w.rank} of {w.size} {sys.argv}\\n')"


def launched(*words, launcher="module", **options):
    return subprocess.run(
        [*LAUNCHERS[launcher], *words], capture_output=True, text=True, timeout=60, check=False, **options
    )


def lines_of(done):
    assert done.returncode == 0, done.stderr
    return sorted(line.split("] ", 1)[-1] for line in done.stdout.splitlines())


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_code_gets_its_arguments(mode, launcher):
    done = launched("-n", "2", "--mode", mode, "-c", WORDS, "-m", "--x", launcher=launcher)
    assert lines_of(done) == [f"{rank} of 2 ['-c', '-m', '--x']" for rank in range(2)]


def test_an_empty_wait_policy_is_as_good_as_none():
    code = f"import os; os.environ['PHICOLL_WAIT'] = ''; {WORDS}"
    assert lines_of(launched("-n", "2", "-c", code)) == [f"{rank} of 2 ['-c']" for rank in range(2)]


def test_a_module_is_found_from_here_and_gets_its_arguments(mode, tmp_path):
    (tmp_path / "alone.py").write_text(f"assert __name__ == '__main__'\n{WORDS}\n")
    done = launched("-n", "2", "--mode", mode, "-m", "alone", "-c", "--x", cwd=tmp_path)
    path = tmp_path / "alone.py"
    assert lines_of(done) == [f"{rank} of 2 {[str(path), '-c', '--x']}" for rank in range(2)]


def test_a_package_runs_as_its_main_module_with_its_neighbours(mode, tmp_path):
    package = tmp_path / "several"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "other.py").write_text(f"WORDS = {WORDS!r}\n")
    (package / "__main__.py").write_text("from .other import WORDS\nexec(WORDS)\n")
    done = launched("-n", "2", "--mode", mode, "-m", "several", cwd=tmp_path)
    assert lines_of(done) == [f"{rank} of 2 {[str(package / '__main__.py')]}" for rank in range(2)]


def test_rank_0_reads_the_launcher_s_input_and_the_others_nothing(tmp_path):
    (tmp_path / "program.py").write_text(
        """
import sys, phicoll
comm = phicoll.COMM_WORLD
text = sys.stdin.read() if comm.rank else None
comm.Barrier()  # the others first: they must not take it
print(comm.gather(text if comm.rank else sys.stdin.read()))
"""
    )
    done = launched("-n", "3", str(tmp_path / "program.py"), input="one\ntwo\n")
    assert lines_of(done) == ["None", "None", str(["one\ntwo\n", "", ""])]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["-n", "2"], "program: got none; allowed: a script, any program, -m and a module, or -c and code"),
        (["-n", "2", "-m"], "module: got none; allowed: module after -m"),
        (["-n", "2", "-c"], "code: got none; allowed: code after -c"),
        (
            ["-n", "2", "--mode", "threads", "-m", "no.such"],
            "module: got 'no.such'; allowed: a module's name",
        ),
        (["-n", "2", "--mode", "threads", "-c", "x ="], "code: got 'x ='; allowed: Python (invalid syntax"),
        (
            ["-n", "2", "--mode", "threads", "no-such.py"],
            "program: got 'no-such.py'; allowed: a Python script",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_program_that_is_none_is_refused(words, told):
    done = launched(*words)
    assert done.returncode == 2
    assert f"phicoll.launch: {told}" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("mode", "status", "fate"),
    [("processes", 143, "its process was ended"), ("threads", 3, "its thread goes on")],
)
def test_a_rank_that_does_not_end_after_a_timeout_is_named(mode, status, fate, tmp_path):
    (tmp_path / "program.py").write_text(
        """
import time, phicoll
comm = phicoll.COMM_WORLD
if comm.rank == 0:
    time.sleep(1000)
comm.Barrier()
"""
    )
    done = launched("-n", "2", "--mode", mode, "--timeout", "0.2", str(tmp_path / "program.py"))
    assert done.returncode == status
    assert "timeout of 200 ms" in done.stderr
    assert done.stderr.endswith(f"phicoll.launch: rank 0 did not end in time: {fate}\n")


def test_ctrl_c_names_a_rank_thread_that_does_not_end():
    code = """
import time, phicoll
comm = phicoll.COMM_WORLD
while comm.rank == 0:
    try:
        print("sleeps", flush=True)
        time.sleep(20)
    except KeyboardInterrupt:  # it came before the sleep began
        pass
comm.Barrier()
"""
    command = [*LAUNCHERS["module"], "-n", "2", "--mode", "threads", "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as launcher:
        assert "sleeps" in launcher.stdout.readline()
        launcher.send_signal(signal.SIGINT)
        told = launcher.communicate(timeout=60)[1]
    assert launcher.returncode == 130
    assert told.endswith("phicoll.launch: rank 0 did not end in time: its thread goes on\n")


def test_an_executable_in_the_current_folder(tmp_path):
    """As with a shell, the current folder is not searched; a Python script runs all the same."""
    script = tmp_path / "01-hello-world"
    script.write_text(f"#!/usr/bin/env python3\n{WORDS}\n")
    other = tmp_path / "hello"
    other.write_text("#!/bin/sh\n")
    for executable in (False, True):
        script.chmod(0o755 if executable else 0o644)
        assert lines_of(launched("-n", "2", script.name, cwd=tmp_path)) == [
            f"{rank} of 2 ['01-hello-world']" for rank in range(2)
        ]
    other.chmod(0o755)
    done = launched("-n", "2", other.name, cwd=tmp_path)
    assert done.returncode == 2
    assert (
        "program: got 'hello', which is not on the PATH; allowed: ./hello, the current folder's"
        in done.stderr
    )
    assert launched("-n", "2", "./hello", cwd=tmp_path).returncode == 0
