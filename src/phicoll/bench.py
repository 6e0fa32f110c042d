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
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from phicoll.errors import ArgumentError, BrokenGroupError, Error, ResourceError
from phicoll.foundations.exit_codes import BAD_INPUT, BROKEN, INTERRUPTED
from phicoll.foundations.files import temporary_folder
from phicoll.foundations.streams import tell
from phicoll.results import Results, load
from phicoll.scripts import bench_environment, named_bench

__all__ = ["Progress", "find", "run"]

#: Called with (done, total, what is being measured) between rounds.
Progress = Callable[[int, int, str], None]
#: Called with the program's arguments, the file for its records, and what is called between rounds.
Executed = Callable[[Sequence[str], Path, Progress | None], "Outcome"]

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
    exit_code: int  # negative: the signal that ended it
    words: str
    interrupted: bool
    host: str = ""  # another than this one


def run(
    arguments: Sequence[str],
    output: Path | None = None,
    progress: Progress | None = None,
    executed: Executed | None = None,
) -> Results:
    """Run ``phicoll-bench`` with ``arguments`` (without ``-o``) and read what it wrote.

    Parameters
    ----------
    arguments:
        The arguments after the program's name.
    output:
        Where the records go; they are kept whatever happens. Without it they go to a temporary file.
    progress:
        Called between rounds.
    executed:
        Runs the program somewhere else, and writes its records to the path that it gets.

    Raises
    ------
    ArgumentError
        The program refused an argument; nothing was started.
    BrokenGroupError
        A group broke; ``error.results`` has what was measured.
    Error
        The program failed otherwise.
    """
    executed = executed or execute
    if output is not None:
        return conclude(executed(arguments, output, progress))
    with temporary_folder("the run's records") as folder:
        return conclude(executed(arguments, folder / "records.jsonl", progress))


def execute(arguments: Sequence[str], output: Path, progress: Progress | None) -> Outcome:
    """Start the program, wait for it, and read its file. Ctrl-C is forwarded once, then waited for."""
    command = [str(find()), *arguments, "-o", str(output)]
    if progress is not None:
        command.append("--progress-ack")
    before = size_of(output)
    process: subprocess.Popen[str] = started_alone(
        command,
        stdin=subprocess.PIPE if progress is not None else subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        text=True,
        errors="replace",
        env=bench_environment(),
    )
    words: list[str] = []

    def keep(line: str) -> None:
        words.append(line)
        if not line.startswith("phicoll-bench:"):
            note(line, progress)

    assert process.stderr is not None
    listener = functools.partial(
        listen, process.stderr, keep, progress, functools.partial(acknowledge, process)
    )
    interrupted = attended(process, [listener], stop)
    after = size_of(output)
    results = load(output) if after > before or (after and process.returncode == 0) else None
    if results is not None:
        results.stopped = interrupted
    return Outcome(results, process.returncode, "".join(words), interrupted)


def size_of(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def started_alone(command: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
    """Start a program, whose stderr is a pipe.

    It has a group of its own: the terminal's Ctrl-C reaches Python alone, which forwards it once.
    """
    try:
        return subprocess.Popen(
            command,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=functools.partial(end_with_parent, ctypes.CDLL(None)),
            **options,
        )
    except OSError as error:
        raise ResourceError(f"{Path(command[0]).name} could not be started: {error.strerror}") from error


def attended(
    process: subprocess.Popen[Any],
    attendants: Iterable[Callable[[], None]],
    stop: Callable[[subprocess.Popen[Any]], None],
) -> bool:
    """Wait for a program, with a thread for each of those that serve its pipes.

    Returns
    -------
    bool
        Whether Ctrl-C came, upon which ``stop`` ended it.
    """
    threads = [threading.Thread(target=attendant, daemon=True) for attendant in attendants]
    try:
        for thread in threads:
            thread.start()
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
    for thread in threads:
        thread.join(PATIENCE_S)
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()
    return interrupted


def end_with_parent(libc: ctypes.CDLL) -> None:
    """In the child: a Python that is killed does not leave a measurement running (prctl PR_SET_PDEATHSIG)."""
    libc.prctl(1, int(signal.SIGINT))


def listen(
    stderr: IO[str],
    keep: Callable[[str], None],
    progress: Progress | None,
    acknowledge: Callable[[], None] | None = None,
) -> None:
    """Pass progress lines and notes on; keep the rest."""
    with stderr:
        for line in stderr:
            if line.startswith("progress:"):
                fields = line.split(None, 3)
                if progress is not None and len(fields) >= 3 and fields[1].isdigit() and fields[2].isdigit():
                    progress(int(fields[1]), int(fields[2]), fields[3].strip() if len(fields) > 3 else "")
                if acknowledge is not None:
                    acknowledge()
            elif line.startswith("phicoll-bench: note: "):
                note(line.replace("phicoll-bench", "phicoll", 1), progress)
            else:
                keep(line)


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
    on = f" (on {outcome.host})" if outcome.host else ""
    if outcome.exit_code == BAD_INPUT:
        refusal = parse_refusal(outcome.words)
        raise ArgumentError(refusal.argument, refusal.got, refusal.allowed + on)
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
        error = BrokenGroupError(said + on)
    elif outcome.exit_code < 0:
        name = signal.Signals(-outcome.exit_code).name
        error = BrokenGroupError(f"phicoll-bench was ended by {name}{on}" + (f": {words}" if words else ""))
    else:
        error = ResourceError(said + on)
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
