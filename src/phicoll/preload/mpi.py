"""The library that runs an MPI program's collectives in phicoll: building it, and running programs with it."""

from __future__ import annotations

import os
import re
import shlex
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from phicoll.errors import ArgumentError, ResourceError
from phicoll.foundations.own_files import foreign_reason, make_own_folder
from phicoll.foundations.programs import environment_before_python, finished, on_path
from phicoll.preload.building import BUILD_TIMEOUT_S, built, cache_folder, hashed
from phicoll.preload.programs import (
    native_folder,
    needed_libraries,
    preloadable_programs,
    ready,
    with_preload,
)

__all__ = ["Mpi", "build", "find_mpi", "launcher_kind", "only_watched", "preloaded", "served"]

#: What a program for MPI-5's ABI is linked with, whichever MPI it runs under, and the end of its compiler's name.
ABI_LIBRARY = r"libmpi_abi\.so"
ABI_SUFFIX = "_abi"
#: A program that is linked with these alone is no MPI program, unless it loads libraries or starts programs.
PLAIN_LIBRARIES = r"(linux-vdso|libc|libm|libpthread|libgcc_s|libstdc\+\+|libgomp|/.*/ld-linux.*)\.so"
LOADING = (b"dlopen", b"exec", b"spawn")
FLAGS = ("-std=c++14", "-O2", "-fPIC", "-shared", "-fno-exceptions", "-fno-rtti", "-fvisibility=default")
#: A small call takes a few hundred instructions: it spends none on finding thread-local variables or functions.
FLAGS += ("-ftls-model=initial-exec", "-fno-semantic-interposition", "-Wl,-Bsymbolic-functions")


#: What an mpicc may look at before it says which compiler it calls. With PATH, as it may name the compiler alone.
SETTINGS = re.compile(r"PATH|CC|CXX|MPICC|(I_MPI|MPICH|OMPI|OPAL|PRTE|PMIX)_\w+")
#: The launchers that are known to give their ranks a variable by an option: their own names, and a program that the
#: kind alone has, by which `mpiexec` and `mpirun` beside it are known.
LAUNCHERS = {
    "hydra": (("mpiexec.hydra", "mpiexec.mpich", "mpirun.mpich"), "hydra_pmi_proxy"),
    "openmpi": (("orterun", "prterun", "mpiexec.openmpi", "mpirun.openmpi"), "ompi_info"),
}
COMMON_NAMES = ("mpiexec", "mpirun")
#: What may end an option's scope: a further program, and files with options.
SCOPES = (":", "-configfile", "--configfile", "-app", "--app")
#: Open MPI refuses it beside -x.
VARIABLES_OF_OPEN_MPI = "mca_base_env_list"


class Mpi(NamedTuple):
    """An MPI that programs can be compiled for."""

    mpicc: Path
    shown: str  # mpicc's own command
    version: str  # "mpich-5.0.2", "abi-1.0"
    stamp: str  # changes with the installation


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
    near = named[: 0 if mpicc else len(neighbours(beside))]
    foreign = {path: why for path in near if (why := foreign_compiler(path, beside))}
    found = next((at for place in named if place not in foreign and (at := on_path(place))), None)
    if found is None:
        where = mpicc or "none beside the launcher, in MPICC or on the PATH"
        raise ResourceError("; ".join([f"no mpicc{suffix}: {where}", *foreign.values()]))
    path = Path(found).absolute()
    shown = shown_by(path)
    folders = [Path(word[2:]) for word in shlex.split(shown) if word.startswith("-I")]
    names = ["mpi_abi.h", "mpi.h"] if path.name.endswith(ABI_SUFFIX) else ["mpi.h"]
    headers = [folder / name for folder in [*folders, path.parent.parent / "include"] for name in names]
    header = next((header for header in headers if header.is_file()), None)
    if header is None:
        raise ResourceError(f"{path} has no mpi.h beside it: the MPI was installed without its headers")
    text = header.read_text(errors="replace")
    facts = header.stat()
    return Mpi(path, shown, version_in(text), f"{header} {facts.st_size} {facts.st_mtime_ns}")


def moved(mpicc: Path) -> dict[str, str]:
    """Environment variables by which mpicc finds an MPI that was moved, as by pip."""
    root = str(mpicc.parent.parent)
    return {"OPAL_PREFIX": root, "I_MPI_ROOT": root}


def shown_by(mpicc: Path) -> str:
    """The compiler's command that ``mpicc`` shows.

    Kept in the cache, as some wrappers take tens of ms to say it, until the wrapper or a variable that it may look at
    changes.
    """
    facts = mpicc.stat()
    settings = [f"{k}={v}" for k, v in sorted(os.environ.items()) if SETTINGS.fullmatch(k)]
    key = hashed(str(mpicc), str(mpicc.resolve()), str(facts.st_size), str(facts.st_mtime_ns), *settings)
    kept = cache_folder() / f"mpicc-{key}.txt"
    own = not foreign_reason(str(kept))  # build() says so in words
    with suppress(OSError, ValueError):
        if own and (text := kept.read_text()).endswith("\n"):  # whole
            return text.strip()
    shown = finished([mpicc, "-show"], BUILD_TIMEOUT_S, {**os.environ, **moved(mpicc)}).stdout.strip()
    if shown and own:
        with suppress(OSError):
            make_own_folder(str(kept.parent))
            part = kept.with_suffix(f".{os.getpid()}")
            part.write_text(f"{shown}\n")
            part.replace(kept)
    return shown


def neighbours(program: str | None) -> list[str]:
    """The mpicc beside a launcher, and beside each file that it is a link to.

    Where an installation has several MPIs their names end alike: ``mpirun`` is a link to ``mpirun.openmpi``, beside
    which is ``mpicc.openmpi``. Such an ending says more than the place.
    """
    found = on_path(program) if program else None
    links: list[Path] = []
    while found and Path(found) not in links:
        links.append(Path(found))
        found = str(links[-1].parent / links[-1].readlink()) if links[-1].is_symlink() else None
    endings = [path.parent / f"mpicc{path.suffix}" for path in links if path.suffix]
    return [str(path) for path in [*endings, *(path.parent / "mpicc" for path in links)]]


def foreign_compiler(path: str, program: str | None) -> str:
    """Why a compiler beside a program is not run: somebody else may have put it there. Empty if it may be.

    The caller runs the program in any case, so that what its owner puts beside it is no new risk.
    """
    launcher = on_path(program) if program else None
    trusted = {0, os.geteuid()} | ({Path(launcher).stat().st_uid} if launcher else set())
    try:
        facts = [Path(path).lstat(), Path(path).stat()]
    except OSError:
        return ""  # it is not found either
    if owner := next((f"user {one.st_uid}" for one in facts if one.st_uid not in trusted), ""):
        return f"{path} is not run, as it belongs to {owner}: name the MPI's own by --mpicc"
    if facts[1].st_mode & stat.S_IWOTH:
        return f"{path} is not run, as everybody may write it: name the MPI's own by --mpicc"
    return ""


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


def build(mpi: Mpi) -> Path:
    """The library for an MPI: from the user's cache, or compiled by its ``mpicc``.

    Raises
    ------
    ResourceError
        It does not compile; the message has the compiler's first error.
    """
    native = Path(native_folder())
    folder = native / "phicoll" / "preload"
    sources = sorted((folder / "mpi").glob("*"))
    key = (str(mpi.mpicc), mpi.shown, mpi.stamp, compiler_version(mpi))
    return built(
        "mpi",
        mpi.version,
        [*sources, *sorted(folder.glob("*.hpp"))],
        key,
        [str(mpi.mpicc), "-x", "c++", *FLAGS],
        moved(mpi.mpicc),
        ["-Wl,-z,defs"],
    )


def compiler_version(mpi: Mpi) -> str:
    words = shlex.split(mpi.shown)
    compiler = on_path(words[0]) if words else None
    if compiler is None:
        return ""
    facts = Path(compiler).resolve().stat()
    return f"{compiler} {facts.st_size} {facts.st_mtime_ns}"


def loads(program: str) -> bool:
    """Whether a program names a function that loads libraries or starts programs."""
    content = Path(program).read_bytes()
    return any(name in content for name in LOADING)


def launcher_kind(launcher: str) -> str | None:
    """Which of the launchers that are known it is, or None."""
    path = Path(on_path(launcher) or launcher).resolve()
    kinds = [
        kind
        for kind, (names, beside) in LAUNCHERS.items()
        if path.name in names or (path.name in COMMON_NAMES and (path.parent / beside).exists())
    ]
    return kinds[0] if len(kinds) == 1 else None


def for_ranks(command: Sequence[str], variable: str, value: str) -> list[str] | None:
    """The launcher's command that gives a variable to the ranks alone, or None where that is not known.

    In the launcher's own processes the MPI that the library needs would be loaded for nothing, some 45 ms each.
    """
    words = list(command)
    given = (variable, VARIABLES_OF_OPEN_MPI)
    if any(word in SCOPES or any(name in word for name in given) for word in words[1:]):
        return None
    kind = launcher_kind(words[0])
    if kind == "hydra":
        return [words[0], "-genv", variable, value, *words[1:]]
    if kind == "openmpi" and f"OMPI_MCA_{VARIABLES_OF_OPEN_MPI}" not in os.environ:
        return [words[0], "-x", f"{variable}={value}", *words[1:]]
    return None


def served(command: Sequence[str], *, mpicc: str | None = None) -> tuple[Sequence[str], dict[str, str]]:
    """The words and the environment that run ``command``, an MPI's launcher, with the library under the ranks.

    If that is impossible, a line on stderr says why, and the command runs as it is.

    Raises
    ------
    ArgumentError
        There is no command, or no such program.
    """
    example = "an MPI's launcher and its arguments: mpiexec -n 2 ./program"
    return ready("mpi", command, example, lambda environment: preloaded(command, environment, mpicc))


def preloaded(
    command: Sequence[str], environment: dict[str, str], mpicc: str | None = None
) -> tuple[Sequence[str], dict[str, str]]:
    """The words and the environment that run ``command`` with the library under its ranks, made from ``environment``.

    Raises
    ------
    ResourceError
        That is impossible.
    """
    programs = preloadable_programs(command[1:] or command)
    needed = needed_libraries(programs)
    abi = any(re.match(ABI_LIBRARY, name) for name in needed)
    library = build(find_mpi(mpicc, command[0], abi=abi))
    if needed and all(re.match(PLAIN_LIBRARIES, name) for name in needed) and not any(map(loads, programs)):
        raise ResourceError(f"{programs[-1]} uses no MPI")
    with_library = with_preload(environment, library)
    if words := for_ranks(command, "LD_PRELOAD", with_library["LD_PRELOAD"]):
        return words, environment
    return command, with_library


def only_watched(command: Sequence[str]) -> tuple[Sequence[str], dict[str, str]]:
    """The same as :func:`preloaded`, with all collectives in the MPI: for a profile of them.

    Raises
    ------
    ArgumentError
        There is no such program.
    ResourceError
        Nothing can be preloaded under it.
    """
    if on_path(command[0]) is None:
        raise ArgumentError("command", repr(command[0]), "a program on the PATH, or its path")
    return preloaded(command, {**environment_before_python(), "PHICOLL_MPI_ONLY": "1"})
