"""``phicoll demo``: check this machine, compare every barrier on it, write a report.

It measures for less than a minute; simulating a Xeon Phi and the report take some 10 s more.
"""

from __future__ import annotations

import gc
import gzip
import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from phicoll import bench
from phicoll.errors import ArgumentError, Error
from phicoll.foundations.arguments import Parser
from phicoll.foundations.exit_codes import INTERRUPTED
from phicoll.foundations.files import check_writable, write_text, writing
from phicoll.foundations.nearest import near
from phicoll.foundations.progress import display
from phicoll.foundations.streams import put, tell
from phicoll.report.material.evidence import examine, gather
from phicoll.report.material.parts import BUDGET_S, MPI_FILE, RESULTS, Part, plan_parts
from phicoll.results import Results, load

__all__ = ["demo", "main", "rebuild"]

QUICK_BUDGET_S = 6.0
LEAST_BUDGET_S = 2.0


def demo(out: str | Path = "demo", *, quick: bool = False, budget_s: float | None = None,
         progress: bool | None = None) -> Results:  # fmt: skip
    """Measure and simulate, print a table, write ``report.html`` and the raw records, compressed.

    Parameters
    ----------
    out:
        The folder to write to, created if missing. An older demo in it is replaced.
    quick:
        Measure a few algorithms for a few seconds, for tests; the intervals are wide.
    budget_s:
        Seconds of measuring; 45 by default, 6 if ``quick``.
    progress:
        Whether to show a progress bar; by default on a terminal.

    Raises
    ------
    ArgumentError
        The folder cannot be written to, or the budget is too small. Nothing was measured.
    """
    return run_demo(out, quick, budget_s, progress)[0]


def run_demo(
    out: str | Path,
    quick: bool,
    budget_s: float | None,
    progress: bool | None,
    presses: list[int] | None = None,
) -> tuple[Results, bool]:
    """As :func:`demo`; also whether it was interrupted. ``presses``: each Ctrl-C; a second may end this process."""
    budget = budget_s if budget_s is not None else (QUICK_BUDGET_S if quick else BUDGET_S)
    if not LEAST_BUDGET_S <= budget < float("inf"):
        raise ArgumentError("budget", repr(budget_s), f"a number of seconds, {LEAST_BUDGET_S:g} or more")
    folder = make_folder(out)
    file, page = (
        check_writable(folder / RESULTS, "out"),
        check_writable(folder / "report.html", "out"),
    )
    parts = plan_parts(budget, quick)
    doctor = examine()
    tell(f"measuring for about {budget:.0f} s, in {len(parts)} parts")
    begin = time.monotonic()
    forget(folder)
    results = measure_parts(parts, file, progress)
    measured_s = time.monotonic() - begin
    if results.interrupted and not results.samples:
        file.unlink(missing_ok=True)
        tell("interrupted before anything was measured: there is no report")
        raise KeyboardInterrupt
    begin = time.monotonic()
    from phicoll.report.build import build
    from phicoll.report.material.simulated import Simulated, simulate

    simulated: Simulated | None = None
    interrupted = results.interrupted
    if not interrupted:
        tell("- a simulated Xeon Phi")
        try:
            simulated = simulate(folder, quick)
            interrupted = not simulated.whole
        except KeyboardInterrupt:
            interrupted = True
    simulated_s = time.monotonic() - begin
    if interrupted:
        if presses is not None:
            signal.signal(signal.SIGINT, lambda number, frame: os._exit(INTERRUPTED))
            if len(presses) > 1:  # while the measurement ended
                tell(f"interrupted twice: there is no report; phicoll demo --from {file} makes it")
                raise KeyboardInterrupt
        tell("interrupted: the report of what there is takes some seconds; Ctrl-C once more ends at once")
    begin = time.monotonic()
    write_text(page, build(gather(results, doctor, simulated, beside(folder))))
    tell(
        f"measured in {measured_s:.0f} s, simulated in {simulated_s:.0f} s, report made in {time.monotonic() - begin:.0f} s: "
        f"{page}, {file}"
    )
    return results, interrupted


def forget(folder: Path) -> None:
    """Remove what an older demo left: a part that an interrupted one lacks would be shown beside the new ones."""
    from phicoll.report.material.simulated import FILE, PATH_FILE

    for name in (RESULTS, FILE, PATH_FILE):
        (folder / name).unlink(missing_ok=True)


def measure_parts(parts: list[Part], file: Path, progress: bool | None = None) -> Results:
    """Run all parts, write their records to one new file, and print the table of each."""
    stopped = False
    try:
        for part in parts:
            tell(f"- {part.title}")
            measure(part, file, progress)
            put(f"{part.title}\n\n{part.comparison}\n")
            if part.results.interrupted:
                break
    except KeyboardInterrupt:  # what was measured before is kept
        stopped = True
    found = sum((part.results for part in parts if part.results is not None), Results([]))
    found.stopped |= stopped
    found.source = str(file)
    return found


def measure(part: Part, file: Path, progress: bool | None) -> None:
    own = file.with_name(file.name + ".part")
    own.unlink(missing_ok=True)
    try:
        with display(progress) as shown:
            part.results = bench.run(part.arguments, own, shown.update if shown else None)
    except Error as error:
        if error.results is None:
            raise
        # What was measured stays in the file and the report; the other parts still run.
        tell(f"{part.title}: {error}")
        part.results = error.results
    finally:
        with ctrl_c_after():  # the file is written whole
            if own.exists():
                with writing(file), own.open("rb") as lines, gzip.open(file, "ab", compresslevel=6) as packed:
                    shutil.copyfileobj(lines, packed)
                own.unlink()


@contextmanager
def ctrl_c_after() -> Iterator[None]:
    """Ctrl-C comes after the block. To block the signal would not do: another thread would take it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came = []
    before = signal.signal(signal.SIGINT, lambda *_: came.append(True))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    for _ in came[1:]:
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    if came:
        signal.raise_signal(signal.SIGINT)


@contextmanager
def counted() -> Iterator[list[int]]:
    """Each Ctrl-C in the block. It still raises KeyboardInterrupt; if a handler is set that does not, none is counted."""
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)
        signal.default_int_handler(number, frame)

    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield came
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield came
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def rebuild(file: str | Path, out: str | Path = "demo", figure: str | None = None) -> Path:
    """Make the report, or one of its figures as a PNG, from a demo's records. Measures nothing.

    Raises
    ------
    ArgumentError
        The file is not a results file, or there is no such figure.
    """
    results = load(file)
    gc.freeze()  # the records stay to the end: the collector need not look at them
    folder = make_folder(out)
    from phicoll.report.build import build
    from phicoll.report.material.figures import figures
    from phicoll.report.material.simulated import reload

    evidence = gather(results, simulated=reload(Path(file).parent), mpi=beside(Path(file).parent))
    if figure is not None:
        from phicoll.plots.canvas import save_figure

        known = figures(evidence)
        if figure not in known:
            raise ArgumentError("figure", repr(figure), near(figure, known))
        path = check_writable(folder / f"{figure}.png", "out")
        save_figure(known[figure](), path, dpi=160)
        return path
    path = check_writable(folder / "report.html", "out")
    write_text(path, build(evidence))
    return path


def beside(folder: Path) -> Results | None:
    """What ``make demo`` measured of the MPIs, if it did."""
    return load(folder / MPI_FILE) if (folder / MPI_FILE).exists() else None


def make_folder(out: str | Path) -> Path:
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArgumentError(
            "out", repr(str(out)), f"a folder that can be written ({error.strerror})"
        ) from error
    return folder


def main(argv: Sequence[str]) -> int:
    """The command line of ``phicoll demo``; returns the exit code."""
    parser = Parser(prog="phicoll demo", description=(__doc__ or "").replace("``", ""))
    parser.add_argument("--out", default="demo", metavar="DIR", help="where to write (default: demo)")
    parser.add_argument(
        "--budget", type=float, metavar="S", help=f"seconds of measuring (default: {BUDGET_S:g})"
    )
    parser.add_argument(
        "--quick", action="store_true", help="measure a few algorithms for a few seconds, to try it out"
    )
    parser.add_argument(
        "--from", dest="file", metavar="FILE", help=f"make the report of a {RESULTS}; measure nothing"
    )
    parser.add_argument("--figure", metavar="NAME", help="with --from: only this figure, as DIR/NAME.png")
    arguments = parser.parse_args(list(argv))
    if arguments.file is None and arguments.figure is not None:
        raise ArgumentError("figure", repr(arguments.figure), "only with --from")
    if arguments.file is not None:
        tell(str(rebuild(arguments.file, arguments.out, arguments.figure)))
        return 0
    with counted() as presses:
        results, interrupted = run_demo(arguments.out, arguments.quick, arguments.budget, None, presses)
    if interrupted:
        return INTERRUPTED
    return 3 if results.unverified or results.reason == "failed" else 0
