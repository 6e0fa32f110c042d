"""Comparing: what was drawn must come out, and nothing else may seem resolved."""

from __future__ import annotations

import json
import re
import subprocess

import numpy as np
import pytest

import phicoll
from made_up import DEFAULT, MadeUp, MadeUpSubject
from phicoll import bench
from phicoll.results import from_lines
from phicoll.results.compare.baseline import baseline_text
from phicoll.results.compare.best import holm_levels
from phicoll.results.compare.narrow import fitted
from phicoll.results.compare.shown import MOST_ROWS, Shown
from phicoll.results.compare.text import cells, ratio_cell

A, B = MadeUpSubject("dissemination:ways=3", 1.1), MadeUpSubject("sense-reversing", 2.2)


def results_of(**options):
    return from_lines(MadeUp(**options).text().splitlines(), "made up")


def test_ratios_and_lines_come_out_although_the_machine_drifts():
    rows = results_of(subjects=(A, B), launches=25, rounds=10, drift=0.8, definitions=("loop",)).compare()
    best, other = rows
    assert best.subject.algorithm == "dissemination"
    assert best.lines.low <= 1.1 <= best.lines.high
    ratio = other.ratio_to_best
    assert ratio.low <= 2.0 <= ratio.high
    assert ratio.resolved
    assert ratio.high / ratio.low < 1.1
    assert other.time.high / other.time.low > 1.1  # nanoseconds alone would not have told


def test_equal_subjects_are_seldom_told_apart():
    alike = tuple(MadeUpSubject(f"dissemination:ways={ways}", 1.5) for ways in range(1, 6))
    wrong = 0
    for seed in range(40):
        comparison = results_of(
            subjects=alike, seed=seed, launches=5, rounds=12, definitions=("loop",)
        ).compare()
        wrong += any(row.ratio_to_best.resolved for row in comparison)
    assert wrong <= 6  # 5 % of 40 is 2; 7 or more has a chance of 1 in 300


def test_the_best_of_several_is_not_flattered():
    """Chosen on odd rounds and compared on even ones, the best of equals is not seen as better."""
    alike = tuple(MadeUpSubject(f"dissemination:ways={ways}", 1.5) for ways in range(1, 21))
    ratios = []
    for seed in range(10):
        comparison = results_of(
            subjects=alike, seed=seed, launches=1, rounds=10, round_sigma=0.2, definitions=("loop",)
        ).compare()
        ratios += [
            row.ratio_to_best.median for row in comparison if row.ratio_to_best.opponent != row.subject.spec
        ]
    assert abs(np.median(np.log(ratios))) < 0.05


def test_a_subject_that_is_not_verified_is_marked_and_never_summarised():
    broken = MadeUpSubject("tree:degree=6", 0.1, verified=False)
    comparison = results_of(subjects=(A, broken, B)).compare()
    row = next(row for row in comparison if row.subject.algorithm == "tree")
    assert not row.verified
    assert row.time is None
    assert row.ratio_to_best is None
    assert "left call 3" in row.error
    assert row.to_dict()["median_ns"] is None
    assert all(other.ratio_to_best.opponent == A.spec for other in comparison if other.verified)
    assert "not verified" in str(comparison)


def test_where_ranks_share_a_cpu_the_unit_is_switches():
    row = results_of(subjects=(A, B), ranks=(8,), launches=8, rounds=10).compare()[0]
    assert row.lines is None
    assert row.switches.low <= 1.1 <= row.switches.high
    found = row.to_dict()
    assert found["median_lines"] is None
    assert found["median_switches"] == row.switches.median
    assert "switches [95 %]" in str(results_of(ranks=(8,)).compare())


def test_labels_are_summarised_apart():
    comparison = results_of(
        subjects=(A, B), same_core=0.3, launches=10, rounds=10, definitions=("loop",)
    ).compare()
    labels = {row.subject.label: row for row in comparison}
    assert set(labels) == {"remote", "same-core"}
    assert labels["same-core"].time.median < labels["remote"].time.median


def test_json_has_the_documented_fields():
    wanted = {
        *(
            "operation",
            "algorithm",
            "parameters",
            "mode",
            "machine",
            "ranks",
            "size_bytes",
            "definition",
            "label",
        ),
        *(
            "samples",
            "median_ns",
            "low_ns",
            "high_ns",
            "median_lines",
            "low_lines",
            "high_lines",
            "ratio_to_best",
        ),
        "verified",
    }
    found = json.loads(results_of().compare().to_json())
    assert len(found) == 10
    for row in found:
        assert wanted <= set(row)
        assert row["low_ns"] <= row["median_ns"] <= row["high_ns"]
        assert {"median", "low", "high"} <= set(row["ratio_to_best"])
    assert found[0]["size_bytes"] == 0
    assert found[0]["machine"] == "host"


def test_against_names_a_fixed_opponent():
    comparison = results_of(subjects=(A, B), launches=10, rounds=10).compare(against="sense-reversing")
    ratio = next(row for row in comparison if row.subject.algorithm == "dissemination").ratio_to_opponent
    assert ratio.opponent == "sense-reversing"
    assert ratio.low <= 0.5 <= ratio.high
    with pytest.raises(phicoll.ArgumentError, match="sense-reversing"):
        results_of(subjects=(A, B)).compare(against="tree")


def test_the_opponent_of_several_runs_is_one_that_met_the_others():
    common = MadeUpSubject("hand-one-line", 1.0)
    one = results_of(subjects=(common, B), run="a" * 16, launches=10)
    two = results_of(
        subjects=(common, MadeUpSubject("tree:degree=2", 0.9)), run="b" * 16, launches=10, seed=3
    )
    comparison = (one + two).compare()
    assert all(row.ratio_to_best is not None for row in comparison)
    assert {row.ratio_to_best.opponent for row in comparison} == {"hand-one-line"}


def test_tables_show_themselves_everywhere():
    results = results_of()
    assert "<table" in results._repr_html_()
    assert "barrier, 2 threads, loop" in str(results)
    assert repr(results.compare().best()).startswith("barrier, 2 threads, loop")
    frame = results.compare().to_dataframe()
    assert len(frame) == 10
    assert "ratio_to_best_median" in frame.columns
    assert str(phicoll.Results([]).compare()) == "no samples"


def test_summary_is_the_paper_s():
    tree = MadeUpSubject("tree:degree=2", 3.0)
    results = results_of(
        subjects=(A, B, tree), ranks=(2, 4, 8), launches=10, rounds=10, definitions=("loop",)
    )
    (summary,) = results.summary()
    assert summary.ranks == [2, 4, 8]
    by_name = {row.spec: row for row in summary}
    row = by_name["tree:degree=2"]
    assert row.geomean_ns == pytest.approx(np.prod(list(row.by_ranks.values())) ** (1 / 3))
    assert [at.spec for at in summary.ideal] == [A.spec] * 3
    assert summary.ideal_ns == pytest.approx(by_name[A.spec].geomean_ns)
    assert summary.worst_ns == pytest.approx(row.geomean_ns)
    assert row.loss == pytest.approx(3.0 / 1.1, rel=0.1)
    assert "ideal meta-algorithm" in str(summary)


def test_summary_names_what_is_not_at_every_count(tmp_path):
    one = results_of(subjects=(A, B), ranks=(2,), run="a" * 16)
    two = results_of(subjects=(A,), ranks=(4,), run="b" * 16)
    summary = next(s for s in (one + two).summary() if "loop" in s.title)
    assert [row.spec for row in summary] == [A.spec]
    assert summary.incomplete == [B.spec]


def test_a_resolved_slowdown_is_a_regression_and_no_other():
    before = results_of(subjects=(A, B), launches=10, rounds=10, definitions=("loop",))
    slower = MadeUpSubject(B.spec, B.lines * 1.4)
    after = results_of(
        subjects=(A, slower), launches=10, rounds=10, seed=7, line_ns=110, definitions=("loop",)
    )
    found = {one.subject.algorithm: one for one in after.regressions(before, 1.10)}
    assert found["sense-reversing"].regressed
    assert found["sense-reversing"].low > 1.1
    assert not found["dissemination"].regressed  # the line became slower, the algorithm did not
    assert found["dissemination"].unit == "lines"
    back = {one.subject.algorithm: one for one in before.regressions(after, 1.10)}
    assert back["sense-reversing"].improved


def test_a_baseline_of_before_a_parameter_came_is_compared():
    """``releases=last``, a default, is not in an older run's spec; ``releases=root`` is another algorithm."""
    options = {"launches": 10, "rounds": 10, "definitions": ("loop",)}
    before = results_of(subjects=(MadeUpSubject("sense-reversing:reset=sense:store=plain", 2.0),), **options)
    specs = [f"sense-reversing:reset=sense:releases={rank}:store=plain" for rank in ("last", "root")]
    after = results_of(subjects=[MadeUpSubject(spec, 3.0) for spec in specs], seed=7, **options)
    (found,) = after.regressions(before)
    assert found.subject.spec == specs[0]
    assert found.regressed


def test_a_machine_that_changed_is_no_regression():
    options = {"launches": 10, "rounds": 10, "definitions": ("loop",)}
    before = results_of(subjects=(B,), line_ns=40, **options)
    slower = results_of(subjects=(MadeUpSubject(B.spec, B.lines * 1.6),), line_ns=160, seed=7, **options)
    (found,) = slower.regressions(before, 1.10)
    assert found.low > 1.1
    assert not found.regressed
    assert found.verdict.startswith("not comparable: one of the lines took ")
    far_slower = results_of(subjects=(MadeUpSubject(B.spec, B.lines * 9),), line_ns=160, seed=7, **options)
    assert far_slower.regressions(before, 1.10)[0].regressed


def test_too_few_units_resolve_no_regression():
    before = results_of(subjects=(B,), launches=1, rounds=3)
    after = results_of(subjects=(MadeUpSubject(B.spec, 9.0),), launches=1, rounds=3)
    assert all(one.verdict == "too few units" for one in after.regressions(before))


def test_intervals_of_a_comparison_with_a_baseline_hold_jointly():
    """Seven rounds resolve a slowdown of one subject; of twenty subjects at once they are too few (Bonferroni)."""
    options = {"launches": 1, "rounds": 7, "definitions": ("loop",)}

    def verdicts(count):
        specs = [f"dissemination:ways={ways}" for ways in range(1, count + 1)]
        before = results_of(subjects=[MadeUpSubject(spec, 1.0) for spec in specs], **options)
        after = results_of(subjects=[MadeUpSubject(spec, 3.0) for spec in specs], seed=7, **options)
        return {one.verdict for one in after.regressions(before)}

    assert verdicts(1) == {"slower"}
    assert verdicts(20) == {"too few units"}


def test_an_interval_inside_the_threshold_is_unchanged():
    options = {"launches": 10, "rounds": 20, "definitions": ("loop",)}
    before, after = (results_of(subjects=(B,), seed=seed, **options) for seed in (1, 7))
    (found,) = after.regressions(before, 1.5)
    assert 1 / 1.5 < found.low < found.high < 1.5
    assert found.verdict == "unchanged"
    assert baseline_text([found]).endswith("0 slower, 0 faster, 1 unchanged, 0 unresolved (threshold 1.5)")
    (found,) = after.regressions(before, 1.0001)
    assert found.verdict == "no regression resolved"


def test_ratios_to_a_given_opponent_are_called_by_its_name():
    results = results_of()
    comparison = results.compare(against="dissemination")
    assert all(row.ratio_to_best is None and row.ratio_to_opponent for row in comparison if row.verified)
    text = str(comparison)
    assert "ratio to dissemination" in text
    assert "best" not in text
    columns = set(comparison.to_dataframe().columns)
    assert {"ratio_to_opponent_median", "ratio_to_opponent_name", "ratio_to_opponent_resolved"} <= columns
    assert not any(column.startswith("ratio_to_best") for column in columns)
    (row,) = [row for row in comparison.to_list() if row["algorithm"] == "dissemination"][:1]
    assert (row["ratio_to_best"], row["ratio_to_opponent"]["median"]) == (None, 1.0)
    assert not any(column.startswith("ratio_to_opp") for column in results.compare().to_dataframe().columns)


def test_a_table_s_ratios_are_corrected_over_its_rows():
    """Holm: each of many equal p-values is tested at its share, and an interval is as wide as its row's test."""
    levels, corrected = holm_levels([0.01, 0.03, 0.04], 0.95)
    assert levels == pytest.approx([1 - 0.05 / 3, 1 - 0.05 / 2, 1 - 0.05 / 2])
    assert corrected == pytest.approx([0.03, 0.06, 0.06])


def test_the_interval_s_near_end_decides_a_verdict_and_not_the_ratio():
    before = results_of(subjects=(B,), launches=1, rounds=12, round_sigma=0.25, definitions=("loop",))
    slower = MadeUpSubject(B.spec, B.lines * 1.25)
    after = results_of(
        subjects=(slower,), launches=1, rounds=12, round_sigma=0.25, seed=7, definitions=("loop",)
    )
    (found,) = after.regressions(before, 1.10)
    assert found.enough
    assert found.low < 1.10 < found.ratio
    assert not found.regressed
    assert found.verdict == "no regression resolved"
    (back,) = before.regressions(after, 1.10)
    assert back.ratio < 1 / 1.10 < back.high
    assert not back.improved
    assert back.verdict == "no regression resolved"


def test_a_point_that_failed_verification_is_not_verified_by_a_later_record():
    made = MadeUp(subjects=(A, MadeUpSubject(B.spec, B.lines, verified=False)))
    records = made.records()
    failed = next(r for r in records if r["kind"] == "point" and not r["verified"])
    passed = {**failed, "verified": True, "verification": {"calls": 100, "error": None}}
    row = next(r for r in phicoll.Results([*records, passed]).compare() if r.subject.spec == B.spec)
    assert not row.verified
    assert row.time is None
    assert "left call 3" in row.error


@pytest.mark.parametrize(("launches", "rounds"), [(1, 8), (25, 10)])
def test_no_ratio_is_not_significant_beside_an_interval_that_excludes_1(launches, rounds):
    """Verdict and interval come from one test: four units have none, however far apart the two subjects are."""
    comparison = results_of(
        subjects=(A, MadeUpSubject("tree:degree=2", 1.1), B),
        launches=launches,
        rounds=rounds,
        definitions=("loop",),
    ).compare()
    few = launches == 1
    others = [row for row in comparison if row.ratio_to_best.opponent != row.subject.spec]
    shown = [ratio_cell(row) for row in others]
    assert len(shown) == 2
    for cell, row in zip(shown, others, strict=True):
        ratio = row.ratio_to_best
        assert ratio.enough == (not few)
        assert ("n.s." in cell) == (not ratio.resolved)
        assert ("[" in cell) == ratio.enough
        assert ratio.resolved or not ratio.enough or ratio.low <= 1 <= ratio.high
    assert all(cell.endswith(" n.s. (4 units)") for cell in shown) or not few
    assert any("n.s." not in cell for cell in shown) or few
    assert "n.s. : not significant" in str(comparison)


def test_a_baseline_s_table_is_capped_and_never_hides_what_changed():
    alike = [MadeUpSubject(f"dissemination:ways={ways}", 1.0) for ways in range(1, 61)]
    options = {"launches": 1, "rounds": 20, "definitions": ("loop",)}
    before = results_of(subjects=alike, **options)
    slower = MadeUpSubject(alike[-1].spec, 3.0)
    found = results_of(subjects=[*alike[:-1], slower], seed=7, **options).regressions(before, 1.5)
    text = baseline_text(found)
    assert text.count("dissemination") == MOST_ROWS
    assert "20 of 60 rows, none slower or faster, are not shown (--all shows them)" in text
    (row,) = (line for line in text.splitlines() if line.endswith("  slower"))
    assert "ways=60" in row
    assert "geometric mean of 60 ratio(s) in lines: 1.0" in text
    assert re.search(r"1 slower, 0 faster, \d+ unchanged, \d+ unresolved \(threshold 1.5\)$", text)
    assert baseline_text(found, show_all=True).count("dissemination") == 60
    assert baseline_text([]) == "no subject is in both"


def test_a_busy_machine_is_told_of_in_the_footer():
    records = MadeUp().records()
    assert "busy" not in str(phicoll.Results(records).compare())
    records[0]["host"]["load"] = [3.0, 1.0, 1.0]
    comparison = phicoll.Results(records).compare()
    told = "warning: the machine was busy when a run began (load 1.5 for each CPU)"
    assert told in str(comparison)
    assert told in comparison._repr_html_()


def test_stolen_time_and_wide_spreads_are_told_of_in_the_footer():
    quiet = MadeUp(drift=0.02)
    assert "warning" not in str(phicoll.Results(quiet.records()).compare())
    records = quiet.records()
    records[-1]["steal_share"] = 0.034
    told = "warning: the hypervisor took 3.4% of the CPUs' time during a run (steal)"
    assert told in str(phicoll.Results(records).compare())
    comparison = results_of(drift=0.8)
    assert all(row.to_dict()["spread"] > 2 for row in comparison.compare())
    assert "warning: in 10 of 10 rows the middle 80 % of the times span more than a factor of 2" in str(
        comparison.compare()
    )


def test_what_was_left_out_is_told_with_its_reason():
    """A subject that could not be set up has a point and no sample."""
    records = MadeUp(subjects=(A, B)).records()
    point = next(r for r in records if r["kind"] == "point" and r["spec"] == B.spec)
    point["verified"] = False
    point["verification"]["error"] = "memory: no space left in the heap"
    kept = [r for r in records if r["kind"] != "sample" or r["point"] != point["point"]]
    told = "not verified, left out: sense-reversing, 2 threads: memory: no space left in the heap"
    assert told in str(phicoll.Results(kept).compare())
    alone = [r for r in kept if r["kind"] != "sample"]
    assert str(phicoll.Results(alone).compare()) == f"no samples\n{told}"
    assert told in phicoll.Results(alone).compare()._repr_html_()
    point["verification"]["error"] = None
    assert f"{told.split(': memory')[0]}: the record has no reason" in str(phicoll.Results(kept).compare())


def test_the_best_of_each_setting_are_a_comparison_that_is_shown_as_a_table():
    comparison = results_of(launches=2, rounds=3).compare()
    best = comparison.best()
    assert all(row.ratio_to_best.opponent == row.subject.spec for row in best)
    assert [row.name for row in best] == [rows[0].name for _, rows in comparison.groups()]
    assert best._repr_html_().count("<table") == len(comparison.groups())


def bench_rows(bench, path):
    """Every row that `phicoll-bench compare` prints: (n, median, in units, ratio)."""
    done = subprocess.run([str(bench), "compare", str(path)], capture_output=True, text=True, check=True)
    cell = r"(\S+(?: \[[^]]*\])?(?: \?)?)"
    return sorted(re.findall(rf"^\S+ +(\d+)  {cell} +{cell} +(.*)$", done.stdout, re.MULTILINE))


@pytest.mark.parametrize(
    "options",
    [
        {"launches": 30, "rounds": 8, "launch_sigma": 0.2},  # launches are the units
        {"launches": 30, "rounds": 8},  # rounds are
        {"launches": 1, "rounds": 7},  # few, and one launch
        {"launches": 12, "rounds": 1},  # all rounds even
        {"launches": 6, "ranks": (2, 8), "modes": ("threads", "processes"), "same_core": 0.3},
    ],
)
def test_both_programs_give_the_same_medians_intervals_and_ratios(tmp_path, options):
    made = MadeUp(subjects=(*DEFAULT, MadeUpSubject("tree:degree=2", 1.12)), drift=0.5, **options)
    path = made.write(tmp_path / "r.jsonl")
    expected = sorted(tuple(cells(row)[i] for i in (6, 1, 2, 3)) for row in phicoll.load(path).compare())
    assert bench_rows(bench.find(), path) == expected
    assert any("n.s." in row[3] for row in expected) or options["launches"] == 30


def over_sizes(sizes, subjects):
    """Made-up barriers called allreduces, a run for each size."""
    records = []
    for number, size in enumerate(sizes):
        made = MadeUp(subjects=subjects, run=f"{number:016x}", seed=number, definitions=("loop",))
        for record in made.records():
            if record["kind"] == "point":
                record |= {"operation": "allreduce", "size_bytes": size, "buffers": "fresh"}
                record |= {"type": "float32", "op": "sum"}
            records.append(record)
    return phicoll.Results(records).compare()


def test_several_sizes_are_one_table_with_time_bandwidth_and_ratio():
    auto = MadeUpSubject("auto", 1.0)
    comparison = over_sizes((8, 4096, 1 << 20), (auto, MadeUpSubject("one-shot", 3.0)))
    (table,) = comparison.tables()
    assert table.title == "allreduce, 2 threads, fresh, float32 sum, loop, CPUs 0,1, remote"
    assert table.heads[:5] == ("size", "algorithm", "median us [95 %]", "GB/s", "ratio to best")
    assert [line[0] for line in table.cells] == ["8 B", "", "4 KB", "", "1 MB", ""]
    assert [line[1] for line in table.cells] == ["auto", "one-shot"] * 3
    row = comparison.rows[2]
    assert row.gigabytes_a_second == pytest.approx(4096 / row.time.median)
    assert table.cells[2][2].startswith(f"{row.time.median / 1000:.3g} [")
    assert table.cells[2][3] == f"{row.gigabytes_a_second:.3g}"
    text = str(comparison)
    assert "GB/s : the size over the median time" in text
    assert "lines :" not in text  # a column that the table does not have
    assert comparison._repr_html_().count("<table") == 1
    alone = over_sizes((8,), (auto,))
    assert "lines [95 %]" in alone.tables()[0].heads


def test_tables_fit_a_narrow_terminal_and_say_what_they_leave_out(monkeypatch):
    long = MadeUpSubject("dissemination:ways=3:store=no-read", 1.1)
    wide = results_of(subjects=[long, MadeUpSubject("auto", 2.0)], launches=3, rounds=3).compare()
    sizes = over_sizes((8, 4096), (MadeUpSubject("auto", 2.0), MadeUpSubject("rabenseifner", 3.0)))
    for comparison in (wide, sizes):
        text = str(comparison)
        monkeypatch.setattr("phicoll.results.compare.table.terminal_width", lambda: 200)
        assert comparison.to_text() == text
        for width in (100, 90, 80):
            monkeypatch.setattr("phicoll.results.compare.table.terminal_width", lambda width=width: width)
            narrow = comparison.to_text()
            assert max(map(len, narrow.splitlines())) <= width, narrow
            for row in comparison:  # names, medians and ratios stay
                ratio = "1 (best)" if row.ratio_to_best.opponent == row.subject.spec else ratio_cell(row)[:4]
                assert re.search(rf" {re.escape(row.name)} .*\] .* {re.escape(ratio)}", narrow), narrow
        monkeypatch.undo()
    monkeypatch.setattr("phicoll.results.compare.table.terminal_width", lambda: 80)
    assert "  not shown: max ns, p95 ns, lines (all: a wider terminal, or a file)" in str(wide)
    assert "lines :" not in str(wide)  # the sign is explained only where its column is shown


def test_a_narrow_table_has_its_notes_below_with_their_sizes():
    table = Shown(
        "t",
        ("size", "algorithm", "ratio to best", "n", ""),
        [
            ["8 B", "tree", "1 (best)", "5", ""],
            ["", "auto", "1.01 [0.90, 1.10] n.s. (9 units)", "5", "chose x"],
        ],
        (0, 2, 3),
        0,
    )
    assert fitted(table, 100) == table
    assert fitted(table, 55).lines()[2:] == [
        "   8 B  tree                               1 (best)  5",
        "        auto       1.01 [0.90, 1.10] n.s. (9 units)  5",
        "  auto, 8 B: chose x",
    ]
    assert [line.split() for line in fitted(table, 30).lines()[3:]] == [
        ["auto", "1.01", "n.s.", "5"],
        ["auto,", "8", "B:", "chose", "x"],
    ]


def test_a_long_table_leaves_out_the_slowest_but_not_auto_until_all_is_asked_for():
    many = [MadeUpSubject(f"dissemination:ways={ways}", 1.0 + ways / 10) for ways in range(1, 61)]
    bad = MadeUpSubject("tree:degree=6", 1.0, verified=False)
    options = {"subjects": [*many, MadeUpSubject("auto", 20.0), bad], "launches": 2, "rounds": 4}
    comparison = results_of(definitions=("loop",), **options).compare()
    text = str(comparison)
    assert text.count("dissemination") == MOST_ROWS
    assert "  20 slower row(s) not shown (all: phicoll compare --all, to_dataframe())" in text
    assert text.index("  auto") < text.index("not verified")
    assert "20 slower row(s) not shown" in comparison._repr_html_()
    assert comparison.to_text(show_all=True).count("dissemination") == 60
    by_size = over_sizes([1 << shift for shift in range(3, 23)], [*many[:5], MadeUpSubject("auto", 20.0)])
    (table,) = by_size.tables()
    assert len(table.cells) == 20 * 3  # the best two of each size, and auto
    assert table.left_out == 20 * 3
    assert len(by_size.tables(show_all=True)[0].cells) == 120
