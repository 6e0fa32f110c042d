"""Figures that answer the mouse: what they say is what Matplotlib drew, and a browser draws them without a network."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

import phicoll
from made_up import MadeUp
from phicoll.plots.live import DPI, describe, digest, live, page
from phicoll.results import from_lines


@pytest.fixture(scope="module")
def sizes():
    return phicoll.sweep("allreduce", algorithm="all", ranks=[4, 8], sizes=[8, 512, 32768],
                         machine="sandy-bridge-e5-2670", calls=2, rounds=2, progress=False)  # fmt: skip


def test_lines_have_their_points_and_what_is_told_of_each(sizes):
    figure = sizes.plot()
    found = describe(figure)
    json.dumps(found, allow_nan=False)
    lines = {trace["name"]: trace for trace in found["data"] if trace["xaxis"] == "x" and "text" in trace}
    drawn = {line.get_label(): line for line in figure.axes[0].lines if hasattr(line, "told")}
    assert lines.keys() == drawn.keys()
    for name, line in drawn.items():
        assert lines[name]["y"] == pytest.approx(list(line.get_ydata()), rel=1e-4)
        assert lines[name]["text"][0].startswith(f"{name}, 8 B: ")
    low, high = np.log10(figure.axes[0].get_ylim())
    assert found["layout"]["yaxis"]["range"] == pytest.approx([low, high])
    shown = [trace["name"] for trace in found["data"] if trace["showlegend"]]
    assert sorted(shown) == sorted(set(shown)) == sorted(lines)
    ends = [note for note in found["layout"]["annotations"] if note.get("name") in lines]
    assert ends
    assert all(note["showarrow"] for note in ends)


@pytest.mark.parametrize("kind", ["comparison", "ranks", "probes", "distributions"])
def test_every_kind_is_described(kind):
    results = from_lines(
        MadeUp(ranks=(2, 4), cpus=4, modes=("threads", "processes")).text().splitlines(), "made up"
    )
    found = describe(results.plot(kind))
    json.dumps(found, allow_nan=False)
    assert found["data"]
    for trace in found["data"]:
        assert len(trace["x"]) == len(trace["y"]) == len(trace.get("text", trace["x"]))


@pytest.mark.parametrize("kind", ["comparison", "ranks", "sizes", "distributions"])
@pytest.mark.parametrize("spoiled", ["one", "all"])
def test_times_of_zero_and_almost_are_described(kind, spoiled):
    """What is left of a loop once the writing alone is subtracted can be nothing."""
    records = list(MadeUp(ranks=(2, 4), cpus=4, definitions=("loop",)).records())
    points = {record["point"]: record for record in records if record["kind"] == "point"}
    worst = points[0]["algorithm"]
    for record in records:
        if record["kind"] == "point" and kind == "sizes":
            record |= {"operation": "allreduce", "size_bytes": 8}
            record |= {"buffers": "fresh", "type": "float32", "op": "sum"}
        if record["kind"] == "sample" and (spoiled == "all" or points[record["point"]]["algorithm"] == worst):
            record["value_ns"] = 1e-6 if record["round"] % 2 else 0.0
    figure = from_lines([json.dumps(record) for record in records], "made up").plot(kind)
    found = describe(figure)
    json.dumps(found, allow_nan=False)
    if kind in ("ranks", "sizes"):
        assert any(str(note.get("name")).startswith(worst) for note in found["layout"]["annotations"])


def browse(text: str, tmp_path: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """The page as a browser has it in the end."""
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("needs chromium")
    path = tmp_path / "page.html"
    path.write_text(text)
    words = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000", f"--user-data-dir={tmp_path}",
             "--enable-logging=stderr", "--dump-dom", *more, path.as_uri()]  # fmt: skip
    return subprocess.run([browser, *words], capture_output=True, text=True, check=False, timeout=120)


def test_a_browser_draws_it_and_loads_nothing(sizes, tmp_path: Path):
    done = browse(page(sizes.plot(), "sizes & more"), tmp_path)
    assert '<figure class="answers">' in done.stdout, done.stderr
    assert done.stdout.count('class="trace scatter') >= 2
    assert "<title>sizes &amp; more</title>" in done.stdout
    assert not re.search(r"CONSOLE.*(Error|Refused|violates)", done.stderr)


ASKING = """<script>
const asked = setInterval(async () => {
  const plot = document.querySelector(".js-plotly-plot"), choice = document.querySelector("select");
  if (!plot || !plot.layout) return;
  clearInterval(asked);
  choice.value = "notifications";
  choice.onchange();
  const names = plot.layout.yaxis.ticktext.map((name) => name.replace(/<.*?>/g, ""));
  const row = names.indexOf("simd-flags"), trace = plot.data.find((one) => one.text);
  const at = trace.y[trace.text.findIndex((text) => text.startsWith("simd-flags"))];
  document.title = JSON.stringify({ names, moved: Math.round(at) === row });
}, 100);
</script>"""


def test_a_choice_sorts_the_rows(tmp_path: Path):
    counts = phicoll.count("barrier", "dissemination,tree,simd-flags,sense-reversing,all-to-all")
    figure = counts.plot()
    found = describe(figure)
    drawn = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    policy = f"script-src {digest(ASKING.removeprefix('<script>').removesuffix('</script>'))} "
    asking = page(figure, "counts").replace("</body>", ASKING + "</body>").replace("script-src ", policy)
    done = browse(asking, tmp_path)
    shown = json.loads(html.unescape(re.search(r"<title>(.*?)</title>", done.stdout)[1]))
    assert shown["names"] == [drawn[row] for row in found["sorts"]["notifications"]]
    least = {row["name"]: row["notifications"] for row in reversed(counts)}
    assert shown["names"] != drawn
    assert sorted(least.values()) == [least[name] for name in shown["names"]]
    assert shown["moved"]


def test_the_command_writes_such_a_page(phicoll_command, tmp_path: Path):
    results = MadeUp().write(tmp_path / "r.jsonl")
    done = phicoll_command("plot", tmp_path / "r.jsonl", "--figure", tmp_path / "r.html")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "r.html").read_text()
    assert "default-src 'none'" in text
    assert '<img src="data:image/png;base64,' in text
    assert len(text) < 3e6, results


def test_names_beside_a_panel_are_whole_in_the_picture():
    """They were laid out at one resolution and drawn at another, at which letters are wider."""
    figure = Figure(figsize=(10, 2.9), layout="constrained")
    for ax in figure.subplots(1, 3):
        ax.plot([1, 2], [1, 2])
        for place, name in enumerate(
            ("8 processes", "combining-tree:notify=global", "hybrid-dissemination:store=no-read")
        ):
            ax.annotate(
                name,
                (2, 2),
                (1.03, place / 3),
                textcoords="axes fraction",
                fontsize=7.5,
                annotation_clip=False,
            )
    live(figure, "names")
    figure.set_layout_engine("none")
    figure.set_dpi(DPI)
    figure.draw_without_rendering()
    for ax in figure.axes:
        assert max(text.get_window_extent().x1 for text in ax.texts) <= figure.bbox.width


def test_a_narrow_window_shows_a_whole_figure(sizes, tmp_path: Path):
    done = browse(page(sizes.plot(), "narrow"), tmp_path, "--window-size=500,1500")
    plot = re.search(r'class="plot[^"]*" style="([^"]*)"', done.stdout)
    assert plot, done.stderr
    width = re.search(r"width: ([\d.]+)px", plot[1])
    scale = re.search(r"scale\(([\d.]+)\)", plot[1])
    assert width
    assert scale
    assert 300 < float(width[1]) * float(scale[1]) <= 500
