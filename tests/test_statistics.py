"""The core's statistics, against SciPy and by their coverage."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from phicoll import _core
from phicoll.results.compare.best import holm_levels
from phicoll.results.compare.units import estimate, units_of

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=80)


@given(VALUES, st.sampled_from([0.5, 0.9, 0.95, 0.99]))
@settings(max_examples=200, deadline=None)
def test_interval_is_the_narrowest_pair_of_order_statistics_with_the_coverage(values, confidence):
    from scipy import stats

    low, high, attained = _core.median_interval(values, confidence)
    ordered, n = sorted(values), len(values)
    coverage = {k: 1 - 2 * stats.binom.cdf(k - 1, n, 0.5) for k in range(1, n // 2 + 1)}
    enough = [k for k, value in coverage.items() if value >= confidence - 1e-12]
    if enough:
        k = max(enough)
        assert (low, high) == (ordered[k - 1], ordered[n - k])
        assert attained == pytest.approx(coverage[k])
    else:
        assert (low, high) == (ordered[0], ordered[-1])
        assert attained < confidence


def test_interval_covers_the_true_median_as_often_as_it_says():
    from scipy import stats

    random = np.random.default_rng(5)
    hits, runs = 0, 2000
    for _ in range(runs):
        low, high, attained = _core.median_interval(random.lognormal(size=25), 0.95)
        hits += low <= 1.0 <= high
    assert stats.binomtest(hits, runs, attained).pvalue > 1e-4
    assert attained >= 0.95


@given(VALUES)
@settings(max_examples=100, deadline=None)
def test_sign_test_is_the_binomial_test(values):
    from scipy import stats

    up, down = sum(v > 0 for v in values), sum(v < 0 for v in values)
    expected = stats.binomtest(up, up + down).pvalue if up + down else 1.0
    assert _core.sign_test(values) == pytest.approx(expected)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
@settings(max_examples=100, deadline=None)
def test_holm_corrects_stepwise(p_values):
    corrected = _core.holm(p_values)
    count = len(p_values)
    order = np.argsort(p_values, kind="stable")
    running = 0.0
    for step, index in enumerate(order):
        running = max(running, min(1.0, (count - step) * p_values[index]))
        assert corrected[index] == pytest.approx(running)


@given(st.lists(st.floats(1e-9, 1), min_size=1, max_size=20))
@settings(max_examples=200, deadline=None)
def test_levels_of_intervals_reject_exactly_what_holm_rejects(p_values):
    levels, corrected = holm_levels(p_values, 0.95)
    for p, level, holm in zip(p_values, levels, corrected, strict=True):
        if abs(holm - 0.05) > 1e-9:
            assert (p <= 1 - level + 1e-15) == (holm <= 0.05)


def test_launches_that_differ_become_the_units():
    random = np.random.default_rng(1)
    launches = [("run", launch) for launch in range(30) for _ in range(10)]
    alike = np.exp(random.normal(0, 0.1, 300))
    apart = alike * np.repeat(np.exp(random.normal(0, 0.3, 30)), 10)
    assert units_of(alike, launches).kind == "round"
    assert len(units_of(alike, launches)) == 300
    by_launch = units_of(apart, launches)
    assert by_launch.kind == "launch"
    assert len(by_launch) == 30
    assert by_launch.launch_share > 0.8


def test_one_launch_cannot_tell_and_says_so():
    units = units_of([1.0] * 25, [("run", 0)] * 25)
    assert units.kind == "round"
    assert units.launch_share is None
    assert "one launch" in units.note


def test_few_units_are_said():
    units = units_of([1.0, 2.0, 3.0], [("run", 0)] * 3)
    assert "3 rounds" in units.note
    found = estimate(units.values)
    assert not found.enough
    assert (found.low, found.high) == (1.0, 3.0)


def test_midmean_is_the_mean_of_the_middle_half():
    assert _core.midmean([1, 2, 3, 4, 5, 6, 7, 1000]) == pytest.approx(4.5)


def test_equal_p_values_share_a_level_whatever_their_order():
    levels, _ = holm_levels([0.04, 0.01, 0.04], 0.95)
    assert levels == pytest.approx([1 - 0.05 / 2, 1 - 0.05 / 3, 1 - 0.05 / 2])


def test_the_best_is_chosen_within_rounds_of_those_that_met_the_most():
    slow_rounds = {0: 5.0, 1: 5.1, 2: 1.0}
    assert _core.choose_best([{0: 4.0, 1: 4.0}, slow_rounds], [0, 1, 2]) == 0
    assert _core.choose_best([{0: 1.0}, {0: 2.0, 1: 2.0}, {1: 3.0}], [0, 1]) == 1  # the others met one only
    assert _core.choose_best([{0: 1.0}, {0: 1.0}], [0]) == 0
    assert _core.choose_best([{}, {}], [0]) == 2
