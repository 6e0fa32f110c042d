"""docs/adding-an-operation.md, followed to the letter on a copy of the files that it names."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from phicoll import Comm

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "adding-an-operation.md"
CPP = Path("src/cpp")
# What the operation's unit, its callers and the tests do with it.
USE = """
#include "phicoll/collectives/registry/entries.hpp"
#include "phicoll/collectives/registry/make_from.hpp"
#include "phicoll/collectives/shift/registry.hpp"
#include "phicoll/group/communicator.hpp"

namespace phicoll {
std::vector<Family::Entry> shift_entries() {
  return entries::of(Operation::shift, Registry<Operation::shift>::List{});
}
std::unique_ptr<AnyCollective<NativePort>> shift(const AlgorithmSpec& spec, const Setup& setup) {
  return make_from<NativePort>(Registry<Operation::shift>::List{}, spec, setup);
}
void shift(Communicator& comm, int* block) {
  comm.shift(nullptr, block, sizeof *block);
  comm.call(Request::shift(nullptr, block, sizeof *block));
}
}  // namespace phicoll
"""


def words(line: str) -> list[str]:
    return line.rstrip("\\").split()


def patched(text: str, diff: str) -> str:
    """The text with the lines that are added below the one that a block shows."""
    above, *added = diff.splitlines()
    assert above.startswith(" ")
    assert all(line.startswith("+") for line in added)
    lines = text.splitlines()
    places = [i for i, line in enumerate(lines) if words(line) == words(above)]
    assert len(places) == 1, f"{above} is there {len(places)} times"
    lines[places[0] + 1 : places[0] + 1] = [line[1:] for line in added]
    return "\n".join(lines) + "\n"


def steps() -> list[tuple[Path, str, str]]:
    """(file, kind, block) of each block of the page: the last file that is named above it."""
    found = []
    file = Path()
    for name, kind, block in re.findall(
        r"`(src/[^`]+)`|^```(diff|cpp)\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.M
    ):
        if name:
            file = Path(name)
        else:
            found.append((file, kind, block))
    return found


def follow(to: Path, but: str = "") -> None:
    """Makes the page's changes to copies below `to`, leaving out those to files whose path ends with `but`."""
    for file, kind, block in steps():
        if but and str(file).endswith(but):
            continue
        copy = to / file
        copy.parent.mkdir(parents=True, exist_ok=True)
        if kind == "cpp":
            copy.write_text(block)
        else:
            copy.write_text(patched((copy if copy.exists() else ROOT / file).read_text(), block))


def errors(tree: Path, source: Path) -> str:
    """What the compiler says of a source with the changed headers."""
    command = ["g++", "-std=c++14", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
    command += ["-fsyntax-only", "-I", str(tree / CPP), "-I", str(ROOT / CPP), str(source)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


def test_the_page_names_at_most_six_places() -> None:
    assert (
        len(
            {
                file if file.suffix != ".hpp" or "shift" not in file.parts else "shift"
                for file, _, _ in steps()
            }
        )
        == 6
    )


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_the_operation_of_the_page_compiles(tmp_path: Path) -> None:
    follow(tmp_path)
    use = tmp_path / "use.cpp"
    use.write_text(USE)
    for source in (
        use,
        tmp_path / CPP / "phicoll/collectives/verifying/program.cpp",
        ROOT / CPP / "phicoll/group/communicator_data.cpp",
    ):
        assert errors(tmp_path, source) == ""
    added = tmp_path / "src/phicoll/comm/collectives.py"
    done = subprocess.run(
        [sys.executable, "-m", "py_compile", added], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Ishift = begins(Shift)" in added.read_text()


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_a_call_that_is_left_out_is_named(tmp_path: Path) -> None:
    follow(tmp_path, but="request.hpp")
    assert "PHICOLL_CALLS (contract/request.hpp)" in errors(
        tmp_path, ROOT / CPP / "phicoll/group/communicator_data.cpp"
    )


def test_every_call_has_its_methods_in_python() -> None:
    rows = re.findall(
        r'ROW\(\w+, "\w+", ("\w+"), ("\w+"|nullptr), ("\w+"|nullptr)',
        (ROOT / CPP / "phicoll/collectives/contract/operation.hpp").read_text(),
    )
    assert len(rows) == 10
    for name in (name.strip('"') for row in rows for name in row if name != "nullptr"):
        for method in (name.capitalize(), f"I{name}", f"{name.capitalize()}_init"):
            assert callable(getattr(Comm, method)), f"src/phicoll/comm/collectives.py has no {method}"
