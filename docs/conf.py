"""How Sphinx builds the documentation site (`make docs`). The pages are plain Markdown and read as well without it."""

import dataclasses
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.ext.napoleon import Config, NumpyDocstring

import phicoll

HERE = Path(__file__).resolve().parent
DOXYGEN_OUT = HERE.parent / "build" / "doxygen"  # as the Doxyfile says

project = "phicoll"
author = "The phicoll authors"
copyright = author
version = release = phicoll.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "breathe"]
exclude_patterns = ["conf.py", "Doxyfile", "*.css"]
root_doc = "index"
# Every reference in a docstring or a comment is checked, but for the types of other packages and C++'s inner names.
nitpicky = True
nitpick_ignore_regex = [
    (
        "py:class",
        r"(numpy|pandas|pd|xarray|collections|concurrent|os|pathlib)\..*|Path|Executor|Figure|Axes|Canvas",
    ),
    (
        "py:class",
        r"Group|phicoll\.comm\.(derived\.Derived|matched\.MatchedProbes)|phicoll\.results\.compare\.shown\.Shown",
    ),
    ("py:class", r"Record(ed)?|Observations|Meaning|ModelledRuns|Over"),
    ("py:class", r"phicoll\.models\.(fits\.clusters\.Summary|tuning\.result\.Summary|tuning\.table\.Row)"),
    ("py:class", r"phicoll\.shmem\.\w+\.T"),  # a type variable
    ("py:class", r"phicoll\.models\.equations\.line_costs\.Constants"),
    (
        "cpp:identifier",
        r"phicoll|os|os::SharedMemory|Background|Ongoing|NativePort|PointToPoint|Elsewhere|Unwritten.*|Done|Data|no_ticket|built_in|Transfer::Piece|Operator::Kernel|SIZE_MAX",
    ),
    (
        "cpp:identifier",
        r"GroupMemory|Control|Collectives|Tuning|LineCosts|Origin|Request|SignatureWord|Interpreter",
    ),
]

# Markdown: links to headings are checked, as are those to files.
myst_heading_anchors = 4

# The notebooks with the outputs that they hold: scripts/notebooks.py ran them. Sphinx reads only what lies below
# this folder.
nb_execution_mode = "off"
nb_mime_priority_overrides = [("dummy", kind, 0) for kind in ("text/html", "image/png")]
shutil.copytree(
    HERE.parent / "notebooks", HERE / "notebooks", ignore=shutil.ignore_patterns("*.py"), dirs_exist_ok=True
)

# Python, from docstrings.
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 90
DOCSTRINGS = Config(
    napoleon_use_ivar=True, napoleon_use_param=False
)  # several names in a field stay together


def sections(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Docstrings' sections as fields. Napoleon's own hook takes a property's words before a colon for its type."""
    lines[:] = NumpyDocstring(lines, DOCSTRINGS).lines()
    for i, line in enumerate(lines):
        if line.startswith(":ivar "):
            # Of several names, Sphinx would take the first for the type of the last.
            lines[i] = re.sub(r"(?<=\w), (?=\w+(?:, \w+)*:)", ",\N{WORD JOINER}", line)


def signature(app: Sphinx, what: str, name: str, thing: Any, *_: Any) -> tuple[str, None] | None:
    """None for a data class: phicoll makes it, and its fields are listed."""
    return ("", None) if dataclasses.is_dataclass(thing) else None


def leave_out_of_search(app: Sphinx, env: Any) -> None:
    """A search for an operation leads to its page and method, not to a benchmark's table of the same name."""
    for page in env.found_docs:
        if re.fullmatch(r"bench/.+/\w+", page):
            env.metadata[page]["nosearch"] = "yes"


def setup(app: Sphinx) -> None:
    app.connect("env-updated", leave_out_of_search)
    app.connect("autodoc-process-docstring", sections)
    app.connect("autodoc-process-signature", signature)


# C++, from the public headers by way of Doxygen.
DOXYGEN_OUT.mkdir(parents=True, exist_ok=True)
subprocess.run(["doxygen", "-q", "Doxyfile"], cwd=HERE, check=True)
breathe_projects = {"phicoll": str(DOXYGEN_OUT / "xml")}
breathe_default_project = "phicoll"

html_theme = "furo"
html_title = f"phicoll {version}"
html_static_path = ["style.css"]
html_css_files = ["style.css"]
html_show_sourcelink = False
html_copy_source = False
pygments_style = "friendly"
highlight_language = "text"  # what has no language is a command or what one prints
