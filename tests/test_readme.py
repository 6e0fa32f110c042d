"""The README: its programs run and print what it says, and its commands work as a user's shell runs them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
#: The fenced blocks in their order: language and text.
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE)

#: Blocks that set up, build or test phicoll itself.
OF_THE_CLONE = ("make ", "pip install ", "source ")
#: What takes minutes in a command, or fails where a machine is busy, and what stands for it here.
INSTEAD = {
    "8..232:8": "8,16",
    "--budget 180": "--budget 5",
    "pytest benchmarks/ --phicoll-ranks 2 --phicoll-baseline": "pytest --collect-only benchmarks/ --phicoll-baseline",
}


def blocks(language: str) -> list[str]:
    return [text for found, text in BLOCKS if found == language]


COMMANDS = [text for text in blocks("sh") if not text.startswith(OF_THE_CLONE)]


def run_python(text: str, folder: Path) -> str:
    (folder / "program.py").write_text(text)
    command = [sys.executable, "program.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_first_program_prints_what_is_said(tmp_path: Path) -> None:
    assert run_python(blocks("python")[0], tmp_path) == blocks("text")[0]


def test_the_sweep_runs(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    (text,) = blocks("python")[1:]
    printed = run_python(text, tmp_path)
    assert "allreduce, 2 threads" in printed
    assert "hybrid-dissemination" in printed


@pytest.mark.parametrize("text", COMMANDS, ids=[text.split(" -")[0] for text in COMMANDS])
def test_commands_run(text: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    (tmp_path / "benchmarks").symlink_to(ROOT / "benchmarks")
    for written, run in INSTEAD.items():
        text = text.replace(written, run)
    done = subprocess.run(
        ["bash", "-euc", text],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},  # as activated
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr
    if "-o r.jsonl" in text:  # the first result: its table is of today's form
        title, heads, *rows = blocks("text")[1].splitlines()
        assert title in done.stdout
        assert heads.split() in [line.split() for line in done.stdout.splitlines()]
        assert {row.split()[0] for row in rows} <= {
            line.split()[0] for line in done.stdout.splitlines() if line
        }
    for figure in re.findall(r"--figure (\S+)", text):
        assert (tmp_path / figure).stat().st_size > 1000


def test_the_cpp_compiles(tmp_path: Path) -> None:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("needs g++")
    (text,) = blocks("cpp")
    (tmp_path / "program.cpp").write_text(text)
    command = [compiler, "-std=c++14", "-pedantic-errors", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
    command += ["-I", ROOT / "src" / "cpp", tmp_path / "program.cpp"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
