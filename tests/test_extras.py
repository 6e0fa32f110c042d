"""phicoll without its extras: what needs none works, and what needs one names it before any work is done."""

from __future__ import annotations

import ast
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from made_up import MadeUp

ROOT = Path(__file__).resolve().parent.parent
#: The packages of each extra, by the names they are imported by.
PACKAGES = {
    "plots": {"matplotlib", "plotly"},
    "frames": {"pandas", "pyarrow"},
    "arrays": {"xarray"},
    "models": {"scipy"},
    "completion": {"shtab"},
}

#: Loaded by each interpreter that starts, the ranks' too: packages of extras are not found.
HIDING = f"""
import sys

class Hiding:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {set().union(*PACKAGES.values(), {"IPython"})}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Hiding())
"""


@pytest.fixture
def plain(tmp_path: Path):
    """Run ``python`` with the given words where no extra is installed; results of two barriers are in r.jsonl."""
    (tmp_path / "hiding").mkdir()
    (tmp_path / "hiding" / "sitecustomize.py").write_text(HIDING)
    MadeUp().write(tmp_path / "r.jsonl")

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *words],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(tmp_path / "hiding")},
            capture_output=True,
            text=True,
            check=False,
            timeout=200,
        )

    return run


COMMANDS = {
    "doctor --no-probe": "memory",
    "list": "dissemination",
    "list machines": "xeon-phi-5110p",
    "run barrier --algorithm auto --ranks 2 --oversubscribe --launches 1 --rounds 2": "barrier, 2 threads",
    "run barrier --algorithm tree --ranks 4 --machine xeon-phi-5110p --calls 3": "xeon-phi-5110p",
    "compare r.jsonl": "ratio to best",
    "count --shape 4x4": "dissemination",
    "explain barrier --ranks 4 --calls 3": "critical path",
    "why barrier": "chooses",
    "launch -n 2 -c 'import phicoll; print(phicoll.COMM_WORLD.allreduce(1))'": "[1] 2",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_need_no_extra(command: str, plain) -> None:
    done = plain("-m", "phicoll", *shlex.split(command))
    assert done.returncode == 0, done.stderr
    assert COMMANDS[command] in done.stdout


def test_collectives_and_measuring_need_no_extra(plain) -> None:
    done = plain(
        "-c",
        "import phicoll\n"
        "def work(comm): return comm.allreduce(comm.rank), 'pandas' in __import__('sys').modules\n"
        "print(phicoll.run(work, ranks=3))\n"
        "results = phicoll.load('r.jsonl')\n"
        "assert results._repr_html_() and results.compare().best()._repr_html_()\n"
        "try: import pandas\n"
        "except ModuleNotFoundError: print('hidden')\n",
    )
    assert done.stdout == "[(3, False), (3, False), (3, False)]\nhidden\n", done.stderr


MISSING = {
    "results.plot()": ("matplotlib", "plots"),
    "results.to_dataframe()": ("pandas", "frames"),
    "results.compare().to_dataframe()": ("pandas", "frames"),
    "results.save('r.parquet')": ("pyarrow", "frames"),
    "results.save('r.csv')": ("pandas", "frames"),
    "phicoll.explain(ranks=4, calls=3).path": ("pandas", "frames"),
    "str(fit('contention', [1, 2, 3, 4], [1, 2, 3, 5]))": ("scipy", "models"),
}


def test_what_is_missing_is_named(plain) -> None:
    done = plain(
        "-c",
        "import phicoll\n"
        "from phicoll.models.fits import fit\n"
        "results = phicoll.load('r.jsonl')\n"
        f"for code in {list(MISSING)}:\n"
        "    try: eval(code)\n"
        "    except phicoll.ResourceError as error: print(error)\n",
    )
    assert done.stdout.splitlines() == [
        f"{package} is not installed; run: pip install 'phicoll[{extra}]'"
        for package, extra in MISSING.values()
    ], done.stderr


@pytest.mark.parametrize(
    "command",
    [
        "plot r.jsonl --figure r.png",
        "plot r.jsonl --figure r.html",
        "explain barrier --figure r.png",
        "count --figure r.png",
        "latency --figure r.png",
        "validate xeon-phi-5110p --page r.md",
        "demo",
    ],
)
def test_a_figure_that_cannot_be_drawn_ends_the_command_at_once(command: str, plain, tmp_path: Path) -> None:
    done = plain("-m", "phicoll", *command.split())
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "phicoll: matplotlib is not installed; run: pip install 'phicoll[plots]'\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hiding", "r.jsonl"]


def test_the_pytest_plugin_names_it_before_a_test_runs(plain, tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text("def test_one(sweep): sweep()")
    done = plain("-m", "pytest", "-q", "-p", "no:cacheprovider", "--phicoll-save", "r.parquet")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert done.stderr.strip() == "ERROR: pyarrow is not installed; run: pip install 'phicoll[frames]'"


def named_extra(node: ast.AST) -> str | None:
    """The name in ``with extra(name):``."""
    call = node.items[0].context_expr if isinstance(node, ast.With) else None
    found = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "extra"
    return str(ast.literal_eval(call.args[0])) if found else None


def imports_outside(node: ast.AST, extra: str | None) -> list[str]:
    """The packages of extras that are imported under ``node`` where their extra would not be named."""
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return []
    names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
    names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
    tops = {name.partition(".")[0] for name in names}
    wrong = [top for name, packages in PACKAGES.items() if name != extra for top in tops & packages]
    for child in ast.iter_child_nodes(node):
        wrong += imports_outside(child, named_extra(node) or extra)
    return wrong


def test_every_import_of_an_extra_names_it() -> None:
    source = ROOT / "src" / "phicoll"
    found = {
        str(path.relative_to(source)): set(imports_outside(ast.parse(path.read_text()), None))
        for path in source.rglob("*.py")
    }
    # What draws is given Axes, or imports plots.canvas, which names it.
    drawing = {path for path, packages in found.items() if packages == {"matplotlib"}}
    assert {path for path, packages in found.items() if packages} == drawing
    assert all(path.startswith(("plots/", "report/", "papers/validation/")) for path in drawing)


def test_all_is_every_extra_and_the_tests_have_all() -> None:
    tomllib = pytest.importorskip("tomllib")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert extras["all"] == [f"phicoll[{','.join(PACKAGES)}]"]
    assert "phicoll[all]" in extras["test"]
    assert {name: {text.split(">")[0] for text in extras[name]} for name in PACKAGES} == PACKAGES
