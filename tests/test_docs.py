"""The code in the documentation compiles, as the library is compiled."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

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
