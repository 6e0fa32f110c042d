"""Run the notebooks in full and keep their outputs, with a digest of the cells that they are of.

What is simulated is the same on every host; what is labelled measured is of the one that ran it. Outputs that name the
host or a path on it are refused.

usage: python scripts/notebooks.py [NAME ...]      some minutes each; the notebooks' text is in notebooks/NAME.py
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import socket
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import jupytext
import nbclient

FOLDER = Path(__file__).parents[1] / "notebooks"
PATHS = re.compile(r"(?<![\w.])/(?:home|root|tmp|usr|var|work|opt|mnt|srv)/[\w.-]+")


def digest(notebook: Any) -> str:
    """What changes whenever the source of a cell does."""
    cells = [(cell.cell_type, cell.source) for cell in notebook.cells]
    return hashlib.sha256(json.dumps(cells).encode()).hexdigest()


def written(notebook: Any) -> str:
    """The text of all outputs; images are left out."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    shown = [{k: v for k, v in output.get("data", {}).items() if "image" not in k} for output in outputs]
    return json.dumps([shown, [output.get("text", "") for output in outputs]], ensure_ascii=False)


def places(notebook: Any) -> list[str]:
    """Paths on a machine that the outputs name."""
    return PATHS.findall(written(notebook))


def shorten(notebook: Any) -> None:
    """Leave out the text of what is shown as HTML, Markdown or a figure: a table's holds all that it is made of."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if {"text/html", "text/markdown", "image/png"} & set(data):
                data.pop("text/plain", None)


def run(name: str) -> None:
    begin = time.monotonic()
    notebook = jupytext.read(FOLDER / f"{name}.py")
    with tempfile.TemporaryDirectory() as folder:
        where = {"metadata": {"path": folder}}
        nbclient.NotebookClient(notebook, timeout=3600, kernel_name="python3", resources=where).execute()
    shorten(notebook)
    found = places(notebook)
    host = re.escape(socket.gethostname())
    found += re.findall(rf"(?<![\w-]){host}(?![\w-])", written(notebook))
    if found:
        raise SystemExit(f"{name}: the outputs name {', '.join(sorted(set(found)))}")
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"{name}-{number}"
        cell.metadata.pop("execution", None)
    notebook.metadata.pop("language_info", None)
    notebook.metadata["phicoll"] = {"outputs_of": digest(notebook)}
    jupytext.write(notebook, FOLDER / f"{name}.ipynb")
    print(f"{name}: {time.monotonic() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    os.environ.pop("PHICOLL_QUICK", None)
    for name in sys.argv[1:] or sorted(path.stem for path in FOLDER.glob("*.py")):
        run(name)
