"""Sweeps on a simulated machine: the same numbers whatever simulates them, in the same records as measured ones."""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pytest

import phicoll
from phicoll import bench
from phicoll.cli.run import KNOBS
from phicoll.measuring import plan
from phicoll.measuring.options import simulated_default
from phicoll.measuring.simulating import simulate_point

MACHINE = "xeon-phi-5110p"
FEW = {"machine": MACHINE, "ranks": [4, 13], "calls": 3, "progress": False}
FEW_WORDS = ("--machine", MACHINE, "--ranks", "4,13", "--calls", "3")


def body(results):
    """Everything but what differs from run to run: the context, the end, and the run's id."""
    return [
        {name: value for name, value in record.items() if name != "run"}
        for record in results.records
        if record["kind"] not in ("context", "end")
    ]


@pytest.fixture(scope="module")
def results():
    return phicoll.sweep(algorithm="dissemination,tree,auto", rounds=2, **FEW)


@pytest.fixture
def run_bench(tmp_path):
    def run(*words, operation="barrier", **options):
        return subprocess.run(
            [str(bench.find()), "run", operation, *map(str, words)],
            capture_output=True, text=True, timeout=120, check=False, **options,
        )  # fmt: skip

    return run


def test_records_are_labelled_simulated_and_can_be_traced(results):
    assert results.reason == "complete"
    [context] = results.contexts
    machine = phicoll.load_machine(MACHINE)
    assert context["machines"][0]["digest"] == machine.digest
    # All of them, also those that only machines of another protocol use.
    assert context["machines"][0]["parameters"].items() >= machine.parameters.items()
    assert context["host"]["cpu_model"]
    assert context["clock"]["source"] == "simulated"
    assert len(results.points) == 6
    assert len(results) == 12
    assert {p["mode"] for p in results.points} == {"simulated"}
    assert {(p["machine"], p["machine_digest"]) for p in results.points} == {(MACHINE, machine.digest)}
    assert all(p["verified"] for p in results.points)
    sample = results.samples[0]
    assert len(sample["cycles"]) == len(sample["ns"]) == 3
    assert sample["counters"]["requests"]["write_no_read"] > 0
    assert "simulated xeon-phi-5110p" in results.caption()


def test_the_same_seed_gives_the_same_lines_with_any_number_of_jobs(results):
    again = phicoll.sweep(algorithm="dissemination,tree,auto", rounds=2, jobs=1, **FEW)
    assert body(again) == body(results)
    assert again.contexts[0]["run"] != results.contexts[0]["run"]


def test_another_seed_gives_other_numbers(results):
    other = phicoll.sweep(algorithm="dissemination,tree,auto", rounds=2, seed=2, **FEW)
    assert [s["cycles"] for s in other.samples] != [s["cycles"] for s in results.samples]
    assert [p["cpus"] for p in other.points] == [p["cpus"] for p in results.points]


def test_phicoll_bench_and_python_write_the_same(results, run_bench, tmp_path):
    path = tmp_path / "r.jsonl"
    done = run_bench("--algorithm", "dissemination,tree,auto", "--rounds", 2, *FEW_WORDS, "-o", path)
    assert done.returncode == 0, done.stderr
    assert body(phicoll.load(path)) == body(results)


def test_a_process_pool_gives_the_same(results):
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as executor:
        found = phicoll.sweep(algorithm="dissemination,tree,auto", rounds=2, executor=executor, **FEW)
    assert body(found) == body(results)


def test_a_thread_pool_of_the_users_is_left_open(results):
    with ThreadPoolExecutor(3) as executor:
        found = phicoll.sweep(algorithm="dissemination,tree,auto", rounds=2, executor=executor, **FEW)
        assert executor.submit(len, "open").result() == 4
    assert body(found) == body(results)


def test_dask_gives_the_same(results):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        executor = client.get_executor()
        found = phicoll.sweep(algorithm="dissemination,tree,auto", rounds=2, executor=executor, **FEW)
    assert body(found) == body(results)


def test_a_point_can_be_sent_anywhere():
    planned = plan(algorithm="tree", machine=f"{MACHINE}:ring.hop=0", ranks=5, calls=2)
    [(point, title)] = planned.planned.tasks
    assert title.endswith(" with 5 ranks")
    function, *arguments = pickle.loads(pickle.dumps((simulate_point, planned.planned.text, point)))
    lines, samples, error = function(*arguments)
    assert (samples, error) == (1, "")
    assert json.loads(lines[0])["machine"] == f"{MACHINE}:ring.hop=0"


def test_a_machine_of_ones_own_is_a_file(tmp_path):
    path = tmp_path / "mine.json"
    from phicoll import _core

    path.write_text(_core.machine_file_text(MACHINE).replace(f'"{MACHINE}"', '"mine"'))
    found = phicoll.measure("dissemination", ranks=8, calls=2, machine=path, progress=False)
    same = phicoll.measure("dissemination", ranks=8, calls=2, machine=MACHINE, progress=False)
    assert found.points[0]["machine"] == "mine"
    assert [s["cycles"] for s in found.samples] == [s["cycles"] for s in same.samples]


BAD = [
    ({"machine": "xeon-phi-5110"}, "machine", "xeon-phi-5110p"),
    ({"machine": f"{MACHINE}:ring.hops=0"}, "machine", "ring.hop"),
    ({"machine": "./there-is-none.json"}, "machine", "there-is-none.json"),
    ({"ranks": 241}, "ranks", "1 to 240, the contexts of xeon-phi-5110p"),
    ({"placement": "sideways"}, "placement", "balanced"),
    ({"algorithm": "std-barrier"}, "algorithm", "no simulated form"),
    ({"algorithm": "references"}, "algorithm", "no simulated form"),
    ({"algorithm": "disemination"}, "algorithm", "dissemination"),
    ({"mode": "threads"}, "mode", "without"),
    ({"launches": 2}, "launches", "without"),
    ({"window_calls": 2}, "window_calls", "without"),
    ({"budget_s": 0}, "budget_s", "a number above 0, or none"),
    ({"target_width": 0.1}, "target_width", "without"),
    ({"oversubscribe": True}, "oversubscribe", "without"),
    ({"delay_ns": -1}, "delay_ns", " 0"),
    ({"imbalance_ns": 2}, "imbalance_ns", "without"),
    ({"start": "evicted", "definition": "loop"}, "start", "window"),
    ({"start": "cold"}, "start", "warm, evicted"),
    ({"lock_wait_s": 2}, "lock_wait_s", "without"),
    ({"calls": 0}, "calls", "from 1"),
    ({"warm_up": -1}, "warm_up", "from 0"),
    ({"rounds": 0}, "rounds", "from 1"),
    ({"skew_ns": -1}, "skew_ns", " 0"),
    ({"jobs": 0}, "jobs", "from 1"),
    ({"wait": "sleep"}, "wait", "spin"),
    ({"definition": "median"}, "definition", "loop"),
    ({"seed": -1}, "seed", "from 0"),
    ({"executor": 3}, "executor", "concurrent.futures"),
]
OPTIONS = {"window_calls": "window-calls", "budget_s": "budget", "target_width": "target-width"}
OPTIONS |= {"delay_ns": "delay-ns", "imbalance_ns": "imbalance-ns", "lock_wait_s": "lock-wait"}
OPTIONS |= {"warm_up": "warm-up", "skew_ns": "skew-ns"}


@pytest.mark.parametrize(("options", "argument", "words"), BAD)
def test_bad_input_is_refused_by_name(options, argument, words):
    with pytest.raises(phicoll.ArgumentError) as caught:
        phicoll.sweep(**{"machine": MACHINE, "algorithm": "tree", "ranks": 2, "progress": False, **options})
    assert caught.value.argument == argument
    assert words in str(caught.value)


@pytest.mark.parametrize(("options", "argument", "words"), [one for one in BAD if "executor" not in one[0]])
def test_and_so_by_both_commands(options, argument, words, run_bench, phicoll_command):
    argument = OPTIONS.get(argument, argument)
    given = {"machine": MACHINE, "algorithm": "tree", "ranks": 2, **options}
    line = []
    for name, value in given.items():
        line += [f"--{OPTIONS.get(name, name)}"] + ([] if value is True else [str(value)])
    settings = [f"--{OPTIONS.get(name, name)}" for name in KNOBS]
    own = [word for one, word in zip(["", *line], line, strict=False) if {one, word}.isdisjoint(settings)]
    own += [f"--set={one[2:]}={value}" for one, value in pairwise(line) if one in settings]
    for done in (run_bench(*line), phicoll_command("run", "barrier", *own)):
        assert done.returncode == 2
        assert f": {argument}: got " in done.stderr
        assert words in done.stderr
        assert len(done.stderr.splitlines()) == 1
        assert done.stdout == ""


@pytest.mark.parametrize(
    "options",
    [{"warm_up": 3}, {"skew_ns": 3}, {"jobs": 3}, {"executor": ThreadPoolExecutor(1)}],
)
def test_what_only_a_simulation_has_is_refused_without_a_machine(options):
    with pytest.raises(phicoll.ArgumentError, match="only with a machine"):
        phicoll.sweep(algorithm="tree", **options)


@pytest.mark.parametrize("option", ["--warm-up", "--skew-ns", "--jobs"])
def test_and_so_by_phicoll_bench(option, run_bench):
    done = run_bench("--algorithm", "tree", option, "3")
    assert done.returncode == 2
    assert done.stderr == f"phicoll-bench: {option[2:]}: got '3'; allowed: only with a machine to simulate\n"


def test_jobs_go_with_own_threads_only():
    with ThreadPoolExecutor(1) as executor, pytest.raises(phicoll.ArgumentError, match="jobs"):
        phicoll.sweep(algorithm="tree", machine=MACHINE, executor=executor, jobs=2)


def test_references_in_a_set_are_left_out_with_a_word():
    with pytest.warns(phicoll.PhicollWarning, match="references are left out"):
        found = phicoll.sweep(algorithm="tree,references", **FEW)
    assert {p["algorithm"] for p in found.points} == {"tree"}


def test_a_cut_file_is_resumed_where_it_was_cut(run_bench, tmp_path):
    words = ("--algorithm", "dissemination,tree", "--rounds", 2, "--definition", "loop,window", *FEW_WORDS)
    path = tmp_path / "r.jsonl"
    assert run_bench(*words, "-o", path).returncode == 0
    whole = phicoll.load(path)
    lines = path.read_text().splitlines(keepends=True)

    def values(found):
        return sorted(
            (p["spec"], p["ranks"], s["round"], s["definition"], s["cycles"])
            for p in {r["point"]: r for r in found.points}.values()
            for s in found.samples
            if s["point"] == p["point"]
        )

    for cut in (1, 4, 9, len(lines) - 1):
        path.write_text("".join(lines[:cut]) + '{"schema"')
        done = run_bench(*words, "-o", path, "--resume")
        assert done.returncode == 0, done.stderr
        with pytest.warns(phicoll.PhicollWarning):
            assert values(phicoll.load(path)) == values(whole)
        path.write_text("".join(lines[:cut]))
        resumed = phicoll.sweep(
            algorithm="dissemination,tree", rounds=2, definition="loop,window", save=path, resume=True, **FEW
        )
        assert values(resumed) == values(whole)
        assert resumed.reason == "complete"
    refused = run_bench(*words, "--calls", "3", "--warm-up", "7", "-o", path, "--resume")
    assert refused.returncode == 2
    refused = run_bench("--algorithm", "tree", *FEW_WORDS, "-o", path, "--resume")
    assert "as the run to resume has it" in refused.stderr


def test_a_barrier_that_fails_is_marked_and_the_others_go_on(monkeypatch, tmp_path):
    def simulate(run, point):
        lines, samples, error = simulate_point(run, point)
        if '"spec":"tree' in lines[0]:
            point = json.loads(lines[0])
            point["verified"], point["verification"]["error"] = False, "simulation: rank 3 waits for ever"
            lines = [json.dumps(point)]
            return lines, 0, point["verification"]["error"]
        return lines, samples, error

    monkeypatch.setattr("phicoll.measuring.simulating.simulate_point", simulate)
    few = {**FEW, "executor": ThreadPoolExecutor(1)}
    with pytest.warns(phicoll.PhicollWarning, match="not verified"):
        found = phicoll.sweep(algorithm="tree,dissemination", save=tmp_path / "r.jsonl", **few)
    assert found.reason == "complete"
    assert {p["algorithm"] for p in found.unverified} == {"tree"}
    assert {row.subject.algorithm for row in found.compare()} == {"dissemination"}
    with pytest.warns(phicoll.PhicollWarning, match="not verified"):
        again = phicoll.sweep(algorithm="tree,dissemination", save=tmp_path / "r.jsonl", resume=True, **few)
    assert len(again.points) == len(found.points)  # a failed point would fail again


def test_ctrl_c_keeps_the_finished_points(tmp_path):
    path = tmp_path / "r.jsonl"
    words = [
        str(bench.find()),
        "run",
        "barrier",
        "--machine",
        MACHINE,
        "--ranks",
        "8..240:8",
        "--rounds",
        "50",
    ]
    process = subprocess.Popen([*words, "-o", str(path)], stderr=subprocess.DEVNULL)
    end = time.monotonic() + 60
    while time.monotonic() < end and not (path.exists() and path.read_text().count('"kind":"sample"') > 3):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    found = phicoll.load(path)
    assert found.reason == "interrupted"
    assert len(found) > 3
    assert found.ends[0]["samples"] == len(found)
    assert found.ends[0]["points"] == len(found.points)


def test_ctrl_c_in_python_keeps_them_too(tmp_path):
    path = tmp_path / "r.jsonl"
    code = (
        "import warnings, phicoll; warnings.simplefilter('ignore');"
        f"r = phicoll.sweep(machine={MACHINE!r}, ranks='8..240:8', rounds=50, save={str(path)!r}, progress=False);"
        "print(r.reason, len(r) > 3)"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    end = time.monotonic() + 60
    while time.monotonic() < end and not (path.exists() and path.read_text().count('"kind":"sample"') > 3):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert out.split() == ["interrupted", "True"]
    assert phicoll.load(path).reason == "interrupted"


#: One point that takes minutes.
LONG = ("allreduce", "--machine", MACHINE, "--ranks", "240", "--sizes", "1M", "--algorithm", "auto")
LONG_IN_PYTHON = (
    f"import phicoll; phicoll.sweep('allreduce', algorithm='auto', machine={MACHINE!r}, ranks=240, sizes='1M', "
    "on_interrupt='raise')"
)


def cpu_seconds(pid):
    """The time for which a process has run."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("-m", "phicoll", "run", *LONG), 130),
        (("-c", LONG_IN_PYTHON), -signal.SIGINT),
        (("-c", "import phicoll; phicoll.explain(operation='allreduce', size='16K')"), -signal.SIGINT),
    ],
)
def test_ctrl_c_ends_a_point_while_it_is_simulated(start_python, words, code):
    process = start_python(*words)
    end = time.monotonic() + 60
    while cpu_seconds(process.pid) < 2:  # imports, and the point begins
        assert time.monotonic() < end
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)  # a tenth of a second where nothing else runs
    assert process.returncode == code


def test_the_program_shows_how_far_a_point_is_and_hears_ctrl_c(tmp_path):
    words = [bench.find(), "run", *LONG, "--progress", "-o", tmp_path / "r.jsonl"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        done = []
        while len(done) < 3:
            words = process.stderr.readline().split()
            assert words[:1] == ["progress:"]
            assert words[2] == str(240 * 22)
            done.append(int(words[1]))
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    assert done == sorted(done)
    assert phicoll.load(tmp_path / "r.jsonl").reason == "interrupted"


def test_progress_counts_what_a_point_has_done():
    shown = []
    options = {"algorithm": "ring", "machine": MACHINE, "ranks": 60, "sizes": "64K", "calls": 20}
    planned = plan("broadcast", **options)
    planned.run(lambda *step: shown.append(step))
    assert {total for _, total, _ in shown} == {60 * 22}
    assert shown[-1][0] == 60 * 22
    assert [done for done, _, _ in shown] == sorted(done for done, _, _ in shown)
    assert len(shown) > 1


def test_the_default_sizes_of_a_simulated_sweep_are_small(phicoll_command):
    assert simulated_default("sizes") == "8,4K"
    done = phicoll_command("run", "allreduce", "--machine", MACHINE, timeout=100)
    assert done.returncode == 0


#: A point that takes a moment, and one that takes minutes.
BOTH = {"machine": MACHINE, "ranks": "2,240", "sizes": "1M", "algorithm": "auto", "jobs": 1}


def test_a_budget_ends_a_point_and_names_it(run_bench, tmp_path, capfd):
    begin = time.monotonic()
    found = phicoll.sweep("allreduce", budget_s=2, progress=False, **BOTH)
    path = tmp_path / "r.jsonl"
    words = [f"--{name}={value}" for name, value in BOTH.items()]
    done = run_bench(*words, "--budget", 2, "-o", path, operation="allreduce")
    assert time.monotonic() - begin < 60
    assert done.returncode == 0
    for results, said in ((found, capfd.readouterr().err), (phicoll.load(path), done.stderr)):
        assert results.reason == "budget"
        assert [p["ranks"] for p in results.points] == [2]
        assert results.contexts[0]["settings"]["budget_s"] == 2
        assert "note: the budget is too short for 1 of 2 points: allreduce 1048576 fresh" in said
        assert said.rstrip().endswith("with 240 ranks")


def test_what_a_budget_left_out_is_simulated_on_resuming(results, run_bench, tmp_path):
    given = {"algorithm": "dissemination,tree,auto", "rounds": 2, "jobs": 1, **FEW}
    path = tmp_path / "r.jsonl"
    assert len(phicoll.sweep(budget_s=1e-6, save=path, **given)) > 0  # at least a point
    whole = phicoll.sweep(budget_s="none", save=path, resume=True, **given)
    assert whole.reason == "complete"
    assert [s["cycles"] for s in whole.samples] == [s["cycles"] for s in results.samples]


def fail(run, point):
    raise OSError(28, "No space left on device")


def test_an_executor_that_fails_keeps_what_there_was(monkeypatch, tmp_path):
    calls = iter([simulate_point, fail, fail, fail])
    monkeypatch.setattr("phicoll.measuring.simulating.simulate_point", lambda *task: next(calls)(*task))
    few = {**FEW, "executor": ThreadPoolExecutor(1)}
    with pytest.raises(phicoll.ResourceError, match="No space") as caught:
        phicoll.sweep(algorithm="tree,dissemination", save=tmp_path / "r.jsonl", **few)
    assert len(caught.value.results) == 1
    assert phicoll.load(tmp_path / "r.jsonl").reason == "failed"


def test_tables_and_figures_say_that_it_is_simulated(results, tmp_path):
    text = str(results.compare())
    assert "barrier, 13 ranks, simulated, xeon-phi-5110p, balanced, loop" in text
    assert "median us" in text
    assert "simulated, not measured" in text
    assert "lines" not in text.replace("one line", "")
    row = results.compare().to_list()[0]
    assert row["median_lines"] is None
    assert row["median_cycles"] == pytest.approx(row["median_ns"] * 1.053, rel=1e-3)
    for kind in ("ranks", "comparison", "distributions"):
        figure = results.plot(kind)
        figure.savefig(tmp_path / f"{kind}.png")
        titles = [ax.get_title(loc="left") for ax in figure.axes if ax.get_visible()]
        assert all("simulated" in title and MACHINE in title for title in titles)
    with pytest.raises(phicoll.ArgumentError, match="no rounds with probes"):
        results.plot("probes")
    with pytest.raises(phicoll.ArgumentError, match="unit"):
        results.plot("comparison", unit="lines")


def test_simulated_and_measured_never_stand_in_one_table(results, made_up):
    both = results + made_up()
    assert {title for title, _ in both.compare().groups() if "simulated" in title}
    for _, rows in both.compare().groups():
        assert len({row.subject.mode == "simulated" for row in rows}) == 1
    for ax in both.plot("ranks").axes:
        assert ("simulated" in ax.get_title(loc="left")) == ("us" in ax.get_ylabel())


def test_parquet_keeps_a_simulated_run(results, tmp_path):
    path = results.save(tmp_path / "r.parquet")
    assert phicoll.load(path).records == results.records


def test_the_command_runs_the_sweep(phicoll_command, tmp_path):
    path = tmp_path / "s.jsonl"
    words = (
        "--machine",
        MACHINE,
        "--ranks",
        "8..24:8",
        "--placement",
        "balanced",
        "--calls",
        "2",
        "-o",
        path,
    )
    done = phicoll_command("run", "barrier", "--algorithm", "all", *words)
    assert done.returncode == 0, done.stderr
    assert "24 ranks, simulated" in done.stdout
    assert {p["ranks"] for p in phicoll.load(path).points} == {8, 16, 24}
    compared = subprocess.run(
        [str(bench.find()), "compare", str(path)], capture_output=True, text=True, check=True
    )
    assert "24 ranks as simulated on xeon-phi-5110p, balanced, loop; in cycles" in compared.stdout
    plotted = phicoll_command("plot", path, "--figure", tmp_path / "s.png")
    assert plotted.returncode == 0, plotted.stderr
    assert (tmp_path / "s.png").stat().st_size > 10_000


def test_a_delay_between_calls_is_left_out_of_their_time():
    few = {**FEW, "ranks": 60, "algorithm": "dissemination"}
    [close], [apart] = (phicoll.sweep(**few, delay_ns=delay).samples for delay in (0, 100_000))
    assert apart["delay_ns"] == 100_000
    # Of ranks that had left the call before at different times, all are there: what a call from rest takes.
    assert close["value_ns"] / 2 < apart["value_ns"] < close["value_ns"] * 2


def test_a_root_scans_flags_on_neighbouring_lines_faster():
    """panigrahi-2014 section V gives a flag a line; the card's prefetcher runs along neighbouring ones."""

    def medians(operation, algorithms, flags, **options):
        found = phicoll.sweep(
            operation, algorithm=algorithms, machine=f"xeon-phi-se10p:software.flags={flags}", ranks=[61],
            rounds=1, calls=3, progress=False, **options,
        )  # fmt: skip
        return [sum(s["ns"]) for s in found.samples]

    barrier = {flags: medians("barrier", "centralized-lines", flags) for flags in ("lines", "pairs")}
    assert barrier["lines"][0] < 0.9 * barrier["pairs"][0]
    region = {
        flags: medians("broadcast", "double-buffered,double-buffered:ahead=8", flags, sizes=[8])
        for flags in ("lines", "pairs")
    }
    assert region["lines"][0] < 0.8 * region["pairs"][0]
    assert region["lines"][1] < 0.95 * region["lines"][0]


@pytest.mark.long
def test_times_of_long_arrays_lie_on_a_line():
    """As the notebook namashivayam-2014 draws them, up to 2^20 integers."""
    results = phicoll.sweep(
        "allreduce",
        algorithm="rabenseifner:transfer=load-store",
        ranks=64,
        machine="xeon-phi-se10p",
        placement="balanced",
        sizes="64K,256K,1M",
        type="int32",
        rounds=1,
        calls=1,
        warm_up=0,
        budget_s="none",
        progress=False,
    )
    first, second, third = results.to_dataframe().sort_values("size_bytes")["ns"]
    assert second + 4 * (second - first) == pytest.approx(third, rel=0.03)
