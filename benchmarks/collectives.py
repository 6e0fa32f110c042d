"""phicoll's collectives beside those of MPICH, Open MPI and Intel MPI, in the same rounds.

What is measured, and how: docs/measuring-collectives.md.

    python benchmarks/collectives.py --operations broadcast --sizes 8,4K,1M --algorithms auto,ring:cell=4096
    python benchmarks/collectives.py --report bench-out --minutes 15        (make bench: a coarse grid)
    python benchmarks/collectives.py --report docs/bench --minutes 0 --full (make bench-full: every power of two)

The first prints medians side by side and is for tuning; the others also write every sample, tables with intervals, a
figure for each operation, geometric means, and the table of self-consistency.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import mpi_peers
from rounds import (
    MOST_BYTES,
    Point,
    Row,
    Taken,
    compositions,
    geomean_speed,
    rows_of,
    take,
    versus,
)  # fmt: skip

HEADLINE = ("broadcast", "reduce", "allreduce", "allgather", "alltoall")
OTHERS = ("gather", "scatter", "scan", "reduce_scatter")
COARSE = "8,64,512,4K,32K,256K,2M,16M"
FEW = "8,4K,1M"
#: Ranges of sizes whose geometric means have targets: with a CPU for each rank, and with fewer.
SMALL, LARGE = (8, 4 << 10), (32 << 10, 16 << 20)
BACK_TO_BACK_LINES = {"broadcast": 0.25, "allreduce": 1.5, "allgather": 1.5, "alltoall": 1.5}
HAND = "phicoll:hand-pair"
TARGETS = {"small": 2.0, "large": 1.4, "crowded": 2.0}


def powers_of_two(first: int, last: int) -> list[int]:
    return [1 << k for k in range(first.bit_length() - 1, last.bit_length())]


def grid(ranks: Sequence[int], operations: Sequence[str], sizes: Sequence[int], full: bool) -> list[Point]:
    """Loop with fresh buffers everywhere; the other definition and reused buffers everywhere in the full grid, else
    with two ranks."""
    points = []
    for operation in operations:
        main = operation in HEADLINE
        for count in ranks:
            for definition in ("loop", "window"):
                for buffers in ("fresh", "reused"):
                    of = sizes
                    if not full and (definition, buffers) != ("loop", "fresh"):
                        if count != ranks[0] or not main or (definition, buffers) == ("window", "reused"):
                            continue
                        of = mpi_peers.size_list(FEW)
                    if not full and not main:
                        if count != ranks[0]:
                            continue
                        of = mpi_peers.size_list(FEW)
                    points += [Point(operation, count, definition, buffers, size) for size in of]
    return list(dict.fromkeys(points))


def number(ns: float | None) -> str:
    return "-" if ns is None else mpi_peers.duration(ns)


def size_text(size: int) -> str:
    for shift, unit in ((20, "M"), (10, "K")):
        if size and size % (1 << shift) == 0:
            return f"{size >> shift}{unit}"
    return str(size)


def side_by_side(taken: Taken, subjects: Sequence[str], rounds: int) -> str:
    """Medians of all subjects, a line a point; the ratio of the best of ours to the best of theirs."""
    lines: list[str] = []
    head = ""
    width = max(12, *(len(s) + 2 for s in subjects))
    for point in sorted(taken.ns):
        if point.title() != head:
            head = point.title()
            lines += ["", f"{head}: medians of {rounds} rounds"]
            names = "".join(f"{s:>{width}s}" for s in subjects)
            lines.append(f"{'bytes':>8s}{names}{'lines':>8s}{'copy':>7s}{'best/MPI':>10s}  auto took")
        medians = {s: taken.median(point, s) for s in subjects}
        cells = "".join(
            f"{number(m) + ('!' if (point, s) in taken.wrong else ''):>{width}s}" for s, m in medians.items()
        )
        ours = [m for s, m in medians.items() if m is not None and s.startswith("phicoll")]
        theirs = [m for s, m in medians.items() if m is not None and not s.startswith("phicoll")]
        line = taken.line_ns.get(point)
        copy = taken.copy_ns.get(point)
        in_lines = f"{min(ours) / statistics.median(line.values()):.2f}" if ours and line else "-"
        share = f"{statistics.median(copy.values()) / min(ours):.0%}" if ours and copy else "-"
        ratio = f"{min(ours) / min(theirs):.3f}" if ours and theirs else "-"
        took = taken.effective.get((point, "phicoll"), "")
        lines.append(f"{size_text(point.size):>8s}{cells}{in_lines:>8s}{share:>7s}{ratio:>10s}  {took}")
    return "\n".join(lines)


def ratio_table(rows: Sequence[Row]) -> str:
    """phicoll against the best of the others, with intervals; copy: the copy probe's time over phicoll's."""
    lines: list[str] = []
    head = ""
    for row in rows:
        if row.point.title() != head:
            head = row.point.title()
            lines += ["", f"{head}"]
            head_of_ratio = (
                f"{'time ratio [95 %]':>22s}{'lines':>8s}{'copy':>7s}{'heap':>7s}  {'verdict':12s}"
            )
            lines.append(f"{'bytes':>8s}{'phicoll':>10s}{'best other':>22s}{head_of_ratio}auto took")
        other = f"{row.opponent} {number(row.opponent_ns)}" if row.opponent else "-"
        in_lines = f"{row.lines:.2f}" if row.lines is not None else "-"
        share = f"{row.copy_share:.0%}" if row.copy_share is not None else "-"
        heap = f"{row.heap_share:.0%}" if row.heap_share is not None else "-"
        lines.append(
            f"{size_text(row.point.size):>8s}{number(row.ns):>10s}{other:>22s}{row.ratio or '-'!s:>22s}"
            f"{in_lines:>8s}{share:>7s}{heap:>7s}  {row.verdict:12s}{row.effective}"
        )
    return "\n".join(lines)


def geomean_table(rows: Sequence[Row], crowded_from: int) -> str:
    """How many times as fast as the best other, geometric means by operation; targets where there are any."""
    lines = [
        "Geometric means of (best other's time / phicoll's time)",
        f"{'operation':16s}{'ranks':>6s}  {'definition, buffers':22s}{'8 B..4 KB':>12s}{'32 KB..16 MB':>14s}"
        f"{'all':>8s}  targets",
    ]
    keys = list(
        dict.fromkeys((r.point.operation, r.point.ranks, r.point.definition, r.point.buffers) for r in rows)
    )
    for operation, ranks, definition, buffers in keys:
        of = [
            r
            for r in rows
            if (r.point.operation, r.point.ranks, r.point.definition, r.point.buffers)
            == (operation, ranks, definition, buffers)
        ]
        cells, verdicts = [], []
        crowded = ranks > crowded_from
        for name, (least, most) in (("small", SMALL), ("large", LARGE), ("all", (0, 1 << 60))):
            found = geomean_speed(r for r in of if least <= r.point.size <= most)
            cells.append(f"{found[0]:.2f}" if found else "-")
            wanted = TARGETS["crowded"] if crowded else TARGETS.get(name)
            if found and wanted and operation in HEADLINE and (name != "all") != crowded:
                verdicts.append(f"{name} {'met' if found[0] >= wanted else f'below {wanted:g}'}")
        lines.append(
            f"{operation:16s}{ranks:6d}  {definition + ', ' + buffers:22s}{cells[0]:>12s}{cells[1]:>14s}"
            f"{cells[2]:>8s}  {', '.join(verdicts)}"
        )
    return "\n".join(lines)


def hand_table(rows: Sequence[Row]) -> str:
    """Eight bytes between two ranks beside a loop written by hand, with the targets."""
    lines = ["Two ranks, 8 bytes, against a loop written by hand in the same rounds"]
    lines.append(
        f"{'operation':42s}{'phicoll':>10s}{'by hand':>10s}{'time ratio [95 %]':>22s}{'lines':>8s}  targets"
    )
    for row in rows:
        words = []
        if row.point.definition == "window" and row.ratio is not None:
            words.append("at most 1.15: " + within(row.ratio.low, row.ratio.high, 1.15))
        elif row.lines is not None and row.point.operation in BACK_TO_BACK_LINES:
            most = BACK_TO_BACK_LINES[row.point.operation]
            words.append(f"at most {most:g} lines: {within(row.lines, row.lines, most)}")
        lines.append(
            f"{row.point.title():42s}{number(row.ns):>10s}{number(row.opponent_ns):>10s}{row.ratio or '-'!s:>22s}"
            f"{f'{row.lines:.2f}' if row.lines is not None else '-':>8s}  {', '.join(words)}"
        )
    return "\n".join(lines)


def within(low: float, high: float, most: float) -> str:
    return "met" if high <= most else "missed" if low > most else "not resolved"


def composition_table(rows: Sequence[Row]) -> str:
    lines = ["Self-consistency: phicoll's operation over its composition from others (p: number of ranks)"]
    lines.append(f"{'operation':42s}{'bytes':>8s}  {'composition':36s}{'time ratio [95 %]':>22s}  verdict")
    lines += [
        f"{r.point.title():42s}{size_text(r.point.size):>8s}  {r.opponent or '':36s}{r.ratio or '-'!s:>22s}"
        f"  {r.verdict}"
        for r in rows
    ]
    return "\n".join(lines)


def figures(taken: Taken, folder: Path) -> list[Path]:
    """One for each operation: time over size, a panel for each setting."""
    from phicoll.plots.canvas import new_figure
    from phicoll.plots.style import SERIES, tidy

    subjects = [subject for subject in taken.subjects() if subject != HAND]
    written = []
    for operation in dict.fromkeys(p.operation for p in sorted(taken.ns)):
        settings = list(
            dict.fromkeys(
                (p.ranks, p.definition, p.buffers) for p in sorted(taken.ns) if p.operation == operation
            )
        )
        columns = min(3, len(settings))
        lines = -(-len(settings) // columns)
        figure = new_figure(4.2 * columns, 3.2 * lines)
        axes = figure.subplots(lines, columns, squeeze=False)
        for ax, setting in zip(axes.flat, settings, strict=False):
            for index, subject in enumerate(subjects):
                at = [
                    (p.size, m)
                    for p in sorted(taken.ns)
                    if (p.operation, p.ranks, p.definition, p.buffers) == (operation, *setting)
                    and (m := taken.median(p, subject)) is not None
                ]
                ax.plot(
                    [max(1, size) for size, _ in at], [ns / 1e3 for _, ns in at], marker="o", markersize=3,
                    color=SERIES[index % len(SERIES)], label=subject, linewidth=2 if subject == "phicoll" else 1.2,
                )  # fmt: skip
            copies = [
                (p.size, statistics.median(by.values()))
                for p, by in sorted(taken.copy_ns.items())
                if (p.operation, p.ranks, p.definition, p.buffers) == (operation, *setting)
            ]
            if copies:
                ax.plot(
                    [s for s, _ in copies], [ns / 1e3 for _, ns in copies], color="#999999", linestyle=(0, (2, 2)),
                    label="copy probe",
                )  # fmt: skip
            ax.set_xscale("log", base=2)
            ax.set_yscale("log")
            sizes = sorted(
                {
                    p.size
                    for p in taken.ns
                    if (p.operation, p.ranks, p.definition, p.buffers) == (operation, *setting)
                }
            )
            ticks = sizes[:: -(-len(sizes) // 8)]
            ax.set_xticks([max(1, size) for size in ticks], [size_text(size) for size in ticks])
            ax.minorticks_off()
            ax.set_title(f"{setting[0]} ranks, {setting[1]}, {setting[2]}", loc="left")
            ax.set_xlabel("bytes of the count argument")
            ax.set_ylabel("median time per call, us")
            tidy(ax, "both")
        for ax in axes.flat[len(settings) :]:
            ax.set_visible(False)
        handles, labels = axes.flat[0].get_legend_handles_labels()
        figure.legend(
            handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=8
        )
        figure.suptitle(operation, fontsize=10)
        path = folder / f"collectives-{operation}.png"
        figure.savefig(path, dpi=120)
        written.append(path)
    return written


def machine_words() -> str:
    import phicoll

    facts = phicoll._core.facts()
    return f"{facts.get('cpu_model', 'unknown CPU')}, Linux {facts.get('kernel', '?')}, phicoll {phicoll.__version__}"


def report(a: argparse.Namespace, cpus: Sequence[int], ranks: Sequence[int], mpis: Sequence[str]) -> int:
    a.report.mkdir(parents=True, exist_ok=True)
    sizes = powers_of_two(8, 16 << 20) if a.full else mpi_peers.size_list(a.sizes or COARSE)
    operations = a.operations.split(",") if a.operations else [*HEADLINE, *OTHERS]
    points = grid(ranks, operations, sizes, a.full)
    large = [p for p in points if p.total_bytes > MOST_BYTES]
    points = [p for p in points if p.total_bytes <= MOST_BYTES]
    samples = a.report / "collectives.jsonl"
    samples.unlink(missing_ok=True)

    def beside(point: Point) -> list[str]:
        ours = point.operation in HEADLINE and point.buffers == "fresh"
        return [HAND] if ours and (point.ranks, point.size) == (2, 8) and len(cpus) > 1 else []

    taken = take(
        points, ["phicoll", *mpis], beside=beside, cpus=cpus, rounds=a.rounds, launches=a.launches, seed=a.seed,
        cap_ms=a.cap_ms, kind=a.kind, seconds=a.minutes * 60 if a.minutes else math.inf, out=samples,
    )  # fmt: skip
    rows = rows_of(taken)
    parts = [
        f"phicoll against {', '.join(mpis)}: {machine_words()}",
        f"CPUs {list(cpus)}, seed {a.seed}, up to {a.launches} x {a.rounds} rounds, "
        f"{sum(len(by) for of in taken.ns.values() for by in of.values())} samples; ratios within rounds, the best "
        "other chosen on odd rounds and compared on even ones, intervals Holm-corrected; copy: time of the copy "
        "probe between the ranks' own memories over phicoll's; heap: the same with all buffers in shared memory",
        ratio_table(rows),
        geomean_table(rows, len(cpus)),
        hand_table(versus(taken, "phicoll", HAND)),
        composition_table(compositions(taken)),
    ]
    slower = [r for r in rows if r.verdict == "slower"]
    parts.append(
        f"{sum(r.verdict == 'not slower' for r in rows)} of {len(rows)} points not slower than the best other, "
        f"{len(slower)} slower, {sum(r.verdict == 'unresolved' for r in rows)} unresolved"
    )
    if large:
        parts.append(
            "Left out, more than 1 GB in all: "
            + "; ".join(f"{p.title()}, {size_text(p.size)}" for p in large)
        )
    for (point, subject), error in taken.failed.items():
        parts.append(f"Failed: {subject} at {point.title()}, {size_text(point.size)}: {error}")
    for point, subject in sorted(taken.wrong):
        parts.append(f"Wrong result: {subject} at {point.title()}, {size_text(point.size)}")
    text = "\n\n".join(parts)
    (a.report / "collectives.txt").write_text(text + "\n")
    print(text)
    for path in figures(taken, a.report):
        print(f"figure: {path}")
    print(f"samples: {samples}")
    return 1 if any(subject.startswith("phicoll") for _, subject in taken.wrong) else 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--operations", help=f"default: {','.join(HEADLINE)}; in a report also {','.join(OTHERS)}"
    )
    parser.add_argument(
        "--sizes", help="bytes of the count argument (default: 8,4K,64K,1M; in a report a coarse grid)"
    )
    parser.add_argument("--ranks", help="default: 2; in a report 2,4,8")
    parser.add_argument("--algorithms", default="auto", help="phicoll's, side by side (not in a report)")
    parser.add_argument(
        "--mpi", default=",".join(mpi_peers.available()), help="default: all that are set up; or none"
    )
    parser.add_argument("--mode", default="loop", help="loop, window or both (not in a report)")
    parser.add_argument("--buffers", default="fresh", help="fresh, reused or both (not in a report)")
    parser.add_argument(
        "--kind", default="processes", choices=["processes", "threads"], help="what phicoll's ranks are"
    )
    parser.add_argument("--rounds", type=int, help="in each launch (default: 7; in a report 16)")
    parser.add_argument("--launches", type=int, default=2, help="of a report")
    parser.add_argument("--calls", type=int, default=0, help="0: by size")
    parser.add_argument("--cap-ms", type=float, default=20.0)
    parser.add_argument("--cpus", help="rank r on the (r mod n)-th of these (default: the first two allowed)")
    parser.add_argument("--seed", type=int, help="default: drawn")
    parser.add_argument("--out", type=Path, help="append every sample here (JSON Lines)")
    parser.add_argument("--report", type=Path, metavar="FOLDER", help="measure and write the whole report")
    parser.add_argument("--minutes", type=float, default=15.0, help="of a report; 0: as long as it takes")
    parser.add_argument(
        "--full", action="store_true", help="every power of two, every definition, all buffers"
    )
    a = parser.parse_args()
    a.seed = random.SystemRandom().randrange(1 << 32) if a.seed is None else a.seed
    cpus = [int(c) for c in a.cpus.split(",")] if a.cpus else sorted(os.sched_getaffinity(0))[:2]
    mpis = [name for name in a.mpi.split(",") if name and name != "none"]
    if a.report is not None:
        a.rounds = a.rounds or 16
        return report(a, cpus, [int(r) for r in (a.ranks or "2,4,8").split(",")], mpis)
    rounds = a.rounds or 7
    both = {"mode": ("loop", "window"), "buffers": ("fresh", "reused")}
    points = [
        Point(operation, ranks, definition, buffers, size)
        for operation in (a.operations or ",".join(HEADLINE)).split(",")
        for ranks in map(int, (a.ranks or "2").split(","))
        for definition in (both["mode"] if a.mode == "both" else (a.mode,))
        for buffers in (both["buffers"] if a.buffers == "both" else (a.buffers,))
        for size in mpi_peers.size_list(a.sizes or "8,4K,64K,1M")
    ]
    algorithms = a.algorithms.split(",")
    subjects = ["phicoll" if one == "auto" else f"phicoll:{one}" for one in algorithms] + mpis
    taken = take(
        points, subjects, cpus=cpus, rounds=rounds, seed=a.seed, calls=a.calls, cap_ms=a.cap_ms, kind=a.kind, out=a.out,
    )  # fmt: skip
    print(side_by_side(taken, subjects, rounds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
