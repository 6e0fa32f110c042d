"""Predictions held against runs: what is compared, what is left out, and what the numbers mean."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

import phicoll
from phicoll.models import Constant, MachineModel, compare_with_runs, machine_model, predict
from phicoll.models.comparison import Order, kendall_tau

MACHINE = "xeon-phi-5110p"
TREES = ["model-tree", "flat", "binomial", "k-nomial:degree=3", "fibonacci", "fibonacci:overhead=quarter"]


def simulate(operation, algorithm, ranks, **more):
    more = {"placement": "scatter", "definition": "window", "skew_ns": 0, "rounds": 2, "calls": 3, **more}
    return phicoll.sweep(operation, algorithm=algorithm, ranks=ranks, machine=MACHINE, progress=False, **more)


@pytest.fixture(scope="module")
def broadcasts():
    return simulate("broadcast", TREES, [4, 30], sizes=8)


@pytest.fixture(scope="module")
def compared(broadcasts):
    return compare_with_runs(broadcasts, MACHINE)


def test_each_subject_has_the_band_that_predict_gives_and_all_of_its_samples(broadcasts, compared):
    assert len(compared.rows) == len(TREES) * 2
    assert not compared.skipped
    for row in compared.rows:
        s = row.subject
        expected = predict(s.operation, row.spec, s.ranks, s.size_bytes, MACHINE, start="warm")
        assert row.prediction == expected
        calls = [ns for o in broadcasts.observations.by_subject[s] for ns in o.call_values()]
        assert row.samples.tolist() == calls
        assert len(calls) == 6
        assert row.kind == "simulated"


def test_shares_add_up_and_ratios_say_which_side(compared):
    for row in compared.rows:
        assert row.inside + row.below + row.above == pytest.approx(1)
        assert (row.over_low < 1) == (row.median < row.prediction.low_ns)
        assert row.over_high <= row.over_low


def test_the_levels_are_those_that_ran(compared):
    (tree,) = compared.select(algorithm="model-tree", ranks=30).rows
    assert "k1=5:k2=5" in tree.spec
    assert tree.name == "model-tree"


def test_parameters_tell_algorithms_apart(compared):
    names = {row.name for row in compared.rows}
    assert {"fibonacci", "fibonacci:overhead=quarter"} <= names


def test_start_is_the_runs_unless_asked_otherwise(broadcasts, compared):
    evicted = compare_with_runs(broadcasts, MACHINE, start="evicted")
    assert all("warm start" in row.prediction.source for row in compared.rows)
    assert all("evicted start" in row.prediction.source for row in evicted.rows)
    assert all(
        e.prediction.low_ns > w.prediction.low_ns for e, w in zip(evicted.rows, compared.rows, strict=True)
    )


def test_orders_are_by_setting_and_medians(compared):
    orders = compared.orders()
    assert [order.rows[0].subject.ranks for order in orders] == [4, 30]
    for order in orders:
        medians = [row.median for row in order.rows]
        assert medians == sorted(medians)
        assert set(order.observed) == set(order.predicted()) == set(order.predicted("high"))
        assert order.loss() >= 0
        predicted = {row.name: row.prediction.low_ns for row in order.rows}
        lows = [predicted[name] for name in order.predicted()]
        assert lows == sorted(lows)
    with pytest.raises(phicoll.ArgumentError, match="by"):
        orders[0].tau("middle")
    rows = orders[1].rows
    alike = [
        replace(row, prediction=replace(row.prediction, low_ns=1.0, high_ns=1e6 - at))
        for at, row in enumerate(rows)
    ]
    order = Order(tuple(alike))  # the same best case: the worst one decides, not the run
    assert order.predicted() == order.observed[::-1]
    assert order.loss() == pytest.approx(rows[-1].median / rows[0].median - 1)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([1, 2, 3, 4], [10, 20, 30, 40]),
        ([1, 2, 3, 4], [4, 3, 2, 1]),
        ([1, 2, 2, 4], [3, 1, 2, 2]),
        ([5, 1, 4, 2, 2, 9], [5, 3, 3, 3, 1, 8]),
    ],
)
def test_tau_is_kendalls(first, second):
    from scipy import stats

    assert kendall_tau(first, second) == pytest.approx(stats.kendalltau(first, second).statistic)


def test_tau_of_what_is_all_alike_is_no_number():
    assert math.isnan(kendall_tau([1, 1], [1, 2]))
    with pytest.raises(phicoll.ArgumentError, match="second"):
        kendall_tau([1, 2], [1, 2, 3])


def test_what_no_model_is_about_is_left_out_with_its_reason():
    runs = simulate(
        "broadcast",
        ["model-tree:driven=sender:ack=line-per-child", "ring", "flat"],
        [2, 4],
        sizes=8,
        rounds=1,
    )
    found = compare_with_runs(runs, MACHINE)
    assert {row.name for row in found.rows} == {"flat"}
    reasons = {s.algorithm: why for s, why in found.skipped}
    assert "driven" in reasons["model-tree"]
    assert "no model of broadcast ring" in reasons["ring"]
    assert "4 subjects left out" in found.summary()


def test_ranks_that_share_a_core_are_left_out():
    runs = simulate("barrier", "dissemination", [4, 8], placement="compact", rounds=1)
    found = compare_with_runs(runs, MACHINE)
    assert not found.rows
    assert {why for _, why in found.skipped} == {"ranks share a core: models give each one of its own"}
    assert math.isnan(found.inside)


def test_a_constant_that_the_model_lacks_is_named():
    runs = simulate("barrier", "dissemination-acknowledged", [4], rounds=1)
    bare = MachineModel("bare", {})
    found = compare_with_runs(runs, bare)
    assert not found.rows
    assert "line." in found.skipped[0][1]


def test_assumed_constants_are_counted():
    phi = machine_model(MACHINE)
    mine = MachineModel("mine", {"line.local": Constant(1.0, "ns", "measured", "a test")}).with_family(phi)
    found = compare_with_runs(simulate("barrier", "dissemination-acknowledged", [4], rounds=1), mine)
    (row,) = found.rows
    assert row.prediction.assumed == ("line.remote",)
    assert row.to_dict()["assumed"] == 1
    assert "line.remote" in found.summary()


def test_frames_have_a_row_for_each_subject_setting_and_what_was_left_out(compared):
    assert len(compared.to_dataframe()) == len(compared.rows)
    assert len(compared.to_dataframe("orders")) == 2
    assert compared.to_dataframe("skipped").empty
    frame = compared.to_dataframe()
    assert {"low_ns", "high_ns", "inside", "assumed", "kind", "start"} <= set(frame.columns)
    assert np.isfinite(frame[["low_ns", "high_ns", "median_ns"]]).all(axis=None)
    with pytest.raises(phicoll.ArgumentError, match="what"):
        compared.to_dataframe("samples")


def test_text_and_html_have_every_row(compared):
    for row in compared.rows:
        assert f"{row.median:>9.0f}" in str(compared)
        assert row.name in compared._repr_html_()


def test_the_figure_has_a_panel_for_each_algorithm(compared, tmp_path):
    figure = compared.plot()
    assert sum(ax.get_visible() for ax in figure.axes) == len(TREES)
    figure.savefig(tmp_path / "bands.png")
    one = compared.select(algorithm="flat")
    for options in ({"over": "size_bytes"}, {"log": True}):
        assert one.plot(**options).axes
    assert one.plot(title="mine", figsize=(5, 3)).axes[0].get_title(loc="left") == "mine"
    panels = Figure().subplots(1, len(TREES))
    assert compared.plot(ax=panels) is panels
    assert all(ax.has_data() for ax in panels)
    with pytest.raises(phicoll.ArgumentError, match="over"):
        one.plot(over="time")
    with pytest.raises(phicoll.ArgumentError, match="compared"):
        compared.select(algorithm="none").plot()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [({"start": "cold"}, "start"), ({"b": "guess"}, "b: got"), ({"model": "phi"}, "phi")],
)
def test_bad_input_is_refused(broadcasts, arguments, words):
    with pytest.raises(phicoll.ArgumentError, match=words):
        compare_with_runs(broadcasts, **{"model": MACHINE, **arguments})
