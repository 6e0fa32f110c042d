"""Blocks of output in the documents: they are what phicoll prints, or say on which host they were measured, and when."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
#: Of the site's pages those that are written by hand; a report of a benchmark or of a validation is written whole by a program.
PAGES = {
    str(page.relative_to(ROOT)): page.read_text()
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
}
#: How a page says that its numbers are of one host: the CPUs and the day.
MEASURED = re.compile(r"[Mm]easured\s+on\s[^.]*?\bCPUs?\s+of\s[^.]*?,\s+20\d\d-\d\d-\d\d")
#: A fenced block: its language and text, without the indentation that a list gives it.
FENCED = re.compile(r"^( *)```(\S*)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
#: Pages whose blocks another test runs: the README's, the tutorial's, and the quotations of messages.
ELSEWHERE = {"README.md", "docs/tutorial.md", "docs/troubleshooting.md"}
TIMEOUT_S = 120


def sections(text: str) -> list[str]:
    """A page from heading to heading; a # in a block is none."""
    found, fenced = [""], False
    for line in text.splitlines(keepends=True):
        fenced ^= line.lstrip().startswith("```")
        if line.startswith("#") and not fenced:
            found.append("")
        found[-1] += line
    return found


def blocks(text: str) -> list[tuple[str, str]]:
    return [(m[2], re.sub(rf"^{m[1]}", "", m[3], flags=re.MULTILINE)) for m in FENCED.finditer(text)]


def shown(block: str, printed: str) -> bool:
    """Whether a block is what was printed; a line "..." stands for any lines."""
    lines = [line.rstrip() for line in block.splitlines()]
    pattern = "".join(r"(?:.*\n)*?" if line == "..." else re.escape(line) + r"\n" for line in lines)
    text = "".join(line.rstrip() + "\n" for line in printed.splitlines())
    return re.fullmatch(pattern, text) is not None


def run(command: str, folder: Path) -> str:
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_S,
    )
    assert done.returncode == 0, f"{command}\n{done.stderr}"
    return done.stdout


def check(language: str, block: str, before: str, folder: Path) -> None:
    """Run what a block shows, or save it if it is a file, and compare its output."""
    if named := re.match(r"(?:#|//|/\*) (\w+\.(?:py|c|cpp))\b", block):
        (folder / named[1]).write_text(block)
    elif block.startswith(">>> "):
        test = doctest.DocTestParser().get_doctest(block, {}, "block", None, 0)
        result = doctest.DocTestRunner(verbose=False).run(test)
        assert result.failed == 0
    elif language == "console":
        for part in re.findall(r"^\$ .*\n(?:(?!\$ ).*\n)*", block, re.MULTILINE):
            command, _, output = part[2:].partition("\n")
            assert shown(output, run(command, folder)), command
    elif language == "text":
        assert before, "output without the command above it"
        assert shown(block, run(before, folder)), before


@pytest.mark.parametrize("page", sorted(set(PAGES) - ELSEWHERE))
def test_blocks_are_what_phicoll_prints(page: str, tmp_path: Path) -> None:
    for section in sections(PAGES[page]):
        if MEASURED.search(section):
            continue
        before = ""
        for language, block in blocks(section):
            check(language, block, before, tmp_path)
            before = block if language == "sh" else ""


@pytest.mark.parametrize("page", sorted(PAGES))
def test_a_page_s_python_imports_phicoll_before_it_names_it(page: str) -> None:
    code = "".join(block for language, block in blocks(PAGES[page]) if language == "python")
    named = re.search(r"^(?!.*\bimport\b)[^#\n]*(?<![\w.])phicoll\.\w", code, re.MULTILINE)
    assert named is None or re.search(r"^\s*(?:>>> )?import phicoll\b", code[: named.start()], re.MULTILINE)


@pytest.mark.parametrize("page", sorted(PAGES))
def test_every_block_says_what_it_is(page: str) -> None:
    """Output has a language by which it is found, and stands in a fence; the commands of a block are as in a shell."""
    text = PAGES[page]
    assert "" not in {language for language, _ in blocks(text)}
    outside = FENCED.sub("", text)
    assert not re.findall(r"^    (?:\$|>>>) .*", outside, re.MULTILINE)
    for language, block in blocks(text):
        assert language != "sh" or not re.search(r"^\$ ", block, re.MULTILINE)


def test_the_readme_and_the_tutorial_say_whose_times_they_show() -> None:
    assert MEASURED.search(PAGES["docs/tutorial.md"].split("## ")[0])
    (first,) = (s for s in sections(PAGES["README.md"]) if s.startswith("## A first result"))
    (beside,) = (s for s in sections(PAGES["README.md"]) if s.startswith("## Beside MPI"))
    assert MEASURED.search(first)
    assert MEASURED.search(beside)


@pytest.mark.parametrize(
    ("block", "printed", "same"),
    [
        ("a\nb\n", "a\nb\n", True),
        ("a\nb\n", "a \nb\n", True),
        ("a\n...\nc\n", "a\nb\nb\nc\n", True),
        ("a\n...\n", "a\n", True),
        ("...\nc\n", "a\nb\nc\n", True),
        ("a\nb\n", "a\nb\nc\n", False),
        ("a\n...\nc\n", "a\nc\nd\n", False),
    ],
)
def test_a_line_of_dots_stands_for_any_lines(block: str, printed: str, same: bool) -> None:
    assert shown(block, printed) is same
