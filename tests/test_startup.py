"""What starting takes: modules are imported where they are used, as each takes time."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {
    "pandas", "pyarrow", "matplotlib", "scipy", "xarray", "numpy", "msgspec", "cloudpickle", "json", "inspect",
    "dataclasses", "ctypes", "concurrent", "tempfile", "subprocess", "html",
}  # fmt: skip


def imported_by(code: str) -> set[str]:
    """The packages and modules, without what is in them, that a program has imported at its end."""
    at_end = "import sys, atexit; atexit.register(lambda: print(*sorted(sys.modules)));"
    done = subprocess.run([sys.executable, "-c", at_end + code], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in done.stdout.splitlines()[-1].split()}


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


def test_collectives_load_no_extra():
    code = "import phicoll; phicoll.COMM_WORLD.allreduce(1)"
    assert not imported_by(code) & {"pandas", "pyarrow", "matplotlib", "scipy", "xarray", "msgspec"}
