"""Reading and writing results: nothing lost, nothing taken for ours that is not."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import gzip
import json
import multiprocessing
import os
import signal
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

import phicoll
from made_up import MadeUp
from phicoll import bench
from phicoll.foundations.files import Appended, check_writable
from phicoll.measuring import plan
from phicoll.results.reading import frames
from phicoll.results.reading.records import verified_calls


@pytest.fixture
def path(tmp_path):
    return MadeUp(launches=2, rounds=3).write(tmp_path / "r.jsonl")


def test_load_keeps_every_record(path):
    results = phicoll.load(path)
    assert results.records == [json.loads(line) for line in path.read_text().splitlines()]
    assert results.damaged_lines == 0
    assert results.reason == "complete"
    assert len(results) == 2 * 3 * 5 * 2


NATIVE = {"algorithm": "dissemination", "ranks": 2, "budget_s": "none", "launches": 1, "rounds": 1}
SIMULATED = {"algorithm": "tree", "machine": "xeon-phi-5110p", "ranks": 8, "calls": 2, "rounds": 1}


@pytest.mark.parametrize("options", [NATIVE, SIMULATED, {**NATIVE, "executor": "dask:127.0.0.1:9"}])
def test_a_file_that_another_run_is_writing_is_refused(path, options):
    before = path.read_bytes()
    with (
        Appended(path, "save"),
        pytest.raises(phicoll.ArgumentError, match=r"r\.jsonl', which another run is writing"),
    ):
        phicoll.sweep(save=path, **options)
    assert path.read_bytes() == before


@pytest.mark.parametrize("options", [NATIVE, SIMULATED])
def test_a_file_to_resume_is_locked_before_it_is_read(path, options):
    """Otherwise a point that another run adds in between is measured twice."""
    path.write_text(path.read_text() + '{"cut": ')  # which a program that reads the file tells
    words = [word for name, value in options.items() for word in (f"--{name.removesuffix('_s')}", str(value))]
    command = [str(bench.find()), "run", "barrier", *words, "--resume", "-o", str(path)]
    with Appended(path, "save"):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "another run is writing" in done.stderr


def test_two_simulated_sweeps_that_resume_a_file_add_each_point_once(tmp_path):
    options = {**SIMULATED, "save": tmp_path / "r.jsonl"}
    phicoll.sweep(**{**options, "ranks": 8})
    cut = "".join(options["save"].read_text().splitlines(keepends=True)[:1])
    options["save"].write_text(cut)
    both = [plan(resume=True, **options) for _ in range(2)]
    for one in both:
        assert one.run().reason == "complete"
    assert len(phicoll.load(options["save"]).points) == 1


@pytest.mark.parametrize("options", [NATIVE, SIMULATED])
def test_an_empty_file_is_begun_by_resuming(tmp_path, options):
    path = tmp_path / "r.jsonl"
    path.touch()
    assert phicoll.sweep(save=path, resume=True, **options).reason == "complete"


def test_a_file_that_phicoll_bench_writes_is_refused(tmp_path):
    path = tmp_path / "r.jsonl"
    command = [str(bench.find()), "run", "barrier", "--ranks", "2", "--algorithm", "dissemination"]
    command += ["--budget", "none", "--progress-ack", "-o", str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        while not running.stderr.readline().startswith(b"progress:"):  # then it waits for an answer
            assert running.poll() is None
        with pytest.raises(phicoll.ArgumentError, match="another run is writing"):
            Appended(path, "save")
        running.kill()
    Appended(path, "save").close()


def test_the_file_at_the_path_is_locked_though_another_was_opened(tmp_path, monkeypatch):
    path, flock = tmp_path / "r.jsonl", fcntl.flock

    def after_it_was_removed(descriptor, how):
        monkeypatch.undo()
        path.unlink()
        flock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", after_it_was_removed)
    with Appended(path, "save") as file:
        with pytest.raises(phicoll.ArgumentError, match="another run is writing"):
            Appended(path, "save")
        file.write(["a line"])
    assert path.read_text() == "a line\n"


def test_a_check_takes_no_file_from_a_run_that_begins_meanwhile(tmp_path, monkeypatch):
    path, unlink, begun = tmp_path / "r.jsonl", Path.unlink, []

    def after_a_run_began(self, missing_ok=False):
        monkeypatch.undo()
        with contextlib.suppress(phicoll.ArgumentError):
            begun.append(Appended(path, "save"))
        unlink(self, missing_ok)

    monkeypatch.setattr(Path, "unlink", after_a_run_began)
    check_writable(path)
    for run in begun:
        run.write(["a line"])
        run.close()
    assert path.exists() == bool(begun)
    Appended(path, "save").close()


def test_a_check_leaves_a_link_and_takes_what_it_made(tmp_path):
    link, target = tmp_path / "link", tmp_path / "target"
    link.symlink_to(target)
    check_writable(link)
    assert link.is_symlink()
    assert not target.exists()


#: Simulates by forked workers, which say that they run, and is killed then.
KILLED = """
import multiprocessing, os, sys, time
from concurrent.futures import ProcessPoolExecutor
import phicoll

def say():
    print(os.getpid(), flush=True)

with ProcessPoolExecutor(1, multiprocessing.get_context("fork"), say) as pool:
    phicoll.sweep(algorithm="tree", machine="xeon-phi-5110p", ranks=240, calls=50, rounds=1000,
                  save=sys.argv[1], executor=pool)
"""


def test_workers_that_outlive_a_killed_run_keep_no_lock(tmp_path):
    path = tmp_path / "r.jsonl"
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True
    ) as running:
        worker = int(running.stdout.readline())
        try:
            with pytest.raises(phicoll.ArgumentError, match="another run is writing"):
                Appended(path, "save")
            running.kill()
            running.wait()
            os.kill(worker, 0)  # it lives on
            Appended(path, "save").close()
        finally:
            os.kill(worker, signal.SIGKILL)


@pytest.mark.parametrize("fault", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_serves(path, monkeypatch, fault):
    def refuse(descriptor, how):
        raise OSError(fault, os.strerror(fault))

    monkeypatch.setattr(fcntl, "flock", refuse)
    before = phicoll.load(path).records
    found = phicoll.sweep(save=path, **SIMULATED)
    assert phicoll.load(path).records == before + found.records


def test_lines_are_written_as_a_whole_after_an_unfinished_one(path, monkeypatch):
    path.write_bytes(path.read_bytes()[:-20])
    before, lines, writes, write = path.read_text(), ["a" * 100_000, "b" * 9_000], [], os.write
    monkeypatch.setattr(os, "write", lambda to, data: writes.append(write(to, data)) or writes[-1])
    with Appended(path, "save") as file:
        file.write(lines)
    assert writes == [109_003]
    assert path.read_text() == "\n".join([before, *lines, ""])


def test_a_file_is_free_after_a_run_whose_workers_live_on(tmp_path):
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(1, context) as pool:
        for runs in (1, 2):
            phicoll.sweep(save=tmp_path / "r.jsonl", executor=pool, **SIMULATED)
            assert len(phicoll.load(tmp_path / "r.jsonl").contexts) == runs


def test_a_file_is_free_after_a_full_disk(path, monkeypatch):
    def full(descriptor, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space") as kept:
            phicoll.sweep(save=path, **SIMULATED)
    phicoll.sweep(save=path, **SIMULATED)
    assert kept.value.errno == errno.ENOSPC


def test_a_new_file_stays_only_with_lines(tmp_path):
    for lines in ([], ["a"]):
        with Appended(tmp_path / "r.jsonl", "save") as file:
            file.write(lines)
        assert (tmp_path / "r.jsonl").exists() == bool(lines)


@pytest.mark.parametrize(
    ("host", "words"),
    [
        ({"name": "node7"}, "a run of the host 'node7'"),
        ({"cpu_model": "another"}, "a run of a host with another CPU, 'another'"),
    ],
)
def test_a_run_of_another_host_is_not_continued(host, words, tmp_path):
    path = tmp_path / "r.jsonl"
    for options in (NATIVE, SIMULATED):
        path.unlink(missing_ok=True)
        phicoll.sweep(save=path, **options)
        context, *others = (json.loads(line) for line in path.read_text().splitlines())
        context["host"] |= host
        path.write_text("".join(json.dumps(record) + "\n" for record in (context, *others)))
        before = path.read_text()
        if options is SIMULATED:  # whose numbers are the same on any host
            phicoll.sweep(save=path, resume=True, **options)
        else:
            with pytest.raises(phicoll.ArgumentError, match=f"resume: got {words}"):
                phicoll.sweep(save=path, resume=True, **options)
            assert path.read_text() == before


@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz", "parquet"])
def test_saving_and_loading_gives_the_same_records(path, tmp_path, suffix):
    results = phicoll.load(path)
    results.samples[0]["remark"] = None  # null is not the same as missing
    saved = results.save(tmp_path / f"again.{suffix}")
    assert phicoll.load(saved).records == results.records


def test_parquet_rows_can_be_read_by_others(path, tmp_path):
    import pandas as pd

    frame = pd.read_parquet(phicoll.load(path).save(tmp_path / "r.parquet"))
    assert {"point", "launch", "round", "definition", "ns"} <= set(frame.columns)
    assert len(frame) == 60


@pytest.mark.parametrize("cut", [1, 7, 60])
def test_a_cut_off_last_line_is_counted_and_the_rest_kept(path, cut):
    whole = path.read_text().splitlines()
    path.write_text("\n".join(whole[:-1]) + "\n" + whole[-1][: -cut if cut > 1 else -1])
    with pytest.warns(phicoll.PhicollWarning, match="1 cut-off line skipped"):
        results = phicoll.load(path)
    assert results.damaged_lines == 1
    assert len(results.records) == len(whole) - 1
    assert results.reason == "killed"
    assert results.compare().damaged_lines == 1


def test_a_damaged_line_in_the_middle_is_counted_too_and_not_called_cut_off(path):
    lines = path.read_text().splitlines()
    lines[5] = lines[5][:20]
    path.write_text("\n".join(lines) + "\n")
    with pytest.warns(phicoll.PhicollWarning, match=r"r\.jsonl: 1 damaged line\(s\) skipped"):
        assert phicoll.load(path).damaged_lines == 1
    lines[-1] = lines[-1][:20]
    path.write_text("\n".join(lines))
    with pytest.warns(phicoll.PhicollWarning, match=r"1 damaged line\(s\) and 1 cut-off line skipped"):
        assert phicoll.load(path).damaged_lines == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no line"),
        ('{"schema": 1, "kind": "cont', "1 cut-off line"),
        ("root:x:0:0\n", "not JSON"),
        ("[1, 2]\n", "no schema"),
        ('{"a": 1}\n', "no schema"),
        ('{"schema": 1, "kind": "sample"}\n', "kind 'sample'"),
        ('{"schema": 1, "kind": "context", "phicoll": "models"}\n', "kind 'context'"),
        ('{"schema": "1", "kind": "context"}\n', "schema '1'"),
        ('{"schema": 2, "kind": "context", "phicoll": "results"}\n', "schema 2"),
    ],
)
def test_what_is_not_ours_or_newer_is_refused(tmp_path, text, words):
    path = tmp_path / "other.jsonl"
    path.write_text(text)
    with pytest.raises(phicoll.ResultsFileError) as caught:
        phicoll.load(path)
    assert words in caught.value.got
    assert str(path) in str(caught.value)
    assert "allowed: " in str(caught.value)


def test_a_newer_schema_anywhere_is_refused(path):
    with path.open("a") as stream:
        stream.write('{"schema": 2, "kind": "sample", "run": "x"}\n')
    with pytest.raises(phicoll.ResultsFileError, match="newer phicoll"):
        phicoll.load(path)


def test_unknown_fields_and_kinds_are_kept_and_ignored(path):
    with path.open("a") as stream:
        stream.write('{"schema": 1, "kind": "remark", "run": "x", "text": "hello"}\n')
    results = phicoll.load(path)
    assert results.records[-1]["text"] == "hello"
    assert len(results.compare()) == 10


def test_verified_calls_are_found_in_older_files_too(path):
    point = phicoll.load(path).points[0]
    assert verified_calls(point) == 100
    assert verified_calls({**point, "verification": {"episodes": 7, "error": None}}) == 7
    assert verified_calls({**point, "verification": None}) == 0


def test_a_missing_file_and_a_foreign_parquet_are_refused(tmp_path):
    import pandas as pd

    with pytest.raises(phicoll.ResultsFileError, match="No such file"):
        phicoll.load(tmp_path / "nothing.jsonl")
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(phicoll.ResultsFileError, match="without phicoll's metadata"):
        phicoll.load(tmp_path / "a.parquet")
    (tmp_path / "b.parquet").write_text("no")
    with pytest.raises(phicoll.ResultsFileError):
        phicoll.load(tmp_path / "b.parquet")


def test_writing_where_nothing_can_be_written_is_refused_and_leaves_nothing(path, tmp_path):
    results = phicoll.load(path)
    before = sorted(tmp_path.iterdir())
    for bad in (tmp_path, tmp_path / "no" / "r.jsonl", "/proc/phicoll.jsonl"):
        with pytest.raises(phicoll.ArgumentError):
            results.save(bad)
    assert sorted(tmp_path.iterdir()) == before
    assert not check_writable(tmp_path / "new.jsonl").exists()


@pytest.mark.parametrize("name", ["r.txt", "r.json", "r", "r.CSV"])
def test_an_unknown_ending_is_refused_and_the_known_ones_are_named(path, tmp_path, name):
    before = sorted(tmp_path.iterdir())
    with pytest.raises(phicoll.ArgumentError, match=r"\.jsonl, \.jsonl\.gz, \.parquet, \.csv"):
        phicoll.load(path).save(tmp_path / name)
    assert sorted(tmp_path.iterdir()) == before


def test_csv_is_the_table_of_samples(path, tmp_path):
    import pandas as pd

    results = phicoll.load(path)
    read = pd.read_csv(results.save(tmp_path / "r.csv"))
    table = results.to_dataframe()
    assert list(read.columns) == list(table.columns)
    assert read["ns"].tolist() == pytest.approx(table["ns"].tolist())


def test_several_files_are_loaded_in_order(path, tmp_path):
    first = phicoll.load(path)
    second = MadeUp(launches=1, rounds=2).write(tmp_path / "second.jsonl")
    second.write_text(second.read_text().replace(first.records[0]["run"], "00000000000000bb"))
    both = phicoll.load(path, second)
    assert both.records == first.records + phicoll.load(second).records


def test_views(path):
    results = phicoll.load(path)
    samples = results.to_dataframe()
    assert len(samples) == 60
    loop = samples[samples.definition == "loop"].iloc[0]
    assert loop.ns == max(results.samples[0]["ns"])
    assert loop.lines == pytest.approx(loop.ns / loop.pingpong_ns)
    assert len(results.to_dataframe("calls")) == 30 * 12
    assert len(results.to_dataframe("rounds")) == 6
    assert len(results.to_dataframe("points")) == 5
    with pytest.raises(phicoll.ArgumentError, match="samples, calls, rounds, points"):
        results.to_dataframe("all")


def test_columns_of_numbers_are_numeric_although_none_is_there(path):
    results = phicoll.load(path)
    frame = results.to_dataframe()
    assert frame["cycles"].dtype == float
    assert frame["start"].unique().tolist() == ["warm"]
    table = results.select(algorithm="std-barrier").compare().to_dataframe()
    numbers = [
        c
        for c in table
        if c.startswith(("median_", "low_", "high_", "ratio_to_best_")) and c[-5:] not in ("_best", "olved")
    ]
    assert len(numbers) == 16
    assert table[numbers].dtypes.eq(float).all()
    assert table["ratio_to_best_resolved"].dtype == "boolean"
    assert table["error"].tolist() == [None, None]


@pytest.fixture
def dataset(tmp_path):
    pytest.importorskip("xarray")
    one = MadeUp(launches=2, rounds=3, ranks=(2, 8), run="a" * 16)
    two = MadeUp(launches=1, rounds=4, ranks=(2,), run="b" * 16, seed=2)
    results = phicoll.load(one.write(tmp_path / "1.jsonl"), two.write(tmp_path / "2.jsonl"))
    return results, results.to_xarray()


def test_a_dataset_has_every_sample_at_its_place(dataset):
    results, found = dataset
    assert dict(found.sizes) == {"spec": 5, "ranks": 2, "definition": 2, "round": 10}
    assert int(found.ns.count()) == len(results) == 5 * 2 * (2 * 2 * 3 + 4)
    frame = results.to_dataframe()
    for _, row in frame.sample(20, random_state=1).iterrows():
        at = found.sel(spec=row.spec, ranks=row.ranks, definition=row.definition)
        at = at.isel(round=((found.run == row.run) & (found.launch == row.launch)).values)
        assert row.ns in at.ns.values
    assert found.operation.item() == "barrier"
    assert found.algorithm.dims == ("spec",)
    assert found.oversubscribed.dims == ("ranks",)
    assert found.sel(ranks=2).lines.count() == 100
    assert found.sel(ranks=8).lines.count() == 0
    assert "cycles" not in found


def test_a_dataset_has_nothing_unverified_and_is_not_too_large(dataset, monkeypatch):
    results, found = dataset
    wrong = [{**r, "verified": False} if r.get("algorithm") == "std-barrier" else r for r in results.records]
    left = phicoll.Results(wrong).to_xarray()
    assert set(found.algorithm.values) - set(left.algorithm.values) == {"std-barrier"}
    with pytest.raises(phicoll.ArgumentError, match="no verified sample"):
        phicoll.Results([]).to_xarray()
    monkeypatch.setattr(frames, "MOST_CELLS", 199)
    with pytest.raises(phicoll.ArgumentError, match=r"200 points of spec x ranks x definition x round"):
        results.to_xarray()


def test_without_xarray_an_error_says_so(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(
        phicoll.ResourceError, match=r"xarray is not installed; run: pip install 'phicoll\[arrays\]'"
    ):
        phicoll.load(path).to_xarray()


def test_a_window_sample_is_the_middle_half_of_its_calls_unless_it_says(path):
    results = phicoll.load(path)
    window = next(o for o in results.observations.all if o.subject.definition == "window")
    ordered = sorted(window.sample["ns"])
    assert window.ns == pytest.approx(sum(ordered[3:9]) / 6)
    window.sample["value_ns"] = 12.5
    assert next(
        o.ns for o in phicoll.Results(results.records).observations.all if o.sample is window.sample
    ) == pytest.approx(12.5)


def test_select_keeps_what_matches_with_its_rounds(path):
    results = phicoll.load(path)
    part = results.select(algorithm=["sense-reversing", "std-barrier"], definition="loop")
    assert {s.algorithm for s in part.subjects} == {"sense-reversing", "std-barrier"}
    assert {s.definition for s in part.subjects} == {"loop"}
    assert len(part.rounds) == len(results.rounds)
    with pytest.raises(phicoll.ArgumentError, match="algorithm"):
        results.select(colour="red")


def test_adding_results_keeps_runs_apart(tmp_path):
    one = MadeUp(launches=2, rounds=2, run="a" * 16)
    two = MadeUp(launches=2, rounds=2, run="b" * 16, seed=9)
    both = phicoll.load(one.write(tmp_path / "1")) + phicoll.load(two.write(tmp_path / "2"))
    row = both.compare()[0]
    assert row.launches == 4
    assert row.samples == 8


def test_a_run_given_twice_is_counted_once(path, tmp_path):
    once = phicoll.load(path)
    twice = once + phicoll.load(path)
    assert twice.records == once.records
    assert twice.compare().to_list() == once.compare().to_list()
    # A copy that was made before the run ended adds nothing, in either order.
    part = tmp_path / "part.jsonl"
    part.write_text("".join(path.read_text().splitlines(keepends=True)[:40]))
    early = phicoll.load(part)
    assert (once + early).compare().to_list() == once.compare().to_list()
    assert (early + once).compare().to_list() == once.compare().to_list()


def test_compressed_results_are_read_by_both_programs_and_written(tmp_path):
    path = MadeUp().write(tmp_path / "r.jsonl")
    results = phicoll.load(path)
    packed = results.save(tmp_path / "r.jsonl.gz")
    assert packed.read_bytes()[:2] == b"\x1f\x8b"
    assert packed.stat().st_size < path.stat().st_size / 2
    assert phicoll.load(packed).records == results.records
    both = [
        subprocess.run([str(bench.find()), "compare", str(of)], capture_output=True, text=True, check=True)
        for of in (path, packed)
    ]
    assert both[0].stdout == both[1].stdout
    twice = tmp_path / "twice.jsonl.gz"  # as `cat` joins them: a run each
    other = MadeUp(run="b" * 16)
    twice.write_bytes(packed.read_bytes() + gzip.compress(other.text().encode()))
    assert len(phicoll.load(twice).contexts) == 2


def test_a_damaged_compressed_file_is_refused_in_words(tmp_path):
    whole = gzip.compress(MadeUp().text().encode())
    for name, content in (("cut", whole[: len(whole) // 2]), ("bad", whole[:500] + b"?" * 60 + whole[560:])):
        path = tmp_path / f"{name}.jsonl.gz"
        path.write_bytes(content)
        with pytest.raises(phicoll.errors.ResultsFileError, match="damaged or cut off"):
            phicoll.load(path)
        done = subprocess.run([str(bench.find()), "compare", str(path)], capture_output=True, text=True)
        assert done.returncode == 2
        assert "damaged or cut off" in done.stderr
    grown = subprocess.run(
        [str(bench.find()), "run", "barrier", "--ranks", "2", "--mode", "threads", "-o", str(path)],
        capture_output=True,
        text=True,
    )
    assert grown.returncode == 2
    assert path.read_bytes() == content


def both_compare(path):
    """What the two programs that compare say of a file, and what they warn of."""
    found = []
    for command in ([str(bench.find())], [sys.executable, "-m", "phicoll"]):
        done = subprocess.run([*command, "compare", str(path)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        found.append((done.stdout, done.stderr))
    return found


def test_lines_that_are_there_twice_count_once_wherever_records_are_read(path, tmp_path):
    lines = path.read_text().splitlines(keepends=True)
    once = phicoll.load(path)
    expected = [out for out, _ in both_compare(path)]
    for first, second in (
        (lines, lines),
        (lines[:40], lines),  # cut off, and appended whole
        (lines, lines[20:50]),
        (lines[:45], [*lines[:1], *lines[30:]]),
    ):
        path.write_text("".join([*first, *second]))
        repeated = len({*first} & {*second}) - (lines[-1] in first and lines[-1] in second)
        with pytest.warns(
            phicoll.PhicollWarning, match=rf"r\.jsonl: {repeated} repeated line\(s\) counted once"
        ):
            found = phicoll.load(path)
        assert sorted(map(str, found.records)) == sorted(map(str, once.records))
        for (out, told), before in zip(both_compare(path), expected, strict=True):
            assert out == before
            assert f"{repeated} repeated line(s) counted once" in told
        assert len(phicoll.load(found.save(tmp_path / "again.parquet"))) == len(once)
    doubled = phicoll.Results(once.records * 2)
    assert phicoll.load(doubled.save(tmp_path / "doubled.parquet")).records == once.records


def test_a_sample_that_contradicts_another_is_damage(path):
    other = json.loads(path.read_text().splitlines()[10])
    assert other["kind"] == "sample"
    other["ns"][0] += 1
    with path.open("a") as stream:
        stream.write(json.dumps(other) + "\n")
    with pytest.warns(phicoll.PhicollWarning, match="another value of a sample that is there"):
        assert phicoll.load(path).damaged_lines == 1
    assert all("another value of a sample" in told for _, told in both_compare(path))
    whole = phicoll.Results([record for record in phicoll.load(path).records if record != other])
    with pytest.warns(phicoll.PhicollWarning, match="1 sample"):
        assert (whole + phicoll.Results([other])).records == whole.records


#: Values of a sample's fields that phicoll never writes.
DAMAGED = [
    {"ns": [-1.0, 2.0]},
    {"ns": [None, 1.0]},
    {"ns": []},
    {"ns": None},
    {"value_ns": -0.01},
    {"value_ns": None},
    {"calls": 0},
    {"calls": -3},
    {"calls": None},
    {"delay_ns": -1},
    {"order": None},
    {"late": -1},
    {"definition": None},
]


def test_values_out_of_their_range_are_damage_for_both_readers(path):
    lines = path.read_text().splitlines()
    at = [number for number, line in enumerate(lines) if '"kind": "sample"' in line][: len(DAMAGED)]
    for number, fields in zip(at, DAMAGED, strict=True):
        lines[number] = json.dumps({**json.loads(lines[number]), **fields})
    rounds = [number for number, line in enumerate(lines) if '"kind": "round"' in line]
    lines[rounds[0]] = json.dumps({**json.loads(lines[rounds[0]]), "pingpong_ns": -60})
    path.write_text("\n".join(lines) + "\n")
    damaged = len(DAMAGED) + 1
    first = min(*at, *rounds) + 1
    with pytest.warns(phicoll.PhicollWarning, match=rf"{damaged} damaged line\(s\).* line {first}: "):
        results = phicoll.load(path)
    assert results.damaged_lines == damaged
    for _, told in both_compare(path):
        assert f"{damaged} damaged line(s) skipped, {len(lines) - damaged} whole lines kept" in told
        assert f"line {first}: " in told


def test_a_loop_that_takes_no_time_is_recorded_as_nothing(tmp_path):
    """Less than nothing may be left of it once the loop without the call is subtracted."""
    results = phicoll.sweep(algorithm="dissemination", ranks=1, launches=1, rounds=6, budget_s="none",
                            definition="loop", save=tmp_path / "r.jsonl", progress=False)  # fmt: skip
    assert results.samples
    assert all(ns >= 0 for sample in results.samples for ns in (*sample["ns"], sample["value_ns"]))
    for sample in results.samples:
        sample["ns"], sample["value_ns"] = [0.0], 0.0
    [row] = results.compare()
    assert row.time.median == 0
    assert str(results.compare())


@pytest.mark.parametrize("what", ["zeros", "values", "list"])
def test_a_small_file_does_not_take_much_memory(path, what, tmp_path):
    """23 KB took a gigabyte."""
    text = path.read_text()
    many = {
        "zeros": '"x":[' + "0," * 12_000_000 + "0]",
        "values": '"x":['
        + "[]," * 1_400_000
        + "[]],"
        + '"y":['
        + "0," * 2_900_000
        + "0],"
        + '"z":"'
        + os.urandom(60_000).hex()
        + '"',
        "list": '"ns":[' + "0," * (1 << 20) + "0]",
    }[what]
    line = '{"schema":1,"kind":"sample","run":"x","point":0,"launch":0,"round":99,' + many + "}\n"
    packed = tmp_path / "r.jsonl.gz"
    packed.write_bytes(gzip.compress((text + line).encode()))
    limit = "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 30,) * 2); "
    for read in (
        [sys.executable, "-c", f"{limit}import sys, phicoll; phicoll.load(sys.argv[1])", str(packed)],
        ["bash", "-c", 'ulimit -v 900000; exec "$@"', "bash", str(bench.find()), "compare", str(packed)],
    ):
        done = subprocess.run(read, capture_output=True, text=True, check=False)
        if what == "zeros":
            assert done.returncode != 0
            assert "MB when unpacked" in done.stderr
        else:
            assert done.returncode == 0, done.stderr
            assert "values" in done.stderr or "$.ns" in done.stderr or "'ns'" in done.stderr
            assert "1 damaged line(s) skipped" in done.stderr or "1 cut-off line skipped" in done.stderr


def test_a_parquet_file_is_refused_by_its_columns_before_its_data(path, tmp_path, monkeypatch):
    import pyarrow as pa
    import pyarrow.parquet as pq

    def unread(*_, **__):
        raise AssertionError("read data")

    good = phicoll.load(path).save(tmp_path / "good.parquet")
    table = pq.read_table(good)
    pq.write_table(pa.table({"a": [0] * 10}), tmp_path / "foreign.parquet")
    pq.write_table(table.append_column("b", pa.nulls(len(table))), tmp_path / "more.parquet")
    pq.write_table(table.drop_columns(["ns"]), tmp_path / "less.parquet")
    zeros = pa.array([[0.0] * 6_000_000], pa.list_(pa.float64()))
    columns = [zeros if name == "ns" else table[name][:1].combine_chunks() for name in table.column_names]
    pq.write_table(pa.table(columns, schema=table.schema), tmp_path / "bomb.parquet", compression="zstd")
    assert (tmp_path / "bomb.parquet").stat().st_size < 100_000
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", unread)
    monkeypatch.setattr(pq.ParquetFile, "read", unread)
    for name, words in (
        ("foreign", "without phicoll's metadata"),
        ("more", "with columns b, calls"),
        ("less", "with columns calls"),
        ("bomb", "values in"),
    ):
        with pytest.raises(phicoll.ResultsFileError, match=words):
            phicoll.load(tmp_path / f"{name}.parquet")
    monkeypatch.setattr(pa, "__version__", "14.0.0")
    with pytest.raises(
        phicoll.ResourceError, match=r"good\.parquet is not read.*pip install 'pyarrow>=14\.0\.1'"
    ):
        phicoll.load(good)
