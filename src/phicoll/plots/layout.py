"""Whole figures: which panels they have, and their sizes. A function for each kind."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from phicoll.errors import ArgumentError
from phicoll.foundations.checks import check_whole
from phicoll.plots.comparison import draw_comparison
from phicoll.plots.distributions import draw_distribution
from phicoll.plots.panels import Panels, size_of
from phicoll.plots.probes import draw_probes
from phicoll.plots.ranks import draw_ranks
from phicoll.plots.sizes import draw_sizes
from phicoll.plots.style import MODE_MARKERS, ORIGIN_COLOURS
from phicoll.results.compare import Row, compare
from phicoll.results.reading.subject import ranks_text

if TYPE_CHECKING:
    from phicoll.results.reading.recorded import Recorded

__all__ = ["LAYOUTS", "Asked", "check_options"]

SIZES_ALONE = ("GB/s", "ratio")
VALUES = {"unit": ("lines", "switches", "ns", "us", "cycles", *SIZES_ALONE), "label": ("remote", "same-core")}
OPTIONS = ("label", "most", "unit")  # of every kind but probes
MOST_LINES = 6  # in colour, of lines over ranks or sizes


@dataclass(frozen=True)
class Asked:
    """The options of a figure; each kind has its own defaults."""

    #: Arranges the panels: :class:`Panels` with what the caller says of the whole figure.
    place: Callable[..., Panels]
    unit: str | None = None
    label: str | None = None
    most: int | None = None


def check_options(kind: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The given options without those that are ``None``; raises ArgumentError for one that the kind does not take."""
    given = {name: value for name, value in options.items() if value is not None}
    for name, value in given.items():
        allowed = OPTIONS if kind != "probes" else ()
        if name not in allowed:
            raise ArgumentError(name, f"{value!r} for {kind}", ", ".join(allowed) or "no option")
        if name == "most":
            check_whole(name, value, 1)
        if name in VALUES and value not in VALUES[name]:
            raise ArgumentError(name, repr(value), ", ".join(VALUES[name]))
    if given.get("unit") in SIZES_ALONE and kind != "sizes":
        raise ArgumentError(
            "unit", f"{given['unit']!r} for {kind}", f"{' and '.join(SIZES_ALONE)} for sizes alone"
        )
    return given


def chosen_rows(results: Recorded, label: str | None) -> list[Row]:
    """The rows with ``label``; without one, a setting's remote rounds if it has any, else all."""
    rows = list(compare(results.observations, results.points))
    if label is not None:
        found = [row for row in rows if row.subject.label == label]
    else:
        remote = {key(row) for row in rows if row.subject.label != "same-core"}
        found = [row for row in rows if row.subject.label != "same-core" or key(row) not in remote]
    if not any(row.verified for row in found):
        raise ArgumentError(
            "results", "no verified sample" + (f" labelled {label}" if label else ""), "at least one"
        )
    return found


def key(row: Row) -> tuple[Any, ...]:
    s = row.subject
    where = (s.machine, s.machine_digest, s.placement if s.simulated else "")
    data = (s.size_bytes, s.buffers, s.type, s.op)
    return (s.operation, *where, s.ranks, *data, s.definition, s.delay_ns, s.imbalance_ns, s.start)


def unit_of(rows: Sequence[Row], unit: str | None, otherwise: str | None) -> str | None:
    """Check the unit; without one, us if the rows are simulated, else ``otherwise``."""
    if unit is not None:
        if unit == "cycles" and not all(row.subject.simulated for row in rows):
            raise ArgumentError("unit", "'cycles' for what was measured", "lines, switches, ns, us")
        if unit in ("lines", "switches") and any(row.subject.simulated for row in rows):
            raise ArgumentError("unit", f"{unit!r} for what was simulated", "ns, us, cycles")
        return unit
    return "us" if all(row.subject.simulated for row in rows) else otherwise


def panels(rows: Sequence[Row], of: Callable[[Row], tuple[Any, ...]]) -> dict[tuple[Any, ...], list[Row]]:
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(of(row), []).append(row)
    return dict(sorted(found.items(), key=lambda item: item[0]))


def panel_title(row: Row, mode: bool) -> str:
    s = row.subject
    words = [ranks_text(s.ranks) if not mode else s.mode, s.definition]
    if s.data:
        words.insert(1, s.data)
    if s.oversubscribed and not mode:
        words[0] += f" on {len(set(json.loads(s.cpus)))} CPUs"
    if s.delay_ns:
        words.append(f"delay {s.delay_ns:g} ns")
    if s.imbalance_ns:
        words.append(f"imbalance {s.imbalance_ns:g} ns")
    if s.label:
        words.append(s.label)
    title = f"{s.operation}: " + ", ".join(words)
    return title + (f"\nsimulated, {s.machine}, {s.placement}" if s.simulated else "")


def comparison(results: Recorded, asked: Asked) -> Panels:
    rows, most = chosen_rows(results, asked.label), asked.most
    found = panels(rows, key)
    modes = max(len({row.subject.mode for row in of}) for of in found.values())
    columns = min(2, len(found))
    lines = -(-len(found) // columns)
    sizes = [min(len({row.name for row in of if row.verified}), most or len(of)) for of in found.values()]
    tallest = [max(sizes[line * columns : (line + 1) * columns]) for line in range(lines)]
    heights = [(0.19 + 0.13 * modes) * size + 1.1 for size in tallest]
    drawn = asked.place(len(found), (6.6 * columns, sum(heights) + 0.3), columns=2, heights=heights)
    for ax, of in zip(drawn.axes, found.values(), strict=True):
        draw_comparison(ax, results.observations, of, unit=unit_of(of, asked.unit, None), most=most)
        drawn.entitle(ax, panel_title(of[0], mode=False), pad=16 if modes else 6)
    legend(drawn, rows)
    return drawn


def legend(drawn: Panels, rows: Sequence[Row]) -> None:
    """Draw the legend: colours of origins and markers of modes, those that occur. It is below the panels."""
    from matplotlib.lines import Line2D
    from matplotlib.transforms import ScaledTranslation

    origins = [
        origin for origin in ORIGIN_COLOURS if origin and any(r.subject.origin == origin for r in rows)
    ]
    modes = [mode for mode in MODE_MARKERS if any(row.subject.mode == mode for row in rows)]
    handles = [
        Line2D([], [], linestyle="", marker="o", color=ORIGIN_COLOURS[origin], label=origin)
        for origin in origins
    ]
    handles += [
        Line2D(
            [],
            [],
            linestyle="",
            marker=MODE_MARKERS[mode],
            markerfacecolor="#777777" if mode == "threads" else "white",
            markeredgecolor="#222222",
            label=mode,
        )
        for mode in modes
    ]
    if any(row.units > 1 for row in rows):
        handles.append(Line2D([], [], color="#222222", linewidth=2.2, label="95 % interval of the median"))
    if not drawn.given:
        drawn.figure.legend(
            handles=handles, loc="outside lower center", ncols=len(handles), frameon=False, fontsize=8
        )
        return
    ax = drawn.axes[-1]
    points = 18 + 12 * len(ax.get_xlabel().split("\n"))  # what the axis has below it
    below = ax.transAxes + ScaledTranslation(0, -points / 72, drawn.figure.dpi_scale_trans)
    where = {"loc": "upper right", "bbox_to_anchor": (1, 0), "bbox_transform": below, "borderaxespad": 0.0}
    ax.legend(handles=handles, ncols=3, frameon=False, fontsize=7.5, **where)


def of_one_machine(row: Row) -> tuple[Any, ...]:
    """The key of a panel over ranks. Measured and simulated times, or two machines, never share one."""
    s = row.subject
    where = (s.mode, s.machine, s.machine_digest, s.placement if s.simulated else "")
    return (s.operation, *where, s.size_bytes, s.buffers, s.type, s.op, s.definition)


def ranks(results: Recorded, asked: Asked) -> Panels:
    rows = chosen_rows(results, asked.label)
    counts = {row.subject.ranks for row in rows}
    if len(counts) == 1:
        # A line of one point shows nothing.
        drawn = comparison(results, asked)
        if not (drawn.given or drawn.figure.get_suptitle()):
            drawn.head(f"{counts.pop()} ranks are the only rank count: algorithms side by side")
        return drawn
    found = panels(rows, of_one_machine)
    drawn = asked.place(len(found), size_of(len(found), 6.8, 3.6), columns=2)
    for ax, of in zip(drawn.axes, found.values(), strict=True):
        draw_ranks(ax, of, unit=unit_of(of, asked.unit, "ns") or "ns", most=asked.most or MOST_LINES)
        s = of[0].subject
        words = [s.mode, s.machine, s.placement] if s.simulated else [s.mode]
        if s.data:
            words.insert(0, s.data)
        drawn.entitle(ax, f"{s.operation}: {', '.join([*words, s.definition])}", pad=14)
    return drawn


def of_one_size_axis(row: Row) -> tuple[Any, ...]:
    """The key of a panel over sizes."""
    s = row.subject
    where = (s.mode, s.machine, s.machine_digest, s.placement if s.simulated else "")
    return (s.operation, s.ranks, *where, s.buffers, s.type, s.op, s.definition, s.label or "")


def sizes(results: Recorded, asked: Asked) -> Panels:
    rows = [row for row in chosen_rows(results, asked.label) if row.subject.data]
    if not rows:
        raise ArgumentError("results", "no operation that moves data", "at least one for kind sizes")
    found = panels(rows, of_one_size_axis)
    drawn = asked.place(len(found), size_of(len(found), 6.8, 3.6), columns=2)
    for ax, of in zip(drawn.axes, found.values(), strict=True):
        taken = asked.unit if asked.unit in SIZES_ALONE else unit_of(of, asked.unit, "us")
        draw_sizes(ax, of, unit=taken or "us", most=asked.most or MOST_LINES)
        s = of[0].subject
        words = [f"{s.ranks} {'ranks' if s.simulated else s.mode}"]
        words += [s.machine, s.placement] if s.simulated else []
        words += [word for word in (s.buffers, f"{s.type} {s.op}".strip(), s.definition) if word]
        drawn.entitle(ax, f"{s.operation}: {', '.join(words)}")
    return drawn


def probes(results: Recorded, asked: Asked) -> Panels:
    runs = list(dict.fromkeys(record.get("run", "") for record in results.rounds))
    if not any(record.get("t_s") is not None for record in results.rounds):
        raise ArgumentError("results", "no rounds with probes", "at least one: simulated rounds have none")
    wanted: list[tuple[str, tuple[str, ...]]] = []
    for run in runs:
        of = [record for record in results.rounds if record.get("run", "") == run]
        wanted.append((run, ("pingpong_ns", "read_ns")))
        if any(record.get("switch_ns") for record in of):
            wanted.append((run, ("switch_ns",)))
    drawn = asked.place(len(wanted), (10, 2.6 * len(wanted)), columns=1)
    for ax, (run, names) in zip(drawn.axes, wanted, strict=True):
        draw_probes(ax, [record for record in results.rounds if record.get("run", "") == run], names)
        own = ax.get_title(loc="left")
        drawn.entitle(ax, f"run {run}: {own}" if len(runs) > 1 else own)
    return drawn


def distributions(results: Recorded, asked: Asked) -> Panels:
    rows = chosen_rows(results, asked.label)
    found = panels(rows, lambda row: (*key(row), row.name))
    both = {at: of for at, of in found.items() if len({row.subject.mode for row in of if row.verified}) > 1}
    found = both or {at: of for at, of in found.items() if any(row.verified for row in of)}

    def fastest(of: Sequence[Row]) -> float:
        return min(row.time.median for row in of if row.time is not None)

    shown = sorted(found.values(), key=fastest)[: asked.most or 6]
    drawn = asked.place(len(shown), size_of(len(shown), 4.3, 3.1, columns=3), columns=3)
    for ax, of in zip(drawn.axes, shown, strict=True):
        s = of[0].subject
        taken = unit_of(of, asked.unit, None)
        draw_distribution(ax, results.observations, of, taken)
        title = f"{of[0].name}, {ranks_text(s.ranks)}, {s.definition}"
        if s.simulated:
            title = (
                f"{of[0].name}\n{ranks_text(s.ranks)}, {s.definition}, simulated\n{s.machine}, {s.placement}"
            )
        ax.set_xlabel(taken or s.unit)
        drawn.entitle(ax, title)
    return drawn


LAYOUTS: dict[str, Callable[[Recorded, Asked], Panels]] = {
    "comparison": comparison,
    "ranks": ranks,
    "sizes": sizes,
    "probes": probes,
    "distributions": distributions,
}
