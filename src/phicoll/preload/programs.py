"""Running programs with a library preloaded, and recognising programs that nothing can be preloaded under."""

from __future__ import annotations

import os
import platform
import shutil
import stat
import struct
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import phicoll._core as _core
from phicoll.errors import ArgumentError, ResourceError

__all__ = ["become", "native_folder", "needed_libraries", "why_not_preloadable", "with_preload"]

#: e_machine of the ELF header.
MACHINES = {"x86_64": 62, "aarch64": 183}
PT_INTERP = 3
LDD_TIMEOUT_S = 30.0


def why_not_preloadable(words: Sequence[str]) -> str | None:
    """Why a library cannot be preloaded under the first of the words that is such a program, or None."""
    for word in words:
        found = shutil.which(word)
        if found and (why := reason(Path(found))):
            return f"{word} {why}"
    return None


def reason(program: Path) -> str | None:
    try:
        with program.open("rb") as file:
            header = file.read(64)
            if len(header) < 64 or header[:4] != b"\x7fELF" or header[5] != 1:
                return None  # a script, whose interpreter is an ordinary program
            if header[4] != 2 or struct.unpack_from("<H", header, 18)[0] != MACHINES.get(platform.machine()):
                return "is a program of another architecture"
            mode = program.stat().st_mode
            if (mode & stat.S_ISUID and program.stat().st_uid != os.getuid()) or mode & stat.S_ISGID:
                return (
                    "runs with another user's rights (setuid or setgid): the system preloads nothing under it"
                )
            offset, size, count = (
                struct.unpack_from("<Q", header, 32)[0],
                *struct.unpack_from("<HH", header, 54),
            )
            file.seek(offset)
            table = file.read(size * count)
            kinds = [struct.unpack_from("<I", table, size * i)[0] for i in range(count)]
            return None if PT_INTERP in kinds else "is statically linked"
    except (OSError, struct.error):
        return None


def needed_libraries(words: Sequence[str]) -> set[str]:
    """The names of the shared libraries that ``ldd`` lists for those of the words that are programs."""
    names: set[str] = set()
    ldd = shutil.which("ldd")
    for word in words:
        found = shutil.which(word)
        if ldd is None or found is None or not is_elf(Path(found)):
            continue
        listed = subprocess.run(
            [ldd, found], capture_output=True, text=True, errors="replace", timeout=LDD_TIMEOUT_S, check=False
        )
        names.update(line.split()[0] for line in listed.stdout.splitlines() if line.strip())
    return names


def is_elf(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


def with_preload(environment: dict[str, str], library: Path) -> dict[str, str]:
    """The environment with the library before those that are already preloaded."""
    before = environment.get("LD_PRELOAD", "").replace(" ", ":").split(":")
    return {**environment, "LD_PRELOAD": ":".join([str(library), *filter(None, before)])}


def native_folder() -> Path:
    """Where the package has libphicoll-preload.so and what is built on it."""
    core = getattr(_core, "__file__", None) or __file__
    for folder in (Path(core).parent, Path(__file__).parent.parent):
        native = folder / "native"
        if (native / "libphicoll-preload.so").is_file():
            return native
    raise ResourceError("libphicoll-preload.so is not in this package, which was built without it")


def become(
    kind: str, command: Sequence[str], example: str, prepared: Callable[[dict[str, str]], dict[str, str]]
) -> int:
    """Become ``command``, in the environment that ``prepared`` makes of this one: with ``libphicoll-KIND`` preloaded.

    If that is impossible (``ResourceError``), a line on stderr says why, and the command runs as it is.

    Raises
    ------
    ArgumentError
        There is no command, or no such program.
    """
    if not command:
        raise ArgumentError("command", "nothing", example)
    if shutil.which(command[0]) is None:
        raise ArgumentError("command", repr(command[0]), f"a program that exists; {example}")
    environment = dict(os.environ)
    try:
        if f"libphicoll-{kind}" in environment.get("LD_PRELOAD", ""):
            raise ResourceError("the library is preloaded already")
        environment = prepared(environment)
    except (ResourceError, OSError, subprocess.TimeoutExpired) as error:
        if sys.stderr is not None:  # None where it was closed at the start
            print(f"phicoll: {kind}: the program runs without phicoll: {error}", file=sys.stderr, flush=True)
    os.execvpe(command[0], list(command), environment)
