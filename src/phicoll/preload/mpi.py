"""The library that runs an MPI program's collectives in phicoll: building it, and running programs with it.

`phicoll mpi` is to start soon: imports at the top are of modules that load in no time.
"""

from __future__ import annotations

import os
import stat
from os.path import basename, dirname, realpath

from phicoll.errors import ArgumentError, ResourceError
from phicoll.foundations.own_files import foreign_reason, make_own_folder
from phicoll.foundations.programs import environment_before_python, finished, on_path
from phicoll.preload.building import BUILD_TIMEOUT_S, built, cache_folder, hashed, text_of
from phicoll.preload.programs import (
    linked_with,
    native_folder,
    needed_libraries,
    preloadable_programs,
    ready,
    with_preload,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Mpi", "build", "find_mpi", "launcher_kind", "only_watched", "preloaded", "served"]

#: What a program for MPI-5's ABI is linked with, whichever MPI it runs under, and the end of its compiler's name.
ABI_LIBRARY = "libmpi_abi.so"
ABI_SUFFIX = "_abi"
#: What a program is linked with that is known for one of an MPI without its further libraries.
MPI_LIBRARIES = ("libmpi.so", "libmpich.so", ABI_LIBRARY)
#: A program that is linked with these alone is no MPI program, unless it loads libraries or starts programs.
PLAIN_LIBRARIES = (
    "linux-vdso.so", "libc.so", "libm.so", "libpthread.so", "libgcc_s.so", "libstdc++.so", "libgomp.so", "ld-linux",
)  # fmt: skip
LOADING = (b"dlopen", b"exec", b"spawn")
FLAGS = ("-std=c++14", "-O2", "-fPIC", "-shared", "-fno-exceptions", "-fno-rtti", "-fvisibility=default")
#: A small call takes a few hundred instructions: it spends none on finding thread-local variables or functions.
FLAGS += ("-ftls-model=initial-exec", "-fno-semantic-interposition", "-Wl,-Bsymbolic-functions")


#: What an mpicc may look at before it says which compiler it calls. With PATH, as it may name the compiler alone.
SETTINGS = ("PATH", "CC", "CXX", "MPICC")
SETTINGS_BEGIN = ("I_MPI_", "MPICH_", "OMPI_", "OPAL_", "PRTE_", "PMIX_")
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


class Mpi:
    """An MPI that programs can be compiled for."""

    def __init__(self, mpicc: str, shown: str, version: str, stamp: str) -> None:
        self.mpicc = mpicc
        self.shown = shown  # mpicc's own command
        self.version = version  # "mpich-5.0.2", "abi-1.0"
        self.stamp = stamp  # changes with the installation


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
    path = os.path.join(os.getcwd(), found)
    shown = shown_by(path)
    folders = [word[2:] for word in words_of(shown) if word.startswith("-I")]
    names = ["mpi_abi.h", "mpi.h"] if path.endswith(ABI_SUFFIX) else ["mpi.h"]
    folders.append(f"{dirname(dirname(path))}/include")
    headers = [f"{folder}/{name}" for folder in folders for name in names]
    header = next(filter(os.path.isfile, headers), None)
    if header is None:
        raise ResourceError(f"{path} has no mpi.h beside it: the MPI was installed without its headers")
    facts = os.stat(header)
    stamp = f"{header} {facts.st_size} {facts.st_mtime_ns}"
    return Mpi(path, shown, version_in(text_of(header, "replace")), stamp)


def words_of(shown: str) -> list[str]:
    if not any(mark in shown for mark in "'\"\\"):
        return shown.split()
    import shlex

    return shlex.split(shown)


def moved(mpicc: str) -> dict[str, str]:
    """Environment variables by which mpicc finds an MPI that was moved, as by pip."""
    root = dirname(dirname(mpicc))
    return {"OPAL_PREFIX": root, "I_MPI_ROOT": root}


def shown_by(mpicc: str) -> str:
    """The compiler's command that ``mpicc`` shows.

    Kept in the cache, as some wrappers take tens of ms to say it, until the wrapper or a variable that it may look at
    changes.
    """
    facts = os.stat(mpicc)
    looked_at = [name for name in sorted(os.environ) if name in SETTINGS or name.startswith(SETTINGS_BEGIN)]
    settings = [f"{name}={os.environ[name]}" for name in looked_at]
    key = hashed(mpicc, realpath(mpicc), str(facts.st_size), str(facts.st_mtime_ns), *settings)
    kept = f"{cache_folder()}/mpicc-{key}.txt"
    own = not foreign_reason(kept)  # build() says so in words
    try:
        if own and (text := text_of(kept)).endswith("\n"):  # whole
            return text.strip()
    except OSError:  # not asked yet
        pass
    shown = finished([mpicc, "-show"], BUILD_TIMEOUT_S, {**os.environ, **moved(mpicc)}).stdout.strip()
    if shown and own:
        part = f"{kept.removesuffix('.txt')}.{os.getpid()}"
        try:
            make_own_folder(dirname(kept))
            with open(part, "w", encoding="utf-8", errors="surrogateescape") as file:
                file.write(f"{shown}\n")
            os.replace(part, kept)
        except OSError:  # it is asked again
            pass
    return shown


def neighbours(program: str | None) -> list[str]:
    """The mpicc beside a launcher, and beside each file that it is a link to.

    Where an installation has several MPIs their names end alike: ``mpirun`` is a link to ``mpirun.openmpi``, beside
    which is ``mpicc.openmpi``. Such an ending says more than the place.
    """
    found = on_path(program) if program else None
    links: list[str] = []
    while found and found not in links:
        links.append(found)
        found = os.path.join(dirname(found), os.readlink(found)) if os.path.islink(found) else None
    endings = [f"{dirname(link)}/mpicc{os.path.splitext(link)[1]}" for link in links]
    plain = [f"{dirname(link)}/mpicc" for link in links]
    return [*(one for one in endings if one not in plain), *plain]


def foreign_compiler(path: str, program: str | None) -> str:
    """Why a compiler beside a program is not run: somebody else may have put it there. Empty if it may be.

    The caller runs the program in any case, so that what its owner puts beside it is no new risk.
    """
    launcher = on_path(program) if program else None
    trusted = {0, os.geteuid()} | ({os.stat(launcher).st_uid} if launcher else set())
    try:
        facts = [os.lstat(path), os.stat(path)]
    except OSError:
        return ""  # it is not found either
    if owner := next((f"user {one.st_uid}" for one in facts if one.st_uid not in trusted), ""):
        return f"{path} is not run, as it belongs to {owner}: name the MPI's own by --mpicc"
    if facts[1].st_mode & stat.S_IWOTH:
        return f"{path} is not run, as everybody may write it: name the MPI's own by --mpicc"
    return ""


def version_in(header: str) -> str:
    def macro(name: str) -> str | None:
        value = defined.get(name, "").strip('"')
        return "".join(one for one in value if one.isalnum() or one in "_.") or None

    lines = (line.strip() for line in header.splitlines() if "VERSION" in line)
    words = (line[1:].split() for line in lines if line.startswith("#"))
    defined = {two[1]: two[2] for two in words if two[0] == "define" and len(two) > 2}
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


def build(mpi: Mpi) -> str:
    """The library for an MPI: from the user's cache, or compiled by its ``mpicc``.

    Raises
    ------
    ResourceError
        It does not compile; the message has the compiler's first error.
    """
    folder = f"{native_folder()}/phicoll/preload"
    sources = [f"{folder}/mpi/{name}" for name in sorted(os.listdir(f"{folder}/mpi"))]
    headers = [f"{folder}/{name}" for name in sorted(os.listdir(folder)) if name.endswith(".hpp")]
    key = (mpi.mpicc, mpi.shown, mpi.stamp, compiler_version(mpi))
    command = [mpi.mpicc, "-x", "c++", *FLAGS]
    return built("mpi", mpi.version, [*sources, *headers], key, command, moved(mpi.mpicc), ["-Wl,-z,defs"])


def compiler_version(mpi: Mpi) -> str:
    words = words_of(mpi.shown)
    compiler = on_path(words[0]) if words else None
    if compiler is None:
        return ""
    facts = os.stat(compiler)
    return f"{compiler} {facts.st_size} {facts.st_mtime_ns}"


def loads(program: str) -> bool:
    """Whether a program names a function that loads libraries or starts programs."""
    with open(program, "rb") as file:
        content = file.read()
    return any(name in content for name in LOADING)


def launcher_kind(launcher: str) -> str | None:
    """Which of the launchers that are known it is, or None."""
    path = realpath(on_path(launcher) or launcher)
    name, folder = basename(path), dirname(path)
    kinds = [
        kind
        for kind, (names, beside) in LAUNCHERS.items()
        if name in names or (name in COMMON_NAMES and os.path.exists(f"{folder}/{beside}"))
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


def for_launcher(launcher: str, environment: dict[str, str]) -> dict[str, str]:
    """The environment of the launcher's own processes, in which MPICH's leaves a host's ranks in one session."""
    if launcher_kind(launcher) != "hydra":
        return environment
    return with_preload(environment, f"{native_folder()}/libphicoll-hydra.so")


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
    needed = {name for program in programs for name in linked_with(program)}
    if not any(name.startswith(MPI_LIBRARIES) for name in needed):
        needed = needed_libraries(programs)  # which loads them, and takes longer
    abi = any(name.startswith(ABI_LIBRARY) for name in needed)
    library = build(find_mpi(mpicc, command[0], abi=abi))
    plain = all(basename(name).startswith(PLAIN_LIBRARIES) for name in needed)
    if needed and plain and not any(map(loads, programs)):
        raise ResourceError(f"{programs[-1]} uses no MPI")
    with_library = with_preload(environment, library)
    if words := for_ranks(command, "LD_PRELOAD", with_library["LD_PRELOAD"]):
        return words, for_launcher(command[0], environment)
    return command, for_launcher(command[0], with_library)


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
