"""Figures: what is drawn is what was compared; nothing is left out unsaid."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

import phicoll
from made_up import DEFAULT, MadeUp, MadeUpSubject
from phicoll.plots import KINDS, draw_comparison, draw_distribution, draw_probes
from phicoll.plots.bands import draw_bands
from phicoll.plots.series import spread
from phicoll.plots.style import PALE
from phicoll.results import from_lines


def results_of(**options):
    return from_lines(MadeUp(**options).text().splitlines(), "made up")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "sizes"])  # barriers have none
def test_every_kind_draws(kind, tmp_path):
    figure = results_of(ranks=(2, 8), modes=("threads", "processes"), same_core=0.2).plot(kind)
    figure.savefig(tmp_path / "f.png", dpi=40)
    assert (tmp_path / "f.png").stat().st_size > 5000


def test_auto_draws_lines_over_many_rank_counts():
    figure = results_of(ranks=(1, 2, 4, 8), definitions=("loop",), launches=2, rounds=2).plot()
    assert figure.axes[0].get_xlabel() == "ranks"


def test_a_time_of_zero_is_drawn():
    results = results_of(subjects=(MadeUpSubject("tree:degree=2", 0.0), MadeUpSubject("dissemination", 1.0)))
    low, high = results.plot("comparison").axes[0].get_xlim()
    assert low == 0 < high
    ax = Figure().subplots()
    draw_distribution(ax, results.observations, list(results.compare()))
    low, high = ax.get_xlim()
    assert low == 0 < high


def test_bands_in_which_every_time_is_zero_are_drawn():
    none = SimpleNamespace(low_ns=0.0, high_ns=0.0)
    row = SimpleNamespace(name="flat", subject=SimpleNamespace(ranks=2), prediction=none, samples=np.zeros(4))
    assert draw_bands(Figure().subplots(), [row], log=True).get_yscale() == "linear"


def test_comparison_shows_verified_rows_best_first_with_units():
    subjects = (MadeUpSubject("tree:degree=2", 5.0), MadeUpSubject("dissemination:ways=3", 1.0),
                MadeUpSubject("simd-flags", 0.1, verified=False))  # fmt: skip
    results = results_of(subjects=subjects, definitions=("loop",))
    ax = Figure().subplots()
    assert draw_comparison(ax, results.observations, list(results.compare())) is ax
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == ["dissemination:ways=3", "tree:degree=2"] or names == ["dissemination:ways=3", "tree"]
    assert "cache-line transfers" in ax.get_xlabel()


def test_oversubscribed_rows_are_in_switches():
    results = results_of(ranks=(8,), definitions=("loop",))
    assert "switches" in results.plot("comparison").axes[0].get_xlabel()
    assert "ns" in results.plot("comparison", unit="ns").axes[0].get_xlabel()


def test_same_core_rounds_are_shaded():
    results = results_of(same_core=0.5, launches=2, rounds=10)
    ax = Figure().subplots()
    draw_probes(ax, results.rounds)
    same = sum(r["label"] == "same-core" for r in results.rounds)
    assert f"{same} of 20 rounds" in ax.get_title(loc="left")
    assert ax.patches


def test_a_run_without_same_core_rounds_is_not_called_shaded():
    results = results_of(same_core=0.0, launches=2, rounds=10)
    ax = Figure().subplots()
    draw_probes(ax, results.rounds)
    assert "shaded" not in ax.get_title(loc="left")
    assert not ax.patches


def test_one_rank_count_is_shown_side_by_side_and_says_so():
    figure = results_of(ranks=(2,), definitions=("loop",)).plot("ranks")
    assert "2 ranks are the only rank count" in figure.get_suptitle()
    assert figure.axes[0].get_xlabel() != "ranks"


def test_the_legend_of_distributions_lies_above_the_curves():
    figure = results_of(modes=("threads", "processes"), launches=2, rounds=8).plot("distributions")
    ax = figure.axes[0]
    figure.draw_without_rendering()
    box = ax.get_legend().get_window_extent().transformed(ax.transData.inverted())
    assert box.y0 > 1.0
    assert box.y1 <= ax.get_ylim()[1]


@pytest.fixture(scope="module")
def sizes():
    """An allreduce over sizes, simulated on two rank counts."""
    return phicoll.sweep("allreduce", algorithm="all", ranks=[4, 8], sizes=[8, 512, 32768],
                         machine="sandy-bridge-e5-2670", calls=2, rounds=2, progress=False)  # fmt: skip


def overlaps(figure):
    """Pairs of texts of a figure that lie on each other, and texts that are cut off."""
    figure.draw_without_rendering()
    texts = [t for t in figure.findobj(Text) if t.get_text() and t.get_visible() and t.axes is not None]
    # Ticks beyond an axis's limits are not drawn.
    ticks = {t for ax in figure.axes for t in (*ax.get_xticklabels(), *ax.get_yticklabels())}
    # Without the line that leads to a name.
    boxes = {t: Text.get_window_extent(t) for t in texts if t not in ticks}
    found = [
        (a.get_text(), b.get_text())
        for a in boxes
        for b in boxes
        if id(a) < id(b) and boxes[a].shrunk(0.96, 0.8).overlaps(boxes[b].shrunk(0.96, 0.8))
    ]
    cut = [t.get_text() for t, box in boxes.items() if box.x1 > figure.bbox.x1 + 1 or box.x0 < -1]
    return found, cut


@pytest.mark.parametrize(
    "options", [{}, {"unit": "ratio", "figsize": (9, 3)}, {"title": "All of them", "figsize": (14, 5)}]
)
def test_labels_of_sizes_do_not_collide(sizes, options):
    figure = sizes.plot(**options)
    assert overlaps(figure) == ([], [])
    assert figure.get_suptitle() == options.get("title", "")
    if "figsize" in options:
        assert tuple(figure.get_size_inches()) == options["figsize"]


def test_a_name_has_one_colour_in_all_panels(sizes):
    figure = sizes.plot(most=4)
    colours: dict[str, set[str]] = {}
    for ax in figure.axes:
        shown = [line for line in ax.lines if line.get_color() != PALE]
        assert len({line.get_color() for line in shown}) == len(shown) == 4
        for line in shown:
            colours.setdefault(line.get_label(), set()).add(line.get_color())
    assert len(figure.axes) == 2
    assert [len(of) for of in colours.values()] == [1] * len(colours)


def test_each_name_stands_at_the_end_of_its_line(sizes):
    figure = sizes.select(ranks=8).plot(most=3)
    ax = figure.axes[0]
    names = [text for text in ax.texts if text.arrow_patch is not None]
    assert len(names) == 3
    for text in names:
        (line,) = (one for one in ax.lines if one.get_color() == text.get_color())
        assert text.xy == (line.get_xdata()[-1], line.get_ydata()[-1])


def test_names_are_spread_as_little_as_possible():
    assert spread([0.1, 0.5, 0.9], 0.1) == pytest.approx([0.1, 0.5, 0.9])
    assert spread([0.5, 0.5, 0.5], 0.1) == pytest.approx([0.4, 0.5, 0.6])
    assert spread([0.96, 0.97, 0.98], 0.1) == pytest.approx([0.8, 0.9, 1.0])
    assert spread([0.0, 0.01], 0.1) == pytest.approx([0.0, 0.1])
    assert spread([0.5] * 5, 1) == pytest.approx([0, 0.25, 0.5, 0.75, 1])
    assert spread([], 0.1) == []


def test_the_ratio_to_the_best_is_that_of_the_table(sizes):
    one = sizes.select(ranks=8)
    ax = one.plot(unit="ratio").axes[0]
    drawn = {
        (x, round(y, 9))
        for line in ax.lines
        for x, y in zip(*line.get_data(), strict=True)
        if len(line.get_data()[0]) == 3
    }
    assert drawn == {(row.subject.size_bytes, round(row.ratio_to_best.median, 9)) for row in one.compare()}
    assert "best" in ax.get_ylabel()
    with pytest.raises(phicoll.ArgumentError, match="'ratio' for ranks"):
        one.plot("ranks", unit="ratio")


@pytest.mark.parametrize("kind", ["comparison", "ranks", "probes", "distributions"])
def test_a_figure_composes_with_given_axes(kind):
    results = results_of(
        subjects=DEFAULT[:1], ranks=(2, 4) if kind == "ranks" else (2,), cpus=4, definitions=("loop",)
    )
    figure = Figure(figsize=(10, 4))
    left, right = figure.subplots(1, 2)
    assert results.plot(kind, ax=right, title="mine") is right
    assert right.get_title(loc="left") == "mine"
    assert not left.has_data()
    assert right.has_data()
    assert figure.get_layout_engine() is not None
    assert tuple(figure.get_size_inches()) == (10, 4)
    assert overlaps(figure) == ([], [])


def test_several_panels_take_as_many_axes():
    results = results_of(launches=2, rounds=3)
    figure = Figure(figsize=(12, 4), layout="tight")
    both = figure.subplots(1, 2)
    assert results.plot("comparison", ax=both, title="mine") is both
    assert figure.get_suptitle() == "mine"
    assert [ax.get_title(loc="left")[:15] for ax in both] == ["barrier: 2 rank"] * 2
    assert "TightLayout" in type(figure.get_layout_engine()).__name__
    with pytest.raises(phicoll.ArgumentError, match="1 Axes; allowed: 2, one for each panel"):
        results.plot("comparison", ax=both[0])


def test_counts_are_drawn():
    figure = phicoll.count("barrier", "dissemination,tree,simd-flags").plot()
    assert [ax.get_title(loc="left") for ax in figure.axes][:2] == ["rounds", "longest chain"]


@pytest.mark.parametrize(
    ("kind", "options", "argument"),
    [
        ("bars", {}, "kind"),
        ("comparison", {"unit": "seconds"}, "unit"),
        ("comparison", {"label": "local"}, "label"),
        ("probes", {"unit": "ns"}, "unit"),
        ("comparison", {"label": "same-core"}, "results"),
        ("comparison", {"ax": "left"}, "ax"),
        ("comparison", {"title": 3}, "title"),
        ("comparison", {"figsize": 4}, "figsize"),
        ("comparison", {"figsize": (4, 0)}, "figsize"),
        ("comparison", {"figsize": (4, 3), "ax": Figure().subplots()}, "figsize"),
    ],
)
def test_bad_input_is_refused(kind, options, argument):
    with pytest.raises(phicoll.ArgumentError) as caught:
        results_of().plot(kind, **options)
    assert caught.value.argument == argument
