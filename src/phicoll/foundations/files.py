"""Files that a user names: what is read and written, checked before anything is measured."""

from __future__ import annotations

import errno
import fcntl
import gzip
import io
import os
import secrets
import stat
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar

from phicoll.errors import ArgumentError, ResourceError

__all__ = [
    "Appended",
    "as_path",
    "check_writable",
    "input_bytes",
    "input_lines",
    "open_input",
    "replaced",
    "temporary_folder",
    "write_text",
    "writing",
]

#: The longest line of a run with 1,024 ranks and 1,000 calls in a window has some 20 MB.
MOST_LINE = 64 << 20
#: The most bytes that a compressed file may unpack to, and how many times its size beyond the first 4 MB: a small one
#: can hold any number of zeros. Records shrink to a tenth, equal ones to a fiftieth.
MOST_UNPACKED, ALWAYS_UNPACKED, MOST_RATIO = 8 << 30, 4 << 20, 250


def as_path(path: Any, argument: str = "path") -> Path:
    """``path`` as a Path. Raises :class:`ArgumentError` for what cannot be a file's name."""
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise ArgumentError(argument, repr(path), "a file's name")
    if not os.fspath(path) or "\0" in os.fspath(path):
        raise ArgumentError(argument, repr(os.fspath(path)), "a file's name")
    return Path(path)


def open_input(path: Path) -> io.BufferedReader:
    """Open a regular file for reading. A device or a FIFO, which may never answer or never end, is an OSError too."""
    # O_NONBLOCK: a FIFO without a writer is refused instead of waited for.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "not a regular file")
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def input_lines(path: Path) -> Iterator[bytes]:
    """The lines of a regular file, up to the size that it has now; those in it if it was compressed by gzip.

    Raises OSError, also for an endless line.
    """
    with open_input(path) as stream:
        if stream.peek(2)[:2] == b"\x1f\x8b":
            size = os.fstat(stream.fileno()).st_size
            most = min(MOST_UNPACKED, max(ALWAYS_UNPACKED, MOST_RATIO * size))
            endless = f"more than {most >> 20} MB when unpacked, from {size} bytes"
            yield from lines_of(gzip.GzipFile(fileobj=stream), most, endless)
        else:
            yield from lines_of(stream, os.fstat(stream.fileno()).st_size)


def lines_of(stream: io.BufferedIOBase, left: int, endless: str = "") -> Iterator[bytes]:
    """The lines in the next ``left`` bytes; with ``endless`` more of them are an OSError of this text."""
    try:
        while line := stream.readline(min(left, MOST_LINE + 1)):
            if len(line) > MOST_LINE:
                raise OSError(errno.EFBIG, f"a line of more than {MOST_LINE >> 20} MB")
            left -= len(line)
            yield line
        if endless and stream.read(1):
            raise OSError(errno.EFBIG, endless)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise OSError(errno.EIO, f"a compressed file that is damaged or cut off: {error}") from error


def input_bytes(path: Path, most: int = 4 << 20) -> bytes:
    """All of a regular file. Raises OSError, also for more than ``most`` bytes."""
    with open_input(path) as stream:
        found = stream.read(most + 1)
    if len(found) > most:
        raise OSError(errno.EFBIG, f"more than {most >> 20} MB")
    return found


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Name the file in the error of whatever cannot be written meanwhile.

    Raises
    ------
    ResourceError
        Instead of OSError: the disk is full, say.
    """
    try:
        yield
    except ResourceError:
        raise
    except OSError as error:
        named = ResourceError(f"{path}: cannot be written ({error.strerror or error})")
        named.errno = error.errno
        raise named from error


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """Replace a file atomically by the one that is written to the yielded path.

    Raises
    ------
    ResourceError
        It cannot be written: the disk is full, say.
    """
    target = Path(os.path.realpath(path))  # a symbolic link stays
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}")
    with writing(path):
        # The kernel takes the umask from the mode: reading it would change it for a moment, for all threads.
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o666))
        try:
            yield temporary
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Replace a file's text, all of it or nothing. Raises :class:`ResourceError` if it cannot be written."""
    with replaced(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextmanager
def temporary_folder(use: str, within: Path | None = None) -> Iterator[Path]:
    """A folder that this user alone can read, removed at the end: in TMPDIR, /tmp and their like, or ``within``.

    Raises
    ------
    ResourceError
        None can be made; the message says for what ``use``, where it was tried, and which variable names another place.
    """
    try:
        made = tempfile.TemporaryDirectory(prefix=".phicoll-" if within else "phicoll-", dir=within)
    except OSError as error:
        tried = f" in {Path(error.filename).parent}" if error.filename else ""
        hint = "" if within else "; TMPDIR names another folder"
        raise ResourceError(
            f"no temporary folder for {use}{tried}: {error.strerror or error}{hint}"
        ) from error
    with made as folder:
        yield Path(folder)


def check_writable(path: str | os.PathLike[str], argument: str = "path") -> Path:
    """Check that ``path`` can be written and return it; no file is left behind and none is changed.

    Raises
    ------
    ArgumentError
        The folder does not exist, the file can't be opened for writing, or it is a device or FIFO, which
        :func:`replaced` would take away.
    """
    path = as_path(path, argument)
    if os.path.isdir(path):  # noqa: PTH112 (false for a name that is too long)
        raise ArgumentError(argument, f"{str(path)!r}, a folder", "a file that can be written")
    if not os.path.isdir(path.parent):  # noqa: PTH112
        raise ArgumentError(
            argument, repr(str(path)), f"a file in a folder that exists ({path.parent} does not)"
        )
    existed = os.path.exists(path)  # noqa: PTH110
    if existed and not path.is_file():
        raise ArgumentError(
            argument, f"{str(path)!r}, which is not a regular file", "a file that can be written"
        )
    try:
        if existed:
            path.open("ab").close()
        else:
            with suppress(ArgumentError):  # another run is writing it meanwhile, so it can be written
                Appended(path, argument).close()
    except OSError as error:
        raise ArgumentError(
            argument, repr(str(path)), f"a file that can be written ({error.strerror})"
        ) from error
    return path


class Appended:
    """A file that one run at a time appends lines to. An unfinished last line is ended first.

    Each write is one to the end of the file: on a file system without locks, too, lines of two runs are not mixed.

    Raises
    ------
    ArgumentError
        Another run is writing it.
    """

    #: Those that this process has open.
    opened: ClassVar[set[Appended]] = set()

    def __init__(self, path: Path, argument: str) -> None:
        self.path = path
        self.new = not path.exists()
        while True:
            self.stream = path.open("ab+", buffering=0)
            try:
                fcntl.flock(self.stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self.stream.close()
                raise ArgumentError(
                    argument,
                    f"{str(path)!r}, which another run is writing",
                    "a file of its own, or this one after that run",
                ) from None
            except OSError:  # a file system without locks
                break
            if self.in_place():
                break
            self.stream.close()  # removed or replaced before it was locked: others lock the one at the path
        size = os.fstat(self.stream.fileno()).st_size
        self.begun = size > 0  #: whether there was something in it
        self.before = b"\n" if size and os.pread(self.stream.fileno(), 1, size - 1) != b"\n" else b""
        Appended.opened.add(self)

    def __enter__(self) -> Appended:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def in_place(self) -> bool:
        """Whether the path still leads to this file."""
        try:
            return os.path.samestat(os.fstat(self.stream.fileno()), self.path.stat())
        except FileNotFoundError:
            return False

    def close(self) -> None:
        """A new file that nothing was written to is removed."""
        Appended.opened.discard(self)
        if self.new and os.fstat(self.stream.fileno()).st_size == 0 and self.in_place():
            Path(os.path.realpath(self.path)).unlink()  # not a link to it
        with suppress(OSError):  # a file system without locks
            fcntl.flock(self.stream, fcntl.LOCK_UN)  # a process that is just being forked has it, too
        self.stream.close()

    def clear(self) -> None:
        """Remove what is in it."""
        os.ftruncate(self.stream.fileno(), 0)
        self.before = b""

    def write(self, lines: Iterable[str]) -> None:
        """Raises :class:`ResourceError` if the disk is full; then nothing of the lines is left."""
        text = self.before + "".join(f"{line}\n" for line in lines).encode()
        number, done = self.stream.fileno(), 0
        with writing(self.path):
            size = os.fstat(number).st_size
            try:
                while done < len(text):
                    done += os.write(number, memoryview(text)[done:])
            except OSError:
                if os.fstat(number).st_size == size + done:  # without locks another run may have added lines
                    os.ftruncate(number, size)
                raise
        self.before = b""


def leave_to_parent() -> None:
    """In a forked process, which may outlive the run: the lock ends when the run's own descriptor is the last."""
    for file in Appended.opened:
        file.stream.close()
    Appended.opened.clear()


os.register_at_fork(after_in_child=leave_to_parent)
