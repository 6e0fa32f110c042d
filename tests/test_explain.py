"""Why a simulated barrier takes its time: frames, figure, trace, and the command line."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections import defaultdict

import pytest

import phicoll
from phicoll import bench


@pytest.fixture(scope="module")
def hybrid() -> phicoll.Explanation:
    return phicoll.explain("barrier", "hybrid-dissemination", machine="xeon-phi-5110p", ranks=240)


def test_frames_agree_with_each_other(hybrid):
    path, causes = hybrid.path, hybrid.causes
    assert path["ns"].sum() == pytest.approx(hybrid.path_ns)
    assert causes["cycles"].sum() == hybrid.data["path"]["cycles"]
    assert causes["share"].sum() == pytest.approx(1)
    assert "unexplained" not in causes.index
    assert (path["from_ns"].diff().dropna() > 0).all()
    queues = path[path["kind"] == "queue"]
    assert queues["cycles"].sum() <= causes.loc["line busy", "cycles"]
    assert 0 < hybrid.path_ns <= 2 * hybrid.time_ns
    # Which of six rounds between 60 cores it waits in depends on who comes when; each change of rank is a hand-over.
    ranks = path.loc[path["kind"] != "queue", "rank"]
    assert hybrid.data["path"]["hand_overs"] == (ranks.diff().dropna() != 0).sum() > 0
    assert set(path["kind"]) <= {"local", "store", "atomic", "hear", "queue"}


def test_lines_directories_and_servers(hybrid):
    lines = hybrid.lines
    assert (lines["byte"] == lines.index * 64).all()
    assert (lines["waited"].diff().dropna() <= 0).all()
    assert lines["requests"].sum() == hybrid.transactions["count"].sum()
    assert len(hybrid.directories) == 64
    assert hybrid.servers["mean"].between(0, 1).all()
    assert hybrid.counters.loc["atomics", "per_call"] > 0


def test_what_if_shows_the_cause():
    as_it_is = phicoll.explain("barrier", "sense-reversing", ranks=60)
    free = phicoll.explain(
        "barrier", "sense-reversing", "xeon-phi-5110p:ring.hop=0:owner.latency=0", ranks=60
    )
    assert as_it_is.causes.index[0] == "line busy"
    assert as_it_is.causes.loc["line busy", "share"] > 0.5
    assert free.time_ns < as_it_is.time_ns


def test_the_same_seed_gives_the_same():
    one, two, other = (
        phicoll.explain("barrier", "combining-tree", ranks=61, seed=seed) for seed in (7, 7, 8)
    )
    assert one.data == two.data
    assert one.data["call_cycles"] != other.data["call_cycles"]


def test_explain_says_what_run_measures(hybrid):
    results = phicoll.sweep(algorithm="hybrid-dissemination", machine="xeon-phi-5110p", ranks=[240], seed=1)
    (sample,) = results.samples
    assert sample["cycles"] == hybrid.data["call_cycles"]


def test_another_episode_has_another_path(hybrid):
    first = phicoll.explain("barrier", "hybrid-dissemination", ranks=240, call=0)
    assert first.data["call"] == 0
    assert first.data["call_cycles"] == hybrid.data["call_cycles"]


@pytest.mark.parametrize("definition", ["loop", "window"])
@pytest.mark.parametrize("machine", ["xeon-phi-5110p", "sandy-bridge-e5-2670"])
def test_text_and_figure_of_every_machine(machine, definition):
    found = phicoll.explain("barrier", "dissemination", machine, ranks=16, definition=definition)
    assert "critical path" in str(found)
    assert machine in str(found)
    figure = found.plot()
    (ax,) = figure.axes
    assert "dissemination, 16 ranks" in ax.get_title(loc="left")
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert any("%" in label for label in labels)
    assert found._repr_html_().startswith("<pre style='font-family:monospace")


def test_draws_into_axes_that_are_given(hybrid):
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    assert hybrid.plot(ax) is ax
    assert ax.get_yticklabels()[0].get_text().startswith("rank ")


@pytest.mark.parametrize("all_calls", [False, True])
def test_trace_nests_and_its_arrows_have_both_ends(tmp_path, all_calls):
    found = phicoll.explain("barrier", "hybrid-dissemination", ranks=61, calls=3)
    path = found.save_trace(tmp_path / "trace.json", all_calls=all_calls)
    trace = json.loads(path.read_text())
    slices, arrows, tracks = defaultdict(list), defaultdict(list), {}
    for event in trace["traceEvents"]:
        track = event["pid"], event["tid"]
        if event["ph"] == "X":
            begin = round(event["ts"] * 1000)
            slices[track].append((begin, -(begin + round(event["dur"] * 1000)), event["name"]))
        elif event["ph"] in "sf":
            arrows[event["id"]].append(event["ph"])
        elif event["name"] == "thread_name":
            tracks[track] = event["args"]["name"]
    assert arrows
    assert all(sorted(ends) == ["f", "s"] for ends in arrows.values())
    assert set(slices) <= set(tracks)
    for track, mine in slices.items():
        open_ends: list[int] = []
        for begin, end, name in sorted(mine):
            while open_ends and open_ends[-1] <= begin:
                open_ends.pop()
            assert not open_ends or -end <= open_ends[-1], f"{name} overlaps on {tracks[track]}"
            open_ends.append(-end)
    names = set(tracks.values())
    assert sum(name.startswith("rank ") for name in names) == 61
    assert any(name.startswith("directory ") for name in names)
    assert any(name.startswith("line ") for name in names)


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"algorithm": "disemination"}, "algorithm"),
        ({"algorithm": "std-barrier"}, "algorithm"),
        ({"machine": "xeon-fi"}, "machine"),
        ({"machine": "xeon-phi-5110p:ring.hops=1"}, "machine"),
        ({"ranks": 241}, "ranks"),
        ({"ranks": 0}, "ranks"),
        ({"placement": "close"}, "placement"),
        ({"definition": "loops"}, "definition"),
        ({"call": 20}, "call"),
        ({"calls": 0}, "calls"),
        ({"seed": -1}, "seed"),
        ({"wait": "sleep"}, "wait"),
        ({"operation": "sendrecv"}, "operation"),
    ],
)
def test_bad_input_is_refused(options, argument):
    with pytest.raises(phicoll.ArgumentError) as caught:
        phicoll.explain(**{"algorithm": "dissemination", **options})
    assert caught.value.argument == argument


def test_command_prints_and_writes(phicoll_command, tmp_path):
    done = phicoll_command(
        "explain",
        "barrier",
        "--algorithm",
        "dissemination",
        "--ranks",
        "61",
        "--trace",
        tmp_path / "trace.json",
        "--figure",
        tmp_path / "path.png",
    )
    assert done.returncode == 0, done.stderr
    assert "critical path" in done.stdout
    assert (tmp_path / "path.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads((tmp_path / "trace.json").read_text())["otherData"]["ranks"] == 61


def test_command_gives_json(phicoll_command):
    done = phicoll_command("explain", "barrier", "--ranks", "8", "--json")
    assert json.loads(done.stdout)["path"]["links"]


@pytest.mark.parametrize(("option", "name"), [("--trace", "trace.json"), ("--figure", "path.png")])
def test_a_file_that_cannot_be_written_is_refused_before_anything_runs(
    phicoll_command, tmp_path, option, name
):
    # Would take minutes if it were simulated first.
    done = phicoll_command(
        "explain",
        "barrier",
        "--algorithm",
        "centralized-lines",
        "--calls",
        "1000",
        option,
        tmp_path / "no" / name,
    )
    assert done.returncode == 2
    assert option[2:] in done.stderr
    assert not done.stdout


def test_the_program_without_python_says_the_same(hybrid):
    import subprocess

    from phicoll import bench

    command = [bench.find(), "explain", "barrier", "--ranks", "240"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == hybrid.text
    refused = subprocess.run(
        [*command, "--trace", "/nowhere/x.json"], capture_output=True, text=True, timeout=60, check=False
    )
    assert refused.returncode == 2
    assert "trace" in refused.stderr


def test_operations_that_move_data_are_explained():
    found = phicoll.explain("broadcast", "ring", ranks=9, size="16K", calls=3)
    assert found.data["operation"] == "broadcast"
    assert "broadcast 16384 fresh" in str(found)
    assert found.causes["cycles"].sum() > 0
    assert not found.transactions.empty
    with pytest.raises(phicoll.ArgumentError, match="size"):
        phicoll.explain("broadcast", "ring", ranks=9, size="8,16")
    with pytest.raises(phicoll.ArgumentError, match="size"):
        phicoll.explain("barrier", "dissemination", ranks=9, size=8)


def test_data_on_a_simulated_machine_is_recorded_as_such():
    results = phicoll.sweep(
        "allreduce", algorithm="auto,one-shot", ranks=[4], sizes="8,4K", machine="xeon-phi-5110p", calls=3
    )
    points = results.points
    assert [(p["algorithm"], p["size_bytes"]) for p in points] == [
        ("auto", 8),
        ("one-shot", 8),
        ("auto", 4096),
        ("one-shot", 4096),
    ]
    assert all(p["mode"] == "simulated" and p["verified"] and not p["timing_only"] for p in points)


def test_a_call_that_is_too_large_is_refused_at_once(phicoll_command):
    begin = time.monotonic()
    done = phicoll_command("explain", "broadcast", "--size", "1M")
    assert time.monotonic() - begin < 60  # it would take minutes
    assert done.returncode == 2
    assert done.stdout == ""
    assert re.fullmatch(
        r"phicoll: memory-limit: got 805306368 for a call that takes about \d+ bytes "
        r"\(\d+ million events, \d+ s\); allowed: more, or a smaller size or fewer ranks\n",
        done.stderr,
    )
    with pytest.raises(phicoll.ResourceError, match="memory_limit: the record of one call"):
        phicoll.explain(operation="broadcast", size="16K", ranks=16, memory_limit=1000)


def test_it_says_what_it_takes_and_stays_within_a_gigabyte():
    # Started by a small process: what the system counts of a program includes the memory of the process that forked it.
    small = (
        "import resource, subprocess, sys\n"
        "code = subprocess.run(sys.argv[1:]).returncode\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n"
        "sys.exit(code)\n"
    )
    words = [bench.find(), "explain", "broadcast", "--size", "64K", "--links", "3"]
    run = subprocess.run([sys.executable, "-S", "-c", small, *words], capture_output=True, text=True)
    assert run.returncode == 0
    assert "240 ranks" in run.stdout
    assert re.fullmatch(r"(phicoll-bench: note: about \d+ million events, \d+ MB, \d+ s\n)?", run.stderr)
    assert int(run.stdout.splitlines()[-1]) < 1_000_000
