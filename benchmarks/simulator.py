"""`make bench`: how fast the simulated machine is, in time for each call and each notification.

Users wait for calls; events per second would also rise with cheaper events. Times on one core are CPU times, so that
other load does not count; that of the sweep is wall-clock time.

    python benchmarks/simulator.py [--out DIRECTORY] [--quick]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import phicoll
from phicoll import bench
from phicoll.measuring import plan
from phicoll.measuring.simulating import SimulatedPlan, simulate_point

MACHINE, RANKS, PLACEMENT = "xeon-phi-5110p", 240, "balanced"
LARGEST = ("xeon-phi-se10p", 244)
BUSY = 0.8  # of their CPUs is what the sweep's threads have at least on a machine that is not busy otherwise
#: A simulator of messages, LogGOPSim (Hoefler, Schneider, Lumsdaine, HPDC 2010), does about this many events a second.
MESSAGE_EVENTS_PER_S = 1.6e6
CELL, CELL_RANKS = "cell-qs20", 16
TARGETS = {
    "call_ms": 1.0,
    "sweep_s": 5.0,
    "memory_mb": 200.0,
    "cell_barrier_us": 50.0,
    "cell_broadcast_s": 0.2,
}


def tasks(operation: str = "barrier", machine: str = MACHINE, **options: Any) -> list[tuple[str, str, str]]:
    """The points of a sweep: the text of its run, a point's text and title."""
    planned = plan(operation, machine=machine, placement=PLACEMENT, **options)
    assert isinstance(planned, SimulatedPlan)
    run = planned.planned
    return [(run.text, point, title) for point, title in run.tasks]


def simulate(task: tuple[str, str, str]) -> tuple[float, dict[str, Any]]:
    """Seconds of CPU time, and the counters of the point's one sample."""
    start = time.thread_time()
    lines, _, error = simulate_point(*task[:2])
    seconds = time.thread_time() - start
    if error:
        raise phicoll.Error(error)
    return seconds, json.loads(lines[-1])["counters"]


def cost(few: int = 20, many: int = 120, times: int = 5, **options: Any) -> tuple[float, float]:
    """Seconds and events of a call without the start of a run: long runs less short ones, the best of some."""
    found = {}
    for calls in (few, many):
        [task] = tasks(calls=calls, **options)
        runs = [simulate(task) for _ in range(times)]
        found[calls] = (min(seconds for seconds, _ in runs), runs[0][1]["events"])
    return tuple(
        (after - before) / (many - few) for before, after in zip(found[few], found[many], strict=True)
    )


def per_call(algorithm: str) -> dict[str, float]:
    seconds, events = cost(algorithm=algorithm, ranks=RANKS)
    [counts] = phicoll.count("barrier", algorithm, f"{RANKS // 4}x4", ranks=RANKS, placement=PLACEMENT)
    return {
        "call_ms": seconds * 1e3,
        "calls_per_s": 1 / seconds,
        "notifications": counts["notifications"],
        "events": events,
        "events_per_notification": events / counts["notifications"],
        "ns_per_event": seconds * 1e9 / events,
        "ns_per_notification": seconds * 1e9 / counts["notifications"],
    }


def on_the_cell() -> dict[str, float]:
    """A barrier of all SPEs, and a broadcast of 1 MB to them: the slowest of paper 002's algorithms for each."""
    slowest = max(
        cost(algorithm=name, ranks=CELL_RANKS, machine=CELL)[0]
        for name in (
            "one-to-all",
            "signal-register:release=flags",
            "k-nomial-tree:degree=4",
            "pairwise-exchange",
        )
    )
    points = tasks("broadcast", CELL, algorithm="paper-002", ranks=CELL_RANKS, sizes="1M", calls=1)
    return {
        "cell_barrier_us": slowest * 1e6,
        "cell_broadcast_s": max(simulate(task)[0] for task in points),
    }


def peak_memory_mb(algorithm: str) -> float:
    """Of the whole program, for a rank on every context."""
    machine, ranks = LARGEST
    words = ["run", "barrier", "--algorithm", algorithm, "--machine", machine, "--ranks", str(ranks)]
    process = subprocess.Popen([str(bench.find()), *words], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise phicoll.Error(f"phicoll-bench ended with {status}")
    return usage.ru_maxrss / 1024


def sweep(ranks: str, jobs: int) -> dict[str, Any]:
    """Every barrier at every count of the sweep, on threads."""
    points = tasks(ranks=ranks)
    start = time.perf_counter()
    with ThreadPoolExecutor(jobs) as pool:
        runs = list(pool.map(simulate, points))
    seconds = time.perf_counter() - start
    slowest = sorted(((cpu, task[2]) for (cpu, _), task in zip(runs, points, strict=True)), reverse=True)
    return {
        "sweep_s": seconds,
        "cpu_s": sum(cpu for cpu, _ in runs),
        "points": len(points),
        "events": sum(counters["events"] for _, counters in runs),
        "jobs": jobs,
        "slowest": [{"cpu_s": round(cpu, 3), "point": title} for cpu, title in slowest[:5]],
    }


def verdict(name: str, value: float) -> str:
    return "met" if value <= TARGETS[name] else "missed"


def report(found: dict[str, Any]) -> str:
    lines = [
        f"The simulated machine: {RANKS} ranks on {MACHINE}, {PLACEMENT}; one core, all counters, no trace"
    ]
    message_ns = 1e9 / MESSAGE_EVENTS_PER_S
    for algorithm, one in found["calls"].items():
        lines += [
            f"  {algorithm}",
            f"    a call                        {one['call_ms']:10.2f} ms"
            f"      {one['calls_per_s']:.0f} calls/s",
            f"    notifications of a call       {one['notifications']:10.0f}",
            f"    events for each notification  {one['events_per_notification']:10.1f}",
            f"    an event                      {one['ns_per_event']:10.0f} ns",
            f"    a notification                {one['ns_per_notification']:10.0f} ns      a message simulator at"
            f" {MESSAGE_EVENTS_PER_S / 1e6:.1f} million events/s: {message_ns:.0f} ns for each event of a message",
        ]
    whole = found["sweep"]
    lines += [
        f"  peak memory with {LARGEST[1]} ranks on {LARGEST[0]}: {found['memory_mb']:.0f} MB",
        f"  the sweep: {whole['points']} points in {whole['sweep_s']:.1f} s with {whole['jobs']} threads"
        f" ({whole['cpu_s']:.1f} s of CPU time, {whole['events'] / 1e6:.0f} million events)",
        *(f"    {one['cpu_s']:6.2f} s  {one['point']}" for one in whole["slowest"]),
        "",
        f"  {'target':44s} {'seen':>8s} {'at most':>8s}  verdict",
    ]
    seen = {
        "call_ms": ("a call of dissemination, ms", found["calls"]["dissemination"]["call_ms"]),
        "sweep_s": ("the sweep, s", whole["sweep_s"]),
        "memory_mb": ("peak memory, MB", found["memory_mb"]),
        "cell_barrier_us": (f"a barrier on {CELL}, us", found["cell"]["cell_barrier_us"]),
        "cell_broadcast_s": (f"a broadcast of 1 MB on {CELL}, s", found["cell"]["cell_broadcast_s"]),
    }
    for name, (words, value) in seen.items():
        lines.append(f"  {words:44s} {value:8.2f} {TARGETS[name]:8.1f}  {verdict(name, value)}")
    share = whole["cpu_s"] / (whole["sweep_s"] * whole["jobs"])
    if share < BUSY:
        lines.append(
            f"  the sweep's threads had {share:.0%} of their CPUs, others had the rest: on idle ones it takes about"
            f" {whole['cpu_s'] / whole['jobs']:.0f} s"
        )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--out", type=Path, default=Path("bench-out"), help="directory of simulator.json (default: bench-out)"
    )
    parser.add_argument("--quick", action="store_true", help="three rank counts in place of 29")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    found = {
        "calls": {name: per_call(name) for name in ("dissemination", "hybrid-dissemination", "tree")},
        "cell": on_the_cell(),
        "memory_mb": max(peak_memory_mb(name) for name in ("dissemination", "all-to-all")),
        "sweep": sweep("8..232:112" if arguments.quick else "8..232:8", len(os.sched_getaffinity(0))),
    }
    print(report(found))
    path = arguments.out / "simulator.json"
    path.write_text(json.dumps({"targets": TARGETS, **found}, indent=2) + "\n")
    print(f"\nwrote {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
