"""Running programs with a library preloaded, and recognising programs that nothing can be preloaded under."""

from __future__ import annotations

import os
import stat
import struct
from os.path import basename, dirname

from phicoll.errors import ArgumentError, ResourceError
from phicoll.foundations import programs
from phicoll.foundations.installed import installed
from phicoll.foundations.streams import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "is_whole",
    "linked_with",
    "native_folder",
    "needed_libraries",
    "preloadable_programs",
    "ready",
    "with_preload",
]

#: e_machine of the ELF header.
MACHINES = {"x86_64": 62, "aarch64": 183}
PT_LOAD, PT_DYNAMIC, PT_INTERP = 1, 2, 3
PROGRAM_HEADER = struct.Struct("<I4xQQ8xQ16x")  # type, offset in the file, address, bytes in the file
DYNAMIC_ENTRY = struct.Struct("<QQ")
DT_NEEDED, DT_STRTAB = 1, 5
HEADER_BYTES = 4096
LISTING_TIMEOUT_S = 30.0


def preloadable_programs(words: Sequence[str]) -> list[str]:
    """Those of the words under which something can be preloaded. Not scripts: an ordinary program runs them.

    A word may also be an argument that has a program's name, so another is no fault beside one of these.

    Raises
    ------
    ResourceError
        All programs among the words are others; the message has the first, and why.
    """
    loadable: list[str] = []
    refused = ""
    for word in words:
        found = programs.on_path(word)
        header = elf_header(found) if found else b""
        if not found or not header:
            continue
        if why := reason(found, header):
            refused = refused or f"{word} {why}"
        else:
            loadable.append(found)
    if refused and not loadable:
        raise ResourceError(refused)
    return loadable


def elf_header(program: str | os.PathLike[str]) -> bytes:
    """The file's first page, which has an ELF file's header and program headers, or nothing if it is another."""
    try:
        with open(program, "rb") as file:
            page = file.read(HEADER_BYTES)
    except OSError:
        return b""
    return page if len(page) >= 64 and page[:4] == b"\x7fELF" and page[5] == 1 else b""


def is_whole(library: str | os.PathLike[str]) -> bool:
    """Whether an ELF file has all of its bytes: its last part is the table of its sections."""
    page = elf_header(library)
    if not page:
        return False
    offset = struct.unpack_from("<Q", page, 40)[0]
    size, count = struct.unpack_from("<HH", page, 58)
    return bool(0 < offset <= offset + size * count <= os.stat(library).st_size)


def reason(program: str, page: bytes) -> str | None:
    """Why nothing can be preloaded under a program with such a first page, or None."""
    if page[4] != 2 or struct.unpack_from("<H", page, 18)[0] != MACHINES.get(os.uname().machine):
        return "is a program of another architecture"
    facts = os.stat(program)
    if (facts.st_mode & stat.S_ISUID and facts.st_uid != os.getuid()) or facts.st_mode & stat.S_ISGID:
        return "runs with another user's rights (setuid or setgid): the system preloads nothing under it"
    if os.getuid() != 0 and has_capabilities(program):
        return "runs with rights of its own (file capabilities): the system preloads nothing under it"
    loader = loader_in(page)
    if loader == "":
        return "is statically linked"
    here = loader_in(elf_header("/proc/self/exe"))
    if loader and here and basename(loader) != basename(here):
        return f"is a program of another C library, whose loader is {loader}"
    return None


def has_capabilities(program: str) -> bool:
    """Whether the file has rights of its own, which count unless the user is root."""
    try:
        return bool(os.getxattr(program, "security.capability"))
    except OSError:  # none, or a file system that keeps none
        return False


def program_headers(page: bytes) -> list[tuple[int, int, int, int]] | None:
    """Type, offset, address and bytes of each; None if they are not in the first page, where linkers put them."""
    offset = struct.unpack_from("<Q", page, 32)[0]
    size, count = struct.unpack_from("<HH", page, 54)
    if offset + size * count > len(page) or size < PROGRAM_HEADER.size:
        return None
    return [PROGRAM_HEADER.unpack_from(page, offset + size * i) for i in range(count)]


def loader_in(page: bytes) -> str | None:
    """The dynamic loader that a program with such a first page names: "" for a static one, None if unknown."""
    headers = program_headers(page) if page else None
    if headers is None:
        return None
    for kind, begin, _, length in headers:
        if kind == PT_INTERP:
            end = begin + length
            return os.fsdecode(page[begin:end].rstrip(b"\0")) if end <= len(page) else None
    return ""


def linked_with(program: str) -> list[str]:
    """The names of the shared libraries that a program itself names, without those that they need in turn."""
    headers = program_headers(page) if (page := elf_header(program)) else None
    for kind, begin, _, length in headers or ():
        if kind != PT_DYNAMIC:
            continue
        with open(program, "rb") as file:
            file.seek(begin)
            section = file.read(length)
            entries = list(DYNAMIC_ENTRY.iter_unpack(section[: len(section) & -DYNAMIC_ENTRY.size]))
            table = next((value for tag, value in entries if tag == DT_STRTAB), 0)
            for _, offset, address, size in (one for one in headers or () if one[0] == PT_LOAD):
                if address <= table < address + size:
                    file.seek(offset + table - address)
                    names = file.read(offset + size - file.tell())
                    starts = [value for tag, value in entries if tag == DT_NEEDED]
                    return [os.fsdecode(names[at : names.find(b"\0", at)]) for at in starts]
    return []


def needed_libraries(files: Sequence[str]) -> set[str]:
    """The names of the shared libraries that the programs' own loaders list, as ldd(1) does."""
    names: set[str] = set()
    for program in files:
        if loader := loader_in(elf_header(program)):
            listed = programs.finished([loader, "--list", program], LISTING_TIMEOUT_S).stdout
            names.update(line.split()[0] for line in listed.splitlines() if line.strip())
    return names


def with_preload(environment: dict[str, str], library: str | os.PathLike[str]) -> dict[str, str]:
    """The environment with the library before those that are already preloaded.

    Raises
    ------
    ResourceError
        The library's path contains a space or a colon, which separate the entries of LD_PRELOAD.
    """
    if any(mark in str(library) for mark in " :"):
        raise ResourceError(f"LD_PRELOAD cannot name a path with a space or a colon: {library}")
    before = environment.get("LD_PRELOAD", "").replace(" ", ":").split(":")
    return {**environment, "LD_PRELOAD": ":".join([str(library), *filter(None, before)])}


def native_folder() -> str:
    """The folder where the package has libphicoll-preload.so and what is built on it."""
    library = installed("native", "libphicoll-preload.so")
    if library is None:
        raise ResourceError("libphicoll-preload.so is not in this package, which was built without it")
    return dirname(library)


def ready(
    kind: str,
    command: Sequence[str],
    example: str,
    prepared: Callable[[dict[str, str]], tuple[Sequence[str], dict[str, str]]],
) -> tuple[Sequence[str], dict[str, str]]:
    """The words and the environment that run ``command`` with ``libphicoll-KIND`` preloaded.

    ``prepared`` makes them from this environment.

    If that is impossible (``ResourceError``), a line on stderr says why, and the command runs as it is. If the
    library is preloaded already, it stays, and a line says so; likewise if ``command`` is ``phicoll KIND`` itself.

    Raises
    ------
    ArgumentError
        There is no command, or no such program.
    """
    if not command:
        raise ArgumentError("command", "nothing", example)
    if programs.on_path(command[0]) is None:
        path = "the PATH" if os.environ.get("PATH") != "" else "the PATH, which is empty"
        raise ArgumentError("command", repr(command[0]), f"a program on {path}, or its path; {example}")
    environment = programs.environment_before_python()
    said = ""
    if f"libphicoll-{kind}" in environment.get("LD_PRELOAD", ""):
        said = "the library is preloaded already, and stays"
    elif basename(command[0]) == "phicoll" and list(command[1:2]) == [kind]:
        said = f"the second 'phicoll {kind}' alone counts"
    else:
        try:
            command, environment = prepared(environment)
        except (ResourceError, OSError) as error:
            said = f"the program runs without phicoll: {error}"
    if said:
        say(f"{kind}: {said}")
    return command, environment
