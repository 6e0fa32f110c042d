"""Every notebook is what its text pair says, and runs from top to bottom."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import phicoll

jupytext = pytest.importorskip("jupytext")
nbclient = pytest.importorskip("nbclient")

FOLDER = Path(__file__).parents[1] / "notebooks"
NOTEBOOKS = sorted(path.stem for path in FOLDER.glob("*.py"))
# Simulated results are the same on every host: scripts/notebooks.py runs these in full, and their outputs are kept.
SIMULATED = {
    "panigrahi-2014": "xeon-phi-se10p",
    "rodchenko-2015": "xeon-phi-5110p",
    "velamati-2007": "sandy-bridge-e5-2670",
    "namashivayam-2014": "xeon-phi-se10p",
    "ramos-hoefler-2013": "xeon-phi-5110p",
}


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_pair_agrees(name):
    text, notebook = (jupytext.read(FOLDER / f"{name}.{suffix}") for suffix in ("py", "ipynb"))
    assert [(cell.cell_type, cell.source) for cell in text.cells] == [
        (cell.cell_type, cell.source) for cell in notebook.cells
    ], (
        f"run: {'python scripts/notebooks.py ' + name if name in SIMULATED else f'jupytext --sync notebooks/{name}.py'}"
    )
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    if name not in SIMULATED:
        assert not outputs
    else:
        assert {"image/png", "text/html", "text/markdown"} <= {
            kind for o in outputs for kind in o.get("data", {})
        }
        assert not any(o.output_type == "error" or o.get("name") == "stderr" for o in outputs)
        digest = phicoll.load_machine(SIMULATED[name]).digest
        assert digest in str(outputs[0]), f"the machine has changed: python scripts/notebooks.py {name}"


#: What a kernel imports first where both CPUs are to look as if they were one core all the time: virtual ones are, for
#: minutes, and then there is no line between cores to be measured.
ONE_CORE = """
import phicoll.models.characterizing.targets as targets
import phicoll.models.comparison as comparison

targets.Host.label = lambda self, *arguments: "same-core"
unfit = comparison.unfit
comparison.unfit = lambda subject, *rest: unfit(subject, *rest) or ("" if subject.simulated else "one core")
"""


@pytest.mark.parametrize(
    ("name", "one_core"),
    [(name, False) for name in NOTEBOOKS]
    + [("characterise-and-tune", True), pytest.param("ramos-hoefler-2013", True, marks=pytest.mark.long)],
)
def test_it_runs(name, one_core, tmp_path, monkeypatch):
    monkeypatch.setenv("PHICOLL_QUICK", "1")
    if one_core:
        (tmp_path / "sitecustomize.py").write_text(ONE_CORE)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    notebook = jupytext.read(FOLDER / f"{name}.py")
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
