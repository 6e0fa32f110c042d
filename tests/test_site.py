"""The documentation's site: Sphinx reads all pages, docstrings and public headers without a warning, as `make docs` asks."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

for package in ("sphinx", "myst_parser", "breathe"):
    pytest.importorskip(package)

DOCS = Path(__file__).resolve().parent.parent / "docs"


@pytest.mark.skipif(shutil.which("doxygen") is None, reason="needs doxygen")
def test_sphinx_has_no_warning(tmp_path: Path) -> None:
    """Nothing is written: what takes the time is reading and checking every reference."""
    command = [sys.executable, "-m", "sphinx", "-b", "dummy", "-W", "--keep-going", "-q"]
    command += ["-d", tmp_path / "doctrees", DOCS, tmp_path / "site"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
