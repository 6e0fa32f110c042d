"""Simulated machines as data, from Python and the command line; the files' rules are tested in C++."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from pathlib import Path

import pytest

import phicoll
from phicoll import _core, bench
from phicoll.models import CONSTANTS
from phicoll.registry.machines import machine_parameters

ROOT = Path(__file__).resolve().parent.parent
FILES = sorted((ROOT / "src/cpp/phicoll/sim/machines").glob("*.json"))
SHAPES = {
    "cell-qs20": (16, 16, 3200),
    "epyc-7742": (128, 256, 3400),
    "kunpeng-920": (64, 64, 2600),
    "sandy-bridge-e5-2670": (16, 32, 2600),
    "xeon-8375c": (64, 128, 3500),
    "xeon-phi-3120a": (57, 228, 1100),
    "xeon-phi-5110p": (60, 240, 1053),
    "xeon-phi-se10p": (61, 244, 1100),
}
KINDS = {"assumed", "calibrated", "derived", "guessed", "published"}


def test_the_shipped_machines():
    found = {m.name: (m.cores, m.contexts, m.clock_mhz) for m in phicoll.machines()}
    assert found == SHAPES
    assert "xeon-phi-5110p" in phicoll.machines()._repr_html_()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_shipped_file_is_the_machine_of_its_name(path):
    by_name = phicoll.load_machine(path.stem)
    assert phicoll.load_machine(path) == by_name
    written = json.loads(path.read_text())
    assert written["name"] == path.stem
    optional = {info["name"] for info in machine_parameters() if info["optional"]} - set(
        written["parameters"]
    )
    assert {name: entry["value"] for name, entry in written["parameters"].items()} == {
        name: value for name, value in by_name.parameters.items() if name not in optional
    }
    for name, entry in written["parameters"].items():
        assert by_name.evidence[name] == (entry["kind"], entry["source"])
        assert entry["kind"] in KINDS


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_shipped_file_has_a_line_for_each_constant_and_parameter_in_the_order_of_description(path):
    lines = [line for line in path.read_text().splitlines() if line.startswith("    ")]
    order = [*CONSTANTS, *(info["name"] for info in machine_parameters())]
    names = [line.split('"')[1] for line in lines]
    assert names == sorted(names, key=order.index)
    assert all('"value"' in line and '"kind"' in line and '"source"' in line for line in lines)


def test_changes_are_seen_in_name_digest_and_evidence():
    plain = phicoll.load_machine("xeon-phi-5110p")
    changed = phicoll.load_machine("xeon-phi-5110p:ring.hop=0:request.completion=data")
    assert changed.name == "xeon-phi-5110p:request.completion=data:ring.hop=0"
    assert (changed.parameters["ring.hop"], changed.parameters["request.completion"]) == (0, "data")
    assert changed.evidence["ring.hop"][0] == "changed"
    assert changed.digest != plain.digest
    assert phicoll.load_machine("xeon-phi-5110p").digest == plain.digest
    assert "ring.hop" in changed._repr_html_()


def test_a_file_of_one_s_own(tmp_path, monkeypatch):
    text = _core.machine_file_text("xeon-phi-5110p").replace('"name": "xeon-phi-5110p"', '"name": "mine"')
    path = tmp_path / "mine.json"
    path.write_text(text)
    assert phicoll.load_machine(path).name == "mine"
    assert phicoll.load_machine(f"{path}:ring.hop=1").name == "mine:ring.hop=1"
    monkeypatch.chdir(tmp_path)
    assert phicoll.load_machine("mine.json").digest == phicoll.load_machine("xeon-phi-5110p").digest
    (tmp_path / "mine").write_text(text)
    assert phicoll.load_machine(Path("mine")).name == "mine"


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (
            '"ring.hop": {"value":',
            '"ring.hop": {"value":-',
            "; allowed: a whole number, 0 to 1000 cycles",
        ),
        ('"ring.hop"', '"ring.hip"', "unknown parameter 'ring.hip'; allowed: nearest: ring.hop"),
        ('"ring.hop"', '"ring.inject"', '"ring.inject" for the second time'),
        ('"ring.hop": {"value":', '"ring.hop": {"val":', "unknown field 'val' in ring.hop"),
    ],
)
def test_a_mistake_is_reported_with_file_line_and_name(tmp_path, before, after, words):
    text = _core.machine_file_text("xeon-phi-5110p")
    assert before in text
    path = tmp_path / "bad.json"
    path.write_text(text.replace(before, after))
    line = 1 + text[: text.index(before)].count("\n") + ("second" in words)
    with pytest.raises(phicoll.ArgumentError) as caught:
        phicoll.load_machine(path)
    assert caught.value.argument == "machine"
    assert f"'{path}', line {line}: " in str(caught.value)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        ("xeon-phi-5110", "nearest: xeon-phi-5110p"),
        ("nowhere/machine.json", "No such file"),
        ("xeon-phi-5110p:ring.hops=0", "nearest: ring.hop"),
        ("xeon-phi-5110p:ring.hop=fast", "0 to 1000 cycles"),
    ],
)
def test_an_unknown_machine_or_parameter_is_refused(phicoll_command, machine, words):
    with pytest.raises(phicoll.ArgumentError, match=words):
        phicoll.load_machine(machine)
    done = phicoll_command("list", "machine", machine)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr


def test_list_prints_machines(phicoll_command):
    listed = phicoll_command("list", "machines")
    assert listed.returncode == 0
    assert [line.split()[0] for line in listed.stdout.splitlines()] == sorted(SHAPES)
    assert {one["name"] for one in json.loads(phicoll_command("list", "machines", "--json").stdout)} == set(
        SHAPES
    )
    shown = phicoll_command("list", "machine", "xeon-phi-5110p:ring.hop=1")
    assert "ring.hop = 1 cycles  (changed) from one ring stop to the next" in shown.stdout
    as_json = json.loads(phicoll_command("list", "machine", "xeon-phi-5110p", "--json").stdout)
    assert as_json["digest"] == phicoll.load_machine("xeon-phi-5110p").digest
    assert {"name", "value", "unit", "range", "kind", "source", "meaning"} == set(as_json["parameters"][0])
    assert phicoll_command("list", "machine").returncode == 2
    assert phicoll_command("list", "barrier", "xeon-phi-5110p").returncode == 2


def bench_command(*words):
    return subprocess.run([bench.find(), *words], capture_output=True, text=True, timeout=60, check=False)


def test_phicoll_bench_lists_the_same():
    listed = json.loads(bench_command("list", "machine", "sandy-bridge-e5-2670", "--json").stdout)
    assert listed == phicoll.load_machine("sandy-bridge-e5-2670").to_dict()
    names = [one["name"] for one in json.loads(bench_command("list", "machines", "--json").stdout)]
    assert names == phicoll.machines().names
    refused = bench_command("list", "machine", "xeon-phi-5110")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "nearest: xeon-phi-5110p" in refused.stderr


def test_the_documented_parameters_are_the_core_s():
    page = ROOT / "docs" / "machines.md"
    text = page.read_text()
    head, rest = text.split(" writes it -->\n")
    _, tail = rest.split("<!-- end of parameters -->")
    tables = []
    for title, protocols in (
        ("Of every protocol", (True, True, True)),
        ("Of `directory` and `table`", (True, True, False)),
        ("Of `directory`", (True, False, False)),
        ("Of `table`", (False, True, False)),
        ("Of `local-store`", (False, False, True)),
    ):
        of = [p for p in machine_parameters() if (p["directory"], p["table"], p["local-store"]) == protocols]
        usual = Counter(p["range"] for p in of).most_common(1)[0][0]
        tables += [f"### {title}", "", f"Ranges not given are {usual}.", ""]
        tables += ["| parameter | meaning (range) |", "|---|---|"]
        for p in of:
            unusual = "" if p["range"] == usual else f" ({p['range']})"
            tables.append(f"| `{p['name']}` | {p['meaning']}{unusual} |")
        tables.append("")
    table = "\n".join(tables).rstrip()
    wanted = f"{head} writes it -->\n\n{table}\n\n<!-- end of parameters -->{tail}"
    if os.environ.get("PHICOLL_UPDATE_DOCS"):
        page.write_text(wanted)
    assert page.read_text() == wanted
