"""The report's figures by name, each drawn on demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from phicoll.plots import draw_counts, draw_probes
from phicoll.plots.series import name_ends
from phicoll.plots.sizes import draw_sizes
from phicoll.plots.style import (
    INK,
    MODE_MARKERS,
    ORIGIN_COLOURS,
    PALE,
    SERIES,
    interval,
    log_limits,
    plain_log_ticks,
    tell,
    tidy,
)
from phicoll.report.material.evidence import Evidence
from phicoll.report.material.html import duration
from phicoll.report.material.parts import PLACES, Part
from phicoll.report.material.ratios import Setting, hand_written_of, is_hand_written
from phicoll.report.material.simulated import MACHINE, Simulated, times_of
from phicoll.results import Results
from phicoll.results.compare.best import Ratio
from phicoll.results.reading.names import short_name
from phicoll.results.reading.subject import ranks_text, size_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["figures"]

WIDTH = 10.0
MODES = ("threads", "processes")
HAND_COLOUR = "#6B7280"
ORIGINS = {
    "paper": "from a paper",
    "phicoll": "phicoll's own",
    "reference": "reference",
    "hand": "written by hand",
}


def figures(evidence: Evidence) -> dict[str, Callable[[], Figure]]:
    """The figures that can be drawn from this evidence, by name. Only drawing one compares anything."""
    found: dict[str, Callable[[], Figure]] = {}
    mains = evidence.mains
    if mains:
        found["overview"] = partial(draw_overview, evidence)
        found["barriers"] = partial(draw_barriers, mains)
    if evidence.data:
        found["data"] = partial(draw_data, evidence.data)
    if evidence.mpi is not None:
        found["mpi"] = partial(draw_beside_mpi, evidence.mpi)
    if any(part.results and part.results.rounds for part in mains):
        found["probes"] = partial(draw_all_probes, mains)
    places = evidence.one(PLACES)
    if places is not None and places.results is not None and places.results.samples:
        found["places"] = partial(draw_places, places)
    found["counts"] = lambda: draw_counted(evidence.counts)
    if evidence.simulated is not None and times_of(evidence.simulated):
        found["simulated-ranks"] = partial(draw_simulated_ranks, evidence.simulated)
    if evidence.simulated is not None and evidence.simulated.whole:
        found["simulated-path"] = partial(draw_simulated_path, evidence.simulated)
    return found


def new_figure(height: float, width: float = WIDTH) -> Figure:
    return Figure(figsize=(width, height), layout="constrained")


def draw_overview(evidence: Evidence) -> Figure:
    """Draw what the report begins with: the fastest barriers beside other code, and ``auto`` over sizes."""
    figure = new_figure(2.9)
    widths = [1.25] + [1] * len(evidence.data)
    panels = figure.subplots(1, len(widths), squeeze=False, width_ratios=widths)[0]
    draw_fastest(panels[0], evidence.mains)
    for ax, part in zip(panels[1:], evidence.data, strict=True):
        draw_auto(ax, part)
    return figure


def draw_fastest(ax: Axes, mains: Sequence[Part]) -> None:
    """Draw, for each number of ranks, the fastest of phicoll's barriers, of the hand-written ones and of other systems."""
    settings = [next(iter(part.settings.values())) for part in mains]
    values = []
    for place, setting in enumerate(settings):
        kinds = (
            ("phicoll", ORIGIN_COLOURS["phicoll"], setting.ours),
            ("written by hand", HAND_COLOUR, setting.hands),
            ("other systems", ORIGIN_COLOURS["reference"], setting.references),
        )
        for offset, (kind, colour, group) in enumerate(kinds):
            row = setting.fastest(group)
            if row is None or row.time is None:
                continue
            y = place + 0.24 * (offset - 1)
            values.append(row.time.median)
            (point,) = ax.plot([row.time.median], [y], marker="o", markersize=6, color=colour, label=kind)
            t = row.time
            tell(
                point, [f"{row.subject.algorithm}, {setting.mode}: {interval((t.median, t.low, t.high))} ns"]
            )
            words = f"{duration(row.time.median)}  {row.subject.algorithm}"
            ax.annotate(words, (row.time.median, y), xytext=(7, 0), textcoords="offset points", va="center", fontsize=7.5,
                        color=colour)  # fmt: skip
    low, high = log_limits(values, 0.7, 20)
    plain_log_ticks(ax, "x", low, high)
    ax.set_xlim(low, high)
    ax.set_yticks(range(len(mains)), [ranks_text(part.ranks) for part in mains])
    ax.set_ylim(len(mains) - 0.5, -0.5)
    ax.set_title("Barrier, back to back; ns", loc="left")
    tidy(ax)


def draw_auto(ax: Axes, part: Part) -> None:
    """Draw ``auto`` over sizes, a line for each number of processes."""
    rows = [row for row in part.comparison if row.subject.algorithm == "auto" and row.time]
    rows.sort(key=lambda row: row.subject.size_bytes)
    low, high = log_limits((row.time.median / 1000 for row in rows if row.time), 0.7, 2.5)
    plain_log_ticks(ax, "y", low, high)
    ax.set_ylim(low, high)
    sizes = sorted({row.subject.size_bytes for row in rows})
    ax.set_xscale("log", base=2)
    ax.set_xticks(sizes, [size_text(size) for size in sizes])
    ax.minorticks_off()
    ends = []
    for ranks, colour in zip(sorted({row.subject.ranks for row in rows}), SERIES, strict=False):
        at = {r.subject.size_bytes: r.time for r in rows if r.subject.ranks == ranks and r.time}
        medians = [time.median / 1000 for time in at.values()]
        (line,) = ax.plot(
            list(at),
            medians,
            color=colour,
            marker="o",
            markersize=3.5,
            linewidth=1.6,
            label=f"{ranks} processes",
        )
        tell(
            line,
            [
                f"{part.operation} of {size_text(size)}, {ranks} processes: "
                f"{interval((t.median / 1000, t.low / 1000, t.high / 1000))} µs"
                for size, t in at.items()
            ],
        )
        ends.append((list(at)[-1], medians[-1], f"{ranks} processes", colour))
    ax.set_title(f"{part.operation.capitalize()}, auto; µs", loc="left")
    tidy(ax, "both")
    name_ends(ax, ends, low, high)


def draw_data(parts: Sequence[Part]) -> Figure:
    """Draw the time of every measured algorithm over sizes: a row for each operation, a panel for each number of ranks."""
    counts = sorted({row.subject.ranks for part in parts for row in part.comparison})
    figure = new_figure(2.7 * len(parts))
    axes = figure.subplots(len(parts), len(counts), squeeze=False)
    for line, part in zip(axes, parts, strict=True):
        for ax, ranks in zip(line, counts, strict=True):
            draw_sizes(ax, [row for row in part.comparison if row.subject.ranks == ranks])
            ax.set_title(f"{part.operation}, {ranks} processes", loc="left")
            ax.set_ylabel("time of a call, µs" if ax is line[0] else "")
            ax.set_xlabel("size" if line is axes[-1] else "")
    return figure


def draw_beside_mpi(results: Results) -> Figure:
    """Draw ``auto`` and each MPI over sizes, a panel for each operation."""
    rows = list(results.compare())
    operations = list(dict.fromkeys(row.subject.operation for row in rows))
    figure = new_figure(2.9)
    for ax, operation in zip(figure.subplots(1, len(operations), squeeze=False)[0], operations, strict=True):
        of = [row for row in rows if row.subject.operation == operation]
        draw_sizes(ax, of)
        ax.set_title(f"{operation}, {of[0].subject.ranks} processes", loc="left")
        ax.set_ylabel("time of a call, µs" if operation == operations[0] else "")
        ax.set_xlabel("size")
    return figure


def draw_barriers(mains: Sequence[Part]) -> Figure:
    """Draw each barrier's ratio to the hand-written reference: a panel for each number of ranks and definition."""
    panels = [(part, definition) for part in mains for definition in definitions_of(part)]
    origins = {
        short_name(s): s.origin for part in mains for setting in part.settings.values() for s in setting.group
    }
    hands = {
        short_name(s)
        for part in mains
        for setting in part.settings.values()
        for s in setting.group
        if is_hand_written(s)
    }
    found = [
        {
            mode: ratios_in(part.settings[definition, mode])
            for mode in MODES
            if (definition, mode) in part.settings
        }
        for part, definition in panels
    ]
    first = next((of for of in found[0].values()), {})
    names = sorted(origins, key=lambda n: (first[n].median if n in first else 1e9, n))
    figure = new_figure(1.3 + 0.21 * len(names), 2.2 + 2.45 * len(panels))
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for ax, (part, definition), of in zip(axes, panels, found, strict=True):
        medians = [ratio.median for ratios in of.values() for ratio in ratios.values()] or [1.0]
        # The interval of a barrier that is sometimes stuck spans decades: the axis ends where nine tenths of the rows do.
        low, high = max(0.4, min(0.9, min(medians) * 0.9)), max(1.6, float(np.percentile(medians, 92)) * 1.5)
        for offset, (mode, ratios) in zip((-0.17, 0.17), of.items(), strict=False):
            for origin, colour in {**ORIGIN_COLOURS, "hand": HAND_COLOUR}.items():
                chosen = {
                    name: (index + offset, ratios[name])
                    for index, name in enumerate(names)
                    if name in ratios and ("hand" if name in hands else origins[name]) == origin
                }
                draw_ratios(ax, chosen, mode, f"{ORIGINS.get(origin, origin)}, {mode}", colour, high)
        ax.axvline(1, color=INK, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
        plain_log_ticks(ax, "x", low, high)
        ax.set_xlim(low, high)
        start = {"loop": "back to back", "window": "common start"}.get(definition, definition)
        ax.set_title(f"{ranks_text(part.ranks)}, {start}", loc="left")
        ax.set_xlabel("times the hand-written reference")
        tidy(ax)
        stripes(ax, len(names))
    axes[0].set_ylim(len(names) - 0.5, -0.5)
    axes[0].set_yticks(range(len(names)), names)
    for label, name in zip(axes[0].get_yticklabels(), names, strict=True):
        label.set_color(HAND_COLOUR if name in hands else ORIGIN_COLOURS.get(origins[name], INK))
    legend(figure, set(origins.values()), [mode for mode in MODES if any(mode in of for of in found)])
    return figure


def definitions_of(part: Part) -> list[str]:
    return [d for d in ("loop", "window") if any(key[0] == d for key in part.settings)]


def ratios_in(setting: Setting) -> dict[str, Ratio]:
    """Ratios to the hand-written reference by name; none without one."""
    hand = hand_written_of(setting)
    return {short_name(s): ratio for s, ratio in hand.ratios.items()} if hand else {}


def draw_ratios(
    ax: Axes, placed: Mapping[str, tuple[float, Ratio]], mode: str, label: str, colour: str, high: float
) -> None:
    """Draw ratios with their intervals by name, each at a height; those beyond ``high`` as numbers at the edge."""
    for y, ratio in placed.values():
        if ratio.median > high:
            ax.annotate(f"{ratio.median:,.0f} ▸", (0.995, y), xycoords=("axes fraction", "data"), ha="right", va="center",
                        fontsize=6.5, color=colour)  # fmt: skip
    inside = {name: (y, ratio) for name, (y, ratio) in placed.items() if ratio.median <= high}
    if not inside:
        return
    heights = [y for y, _ in inside.values()]
    ax.hlines(
        heights,
        [r.low for _, r in inside.values()],
        [r.high for _, r in inside.values()],
        color=colour,
        linewidth=2,
        alpha=0.55,
        zorder=2,
        label=label,
    )
    (points,) = ax.plot([r.median for _, r in inside.values()], heights, linestyle="", marker=MODE_MARKERS[mode],
                        markersize=4.7, zorder=3, markerfacecolor=colour if mode == "threads" else "white",
                        markeredgecolor=colour, markeredgewidth=1.1, label=label)  # fmt: skip
    tell(
        points,
        [f"{name}, {mode}: {interval((r.median, r.low, r.high))} times" for name, (_, r) in inside.items()],
    )


def stripes(ax: Axes, count: int) -> None:
    for index in range(1, count, 2):
        ax.axhspan(index - 0.5, index + 0.5, color="#F6F7F8", zorder=0, linewidth=0)
    ax.tick_params(axis="y", length=0)


def legend(figure: Figure, origins: set[str], modes: Sequence[str]) -> None:
    handles = [
        Line2D([], [], linestyle="", marker="o", color=colour, label=ORIGINS.get(origin, origin))
        for origin, colour in ORIGIN_COLOURS.items()
        if origin and origin in origins
    ]
    handles += [
        Line2D([], [], linestyle="", marker=MODE_MARKERS[mode], markeredgecolor=INK, label=mode,
               markerfacecolor="#777777" if mode == "threads" else "white")
        for mode in modes
    ]  # fmt: skip
    handles.append(Line2D([], [], color="#555555", linewidth=2.2, label="95 % interval"))
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False, fontsize=8)


def draw_all_probes(parts: Sequence[Part]) -> Figure:
    """Draw the time of a line, or of a switch, over each part."""
    wanted: list[tuple[Part, tuple[str, ...]]] = []
    for part in parts:
        rounds = part.results.rounds if part.results is not None else []
        if rounds:
            wanted.append((part, ("pingpong_ns", "read_ns")))
            if any(record.get("switch_ns") for record in rounds):
                wanted[-1] = (part, ("pingpong_ns", "read_ns", "switch_ns"))
    figure = new_figure(1.9 * len(wanted) + 0.5)
    axes = figure.subplots(len(wanted), 1, squeeze=False)[:, 0]
    for ax, (part, probes) in zip(axes, wanted, strict=True):
        assert part.results is not None
        draw_probes(ax, part.results.rounds, probes)
        same = sum(record.get("label") == "same-core" for record in part.results.rounds)
        ax.set_title(f"{part.title}: {same} of {len(part.results.rounds)} rounds same-core", loc="left")
        legend_of_panel = ax.get_legend()
        if legend_of_panel is not None:
            legend_of_panel.remove()
        ax.set_xlabel("")
    axes[-1].set_xlabel("time since the start of the part, s")
    most = max(range(len(wanted)), key=lambda index: len(wanted[index][1]))
    handles, labels = axes[most].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=len(labels),
        frameon=False,
        fontsize=8,
        markerscale=2,
    )
    return figure


def draw_places(part: Part) -> Figure:
    """Draw several visits to each place: constant differences come from addresses, others from the machine."""
    assert part.results is not None
    figure = new_figure(2.9)
    ax = figure.subplots()
    for index, (subject, of) in enumerate(part.results.observations.by_subject.items()):
        if subject.label == "same-core" or subject.algorithm not in ("sense-reversing", "hand-one-line"):
            continue
        if "wait=pause" in subject.spec:
            continue
        colour = SERIES[index % len(SERIES)]
        by_place: dict[int, list[float]] = {}
        for o in of:
            by_place.setdefault(int(o.probes.get("place") or 0), []).append(o.ns)
        places = sorted(by_place)
        ax.scatter([p for p in places for _ in by_place[p]], [ns for p in places for ns in by_place[p]], s=7,
                   color=colour, alpha=0.45, linewidths=0)  # fmt: skip
        ax.plot(places, [float(np.median(by_place[p])) for p in places], color=colour, linewidth=1.2,
                label=f"{short_name(subject)}: each visit, and the median of the place")  # fmt: skip
    values = [o.ns for o in part.results.observations.all if o.subject.label != "same-core"]
    if values:
        ax.set_ylim(min(values) * 0.9, float(np.percentile(values, 99)) * 1.12)
    ax.set_xlabel("place of the flags in the arena (seeded)")
    ax.set_ylabel("time per call (loop), ns")
    tidy(ax, "y")
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=8)
    return figure


def draw_counted(counts: Sequence[dict[str, object]]) -> Figure:
    """Draw the exact counts at the papers' scale."""
    return draw_counts(list(counts), new_figure(1.3 + 0.235 * len({row["name"] for row in counts}), 12.0))


def draw_simulated_path(simulated: Simulated) -> Figure:
    """Draw the critical path of the explained call."""
    return simulated.path.plot()


def draw_simulated_ranks(simulated: Simulated) -> Figure:
    """Draw simulated times over the ranks of the machine."""
    times = times_of(simulated)
    counts = sorted({ranks for by in times.values() for ranks in by})
    figure = new_figure(4.2)
    ax = figure.subplots()
    ends = []
    for (name, by), colour, marker in zip(
        sorted(times.items(), key=lambda item: item[1].get(counts[-1], [float("inf")])),
        SERIES,
        "osD^v*Ph",
        strict=False,
    ):
        at = sorted(by)
        middle = [float(np.mean(by[ranks])) / 1000 for ranks in at]
        (line,) = ax.plot(at, middle, color=colour, marker=marker, markersize=4, linewidth=1.4, label=name)
        tell(line, [f"{name}, {ranks_text(ranks)}: {duration(float(np.mean(by[ranks])))}" for ranks in at])
        ax.vlines(
            at,
            [min(by[r]) / 1000 for r in at],
            [max(by[r]) / 1000 for r in at],
            color=colour,
            linewidth=2.2,
            alpha=0.35,
            label=name,
        )
        ends.append((at[-1], middle[-1], name, colour))
    low, high = log_limits(
        (value / 1000 for by in times.values() for of in by.values() for value in of), 0.85, 1.2
    )
    plain_log_ticks(ax, "y", low, high)
    ax.set_ylim(low, high)
    for cores in (60, 120, 180):
        ax.axvline(cores, color=PALE, linewidth=1, zorder=0)
        ax.annotate(f"{cores // 60} a core", (cores, 0.99), xycoords=("data", "axes fraction"), fontsize=7.5, color=HAND_COLOUR,
                    ha="right", va="top", xytext=(-3, 0), textcoords="offset points")  # fmt: skip
    ax.set_xlim(0, counts[-1] * 1.02)
    ax.set_xlabel("ranks")
    ax.set_ylabel("simulated time of a call, µs")
    ax.set_title(f"Simulated: barriers on {MACHINE}", loc="left")
    tidy(ax, "y")
    name_ends(ax, ends, low, high)
    return figure
