"""Where a collective spends its time on a simulated machine: counters, busy lines and servers, the critical path."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import phicoll._core as _core
from phicoll.errors import ArgumentError
from phicoll.foundations.checks import argument_names, check_number, check_text, check_whole
from phicoll.foundations.extras import data_frame
from phicoll.foundations.files import check_writable
from phicoll.foundations.html_table import preformatted
from phicoll.measuring.options import simulated_default
from phicoll.measuring.sweeps import MAX_RANKS, call_arguments, machine_text, placement_text
from phicoll.registry import check_call
from phicoll.registry.machines import Machine

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Explanation", "explain"]

DEFINITIONS = ("loop", "window")


@dataclass(frozen=True)
class Explanation:
    """The result of :func:`explain`; its text is that of ``phicoll explain``.

    Times are simulated, in cycles of the machine's clock, or in nanoseconds if a column says so.
    """

    #: Everything, as ``phicoll explain --json`` prints it.
    data: dict[str, Any]
    #: The tables as text.
    text: str = field(repr=False)
    #: The arguments it was made with; the same ones give the same result to the last cycle.
    request: dict[str, Any] = field(repr=False)

    @property
    def time_ns(self) -> float:
        """The time of the explained call."""
        return self.ns(self.data["call_cycles"][self.data["call"]])

    @property
    def path_ns(self) -> float:
        """The time from the last arrival to the last departure."""
        return self.ns(self.data["path"]["cycles"])

    def ns(self, cycles: float) -> float:
        """Cycles of the machine in ns."""
        return cycles * 1000.0 / float(self.data["clock_mhz"])

    @cached_property
    def counters(self) -> pd.DataFrame:
        """One row per counter: ``total`` over all reported calls, and ``per_call``."""
        values = {name: value for name, value in self.data["counters"].items() if name != "calls"}
        frame = data_frame({"total": values})
        frame["per_call"] = frame["total"] / self.data["counters"]["calls"]
        return frame.rename_axis("counter")

    @cached_property
    def transactions(self) -> pd.DataFrame:
        """The call's transactions by kind and by the source of the line, with mean times."""
        frame = data_frame(
            self.data["transactions"], columns=["kind", "source", "count", "cycles", "queued", "invalidated"]
        )
        frame["mean_ns"] = self.ns(1) * frame["cycles"] / frame["count"]
        frame["mean_queued_ns"] = self.ns(1) * frame["queued"] / frame["count"]
        return frame

    @cached_property
    def lines(self) -> pd.DataFrame:
        """The lines that moved in the call, sorted by the total time that requests waited for them.

        ``byte`` is the line's offset in the collective's memory; ``waited`` the total cycles that requests waited for
        the line to be free; ``cycles`` the total of its requests; ``writers`` and ``readers`` count ranks, ``writer``
        and ``reader`` are the first of them, -1 for none.
        """
        return data_frame(self.data["lines"]).set_index("line") if self.data["lines"] else data_frame()

    @cached_property
    def directories(self) -> pd.DataFrame:
        """Tag directories, the busiest first, over all reported calls; ``queued`` is a mean in cycles."""
        rows = self.data["directories"]
        return data_frame(rows).set_index("directory") if rows else data_frame()

    @cached_property
    def servers(self) -> pd.DataFrame:
        """Utilisation of the servers for which requests queue.

        ``mean`` and ``busiest`` are shares of the time, ``which`` is the number of the busiest, ``queued`` mean cycles.
        For the ring's segments only the mean is known.
        """
        return data_frame(self.data["servers"]).set_index("name")

    @cached_property
    def path(self) -> pd.DataFrame:
        """The links of the critical path in order of time, without gaps, and a column of cycles for each cause.

        ``kind`` is ``local``, the rank's own work; ``store`` or ``atomic``, from the instruction until others can read
        the value; ``hear``, from then until the waiting rank continues; or ``queue``, another request of the line that
        goes first, made by ``rank``. ``from_ns`` counts from the last arrival.
        """
        rows = []
        for link in self.data["path"]["links"]:
            row = {name: value for name, value in link.items() if name not in ("parts", "from", "to")}
            row["from_ns"] = self.ns(link["from"])
            row["ns"] = self.ns(link["to"] - link["from"])
            row["cycles"] = link["to"] - link["from"]
            for cause, begin, end in link["parts"]:
                row[cause] = row.get(cause, 0) + end - begin
            rows.append(row)
        frame = data_frame(rows)
        found = [cause for cause, _ in self.data["causes"] if cause in frame.columns]
        frame[found] = frame[found].fillna(0).astype("int64")
        for number in ("line", "directory"):  # the latter on machines with directories alone
            if number in frame:
                frame[number] = frame[number].astype("Int64")
        return frame[[name for name in frame.columns if name not in found] + found]

    @cached_property
    def causes(self) -> pd.DataFrame:
        """The path's time by cause, the largest first: ``cycles``, ``ns``, ``share``, ``meaning``.

        Time in queues is ``line busy``; ``in_queues`` says what the requests in front did meanwhile.
        """
        by_cause, queues = self.data["path"]["by_cause"], self.data["path"]["in_queues"]
        rows = [
            {
                "cause": cause,
                "cycles": by_cause.get(cause, 0),
                "ns": self.ns(by_cause.get(cause, 0)),
                "share": by_cause.get(cause, 0) / self.data["path"]["cycles"],
                "in_queues": queues.get(cause, 0),
                "meaning": meaning,
            }
            for cause, meaning in self.data["causes"]
            if cause in by_cause or cause in queues
        ]
        frame = data_frame(rows).sort_values("cycles", ascending=False, kind="stable")
        return frame.set_index("cause")

    def plot(self, ax: Axes | None = None) -> Figure | Axes:
        """Draw the critical path: a lane for each rank on it, coloured by cause.

        Returns the figure, or ``ax`` if it is given.
        """
        from phicoll.plots.critical_path import critical_path_figure, draw_critical_path

        if ax is None:
            return critical_path_figure(self.data)
        draw_critical_path(ax, self.data)
        return ax

    def save_trace(self, path: str | os.PathLike[str], *, all_calls: bool = False) -> Path:
        """Write a timeline for ui.perfetto.dev: ranks, lines and directories as tracks.

        It has the explained call, or with ``all_calls`` all that were simulated. The simulation is repeated, with the
        same result.

        Raises
        ------
        ArgumentError
            The file can't be written.
        """
        target = check_writable(Path(path), "trace")
        _core.explain(**self.request, trace=str(target), all_calls=all_calls)
        return target

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        d = self.data
        return (
            f"<Explanation of {d['algorithm']}, {d['ranks']} ranks on {d['machine']}: "
            f"call {d['call']}, {self.time_ns:,.0f} ns>"
        )

    def _repr_html_(self) -> str:
        return preformatted(self.text)


@argument_names
def explain(
    operation: str = "barrier",
    algorithm: str | None = None,
    machine: str | os.PathLike[str] | Machine = "xeon-phi-5110p",
    *,
    ranks: int | None = None,
    placement: str | None = None,
    definition: str = "loop",
    calls: int = 20,
    warm_up: int | None = None,
    call: int | None = None,
    skew_ns: float | None = None,
    wait: str | None = None,
    seed: int | None = None,
    size: int | str | None = None,
    buffers: str | None = None,
    type: str | None = None,
    op: str | None = None,
    most_links: int = 60,
    memory_limit: int = 768 << 20,
) -> Explanation:
    """Simulate a collective and explain where its time goes.

    Parameters
    ----------
    operation, size, buffers, type, op:
        What is called, as for :func:`phicoll.sweep`; one size, 4096 bytes by default. The calls of a loop include the
        writing of fresh buffers.
    algorithm:
        One algorithm of the operation with its parameters, such as ``"dissemination:ways=3"``;
        ``"hybrid-dissemination"`` for barriers and ``"auto"`` for the others by default.
    machine:
        A shipped machine's name, a machine file or a :class:`Machine`; changes make what-if experiments:
        ``"xeon-phi-5110p:directory.service=0"``.
    ranks:
        The number of ranks; all of the machine's contexts by default.
    placement:
        ``"compact"``, ``"scatter"``, ``"balanced"``, or contexts such as ``"0,4,8-11"``. This and ``warm_up``,
        ``skew_ns``, ``wait``, ``seed``, ``buffers``, ``type`` and ``op`` have the defaults of a simulated
        :func:`phicoll.sweep`.
    definition:
        ``"loop"``: calls back to back; ``"window"``: each from rest, its ranks entering within ``skew_ns``.
    calls, warm_up:
        The number of calls that are reported, and of those before them that are not.
    call:
        The call to explain, from 0; that of median time by default.
    seed:
        Places lines on directories and skews starts; the same seed gives the same result to the last cycle.
    most_links:
        The number of links of the path in the text; the DataFrames have all.
    memory_limit:
        Bytes that the record of the explained call may take; with 768 MB, the default, all stays below 1 GB.

    Raises
    ------
    ArgumentError
        Bad input; nothing was simulated.
    ResourceError
        The call is too large for ``memory_limit``.
    """
    operation = check_call(operation)
    work = call_arguments(operation, size, buffers, type, op)
    placement = placement_text(simulated_default("placement") if placement is None else placement)
    wait = check_text("wait", simulated_default("wait") if wait is None else wait)
    warm_up = int(simulated_default("warm_up")) if warm_up is None else warm_up
    seed = int(simulated_default("seed")) if seed is None else seed
    skew_ns = float(simulated_default("skew_ns")) if skew_ns is None else skew_ns
    if definition not in DEFINITIONS:
        raise ArgumentError("definition", repr(definition), ", ".join(DEFINITIONS))
    for name, value, least, most in (
        ("ranks", 1 if ranks is None else ranks, 1, MAX_RANKS),
        ("calls", calls, 1, 1000),
        ("warm_up", warm_up, 0, 1000),
        ("seed", seed, 0, 2**53 - 1),
        ("most_links", most_links, 0, 2**31 - 1),
        ("memory_limit", memory_limit, 1, 2**46),
    ):
        if not isinstance(value, int):
            raise ArgumentError(name, repr(value), f"a whole number from {least} to {most}")
        check_whole(name, value, least, most)
    if call is not None and (not isinstance(call, int) or not 0 <= call < calls):
        raise ArgumentError("call", repr(call), f"0 to {calls - 1}, the calls that are simulated")
    skew_ns = check_number("skew_ns", skew_ns, most=1e9)
    request: dict[str, Any] = {
        "machine": machine_text(machine),
        "algorithm": check_text("algorithm", algorithm or ("auto" if work else "hybrid-dissemination")),
        "ranks": ranks or 0,
        "placement": placement,
        "definition": definition,
        "calls": calls,
        "warm_up": warm_up,
        "call": -1 if call is None else call,
        "skew_ns": skew_ns,
        "wait": wait,
        "seed": seed,
        "most_links": most_links,
        "memory_limit": memory_limit,
        **work,
    }
    text, data = _core.explain(**request)
    return Explanation(json.loads(data), text, request)
