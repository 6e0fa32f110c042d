"""The report's figures by name, each drawn on demand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, MaxNLocator, NullFormatter, ScalarFormatter

from phicoll.plots import draw_comparison, draw_counts, draw_distribution, draw_probes
from phicoll.plots.ranks import name_ends
from phicoll.plots.style import INK, MODE_MARKERS, ORIGIN_COLOURS, PALE, SERIES, plain_log_ticks, tidy
from phicoll.report.evidence import Evidence
from phicoll.report.parts import PLACES, Part
from phicoll.report.ratios import hand_written_of, is_hand_written
from phicoll.report.simulated import Simulated, times_of
from phicoll.results.compare import Row
from phicoll.results.compare.best import Ratio
from phicoll.results.names import short_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["figures"]

WIDTH = 10.0
MODES = ("threads", "processes")
HAND_COLOUR = "#6B7280"


def figures(evidence: Evidence) -> dict[str, Callable[[], Figure]]:
    """The figures that can be drawn from this evidence, by name."""
    found: dict[str, Callable[[], Figure]] = {}
    for part in evidence.mains:
        found[f"reference-{part.ranks}"] = partial(draw_ratios, part)
        for definition in ("loop", "window"):
            if any(key[0] == definition for key in part.settings):
                found[f"{definition}-{part.ranks}"] = partial(draw_spread, part, definition)
        found[f"modes-{part.ranks}"] = partial(draw_modes, part)
    if any(part.results and part.results.rounds for part in evidence.parts):
        found["probes"] = partial(draw_all_probes, evidence.parts)
    places = evidence.one(PLACES)
    if places is not None and places.results is not None and places.results.samples:
        found["places"] = partial(draw_places, places)
    if evidence.counts:
        found["counts"] = partial(draw_counted, evidence.counts)
    if evidence.simulated is not None:
        found["simulated-ranks"] = partial(draw_simulated_ranks, evidence.simulated)
        found["simulated-path"] = evidence.simulated.path.plot
    return found


def new_figure(height: float, width: float = WIDTH) -> Figure:
    return Figure(figsize=(width, height), layout="constrained")


def draw_ratios(part: Part) -> Figure:
    """Draw each barrier's ratio to the hand-written reference: loop and window side by side, on one scale."""
    settings = part.settings
    definitions = [d for d in ("loop", "window") if any(key[0] == d for key in settings)]
    by_hand = {key: hand_written_of(setting) for key, setting in settings.items()}
    ratios: dict[tuple[str, str], dict[str, Ratio]] = {
        key: {short_name(s): r for s, r in hand.ratios.items()}
        for key, hand in by_hand.items()
        if hand is not None
    }
    origins = {short_name(s): s.origin for setting in settings.values() for s in setting.group}
    hands = {short_name(s) for setting in settings.values() for s in setting.group if is_hand_written(s)}
    first = ratios.get((definitions[0], "threads")) or next(iter(ratios.values()), {})
    names = sorted(
        {n for of in ratios.values() for n in of}, key=lambda n: first[n].median if n in first else 1e9
    )
    figure = new_figure(1.5 + 0.25 * len(names))
    axes = figure.subplots(1, len(definitions), sharey=True, squeeze=False)[0]
    values = [v for of in ratios.values() for r in of.values() for v in (r.low, r.high)] or [1.0, 2.0]
    # The interval of a barrier that is sometimes stuck spans decades: the axis ends where nine tenths of the rows do.
    high = max(
        1.6, float(np.percentile([r.median for of in ratios.values() for r in of.values()] or [2], 96)) * 2.2
    )
    low = max(0.5, min(0.9, min(values) * 0.95))
    high = min(high, max(values) * 1.1)
    for ax, definition in zip(axes, definitions, strict=True):
        for offset, mode in ((-0.17, "threads"), (0.17, "processes")):
            for index, name in enumerate(names):
                ratio = ratios.get((definition, mode), {}).get(name)
                if ratio is not None:
                    draw_ratio(
                        ax, index + offset, ratio, mode, "hand" if name in hands else origins[name], high
                    )
        ax.axvline(1, color=INK, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
        plain_log_ticks(ax, "x", low, high)
        ax.set_xlim(low, high)
        hand = by_hand.get((definition, "threads")) or next(iter(by_hand.values()))
        ax.set_title(
            f"{definition}: time over {hand.name if hand else 'the hand-written reference'}", loc="left"
        )
        ax.set_xlabel("times as long, within the same rounds")
        tidy(ax)
        stripes(ax, len(names))
    axes[0].set_ylim(len(names) - 0.5, -0.5)
    axes[0].set_yticks(range(len(names)), names)
    for label, name in zip(axes[0].get_yticklabels(), names, strict=True):
        label.set_color(HAND_COLOUR if name in hands else ORIGIN_COLOURS.get(origins[name], INK))
    legend(figure, set(origins.values()), [m for m in MODES if any(key[1] == m for key in settings)])
    return figure


def draw_ratio(ax: Axes, y: float, ratio: Ratio, mode: str, origin: str, high: float) -> None:
    colour = HAND_COLOUR if origin == "hand" else ORIGIN_COLOURS.get(origin, INK)
    if ratio.median > high:
        ax.annotate(f"{ratio.median:,.0f} ▸", (0.995, y), xycoords=("axes fraction", "data"), ha="right", va="center",
                    fontsize=6.5, color=colour)  # fmt: skip
        return
    ax.plot(
        [ratio.low, ratio.high],
        [y, y],
        color=colour,
        linewidth=2,
        alpha=0.55,
        solid_capstyle="butt",
        zorder=2,
    )
    ax.scatter([ratio.median], [y], s=22, marker=MODE_MARKERS[mode], facecolor=colour if mode == "threads" else "white",
               edgecolor=colour, linewidth=1.1, zorder=3)  # fmt: skip


def stripes(ax: Axes, count: int) -> None:
    for index in range(1, count, 2):
        ax.axhspan(index - 0.5, index + 0.5, color="#F6F7F8", zorder=0, linewidth=0)
    ax.tick_params(axis="y", length=0)


def legend(figure: Figure, origins: set[str], modes: Sequence[str]) -> None:
    names = {"paper": "from a paper", "phicoll": "phicoll's own", "reference": "reference"}
    handles = [
        Line2D([], [], linestyle="", marker="o", color=colour, label=names.get(origin, origin))
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


def chosen_rows(part: Part, definition: str) -> list[Row]:
    return [
        row for (d, _), setting in part.settings.items() if d == definition for row in setting.rows.values()
    ]


def draw_spread(part: Part, definition: str) -> Figure:
    """Draw every round of every barrier, for threads and processes."""
    assert part.results is not None
    rows = chosen_rows(part, definition)
    figure = new_figure(1.4 + 0.34 * len({row.name for row in rows}))
    ax = figure.subplots()
    # A few rounds of one reference that take thousands of times as long would squeeze the rest to the left edge.
    medians = sorted(found.median for row in rows if (found := row.in_units or row.time) is not None)
    draw_comparison(ax, part.results.observations, rows, end=3 * medians[int(0.9 * (len(medians) - 1))])
    low, high = ax.get_xlim()
    if high / low > 5:
        ax.xaxis.set_major_locator(FixedLocator([step * 10.0**e for e in range(-4, 9) for step in (1, 2, 5)]))
        ax.set_xlim(low, high)
    origins = {
        row.name: HAND_COLOUR if is_hand_written(row.subject) else ORIGIN_COLOURS.get(row.subject.origin, INK)
        for row in rows
    }
    for label in ax.get_yticklabels():
        label.set_color(origins.get(label.get_text(), INK))
    legend(
        figure,
        {row.subject.origin for row in rows},
        [m for m in MODES if any(r.subject.mode == m for r in rows)],
    )
    return figure


def draw_modes(part: Part) -> Figure:
    """Draw threads against processes over places and launches, for the fastest few: loop above, window below."""
    assert part.results is not None
    settings = part.settings
    definitions = [d for d in ("loop", "window") if any(key[0] == d for key in settings)]
    modes = [mode for mode in MODES if any(key[1] == mode for key in settings)]
    columns = 3
    figure = new_figure(2.75 * len(definitions) + 0.1, WIDTH)
    axes = figure.subplots(len(definitions), columns, squeeze=False)
    for line, definition in zip(axes, definitions, strict=True):
        of = [setting for (d, _), setting in settings.items() if d == definition]
        best = [row.subject.spec for row in of[0].ranked()[:columns]]
        for ax, spec in zip(line, best, strict=False):
            rows = [row for setting in of for s, row in setting.rows.items() if s.spec == spec]
            rows.sort(key=lambda row: modes.index(row.subject.mode))
            draw_distribution(ax, part.results.observations, rows)
            trim(ax, part, rows)
            ax.set_title(f"{rows[0].name}, {definition}", loc="left", fontsize=9)
            ax.set_xlabel(
                f"{rows[0].subject.unit} per call" if any(r.in_units for r in rows) else "ns per call"
            )
            ax.set_ylabel("share of rounds" if ax is line[0] else "")
        for ax in line[len(best) :]:
            ax.set_visible(False)
    handles = [Line2D([], [], color=SERIES[i], linewidth=2, label=mode) for i, mode in enumerate(modes)]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False, fontsize=8)
    return figure


def trim(ax: Axes, part: Part, rows: Sequence[Row]) -> None:
    """Limit the axis to the middle of the values; the rest of each curve up to 100 % lies beyond."""
    assert part.results is not None
    values = [o.in_units or o.ns for row in rows for o in part.results.observations.by_subject[row.subject]]
    low, high = np.percentile(values, [2, 96])
    margin = 0.12 * (high - low) or 0.1 * high
    ax.set_xscale("linear")
    ax.xaxis.set_major_locator(MaxNLocator(5))
    ax.xaxis.set_major_formatter(ScalarFormatter())
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_xlim(max(0.0, low - margin), high + margin)
    for line in ax.lines:
        line.set_clip_on(True)
    legend_of_panel = ax.get_legend()
    if legend_of_panel is not None:
        legend_of_panel.remove()


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


def draw_simulated_ranks(simulated: Simulated) -> Figure:
    """Draw simulated times over the ranks of the machine."""
    times = times_of(simulated)
    counts = sorted({ranks for by in times.values() for ranks in by})
    figure = new_figure(4.2)
    ax = figure.subplots()
    ends = []
    for (name, by), colour, marker in zip(
        sorted(times.items(), key=lambda item: item[1][counts[-1]]), SERIES, "osD^v*Ph", strict=False
    ):
        at = sorted(by)
        middle = [float(np.mean(by[ranks])) / 1000 for ranks in at]
        ax.plot(at, middle, color=colour, marker=marker, markersize=4, linewidth=1.4)
        ax.vlines(
            at,
            [min(by[r]) / 1000 for r in at],
            [max(by[r]) / 1000 for r in at],
            color=colour,
            linewidth=2.2,
            alpha=0.35,
        )
        ends.append((middle[-1], name, colour))
    values = [value / 1000 for by in times.values() for of in by.values() for value in of]
    low, high = min(values) * 0.85, max(values) * 1.2
    plain_log_ticks(ax, "y", low, high)
    ax.set_ylim(low, high)
    for cores in (60, 120, 180):
        ax.axvline(cores, color=PALE, linewidth=1, zorder=0)
        ax.annotate(f"{cores // 60} a core", (cores, 0.99), xycoords=("data", "axes fraction"), fontsize=7.5, color=HAND_COLOUR,
                    ha="right", va="top", xytext=(-3, 0), textcoords="offset points")  # fmt: skip
    ax.set_xlim(0, counts[-1] * 1.02)
    ax.set_xlabel("ranks")
    ax.set_ylabel("simulated time of a call, µs")
    ax.set_title(f"Simulated: barriers on {simulated.path.data['machine']}", loc="left")
    tidy(ax, "y")
    name_ends(ax, ends, low, high)
    return figure
