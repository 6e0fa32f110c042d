"""Running ``phicoll-bench``, the C++ program that measures.

There is no interpreter in what is measured: ranks are threads or processes of ``phicoll-bench``. Python starts it,
shows its progress, forwards Ctrl-C and reads the records that it wrote.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from phicoll.errors import ArgumentError, BrokenGroupError, Error, ResourceError
from phicoll.foundations.exit_codes import BAD_INPUT, BROKEN, INTERRUPTED
from phicoll.foundations.files import temporary_folder
from phicoll.foundations.streams import tell
from phicoll.results import Results, load
from phicoll.scripts import bench_environment, named_bench

__all__ = ["Progress", "find", "run"]

#: Called with (done, total, what is being measured) between rounds.
Progress = Callable[[int, int, str], None]

PATIENCE_S = 10.0  # how long an interrupted run may take to write what it has


def find() -> Path:
    """The path of ``phicoll-bench``: ``$PHICOLL_BENCH``, the one installed with the package, or one on the PATH.

    Raises
    ------
    ResourceError
        There is none.
    """
    found = named_bench() or shutil.which("phicoll-bench")
    if found:
        return Path(found)
    raise ResourceError(
        "phicoll-bench was not found: install phicoll with pip, or set PHICOLL_BENCH to its path"
    )


@dataclass(frozen=True)
class Outcome:
    """How a run of the program ended, and what it wrote."""

    results: Results | None
    exit_code: int
    words: str
    interrupted: bool


def run(arguments: Sequence[str], output: Path | None = None, progress: Progress | None = None) -> Results:
    """Run ``phicoll-bench`` with ``arguments`` (without ``-o``) and read what it wrote.

    Parameters
    ----------
    arguments:
        The arguments after the program's name.
    output:
        Where the records go; they are kept whatever happens. Without it they go to a temporary file.
    progress:
        Called between rounds.

    Raises
    ------
    ArgumentError
        The program refused an argument; nothing was started.
    BrokenGroupError
        A group broke; ``error.results`` has what was measured.
    Error
        The program failed otherwise.
    """
    if output is not None:
        return conclude(execute(arguments, output, progress))
    with temporary_folder("the run's records") as folder:
        return conclude(execute(arguments, folder / "records.jsonl", progress))


def execute(arguments: Sequence[str], output: Path, progress: Progress | None) -> Outcome:
    """Start the program, wait for it, and read its file. Ctrl-C is forwarded once, then waited for."""
    command = [str(find()), *arguments, "-o", str(output)]
    if progress is not None:
        command.append("--progress-ack")
    before = output.stat().st_size if output.exists() else 0
    # A group of its own: the terminal's Ctrl-C reaches Python alone, which forwards it once.
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE if progress is not None else subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
            env=bench_environment(),
            preexec_fn=functools.partial(end_with_parent, ctypes.CDLL(None)),
        )
    except OSError as error:
        raise ResourceError(f"phicoll-bench could not be started: {error.strerror}") from error
    words: list[str] = []
    reader = threading.Thread(target=listen, args=(process, words, progress), daemon=True)
    try:
        reader.start()
    except RuntimeError as error:
        process.kill()
        process.wait()
        raise ResourceError(f"no thread could be started to read what phicoll-bench says: {error}") from error
    interrupted = False
    try:
        process.wait()
    except KeyboardInterrupt:
        interrupted = True
        stop(process)
    except BaseException:
        stop(process)
        raise
    reader.join(PATIENCE_S)
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()
    after = output.stat().st_size if output.exists() else 0
    results = load(output) if after > before or (after and process.returncode == 0) else None
    return Outcome(results, process.returncode, "".join(words), interrupted)


def end_with_parent(libc: ctypes.CDLL) -> None:
    """In the child: a Python that is killed does not leave a measurement running (prctl PR_SET_PDEATHSIG)."""
    libc.prctl(1, int(signal.SIGINT))


def listen(process: subprocess.Popen[str], words: list[str], progress: Progress | None) -> None:
    """Pass progress lines on; keep the rest."""
    assert process.stderr is not None
    with process.stderr:
        for line in process.stderr:
            if line.startswith("progress:"):
                fields = line.split(None, 3)
                if progress is not None and len(fields) >= 3 and fields[1].isdigit() and fields[2].isdigit():
                    progress(int(fields[1]), int(fields[2]), fields[3].strip() if len(fields) > 3 else "")
                acknowledge(process)
            elif line.startswith("phicoll-bench: note: "):
                note(line.replace("phicoll-bench", "phicoll", 1), progress)
            else:
                words.append(line)
                if not line.startswith("phicoll-bench:"):
                    note(line, progress)


def note(line: str, progress: Progress | None) -> None:
    """Write a line on stderr, in place of a progress bar there."""
    if progress is not None and sys.stderr is not None and sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
    tell(line, end="")


def acknowledge(process: subprocess.Popen[str]) -> None:
    """Tell the program, which waits between two rounds, to go on: progress is drawn."""
    if process.stdin is not None:
        with contextlib.suppress(OSError, ValueError):
            process.stdin.write("\n")
            process.stdin.flush()


def stop(process: subprocess.Popen[str]) -> None:
    """End the program: politely, then at once. A second Ctrl-C does not wait."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(PATIENCE_S)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        process.kill()
        process.wait()


def conclude(outcome: Outcome) -> Results:
    """The results, or the error that exit code and stderr stand for."""
    if outcome.exit_code == BAD_INPUT:
        raise parse_refusal(outcome.words)
    failed = outcome.results is not None and outcome.results.reason == "failed"
    if outcome.results is not None and not failed and outcome.exit_code in (0, BROKEN, INTERRUPTED):
        return outcome.results  # BROKEN without a failed end: a subject was not verified, and is marked
    if outcome.interrupted or outcome.exit_code == INTERRUPTED:
        if outcome.results is None:
            raise KeyboardInterrupt
        return outcome.results
    words = outcome.words.strip().removeprefix("phicoll-bench: ")
    said = words or f"exit code {outcome.exit_code}"
    error: Error
    if outcome.exit_code == BROKEN and outcome.results is not None:
        if outcome.results.ends:
            said = str(outcome.results.ends[-1].get("error") or said)
        error = BrokenGroupError(said)
    elif outcome.exit_code < 0:
        name = signal.Signals(-outcome.exit_code).name
        error = BrokenGroupError(f"phicoll-bench was ended by {name}" + (f": {words}" if words else ""))
    else:
        error = ResourceError(said)
    error.results = outcome.results
    raise error


def parse_refusal(words: str) -> ArgumentError:
    """``phicoll-bench: <argument>: got ...; allowed: ...`` as an error."""
    line = next((line for line in words.splitlines() if line.startswith("phicoll-bench:")), words.strip())
    text = line.removeprefix("phicoll-bench:").strip()
    argument, found, rest = text.partition(": got ")
    got, also, allowed = rest.partition("; allowed: ")
    if not found or not also:
        return ArgumentError("arguments", text or "nothing", "what phicoll-bench --help lists")
    return ArgumentError(argument.removeprefix("--"), got, allowed)
