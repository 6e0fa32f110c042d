"""The code in the documentation compiles and runs, its tables are the core's, and its site has every page and public name."""

import argparse
import functools
import importlib
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phicoll
from phicoll import bench
from phicoll.cli.commands import parser
from phicoll.cli.run import KNOBS
from phicoll.measuring.options import OPTIONS, Option, Use
from phicoll.registry import OPERATIONS

ROOT = Path(__file__).resolve().parent.parent

# What a family's registry line does with the example: both ports, the description, the footprint.
USE = """
#include "phicoll/collectives/registry/entries.hpp"
#include "phicoll/collectives/registry/make_from.hpp"
#include "phicoll/ports/native_port.hpp"
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


def algorithm_entries() -> str:
    """The entries of docs/collectives.md on algorithms that move data: those without a source are phicoll's own."""
    lines: list[str] = []
    for operation in OPERATIONS:
        if operation == "barrier":
            continue
        lines += ["", f"### {operation}", ""]
        for algorithm in phicoll.algorithms(operation):
            if algorithm.name not in ("auto", "prepared") and algorithm.origin != "reference":
                source = re.sub(r" sections? ", " ", algorithm.source)
                source = "" if source == "phicoll" else f" ({source})"
                lines.append(f"- `{algorithm.name}`{source}: {algorithm.summary}")
    return "\n".join(lines) + "\n\n"


def test_the_table_of_data_algorithms_is_the_registry() -> None:
    page = ROOT / "docs" / "collectives.md"
    text = page.read_text()
    head, rest = re.split(r"(?<=writes it -->\n)", text, maxsplit=1)
    _, end = rest.split("<!-- end of algorithms -->", 1)
    wanted = head + algorithm_entries() + "<!-- end of algorithms -->" + end
    if os.environ.get("PHICOLL_UPDATE_DOCS"):
        page.write_text(wanted)
    assert page.read_text() == wanted, "run: PHICOLL_UPDATE_DOCS=1 pytest tests/test_docs.py -k table"


def option_table() -> str:
    """What docs/cli.md says of the options of a sweep."""

    def shown(*uses: Use | None) -> str:
        values = ["-" if u is None else f"`{u.value}`" if u.value else u.default or "none" for u in uses]
        return "; ".join(dict.fromkeys(values))

    def names(option: Option) -> str:
        if option.python in KNOBS:
            return f"`--set {option.name}=`"
        return f"`-{option.letter}`, `--{option.name}`" if option.letter else f"`--{option.name}`"

    lines = ["", "| option | default; simulated | meaning |", "|---|---|---|"]
    lines += [
        f"| {names(option)} | {shown(option.native, option.simulated)} | {option.help} |"
        for option in OPTIONS.values()
    ]
    others = [
        f"`{option.name}` is `{argument}`"
        for argument, option in OPTIONS.items()
        if argument != option.name.replace("-", "_")
    ]
    return "\n".join([*lines, "", f"In Python {', '.join(others)}."]) + "\n\n"


def test_the_table_of_options_is_the_core_s() -> None:
    page = ROOT / "docs" / "cli.md"
    head, rest = re.split(r"(?<=writes the options -->\n)", page.read_text(), maxsplit=1)
    wanted = head + option_table() + "<!-- end of options -->" + rest.split("<!-- end of options -->", 1)[1]
    if os.environ.get("PHICOLL_UPDATE_DOCS"):
        page.write_text(wanted)
    assert page.read_text() == wanted, "run: PHICOLL_UPDATE_DOCS=1 pytest tests/test_docs.py -k table"


def test_python_argparse_and_phicoll_bench_have_the_options_of_the_table() -> None:
    arguments = inspect.signature(phicoll.sweep).parameters
    own = {"operation", "executor", "progress", "on_interrupt"}
    assert set(arguments) - own == set(OPTIONS)
    assert {arguments[name].default for name in OPTIONS} <= {None, False}  # the defaults are the table's
    assert phicoll.sweep.__doc__ is not None
    for argument, option in OPTIONS.items():
        assert f"    {argument}:\n" in phicoll.sweep.__doc__
        assert option.default in re.sub(r"\s+", " ", phicoll.sweep.__doc__)

    commands = next(a for a in parser(whole=True)._actions if isinstance(a, argparse._SubParsersAction))
    own_actions = {a.dest: a for a in commands.choices["run"]._actions}
    knobs = {a.dest: a for a in own_actions.pop("set").knobs._actions}
    assert set(knobs) == {*KNOBS, "progress"}
    actions = own_actions | knobs
    assert set(actions) == {*OPTIONS, "help", "operation", "pairs", "call", "executor", "progress", "json"}
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
    lines = (ROOT / "docs" / page).read_text().split("## Beside MPI")[0].splitlines()
    # Benchmarks are programs with options of their own.
    text = "\n".join(line for line in lines if "benchmarks/" not in line)
    named = set(re.findall(r"(?<![\w-])--(?:set )?([a-z][a-z0-9-]+)", text))
    assert named <= {row["name"] for row in phicoll._core.sweep_options()}


DOCS = ROOT / "docs"
PAGES = {
    str(page.relative_to(DOCS).with_suffix(""))
    for suffix in ("md", "rst")
    for page in DOCS.rglob(f"*.{suffix}")
} - {"index"} | {f"notebooks/{page.stem}" for page in ROOT.glob("notebooks/*.ipynb")}


def test_every_page_is_in_the_site_s_navigation() -> None:
    entries = [
        line
        for tree in code_blocks("index.md", "{toctree}")
        for line in tree.splitlines()
        if line and not line.startswith(":")
    ]
    listed = {re.sub(r".*<(.*)>", r"\1", entry) for entry in entries}
    globs = {entry for entry in listed if "*" in entry}
    assert listed - globs <= PAGES
    assert {page for page in PAGES if any(Path(page).match(glob) for glob in globs)} | (
        listed - globs
    ) == PAGES


def documented() -> set[str]:
    """What the reference of Python describes, by the names that it gives."""
    found: set[str] = set()
    for page in (DOCS / "reference").glob("*.rst"):
        text = page.read_text()
        found |= set(re.findall(r"^\.\. auto(?:function|class):: (\S+)", text, re.MULTILINE))
        for names in re.findall(r"^\.\. py:data:: (\S+(?:\n +phicoll\.\S+)*)", text, re.MULTILINE):
            found |= set(names.split())
        for name in re.findall(r"^\.\. automodule:: (\S+)\n +:members:", text, re.MULTILINE):
            found |= {f"{name}.{thing}" for thing in getattr(thing_of(name), "__all__", ())}
    return found


def thing_of(name: str) -> Any:
    """What a dotted name names: a module, or what is in one."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        module, _, last = name.rpartition(".")
        return getattr(thing_of(module), last)


def test_every_public_name_is_in_the_reference() -> None:
    names = {*phicoll.__all__, *phicoll._LAZY, *phicoll.errors.__all__}
    described = documented()
    missing = {name for name in names if not {f"phicoll.{name}", f"phicoll.errors.{name}"} & described}
    assert not missing


def test_what_the_reference_lists_has_docstrings() -> None:
    without: list[str] = []
    for name in documented():
        thing = thing_of(name)
        if not inspect.isclass(thing) and not inspect.isroutine(thing):
            continue  # a constant: its text is in the reference
        own = vars(thing) if inspect.isclass(thing) and thing.__module__.startswith("phicoll") else {}
        without += [] if thing.__doc__ else [name]
        without += [
            f"{name}.{member}"
            for member, value in own.items()
            if not member.startswith("_")
            and hasattr(thing, member)  # not what is refused in words
            and (inspect.isroutine(value) or isinstance(value, property | functools.cached_property))
            and not inspect.getdoc(getattr(thing, member))
        ]
    assert not without


# What prints the same on every machine that has two CPUs and no numbers of its own: nothing of it was measured.
FIXED = ("python total.py", "python chosen.py", "phicoll why", "--machine xeon-phi", "phicoll explain")


def without_cpus(text: str) -> str:
    return re.sub(r"\d+ CPUs", "some CPUs", text)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")
def test_the_tutorial_runs_and_prints_what_it_says(tmp_path: Path) -> None:
    """Every file and every command, in order; PHICOLL_UPDATE_DOCS=1 writes what they print, =all also what they measure."""
    page = DOCS / "tutorial.md"
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    environment["XDG_CACHE_HOME"] = str(tmp_path / "cache")  # no numbers of this host
    update = os.environ.get("PHICOLL_UPDATE_DOCS")
    for name in ("PHICOLL_TUNING", "PHICOLL_ALLREDUCE"):
        environment.pop(name, None)
    command, printed = "", ""
    parts = re.split(r"^(```(?:python|sh|text)\n.*?^```\n)", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    for i, part in enumerate(parts):
        language, _, block = part.removesuffix("```\n").partition("\n")
        if language == "```python":
            (tmp_path / block.split()[1]).write_text(block)
        elif language == "```sh":
            command = block
            done = subprocess.run(
                ["bash", "-eo", "pipefail", "-c", command],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
            assert done.returncode == 0, f"{command}\n{done.stderr}"
            printed = done.stdout.rstrip() + "\n"
        elif language == "```text":
            fixed = any(words in command for words in FIXED)
            if fixed and not update:
                again = f"{command}; run: PHICOLL_UPDATE_DOCS=1 pytest tests/test_docs.py"
                assert without_cpus(printed) == without_cpus(block), again
            assert not block or printed.split()[0] == block.split()[0]
            if fixed or update == "all":
                parts[i] = f"```text\n{printed}```\n"
    assert (tmp_path / "first.svg").stat().st_size > 1000
    if update:
        page.write_text("".join(parts))
    if update == "all":
        shutil.copy(tmp_path / "first.svg", DOCS / "tutorial-first.svg")


# Programs that run into what docs/troubleshooting.md explains.
TROUBLES = (
    "phicoll.run(work, memory_limit=10**14)",
    "phicoll.run(lambda comm: comm.empty(1000**3), ranks=2)",
    "phicoll.run(lambda comm: comm.Split(0, 0), ranks=2, heap_limit=1 << 15)",
    "phicoll.run(lambda comm: comm.rank == 2 and os.kill(os.getpid(), 9) or comm.Barrier())",
    "phicoll.run(lambda comm: comm.rank == 2 or comm.Barrier())",
    "phicoll.run(lambda comm: comm.Barrier() if comm.rank == 2 else comm.allreduce(1))",
    "phicoll.run(lambda comm: comm.rank == 2 and never_calls(comm) or comm.Barrier(), timeout=0.5)",
    "phicoll.run(lambda comm: comm.Allreduce(np.zeros(4), np.zeros(3)))",
    "phicoll.sweep(ranks=phicoll._core.allowed_cpu_count() + 1)",
    "phicoll.COMM_SELF.Create_graph([1], [0])",
)


def never_calls(comm: phicoll.Comm) -> None:
    while comm._core.broken is None:
        time.sleep(0.01)


@pytest.mark.parametrize("program", TROUBLES)
def test_troubleshooting_quotes_what_phicoll_says(program: str) -> None:
    names = {"phicoll": phicoll, "np": np, "os": os, "never_calls": never_calls, "work": print}
    with pytest.raises(Exception) as caught:  # noqa: PT011 - the page says what it is
        eval(program, names)

    def without_numbers(text: str) -> str:
        text = re.sub(r"\d+", "0", text)
        return re.sub(r"unless .* is given", "unless it is given", text).split("\n")[0]

    said = without_numbers(str(caught.value))
    quoted = {
        without_numbers(line)
        for block in code_blocks("troubleshooting.md", "text")
        for line in block.splitlines()
    }
    assert said in quoted


def test_links_that_lead_nowhere_are_found(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(
        '<a href="other.html#part">a</a> <a href="other.html#none">b</a> <a href="gone.html">c</a>'
        '<img src="gone.png"> <a href="https://example.org/x">d</a> <a href="#top">e</a>'
    )
    (tmp_path / "other.html").write_text('<h1 id="part">part</h1>')
    command = [sys.executable, ROOT / "scripts" / "links.py", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert [line.split(": ")[1] for line in done.stdout.splitlines()] == [
        "#top",
        "gone.html",
        "gone.png",
        "other.html#none",
    ]


def test_a_search_that_leads_to_a_benchmark_s_table_is_found(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<p>a</p>")
    index = {
        "docnames": ["bench/README", "bench/epyc/allreduce", "bench/epyc/scan", "collectives"],
        "alltitles": {"allreduce": [[1, None], [3, "allreduce"]], "Results": [[0, None]]},
        "terms": {"word": 3, "other": [0, 2]},
    }
    (tmp_path / "searchindex.js").write_text(f"Search.setIndex({json.dumps(index)})")
    command = [sys.executable, ROOT / "scripts" / "links.py", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert re.findall(r"^search: (\S+):", done.stdout, re.MULTILINE) == [
        "bench/epyc/allreduce",
        "bench/epyc/scan",
    ]
