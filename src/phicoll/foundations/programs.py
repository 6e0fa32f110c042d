"""Other programs, started as a shell starts them: without what Python sets up for itself.

`phicoll omp` and its like are to start soon: imports at the top are of modules that load in no time.
"""

from __future__ import annotations

import _signal  # without the enumerations of signal, which take longer than becoming a program
import errno
import os

from phicoll.errors import ResourceError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Mapping, Sequence
    from typing import Any, NoReturn

__all__ = ["become", "environment_before_python", "finished", "given", "on_path", "started"]

#: The values of LC_CTYPE with which Python replaces the C locale (PEP 538).
COERCED = ("C.UTF-8", "C.utf8", "UTF-8")
#: What Python ignores once it starts, and ``subprocess`` restores.
IGNORED = ("SIGPIPE", "SIGXFSZ")


def given(words: list[str]) -> list[str]:
    """The command in the rest of a command line, which may begin with ``--``."""
    return words[1:] if words[:1] == ["--"] else words


def environment_before_python() -> dict[str, str]:
    """A copy of the environment, with the LC_CTYPE that this process was started with.

    In the C locale Python sets one of its own. The process's first variables stay where the kernel shows them. Where
    /proc is not mounted, Python's value stays: it may have been given.
    """
    environment = dict(os.environ)
    if environment.get("LC_CTYPE") in COERCED:
        try:
            with open("/proc/self/environ", "rb") as file:
                first = file.read().split(b"\0")
        except OSError:
            return environment
        given = next((one.partition(b"=")[2] for one in first if one.startswith(b"LC_CTYPE=")), None)
        del environment["LC_CTYPE"]
        if given is not None:
            environment["LC_CTYPE"] = os.fsdecode(given)
    return environment


def on_path(program: str) -> str | None:
    """The path of a program by its path or its name on the PATH, or None: as shutil.which finds it."""
    searched = os.environ.get("PATH", os.defpath)
    folders = searched.split(os.pathsep) if searched and program else []
    for folder in [""] if os.path.dirname(program) else folders:
        path = os.path.join(folder, program)
        if os.access(path, os.X_OK) and not os.path.isdir(path):
            return path
    return None


def by_shell(program: str, words: Sequence[str], error: OSError) -> list[str]:
    """The command by which execvp(3) and shells run a script without ``#!``, after the kernel's ``error``.

    Raises the error itself if it has another cause.
    """
    if error.errno != errno.ENOEXEC:
        raise error
    with open(program, "rb") as file:
        if b"\0" in file.read(256):  # no text
            raise error
    return ["/bin/sh", program, *words[1:]]


def started(words: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
    """``subprocess.Popen``, which runs scripts without ``#!``, too."""
    import subprocess

    program = on_path(words[0]) or words[0]  # subprocess passes over scripts without #!
    try:
        return subprocess.Popen(words, executable=program, **options)
    except OSError as error:
        return subprocess.Popen(by_shell(program, words, error), **options)


def finished(
    words: Sequence[str | os.PathLike[str]], timeout_s: float, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, and return what it printed.

    Raises
    ------
    ResourceError
        It takes longer than ``timeout_s`` seconds.
    """
    import subprocess

    try:
        return subprocess.run(
            words,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            env=environment,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ResourceError(f"{words[0]} took more than {timeout_s:g} s") from None


def become(program: str, words: Sequence[str], environment: dict[str, str]) -> NoReturn:
    """Replace this process by a program, by its path or on the PATH, with ``words`` as its arguments from the 0th on.

    OSError if that is impossible.

    The signals that Python ignores have their default actions again, as with ``subprocess``: whether they were ignored
    before Python started is not known any more.
    """
    for name in IGNORED:
        _signal.signal(getattr(_signal, name), _signal.SIG_DFL)
    program = on_path(program) or program
    try:
        os.execve(program, list(words), environment)
    except OSError as error:
        command = by_shell(program, words, error)
        os.execve(command[0], command, environment)
