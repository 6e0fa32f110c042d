"""What starting takes: modules are imported where they are used, as each takes time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from phicoll.cli import plainly
from phicoll.cli.commands import parser
from phicoll.preload.programs import linked_with

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


def test_an_mpi_program_is_preloaded_by_no_more_than_it_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second time: the library is there, and what its compiler shows is known."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "mpi.h").write_text('#define MPICH_VERSION "9"\n')
    script = f"""#!/bin/sh
[ "$1" = -show ] && echo cc -I{tmp_path} && exit 0
while [ "$1" != -o ]; do shift; done
exec cc -shared -x c /dev/null -o "$2"
"""
    (tmp_path / "mpicc").write_text(script)
    (tmp_path / "mpicc").chmod(0o755)
    for library in ("mpi", "plain"):
        words = ["cc", "-shared", "-x", "c", "/dev/null", "-o", tmp_path / f"lib{library}.so"]
        subprocess.run(words, check=True)
    program = tmp_path / "program"
    (tmp_path / "main.c").write_text("int main(void) { return 0; }")
    needs = ["-Wl,--no-as-needed", f"-L{tmp_path}", "-lplain", "-lmpi", f"-Wl,-rpath,{tmp_path}"]
    subprocess.run(["cc", tmp_path / "main.c", *needs, "-o", program], check=True)
    assert linked_with(str(program))[:2] == ["libplain.so", "libmpi.so"]
    code = COMMAND.format(["mpi", "--mpicc", f"{tmp_path}/mpicc", "--", str(program)])
    assert "subprocess" in modules_of(code)
    found = modules_of(code) - modules_of("pass")
    own = {name for name in found if name.partition(".")[0] == "phicoll"}
    assert "phicoll.preload.mpi" in own
    assert not own & {"phicoll._core", "phicoll.cli.commands", "phicoll.registry", "phicoll.measuring"}
    assert found - own <= {"__future__", "warnings", "struct", "_struct", "errno", "_blake2"}


def test_importing_loads_the_core_once_it_is_used() -> None:
    assert "phicoll._core" not in modules_of("import phicoll")
    assert "phicoll._core" in modules_of("import phicoll; phicoll.__version__")


def test_collectives_load_no_extra():
    code = "import phicoll; phicoll.COMM_WORLD.allreduce(1)"
    assert not imported_by(code) & {"pandas", "pyarrow", "matplotlib", "scipy", "xarray", "msgspec"}
