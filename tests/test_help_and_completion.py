"""`phicoll help` is `--help`; what `phicoll completion` prints completes the command line in a shell."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from phicoll.cli import main


def printed(words: list[str], capsys) -> tuple[int, str]:
    try:
        code = main(words)
    except SystemExit as end:  # argparse has printed a page
        code = int(end.code or 0)
    return code, capsys.readouterr().out


@pytest.mark.parametrize("command", [[], ["run"], ["demo"], ["launch"], ["help"], ["completion"]])
def test_help_is_the_help_of_the_command(command, capsys) -> None:
    if command == ["demo"]:
        pytest.importorskip("matplotlib")
    found = printed(["help", *command], capsys)
    assert found == printed([*command, "--help"], capsys)
    assert found[0] == 0
    assert found[1].startswith(f"usage: {' '.join(['phicoll', *command])} ")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("help plots", "phicoll: command: got 'plots'; allowed: nearest: plot; all: doctor, "),
        ("help run barrier", "phicoll: arguments: got 'barrier'; allowed: "),
        ("completion fish", "phicoll: shell: got 'fish'; allowed: bash, zsh"),
    ],
)
def test_what_is_no_command_is_refused(words, said, capsys) -> None:
    assert main(words.split()) == 2
    assert capsys.readouterr().err.startswith(said)


@pytest.fixture
def complete(tmp_path: Path, capsys):
    """What bash offers for the last word of a command line, in a folder with r.jsonl."""
    pytest.importorskip("shtab")
    assert main(["completion", "bash"]) == 0
    (tmp_path / "script").write_text(capsys.readouterr().out)
    (tmp_path / "r.jsonl").write_text("")

    def offered(*words: str) -> set[str]:
        line = (
            'source ./script; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))\n'
            '_shtab_phicoll phicoll "${@: -1}" "${@: -2:1}"; printf "%s\\n" "${COMPREPLY[@]}"'
        )
        done = subprocess.run(
            ["bash", "-c", line, "bash", *words], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        return set(done.stdout.split())

    return offered


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("phicoll com", {"compare", "compare-run", "completion"}),
        ("phicoll run all", {"allreduce", "allgather", "allgatherv", "alltoall", "alltoallv"}),
        ("phicoll run barrier --oversub", {"--oversubscribe"}),
        ("phicoll run barrier --machine xeon-phi-5", {"xeon-phi-5110p"}),
        ("phicoll list mach", {"machine", "machines"}),
        ("phicoll compare r", {"r.jsonl"}),
        ("phicoll plot --kind si", {"sizes"}),
        ("phicoll run barrier -o r", {"r.jsonl"}),
        ("phicoll help val", {"validate"}),
    ],
)
def test_bash_completes(words: str, wanted: set[str], complete) -> None:
    assert complete(*words.split()) == wanted


def test_zsh_reads_its_script(tmp_path: Path, capsys) -> None:
    pytest.importorskip("shtab")
    zsh = shutil.which("zsh")
    if zsh is None:
        pytest.skip("needs zsh")
    assert main(["completion", "zsh"]) == 0
    (tmp_path / "_phicoll").write_text(capsys.readouterr().out)
    subprocess.run([zsh, "-n", tmp_path / "_phicoll"], check=True)
