"""`make bench`: calls from Python beside mpi4py over each MPI that is installed (`make mpis`), in the same rounds.

A round starts each implementation once, in random order, on the same CPUs, and measures all calls. A ratio is
phicoll's time over that of the best mpi4py in the same round. The best is chosen in the odd rounds for the even ones,
and the other way round: the best of several in one round would be the luckiest. The table has the median over rounds
and, from six rounds on, its exact 95 % interval.

    python benchmarks/python_calls.py [--ranks 1,2,4] [--rounds 7] [--seconds 4] [--placements compact]
        [--calls "16 MB|Barrier"] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import mpi_peers

from phicoll._core import geometric_mean, median, median_interval

ROOT = Path(__file__).resolve().parent.parent
WORKER = ROOT / "benchmarks" / "python_calls_worker.py"
Times = dict[str, float]


def implementations(ranks: int, placements: list[str]) -> dict[str, tuple[list[str], dict[str, str]]]:
    """The command and the environment of each, without the seconds to measure: phicoll as it is, and so placed."""
    launch = [sys.executable, "-m", "phicoll.launch", "--as-mpi4py", "-n", str(ranks)]
    found = {"phicoll": ([*launch, str(WORKER)], dict(os.environ))}
    for placement in placements:
        found[placement] = ([*launch, "--placement", placement, str(WORKER)], dict(os.environ))
    for name in mpi_peers.available():
        root = mpi_peers.ROOT / name
        if not list(root.glob("lib/python3*/site-packages/mpi4py")):
            print(f"without mpi4py over {name}, which build/mpi/{name}/setup.log explains", file=sys.stderr)
            continue
        environment = mpi_peers.environment(name)
        paths = [str(root / "lib"), environment.get("LD_LIBRARY_PATH", "")]
        environment["LD_LIBRARY_PATH"] = ":".join(path for path in paths if path)
        command = [*mpi_peers.mpiexec(name), "-n", str(ranks), str(root / "bin" / "python"), str(WORKER)]
        found[name] = (command, environment)
    return found


def measured(command: list[str], environment: dict[str, str], seconds: float, calls: str) -> Times:
    done = subprocess.run(
        [*command, str(seconds), calls],
        env={**environment, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=60 + 20 * seconds,
    )
    lines = [line.removeprefix("[0] ") for line in done.stdout.splitlines() if "{" in line]
    if done.returncode or not lines:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr[-500:]}")
    found: Times = json.loads(lines[-1])
    return found


def rounds_of(
    ranks: int, rounds: int, seconds: float, placements: list[str], calls: str
) -> list[dict[str, Times]]:
    found = []
    programs = implementations(ranks, placements)
    for number in range(rounds):
        order = list(programs)
        random.Random(1000 * ranks + number).shuffle(order)
        found.append({name: measured(*programs[name], seconds, calls) for name in order})
        print(f"\r{ranks} ranks: round {number + 1} of {rounds}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return found


def table(ranks: int, rounds: list[dict[str, Times]]) -> None:
    names = [name for name in ("phicoll", *mpi_peers.NAMES) if name in rounds[0]]
    placements = [name for name in rounds[0] if name not in names]
    print(f"\n{ranks} rank{'s' if ranks > 1 else ''}, us a call; best: phicoll's over the best mpi4py's")
    if placements:
        print(f"  {', '.join(placements)}: ranks placed so, over phicoll's own of the round")
    heads = "".join(f"{name:>21}" for name in ["best", *placements])
    print(f"  {'call':32}" + "".join(f"{name:>10}" for name in names) + heads)
    ratios: dict[str, list[float]] = {name: [] for name in ["best", *placements]}
    for call in rounds[0]["phicoll"]:
        having = [
            name for name in names if call in rounds[0][name]
        ]  # Intel MPI has no persistent collectives
        text = "".join(
            f"{1e6 * median([r[name][call] for r in rounds]):10.3g}" if name in having else f"{'':10}"
            for name in names
        )
        compared = {name: [r[name][call] / r["phicoll"][call] for r in rounds] for name in placements}
        best = ratios_to_best(rounds, call, having[1:])
        for name, each in {"best": best, **compared}.items():
            if each and not call.startswith(("copy of", "computing")):
                ratios[name].append(median(each))
            text += f"{ratio_text(each):>21}"
        print(f"  {call:32}{text.rstrip()}")
    means = "".join(f"{f'{geometric_mean(each):.2f}' if each else '':>21}" for each in ratios.values())
    print(f"  {'geometric mean':32}{'':{10 * len(names)}}{means}")
    found = rounds[0]["phicoll"]
    together = next((call for call in found if call.endswith(", computing, Wait")), "")
    alone = together.replace(" ", " and Wait ", 1).removesuffix(", computing, Wait")
    if alone in found and "computing" in found:
        parts = "".join(
            f"{100 * median([hidden(r[name], alone, together) for r in rounds]):8.0f} %" for name in names
        )
        print(f"  {'hidden of ' + alone.split(' and')[0] + alone[-7:]:32}{parts}")
    for copy in (call for call in found if call.startswith("copy of ")):
        size = copy.removeprefix("copy of ")
        streamed = next((call for call in found if call.endswith(f" Isend and Irecv {size}")), "")
        ways = {
            f"copy / one way, {size}": (f"Send and Recv {size}", 2),
            f"copy / streamed, {size}": (streamed, int(streamed.partition(" ")[0] or 1)),
        }
        for title, (call, messages) in ways.items():
            if call in found:
                shares = (
                    median([messages * r[name][copy] / r[name][call] for r in rounds]) for name in names
                )
                print(f"  {title:32}" + "".join(f"{100 * share:8.0f} %" for share in shares))


def ratios_to_best(rounds: list[dict[str, Times]], call: str, others: list[str]) -> list[float]:
    """Each round's ratio to the mpi4py that was best in the rounds of the other parity."""
    if not others:
        return []
    halves = [rounds[half::2] or rounds for half in (0, 1)]
    best = [min(others, key=lambda name: median([r[name][call] for r in half])) for half in halves]
    return [r["phicoll"][call] / r[best[1 - i % 2]][call] for i, r in enumerate(rounds)]


def ratio_text(each: list[float]) -> str:
    """The median of the rounds' ratios and, from six rounds on, its exact 95 % interval."""
    if not each:
        return ""
    if len(each) < 6:
        return f"{median(each):.2f}"
    estimate = median_interval(each, 0.95)
    return f"{median(each):.2f} [{estimate[0]:.2f}, {estimate[1]:.2f}]"


def hidden(times: Times, alone: str, together: str) -> float:
    """How much of the shorter of reduction and computing the other hides, as IMB-NBC defines it."""
    shorter = min(times[alone], times["computing"])
    return max(0.0, min(1.0, (times[alone] + times["computing"] - times[together]) / shorter))


def main() -> None:
    parser = argparse.ArgumentParser(description="Calls from Python beside mpi4py.")
    parser.add_argument("--ranks", default="1,2,4")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument(
        "--seconds", type=float, default=4, help="of measuring, for each implementation in a round"
    )
    parser.add_argument(
        "--placements",
        default="",
        help="measure phicoll with its ranks placed so too, such as compact,scatter",
    )
    parser.add_argument(
        "--calls", default="", help="a regular expression: measure only calls whose names it is found in"
    )
    parser.add_argument("--json", type=Path, help="where to write all rounds")
    given = parser.parse_args()
    everything = {}
    for ranks in map(int, given.ranks.split(",")):
        placements = given.placements.split(",") if given.placements else []
        everything[ranks] = rounds_of(ranks, given.rounds, given.seconds, placements, given.calls)
        table(ranks, everything[ranks])
    if given.json:
        given.json.write_text(json.dumps(everything))


if __name__ == "__main__":
    main()
