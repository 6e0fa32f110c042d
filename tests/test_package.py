"""The package: what importing costs, and that stubs, names and versions agree."""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.resources
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

import phicoll
from phicoll import _core

ROOT = Path(__file__).resolve().parents[1]
HEAVY = ("pandas", "scipy", "matplotlib", "pyarrow", "IPython", "cloudpickle")


def test_a_star_import_has_all_constants() -> None:
    from phicoll import comm

    names: dict[str, object] = {}
    exec("from phicoll import *", names)
    for name in comm.__all__:
        if name != "COMM_WORLD":  # made at each look
            assert names[name] is getattr(comm, name)


@pytest.mark.skipif(shutil.which("readelf") is None, reason="needs readelf")
def test_names_are_bound_at_the_start_and_stacks_guarded_where_foreign_words_are_read():
    folder = Path(phicoll.__file__).parent
    native, programs = [*(folder / "native").glob("*.so")], [*(folder / "bin").iterdir()]
    built = {
        path.name: subprocess.run(
            ["readelf", "-Wdl", "--dyn-syms", path], capture_output=True, text=True
        ).stdout
        for path in [Path(_core.__file__), *native, *(folder / "lib").glob("*.so"), *programs]
        if path.read_bytes()[:4] == b"\x7fELF"
    }
    assert {"libphicoll-preload.so", "libphicoll-omp.so", "libphicoll-shmem.so", "oshrun"} <= set(built)
    assert [name for name, text in built.items() if "BIND_NOW" not in text and "Flags: NOW" not in text] == []
    assert [name for name, text in built.items() if "GNU_RELRO" not in text] == []
    for name in ("oshrun", "phicoll-bench"):
        assert "__stack_chk_fail" in built[name]
        assert re.search(r"__\w+_chk@", built[name])


def test_comparing_a_file_needs_no_heavy_package(tmp_path):
    from made_up import MadeUp

    path = MadeUp().write(tmp_path / "r.jsonl")
    code = f"import sys, json, phicoll; str(phicoll.load({str(path)!r}).compare()); print(json.dumps(sorted(sys.modules)))"
    loaded = json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
    assert not [name for name in HEAVY if name in loaded]


def test_every_public_name_resolves():
    for name in phicoll.__all__:
        assert getattr(phicoll, name) is not None
    assert set(phicoll.__all__) <= set(dir(phicoll))


def test_names_that_a_star_import_leaves_out_are_there_all_the_same():
    others = {*phicoll._LAZY, *phicoll._MODULES, *phicoll.errors.__all__, "__version__"} - {*phicoll.__all__}
    assert {"Algorithm", "Comparison", "Machine", "TimeoutError", "compare_with_baseline", "expand"} <= others
    for name in others:
        assert getattr(phicoll, name) is not None
    assert others <= set(dir(phicoll))


def test_a_package_that_documents_name_needs_no_import_of_its_own():
    code = "import phicoll; print(phicoll.tuning.candidates('barrier')[0], phicoll.models.optima.broadcast_tree(9).levels)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.startswith("dissemination")


def test_version_is_cmake_s():
    assert phicoll.__version__ == _core.__version__ == importlib.metadata.version("phicoll")
    cmake = Path(__file__).parents[1] / "CMakeLists.txt"
    assert f"project(phicoll VERSION {phicoll.__version__} " in cmake.read_text()


def test_the_package_carries_its_licence():
    found = importlib.metadata.distribution("phicoll")
    assert found.metadata["License-Expression"] == "BSD-3-Clause"
    assert found.metadata["Author"] == "The phicoll authors"
    (path,) = (file for file in found.files or [] if file.name == "LICENSE")
    assert Path(str(path.locate())).read_text() == (Path(__file__).parents[1] / "LICENSE").read_text()


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs the repository")
def test_the_sdist_has_what_a_build_reads_and_nothing_built(tmp_path: Path) -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    names = tracked.stdout.split()
    whole = {
        ".gitignore",
        "CMakeLists.txt",
        "LICENSE",
        "README.md",
        "pyproject.toml",
    }  # of the others the names count
    source = tmp_path / "source"
    for name in [*names, "build/main/a.o", ".venv/bin/python", "dist/phicoll.whl", "demo/report.html"]:
        path = source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((ROOT / name).read_bytes() if name in whole else b"")
    code = "import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])"
    subprocess.run([sys.executable, "-c", code, tmp_path], cwd=source, capture_output=True, check=True)
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    read = {name for name in names if name.partition("/")[0] in ("src", "cmake")}
    assert len(read) > 900
    assert read | whole | {"scripts/wheels.sh"} <= packed
    assert not {name.partition("/")[0] for name in packed} & {".venv", "build", "demo", "dist"}


def test_make_wheels_names_its_interpreters() -> None:
    script = ROOT / "scripts" / "wheels.sh"
    subprocess.run(["bash", "-n", script], check=True)
    alone = {"PATH": "/no", "HOME": "/no"}  # without an interpreter
    refused = subprocess.run(
        ["/bin/bash", "-c", 'dirname() { echo "${1%/*}"; }; source "$0"', script],
        env=alone, capture_output=True, text=True,
    )  # fmt: skip
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith("wheels: no interpreter: name some")
    planned = subprocess.run(
        ["make", "-n", "--no-print-directory", "wheels", "PYTHONS=/a/python /b/python", "JOBS=3"],
        cwd=ROOT, capture_output=True, text=True, check=True, env={"PATH": os.environ["PATH"]},
    )  # fmt: skip
    assert planned.stdout == "CMAKE_BUILD_PARALLEL_LEVEL=3 scripts/wheels.sh /a/python /b/python\n"


def test_phicoll_bench_is_a_console_script_that_becomes_the_program():
    scripts = importlib.metadata.distribution("phicoll").entry_points.select(group="console_scripts")
    assert {script.name: script.value for script in scripts}[
        "phicoll-bench"
    ] == "phicoll.scripts:phicoll_bench"
    code = "import sys; from phicoll.scripts import phicoll_bench; phicoll_bench()"
    words = ("run", "barrier", "--ranks", "0")
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("phicoll-bench: ranks: got '0'; allowed: ")


def names_in(body):
    """Public names that a stub's statements give: functions, classes and typed attributes."""
    names = {node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    names |= {node.target.id for node in body if isinstance(node, ast.AnnAssign)}
    return {name for name in names if not name.startswith("_")}


def test_stub_lists_what_the_core_has():
    stub = importlib.resources.files("phicoll").joinpath("_core.pyi").read_text()
    assert names_in(ast.parse(stub).body) == {name for name in dir(_core) if not name.startswith("_")}


def test_stub_lists_what_the_core_s_classes_have():
    stub = importlib.resources.files("phicoll").joinpath("_core.pyi").read_text()
    for node in ast.parse(stub).body:
        if isinstance(node, ast.ClassDef):
            found = {name for name in vars(getattr(_core, node.name)) if not name.startswith("_")}
            assert names_in(node.body) == found


def parameters(stubbed, documented):
    """The parameters' names by the stub and by pybind11's signature; one without a name there is what the stub says."""
    names = [one.arg for one in stubbed.args.posonlyargs + stubbed.args.args + stubbed.args.kwonlyargs]
    found = re.findall(r"(?:\(|, )(\w+): ", documented.splitlines()[0])
    unnamed = [re.fullmatch(r"arg\d+", name) is not None for name in found]
    return names, [names[i] if unnamed[i] and i < len(names) else name for i, name in enumerate(found)]


def test_stub_gives_the_core_s_parameters():
    stub = ast.parse(importlib.resources.files("phicoll").joinpath("_core.pyi").read_text())
    functions = [(node, getattr(_core, node.name)) for node in stub.body if isinstance(node, ast.FunctionDef)]
    for node in (node for node in stub.body if isinstance(node, ast.ClassDef)):
        methods = (one for one in node.body if isinstance(one, ast.FunctionDef) and not one.decorator_list)
        functions += [(one, getattr(getattr(_core, node.name), one.name)) for one in methods]
    checked = [parameters(one, found.__doc__) for one, found in functions if "(" in (found.__doc__ or "")]
    assert len(checked) > 100
    for stubbed, found in checked:
        assert stubbed == found


def test_package_is_marked_as_typed():
    assert importlib.resources.files("phicoll").joinpath("py.typed").is_file()


def test_core_docstrings_name_the_arguments():
    assert re.search(r"median_interval\(values: .*, confidence: ", _core.median_interval.__doc__)


def test_a_cmake_project_finds_the_pip_installation(tmp_path):
    cmake = shutil.which("cmake", path=str(Path(sys.executable).parent)) or shutil.which("cmake")
    if cmake is None or shutil.which("g++") is None:
        pytest.skip("needs CMake and g++")

    def run(*command):
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    folder = run(sys.executable, "-m", "phicoll", "--cmakedir").strip()
    project = Path(__file__).parent / "package"
    run(cmake, "-S", project, "-B", tmp_path, f"-Dphicoll_DIR={folder}", "-DCMAKE_BUILD_TYPE=Debug")
    run(cmake, "--build", tmp_path)
    assert run(tmp_path / "meet").startswith("4 ranks met by ")
    run(Path(folder).parent / "bin" / "oshrun", "-n", "2", tmp_path / "ring")
