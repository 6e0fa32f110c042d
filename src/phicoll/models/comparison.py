"""Comparison of predictions with runs: each subject's samples beside the model's band, and orders.

Source: ramos-hoefler-2013 section 4.4, figures 4.4 to 4.8, where box plots of samples lie on the min-max band.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from phicoll.errors import ArgumentError, Error
from phicoll.foundations.extras import data_frame
from phicoll.foundations.html_table import html_table
from phicoll.foundations.markup import fill
from phicoll.models.compared import Compared, Order, kendall_tau
from phicoll.models.constants.machine_model import MachineModel
from phicoll.models.constants.named_model import machine_model
from phicoll.models.equations.checks import check_choice
from phicoll.models.equations.contention import INTERCEPTS
from phicoll.models.predict import STARTS, modelled, predict

if TYPE_CHECKING:
    import pandas as pd

    from phicoll.results import Results
    from phicoll.results.reading.subject import Subject

__all__ = ["Compared", "ComparedRuns", "Order", "compare_with_runs", "kendall_tau"]


@dataclass(frozen=True)
class ComparedRuns:
    """Every modelled subject of a result with its band. Displayed as a table; ``plot`` draws it.

    ``skipped`` are the subjects that were left out, each with the reason.
    """

    model: MachineModel
    rows: tuple[Compared, ...]
    skipped: tuple[tuple[Subject, str], ...]

    @property
    def inside(self) -> float:
        """Share of all samples inside their bands, every row weighing the same; NaN without rows."""
        return float(np.mean([row.inside for row in self.rows])) if self.rows else float("nan")

    @property
    def assumed(self) -> tuple[str, ...]:
        """Constants in the predictions that are another machine's."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row.prediction.assumed))

    def orders(self) -> tuple[Order, ...]:
        """An order for each setting with at least two algorithms."""
        found: dict[tuple[Any, ...], list[Compared]] = {}
        for row in self.rows:
            found.setdefault(row.setting, []).append(row)
        return tuple(
            Order(tuple(sorted(of, key=lambda row: row.median))) for of in found.values() if len(of) > 1
        )

    def select(self, **fields: Any) -> ComparedRuns:
        """The rows whose subjects have these values (``operation="broadcast"``, ``ranks=[2, 60]``)."""
        for name in fields:
            if not any(hasattr(row.subject, name) for row in self.rows):
                raise ArgumentError(
                    "select", repr(name), "a field of a subject, such as operation, ranks, start"
                )
        wanted = {n: set(v) if isinstance(v, list | tuple | set | range) else {v} for n, v in fields.items()}
        return ComparedRuns(
            self.model,
            tuple(r for r in self.rows if all(getattr(r.subject, n) in v for n, v in wanted.items())),
            self.skipped,
        )

    def to_dataframe(self, what: str = "bands") -> pd.DataFrame:
        """``bands``: a row a subject; ``orders``: one a setting; ``skipped``: what was left out. Times in ns."""
        check_choice("what", what, ("bands", "orders", "skipped"))
        if what == "skipped":
            return data_frame([{"subject": s.title(), "spec": s.spec, "why": why} for s, why in self.skipped])
        rows: Sequence[Compared | Order] = self.rows if what == "bands" else self.orders()
        return data_frame([row.to_dict() for row in rows])

    def plot(self, **options: Any) -> Any:
        """Bands with box plots of the samples over ranks or sizes; see :func:`phicoll.plots.bands.bands_figure`."""
        from phicoll.plots.bands import bands_figure

        return bands_figure(self, **options)

    def summary(self) -> str:
        """One sentence: how many, how much inside, how much assumed."""
        if not self.rows:
            return f"no modelled subject; {len(self.skipped)} left out"
        kinds = " and ".join(dict.fromkeys(row.kind for row in self.rows))
        taken = f"; assumed from another machine: {', '.join(self.assumed)}" if self.assumed else ""
        left = f"; {len(self.skipped)} subjects left out" if self.skipped else ""
        return (
            f"{len(self.rows)} {kinds} subjects on the bands of {self.model.name}: {self.inside:.0%} of the "
            f"samples inside{taken}{left}"
        )

    def __str__(self) -> str:
        lines = [self.summary()]
        for r in self.rows:
            s = r.subject
            data = f" {s.size_bytes} B" if s.data else ""
            lines.append(
                f"  {s.operation} {r.name:<27}{s.ranks:>4} ranks{data} {s.start:<8}{r.kind} "
                f"median {r.median:>9.0f} ns, band {r.prediction.low_ns:.0f} to {r.prediction.high_ns:.0f}, "
                f"{r.inside:.0%} inside"
            )
        for order in self.orders():
            s = order.rows[0].subject
            tau = order.tau()
            told = f"tau {tau:+.2f}" if tau == tau else "predicted alike"
            lines.append(f"  {s.operation}, {s.ranks} ranks: {told}; ran {' < '.join(order.observed)}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        heads = [
            "operation",
            "algorithm",
            "ranks",
            "bytes",
            "start",
            "median, us",
            "band, us",
            "inside",
            "assumed",
        ]
        rows = [
            [
                r.subject.operation,
                r.name,
                r.subject.ranks,
                r.subject.size_bytes or "",
                f"{r.subject.start}, {r.kind}",
                f"{r.median / 1000:.2f}",
                f"{r.prediction.low_ns / 1000:.2f} to {r.prediction.high_ns / 1000:.2f}",
                f"{r.inside:.0%}",
                f"{len(r.prediction.assumed)} of {len(r.prediction.used)}",
            ]
            for r in self.rows
        ]
        return fill("<p>{}</p>{}", self.summary(), html_table(heads, rows))


def compare_with_runs(
    results: Results,
    model: str | os.PathLike[str] | MachineModel,
    *,
    start: str | None = None,
    b: str = "lines",
) -> ComparedRuns:
    """Compare a model's predictions with the samples of a result, measured or simulated.

    Parameters
    ----------
    results:
        What :func:`phicoll.measure`, :func:`phicoll.sweep` or :func:`phicoll.load` returned. Compared is what
        :func:`phicoll.models.modelled` lists; levels and ways are those that were in effect.
    model:
        A :class:`MachineModel`, or what :func:`machine_model` takes; it may be another machine's than the one
        that ran.
    start:
        Which start the model assumes, ``evicted`` or ``warm``; by default the one that the run had.
    b:
        See :func:`phicoll.models.equations.contention.intercept`.

    Notes
    -----
    Left out, with the reason: what no model is about, what was not verified, ranks that share a CPU or a core (rounds
    labelled same-core too), and whatever needs a constant that the model does not have.

    Raises
    ------
    ArgumentError
        A model or start that does not exist; no samples.
    """
    found = machine_model(model)
    check_choice("b", b, INTERCEPTS)
    if start is not None:
        check_choice("start", start, STARTS)
    if not results.observations.all:
        raise ArgumentError("results", "no samples", "at least one")
    rows: list[Compared] = []
    skipped: list[tuple[Subject, str]] = []
    names = modelled()
    for subject, observations in results.observations.by_subject.items():
        point = observations[0].point
        why = unfit(subject, point, all(o.verified for o in observations), names)
        if not why:
            spec = spec_in_effect(subject, point)
            size = subject.size_bytes if subject.data else 0
            try:
                prediction = predict(
                    subject.operation, spec, subject.ranks, size, found, start=start or subject.start, b=b
                )
            except Error as error:
                why = str(error)
            else:
                calls = np.array([ns for o in observations for ns in o.call_values()], dtype=float)
                rows.append(Compared(subject, spec, prediction, calls))
                continue
        skipped.append((subject, why))
    return ComparedRuns(found, tuple(rows), tuple(skipped))


def unfit(
    subject: Subject, point: Mapping[str, Any], verified: bool, names: Mapping[str, Sequence[str]]
) -> str:
    """The reason why no model applies to this subject, or ""."""
    if not verified:
        return "not verified"
    if subject.algorithm not in names.get(subject.operation, ()):
        return f"no model of {subject.operation} {subject.algorithm}"
    if subject.ranks < 2:
        return "a single rank"
    if subject.delay_ns or subject.imbalance_ns:
        return "ranks were delayed between calls"
    if subject.oversubscribed:
        return "ranks share a CPU: models give each one of its own"
    if subject.label == "same-core":
        return "both CPUs were one core in these rounds"
    if subject.simulated and share_cores(subject, point):
        return "ranks share a core: models give each one of its own"
    return ""


def share_cores(subject: Subject, point: Mapping[str, Any]) -> bool:
    from phicoll.registry.machines import load_machine

    try:
        machine = load_machine(subject.machine)
    except Error:  # a file that is not here: placements of one rank a core are all that can be known
        return subject.placement == "compact"
    each = max(1, machine.contexts // machine.cores)
    cores = [cpu // each for cpu in point.get("cpus") or json.loads(subject.cpus)]
    return len(set(cores)) < len(cores)


def spec_in_effect(subject: Subject, point: Mapping[str, Any]) -> str:
    """The spec with the parameters that were used: levels that the machine's costs decided, say."""
    effective = point.get("effective") or point.get("parameters")
    if not effective:
        return subject.spec
    return ":".join([subject.algorithm, *(f"{name}={value}" for name, value in effective.items())])
