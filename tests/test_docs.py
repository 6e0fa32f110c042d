"""The code in the documentation compiles, as the library is compiled, and runs; the table of algorithms is the registry."""

import argparse
import inspect
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import phicoll
from phicoll import bench
from phicoll.cli import parser
from phicoll.measuring.options import OPTIONS, Option, Use
from phicoll.registry import OPERATIONS

ROOT = Path(__file__).resolve().parent.parent

# What a family's registry line does with the example: both ports, the description, the footprint.
USE = """
#include "phicoll/collectives/registry/entries.hpp"
#include "phicoll/collectives/registry/make_from.hpp"
#include "phicoll/memory/native_port.hpp"
#include "example.hpp"

namespace phicoll {
std::vector<Family::Entry> example_entries() {
  return entries::of(Operation::barrier, AlgorithmList<MyBarrier>{});
}
std::unique_ptr<AnyCollective<NativePort>> example(const AlgorithmSpec& spec, const Setup& setup) {
  return make_from<NativePort>(AlgorithmList<MyBarrier>{}, spec, setup);
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


def option_table() -> str:
    """What docs/cli.md says of the options of a sweep."""

    def shown(use: Use | None) -> str:
        return "-" if use is None else f"`{use.value}`" if use.value else use.default

    def names(option: Option) -> str:
        return f"`-{option.letter}`, `--{option.name}`" if option.letter else f"`--{option.name}`"

    lines = ["", "| option | in Python | default | simulated | meaning |", "|---|---|---|---|---|"]
    lines += [
        f"| {names(option)} | `{argument}` | {shown(option.native)} | {shown(option.simulated)} | {option.help} |"
        for argument, option in OPTIONS.items()
    ]
    return "\n".join(lines) + "\n\n"


def test_the_table_of_options_is_the_core_s() -> None:
    page = ROOT / "docs" / "cli.md"
    head, rest = re.split(r"(?<=writes the options -->\n)", page.read_text(), maxsplit=1)
    wanted = head + option_table() + "<!-- end of options -->" + rest.split("<!-- end of options -->", 1)[1]
    if os.environ.get("PHICOLL_UPDATE_DOCS"):
        page.write_text(wanted)
    assert page.read_text() == wanted, "run: PHICOLL_UPDATE_DOCS=1 pytest tests/test_docs.py"


def test_python_argparse_and_phicoll_bench_have_the_options_of_the_table() -> None:
    arguments = inspect.signature(phicoll.sweep).parameters
    own = {"operation", "executor", "progress", "on_interrupt"}
    assert set(arguments) - own == set(OPTIONS)
    assert {arguments[name].default for name in OPTIONS} <= {None, False}  # the defaults are the table's
    assert phicoll.sweep.__doc__ is not None
    for argument, option in OPTIONS.items():
        assert f"    {argument}:\n" in phicoll.sweep.__doc__
        assert option.default in re.sub(r"\s+", " ", phicoll.sweep.__doc__)

    commands = next(a for a in parser()._actions if isinstance(a, argparse._SubParsersAction))
    actions = {a.dest: a for a in commands.choices["run"]._actions}
    assert set(actions) == {*OPTIONS, "help", "operation", "progress", "json"}
    for argument, option in OPTIONS.items():
        assert f"--{option.name}" in actions[argument].option_strings
        assert actions[argument].default in (None, False)
        assert option.default in str(actions[argument].help).replace("%%", "%")

    rows = phicoll._core.sweep_options()
    done = subprocess.run([bench.find(), "run", "--help"], capture_output=True, text=True, check=True)
    assert set(re.findall(r"^  (?:-\w, )?--([\w-]+)", done.stdout, re.MULTILINE)) == {r["name"] for r in rows}
    said = re.sub(r"\s+", " ", done.stdout)
    for row in rows:
        assert re.sub(r"\s+", " ", row["help"]) in said
        for use in (row["native"], row["simulated"]):
            assert use is None or use["default"] in said


@pytest.mark.parametrize("page", ["measuring.md", "measuring-collectives.md"])
def test_the_pages_on_measuring_name_options_that_there_are(page: str) -> None:
    text = (ROOT / "docs" / page).read_text().split("## Beside MPI")[0]
    named = set(re.findall(r"(?<![\w-])--([a-z][a-z0-9-]+)", text))
    assert named <= {row["name"] for row in phicoll._core.sweep_options()}
