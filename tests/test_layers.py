"""Layers: a folder of the C++ core includes only folders before it, a package of Python imports only packages before it.

Two wings, in C++ and in Python: the library, and the laboratory, which alone depends on the other. No folders, at any
depth, and no modules of Python depend on each other in a circle. Every header compiles alone.
"""

import ast
import functools
import re
import shutil
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from phicoll.foundations.laboratory import PARTS

SOURCE = Path(__file__).resolve().parent.parent / "src"
CPP = SOURCE / "cpp"
#: What a program links.
LIBRARY = [
    "arch",
    "support",
    "os",
    "memory",
    "waiting",
    "ports",
    "collectives",
    "messages",
    "group",
    "shmem",
    "preload",
]
#: What measures and simulates.
LABORATORY = ["kernels", "programs", "measure", "sim"]
LAYERS = LIBRARY + LABORATORY
#: The programs and Python's module, by wing; they are no layers of the core.
LIBRARY_PROGRAMS = ["bindings", "oshrun"]
LABORATORY_PROGRAMS = ["bench", "bindings/laboratory", "build_info"]
HEADERS = sorted(CPP.glob("phicoll/**/*.hpp"))


def layer_of(path: Path) -> str | None:
    parts = path.relative_to(CPP / "phicoll").parts
    return parts[0] if len(parts) > 1 else None


def test_every_folder_is_a_layer():
    folders = {p.name for p in (CPP / "phicoll").iterdir() if p.is_dir() and any(p.iterdir())}
    assert folders <= set(LAYERS)


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_includes_only_layers_before_it(layer):
    allowed = set(LAYERS[: LAYERS.index(layer) + 1])
    wrong = []
    for path in sorted((CPP / "phicoll" / layer).rglob("*.?pp")):
        for included in re.findall(r'#include [<"]phicoll/([^>"]+)[>"]', path.read_text()):
            folder = included.split("/")[0] if "/" in included else None
            if folder is not None and folder not in allowed:
                wrong.append(f"{path.relative_to(CPP)} includes {included}")
    assert wrong == []


def includes_of(folder: Path) -> dict[str, set[str]]:
    """The folders that each folder in or below ``folder`` includes; the core's are named without ``phicoll/``."""
    found: dict[str, set[str]] = {}
    for path in sorted(folder.rglob("*.?pp")):
        own = found.setdefault(folder_name(path.relative_to(CPP)), set())
        included = re.findall(
            r'#include [<"]((?:phicoll|bench|bindings|build_info)/[^>"]+)[>"]', path.read_text()
        )
        own |= {folder_name(Path(name)) for name in included}
    return found


def folder_name(path: Path) -> str:
    """``sim/engine`` for ``phicoll/sim/engine/ring.hpp``; empty for a file of ``phicoll/`` itself."""
    return path.parent.as_posix().removeprefix("phicoll").lstrip("/")


def in_a_circle(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """The part of a graph in which each node leads on and is led to: its circles, and what lies between them."""
    left = {node: edges - {node} for node, edges in graph.items()}
    while True:
        reached = set().union(*left.values())
        kept = {
            node: edges & left.keys()
            for node, edges in left.items()
            if edges & left.keys() and node in reached
        }
        if kept == left:
            return left
        left = kept


def test_no_folders_include_each_other_in_a_circle():
    circle = {"a/b": {"a/c"}, "a/c": {"a/d"}, "a/d": {"a/b"}}
    assert in_a_circle({**circle, "e": {"a/b"}, "f": set()}) == circle
    assert in_a_circle({"a/b": {"a/c"}, "a/c": {"e"}, "e": set()}) == {}
    graph = includes_of(CPP)
    assert {"collectives/barrier", "sim/engine", "bindings/laboratory"} <= set(graph)
    assert in_a_circle(graph) == {}


def test_no_files_of_the_groups_include_each_other_in_a_circle():
    graph: dict[str, set[str]] = {}  # of headers, each with its source
    for path in (CPP / "phicoll" / "group").glob("*.?pp"):
        included = re.findall(r'#include "phicoll/group/(\w+)\.hpp"', path.read_text())
        graph.setdefault(path.stem, set()).update(included)
    assert {"thread_group", "process_group"} <= set(graph)
    assert in_a_circle(graph) == {}


def test_the_library_includes_nothing_of_the_laboratory():
    wings = {**dict.fromkeys(LIBRARY + LIBRARY_PROGRAMS, "library")}
    wings |= dict.fromkeys(LABORATORY + LABORATORY_PROGRAMS, "laboratory")

    def wing(folder: str) -> str:
        while folder not in wings and "/" in folder:
            folder = folder.rpartition("/")[0]
        return wings[folder] if folder else "library"  # phicoll/ itself: errors and version

    wrong = [
        f"{folder} includes {other}"
        for folder, others in includes_of(CPP).items()
        for other in others
        if wing(folder) == "library" and wing(other) == "laboratory"
    ]
    assert wrong == []


def test_the_core_knows_no_python_and_no_boost():
    sources = (CPP / "phicoll").rglob("*.?pp")
    wrong = [p for p in sources if re.search(r"#include <(boost|pybind11|Python)", p.read_text())]
    assert wrong == []


def found_for_the_card(search: Callable[[str], list[str]]) -> list[str]:
    """What `search` finds in the headers and sources that are compiled for the card, "file:line: what" each."""
    host_only = {"sim", "preload", "bindings"}
    sources = [
        path for path in sorted(CPP.rglob("*.?pp")) if host_only.isdisjoint(path.relative_to(CPP).parts)
    ]
    return [f"{path.relative_to(CPP)}:{line}" for path in sources for line in search(path.read_text())]


#: `const` locals of built-in types, and of `auto` but lambdas.
CONST_LOCAL = re.compile(
    r"\bconst (?:bool|int|long|unsigned|float|double|auto|std::size_t|std::u?int\d+_t) (\w+) = (?!\[)"
)


def without_comments(text: str) -> str:
    return re.sub(r"//.*", lambda comment: " " * len(comment[0]), text)


def implicit_constants(text: str) -> list[str]:
    """The `const` locals that templates capture by a bare `[&]`: "line: names" for each such lambda.

    A template is a lambda with an `auto` parameter, and any lambda in a function template, a class template or a header.
    """
    code = without_comments(text)
    found = []
    for capture in re.finditer(r"\[&([^\]]*)\](?=[^;{}]*\{)", code):
        begin = end = code.index("{", capture.end())
        depth = 0
        while end == begin or depth > 0:
            depth += {"{": 1, "}": -1}.get(code[end], 0)
            end += 1
        body = code[begin:end]
        named = re.findall(r"\w+", capture[1]) + CONST_LOCAL.findall(body)
        used = set(re.findall(r"(?<![\w.])[A-Za-z_]\w*", body)).difference(named)
        if used.isdisjoint(CONST_LOCAL.findall(code[: capture.start()])):
            continue
        scopes, depth = [""], 0  # the open scopes around the lambda, without the closed ones in them
        for character in code[: capture.start()]:
            depth += {"{": 1, "}": -1}.get(character, 0)
            while len(scopes) > depth + 1:
                scopes.pop()
            scopes += [""] * (depth + 1 - len(scopes))
            scopes[-1] += character
        heads = code[capture.end() : begin] + " ".join(re.split(r"[;}]", scope)[-1] for scope in scopes)
        if re.search(r"\bauto\b[\s&]*\w*[,)]|\btemplate <", heads) is None and "#pragma once" not in text:
            continue
        names = [name for name in CONST_LOCAL.findall("".join(scopes)) if name in used]
        if names:
            found.append(f"{code[: capture.start()].count(chr(10)) + 1}: {', '.join(names)}")
    return found


def test_no_template_captures_a_constant_without_naming_it():
    """The card's GCC 5.1.1 crashes at a template's `[&]` that captures a `const` local: `[&, size]` compiles."""
    plain = "void f() {\n  const std::size_t size = g();\n  use([&](int r) { return r * size; });\n}\n"
    for bad in (
        plain.replace("int r", "auto r"),
        "template <class T>\n" + plain,
        "template <class T>\nclass C {\n" + plain + "};\n",
    ):
        for kind in ("std::size_t", "long"):
            found = implicit_constants(bad.replace("std::size_t", kind))
            assert [one.split(": ")[1] for one in found] == ["size"]
        assert implicit_constants(bad.replace("[&]", "[&, size]")) == []
    assert implicit_constants("#pragma once\n" + plain) == ["4: size"]
    assert implicit_constants(plain) == []
    assert implicit_constants("template <class T>\nvoid g() {}\n" + plain) == []
    assert found_for_the_card(implicit_constants) == []


def deduced_lists(text: str) -> list[str]:
    """The `auto` locals that a braced list initialises, each as "line: name"."""
    code = without_comments(text)
    found = re.finditer(r"\bauto\b[\s&]*(\w+)\s*=?\s*\{", code)
    return [f"{code[: local.start()].count(chr(10)) + 1}: {local[1]}" for local in found]


def test_no_list_has_a_deduced_type():
    """The card's GCC 5.1.1 makes `const auto x = {"a"}` a list of `const char* const`, which is no list of `const char*`."""
    assert deduced_lists('f();\nconst auto ways = {"a", "b"};\n') == ["2: ways"]
    assert deduced_lists("auto&& one{1};") == ["1: one"]
    assert (
        deduced_lists("const std::initializer_list<int> n = {1};\nconst auto f = [] { return 1; };\n") == []
    )
    assert deduced_lists("auto f() -> int { return 1; }\nfor (const auto& x : {1, 2}) {}\n") == []
    assert found_for_the_card(deduced_lists) == []


def looks_at_two_bytes(text: str) -> list[str]:
    """The instances of `load` and `look_for`, the looks of a wait, for words of two bytes: "line: what"."""
    code = without_comments(text)
    found = re.finditer(r"\b(?:load|look_for)<std::u?int16_t>", code)
    return [f"{code[: look.start()].count(chr(10)) + 1}: {look[0]}" for look in found]


def test_no_wait_looks_at_a_word_of_two_bytes():
    """The card's GCC 5.1.1 reads it by `kmov` from memory, an instruction that the card's manual lacks."""
    assert looks_at_two_bytes("\nreturn load<std::uint16_t>();") == ["2: load<std::uint16_t>"]
    assert looks_at_two_bytes("return load<std::uint32_t>();") == []
    assert found_for_the_card(looks_at_two_bytes) == []


#: A function template with its parameters, and a generic lambda among a function's arguments with its own.
TEMPLATE = re.compile(r"^ *template <[^;{}]*?>\s+[^;{}()=]*?\b(\w+)\(([^(){};]*)\)", re.MULTILINE)
PASSED = re.compile(r"\b(\w+)\((?:[^()\[\];{}]|\([^()]*\))*\[[^\]]*\]\(([^()]*\bauto\b[^()]*)\)")


def parameters_of_templates(text: str) -> list[str]:
    """Each "line: function parameter"."""
    return passed_by(TEMPLATE, text)


def parameters_of_lambdas(text: str) -> list[str]:
    """Those of generic lambdas, with the functions that they are passed to: "line: function parameter"."""
    return passed_by(PASSED, text)


def passed_by(pattern: re.Pattern[str], text: str) -> list[str]:
    code = without_comments(text)
    return [
        f"{code.count(chr(10), 0, found.start()) + 1}: {found[1]} {name}"
        for found in pattern.finditer(code)
        for name in re.findall(r"(\w+)\s*(?:,|$)", found[2])
    ]


def test_no_lambda_s_parameter_has_the_name_of_one_of_its_caller():
    """The card's GCC 5.1.1 warns of a shadow where a template passes a generic lambda to a template."""
    assert parameters_of_templates("\ntemplate <class U>\nvoid f(Op one, U&& use) {}\n") == [
        "2: f one",
        "2: f use",
    ]
    assert parameters_of_lambdas("f(work.one,\n  [&](auto one) {});") == ["1: f one"]
    names = {found.split(": ")[1] for found in found_for_the_card(parameters_of_templates)}
    assert "with_operation operation" in names
    passed = found_for_the_card(parameters_of_lambdas)
    assert len(passed) > 10
    assert [found for found in passed if found.split(": ")[1] in names] == []


def long_functions(text: str, most: int = 100) -> list[str]:
    """The functions whose bodies, braces included, have more than `most` lines, each as "line: lines"."""
    literal = r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|//[^\n]*'
    code = re.sub(literal, lambda found: re.sub(r"[{}();]", "_", found[0]), text)
    found, opened = [], []
    for brace in re.finditer(r"[{}]", code):
        line = code.count("\n", 0, brace.start()) + 1
        if brace[0] == "{":
            head = re.split(r"[;{}]", code[: brace.start()])[-1]
            scope = re.search(r"\b(namespace|class|struct|union|enum|extern)\b", head)
            function = re.search(r"\)\s*(const|noexcept|override|\s)*$", head)
            opened.append((line, scope is not None and function is None))
            continue
        begin, scope = opened.pop()
        if not scope and line - begin + 1 > most:
            found.append(f"{begin}: {line - begin + 1}")
    return found


def long_functions_of_python(text: str, most: int = 100) -> list[str]:
    """The functions with more than `most` lines below their docstring, each as "line: lines"."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            body = node.body[ast.get_docstring(node) is not None :]
            lines = (node.end_lineno or 0) - body[0].lineno + 1 if body else 0
            if lines > most:
                found.append(f"{node.lineno}: {lines}")
    return found


def test_no_function_has_more_than_a_hundred_lines():
    body = "  f();\n" * 99
    assert long_functions("namespace n {\nvoid f(int x) {\n" + body + "}\n}\n") == ["2: 101"]
    assert long_functions("struct S {\nvoid f(int x) {\n" + body[:-7] + "}\n  // {\n};\n") == []
    wrong = [
        f"{p.relative_to(CPP)}:{found}" for p in CPP.rglob("*.?pp") for found in long_functions(p.read_text())
    ]
    assert wrong == []


def test_no_function_of_python_has_more_than_a_hundred_lines():
    words, body = '    """' + "Words.\n" * 50 + '    """\n', "    f()\n" * 100
    assert long_functions_of_python("def f():\n" + words + body + "    f()\n") == ["1: 101"]
    assert long_functions_of_python("def f():\n" + words + body) == []
    sources = [p for folder in ("src", "benchmarks") for p in (SOURCE.parent / folder).rglob("*.py")]
    wrong = [f"{p}:{found}" for p in sources for found in long_functions_of_python(p.read_text())]
    assert wrong == []


def test_a_communicator_s_functions_are_few():
    """They were some 140, with five friends, before its calls followed from a list and messages had a class of their own."""
    text = without_comments((CPP / "phicoll/group/communicator.hpp").read_text())
    own = text[text.index("class alignas") : text.index("inline void Communicator::call")]
    functions = re.findall(r"\b(?!using\b)[~\w]+\([^;{}]*\)\s*(?:const)?\s*(?::[^;{]*)?[;{]", own)
    assert 30 < len(functions) <= 60
    assert len(re.findall(r"\bfriend\b", own)) <= 2


def test_the_walk_of_a_call_enters_no_folder_twice():
    page = (SOURCE.parent / "docs" / "design.md").read_text()
    stops = re.findall(r"^\| `(\S+\.[ch]pp)` \| (`.*?`) \|", page, re.MULTILINE)
    assert len(stops) >= 10
    for file, functions in stops:
        path = CPP / file if file.startswith("bindings/") else CPP / "phicoll" / file
        for function in re.findall(r"`(\w+)`", functions):
            assert re.search(rf"\b{function}\(", path.read_text()), f"{file} has no {function}"
    folders = [file.split("/")[0] for file, _ in stops]
    rooms = [folder for folder, before in zip(folders, ["", *folders], strict=False) if folder != before]
    assert len(rooms) == len(set(rooms)), rooms
    order = ["bindings", *reversed(LIBRARY)]
    assert rooms == sorted(rooms, key=order.index)


#: Folders whose sources are compiled as one (phicoll_by_folder).
AS_ONE = {"kernels", "programs", "measure", "sim", "bench"}


def first_included() -> set[str]:
    """The headers that a source compiled alone includes first: the build shows that these compile alone."""
    alone = (path for path in CPP.rglob("*.cpp") if AS_ONE.isdisjoint(path.relative_to(CPP).parts))
    includes = (re.search(r'#include [<"]([^>"]+)', path.read_text()) for path in alone)
    return {found[1] for found in includes if found}


@pytest.mark.long
def test_every_header_compiles_alone(tmp_path):
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("needs g++")
    # What CMake writes, for headers that include it.
    (tmp_path / "phicoll").mkdir()
    (tmp_path / "phicoll" / "version.hpp").write_text('#define PHICOLL_VERSION "0"\n')

    def compile_alone(header: Path) -> str:
        standard = "c++20" if layer_of(header) == "sim" else "c++14"
        command = [compiler, f"-std={standard}", "-Wall", "-Wextra", "-fsyntax-only"]
        result = subprocess.run(
            [*command, "-I", CPP, "-I", tmp_path, "-x", "c++", header], capture_output=True, text=True
        )
        errors = [line for line in result.stderr.splitlines() if "error" in line]
        return f"{header.relative_to(CPP)}: {errors[0]}" if result.returncode else ""

    # arch.hpp includes one of these after what they share; the others are for other compilers.
    foreign = {"aarch64.hpp", "k1om.hpp", "x86_64.hpp"}
    first = first_included()
    headers = [h for h in HEADERS if h.name not in foreign and str(h.relative_to(CPP)) not in first]
    assert len(headers) > len(HEADERS) / 2
    with ThreadPoolExecutor(max_workers=2) as pool:
        failures = [failure for failure in pool.map(compile_alone, headers) if failure]
    assert failures == []


# Python: src/phicoll

#: The packages, lowest first, those inside others included. A package that is not named is part of its parent.
LIBRARY_PACKAGES = ["foundations", "comm", "shmem", "preload", "torch"]
LABORATORY_PACKAGES = [
    "registry",
    "results",
    "plots",
    "measuring",
    "explaining",
    "models.constants",
    "models.equations",
    "models.fits",
    "models.optima",
    "models",
    "models.characterizing",
    "models.tuning",
    "papers",
    "papers.claims",
    "papers.validation",
    "papers.verdicts",
    "report",
]
#: On top: the names of phicoll and the commands, which load what they need of either wing.
PACKAGES = [*LIBRARY_PACKAGES, *LABORATORY_PACKAGES, "cli"]

#: Modules outside the packages, each with the package in whose layer it is. Their names are public.
LOOSE = {
    "errors": "foundations",  # raised by the core, caught by users
    "_core": "foundations",  # the core: C++
    "_rank": "comm",  # what a rank of phicoll.run runs
    "scripts": "foundations",  # the programs phicoll-bench, oshcc, oshc++ and oshrun
    "launch": "comm",  # python -m phicoll.launch
    "MPI": "comm",  # mpi4py's names
    "bench": "measuring",  # the program phicoll-bench
    "": "cli",  # phicoll itself: public names, loaded at first use
    "__main__": "cli",  # python -m phicoll
    "pytest_plugin": "cli",  # loaded by pytest
}

#: The only late import of a higher package: ``Results.plot``.
LATE = {"results.results": {"plots"}}


def module_name(path: Path) -> str:
    """``results.compare`` for ``src/phicoll/results/compare/__init__.py``; empty for phicoll itself."""
    parts = path.relative_to(SOURCE / "phicoll").with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {
    module_name(p): p for p in sorted((SOURCE / "phicoll").rglob("*.py*")) if p.suffix in (".py", ".pyi")
}


def package_of(module: str) -> str:
    if module in LOOSE:
        return LOOSE[module]
    return max((p for p in PACKAGES if f"{module}.".startswith(f"{p}.")), key=len)


@functools.cache
def imports_of(module: str) -> tuple[set[str], set[str]]:
    """The modules of phicoll that a module imports: when it is loaded, and later or for type checkers alone."""
    at_once: set[str] = set()
    later: set[str] = set()

    def visit(node: ast.AST, found: set[str]) -> None:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            found = later
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            found = later
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: a relative import"
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            known = {name for name in inside if name.removeprefix("phicoll.") in MODULES}
            found |= known | ({node.module or ""} if inside - known else set())
        for child in ast.iter_child_nodes(node):
            visit(child, found)

    visit(ast.parse(MODULES[module].read_text()), at_once)

    def ours(names: set[str]) -> set[str]:
        found = {
            name.removeprefix("phicoll").lstrip(".") for name in names if f"{name}.".startswith("phicoll.")
        }
        assert found <= set(MODULES), f"{module} imports {found - set(MODULES)}"
        return found - {module}

    return ours(at_once), ours(later)


def held(module: str) -> set[str]:
    """The modules that a module imports at any time, except the late imports that it is allowed."""
    at_once, later = imports_of(module)
    return at_once | (later - LATE.get(module, set()))


def test_every_module_of_python_is_in_a_package():
    folders = {
        p.parent.relative_to(SOURCE / "phicoll").parts[0]
        for p in MODULES.values()
        if p.parent.name != "phicoll"
    }
    assert folders == {package.split(".")[0] for package in PACKAGES}
    assert {module for module, path in MODULES.items() if path.parent.name == "phicoll"} == set(LOOSE)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_imports_only_packages_before_it(package):
    allowed = PACKAGES[: PACKAGES.index(package) + 1]
    modules = [module for module in MODULES if package_of(module) == package]
    assert modules
    wrong = [f"{m} imports {n}" for m in modules for n in held(m) if package_of(n) not in allowed]
    assert wrong == []


def test_no_modules_import_each_other_in_a_circle():
    assert in_a_circle({module: held(module) for module in MODULES}) == {}


def test_no_folders_of_modules_import_each_other_in_a_circle():
    graph: dict[str, set[str]] = {}
    for module in MODULES:
        graph.setdefault(folder_of(module), set()).update(map(folder_of, held(module)))
    assert "papers/validation/predictions" in graph
    assert in_a_circle(graph) == {}


def folder_of(module: str) -> str:
    """The folder of a module: ``results/compare``; a module outside the packages is one of its package's layer."""
    if module in LOOSE:
        return LOOSE[module]
    return MODULES[module].parent.relative_to(SOURCE / "phicoll").as_posix()


def test_the_wheel_of_the_library_is_its_wing():
    laboratory = {package for package in LABORATORY_PACKAGES if "." not in package}
    laboratory |= {module for module, package in LOOSE.items() if package in LABORATORY_PACKAGES}
    assert set(PARTS) == laboratory
    overrides = (
        (SOURCE.parent / "pyproject.toml").read_text().partition("wheel.exclude = [")[2].partition("]")[0]
    )
    left_out = {Path(path).stem for path in re.findall(r'"phicoll/(.+)"', overrides)}
    assert left_out == laboratory


def test_the_library_calls_nothing_of_the_laboratory_s_bindings():
    made = "".join(path.read_text() for path in (CPP / "bindings" / "laboratory").glob("*.cpp"))
    names = set(re.findall(r'(?:module\.def\(\s*|class_<[^>]+>\(module, )"(\w+)"', made))
    assert {"algorithms", "SimulatedRun", "calibrate"} <= names
    library = [module for module in MODULES if package_of(module) in LIBRARY_PACKAGES and module != "_core"]
    used = {
        (module, name)
        for module in library
        for name in re.findall(r"_core\.(\w+)", MODULES[module].read_text())
        if name in names
    }
    assert used == set()


def test_late_binding_is_where_it_is_named_and_nowhere_hidden():
    for module, names in LATE.items():
        assert names <= imports_of(module)[1]
    by_name = {m for m, p in MODULES.items() if re.search(r"import_module|__import__", p.read_text())}
    # Lazy names, what the server of ranks imports beforehand, what either wing has.
    assert by_name == {"", "comm", "comm.rank_server", "foundations.laboratory"}
