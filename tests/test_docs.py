"""The code in the documentation compiles, as the library is compiled, and runs; the table of algorithms is the registry."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import phicoll
from phicoll.registry import OPERATIONS

ROOT = Path(__file__).resolve().parent.parent

# What a family's registry line does with the example: both ports, the description, the footprint.
USE = """
#include "phicoll/collectives/barrier/make.hpp"
#include "phicoll/memory/native_port.hpp"
#include "example.hpp"

namespace phicoll {
using Example = BarrierOf<MyBarrier, NativePort>;
AnyBarrier<NativePort>* example(const Setup& setup) {
  MyBarrier::Parameters parameters;
  ParameterParser parser(MyBarrier::facts().name, ParameterValues{});
  MyBarrier::describe(parser, parameters);
  MyBarrier::limit(parameters, setup.shape);
  if (MyBarrier::refuse(parameters) != nullptr || MyBarrier::footprint(parameters, setup.shape) == 0) return nullptr;
  return new Example(parameters, setup);
}
}  // namespace phicoll
"""


def code_blocks(page: str, language: str) -> list[str]:
    """The fenced blocks of a page, without the indentation that a list gives them."""
    text = (ROOT / "docs" / page).read_text()
    blocks = re.findall(rf"^( *)```{language}\n(.*?)^\1```", text, re.DOTALL | re.MULTILINE)
    return [re.sub(rf"^{indent}", "", block, flags=re.MULTILINE) for indent, block in blocks]


def test_the_example_of_an_algorithm_compiles(tmp_path: Path) -> None:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("needs g++")
    (example,) = code_blocks("adding-an-algorithm.md", "cpp")
    (tmp_path / "example.hpp").write_text(example)
    (tmp_path / "use.cpp").write_text(USE)
    command = [
        compiler,
        "-std=c++14",
        "-pedantic-errors",
        "-Wall",
        "-Wextra",
        "-Wconversion",
        "-Wshadow",
        "-Werror",
    ]
    command += ["-fsyntax-only", "-I", ROOT / "src" / "cpp", "-I", tmp_path, tmp_path / "use.cpp"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def algorithm_tables() -> str:
    """The entries of docs/collectives.md on algorithms that move data."""
    lines: list[str] = []
    for operation in OPERATIONS:
        if operation == "barrier":
            continue
        lines += ["", f"### {operation}", "", "| algorithm | source | what it does |", "|---|---|---|"]
        lines += [
            f"| `{algorithm.name}` | {algorithm.source} | {algorithm.summary} |"
            for algorithm in phicoll.algorithms(operation)
            if algorithm.name != "auto" and algorithm.origin != "reference"
        ]
    return "\n".join(lines) + "\n\n"


def test_the_table_of_data_algorithms_is_the_registry() -> None:
    page = ROOT / "docs" / "collectives.md"
    text = page.read_text()
    head, rest = re.split(r"(?<=writes it -->\n)", text, maxsplit=1)
    _, end = rest.split("<!-- end of algorithms -->", 1)
    wanted = head + algorithm_tables() + "<!-- end of algorithms -->" + end
    if os.environ.get("PHICOLL_UPDATE_DOCS"):
        page.write_text(wanted)
    assert page.read_text() == wanted, "run: PHICOLL_UPDATE_DOCS=1 pytest tests/test_docs.py"


def readme_block(language: str) -> str:
    (code,) = re.findall(
        rf"^```{language}\n(.*?)^```", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE
    )
    return str(code)


def test_the_readme_s_python_runs(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(readme_block("python"))
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("6.0") == 4
    assert done.stdout.count("rank 3") == 4


def test_the_readme_s_cpp_compiles(tmp_path: Path) -> None:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("needs g++")
    (tmp_path / "program.cpp").write_text(readme_block("cpp"))
    command = [compiler, "-std=c++14", "-pedantic-errors", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
    command += ["-I", ROOT / "src" / "cpp", tmp_path / "program.cpp"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
