""":class:`Results`, which a measurement returns: the raw records and views of them."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phicoll.errors import ArgumentError, PhicollWarning
from phicoll.foundations.checks import argument_names, check_items
from phicoll.foundations.files import as_path
from phicoll.foundations.markup import fill
from phicoll.foundations.streams import printable
from phicoll.results.reading.identity import Known
from phicoll.results.reading.observations import Observations, observe
from phicoll.results.reading.records import Record, parse_lines, read_file
from phicoll.results.reading.subject import Subject

if TYPE_CHECKING:
    import pandas as pd
    import xarray

    from phicoll.results.compare import Comparison, Regression, Summary

__all__ = ["Results", "from_lines", "load"]


class Results:
    """The records of one or more runs, in the order in which they were written (docs/records.md).

    No record is ever dropped; :meth:`to_dataframe`, :meth:`to_xarray`, :meth:`compare`, :meth:`summary` and
    :meth:`plot` are views. A notebook displays it as a table.
    """

    def __init__(self, records: Iterable[Record], *, damaged_lines: int = 0, source: str = "") -> None:
        self.records: list[Record] = check_items(
            "records", records, "records; phicoll.load reads them from a file"
        )
        #: The number of damaged lines of the source; complete lines were kept.
        self.damaged_lines = damaged_lines
        self.source = source
        self.stopped = False  # by Ctrl-C, which may come when the last run has just ended

    # What was written

    def of_kind(self, kind: str) -> list[Record]:
        """The records of one kind: ``context``, ``point``, ``round``, ``sample`` or ``end``."""
        return [record for record in self.records if record["kind"] == kind]

    @cached_property
    def contexts(self) -> list[Record]:
        """The records that say how each run was made."""
        return self.of_kind("context")

    @cached_property
    def points(self) -> list[Record]:
        """What was measured: a record for each subject in each setting."""
        return self.of_kind("point")

    @cached_property
    def rounds(self) -> list[Record]:
        """Visits to all points, with the probes of each."""
        return self.of_kind("round")

    @cached_property
    def samples(self) -> list[Record]:
        """Raw values, a record for each sample."""
        return self.of_kind("sample")

    @cached_property
    def ends(self) -> list[Record]:
        """How each run ended."""
        return self.of_kind("end")

    @property
    def reason(self) -> str:
        """How the last run ended: ``complete``, ``budget``, ``interrupted``, ``failed``, else ``killed``."""
        last = next((r for r in reversed(self.records) if r["kind"] in ("context", "end")), None)
        return str(last.get("reason", "complete")) if last and last["kind"] == "end" else "killed"

    @property
    def interrupted(self) -> bool:
        """Whether the last run was stopped early; what it had measured is kept."""
        return self.stopped or self.reason in ("interrupted", "killed")

    @property
    def unverified(self) -> list[Record]:
        """Points whose subject gave a wrong result. They are never summarised."""
        return [point for point in self.points if not point.get("verified")]

    @cached_property
    def observations(self) -> Observations:
        """One value per sample, joined with its point and round."""
        return observe(self.records)

    @property
    def subjects(self) -> list[Subject]:
        """The subjects that have samples."""
        return list(self.observations.by_subject)

    def __len__(self) -> int:
        """The number of samples."""
        return len(self.samples)

    def __add__(self, other: Results) -> Results:
        """The runs of both results. What both have of one run, such as a file given twice, is counted once."""
        runs = {record.get("run") for record in self.records} & {
            record.get("run") for record in other.records
        }
        known, new, contradicting = Known(), [], 0
        for record in self.records:
            if record.get("run") in runs:
                with suppress(ValueError):
                    known.add(record)
        for record in other.records:
            try:
                if record.get("run") not in runs or known.add(record):
                    new.append(record)
            except ValueError:
                contradicting += 1
        if contradicting:
            warnings.warn(
                f"{contradicting} sample(s) of a run that is there have other values than there; the first are kept",
                PhicollWarning,
                stacklevel=2,
            )
        damaged = self.damaged_lines + other.damaged_lines + contradicting
        both = Results(self.records + new, damaged_lines=damaged)
        both.stopped = other.stopped if other.records else self.stopped  # of the last run
        return both

    def select(self, **fields: Any) -> Results:
        """Select the points and samples with the given values of fields.

        ``fields`` names fields of points or samples: ``mode="threads"``, ``ranks=2``, ``definition="loop"``,
        ``algorithm=["dissemination", "tree"]``. A list allows several values. All rounds and their probes are kept.

        Raises
        ------
        ArgumentError
            No point and no sample has a field of that name.
        """
        wanted = {
            name: set(map(freeze, value if isinstance(value, list | tuple | set) else [value]))
            for name, value in fields.items()
        }
        in_points = {name for point in self.points for name in point}
        in_samples = {name for sample in self.samples for name in sample} - in_points
        for name in wanted:
            if name not in in_points | in_samples:
                raise ArgumentError(
                    "select", repr(name), ", ".join(sorted(in_points | in_samples)) or "no field"
                )
        kept: set[tuple[Any, Any]] = set()
        records = []
        for record in self.records:
            if record["kind"] == "point":
                if not all(freeze(record.get(n)) in v for n, v in wanted.items() if n in in_points):
                    continue
                kept.add((record.get("run"), record["point"]))
            elif record["kind"] == "sample":
                if (record.get("run"), record["point"]) not in kept:
                    continue
                if not all(freeze(record.get(n)) in v for n, v in wanted.items() if n in in_samples):
                    continue
            records.append(record)
        return Results(records, damaged_lines=self.damaged_lines, source=self.source)

    # Views

    def compare(self, against: str | None = None) -> Comparison:
        """Compare subjects: medians with exact intervals, ratios to the best of each setting or to ``against``."""
        from phicoll.results.compare import compare
        from phicoll.results.compare.conditions import conditions

        comparison = compare(self.observations, self.points, against)
        comparison.damaged_lines = self.damaged_lines
        comparison.conditions = conditions(self.contexts, self.ends)
        return comparison

    def summary(self, references: bool = True) -> list[Summary]:
        """Summarise as paper 001 does: geometric means over rank counts, and the ideal meta-algorithm."""
        from phicoll.results.compare import summarise

        return summarise(self.compare(), references)

    def regressions(self, baseline: Results, threshold: float = 1.10) -> list[Regression]:
        """Compare with an older run: for each subject in both, the ratio of the new time to the old."""
        from phicoll.results.compare import compare_with_baseline

        if not isinstance(baseline, Results):
            raise ArgumentError("baseline", repr(baseline), "results, as phicoll.load returns them")
        return compare_with_baseline(self, baseline, threshold)

    def to_dataframe(self, what: str = "samples") -> pd.DataFrame:
        """Return a DataFrame; times are in ns.

        Parameters
        ----------
        what:
            The rows: ``"samples"``, with subject, value and probes; ``"calls"``, each call of window samples and of
            simulated ones; ``"rounds"``, with their probes; or ``"points"``.
        """
        from phicoll.results.reading.frames import to_dataframe

        return to_dataframe(self, what)

    def to_xarray(self) -> xarray.Dataset:
        """Return the verified samples as a Dataset of xarray, which has to be installed.

        ``ns``, and ``lines``, ``switches``, ``cycles`` and ``label`` where there are any, over the dimension ``round``
        and over what varies of ``operation``, ``spec``, ``mode``, ``ranks``, ``size_bytes``, ``definition`` and other
        settings: ``results.to_xarray().ns.median("round")``. The rounds of all launches and runs are numbered through,
        with ``run`` and ``launch`` as coordinates. What does not vary is a coordinate too. Points that were not
        measured are missing.

        Raises
        ------
        ResourceError
            There is no xarray.
        ArgumentError
            No sample is verified, or the points are too many for an array.
        """
        from phicoll.results.reading.frames import to_xarray

        return to_xarray(self)

    def plot(self, kind: str = "auto", **options: Any) -> Any:
        """Draw a figure and return it, or draw into ``ax=`` and return that.

        ``title=`` and ``figsize=`` are as in Matplotlib; see :func:`phicoll.plots.figure` for the kinds and other
        options.
        """
        from phicoll.plots import figure

        return figure(self, kind, **options)

    def save(self, path: str | Path) -> Path:
        """Write the results in the format that the path's ending names, and return the path.

        ``.jsonl`` (JSON Lines), ``.jsonl.gz`` and ``.parquet`` hold all records, and :func:`load` reads them. ``.csv``
        holds the table of ``to_dataframe()``, for other programs.

        Raises
        ------
        ArgumentError
            The path has another ending, or can't be written.
        """
        from phicoll.results.reading.storage import write

        return write(self, path)

    def __repr__(self) -> str:
        return (
            f"<phicoll.Results: {len(self.samples)} samples of {len(self.points)} points, "
            f"{len(self.rounds)} rounds, {self.reason}>"
        )

    def __str__(self) -> str:
        return f"{self.caption()}\n{self.compare()}"

    def caption(self) -> str:
        """One line on where the numbers come from."""
        words = [f"{len(self.samples)} samples of {len(self.points)} points, {self.reason}"]
        if self.contexts:
            context = self.contexts[-1]
            host = context.get("host") or {}
            machines = context.get("machines") or []
            where = host.get("cpu_model", "unknown CPU")
            if machines:
                names = ", ".join(f"{machine['name']} (digest {machine['digest']})" for machine in machines)
                where = f"simulated {names}, seed {context.get('seed')}"
            words.append(f"{where}, {context.get('created', '')}".rstrip(", "))
        if self.unverified:
            words.append(f"{len(self.unverified)} point(s) not verified")
        return printable("; ".join(words), one_line=True)

    def _repr_html_(self) -> str:
        return fill("<p>{}</p>{}", self.caption(), self.compare()._repr_html_())


def freeze(value: Any) -> Any:
    """A hashable form of a value: lists and objects as JSON text."""
    return json.dumps(value, sort_keys=True) if isinstance(value, list | dict) else value


@argument_names
def load(path: str | Path, *more: str | Path) -> Results:
    """Read results written by :meth:`Results.save`, ``phicoll run`` or ``phicoll-bench``, of one file or several.

    The records of several files follow each other in the order of the arguments. Damaged lines, such as a last one
    that was cut off or one whose fields are not what docs/records.md says, are skipped with a warning that names them,
    and counted in ``damaged_lines``. Only regular files are read,
    also those that gzip compressed.

    Raises
    ------
    ResultsFileError
        A file can't be read, is not a results file, or was written by a newer version.
    """
    return sum(map(load_file, more), load_file(path))


def load_file(path: str | Path) -> Results:
    """The results in one file."""
    if as_path(path).suffix == ".parquet":
        from phicoll.results.reading.storage import read_parquet

        found = read_parquet(path)
    else:
        found = read_file(path)
    return Results(found.records, damaged_lines=found.damaged_lines, source=str(path))


def from_lines(lines: Iterable[str | bytes], source: str) -> Results:
    """Results from lines that a program printed."""
    found = parse_lines(lines, source)
    return Results(found.records, damaged_lines=found.damaged_lines, source=source)
