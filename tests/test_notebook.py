"""Every notebook is what its text pair says, with outputs of just that text, and runs from top to bottom."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import re
import runpy
from pathlib import Path

import pytest

import phicoll

jupytext = pytest.importorskip("jupytext")
nbclient = pytest.importorskip("nbclient")

FOLDER = Path(__file__).parents[1] / "notebooks"
NOTEBOOKS = sorted(path.stem for path in FOLDER.glob("*.py"))
# These simulate this machine: its digest is in the first output.
SIMULATED = {
    "panigrahi-2014": "xeon-phi-se10p",
    "rodchenko-2015": "xeon-phi-5110p",
    "velamati-2007": "cell-qs20",
    "namashivayam-2014": "xeon-phi-se10p",
    "ramos-hoefler-2013": "xeon-phi-5110p",
}


#: The script that runs them.
SCRIPT = runpy.run_path(str(FOLDER.parent / "scripts" / "notebooks.py"))


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_pair_agrees_and_its_outputs_are_current(name):
    text, notebook = (jupytext.read(FOLDER / f"{name}.{suffix}") for suffix in ("py", "ipynb"))
    again = f"run: python scripts/notebooks.py {name}"
    assert SCRIPT["digest"](text) == SCRIPT["digest"](notebook), again
    assert notebook.metadata.get("phicoll") == {"outputs_of": SCRIPT["digest"](text)}, again
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert {"image/png", "text/html"} <= {kind for o in outputs for kind in o.get("data", {})}
    assert not any(o.output_type == "error" or o.get("name") == "stderr" for o in outputs)
    assert SCRIPT["places"](notebook) == []
    if name in SIMULATED:
        digest = phicoll.load_machine(SIMULATED[name]).digest
        assert digest in str(outputs[:3]), f"the machine has changed; {again}"


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_it_says_how_long_it_runs_and_shows_a_figure_early(name):
    notebook = jupytext.read(FOLDER / f"{name}.ipynb")
    assert re.search(r"\b(seconds?|minutes?)\b", notebook.cells[0].source)
    lines = 0
    for cell in notebook.cells:
        if cell.cell_type == "code":
            lines += sum(bool(line.strip()) for line in cell.source.splitlines())
            if any("image/png" in output.get("data", {}) for output in cell.outputs):
                break
    assert lines < 100


def test_every_change_of_a_cell_changes_the_digest():
    def digest(*cells):
        return SCRIPT["digest"](jupytext.reads("\n\n".join(cells), "py:percent"))

    one, two, words = "# %%\na = 1", "# %%\na = 2", "# %% [markdown]\n# a = 1"
    assert len({digest(one), digest(two), digest(words), digest(one, two), digest(two, one)}) == 5


@pytest.mark.parametrize("text", ["/tmp/phicoll-x1/here.json", "wrote /home/me/r.jsonl", "'/srv/a'"])
def test_paths_in_outputs_are_found(text):
    notebook = jupytext.reads("# %%\n1", "py:percent")
    assert SCRIPT["places"](notebook) == []
    notebook.cells[0]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": text}]
    assert len(SCRIPT["places"](notebook)) == 1


def is_public(module, name):
    """Whether a module says that a name is public, or has a module of that name."""
    return name in module.__all__ or inspect.ismodule(getattr(module, name, None))


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_it_uses_public_names_only(name):
    tree = ast.parse((FOLDER / f"{name}.py").read_text())
    private = [n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and re.match(r"_[^_]", n.attr)]
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith("phicoll."):
            module = importlib.import_module(node.module)
            private += [alias.name for alias in node.names if not is_public(module, alias.name)]
            private += [part for part in node.module.split(".") if part.startswith("_")]
        elif isinstance(node, ast.Import):
            private += [alias.name for alias in node.names if "._" in alias.name]
    assert private == []


#: What a kernel imports first where both CPUs are to look as if they were one core all the time: virtual ones are, for
#: minutes, and then there is no line between cores to be measured.
ONE_CORE = """
import phicoll.models.characterizing.targets as targets
import phicoll.models.comparison as comparison

targets.Host.label = lambda self, *arguments: "same-core"
unfit = comparison.unfit
comparison.unfit = lambda subject, *rest: unfit(subject, *rest) or ("" if subject.simulated else "one core")
"""


#: Those that compute for ten seconds and more, even in their short form. The last runs below as on one core,
#: which shows as much.
LONG = {
    "panigrahi-2014",
    "namashivayam-2014",
    "ramos-hoefler-2013",
    "rodchenko-2015",
    "characterise-and-tune",
}

#: Less of the notebook that has no short form, as everyone sees it first: what of its text is replaced.
SMALLER = {
    "quickstart": {
        "launches=5": "launches=2",
        "rounds=12": "rounds=4",
        "rounds=8": "rounds=3",
        "ranks=16": "ranks=8",
    }
}


@pytest.mark.parametrize(
    ("name", "one_core"),
    [pytest.param(name, False, marks=[pytest.mark.long] if name in LONG else []) for name in NOTEBOOKS]
    + [("characterise-and-tune", True), pytest.param("ramos-hoefler-2013", True, marks=pytest.mark.long)],
)
def test_it_runs(name, one_core, tmp_path, monkeypatch):
    monkeypatch.setenv("PHICOLL_QUICK", "1")
    if one_core:
        (tmp_path / "sitecustomize.py").write_text(ONE_CORE)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    text = (FOLDER / f"{name}.py").read_text()
    for usual, smaller in SMALLER.get(name, {}).items():
        assert usual in text
        text = text.replace(usual, smaller)
    notebook = jupytext.reads(text, "py:percent")
    client = nbclient.NotebookClient(
        notebook, timeout=240, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    kinds = {kind for output in shown for kind in output.get("data", {})}
    assert {"text/html", "image/png"} <= kinds
    assert not any(output.output_type == "error" for output in shown)
    warned = [output for output in shown if "Warning" in str(output) or "stderr" in str(output)]
    assert not warned
    assert one_core <= any("distinct cores" in str(output) for output in shown)
