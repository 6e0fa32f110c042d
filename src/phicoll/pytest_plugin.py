"""Benchmarks as tests: a ``sweep`` fixture, saved results, and a failure where something became slower.

    def test_barriers(sweep):
        results = sweep("barrier", algorithm="dissemination,std-barrier")
        assert not results.unverified

    pytest benchmarks/ --phicoll-ranks 2,4 --phicoll-save out.jsonl --phicoll-baseline old.jsonl

A test fails when a subject is slower than in the baseline by more than the threshold and that is resolved: the whole
interval of the ratio, in lines or switches, lies above it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from phicoll.results import Results
    from phicoll.results.compare import Regression

__all__ = ["Session"]


@dataclass
class Session:
    """What the benchmarks of one pytest run share."""

    ranks: list[int] | None = None
    sizes: list[int] | None = None
    save: Path | None = None
    baseline: Results | None = None
    threshold: float = 0.0  # with a baseline only
    results: list[Results] = field(default_factory=list)
    regressions: list[Regression] = field(default_factory=list)


KEY = pytest.StashKey[Session]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("phicoll", "benchmarks of shared-memory collectives")
    group.addoption("--phicoll-ranks", metavar="LIST", help="rank counts for every sweep, such as 2,4")
    group.addoption("--phicoll-sizes", metavar="LIST", help="sizes for every sweep of data, such as 8,4K,1M")
    group.addoption(
        "--phicoll-save", metavar="FILE", help="write the records of all sweeps (.jsonl or .parquet)"
    )
    group.addoption(
        "--phicoll-baseline", metavar="FILE", help="fail where a subject became slower than in FILE"
    )
    group.addoption(
        "--phicoll-threshold",
        type=float,
        metavar="RATIO",
        help="slower than this fails (default: 1.10)",
    )
    group.addoption(
        "--phicoll-oversubscribe",
        action="store_true",
        help="let sweeps have more ranks than this process may use CPUs",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Check the options before any test runs."""
    names = ("ranks", "sizes", "save", "baseline", "threshold")
    options = [config.getoption(f"--phicoll-{name}") for name in names]
    if all(option is None for option in options):
        config.stash[KEY] = Session()
        return
    from phicoll.errors import ArgumentError, ResourceError
    from phicoll.foundations import laboratory

    try:
        laboratory.load("phicoll.measuring", "--phicoll-sizes and the like")
    except laboratory.MissingLaboratoryError as error:
        raise pytest.UsageError(str(error)) from error
    from phicoll.measuring.sweeps import check_rank_list, check_sizes
    from phicoll.results import load
    from phicoll.results.compare.regression import THRESHOLD, check_threshold
    from phicoll.results.reading.storage import check_savable

    ranks, sizes, save, baseline, threshold = options
    try:
        if threshold is not None and baseline is None:
            raise ArgumentError(
                "--phicoll-threshold", f"{threshold:g} without a baseline", "with --phicoll-baseline FILE"
            )
        ratio = THRESHOLD if threshold is None else check_threshold(threshold, "--phicoll-threshold")
        config.stash[KEY] = Session(
            ranks=check_rank_list(ranks) if ranks else None,
            sizes=check_sizes(sizes) if sizes else None,
            save=check_savable(save, "--phicoll-save") if save else None,
            baseline=load(baseline) if baseline else None,
            threshold=ratio,
        )
    except (ArgumentError, ResourceError) as error:
        raise pytest.UsageError(str(error)) from error


@pytest.fixture
def sweep(request: pytest.FixtureRequest) -> Iterator[Callable[..., Results]]:
    """:func:`phicoll.sweep`, with the ranks of ``--phicoll-ranks``; its results are saved and held to the baseline.

    The comparison with the baseline comes when the test is done, so that the test's own assertions come first.
    """
    session = request.config.stash[KEY]
    mine: list[Results] = []

    def run(operation: str = "barrier", **options: Any) -> Results:
        import phicoll

        if session.ranks is not None:
            options["ranks"] = session.ranks
        if session.sizes is not None and phicoll.registry.moves_data(operation):
            options["sizes"] = session.sizes
        if request.config.getoption("--phicoll-oversubscribe"):
            options["oversubscribe"] = True
        results = phicoll.sweep(operation, **{"progress": False, "on_interrupt": "raise", **options})
        mine.append(results)
        session.results.append(results)
        if session.save is not None:
            write(session)
        return results

    yield run
    if session.baseline is None:
        return
    found = [one for results in mine for one in results.regressions(session.baseline, session.threshold)]
    session.regressions += found
    slower = [one for one in found if one.regressed]
    if slower:
        pytest.fail("slower than the baseline:\n" + "\n".join(f"  {one}" for one in slower), pytrace=False)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Leave phicoll's own lines out of the traceback of its errors. ``--full-trace`` shows them."""
    if call.excinfo is None or not is_own(call.excinfo):
        return
    for entry in call.excinfo.traceback:
        names = entry.frame.f_globals
        if names.get("__name__", "").partition(".")[0] == "phicoll":
            names.setdefault("__tracebackhide__", is_own)


def is_own(excinfo: pytest.ExceptionInfo[BaseException] | None) -> bool:
    """Whether the error is one that phicoll raises. Any other in its lines is shown with them."""
    errors = sys.modules.get("phicoll.errors")  # without phicoll there are none
    return excinfo is not None and errors is not None and isinstance(excinfo.value, errors.Error)


def write(session: Session) -> None:
    """All results so far: an interrupted session keeps what it has."""
    total = session.results[0]
    for results in session.results[1:]:
        total = total + results
    assert session.save is not None
    total.save(session.save)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    session = config.stash.get(KEY, None)
    if session is None or not session.results:
        return
    from phicoll.results.compare.baseline import baseline_text

    terminalreporter.section("phicoll")
    for results in session.results:
        terminalreporter.write_line(str(results.compare()))
        terminalreporter.write_line("")
    if session.save is not None:
        terminalreporter.write_line(f"saved: {session.save}")
    if session.baseline is not None:
        terminalreporter.write_line(f"against the baseline, threshold {session.threshold:g}:")
        for line in baseline_text(session.regressions, show_all=True).splitlines():
            terminalreporter.write_line(line)
