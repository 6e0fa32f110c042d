"""Figures of a validation: errors against their bounds, curves beside the printed fits, barriers in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from phicoll.papers.claims import HOLDS
from phicoll.papers.validation.outcome import Outcome
from phicoll.papers.validation.quantity import CALIBRATED, Quantity
from phicoll.plots.canvas import Canvas, new_figure
from phicoll.plots.style import INK, PALE, SERIES, tidy

__all__ = ["draw_barriers", "draw_counts", "draw_curves", "draw_errors", "draw_guesses"]


def draw_errors(found: Outcome) -> Canvas:
    """Draw simulated / published for each quantity, by group; marks beyond their bound are hollow."""
    groups = list(dict.fromkeys(q.group for q in found.quantities))
    figure = new_figure(7.0, 0.9 + 0.55 * max(1, len(groups)))
    ax = figure.subplots()
    low, high = 0.25, 2.2
    random = np.random.default_rng(1)
    for row, group in enumerate(groups):
        of = [q for q in found.quantities if q.group == group]
        for q in of:
            ratio = float(np.clip(q.simulated / q.published, low, high)) if q.published > 0 else 1.0
            good = q.verdict == HOLDS
            colour = SERIES[0] if q.role == CALIBRATED else SERIES[1]
            ax.plot(ratio, row + random.uniform(-0.25, 0.25), marker="D" if q.role == CALIBRATED else "o", markersize=4.5,
                    markerfacecolor=colour if good else "white", markeredgecolor=colour, linestyle="none")  # fmt: skip
    ax.axvspan(0.75, 1.25, color=PALE, alpha=0.35, linewidth=0)
    ax.axvspan(0.95, 1.05, color=PALE, alpha=0.8, linewidth=0)
    ax.axvline(1, color=INK, linewidth=0.8)
    ax.set_xlim(low * 0.95, high * 1.04)
    ax.set_ylim(len(groups) - 0.4, -0.6)
    ax.set_yticks(range(len(groups)), groups)
    ax.set_xlabel("simulated / published; bands: 5 % (calibrated, diamonds) and 25 % (held out, circles); hollow: beyond; "
                  "clipped at the edges", wrap=True)  # fmt: skip
    tidy(ax, "x")
    return figure


def draw_guesses(shipped: Sequence[Quantity], guesses: Mapping[str, Sequence[Quantity]]) -> Canvas:
    """Draw how far each guess moves the error of each held-out quantity; verdicts that change are filled.

    ``guesses`` has for each the quantities with it, in the order of those as ``shipped``.
    """
    figure = new_figure(7.0, 0.9 + 0.24 * max(1, len(guesses)))
    ax = figure.subplots()
    most = 1.5
    for row, quantities in enumerate(guesses.values()):
        for q, changed in zip(shipped, quantities, strict=True):
            turned = q.verdict != changed.verdict
            colour = SERIES[1] if turned else SERIES[0]
            ax.plot(float(np.clip(changed.error - q.error, -most, most)), row, marker="o", markersize=4.5, linestyle="none",
                    markerfacecolor=colour if turned else "none", markeredgecolor=colour, zorder=3 if turned else 2)  # fmt: skip
    ax.axvline(0, color=INK, linewidth=0.8)
    ax.set_xscale("symlog", linthresh=0.1)
    ticks = (-1, -0.3, -0.1, -0.03, 0, 0.03, 0.1, 0.3, 1)
    ax.set_xticks(ticks, [f"{100 * tick:+.0f}" if tick else "0" for tick in ticks])
    ax.set_xlim(-1.1 * most, 1.1 * most)
    ax.set_ylim(len(guesses) - 0.4, -0.6)
    ax.set_yticks(range(len(guesses)), list(guesses), fontsize=7.5)
    ax.set_xlabel("move of each held-out quantity's error, in percent of the published number; filled: it enters or "
                  "leaves its bound; clipped at the edges", wrap=True)  # fmt: skip
    tidy(ax, "x")
    return figure


def draw_curves(found: Outcome) -> Canvas | None:
    """Draw messages of many lines and readers of one line: simulated marks on the paper's printed fits."""
    curves = [q for q in found.quantities if "n" in q.values]
    if not curves:
        return None
    groups = list(dict.fromkeys(q.group for q in curves))
    figure = new_figure(7.0, 3.1)
    for ax, group in zip(np.atleast_1d(figure.subplots(1, len(groups))), groups, strict=True):
        for colour, q in zip(SERIES, (q for q in curves if q.group == group), strict=False):
            n, us = np.array(q.values["n"]), np.array(q.values["simulated"]) / 1000
            ax.plot(n, np.array(q.values["published"]) / 1000, color=colour, linewidth=1.2)
            ax.plot(
                n,
                us,
                marker="o",
                markersize=4,
                linestyle="none",
                color=colour,
                label=q.name.split(")")[0] + ")",
            )
        ax.set_title(group)
        ax.set_xlabel("lines" if "lines" in group else "readers")
        ax.set_ylabel("time, us")
        ax.legend(frameon=False, fontsize=7.5, title="marks: simulated; lines: printed fit", title_fontsize=7)
        tidy(ax, "both")
    return figure


def draw_barriers(found: Outcome) -> Canvas | None:
    """Draw the barriers of rodchenko-2015 by geometric means, as in its figure 2."""
    with_names = next((q for q in found.quantities if "names" in q.values), None)
    if with_names is None:
        return None
    names, us = with_names.values["names"], with_names.values["us"]
    figure = new_figure(7.0, 2.8)
    ax = figure.subplots()
    kinds = {"ls": SERIES[0], "gs": SERIES[1]}
    colours = [kinds.get(name[-2:], SERIES[2]) for name in names]
    ax.bar(range(len(names)), us, color=colours, width=0.7)
    ax.set_xticks(range(len(names)), names, rotation=90)
    ax.set_ylabel("geometric mean of the overhead, us")
    ax.set_title("blue: local release; orange: global release; green: others")
    tidy(ax, "y")
    return figure


def draw_counts(found: Outcome) -> Canvas | None:
    """Draw the findings over the number of ranks, one panel per statement."""
    panels = []
    for f in found.findings:
        v: dict[str, Any] = dict(f.values)
        if "ranks" in v and "ns" in v:
            panels.append((f.claim.number, v["ranks"], {"": (np.array(v["ns"]) / 1000)}))
        elif "ranks" in v and "us" in v:
            curves = {f"addresses {i + 1}": np.array(c) for i, c in enumerate(v["us"])}
            panels.append((f.claim.number, v["ranks"], {**curves, "mean": np.array(v["mean"])}))
        elif "counts" in v:
            panels.append(
                (f.claim.number, v["counts"], {k: np.array(v[k]) / 1000 for k in ("dissemination", "hybrid")})
            )
    if not panels:
        return None
    figure = new_figure(2.6 * len(panels) + 0.6, 2.6)
    for ax, (number, ranks, curves) in zip(
        np.atleast_1d(figure.subplots(1, len(panels))), panels, strict=True
    ):
        for colour, (label, us) in zip(SERIES, curves.items(), strict=False):
            ax.plot(
                ranks, us, color=INK if label == "mean" else colour, linewidth=1.4, marker=".", label=label
            )
        if len(curves) > 1:
            ax.legend(frameon=False, fontsize=7)
        ax.set_title(number)
        ax.set_xlabel("ranks")
        ax.set_ylabel("time, us")
        ax.set_ylim(bottom=0)
        tidy(ax, "both")
    return figure
