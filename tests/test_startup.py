"""What starting takes: modules are imported where they are used, as each takes time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from phicoll.cli import plainly
from phicoll.cli.commands import parser

HEAVY = {
    "pandas", "pyarrow", "matplotlib", "scipy", "xarray", "numpy", "msgspec", "cloudpickle", "json", "inspect",
    "dataclasses", "ctypes", "concurrent", "tempfile", "subprocess", "html",
}  # fmt: skip


def modules_of(code: str) -> set[str]:
    """The modules that a program has imported at its end."""
    at_end = "import sys, atexit; atexit.register(lambda: print(*sorted(sys.modules)));"
    done = subprocess.run([sys.executable, "-c", at_end + code], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def imported_by(code: str) -> set[str]:
    """The same without what is in packages."""
    return {name.partition(".")[0] for name in modules_of(code)}


@pytest.mark.parametrize(
    "code",
    [
        "import phicoll",
        "import phicoll.cli",
        "sys.argv[1:] = ['--help']; from phicoll.cli import main; main()",
    ],
)
def test_importing_and_help_load_what_they_need_alone(code):
    assert not imported_by(code) & (HEAVY - imported_by("pass"))


def test_a_command_imports_its_own_module_alone():
    code = "sys.argv[1:] = ['list', '--help']; from phicoll.cli import main; main()"
    assert not imported_by(code) & {"pandas", "pyarrow", "matplotlib", "scipy", "xarray"}


#: Has `phicoll` end where it would become the program.
COMMAND = (
    "import os; os.execve = lambda *_: sys.exit(); from phicoll.cli import main; sys.argv[1:] = {}; main()"
)


@pytest.mark.parametrize("kind", ["omp", "pthread"])
def test_a_program_is_preloaded_by_no_more_than_it_takes(kind: str) -> None:
    found = modules_of(COMMAND.format([kind, "--", "true"])) - modules_of("pass")
    assert "phicoll.preload.threads" in found
    own = {name for name in found if name.partition(".")[0] == "phicoll"}
    assert not own & {"phicoll._core", "phicoll.cli.commands", "phicoll.registry", "phicoll.measuring"}
    assert found - own <= {"__future__", "warnings", "struct", "_struct", "errno"}


def test_pip_s_script_would_import_more_than_the_command() -> None:
    words = (Path(sys.executable).parent / "phicoll").read_text()
    assert {line for line in words.splitlines() if "import" in line} == {
        "import sys",
        "from phicoll.cli import main",
    }


@pytest.mark.parametrize(
    ("words", "plain"),
    [
        ("omp -- a --report", (["a", "--report"], {})),
        ("pthread a -- b", (["a", "--", "b"], {})),
        ("mpi --mpicc /m -- mpiexec a", (["mpiexec", "a"], {"mpicc": "/m"})),
        ("omp -- -- a", (["--", "a"], {})),
        # For argparse, which knows what to say.
        ("omp --report -- a", None),
        ("omp", None),
        ("omp --", None),
        ("omp --rep -- a", None),
        ("omp -h a", None),
        ("omp --barrier auto -- a", None),
        ("mpi --mpicc -- a", None),
        ("mpi --mpicc", None),
        ("mpi --build", None),
        ("run --report a", None),
        ("", None),
    ],
)
def test_plain_words_are_read_without_argparse_and_as_by_it(words: str, plain: object) -> None:
    assert plainly(words.split()) == plain
    if plain:
        arguments = parser().parse_args(words.split())
        given = getattr(arguments, "program", None) or arguments.launcher
        assert (given[given[:1] == ["--"] :], arguments.report) == (plain[0], False)
        assert getattr(arguments, "mpicc", None) == plain[1].get("mpicc")


def test_an_mpi_program_is_preloaded_without_the_core(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    used = modules_of(COMMAND.format(["mpi", "--mpicc", "/no/mpicc", "--", "true"]))
    assert "phicoll.preload.mpi" in used
    assert not used & {
        "argparse",
        "shutil",
        "numpy",
        "msgspec",
        "phicoll._core",
        "phicoll.registry",
        "phicoll.measuring",
    }


def test_importing_loads_the_core_once_it_is_used() -> None:
    assert "phicoll._core" not in modules_of("import phicoll")
    assert "phicoll._core" in modules_of("import phicoll; phicoll.__version__")


def test_collectives_load_no_extra():
    code = "import phicoll; phicoll.COMM_WORLD.allreduce(1)"
    assert not imported_by(code) & {"pandas", "pyarrow", "matplotlib", "scipy", "xarray", "msgspec"}
