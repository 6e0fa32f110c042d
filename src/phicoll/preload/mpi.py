"""The library that runs an MPI program's collectives in phicoll: building it, and running programs with it."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import phicoll._core as _core
from phicoll.errors import ResourceError
from phicoll.preload.programs import (
    become,
    is_whole,
    native_folder,
    needed_libraries,
    preloadable_programs,
    with_preload,
)

__all__ = ["Mpi", "build", "find_mpi", "run"]

BUILD_TIMEOUT_S = 300.0
#: What a program for MPI-5's ABI is linked with, whichever MPI it runs under, and the end of its compiler's name.
ABI_LIBRARY = r"libmpi_abi\.so"
ABI_SUFFIX = "_abi"
#: A program that is linked with these alone is no MPI program, unless it loads libraries or starts programs.
PLAIN_LIBRARIES = r"(linux-vdso|libc|libm|libpthread|libgcc_s|libstdc\+\+|libgomp|/.*/ld-linux.*)\.so"
LOADING = (b"dlopen", b"exec", b"spawn")
FLAGS = ("-std=c++14", "-O2", "-fPIC", "-shared", "-fno-exceptions", "-fno-rtti", "-fvisibility=default")
#: A small call takes a few hundred instructions: it spends none on finding thread-local variables or functions.
FLAGS += ("-ftls-model=initial-exec", "-fno-semantic-interposition", "-Wl,-Bsymbolic-functions")


@dataclass(frozen=True)
class Mpi:
    """An MPI that programs can be compiled for."""

    mpicc: Path
    shown: str  # mpicc's own command
    version: str  # "mpich-5.0.2", "abi-1.0"
    stamp: str  # changes with the installation

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables by which mpicc finds an MPI that was moved, as by pip."""
        root = str(self.mpicc.parent.parent)
        return {"OPAL_PREFIX": root, "I_MPI_ROOT": root}


def find_mpi(mpicc: str | None = None, beside: str | None = None, *, abi: bool = False) -> Mpi:
    """The MPI of ``mpicc``: the one named, one beside the program ``beside``, ``$MPICC``, or one on the PATH.

    With ``abi``, for programs of MPI-5's ABI: ``mpicc_abi``, as MPICH calls its compiler for them, in these places.

    Raises
    ------
    ResourceError
        There is none, or it has no headers.
    """
    suffix = ABI_SUFFIX if abi else ""
    places = [mpicc] if mpicc else [*neighbours(beside), os.environ.get("MPICC", ""), "mpicc"]
    named = [place if place == mpicc else place + suffix for place in places if place]
    found = next((path for place in named if (path := shutil.which(place))), None)
    if found is None:
        where = mpicc or "none beside the launcher, in MPICC or on the PATH"
        raise ResourceError(f"no mpicc{suffix}: {where}")
    path = Path(found).absolute()
    root = str(path.parent.parent)
    shown = subprocess.run(
        [path, "-show"],
        capture_output=True,
        text=True,
        timeout=BUILD_TIMEOUT_S,
        env={**os.environ, "OPAL_PREFIX": root, "I_MPI_ROOT": root},
    ).stdout.strip()
    folders = [Path(word[2:]) for word in shlex.split(shown) if word.startswith("-I")]
    names = ["mpi_abi.h", "mpi.h"] if path.name.endswith(ABI_SUFFIX) else ["mpi.h"]
    headers = [folder / name for folder in [*folders, path.parent.parent / "include"] for name in names]
    header = next((header for header in headers if header.is_file()), None)
    if header is None:
        raise ResourceError(f"{path} has no mpi.h beside it: the MPI was installed without its headers")
    text = header.read_text(errors="replace")
    facts = header.stat()
    return Mpi(path, shown, version_in(text), f"{header} {facts.st_size} {facts.st_mtime_ns}")


def neighbours(program: str | None) -> list[str]:
    """The mpicc beside a launcher, and beside each file that it is a link to.

    Where an installation has several MPIs their names end alike: ``mpirun`` is a link to ``mpirun.openmpi``, beside
    which is ``mpicc.openmpi``. Such an ending says more than the place.
    """
    found = shutil.which(program) if program else None
    links: list[Path] = []
    while found and Path(found) not in links:
        links.append(Path(found))
        found = str(links[-1].parent / links[-1].readlink()) if links[-1].is_symlink() else None
    endings = [path.parent / f"mpicc{path.suffix}" for path in links if path.suffix]
    return [str(path) for path in [*endings, *(path.parent / "mpicc" for path in links)]]


def version_in(header: str) -> str:
    def macro(name: str) -> str | None:
        found = re.search(rf'^\s*#\s*define\s+{name}\s+"?([\w.]+)', header, re.MULTILINE)
        return found[1] if found else None

    if abi := macro("MPI_ABI_VERSION"):
        return f"abi-{abi}.{macro('MPI_ABI_SUBVERSION')}"
    if intel := macro("I_MPI_VERSION"):
        return f"intelmpi-{intel}"
    if mpich := macro("MPICH_VERSION"):
        return f"mpich-{mpich}"
    parts = [macro(f"OMPI_{part}_VERSION") for part in ("MAJOR", "MINOR", "RELEASE")]
    if all(parts):
        return "openmpi-" + ".".join(str(part) for part in parts)
    return f"mpi-{macro('MPI_VERSION')}.{macro('MPI_SUBVERSION')}"


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME", "")
    try:
        folder = Path(base) if base.startswith("/") else Path.home() / ".cache"
    except RuntimeError as error:  # no HOME, and a user without an entry in passwd
        raise ResourceError(
            f"no folder to keep the library in: set HOME or XDG_CACHE_HOME ({error})"
        ) from error
    return folder / "phicoll" / "preload"


def build(mpi: Mpi) -> Path:
    """The library for an MPI: from the user's cache, or compiled by its ``mpicc``.

    Raises
    ------
    ResourceError
        It does not compile; the message has the compiler's first error.
    """
    native = native_folder()
    sources = sorted((native / "phicoll" / "preload" / "mpi").glob("*"))
    key = hashlib.sha256()
    for part in (_core.__version__, str(native), mpi.mpicc, mpi.shown, mpi.stamp, compiler_version(mpi)):
        key.update(f"{part}\0".encode())
    for source in [*sources, native / "phicoll" / "preload" / "engine.hpp"]:
        key.update(source.read_bytes())
    library = cache_folder() / f"libphicoll-mpi-{mpi.version}-{key.hexdigest()[:16]}.so"
    if is_whole(library):
        return library
    library.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=library.parent) as folder:
        made = Path(folder) / library.name
        command = [str(mpi.mpicc), "-x", "c++", *FLAGS, f"-I{native}"]
        command += [str(source) for source in sources if source.suffix == ".cpp"]
        command += ["-x", "none", "-o", str(made), f"-L{native}", "-lphicoll-preload", f"-Wl,-rpath,{native}"]
        command += ["-Wl,-z,nodelete", "-Wl,-z,defs", "-ldl"]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=BUILD_TIMEOUT_S,
            env={**os.environ, **mpi.environment},
        )
        if done.returncode != 0:
            lines = done.stderr.splitlines()
            first = next((line for line in lines if "error" in line.lower()), "".join(lines[-1:]))
            raise ResourceError(f"{mpi.mpicc} cannot compile the library for {mpi.version}: {first.strip()}")
        with made.open("rb") as file:
            os.fsync(file.fileno())  # so that no loss of power leaves a library that is cut short
        made.replace(library)
    return library


def compiler_version(mpi: Mpi) -> str:
    words = shlex.split(mpi.shown)
    compiler = shutil.which(words[0]) if words else None
    if compiler is None:
        return ""
    facts = Path(compiler).resolve().stat()
    return f"{compiler} {facts.st_size} {facts.st_mtime_ns}"


def loads(program: Path) -> bool:
    """Whether a program names a function that loads libraries or starts programs."""
    content = program.read_bytes()
    return any(name in content for name in LOADING)


def run(command: Sequence[str], *, mpicc: str | None = None, report: bool = False) -> int:
    """Become ``command``, an MPI's launcher, with the library preloaded under the ranks.

    If that is impossible, a line on stderr says why, and the command runs as it is.

    Raises
    ------
    ArgumentError
        There is no command, or no such program.
    """

    def prepared(environment: dict[str, str]) -> dict[str, str]:
        programs = preloadable_programs(command[1:] or command)
        needed = needed_libraries(programs)
        abi = any(re.match(ABI_LIBRARY, name) for name in needed)
        library = build(find_mpi(mpicc, command[0], abi=abi))
        if (
            needed
            and all(re.match(PLAIN_LIBRARIES, name) for name in needed)
            and not any(map(loads, programs))
        ):
            raise ResourceError(f"{programs[-1]} uses no MPI")
        environment = with_preload(environment, library)
        return {**environment, "PHICOLL_MPI_REPORT": "1"} if report else environment

    return become("mpi", command, "an MPI's launcher and its arguments: mpiexec -n 2 ./program", prepared)
