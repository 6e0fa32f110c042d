"""Libraries that are compiled where they run, against headers found there, and kept in the user's cache."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

from phicoll.errors import ResourceError
from phicoll.foundations.own_files import foreign_reason, make_own_folder
from phicoll.foundations.programs import finished
from phicoll.preload.programs import is_whole, native_folder

__all__ = ["BUILD_TIMEOUT_S", "built", "cache_folder", "hashed"]

BUILD_TIMEOUT_S = 900.0
#: A disk with less is full: the libraries have less.
LEAST_FREE = 1 << 20


def hashed(*parts: str) -> str:
    return sha256("\0".join(parts).encode(errors="surrogateescape")).hexdigest()[:16]


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME", "")
    try:
        folder = Path(base) if base.startswith("/") else Path.home() / ".cache"
    except RuntimeError as error:  # no HOME, and a user without an entry in passwd
        raise ResourceError(
            f"no folder to keep the library in: set HOME or XDG_CACHE_HOME ({error})"
        ) from error
    return folder / "phicoll" / "preload"


def built(
    kind: str,
    what: str,
    texts: Sequence[Path],
    key: Sequence[str],
    compiler: Sequence[str],
    environment: Mapping[str, str],
    libraries: Sequence[str] = (),
) -> Path:
    """The library for ``what`` (``mpich-5.0.2``) on libphicoll-preload: from the user's cache, or compiled there.

    ``kind`` begins the file's name. ``texts`` are its sources, of which the ``.cpp`` are compiled, and its own
    headers; ``key`` all else that it depends on; ``compiler`` the command with its options, run with ``environment``
    beside this process's own; ``libraries`` the linker's words for further ones.

    Raises
    ------
    ResourceError
        It does not compile; the message has the compiler's first error.
    """
    native = native_folder()
    content = [text.read_text(errors="surrogateescape") for text in texts]
    library = cache_folder() / f"libphicoll-{kind}-{what}-{hashed(native, *key, *content)}.so"
    check_own(library)
    if is_whole(library):
        return library
    try:
        make_own_folder(str(library.parent))
        with alone(library):
            if not is_whole(library):
                sources = [str(text) for text in texts if text.suffix == ".cpp"]
                compile_library(library, what, native, [*compiler, *sources], environment, libraries)
    except OSError as error:
        if isinstance(error, ResourceError):
            raise
        raise ResourceError(cannot_write(library.parent, error.strerror or str(error))) from error
    check_own(library)
    return library


@contextmanager
def alone(library: Path) -> Iterator[None]:
    """Keeps processes that start together from compiling the same library each. The lock ends with its process."""
    with library.with_suffix(".lock").open("w") as lock:
        with suppress(OSError):  # a file system without locks: each compiles its own
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def compile_library(
    library: Path,
    what: str,
    native: str,
    command: Sequence[str],
    environment: Mapping[str, str],
    libraries: Sequence[str],
) -> None:
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory(dir=library.parent) as folder:
        made = Path(folder) / library.name
        words = [*command, f"-I{native}"]
        words += [
            "-x",
            "none",
            "-o",
            str(made),
            f"-L{native}",
            "-lphicoll-preload",
            f"-Wl,-rpath,{native}",
            *libraries,
        ]
        # Lazy, whatever the compiler's default is: under another MPI, which the library finds out, names are missing.
        words += ["-Wl,-z,nodelete", "-Wl,-z,lazy", "-ldl"]
        done = finished(
            words, BUILD_TIMEOUT_S, {**os.environ, **environment, "LC_ALL": "C", "TMPDIR": folder}
        )
        if done.returncode != 0:
            lines = done.stderr.splitlines()
            first = next((line for line in lines if "error" in line.lower()), "".join(lines[-1:]))
            full = os.strerror(errno.ENOSPC)
            # The linker writes through a mapping, so that a full disk may end it by a signal.
            if full in done.stderr or shutil.disk_usage(library.parent).free < LEAST_FREE:
                raise ResourceError(cannot_write(library.parent, full))
            raise ResourceError(f"{command[0]} cannot compile the library for {what}: {first.strip()}")
        with made.open("rb") as file:
            os.fsync(file.fileno())  # so that no loss of power leaves a library that is cut short
        made.replace(library)


def cannot_write(folder: Path, why: str) -> str:
    return f"{folder}: the library cannot be written there ({why}): make room, or set XDG_CACHE_HOME to another folder"


def check_own(library: Path) -> None:
    """Refuse a library that another user could have put there: it would run in this user's programs.

    Raises
    ------
    ResourceError
        The file or a folder above it belongs to another user, or others may write it.
    """
    if reason := foreign_reason(str(library)):
        raise ResourceError(
            f"the library {library} is not used, as {reason}: remove what is not yours, take write access from others, "
            "or set XDG_CACHE_HOME to a folder that is yours alone"
        )
