"""Fits: known answers come out, intervals cover as often as they say, and what data cannot say is refused by name."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from phicoll.errors import ArgumentError, FitError
from phicoll.models.fits import fit
from phicoll.models.fits.bandwidth_fit import fit_bandwidth
from phicoll.models.fits.clusters import Summary, cluster_costs, estimate, summary_of, welch_test
from phicoll.models.fits.form_comparison import compare_forms
from phicoll.models.fits.forms import FORMS, Form

THREADS = np.arange(1.0, 60.0)
LINES = np.array([1.0, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128])
#: Tables 3.1 and 3.2 of ramos-hoefler-2013.
ANSWERS = {
    "constant": (THREADS, [235.8]),
    "contention": (THREADS, [56.2, 320.5]),
    "contention-memory": (THREADS, [23.4, 1202.0, 695.8]),
    "multi-line": (LINES, [76.0, 1521.0, 1096.0]),
}


def exact(form: str) -> tuple[np.ndarray, np.ndarray]:
    n, parameters = ANSWERS[form]
    return n, FORMS[form].columns(n) @ np.array(parameters)


@pytest.mark.parametrize("form", [form for form in FORMS if form != "constant"])
def test_points_on_a_curve_give_its_parameters(form):
    n, ns = exact(form)
    found = fit(form, n, ns)
    np.testing.assert_allclose(found.parameters, ANSWERS[form][1], rtol=1e-9)
    np.testing.assert_allclose(found.residuals, 0, atol=1e-6)
    assert found.held_out().rms < 1e-6
    assert found.r_squared == pytest.approx(1)


@pytest.mark.parametrize("absolute", [True, False], ids=["given errors", "errors from residuals"])
@pytest.mark.parametrize("form", list(FORMS))
def test_intervals_and_bands_cover_as_often_as_they_say(form, absolute):
    random = np.random.default_rng(5)
    n, ns = exact(form)
    sigma = 0.01 * ns + 2
    truth = np.array(ANSWERS[form][1])
    runs = 400
    covered = np.zeros(truth.size)
    curve, points = 0, 0
    at = n[n.size // 2 : n.size // 2 + 1]
    for _ in range(runs):
        found = fit(
            form, n, ns + random.normal(0, sigma), sigma=sigma if absolute else 7 * sigma, absolute=absolute
        )
        ends = np.array([found.interval(name) for name in found.form.parameters])
        covered += (ends[:, 0] <= truth) & (truth <= ends[:, 1])
        low, high = found.band(at)
        curve += int(low[0] <= FORMS[form].columns(at)[0] @ truth <= high[0])
        low, high = found.band(at, new=True)
        points += int(
            low[0] <= FORMS[form].columns(at)[0] @ truth + random.normal(0, np.median(sigma)) <= high[0]
        )
    # 400 runs at 95 %: 380 expected, a standard deviation of 4.4.
    for count in (*covered, curve, points):
        assert 360 <= count <= 396, (covered, curve, points)


def test_weights_follow_the_errors():
    n = np.array([1.0, 2, 3, 4, 5, 6])
    ns = 10 * n + 100
    ns[5] += 300  # a point that was hardly measured
    alike, weighted = fit("contention", n, ns), fit("contention", n, ns, sigma=[1, 1, 1, 1, 1, 1000])
    assert abs(weighted.value("c") - 10) < 0.01 < 10 < abs(alike.value("c") - 10)


def test_what_a_fit_says_of_unseen_points_is_worse_than_of_seen_ones():
    random = np.random.default_rng(3)
    n, ns = exact("multi-line")
    found = fit("multi-line", n, ns + random.normal(0, 20, ns.size))
    seen = float(np.sqrt(np.mean(found.residuals**2)))
    assert seen < found.held_out().rms < 5 * seen
    assert found.held_out().folds == n.size
    again = found.held_out(folds=4)
    np.testing.assert_array_equal(again.errors, found.held_out(folds=4).errors)
    # Equal n are left out together: the others cannot stand in for them.
    twice = fit("multi-line", np.tile(n, 2), np.tile(ns, 2) + random.normal(0, 20, 2 * ns.size))
    assert twice.held_out().folds == n.size


@pytest.mark.parametrize("form", ["constant", "contention", "contention-memory"])
def test_the_criterion_finds_the_form_that_made_the_points(form):
    random = np.random.default_rng(11)
    n, ns = exact(form)
    comparison = compare_forms(n, ns + random.normal(0, 15, ns.size))
    assert comparison.best.form.name == form
    rows = comparison.rows()
    assert rows[0]["difference"] == 0
    assert sum(float(row["weight"]) for row in rows) == pytest.approx(1)
    if form != "contention-memory":  # the criteria charge for the parameters that are not needed
        larger = next(row for row in rows if row["form"] == "contention-memory")
        assert larger["bic"] > rows[0]["bic"]
    assert "AICc" in str(comparison)


def test_aicc_is_akaike_s():
    random = np.random.default_rng(2)
    n = np.arange(1.0, 11)
    found = fit("contention", n, 3 * n + 50 + random.normal(0, 1, 10))
    rss = float(np.sum(found.residuals**2))
    likelihood = -5 * (math.log(2 * math.pi * rss / 10) + 1)
    assert found.aicc == pytest.approx(2 * 3 - 2 * likelihood + 2 * 3 * 4 / (10 - 3 - 1))
    assert found.bic == pytest.approx(3 * math.log(10) - 2 * likelihood)
    assert fit("contention", n[:4], found.ns[:4]).aicc == math.inf


def test_bandwidth_by_a_1():
    lines = np.array([8.0, 64, 256, 1024, 4096, 16384])
    ns = 5.5 * (2 * lines / 38 * 69.3 + 41.6)
    ns *= 1 + np.random.default_rng(4).normal(0, 0.01, lines.size)
    found = fit_bandwidth(lines, ns, memory_ns=69.3, remote_ns=41.6)
    assert found.factor == pytest.approx(5.5, abs=3 * found.factor_error)
    assert found.in_flight == pytest.approx(38, abs=3 * found.in_flight_error)
    assert 0 < found.in_flight_error < 4
    assert found.gigabytes_a_second(16384) == pytest.approx(64 * 16384 / ns[-1], rel=0.05)
    with pytest.raises(FitError, match=r"bandwidth\.F"):  # only large messages: nothing shows the start-up
        fit_bandwidth([4096, 8192, 16384, 32768], [1e5, 2.1e5, 3.9e5, 8.1e5], memory_ns=70, remote_ns=40)


@pytest.mark.parametrize(
    ("form", "n", "ns", "named"),
    [
        ("contention", [1, 2], [300, 350], "c, b cannot be determined: 2 points"),
        ("multi-line", [1, 2, 3], [300, 350, 420], "o, q, p cannot be determined: 3 points"),
        ("constant", [1], [300], "b cannot be determined: 1 points"),
        ("contention", [2, 2, 2], [300, 310, 305], "all 3 points are at n = 2"),
        ("contention", [1, 2, 3, 4], [300, 300, 300, 300], "all 4 times are 300 ns: constant data"),
        ("multi-line", [1, 1, 2, 2, 1], [300, 310, 350, 360, 300], "o, q, p cannot be determined: .*do not tell"),
        ("contention-memory", [50, 52, 54, 56, 58, 60], [900, 930, 910, 990, 940, 1010], "b, a cannot be determined"),
        ("contention", [1000, 1001, 1002, 1003], [400, 420, 390, 430], "^c, b cannot be determined: .*b = -.* standard error"),
    ],
)  # fmt: skip
def test_what_the_data_cannot_say_is_named(form, n, ns, named):
    with pytest.raises(FitError, match=named) as caught:
        fit(form, n, ns)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.parameter, str(again)) == (caught.value.parameter, str(caught.value))


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"ns": [1, 2, math.nan]}, "ns: got 1 values that are not finite"),
        ({"ns": [1, 2, math.inf]}, "ns: got 1 values that are not finite"),
        ({"ns": [1, 2, -3]}, "ns: got -3; allowed: times, 0 or more"),
        ({"ns": [1, 2]}, "ns: got shape"),
        ({"ns": ["a", "b", "c"]}, "ns: got"),
        ({"n": [1, 2, math.inf]}, "n: got 1 values that are not finite"),
        ({"n": [0, 1, 2], "form": "multi-line"}, "n: got 0; allowed: above 0"),
        ({"n": [-1, 1, 2]}, "n: got -1"),
        ({"sigma": [1, 0, 1]}, "sigma: got 0; allowed: standard errors above 0"),
        ({"sigma": [1, 1]}, "sigma: got shape"),
        ({"sigma": math.nan}, "sigma: got 1 values that are not finite"),
        ({"absolute": True}, "sigma: got None"),
        ({"form": "cubic"}, "form: got 'cubic'; allowed: constant, contention"),
    ],
)
def test_bad_points_are_refused(arguments, named):
    given = {"form": "contention", "n": [1, 2, 3], "ns": [1, 2, 4], **arguments}
    with pytest.raises(ArgumentError, match=named):
        fit(given.pop("form"), given.pop("n"), given.pop("ns"), **given)


def test_bad_questions_to_a_fit_are_refused():
    found = fit("contention", [1, 2, 3, 4], [10, 21, 29, 42])
    for ask, named in (
        (lambda: found.value("q"), "name: got 'q'; allowed: c, b"),
        (lambda: found.interval("c", 1.5), "level: got 1.5"),
        (lambda: found.held_out(folds=9), "folds: got 9; allowed: 2 to 4"),
        (lambda: found.predict([-1]), "n: got -1"),
    ):
        with pytest.raises(ArgumentError, match=named):
            ask()
    with pytest.raises(FitError, match="cannot be determined"):
        fit("multi-line", [1, 2, 2, 3], [10, 21, 22, 29]).held_out()
    with pytest.raises(FitError, match="form cannot be determined"):
        compare_forms([1, 2], [3, 4])


def test_a_fit_shows_data_curve_and_residuals():
    n, ns = exact("multi-line")
    figure = fit("multi-line", n, ns + np.random.default_rng(1).normal(0, 10, n.size), sigma=10.0).plot(
        "(E, E)", "lines"
    )
    above, below = figure.axes
    assert above.get_title() == "(E, E)"
    assert below.get_xlabel() == "lines"
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_a_form_of_one_s_own():
    root = Form("root", "r sqrt n", ("r",), lambda n: np.sqrt(n)[:, None], "made up")
    found = fit(root, [1, 4, 9, 16], [2.01, 3.99, 6.02, 7.98])
    assert found.value("r") == pytest.approx(2, abs=0.01)
    assert found.predict(25.0) == pytest.approx(10, abs=0.05)


def test_welch_agrees_with_scipy():
    from scipy import stats

    random = np.random.default_rng(8)
    a, b = random.normal(470, 30, 40), random.normal(500, 80, 60)
    ours, theirs = welch_test(summary_of(a), summary_of(b)), stats.ttest_ind(a, b, equal_var=False)
    assert ours.t == pytest.approx(theirs.statistic)
    assert ours.p_value == pytest.approx(theirs.pvalue)
    low, high = ours.interval()
    assert low < b.mean() - a.mean() < high


def test_an_overhead_is_measured_less_estimated():
    """Table 2.6, E-E: 479.1 (36.1) estimated, 497.1 (73.7) measured, 18.0 (1.2) between them."""
    local, remote, modified = (
        Summary(*s, 5000) for s in ((8.603, 0.246), (235.796, 25.486), (234.702, 25.617))
    )
    estimated = estimate(local, remote, modified)
    assert (estimated.mean, estimated.deviation) == (
        pytest.approx(479.1, abs=0.05),
        pytest.approx(36.1, abs=0.05),
    )
    found = welch_test(estimated, Summary(497.1, 78.5, 5000))
    assert found.difference == pytest.approx(18.0, abs=0.05)
    assert found.standard_error == pytest.approx(1.22, abs=0.01)
    assert found.p_value < 1e-6


#: Tables 1.6 (same core and middle distance; I of the same core) and 1.7.
XEON_PHI = {
    "L,M": (8.600, 0.227), "L,E": (8.603, 0.246), "L,S": (8.662, 0.883),
    "R,M": (234.702, 25.617), "R,E": (235.796, 25.486), "R,S": (233.363, 34.959), "I": (277.650, 34.016),
}  # fmt: skip
SANDY_BRIDGE = {
    "L,M": (2.3, 0.07), "L,E": (2.3, 0.04), "L,S": (2.8, 0.87), "L,F": (2.3, 0.02),
    "P,M": (41.6, 3.63), "P,E": (32.8, 2.83), "P,S": (15.8, 2.13), "P,F": (15.1, 0.93),
    "L,I": (69.3, 6.98), "P,I": (70.9, 4.11),
}  # fmt: skip


@pytest.mark.parametrize(
    ("table", "groups"),
    [
        (XEON_PHI, ["L,E L,M L,S", "R,E R,M R,S", "I"]),  # Table 1.5b
        (SANDY_BRIDGE, ["L,E L,F L,M L,S", "P,F P,S", "P,E", "P,M", "L,I P,I"]),  # Table 1.8
    ],
    ids=["xeon-phi", "sandy-bridge"],
)
def test_the_simplified_models_are_the_paper_s(table, groups):
    found = cluster_costs({name: Summary(*value, 5000) for name, value in table.items()})
    assert [" ".join(sorted(cluster.names)) for cluster in found] == groups
    means = [cluster.summary.mean for cluster in found]
    assert means == sorted(means)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: summary_of([1.0]), "ns: got 1 samples"),
        (lambda: summary_of([1.0, -1.0]), "ns: got -1"),
        (lambda: summary_of([1.0, math.nan]), "ns: got 1 values that are not finite"),
        (lambda: Summary(math.inf, 1, 3), "mean: got inf"),
        (lambda: Summary(1, -1, 3), "deviation: got -1"),
        (lambda: welch_test(Summary(1, 1, 1), Summary(1, 1, 9)), "first: got one sample"),
        (lambda: welch_test(Summary(1, 0, 5), Summary(2, 0, 9)), "deviation: got 0 in both"),
        (lambda: cluster_costs({}), "costs: got none"),
        (lambda: estimate(), "terms: got none"),
    ],
)
def test_bad_statistics_are_refused(call, named):
    with pytest.raises(ArgumentError, match=named):
        call()
