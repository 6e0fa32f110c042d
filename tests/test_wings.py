"""The library's wing alone, as ``PHICOLL_LABORATORY=OFF pip install .`` installs it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import phicoll
from phicoll.foundations.laboratory import PARTS

ROOT = Path(__file__).resolve().parent.parent

USED = """
import sys
import phicoll
from phicoll import *
import phicoll.MPI, phicoll.launch, phicoll.preload.mpi, phicoll.preload.threads, phicoll.scripts, phicoll.shmem

def total(comm):
    return comm.allreduce(comm.rank + 1, op=SUM)

assert phicoll.run(total, ranks=2, mode="threads") == [3, 3]
assert "measure" not in phicoll.__all__ and "run" in phicoll.__all__
for name in ("measure", "models", "algorithms"):
    try:
        getattr(phicoll, name)
    except ImportError as error:
        print(error)
"""


@pytest.fixture
def library(tmp_path):
    """A Python command with a package that is without the laboratory's part."""
    package = tmp_path / "phicoll"
    package.mkdir()
    for path in Path(phicoll.__file__).parent.iterdir():
        if path.stem not in PARTS and path.name != "__pycache__":
            (package / path.name).symlink_to(path)

    def python(*words):
        return subprocess.run(
            [sys.executable, *words], capture_output=True, text=True, check=False, timeout=60,
            env={**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONSAFEPATH": "1"},
        )  # fmt: skip

    return python


def test_the_library_works_without_the_laboratory(library):
    done = library("-c", USED)
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == [
        f"phicoll.{name} is of phicoll's laboratory, which this installation is without"
        for name in ("measure", "models", "algorithms")
    ]


@pytest.mark.parametrize("words", [("run", "barrier"), ("demo",), ("barrier",), ("help", "tune")])
def test_commands_of_the_laboratory_say_what_is_missing(library, words):
    done = library("-m", "phicoll", *words)
    assert done.returncode == 1
    assert "is of phicoll's laboratory" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("words", [("launch", "-n", "2", "-c", "pass"), ("omp", "--", "true"), ("--help",)])
def test_commands_of_the_library_are_there(library, words):
    done = library("-m", "phicoll", *words)
    assert done.returncode == 0, done.stderr


def test_cmake_builds_the_library_alone(tmp_path):
    cmake = shutil.which("cmake")
    if cmake is None or shutil.which("ninja") is None:
        pytest.skip("needs cmake and ninja")
    options = [
        "-DPHICOLL_LABORATORY=OFF",
        "-DPHICOLL_BUILD_PYTHON=ON",
        f"-DPython_EXECUTABLE={sys.executable}",
    ]
    subprocess.run(
        [cmake, "-G", "Ninja", "-S", ROOT, "-B", tmp_path, *options], check=True, capture_output=True
    )
    sources = [one["file"] for one in json.loads((tmp_path / "compile_commands.json").read_text())]
    unity = [
        text for source in sources if "/Unity/" in source for text in Path(source).read_text().splitlines()
    ]
    compiled = "\n".join([*sources, *unity])
    for folder in ("group", "preload", "shmem", "bindings"):
        assert f"/{folder}/" in compiled
    for folder in ("phicoll/kernels", "phicoll/measure", "phicoll/sim", "cpp/bench", "bindings/laboratory"):
        assert f"/{folder}/" not in compiled
