"""Exact counts of what algorithms do, at any scale. Nothing is measured, and no machine of that size is needed.

docs/counting.md defines rounds, longest chain, notifications and edges; for operations that move data also transfers,
bytes and steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import phicoll._core as _core
from phicoll.errors import ArgumentError
from phicoll.foundations.checks import argument_names, check_items
from phicoll.foundations.extras import data_frame
from phicoll.foundations.html_table import html_table
from phicoll.measuring.sweeps import call_arguments, machine_text
from phicoll.registry import algorithms, check_call, expand, short_spec
from phicoll.registry.machines import load_machine

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from phicoll.registry.machines import Machine

__all__ = ["PAPER_SHAPES", "Counts", "count"]

#: Cores x contexts of a core, of the papers' Xeon Phis.
PAPER_SHAPES = ("60x4", "61x4")
PLACEMENTS = ("compact", "scatter", "balanced")
MAX_CONTEXTS = 1024
COLUMNS = (
    "name",
    "shape",
    "ranks",
    "rounds",
    "longest_chain",
    "notifications",
    "edges_between_cores",
    "lines_written",
)
DATA_COLUMNS = (
    "name",
    "shape",
    "ranks",
    "size_bytes",
    "rounds",
    "steps",
    "transfers",
    "bytes_read",
    "bytes_between",
    "notifications",
)


@dataclass
class Counts(Sequence[dict[str, Any]]):
    """Rows of exact counts; displayed as a table."""

    rows: list[dict[str, Any]]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the table shows."""
        of_data = bool(self.rows) and "steps" in self.rows[0]
        more = ("edges_between_packages",) if self.rows and "edges_between_packages" in self.rows[0] else ()
        return (*(DATA_COLUMNS if of_data else COLUMNS), *more)

    def to_dataframe(self) -> pd.DataFrame:
        """A DataFrame with a row for each algorithm and rank count."""
        return data_frame(self.rows)

    def plot(self) -> Figure:
        """Draw a panel per quantity, with a row per algorithm and a marker per shape."""
        from phicoll.plots import draw_counts

        return draw_counts(self.rows)

    def __str__(self) -> str:
        table = [[name.replace("_", " ") for name in self.columns]]
        table += [[str(row[name]) for name in self.columns] for row in self.rows]
        widths = [max(len(line[column]) for line in table) for column in range(len(self.columns))]
        return "\n".join(
            "  ".join(
                cell.ljust(width) if column == 0 else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(line, widths, strict=True))
            )
            for line in table
        )

    def _repr_html_(self) -> str:
        heads = [name.replace("_", " ") for name in self.columns]
        return html_table(heads, [[row[name] for name in self.columns] for row in self.rows])


@argument_names
def count(
    operation: str = "barrier",
    algorithm: str | Iterable[str] = "all",
    shape: str | Sequence[str] | None = None,
    *,
    machine: str | Machine | None = None,
    ranks: int | None = None,
    placement: str = "compact",
    size: int | str | None = None,
    type: str | None = None,
    op: str | None = None,
) -> Counts:
    """Count one call of each algorithm, on the counting port.

    Parameters
    ----------
    operation, size, type, op:
        The call, as for :func:`phicoll.sweep`; one size, by default 4096 bytes or the largest half, quarter, ... of it
        with which the buffers of all ranks fit in 64 MB. If several algorithms are given, those that cannot perform
        the call are omitted.
    algorithm:
        Specs and sets, as for :func:`phicoll.sweep`; references can't be counted.
    shape:
        Cores x contexts of a core such as ``"60x4"``, or several; at most 1,024 contexts. By default the papers'.
    machine:
        A simulated machine whose contexts are taken instead: a name, a file or a :class:`phicoll.Machine`. What it
        cannot run is omitted or, if alone, refused.
    ranks:
        The number of ranks; all contexts by default.
    placement:
        ``"compact"``, ``"scatter"`` or ``"balanced"``.

    Returns
    -------
    Counts
        Rows with ``rounds``, ``longest_chain``, ``notifications``, ``edges``, ``edges_between_cores``,
        ``lines_written`` and more; for operations that move data also ``size_bytes``, ``transfers``, ``bytes_read``,
        ``bytes_written``, ``bytes_between``, ``combined`` and ``steps``; of a machine with several packages
        ``edges_between_packages``. ``label`` names shape and ranks for legends.

    Raises
    ------
    ArgumentError
        Bad input, or a reference from another system.
    """
    operation = check_call(operation)
    work = call_arguments(operation, size, None, type, op)
    work.pop("operation", None)
    work.pop("buffers", None)
    specs = expand(algorithm, operation)
    origins = {a.name: a.origin for a in algorithms(operation)}
    outside = [spec for spec in specs if origins.get(spec.split(":")[0]) == "reference"]
    if outside:
        raise ArgumentError("algorithm", repr(outside[0]), "barriers of phicoll; references can't be counted")
    if placement not in PLACEMENTS:
        raise ArgumentError("placement", repr(placement), ", ".join(PLACEMENTS))
    if machine is not None and shape is not None:
        raise ArgumentError("machine", f"{machine_text(machine)!r} and shape {shape!r}", "one of the two")
    words = "cores x contexts, such as '60x4', or a list of them"
    shapes = list(PAPER_SHAPES)
    packages = 1
    if machine is not None:
        work["machine"] = machine_text(machine)
        parameters = load_machine(machine).parameters
        shapes = [f"{parameters['topology.cores']}x{parameters['topology.contexts_per_core']}"]
        packages = parameters["topology.packages"]
    elif shape is not None:
        shapes = [shape] if isinstance(shape, str) else check_items("shape", shape, words)
    extents = [parse_shape(one) for one in shapes]
    rows = []
    for one, (cores, contexts) in zip(shapes, extents, strict=True):
        number = cores * contexts if ranks is None else check_count(ranks)
        where = work.get("machine", one)
        for spec in specs:
            name = spec.split(":")[0]
            try:
                counted = count_one((operation, spec, cores, contexts, number, placement), work, size is None)
            except ArgumentError as error:
                if len(specs) > 1 and error.argument == "algorithm":
                    continue
                raise
            rows.append(
                {
                    "operation": operation,
                    "algorithm": name,
                    "name": short_spec(operation, spec),
                    "spec": spec,
                    "origin": origins[name],
                    "shape": one,
                    "ranks": number,
                    "placement": placement,
                    "label": where if ranks is None else f"{where}, {number} ranks",
                    **({"machine": where} if machine is not None else {}),
                    **({"size_bytes": work["size"]} if "size" in work else {}),
                    **counted,
                    **({"edges_between_packages": counted["edges_between_numa"]} if packages > 1 else {}),
                }
            )
    return Counts(rows)


def count_one(where: tuple[Any, ...], work: dict[str, Any], shrink: bool) -> dict[str, Any]:
    """One call's counts; with ``shrink`` the size of ``work`` is halved until the core takes it."""
    while True:
        try:
            return _core.count(*where, **work)
        except ArgumentError as error:
            if not shrink or error.argument != "size":
                raise
            work["size"] //= 2


def parse_shape(text: str) -> tuple[int, int]:
    cores, _, contexts = str(text).partition("x")
    if cores.isdigit() and contexts.isdigit() and 1 <= int(cores) * int(contexts) <= MAX_CONTEXTS:
        return int(cores), int(contexts)
    raise ArgumentError("shape", repr(text), f"cores x contexts such as 60x4, at most {MAX_CONTEXTS} in all")


def check_count(ranks: int) -> int:
    if not isinstance(ranks, int) or not 1 <= ranks <= MAX_CONTEXTS:
        raise ArgumentError("ranks", repr(ranks), f"1 to {MAX_CONTEXTS}")
    return ranks
