"""The demo and its report: every section is there, it needs no network, and it says what the numbers say."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import pytest

import phicoll
from made_up import DEFAULT, MadeUp, MadeUpSubject
from phicoll import bench
from phicoll.errors import ArgumentError
from phicoll.plots.live import describe, page as page_of
from phicoll.report.build import SECTIONS, build
from phicoll.report.demo import counted, demo, main, measure, measure_parts, rebuild
from phicoll.report.material.evidence import Doctor, Evidence, gather
from phicoll.report.material.figures import figures
from phicoll.report.material.html import duration, number
from phicoll.report.material.levels import find_levels
from phicoll.report.material.parts import (
    DATA,
    MAIN,
    MPI_FILE,
    PAPERS,
    PLACES,
    RESULTS,
    plan_parts,
    rank_counts,
    split_parts,
)
from phicoll.report.material.simulated import FILE, PATH_FILE, Simulated, reload, simulate
from phicoll.report.sections import simulated as simulated_section
from phicoll.report.sections.barriers import body as barriers
from phicoll.report.sections.machine import body as machine
from phicoll.report.sections.reproduce import body as reproduce
from phicoll.report.sections.summary import body as summary

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "benchmarks"))
from as_results import as_results
from points import Taken

SUBJECTS = (
    *DEFAULT[:3],
    MadeUpSubject("hand-one-line", 1.0, origin="reference"),
    MadeUpSubject("hand-two-lines", 1.6, origin="reference"),
    MadeUpSubject("std-barrier", 9.0, origin="reference"),
)
CROWD = (
    *DEFAULT[:3],
    MadeUpSubject("hand-counter-per-cpu", 1.0, origin="reference"),
    MadeUpSubject("std-barrier", 9.0, origin="reference"),
)


class Reader(HTMLParser):
    """Collects ids, links, and everything that a browser would load."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.open: list[str] = []
        self.policy = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if found.get("id"):
            self.ids.append(str(found["id"]))
        if tag == "a":
            self.links.append(str(found.get("href")))
        if tag == "meta":
            self.policy += found.get("content", "") if "http-equiv" in found else ""
        elif tag != "a" and ("href" in found or "src" in found):
            self.loaded.append(str(found.get("src") or found.get("href")))
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert not reader.open
    return reader


def without_scripts(page: str) -> str:
    return re.sub(r"<script.*?</script>", "", page, flags=re.S)


def words(page: str) -> str:
    return re.sub(r"<[^>]+>", "", without_scripts(page))


def records(subjects=SUBJECTS, **options) -> str:
    return MadeUp(subjects=subjects, modes=("threads", "processes"), launches=12, rounds=4, **options).text()


@pytest.fixture(scope="module")
def simulated() -> Simulated:
    return simulate(quick=True)


@pytest.fixture(scope="module")
def made_up_evidence(tmp_path_factory, simulated) -> Evidence:
    """Two and eight ranks; the middle reading of a machine that shares a core now and then."""
    path = tmp_path_factory.mktemp("report") / "results.jsonl"
    path.write_text(
        records(ranks=(2,), run="a" * 16, same_core=0.2) + records(CROWD, ranks=(8,), run="b" * 16)
    )
    return gather(
        phicoll.load(path), Doctor([("CPU quota", "none")], ["Something <else> is running."]), simulated
    )


@pytest.fixture(scope="module")
def made_up_page(made_up_evidence) -> str:
    return build(made_up_evidence)


def check_page(page: str, without: tuple[str, ...] = ()) -> None:
    """Checks that hold for every report; ``without`` are sections that it has nothing for."""
    reader = read(page)
    for section in SECTIONS:
        assert (section.ANCHOR in reader.ids) == (section.ANCHOR not in without), section.TITLE
    assert len(reader.ids) == len(set(reader.ids))
    for link in reader.links:
        assert link in ("results.jsonl", RESULTS, FILE, PATH_FILE) or (
            link.startswith("#") and link[1:] in reader.ids
        ), link
    assert reader.loaded
    assert all(source.startswith("data:image/png;base64,") for source in reader.loaded)
    assert reader.policy.startswith("default-src 'none';")
    assert "http" not in reader.policy
    assert len(page) < 6e6
    plain = without_scripts(page)
    assert "@import" not in plain
    assert not re.search(r"url\(", plain)
    words = re.sub(r"<style>.*?</style>|data:image[^\"]*|<[^>]*>", " ", plain, flags=re.S)
    assert not re.search(r"\b(nan|None|inf|Estimate|Ratio\()\b", words)


def test_a_report_of_made_up_records_is_whole_and_loads_nothing(made_up_evidence, made_up_page):
    check_page(made_up_page, without=("data",))
    assert "Something &lt;else&gt; is running." in made_up_page
    for finding in made_up_evidence.findings:
        assert f'id="claim-{finding.claim.number}"' in made_up_page


def test_sentences_name_the_best_the_limit_and_the_references(made_up_evidence):
    text = words(summary(made_up_evidence))
    best = "The fastest barrier is dissemination:ways=3"
    assert f"2 ranks on 2 CPUs, threads. {best}" in text
    assert "as long as the hand-written reference, hand-one-line" in text
    assert "The best of other systems, std-barrier, takes" in text
    assert f"8 ranks on 2 CPUs, threads. {best}" in text
    assert "rounds ran on one physical core" in text
    text = words(barriers(made_up_evidence))
    assert "8 ranks on 2 CPUs, threads, back to back. The fastest is dissemination:ways=3" in text
    assert re.search(r"1\.[01]\d switches", text)
    assert "no difference resolved" in text  # threads and processes were drawn alike


def test_what_is_not_resolved_is_said(tmp_path):
    path = tmp_path / "r.jsonl"
    equal = (MadeUpSubject("tree:degree=6", 2.0), MadeUpSubject("sense-reversing", 2.0), *SUBJECTS[3:])
    path.write_text(records(equal, ranks=(2,)))
    assert "Not resolved from it: " in words(barriers(gather(phicoll.load(path), Doctor())))


def test_every_figure_can_be_drawn_and_is_named_in_the_page(made_up_evidence, made_up_page, tmp_path):
    known = figures(made_up_evidence)
    assert {
        "overview",
        "barriers",
        "probes",
        "counts",
        "simulated-ranks",
        "simulated-path",
    } <= set(known)
    for name in known:
        assert f"--figure {name}" in made_up_page
    known["barriers"]().savefig(tmp_path / "barriers.png")
    assert (tmp_path / "barriers.png").stat().st_size > 10_000


def test_figures_have_what_the_mouse_is_told(made_up_evidence):
    found = describe(figures(made_up_evidence)["barriers"]())
    told = [text for trace in found["data"] for text in trace.get("text", [])]
    assert "dissemination:ways=3, threads: " in " ".join(told)
    names = [re.sub(r"<.*?>", "", name) for name in found["layout"]["yaxis"]["ticktext"]]
    assert next(iter(found["sorts"])) == "2 ranks, back to back"
    for order in found["sorts"].values():
        assert sorted(order) == list(range(len(names)))
    crowd = [names[row] for row in found["sorts"]["8 ranks, back to back"]]
    assert crowd.index("hand-counter-per-cpu") < crowd.index("std-barrier") < crowd.index("hand-one-line")


def test_the_critical_path_is_a_timeline_to_zoom(simulated):
    found = describe(simulated.path.plot())
    bars = [trace for trace in found["data"] if trace["type"] == "bar"]
    ns = 1000 / simulated.path.data["clock_mhz"]
    for cause, cycles in simulated.path.data["path"]["by_cause"].items():
        of_cause = [trace for trace in bars if trace["name"].startswith(cause)]
        assert sum(sum(trace["x"]) for trace in of_cause) == pytest.approx(cycles * ns, rel=1e-3), cause
    assert all(len(trace["text"]) == len(trace["x"]) for trace in bars)
    assert found["layout"]["yaxis"]["fixedrange"]
    assert "fixedrange" not in found["layout"]["xaxis"]


def test_a_report_without_one_verified_point_says_so(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_text(records([MadeUpSubject("tree:degree=6", 1.0, verified=False)], ranks=(2,)))
    page = build(gather(phicoll.load(path), Doctor()))
    assert "failed verification" in page


def test_parts_fit_the_budget_and_the_machine():
    assert rank_counts(1) == [2, 8]
    assert rank_counts(2) == [2, 8]
    assert rank_counts(64) == [2, 64, 128]
    for cpus in (1, 2, 64):
        parts = plan_parts(60, cpus=cpus)
        budgets = [float(part.arguments[part.arguments.index("--budget") + 1]) for part in parts]
        assert 40 <= sum(budgets) <= 61
        for part in parts:
            assert ("--oversubscribe" in part.arguments) == (part.ranks > cpus)
        assert (PLACES in {part.kind for part in parts}) == (cpus > 1)


def test_levels_are_found_only_where_there_is_a_gap():
    two = [40.0 + i % 3 for i in range(30)] + [160.0 + i % 7 for i in range(70)]
    found = find_levels(two)
    assert found is not None
    assert found.low_ns == pytest.approx(41, abs=2)
    assert found.high_ns == pytest.approx(163, abs=4)
    assert found.low_share == pytest.approx(0.3)
    assert find_levels([100.0 + i for i in range(100)]) is None
    assert find_levels([100.0] * 99 + [500.0]) is None  # one value is not a level
    assert find_levels([40.0, 160.0]) is None


def test_numbers_are_rounded_for_reading():
    assert [number(v) for v in (None, 0.123, 1.456, 12.34, 1234.5)] == ["–", "0.12", "1.46", "12.3", "1,234"]
    assert [duration(v) for v in (166, 4506, 3.2e6)] == ["166 ns", "4.51 µs", "3.20 ms"]


@pytest.fixture(scope="module")
def quick(tmp_path_factory) -> Path:
    """A real run on this machine, a short one; longer where it is too busy to reach all sizes, without a page for these."""

    def reaches_all(evidence: Evidence) -> bool:
        found = words(summary(evidence))
        return all(re.search(rf"{name} of 8 B [^;]* of 64 KB", found) for name in ("broadcast", "allreduce"))

    for budget_s in (4, 12, 40):
        folder = tmp_path_factory.mktemp("demo") / "deep" / "demo"
        tried: list[bool] = []

        def page(evidence: Evidence, last: bool = budget_s == 40, tried: list[bool] = tried) -> str:
            tried.append(reaches_all(evidence) or last)
            return build(evidence) if tried[-1] else ""

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("phicoll.report.build.build", page)
            demo(folder, quick=True, budget_s=budget_s, progress=False)
        if tried == [True]:
            break
    return folder


@pytest.fixture(scope="module")
def quick_evidence(quick) -> Evidence:
    """Its records, with nothing that the doctor says of this machine."""
    return gather(phicoll.load(quick / RESULTS), Doctor(), reload(quick))


@pytest.fixture(scope="module")
def quick_page(quick, tmp_path_factory) -> str:
    """The page made again from the records, with nothing that the doctor says of this machine."""
    folder = tmp_path_factory.mktemp("again")
    assert main(["--from", str(quick / RESULTS), "--out", str(folder)]) == 0
    return (folder / "report.html").read_text(encoding="utf-8")


def test_the_quick_demo_writes_a_whole_report(quick):
    check_page((quick / "report.html").read_text(encoding="utf-8"))
    assert sorted(path.name for path in quick.iterdir()) == sorted(["report.html", RESULTS, FILE, PATH_FILE])


def test_the_demo_keeps_every_record(quick):
    results = phicoll.load(quick / RESULTS)
    assert len(results.contexts) == len(results.ends)
    kinds = [part.kind for part in split_parts(results)]
    assert kinds.count(MAIN) >= 2
    assert kinds.count(PAPERS) == 1
    assert kinds.count(DATA) == 2
    assert not results.unverified
    assert {point["mode"] for point in results.points} == {"threads", "processes"}


@pytest.mark.parametrize("spoiled", ["auto", "all"])
def test_a_report_takes_data_in_no_time_at_all(quick, spoiled):
    """What is left of a loop once the writing alone is subtracted can be nothing."""
    records = [dict(record) for record in phicoll.load(quick / RESULTS).records]
    small = {
        (record["run"], record["point"])
        for record in records
        if record["kind"] == "point" and record["size_bytes"] == 8 and spoiled in (record["algorithm"], "all")
    }
    for record in records:
        if record["kind"] == "sample" and (record["run"], record["point"]) in small:
            record["value_ns"] = 1e-6 if record["round"] % 2 else 0.0
    check_page(build(gather(phicoll.Results(records), Doctor(), reload(quick))))


def test_what_is_simulated_is_kept_apart_and_comes_out_the_same_again(quick, simulated):
    kept = phicoll.load(quick / FILE)
    assert {point["mode"] for point in kept.points} == {"simulated"}
    assert [s["cycles"] for s in kept.samples] == [s["cycles"] for s in simulated.results.samples]
    again = reload(quick)
    assert again is not None
    assert again.path.data["path"] == simulated.path.data["path"]
    assert json.loads((quick / PATH_FILE).read_text())["path"] == simulated.path.data["path"]
    assert reload(quick.parent) is None


def test_the_simulated_section_says_what_its_records_say(made_up_evidence, simulated):
    times = simulated_section.times_of(simulated)
    at_240 = {name: sum(by[240]) / len(by[240]) for name, by in times.items()}
    order = sorted(at_240, key=lambda name: at_240[name])
    text = re.sub(r"<[^>]+>", "", simulated_section.body(made_up_evidence))
    assert f"At 240 simulated ranks {order[0]} is the fastest with {duration(at_240[order[0]])}" in text
    assert f"{order[-1]}, the slowest of these, {number(at_240[order[-1]] / at_240[order[0]])} times" in text
    assert duration(simulated.path.path_ns) in text
    assert text.count("Simulated, not measured") == 2
    assert simulated.results.points[0]["machine_digest"] in text
    assert order[0] == "hybrid-dissemination"
    assert "It wins because it sends 360 messages between cores where dissemination sends 1,620" in text
    made_up_evidence_without = gather(made_up_evidence.results, made_up_evidence.doctor)
    assert simulated_section.body(made_up_evidence_without) == ""


def test_the_report_says_why_the_fastest_barrier_wins_where_counts_tell(made_up_evidence):
    def reason(*names):
        return re.sub(r"<[^>]+>", "", simulated_section.reason(*names, 240, made_up_evidence.counts))

    messages = "it sends 360 messages between cores where dissemination sends 1,620"
    chain = "its longest chain of messages is 10 where that of combining-tree is 16"
    assert reason("hybrid-dissemination", "dissemination") == f" It wins because {messages} (counted)."
    assert (
        reason("hybrid-dissemination", "combining-tree")
        == f" It wins because {messages}, and {chain} (counted)."
    )
    assert (
        reason("dissemination", "hybrid-dissemination")
        == " It wins because its longest chain of messages is 8 where that of hybrid-dissemination is 10 (counted)."
    )
    assert reason("combining-tree:notify=global", "dissemination") == ""  # not counted


def test_the_report_can_be_made_again_from_the_records(quick, quick_page, tmp_path, phicoll_command):
    check_page(quick_page)
    done = phicoll_command("demo", "--from", quick / RESULTS, "--out", tmp_path, "--figure", "counts")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "counts.png").stat().st_size > 10_000


def test_bad_input_is_refused_before_measuring(tmp_path):
    with pytest.raises(ArgumentError, match="budget: got"):
        demo(tmp_path, budget_s=0.1)
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(ArgumentError, match="out: got"):
        demo(file / "below")
    with pytest.raises(ArgumentError, match="figure: got"):
        main(["--figure", "counts"])
    results = tmp_path / "r.jsonl"
    results.write_text(json.dumps({"some": "thing"}) + "\n")
    with pytest.raises(ArgumentError):
        rebuild(results, tmp_path)
    assert not (tmp_path / "report.html").exists()


def test_an_unknown_figure_is_refused_with_those_there_are(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_text(records(ranks=(2,)))
    with pytest.raises(ArgumentError, match="barriers"):
        rebuild(path, tmp_path, "limit-3")


def test_data_is_shown_over_sizes_beside_barriers(quick_evidence, quick_page):
    assert [part.operation for part in quick_evidence.data] == ["broadcast", "allreduce"]
    text = words(summary(quick_evidence))
    assert re.search(r"Data, 2 processes\. auto takes for a broadcast of 8 B [\d.]+ .s and of 64 KB", text)
    assert "; for an allreduce of 8 B" in text
    assert 'id="figure-data"' in quick_page
    assert "A faster broadcast than <code>auto</code> is resolved at " in quick_page


def test_mpis_stand_beside_phicoll_where_they_were_measured(quick, tmp_path):
    assert 'id="figure-mpi"' not in (quick / "report.html").read_text()
    taken = Taken()
    for size in (8, 4096):
        for turn in range(16):
            for subject, ns in (
                ("phicoll", 100.0),
                ("mpich", 300.0 if size == 8 else 101.0),
                ("openmpi", 400.0),
            ):
                taken.add(
                    {
                        "point": {"operation": "allreduce", "ranks": 2, "definition": "loop", "buffers": "fresh", "size": size},
                        "launch": 0, "round": turn, "subject": subject, "verified": True,
                        "ns": ns * (1 + 0.1 * ((turn * 7 + len(subject)) % 5)),
                    }
                )  # fmt: skip
    shutil.copy(quick / RESULTS, tmp_path)
    as_results(taken, "processes", 2, ("mpich", "openmpi")).save(tmp_path / MPI_FILE)
    page = rebuild(tmp_path / RESULTS, tmp_path).read_text()
    assert 'id="figure-mpi"' in page
    assert f'<a href="{MPI_FILE}">' in page
    rows = re.findall(r"<tr><td class=left>allreduce</td>.*?</tr>", page)
    assert [re.findall(r"<code>(.*?)</code></td><td>([\d.]+)", row)[0][0] for row in rows] == [
        "mpich",
        "mpich",
    ]
    (first, second) = (
        [float(n) for n in re.findall(r"[\d.]+", words(row).split("mpich")[1])] for row in rows
    )
    assert first[1] > 1.5
    assert second[1] < 1 < second[2]


def test_the_first_screen_is_a_figure_and_five_lines(quick_page):
    first = quick_page[quick_page.index("<main>") : quick_page.index("<nav")]
    assert first.count("<figure") == 1
    assert first.count("<li>") == 5
    prose = re.sub(r"<style>.*?</style>|data:image[^\"]*", " ", quick_page, flags=re.DOTALL)
    assert len(words(prose).split()) < 3800


def test_the_page_can_be_read_in_the_dark_and_in_print(made_up_page):
    style = made_up_page.split("<style>")[1].split("</style>")[0]
    dark = style.split("@media screen and (prefers-color-scheme: dark)")[1].split("@media")[0]
    light = style.split(":root {")[1].split("}")[0]
    assert re.findall(r"(--[\w-]+):", light) == re.findall(r"(--[\w-]+):", dark)
    style = style[style.index(".answers") :]
    assert re.search(r"prefers-color-scheme: dark\) \{\s+\.live \.plot, \.live \+ img \{ filter:", style)
    assert (
        "@media print { .answers .live { display: none; } .answers .live + img { display: block; } }" in style
    )
    outside = re.sub(r":root \{.*?\}", "", style, flags=re.DOTALL)
    assert not re.findall(r"(?<!-)(?:color|background): #", outside.replace("background: #0072b2", "")
                          .replace("background: #009e73", "").replace("background: #b5651d", ""))  # fmt: skip


#: What somebody may write into a file: markup, ends of what it stands in, and what a terminal obeys.
NASTY = "<img src=x onerror=alert(1)></script><!--\"'$x$&amp;\x1b[31m\x9b2J\x07\r"
#: Without these a record is none of ours.
OURS = ("kind", "phicoll", "run")


def spoiled(value, keep: tuple[str, ...] = ()):
    """A record with NASTY at the end of every text but those of the fields to keep."""
    if isinstance(value, dict):
        return {name: one if name in keep else spoiled(one) for name, one in value.items()}
    if isinstance(value, list):
        return [spoiled(one) for one in value]
    return value + NASTY if isinstance(value, str) else value


def check_harmless(page: str) -> None:
    """None of NASTY is markup, ends a script or an attribute, or is obeyed by a terminal."""
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", page)
    reader = Tags()
    reader.feed(page)
    reader.close()
    assert "onerror" not in {name for _, names in reader.tags for name in names}
    assert reader.scripts <= {None, "application/json", "text/plain"}
    for data in reader.data:
        json.loads(data)
    assert "&lt;code" not in page  # what is markup stays markup
    assert "&lt;span" not in page
    assert "&lt;b&gt;" not in page


class Tags(HTMLParser):
    """All tags with the names of their attributes, and the data of the figures."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, set[str]]] = []
        self.scripts: set[str | None] = set()
        self.data: list[str] = []
        self.in_data = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name for name, _ in attrs}))
        self.in_data = tag == "script" and dict(attrs).get("type") == "application/json"
        if tag == "script":
            self.scripts.add(dict(attrs).get("type"))

    def handle_data(self, data: str) -> None:
        if self.in_data:
            self.data.append(data)


def nasty_results(tmp_path, keep: tuple[str, ...], **options) -> phicoll.Results:
    path = tmp_path / f"{NASTY.replace('/', '')}.jsonl"
    lines = [json.loads(line) for line in records(ranks=(2,), **options).splitlines()]
    path.write_text("".join(json.dumps(spoiled(line, (*OURS, *keep))) + "\n" for line in lines))
    return phicoll.load(path)


def test_nothing_that_a_file_says_is_markup_in_the_report(tmp_path, simulated):
    results = nasty_results(
        tmp_path, ("operation", "algorithm", "spec", "mode", "definition", "origin", "label")
    )
    strange = Simulated(
        phicoll.Results([spoiled(r, (*OURS, "spec")) for r in simulated.results.records]), True
    )
    effective = simulated.path.data["effective"] + NASTY
    strange.__dict__["path"] = replace(simulated.path, data={**simulated.path.data, "effective": effective})
    doctor = Doctor([("CPU quota", NASTY)], [NASTY])
    page = build(gather(results, doctor, strange))
    assert "&lt;img src=x onerror=alert(1)&gt;" in page
    check_harmless(page)


@pytest.mark.parametrize("field", ["operation", "algorithm", "spec", "mode", "definition", "origin", "label"])
def test_no_name_is_markup_in_a_section(field, tmp_path, monkeypatch):
    """Those by which the report sorts, one by one."""
    fields = {"operation", "algorithm", "spec", "mode", "definition", "origin", "label"}
    evidence = gather(nasty_results(tmp_path, tuple(fields - {field}), run="c" * 16), Doctor())
    monkeypatch.setattr("phicoll.report.sections.summary.claims_point", lambda: "")
    for section in (summary, reproduce, machine):
        check_harmless(section(evidence))
    check_harmless(evidence.results._repr_html_())
    if field not in ("mode", "definition"):  # no figure has markers for those
        check_harmless(barriers(evidence))
        check_harmless(page_of(evidence.results.plot("comparison"), NASTY))
    for text in (str(evidence.results), repr(evidence.results.compare()), evidence.results.caption()):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)


def cut_off(simulated: Simulated, points: int) -> phicoll.Results:
    """What a sweep returns that Ctrl-C has ended after so many points."""
    kept = [r for r in simulated.results.records if r.get("point", -1) < points and r["kind"] != "end"]
    return phicoll.Results([*kept, {**simulated.results.ends[0], "reason": "interrupted"}])


@pytest.mark.parametrize("points", [0, 1, 2, 5, 11])
def test_a_simulation_that_was_interrupted_shows_the_points_that_are_there(points, tmp_path, simulated):
    cut_off(simulated, points).save(tmp_path / FILE)
    made = reload(tmp_path)
    evidence = gather(phicoll.Results([]), Doctor(), made)
    section = simulated_section.body(evidence)
    assert bool(section) == (points > 0)
    assert "simulated-path" not in section
    assert ("simulated-ranks" in figures(evidence)) == (points > 0)
    if points:
        assert "points that are missing are left out" in section
        assert ("is the fastest" in section) == (points > 1)  # two barriers are compared


@pytest.fixture
def measured(tmp_path, monkeypatch):
    """A demo that does not measure: what a test gives is measured."""

    def give(results: phicoll.Results):
        def measure_parts(parts, file, progress=None):
            results.save(file)
            results.source = str(file)
            return results

        monkeypatch.setattr("phicoll.report.demo.measure_parts", measure_parts)

    return give


@pytest.mark.parametrize("when", ["sweep", "path"])
def test_ctrl_c_in_the_demo_s_simulation_leaves_a_report_and_a_folder_that_opens(
    when, tmp_path, measured, simulated, monkeypatch, capsys
):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    folder = tmp_path / "demo"
    monkeypatch.setattr("phicoll.report.material.evidence.Evidence.findings", [])
    monkeypatch.setattr("signal.signal", lambda *_: None)
    measured(phicoll.load(MadeUp(subjects=SUBJECTS).write(tmp_path / "r.jsonl")))
    sweep = cut_off(simulated, 5) if when == "sweep" else simulated.results
    monkeypatch.setattr("phicoll.report.material.simulated.sweep", lambda **_: sweep)
    monkeypatch.setattr("phicoll.report.material.simulated.explain", interrupted)
    assert main(["--out", str(folder), "--quick"]) == 130
    assert "Ctrl-C once more ends at once" in capsys.readouterr().err
    page = (folder / "report.html").read_text()
    assert ("simulated-ranks" in page) == (when == "sweep")
    assert "On a simulated Xeon Phi" in page or when == "path"
    monkeypatch.undo()
    monkeypatch.setattr("phicoll.report.material.evidence.Evidence.findings", [])
    again = rebuild(folder / RESULTS, tmp_path / "again")
    assert ("simulated-ranks" in again.read_text()) == (FILE in {path.name for path in folder.iterdir()})


def test_a_demo_that_measured_nothing_simulates_nothing_and_leaves_nothing(
    tmp_path, measured, monkeypatch, capsys
):
    monkeypatch.setattr("phicoll.report.material.simulated.simulate", lambda *_: pytest.fail("simulates"))
    for results in (phicoll.Results([]), phicoll.Results([MadeUp().context()])):
        measured(results)
        with pytest.raises(KeyboardInterrupt):
            main(["--out", str(tmp_path / "demo"), "--quick"])
        assert "interrupted before anything was measured" in capsys.readouterr().err
        assert list((tmp_path / "demo").iterdir()) == []


@pytest.mark.parametrize("when", ["run", "comparison", "end"])
def test_ctrl_c_anywhere_in_the_demo_s_measurement_leaves_what_was_measured(
    when, tmp_path, monkeypatch, capsys
):
    """``end``: the program has just ended by itself."""
    monkeypatch.setattr("phicoll.report.demo.gather", lambda *_: None)
    monkeypatch.setattr("phicoll.report.build.build", lambda _: "page")
    monkeypatch.setattr("phicoll.report.material.simulated.simulate", lambda *_: pytest.fail("simulates"))
    monkeypatch.setattr("signal.signal", lambda *_: None)
    begun = []

    def run(_: object, output: Path, __: object) -> phicoll.Results:
        begun.append(output)
        if len(begun) == 2 and when == "run":
            raise KeyboardInterrupt
        results = phicoll.load(MadeUp(subjects=SUBJECTS, run=f"{len(begun):016x}").write(output))
        results.stopped = len(begun) == 2 and when == "end"
        return results

    def told(text: str) -> None:
        if len(begun) == 2 and when == "comparison":
            raise KeyboardInterrupt

    monkeypatch.setattr("phicoll.report.demo.bench.run", run)
    monkeypatch.setattr("phicoll.report.demo.put", told)
    assert main(["--out", str(tmp_path / "demo"), "--quick"]) == 130
    assert "the report of what there is" in capsys.readouterr().err
    assert {path.name for path in (tmp_path / "demo").iterdir()} == {RESULTS, "report.html"}
    assert len(phicoll.load(tmp_path / "demo" / RESULTS).contexts) == (1 if when == "run" else 2)
    assert len(begun) == 2


def part_packed_under_ctrl_c(presses, monkeypatch):
    """A part of the demo; as its records are packed, Ctrl-C comes so often."""

    def copy(lines, packed):
        packed.write(lines.read(10))
        for _ in range(presses):
            with ThreadPoolExecutor(1) as pool:  # another thread, which blocks no signal
                pool.submit(os.kill, os.getpid(), signal.SIGINT).result()
        packed.write(lines.read())

    def run(_: object, output: Path, __: object) -> phicoll.Results:
        return phicoll.load(MadeUp().write(output))

    monkeypatch.setattr("phicoll.report.demo.bench.run", run)
    monkeypatch.setattr("shutil.copyfileobj", copy)
    return SimpleNamespace(title="part", arguments=[], results=None)


def test_ctrl_c_leaves_the_demo_s_file_whole(tmp_path, monkeypatch):
    part = part_packed_under_ctrl_c(1, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        measure(part, tmp_path / RESULTS, False)
    assert phicoll.load(tmp_path / RESULTS).samples == part.results.samples


def test_presses_while_a_part_is_packed_are_counted_and_what_was_measured_is_kept(tmp_path, monkeypatch):
    part = part_packed_under_ctrl_c(2, monkeypatch)
    with counted() as presses:
        found = measure_parts([part], tmp_path / RESULTS, False)
    assert len(presses) == 2
    assert found.interrupted
    assert found.samples == part.results.samples


def test_results_of_a_run_that_ended_as_ctrl_c_came_are_stopped(tmp_path, monkeypatch):
    results = phicoll.load(MadeUp().write(tmp_path / "r.jsonl"))
    assert not results.interrupted
    monkeypatch.setattr(bench, "attended", lambda *_: True)
    ended = SimpleNamespace(stderr=io.StringIO(), returncode=0)
    monkeypatch.setattr(bench, "started_alone", lambda *_, **__: ended)
    stopped = bench.run([], tmp_path / "r.jsonl")
    assert stopped.samples
    assert stopped.interrupted
    assert (phicoll.Results([]) + stopped).interrupted


def test_a_second_ctrl_c_before_the_demo_has_heard_the_first_ends_it_too(tmp_path, monkeypatch, capsys):
    def measure_parts(_: object, file: Path, __: object) -> phicoll.Results:
        for _ in range(2):
            with contextlib.suppress(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
        return phicoll.load(MadeUp(end="interrupted").write(file))

    monkeypatch.setattr("phicoll.report.demo.measure_parts", measure_parts)
    monkeypatch.setattr("phicoll.report.build.build", lambda _: "page")
    with pytest.raises(KeyboardInterrupt):
        main(["--out", str(tmp_path), "--quick"])
    assert "interrupted twice: there is no report" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == [RESULTS]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_ctrl_c_ends_the_demo_at_once(tmp_path):
    """While the report is made, which takes as long as it likes."""
    text = (
        "import signal, sys, time\n"
        "import phicoll.report.build, phicoll.report.demo as demo\n"
        "from made_up import MadeUp\n"
        "import phicoll\n"
        "results = phicoll.Results(MadeUp(end='interrupted').records())\n"
        "demo.measure_parts = lambda parts, file, progress=None: results\n"
        "phicoll.report.build.build = lambda _: print('building', flush=True) or time.sleep(100)\n"
        f"sys.exit(demo.main(['--out', {str(tmp_path / 'demo')!r}, '--quick']))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    with subprocess.Popen(
        [sys.executable, "-c", text],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as running:
        assert running.stdout.readline() == "building\n"
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == 130
        assert "Traceback" not in running.stderr.read()
