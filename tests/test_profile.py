"""``phicoll profile`` and ``with phicoll.profile()``: what is counted, and whose wait it is."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time

import numpy as np
import pytest

import phicoll
from phicoll.cli import main
from phicoll.explaining.call_logs import COUNTED, HEADER, HEADER_BYTES, MAGIC, RECORD, counts_of, read_logs
from phicoll.explaining.profile import VARIABLE, profile_of
from phicoll.explaining.timeline import timeline


def written(
    folder, rank, calls, *, size=2, operation="allreduce", more=(0, 0, 0), place=0, name=None, host=0, ns=1.0,
    served="ring",
):  # fmt: skip
    """A file as the core writes it, of one tick a nanosecond."""
    head = HEADER.pack(
        MAGIC, ns, place, rank, size, host, 1, 1 << 20, *more, b"mpi:5", operation.encode(), served.encode()
    )
    table = np.zeros(len(calls) + 3, RECORD)  # the file is longer than its calls
    for at, (entered, left, size_bytes) in enumerate(calls):
        table[at] = (entered, left, size_bytes)
    path = folder / f"{name or f'{100 + rank}-0'}.calls"
    path.write_bytes(head.ljust(HEADER_BYTES, b"\0") + table.tobytes())


def test_waiting_is_the_time_until_the_last_rank_has_entered(tmp_path):
    # Rank 1 is 300 ns late in two calls of three. In the third rank 0 enters last, after rank 1 has left: it sent.
    written(tmp_path, 0, [(1000, 1400, 8), (2000, 2400, 8), (3500, 3600, 8)])
    written(tmp_path, 1, [(1300, 1400, 8), (2300, 2400, 8), (3000, 3100, 8)])
    found = profile_of(read_logs(tmp_path), seconds=1e-5)
    (row,) = found.rows
    assert (row.communicator, row.ranks, row.operation, row.algorithm, row.bytes, row.calls) == (
        "0", 2, "allreduce", "ring", 8, 3
    )  # fmt: skip
    assert row.inside_s == pytest.approx((400 + 400 + 100 + 100 + 100 + 100) * 1e-9)
    assert row.waited_s == pytest.approx((300 + 300 + 100) * 1e-9)
    assert (row.late_rank, row.late_share) == (1, pytest.approx(2 / 3))
    assert found.share(row) == pytest.approx(0.06)
    assert "1 (67%)" in str(found)


def test_a_page_has_a_bar_of_each_row_s_waiting(tmp_path):
    written(tmp_path, 0, [(1000, 2000, 8)])
    written(tmp_path, 1, [(1500, 2000, 8)])
    page = profile_of(read_logs(tmp_path), 1e-5).page(tmp_path / "page.html").read_text()
    waiting, rest = re.findall(r'<rect.*? width="([0-9.]+)"', page)
    assert float(waiting) / float(rest) == pytest.approx(500 / 1000)
    assert "style=" not in page  # the page's policy has no effect on such


def test_sizes_and_communicators_are_rows_of_their_own(tmp_path):
    for rank in (0, 1):
        written(tmp_path, rank, [(10, 20, 8), (30, 50, 64)])
        written(tmp_path, rank, [(100, 110, 0)], operation="barrier", place=4096, name=f"{rank}-1")
    rows = {
        (row.communicator, row.operation, row.bytes): row for row in profile_of(read_logs(tmp_path), 1.0).rows
    }
    assert set(rows) == {("0", "allreduce", 8), ("0", "allreduce", 64), ("0.1", "barrier", 0)}


def test_the_text_leaves_out_the_rows_that_take_least(tmp_path):
    for rank in (0, 1):
        written(tmp_path, rank, [(10_000 * n, 10_000 * n + 100 * n, n) for n in range(1, 31)])
    found = profile_of(read_logs(tmp_path), 1.0)
    assert "and 6 more rows of 0.000002 s in all" in str(found)  # those of 100 to 600 ns
    assert len(found.to_dict()["rows"]) == 30


def test_ranks_that_are_missing_leave_the_waiting_unknown(tmp_path):
    written(tmp_path, 0, [(1000, 1400, 8)])
    (tmp_path / "9-9.calls").write_bytes(b"")  # a rank that died while it made its file
    (row,) = profile_of(read_logs(tmp_path), 1.0).rows
    assert row.waited_s is None
    assert row.late_rank is None
    assert row.calls == 1


def test_more_calls_than_are_kept_are_told(tmp_path):
    for rank in (0, 1):
        written(tmp_path, rank, [(10, 20, 8)], more=(5, 2, 400))
    found = profile_of(read_logs(tmp_path), 1.0)
    assert found.rows[0].waited_s is None
    assert "10 more calls, 0.000002 s" in found.notes[0]


def test_timed_calls_stand_for_those_that_were_not(tmp_path):
    # The first two of a size are timed, then one in three. A run of untimed calls is a record of its own.
    calls = [(1000, 1400, 8), (2000, 2400, 8)]
    for number in range(20):
        calls += [(2, 0, 8), (3000 + 1000 * number, 3100 + 1000 * number + 10 * (number % 2), 8)]
    for rank in (0, 1):
        written(tmp_path, rank, [*calls, (90_000, 90_100, 64)])
    found = profile_of(read_logs(tmp_path), 1.0)
    small, large = found.rows
    assert (small.bytes, small.calls, small.timed) == (8, 62, 22)
    assert small.inside_s == pytest.approx(2 * (2 * 400 + 60 * 105) * 1e-9)
    # 20 times, of which each stands for two more, 9.5 ns or so from the mean of all.
    mean = (2 * 400 + 60 * 105) / 62
    squares = sum(6 * (time - mean) ** 2 for time in (100, 110) for _ in range(10))
    assert small.error_s == pytest.approx(2 * 1.96e-9 * squares**0.5)
    assert (large.calls, large.timed, large.error_s) == (1, 1, 0.0)
    assert f" ±{small.error_s / small.inside_s:.1%}" in str(found)


def test_a_timed_call_may_have_those_before_it_in_its_record(tmp_path):
    # On rank 0 the call is written where the seven before it were, on rank 1 beside them.
    written(tmp_path, 0, [(1000, 1400, 8), (2000, 2400, 8 | COUNTED | 7 << 48), (2, 0, 8)])
    written(tmp_path, 1, [(1300, 1400, 8), (7, 0, 8 | COUNTED), (2300, 2400, 8 | COUNTED), (2, 0, 8)])
    (watched,) = read_logs(tmp_path)
    both = watched.common()
    assert both["number"].tolist() == [[0, 8], [0, 8]]
    assert both["what"].tolist() == [[8, 8 | COUNTED], [8, 8 | COUNTED]]
    assert both["weight"].tolist() == [[3, 8], [3, 8]]


def test_ranks_wait_in_the_calls_that_both_have_timed(tmp_path):
    # Of an operation with counts the ranks' sizes differ, and so may the calls that they time.
    written(tmp_path, 0, [(1000, 1400, 8), (2000, 2400, 8), (1, 0, 8)])
    written(tmp_path, 1, [(1300, 1400, 8), (1, 0, 8), (3000, 3100, 8)])
    (watched,) = read_logs(tmp_path)
    common = watched.common()
    assert common["number"].tolist() == [[0], [0]]
    (row,) = profile_of([watched], 1.0).rows
    assert row.calls == 3
    assert row.late_rank == 1


def test_a_timeline_has_each_call_and_what_it_waited(tmp_path, monkeypatch):
    written(tmp_path, 0, [(1000, 1400, 8), (2000, 2400, 8)])
    written(tmp_path, 1, [(1300, 1400, 8), (2300, 2500, 8)])
    events = json.loads(timeline(read_logs(tmp_path)))["traceEvents"]
    assert [event["args"]["name"] for event in events if event["ph"] == "M"] == [
        "communicator 0", "rank 0", "rank 1"
    ]  # fmt: skip
    shown = [(one["name"], one["tid"], one["ts"], one["dur"]) for one in events if one["ph"] == "X"]
    assert shown == [
        ("allreduce", 0, 0, 0.4), ("waits for rank 1", 0, 0, 0.3),
        ("allreduce", 0, 1, 0.4), ("waits for rank 1", 0, 1, 0.3),
        ("allreduce", 1, 0.3, 0.1), ("allreduce", 1, 1.3, 0.2),
    ]  # fmt: skip
    monkeypatch.setattr("phicoll.explaining.timeline.MOST_CALLS", 2)
    cut = json.loads(timeline(read_logs(tmp_path)))["traceEvents"]
    assert [one["tid"] for one in cut if one["name"] == "allreduce"] == [0, 1]
    assert json.loads(timeline([]))["traceEvents"] == []


def work(comm):
    for _ in range(5):
        comm.Allreduce(np.ones(4, np.float64), np.empty(4, np.float64))
    half = comm.Split(comm.rank % 2)
    half.Barrier()
    half.Free()


@pytest.mark.parametrize("mode", ["threads", "processes"])
def test_a_block_watches_what_is_started_in_it(mode):
    with phicoll.profile() as found:
        phicoll.run(work, ranks=4, mode=mode)
    assert VARIABLE not in os.environ
    rows = [row for row in found.rows if (row.operation, row.bytes) == ("allreduce", 32)]
    assert sum(row.calls for row in rows) == 5
    halves = [row for row in found.rows if row.ranks == 2 and row.operation == "barrier"]
    assert len(halves) == 2
    assert {row.calls for row in halves} == {1}
    assert all(row.waited_s is not None and 0 <= row.waited_s <= row.inside_s for row in (*rows, *halves))
    assert "allreduce" in found._repr_html_()


def imbalanced(comm):
    value, total, calls = np.ones(1), np.empty(1), []
    comm.Allreduce(np.ones(2), np.empty(2))  # makes the algorithm, which is no call's time
    for _ in range(20):
        time.sleep(0.02 * comm.rank)
        entered = time.perf_counter()
        comm.Allreduce(value, total)
        calls.append((entered, time.perf_counter()))
    return calls


def test_the_waiting_and_the_share_are_what_the_program_itself_measures():
    with phicoll.profile() as found:
        one, other = np.array(phicoll.run(imbalanced, ranks=2, mode="processes"))
    row = next(row for row in found.rows if (row.operation, row.bytes, row.calls) == ("allreduce", 8, 20))
    inside = (one[:, 1] - one[:, 0]).sum() + (other[:, 1] - other[:, 0]).sum()
    assert found.share(row) * found.seconds * 2 == pytest.approx(inside, rel=0.05)
    assert row.waited_s == pytest.approx(np.abs(one[:, 0] - other[:, 0]).sum(), rel=0.05)
    assert row.late_rank == 1


def test_the_clocks_of_two_hosts_are_not_compared(tmp_path):
    """Another host's ticks are other ones, and begin elsewhere."""
    written(tmp_path, 0, [(1000, 1400, 8), (2000, 2400, 8)])
    written(tmp_path, 1, [(70_000, 70_050, 8), (70_500, 70_600, 8)], host=1, ns=2.0, name="9-0")
    (watched,) = read_logs(tmp_path)
    assert watched.by_rank[1]["entered"].tolist() == [1000, 2000]
    (row,) = profile_of([watched], 1e-5).rows
    assert row.inside_s == pytest.approx((400 + 400 + 100 + 200) * 1e-9)
    assert (row.waited_s, row.late_rank) == (None, None)


def test_calls_have_the_names_of_their_versions_and_why_the_mpi_serves_them(tmp_path):
    for rank in (0, 1):
        written(
            tmp_path, rank, [(10, 20, COUNTED | 8), (30, 50, 8)], operation="gather", served="MPI (one rank)"
        )
    found = profile_of(read_logs(tmp_path), 1.0)
    assert sorted((row.operation, row.bytes) for row in found.rows) == [("gather", 8), ("gatherv", 8)]
    assert found.notes == ["left to the MPI: one rank: 2 of gather, 2 of gatherv"]


def many(comm):
    value, total = np.ones(1), np.empty(1)
    for _ in range(3_000 // comm.size):
        comm.Allreduce(value, total)
    comm.Allreduce(np.ones(1 << 12), np.empty(1 << 12))


@pytest.mark.parametrize(("ranks", "every"), [(1, False), (1, True), (2, False)])
def test_of_many_calls_some_are_timed_and_all_are_counted(ranks, every):
    with phicoll.profile(every=every) as found:
        phicoll.run(many, ranks=ranks, mode="threads")
    calls = 3_000 // ranks
    rows = [row for row in found.rows if row.operation == "allreduce" and row.ranks == ranks]
    small = next(row for row in rows if (row.bytes, row.calls) == (8, calls))
    large = next(row for row in rows if row.bytes == 1 << 15)
    assert large.calls == large.timed == 1
    # After 1,024 one in eight, and those after long calls.
    assert small.timed == calls if every else small.timed >= 1024 + (calls - 1024) // 8
    if ranks == 1 and not every:
        assert small.timed <= 1024 + (calls - 1024) // 2  # a call alone is no long one
    if ranks == 1:  # of several `timed` is the most of a rank, and another may have timed fewer
        assert small.error_s == 0 or small.timed < calls  # the formula: see the records above
    common = [one.common() for one in found.watched if one.operation == "allreduce" and one.ranks == ranks]
    most = max((one for one in common if one is not None), key=lambda one: one.shape[1])
    assert most.shape[1] >= 1024 + (calls - 1024) // 8 - 1


def test_a_timed_call_takes_the_record_of_those_before_it(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    phicoll.run(many, ranks=1, mode="threads")
    by_file = [path.read_bytes()[HEADER_BYTES:] for path in tmp_path.glob("*.calls")]
    records = max(
        (np.frombuffer(one, RECORD) for one in by_file), key=lambda one: np.count_nonzero(one["entered"])
    )
    records = records[records["entered"] != 0]
    assert counts_of(records).sum() == 3_000
    assert np.count_nonzero(records["left"] == 0) <= 1  # those that no timed one follows


def test_a_profile_within_another_is_refused():
    with (
        phicoll.profile(),
        pytest.raises(phicoll.Error, match="a profile is being made"),
        phicoll.profile(),
    ):
        pass
    assert VARIABLE not in os.environ


PROGRAM = """
import os, phicoll

def work(comm):
    for _ in range(3):
        comm.Barrier()
    {end}

if __name__ == "__main__":
    os.environ["LAUNCHER"] = str(os.getpid())
    phicoll.run(work, ranks=2)
"""


def program(tmp_path, end):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM.format(end=end))
    return [sys.executable, str(path)]


def test_the_command_prints_json_and_a_page_and_ends_as_the_program(tmp_path, capfd):
    page, trace = tmp_path / "page.html", tmp_path / "trace.json"
    words = ["profile", "--json", "-o", str(page), "--trace", str(trace), "--", *program(tmp_path, "pass")]
    code = main(words)
    assert code == 0
    said = json.loads(capfd.readouterr().out)
    barriers = [row for row in said["rows"] if row["operation"] == "barrier"]
    assert sum(row["calls"] for row in barriers) >= 3
    assert 0 < barriers[0]["share"] <= 1
    assert "barrier" in page.read_text()
    assert "default-src 'none'" in page.read_text()
    assert '"name":"barrier"' in trace.read_text()


def test_a_program_that_is_killed_keeps_what_it_did(tmp_path, capfd):
    end = "".join(f"os.kill({pid}, 9); " for pid in ("int(os.environ['LAUNCHER'])", "os.getpid()"))
    assert main(["profile", "--", *program(tmp_path, end)]) == 128 + signal.SIGKILL
    assert "barrier" in capfd.readouterr().out


def test_a_rank_that_forks_is_counted_once(tmp_path, capfd):
    end = "child = os.fork(); child or os._exit(0); os.waitpid(child, 0); comm.Barrier()"
    assert main(["profile", "--json", "--", *program(tmp_path, end)]) == 0
    rows = json.loads(capfd.readouterr().out)["rows"]
    assert sum(row["calls"] for row in rows if row["operation"] == "barrier") == 4
    assert all(row["waited_s"] is not None for row in rows)


def test_a_profile_of_a_profile_is_the_outer_one_s(tmp_path, capfd):
    command = [sys.executable, "-m", "phicoll", "profile", "--", *program(tmp_path, "pass")]
    assert main(["profile", "--", *command]) == 1
    said = capfd.readouterr()
    assert "a profile is being made: one cannot be made within it" in said.err
    assert "no collective calls in" in said.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "command: got none"),
        (["--", "/nothing/here"], "command: got '/nothing/here'"),
        (["--trace", "/nothing/here", "--", "true"], "trace: got '/nothing/here'"),
        (["--only", "--", "/nothing/here"], "command: got '/nothing/here'"),
    ],
)
def test_bad_input(words, message, capsys):
    assert main(["profile", *words]) == 2
    assert message in capsys.readouterr().err


def test_a_program_without_collectives_says_so(capfd):
    assert main(["profile", "--", "true"]) == 0
    assert "no collective calls in" in capfd.readouterr().out
