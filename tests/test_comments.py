"""Comments are short, hold no measured ratios, and are not wider than the code.

A comment says what a thing is and why; measurements stand in docs/bench with date and host.
"""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MOST_WORDS = 100
MOST_COLUMNS = 110  # .clang-format's
FOLDERS = ["src", "tests", "benchmarks", "scripts"]
C_BLOCK = re.compile(r"(?:^[ \t]*//[^\n]*\n)+", re.M)
PYTHON_BLOCK = re.compile(r"(?:^[ \t]*#[^\n]*\n)+", re.M)
RATIO = re.compile(r"//[^\n]*\b\d\.\d+ (?:to \d\.\d+ )?of the ")
SECTION = re.compile(
    r"\n(?:Parameters|Attributes|Returns|Raises|Notes|Examples|Warns|Yields)\n-+\n|\n\{options\}\n"
)
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def files(*suffixes: str) -> list[Path]:
    return sorted(p for folder in FOLDERS for p in (ROOT / folder).rglob("*") if p.suffix in suffixes)


C_FILES = {p.relative_to(ROOT): p.read_text() for p in files(".hpp", ".cpp", ".h", ".c")}
PYTHON_FILES = {p.relative_to(ROOT): p.read_text() for p in files(".py")}


def line_of(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def long_blocks(text: str, block: re.Pattern[str], mark: str) -> list[str]:
    counts = [(m, len(re.sub(mark, "", m[0]).split())) for m in block.finditer(text)]
    return [f"{line_of(text, m.start())}: {words} words" for m, words in counts if words > MOST_WORDS]


def ratios(text: str) -> list[str]:
    return [f"{line_of(text, m.start())}: {m[0]}" for m in RATIO.finditer(text)]


def wide_lines(text: str) -> list[str]:
    wide = [(n, line) for n, line in enumerate(text.split("\n"), 1) if len(line) > MOST_COLUMNS]
    return [
        f"{n}: {len(line)} columns"
        for n, line in wide
        if re.search(r"(?:^|\s)//", line) and " " in line.split("//")[-1].strip()
    ]


def prose(docstring: str) -> str:
    """A docstring without its sections, lists and indented examples."""
    lines = SECTION.split(docstring)[0].split("\n")
    return "\n".join(line for line in lines if not line.startswith(("- ", "  ")))


def long_docstrings(text: str) -> list[str]:
    if not any(len(string.split()) > MOST_WORDS for string in text.split('"""')[1::2]):
        return []  # parsed only where needed: that takes long
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, DOCUMENTED) and (docstring := ast.get_docstring(node)):
            words = len(prose(docstring).split())
            if words > MOST_WORDS:
                found.append(f"{getattr(node, 'name', 'module')}: {words} words")
    return found


def found(check, texts: dict[Path, str]) -> list[str]:
    return [f"{path}:{where}" for path, text in texts.items() for where in check(text)]


def test_no_comment_block_of_cpp_is_long():
    assert found(lambda text: long_blocks(text, C_BLOCK, r"//+<?"), C_FILES) == []


def test_no_comment_holds_a_measured_ratio():
    assert found(ratios, C_FILES) == []


def test_no_comment_line_of_cpp_is_wide():
    assert found(wide_lines, C_FILES) == []


def test_no_comment_block_of_python_is_long():
    assert found(lambda text: long_blocks(text, PYTHON_BLOCK, "#+"), PYTHON_FILES) == []


def test_no_docstring_of_prose_is_long():
    assert found(long_docstrings, PYTHON_FILES) == []


@pytest.mark.parametrize(
    ("check", "bad", "good"),
    [
        (lambda text: long_blocks(text, C_BLOCK, r"//+<?"), "// word\n" * 101, "// word\n" * 100),
        (ratios, "int a;  // takes 0.8 to 0.9 of the time\n", "int a;  // takes less of the time\n"),
        (wide_lines, "int a;  // " + "word " * 21 + "\n", "int a;  // " + "word " * 19 + "\n"),
        (
            long_docstrings,
            f'"""{"word " * 101}"""\n',
            f'"""{"word " * 99}\n\nParameters\n----------\n{"a " * 9}"""\n',
        ),
    ],
)
def test_the_checks_find_what_they_look_for(check, bad, good):
    assert check(bad) != []
    assert check(good) == []
