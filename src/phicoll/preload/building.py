"""Libraries that are compiled where they run, against headers found there, and kept in the user's cache.

`phicoll mpi` is to start soon: imports at the top are of modules that load in no time.
"""

from __future__ import annotations

import errno
import os
from os.path import basename, dirname, expanduser

from phicoll.errors import ResourceError
from phicoll.foundations.own_files import foreign_reason, make_own_folder
from phicoll.foundations.programs import finished
from phicoll.preload.programs import is_whole, native_folder

try:
    from _blake2 import blake2b  # hashlib loads OpenSSL
except ImportError:  # an interpreter without hashes of its own
    from hashlib import blake2b

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import IO

__all__ = ["BUILD_TIMEOUT_S", "built", "cache_folder", "hashed", "text_of"]

BUILD_TIMEOUT_S = 900.0
#: A disk with less is full: the libraries have less.
LEAST_FREE = 1 << 20


def hashed(*parts: str) -> str:
    return blake2b("\0".join(parts).encode(errors="surrogateescape"), digest_size=8).hexdigest()


def text_of(path: str, errors: str = "surrogateescape") -> str:
    with open(path, encoding="utf-8", errors=errors) as file:
        return file.read()


def cache_folder() -> str:
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not base.startswith("/"):
        base = expanduser("~/.cache")
        if base.startswith("~"):  # no HOME, and a user without an entry in passwd
            raise ResourceError("no folder to keep the library in: set HOME or XDG_CACHE_HOME")
    return f"{base.rstrip('/')}/phicoll/preload"


def built(
    kind: str,
    what: str,
    texts: Sequence[str],
    key: Sequence[str],
    compiler: Sequence[str],
    environment: Mapping[str, str],
    libraries: Sequence[str] = (),
) -> str:
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
    library = f"{cache_folder()}/libphicoll-{kind}-{what}-{hashed(native, *key, *map(text_of, texts))}.so"
    check_own(library)
    if is_whole(library):
        return library
    try:
        make_own_folder(dirname(library))
        with alone(library):
            if not is_whole(library):
                sources = [text for text in texts if text.endswith(".cpp")]
                compile_library(library, what, native, [*compiler, *sources], environment, libraries)
    except OSError as error:
        if isinstance(error, ResourceError):
            raise
        raise ResourceError(cannot_write(dirname(library), error.strerror or str(error))) from error
    check_own(library)
    return library


def alone(library: str) -> IO[str]:
    """Keeps processes that start together from compiling the same library each. The lock ends with its process."""
    import fcntl

    lock = open(f"{library.removesuffix('.so')}.lock", "w")  # noqa: SIM115
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
    except OSError:  # a file system without locks: each compiles its own
        pass
    return lock


def compile_library(
    library: str,
    what: str,
    native: str,
    command: Sequence[str],
    environment: Mapping[str, str],
    libraries: Sequence[str],
) -> None:
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory(dir=dirname(library)) as folder:
        made = f"{folder}/{basename(library)}"
        words = [*command, f"-I{native}"]
        words += [
            "-x",
            "none",
            "-o",
            made,
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
            if full in done.stderr or shutil.disk_usage(dirname(library)).free < LEAST_FREE:
                raise ResourceError(cannot_write(dirname(library), full))
            raise ResourceError(f"{command[0]} cannot compile the library for {what}: {first.strip()}")
        with open(made, "rb") as file:
            os.fsync(file.fileno())  # so that no loss of power leaves a library that is cut short
        os.replace(made, library)


def cannot_write(folder: str, why: str) -> str:
    return f"{folder}: the library cannot be written there ({why}): make room, or set XDG_CACHE_HOME to another folder"


def check_own(library: str) -> None:
    """Refuse a library that another user could have put there: it would run in this user's programs.

    Raises
    ------
    ResourceError
        The file or a folder above it belongs to another user, or others may write it.
    """
    if reason := foreign_reason(library):
        raise ResourceError(
            f"the library {library} is not used, as {reason}: remove what is not yours, take write access from others, "
            "or set XDG_CACHE_HOME to a folder that is yours alone"
        )
