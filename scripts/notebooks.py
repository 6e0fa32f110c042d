"""Run the notebooks on simulated machines in full and keep their outputs, which are the same on every host but for what
is labelled measured (ramos-hoefler-2013).

usage: python scripts/notebooks.py [NAME ...]      some minutes; the notebooks' text is in notebooks/NAME.py
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import jupytext
import nbclient

FOLDER = Path(__file__).parents[1] / "notebooks"
SIMULATED = ("rodchenko-2015", "panigrahi-2014", "velamati-2007", "namashivayam-2014", "ramos-hoefler-2013")


def run(name: str) -> None:
    begin = time.monotonic()
    notebook = jupytext.read(FOLDER / f"{name}.py")
    nbclient.NotebookClient(notebook, timeout=3600, kernel_name="python3").execute()
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"{name}-{number}"
        cell.metadata.pop("execution", None)
    notebook.metadata.pop("language_info", None)
    jupytext.write(notebook, FOLDER / f"{name}.ipynb")
    print(f"{name}: {time.monotonic() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    os.environ.pop("PHICOLL_QUICK", None)
    for name in sys.argv[1:] or SIMULATED:
        run(name)
