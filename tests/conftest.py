from __future__ import annotations

import gc
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

import pytest

import phicoll
from made_up import MadeUp
from phicoll.cli import main
from phicoll.results import Results, load

if TYPE_CHECKING:
    from phicoll.papers.validation import Validation
    from phicoll.papers.validation.predictions import ModelValidation

pytest_plugins = ["pytester"]

# A shell starts background jobs with SIGINT ignored, and every process started from there
# inherits that: the tests that press Ctrl-C would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Groups choose alike on every host, and write nothing into the user's cache.
os.environ["PHICOLL_CALIBRATION"] = "off"
# No test computes by BLAS, whose second thread spins for 0.1 s in each interpreter that imports NumPy.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

#: The files that take longest, longest first: a worker that began one of them last would be left alone with it.
LONGEST = (
    "test_validate.py",
    "test_notebook.py",
    "test_simulated_runs.py",
    "test_characterize.py",
    "test_bad_input.py",
    "test_comm.py",
    "test_cli.py",
    "test_claims.py",
)


# Collection makes many objects that stay. Looking for garbage among them would take seconds, so it is off until
# they are frozen.
gc.disable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """LONGEST first, the others in their order."""
    items.sort(key=lambda item: (*LONGEST, item.path.name).index(item.path.name))


def pytest_collection_finish() -> None:
    """What is there now is left out of every later look, and so is what a fork has of it."""
    gc.freeze()
    gc.enable()


Run = Callable[..., "subprocess.CompletedProcess[str]"]
#: What ranks are.
MODES = ["processes", "threads"]


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    """Each of MODES."""
    return request.param


def run(function: Callable[[phicoll.Comm], object], ranks: int, mode: str = "processes") -> list[object]:
    """As ``phicoll.run``, within a minute."""
    return phicoll.run(function, ranks=ranks, mode=mode, timeout=60)


def expect_within(seconds: float, took: Callable[[], float]) -> None:
    """A call of ``took`` tells what must hold, and returns the seconds that something took; a machine may hold any call up,
    so a late one is repeated. What ends too late of itself is late in all.
    """
    late: list[float] = []
    while len(late) < 20:
        if (found := took()) < seconds:
            return
        late.append(found)
    pytest.fail(f"took {late} s, {seconds} s at most")


@pytest.fixture
def made_up(tmp_path: Path) -> Callable[..., Results]:
    """Results of made-up records; takes what MadeUp takes."""

    def make(**options: object) -> Results:
        return load(MadeUp(**options).write(tmp_path / f"made-up-{len(list(tmp_path.iterdir()))}.jsonl"))

    return make


@pytest.fixture
def phicoll_command() -> Run:
    """Run the command line in a process of its own: a fork of this one, which has imported what the command would.

    With ``env`` it is an interpreter of its own, as some variables are read when one starts.
    """

    def run(*words: str | Path, timeout: float = 120, env: dict[str, str] | None = None):
        command = [sys.executable, "-m", "phicoll", *map(str, words)]
        if env is not None:
            options = {"capture_output": True, "text": True, "timeout": timeout, "check": False}
            return subprocess.run(command, env={**os.environ, **env}, **options)
        with tempfile.TemporaryFile("w+") as stdout, tempfile.TemporaryFile("w+") as stderr:
            code = forked(lambda: main(command[3:]), stdout, stderr, timeout)
            stdout.seek(0)
            stderr.seek(0)
            return subprocess.CompletedProcess(command, code, stdout.read(), stderr.read())

    return run


def forked(call: Callable[[], int], stdout: IO[str], stderr: IO[str], timeout: float) -> int:
    """The exit code of a fork of this process that makes the call with these as its standard output and error."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(stdout.fileno(), 1)
            os.dup2(stderr.fileno(), 2)
            sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
            sys.argv[0] = "phicoll"
            try:
                code = call()
            except SystemExit as ended:
                code = ended.code if isinstance(ended.code, int) else ended.code is not None
            except BaseException:
                traceback.print_exc()
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)
    descriptor = os.pidfd_open(child)
    try:
        if not select.select([descriptor], [], [], timeout)[0]:
            os.kill(child, signal.SIGKILL)
            pytest.fail(f"took more than {timeout} s")
    finally:
        os.close(descriptor)
        status = os.waitpid(child, 0)[1]
    return os.waitstatus_to_exitcode(status)


@pytest.fixture
def start_python() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start Python with arguments. It is ended with the test, as a measurement that runs on would hold its CPUs."""
    started: list[subprocess.Popen[str]] = []

    def start(*words: str | Path) -> subprocess.Popen[str]:
        command = [sys.executable, *map(str, words)]
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()  # its phicoll-bench ends with it
        process.communicate(timeout=60)


def disassembly_of(probe: str, folder: Path) -> str:
    """The x86-64 code of a file of tests/cpp by g++, as objdump prints it; skips the test without the two programs."""
    compiler = shutil.which("g++")
    if compiler is None or shutil.which("objdump") is None:
        pytest.skip("needs g++ and objdump")
    if "x86_64" not in subprocess.run([compiler, "-dumpmachine"], capture_output=True, text=True).stdout:
        pytest.skip("reads x86-64 code")
    tests, obj = Path(__file__).resolve().parent, folder / "probe.o"
    command = [compiler, "-std=c++14", "-O2", "-I", tests.parent / "src" / "cpp"]
    subprocess.run([*command, "-c", tests / "cpp" / probe, "-o", obj], check=True)
    dump = ["objdump", "-drC", "--no-show-raw-insn", obj]
    return subprocess.run(dump, check=True, capture_output=True, text=True).stdout


def page_written_twice(found: Validation | ModelValidation, folder: Path, largest: int) -> str:
    """The page's text; it and its figures are the same bytes twice, and of less than ``largest`` each."""
    first, second = folder / "a", folder / "b"
    first.mkdir()
    second.mkdir()
    files = found.page(first / "page.md")
    found.page(second / "page.md")
    assert {f.suffix for f in files} == {".md", ".svg"}
    for file in files:
        assert file.read_bytes() == (second / file.name).read_bytes()
        assert file.stat().st_size < largest
    return (first / "page.md").read_text()


#: Enough to have every kind of record, little enough for a test.
QUICK: Sequence[str] = (
    "--launches",
    "2",
    "--rounds",
    "4",
    "--calls",
    "50",
    "--set",
    "window-calls=8",
    "--set",
    "lock-wait=100",
)
