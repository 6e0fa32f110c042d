"""Figures: what is drawn is what was compared; nothing is left out unsaid."""

from __future__ import annotations

import pytest
from matplotlib.figure import Figure

import phicoll
from made_up import MadeUp, MadeUpSubject
from phicoll.plots import KINDS, draw_comparison, draw_probes
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


def test_counts_are_drawn():
    figure = phicoll.count("dissemination,tree,simd-flags").plot()
    assert [ax.get_title(loc="left") for ax in figure.axes][:2] == ["rounds", "longest chain"]


@pytest.mark.parametrize(
    ("kind", "options", "argument"),
    [
        ("bars", {}, "kind"),
        ("comparison", {"unit": "seconds"}, "unit"),
        ("comparison", {"label": "local"}, "label"),
        ("probes", {"unit": "ns"}, "unit"),
        ("comparison", {"label": "same-core"}, "results"),
    ],
)
def test_bad_input_is_refused(kind, options, argument):
    with pytest.raises(phicoll.ArgumentError) as caught:
        results_of().plot(kind, **options)
    assert caught.value.argument == argument
