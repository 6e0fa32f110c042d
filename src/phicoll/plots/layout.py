"""Whole figures: which panels they have, and their sizes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from phicoll.errors import ArgumentError
from phicoll.foundations.checks import check_whole
from phicoll.plots.canvas import new_figure
from phicoll.plots.comparison import draw_comparison
from phicoll.plots.distributions import draw_distribution
from phicoll.plots.probes import draw_probes
from phicoll.plots.ranks import draw_ranks
from phicoll.plots.sizes import draw_sizes
from phicoll.plots.style import MODE_MARKERS, ORIGIN_COLOURS
from phicoll.results.compare import Row, compare

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from phicoll.results.recorded import Recorded

__all__ = ["LAYOUTS", "check_options"]

OPTIONS = {
    "comparison": {"unit", "label", "most"},
    "ranks": {"unit", "label", "highlight"},
    "sizes": {"unit", "label", "highlight"},
    "probes": set[str](),
    "distributions": {"unit", "label", "most"},
}
VALUES = {"unit": ("lines", "switches", "ns", "us", "cycles", "GB/s"), "label": ("remote", "same-core")}


def check_options(kind: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The given options without those that are ``None``; raises ArgumentError for one that the kind does not take."""
    given = {name: value for name, value in options.items() if value is not None}
    for name, value in given.items():
        if name not in OPTIONS[kind]:
            raise ArgumentError(
                name, f"{value!r} for {kind}", ", ".join(sorted(OPTIONS[kind])) or "no option"
            )
        if name in ("most", "highlight"):
            check_whole(name, value, 1)
        if name in VALUES and value not in VALUES[name]:
            raise ArgumentError(name, repr(value), ", ".join(VALUES[name]))
    if given.get("unit") == "GB/s" and kind != "sizes":
        raise ArgumentError("unit", f"'GB/s' for {kind}", "GB/s for sizes alone")
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
    words = [f"{s.ranks} ranks" if not mode else s.mode, s.definition]
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


def comparison(
    results: Recorded, unit: str | None = None, label: str | None = None, most: int | None = None
) -> Figure:
    rows = chosen_rows(results, label)
    found = panels(rows, key)
    modes = max(len({row.subject.mode for row in of}) for of in found.values())
    columns = min(2, len(found))
    lines = -(-len(found) // columns)
    sizes = [min(len({row.name for row in of if row.verified}), most or len(of)) for of in found.values()]
    tallest = [max(sizes[line * columns : (line + 1) * columns]) for line in range(lines)]
    heights = [(0.19 + 0.13 * modes) * size + 1.1 for size in tallest]
    figure = new_figure(6.6 * columns, sum(heights) + 0.3)
    axes = figure.subplots(lines, columns, squeeze=False, height_ratios=heights)
    for ax, of in zip(axes.flat, found.values(), strict=False):
        draw_comparison(ax, results.observations, of, unit=unit_of(of, unit, None), most=most)
        ax.set_title(panel_title(of[0], mode=False), loc="left", pad=16 if modes else 6)
    for ax in axes.flat[len(found) :]:
        ax.set_visible(False)
    legend(figure, rows)
    return figure


def legend(figure: Figure, rows: Sequence[Row]) -> None:
    """Draw the legend: colours of origins and markers of modes, those that occur."""
    from matplotlib.lines import Line2D

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
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False, fontsize=8)


def of_one_machine(row: Row) -> tuple[Any, ...]:
    """The key of a panel over ranks. Measured and simulated times, or two machines, never share one."""
    s = row.subject
    where = (s.mode, s.machine, s.machine_digest, s.placement if s.simulated else "")
    return (s.operation, *where, s.size_bytes, s.buffers, s.type, s.op, s.definition)


def ranks(results: Recorded, unit: str | None = None, label: str | None = None, highlight: int = 6) -> Figure:
    rows = chosen_rows(results, label)
    counts = {row.subject.ranks for row in rows}
    if len(counts) == 1:
        # A line of one point shows nothing.
        figure = comparison(results, unit, label)
        figure.suptitle(f"{counts.pop()} ranks are the only rank count: algorithms side by side", fontsize=9)
        return figure
    found = panels(rows, of_one_machine)
    columns = min(2, len(found))
    lines = -(-len(found) // columns)
    figure = new_figure(6.8 * columns, 3.6 * lines)
    axes = figure.subplots(lines, columns, squeeze=False)
    for ax, of in zip(axes.flat, found.values(), strict=False):
        draw_ranks(ax, of, unit=unit_of(of, unit, "ns") or "ns", highlight=highlight)
        s = of[0].subject
        words = [s.mode, s.machine, s.placement] if s.simulated else [s.mode]
        if s.data:
            words.insert(0, s.data)
        ax.set_title(f"{s.operation}: {', '.join([*words, s.definition])}", loc="left", pad=14)
    for ax in axes.flat[len(found) :]:
        ax.set_visible(False)
    return figure


def of_one_size_axis(row: Row) -> tuple[Any, ...]:
    """The key of a panel over sizes."""
    s = row.subject
    where = (s.mode, s.machine, s.machine_digest, s.placement if s.simulated else "")
    return (s.operation, s.ranks, *where, s.buffers, s.type, s.op, s.definition, s.label or "")


def sizes(results: Recorded, unit: str | None = None, label: str | None = None, highlight: int = 6) -> Figure:
    rows = [row for row in chosen_rows(results, label) if row.subject.data]
    if not rows:
        raise ArgumentError("results", "no operation that moves data", "at least one for kind sizes")
    found = panels(rows, of_one_size_axis)
    columns = min(2, len(found))
    lines = -(-len(found) // columns)
    figure = new_figure(6.8 * columns, 3.6 * lines)
    axes = figure.subplots(lines, columns, squeeze=False)
    for ax, of in zip(axes.flat, found.values(), strict=False):
        taken = unit if unit == "GB/s" else unit_of(of, unit, "us")
        draw_sizes(ax, of, unit=taken or "us", highlight=highlight)
        s = of[0].subject
        words = [f"{s.ranks} {'ranks' if s.simulated else s.mode}"]
        words += [s.machine, s.placement] if s.simulated else []
        words += [word for word in (s.buffers, f"{s.type} {s.op}".strip(), s.definition) if word]
        ax.set_title(f"{s.operation}: {', '.join(words)}", loc="left")
    for ax in axes.flat[len(found) :]:
        ax.set_visible(False)
    return figure


def probes(results: Recorded) -> Figure:
    runs = list(dict.fromkeys(record.get("run", "") for record in results.rounds))
    if not any(record.get("t_s") is not None for record in results.rounds):
        raise ArgumentError("results", "no rounds with probes", "at least one: simulated rounds have none")
    wanted: list[tuple[str, tuple[str, ...]]] = []
    for run in runs:
        of = [record for record in results.rounds if record.get("run", "") == run]
        wanted.append((run, ("pingpong_ns", "read_ns")))
        if any(record.get("switch_ns") for record in of):
            wanted.append((run, ("switch_ns",)))
    figure = new_figure(10, 2.6 * len(wanted))
    axes = figure.subplots(len(wanted), 1, squeeze=False)
    for ax, (run, names) in zip(axes.flat, wanted, strict=True):
        draw_probes(ax, [record for record in results.rounds if record.get("run", "") == run], names)
        if len(runs) > 1:
            ax.set_title(f"run {run}: " + ax.get_title(loc="left"), loc="left")
    return figure


def distributions(
    results: Recorded, unit: str | None = None, label: str | None = None, most: int | None = None
) -> Figure:
    rows = chosen_rows(results, label)
    found = panels(rows, lambda row: (*key(row), row.name))
    both = {at: of for at, of in found.items() if len({row.subject.mode for row in of if row.verified}) > 1}
    found = both or {at: of for at, of in found.items() if any(row.verified for row in of)}

    def fastest(of: Sequence[Row]) -> float:
        return min(row.time.median for row in of if row.time is not None)

    shown = sorted(found.values(), key=fastest)[: most or 6]
    columns = min(3, len(shown))
    lines = -(-len(shown) // columns)
    figure = new_figure(4.3 * columns, 3.1 * lines)
    axes = figure.subplots(lines, columns, squeeze=False)
    for ax, of in zip(axes.flat, shown, strict=False):
        s = of[0].subject
        taken = unit_of(of, unit, None)
        draw_distribution(ax, results.observations, of, taken)
        title = f"{of[0].name}, {s.ranks} ranks, {s.definition}"
        if s.simulated:
            title = f"{of[0].name}\n{s.ranks} ranks, {s.definition}, simulated\n{s.machine}, {s.placement}"
        ax.set_title(title, loc="left", **({"fontsize": 8} if s.simulated else {}))
        ax.set_xlabel(taken or s.unit)
    for ax in axes.flat[len(shown) :]:
        ax.set_visible(False)
    return figure


LAYOUTS: dict[str, Callable[..., Figure]] = {
    "comparison": comparison,
    "ranks": ranks,
    "sizes": sizes,
    "probes": probes,
    "distributions": distributions,
}
