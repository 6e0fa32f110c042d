"""The notebook is what its text pair says, and runs from top to bottom."""

from __future__ import annotations

from pathlib import Path

import pytest

jupytext = pytest.importorskip("jupytext")
nbclient = pytest.importorskip("nbclient")

FOLDER = Path(__file__).parents[1] / "notebooks"
NOTEBOOKS = sorted(path.stem for path in FOLDER.glob("*.py"))


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_pair_agrees(name):
    text, notebook = (jupytext.read(FOLDER / f"{name}.{suffix}") for suffix in ("py", "ipynb"))
    assert [(cell.cell_type, cell.source) for cell in text.cells] == [
        (cell.cell_type, cell.source) for cell in notebook.cells
    ], f"run: jupytext --sync notebooks/{name}.py"
    assert not any(cell.get("outputs") for cell in notebook.cells)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_it_runs(name, tmp_path):
    notebook = jupytext.read(FOLDER / f"{name}.py")
    client = nbclient.NotebookClient(
        notebook, timeout=240, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    kinds = {kind for output in shown for kind in output.get("data", {})}
    assert {"text/html", "image/png"} <= kinds
    assert not any(output.output_type == "error" for output in shown)
    assert not any("Warning" in str(output) or "stderr" in str(output) for output in shown)
