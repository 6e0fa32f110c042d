"""The page of the models' validation: predictions beside simulation and this host, failures first."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from phicoll.models.comparison import Compared, ComparedRuns
from phicoll.papers.claims import FAILS
from phicoll.papers.validation.page import cell, statement_cells, write_with_figures
from phicoll.papers.validation.predictions.figures import (
    draw_host,
    draw_orders,
    draw_pieces,
    draw_runs,
    draw_trees,
)
from phicoll.papers.validation.predictions.outcome import ModelOutcome
from phicoll.papers.validation.predictions.pieces import Piece
from phicoll.papers.validation.quantity import number
from phicoll.results.subject import size_text

__all__ = ["write_page"]

FIGURES = (
    ("pieces", draw_pieces, "Modelled / simulated, all pieces, published and simulated constants"),
    ("places", draw_orders, "Each algorithm's median on its band, published constants"),
    ("trees", draw_trees, "Broadcast trees, simulated and modelled"),
    ("bands", draw_runs, "Bands and simulated samples by ranks"),
    ("host", draw_host, "Bands and measured samples of two threads of one host"),
)

#: Why predictions miss, by operation and algorithm; said with the numbers.
CAUSES = {
    (
        "broadcast",
        "flat-large",
    ): "The ratio hardly depends on the ranks: it is that of one copied line, of which the equation (4.10) has as many as "
    "the message has lines",
    (
        "broadcast",
        "pipelined-slices",
    ): "Each of n - 1 stages pays the start-up q - p/N of Table 3.1, which simulated copies mostly lack "
    "(validation-xeon-phi-5110p.md)",
    (
        "broadcast",
        "trees",
    ): "The model adds levels up; in runs one level's acknowledgements overlap the next one's reads, and readers wait "
    "while the parent writes",
    (
        "allreduce",
        "",
    ): "Alpha, beta and gamma are derived from line costs: a message is a flag and then lines, and a rank's messages do "
    "not overlap",
}


def write_page(found: ModelOutcome, path: Path) -> list[Path]:
    """Write ``path`` and its figures, ``<stem>-<figure>.svg`` beside it."""
    return write_with_figures(found, path, FIGURES, text_of)


def text_of(found: ModelOutcome, shown: dict[str, str]) -> str:
    effort = found.effort
    lines = [
        "# Validation of the models",
        "",
        "Predictions of `phicoll.models` beside runs. Written by `phicoll validate models --page FILE"
        f"{' --host HERE.json' if found.host else ''}`; simulated machine {found.machine.name}, digest `{found.machine.digest}`, seeds 1 to "
        f"{effort.seeds} ({effort.few_seeds} for long messages and allreduce), {effort.calls} calls per seed, each from the last entry to the last exit, all ranks entering at once, one per core.",
        "",
        "- Numbers are *published* (printed in ramos-hoefler-2013), *simulated* (phicoll's Xeon Phi 5110P; nothing ran on a card), *measured* (on the "
        "named host) or *modelled*.",
        "- Models from *published constants* show how far the card's model carries to the simulated card; from *simulated constants*, those of the "
        "simulated machine's own kernels (`phicoll characterize --machine`), what the form of the equations misses.",
        "- Some machine parameters were calibrated on published single lines; no collective was.",
        "- *Evicted* start: flags and slots are in memory when a call begins, as chapter 4 assumes. *Warm*: where the last call left them, with R_R for R_I in the models.",
        "",
        "Results:",
        "",
        *(f"- {line}" for line in found.summary()),
        "",
        *failures(found),
        "## Pieces",
        "",
        "Errors are modelled / simulated - 1.",
        "",
        shown.get("pieces", ""),
        "",
        *pieces_table(found.pieces, list(found.models)),
        "",
        "## Collectives on the simulated machine",
        "",
        "A row is one algorithm, all rank counts. *Inside*: share of samples in the band. The medians are divided by best and worst case, with least and most over "
        "the counts; a median in the band is above 1 and below 1.",
        "",
        shown.get("places", ""),
        "",
    ]  # fmt: skip
    for constants, of in found.compared.items():
        lines += [f"### {constants.capitalize()} constants", "", *bands_table(of), ""]
    lines += [shown.get("bands", ""), "", *orders(found, shown)]
    if found.host is not None:
        lines += host(found, shown)
    lines += ["## Statements", "", *statements(found), ""]
    return "\n".join(lines)


def failures(found: ModelOutcome) -> list[str]:
    """The section on what does not hold, with known causes."""
    lines = ["## What does not hold", ""]
    for f in found.findings:
        if f.verdict == FAILS:
            lines.append(f"- Statement {f.claim.number}: {f.claim.statement}")
    groups: dict[tuple[str, str], list[str]] = {}
    for key, rows in by_algorithm(found.compared["published"]["evicted"]).items():
        inside = float(np.mean([r.inside for r in rows]))
        if inside < 0.5:
            operation, name, size = key
            cause = (operation, name) if (operation, name) in CAUSES else (operation, "")
            cause = cause if cause in CAUSES else (operation, "trees")
            ratio = float(np.exp(np.mean([np.log(r.over_low) for r in rows])))
            if name == "pipelined-slices" and ratio > 1:  # its cause is about what comes out below
                cause = (operation, "")
            groups.setdefault(cause, []).append(
                f"{name}{f' {size_text(size)}' if size else ''} {inside:.0%} inside, {ratio:.2f} of the best case"
            )
    for cause, names in groups.items():
        lines.append(
            f"- {cause[0]}, published constants, evicted start, geometric means: {'; '.join(names)}. {CAUSES.get(cause, 'The cause is not known')}."
        )
    return [*lines, ""]


def percent(value: float | None) -> str:
    return "" if value is None else f"{value:+.0%}"


def pieces_table(pieces: tuple[Piece, ...], constants: list[str]) -> list[str]:
    kinds = pieces[0].kind
    names = [f"{name} constants" for name in constants]
    lines = [
        f"| piece | equation | published | {kinds} | {' | '.join(f'modelled, {n} | error' for n in names)} |",
        f"|---|---|--:|--:|{'--:|--:|' * len(names)}",
    ]
    for p in pieces:
        cells = [
            f"{'' if p.modelled[name] is None else number(p.modelled[name])} | {percent(p.error(name))}"  # type: ignore[arg-type]
            for name in constants
        ]
        published = "" if p.published is None else number(p.published)
        lines.append(
            f"| {p.group}: {cell(p.name)} | {p.equation} | {published} | {number(p.observed)} {p.unit} | {' | '.join(cells)} |"
        )
    return lines


def by_algorithm(runs: ComparedRuns) -> dict[tuple[str, str, int], list[Compared]]:
    found: dict[tuple[str, str, int], list[Compared]] = {}
    for row in runs.rows:
        found.setdefault((row.subject.operation, row.name, row.subject.size_bytes), []).append(row)
    return found


def bands_table(of: dict[str, ComparedRuns]) -> list[str]:
    lines = [
        "| operation | algorithm | size | ranks | start | inside | below | above | median / best case | median / worst case | assumed |",
        "|---|---|--:|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    for start, runs in of.items():
        for (operation, name, size), rows in by_algorithm(runs).items():
            ranks = [r.subject.ranks for r in rows]
            low, high = [r.over_low for r in rows], [r.over_high for r in rows]
            share = [
                float(np.mean([getattr(r, side) for r in rows])) for side in ("inside", "below", "above")
            ]
            taken = len({n for r in rows for n in r.prediction.assumed})
            asked = len({n for r in rows for n in r.prediction.used})
            span = f"{min(ranks)} to {max(ranks)}" if len(ranks) > 1 else str(ranks[0])
            lines.append(
                f"| {operation} | {cell(name)} | {size_text(size) if size else ''} | {span} | {start} | "
                f"{' | '.join(f'{v:.0%}' for v in share)} | {min(low):.2f} to {max(low):.2f} | {min(high):.2f} to {max(high):.2f} | "
                f"{taken} of {asked} |"
            )
        for why in dict.fromkeys(why for _, why in runs.skipped):
            count = sum(w == why for _, w in runs.skipped)
            lines.append(f"| | {count} subjects left out: {cell(why)} | | | {start} | | | | | | |")
    return lines


def orders(found: ModelOutcome, shown: dict[str, str]) -> list[str]:
    """Kendall's tau of the predicted order and what taking the predicted best costs."""
    lines = [
        "## Orders",
        "",
        "The order of algorithms for one operation, number of ranks and size: by best cases (published constants) against by simulated medians. "
        "*tau*: Kendall's, 1 for the same order. *Loss*: the predicted best over the actual best, less 1.",
        "",
        shown.get("trees", ""),
        "",
        "| operation | size | start | algorithms | tau by best case, mean (least) | tau by worst case, mean | loss, mean (most) | predicted best was best |",
        "|---|--:|---|--:|--:|--:|--:|--:|",
    ]  # fmt: skip
    for start, runs in found.compared["published"].items():
        groups: dict[tuple[str, int, int], list[int]] = {}
        every = runs.orders()
        for index, order in enumerate(every):
            s = order.rows[0].subject
            groups.setdefault((s.operation, s.size_bytes, len(order.rows)), []).append(index)
        for (operation, size, many), of in groups.items():
            low, high = ([every[i].tau(by) for i in of] for by in ("low", "high"))
            loss = [every[i].loss() for i in of]
            lines.append(
                f"| {operation} | {size_text(size) if size else ''} | {start} | {many} | {mean(low)} ({least(low)}) | {mean(high)} | "
                f"{np.mean(loss):.0%} ({max(loss):.0%}) | {sum(v < 0.005 for v in loss)} of {len(of)} |"
            )
    examples = [
        order for order in found.compared["published"]["evicted"].orders()
        if order.rows[0].subject.operation == "broadcast" and order.rows[0].subject.size_bytes == 8 and order.rows[0].subject.ranks in (8, 30, 60)
    ]  # fmt: skip
    lines.append("")
    for order in examples:
        n = order.rows[0].subject.ranks
        lines.append(
            f"- {n} ranks, simulated: {' < '.join(order.observed)}; modelled: {' < '.join(order.predicted())}."
        )
    return [*lines, ""]


def mean(values: list[float]) -> str:
    known = [v for v in values if v == v]
    return f"{np.mean(known):.2f}" if known else "alike"


def least(values: list[float]) -> str:
    known = [v for v in values if v == v]
    return f"{min(known):.2f}" if known else ""


def host(found: ModelOutcome, shown: dict[str, str]) -> list[str]:
    part = found.host
    assert part is not None
    model = part.model
    taken = model.assumed
    return [
        "## Two threads of one host",
        "",
        f"*Measured* on {part.cpu}, {part.date}, two threads on two CPUs, without rounds whose CPUs were one core. The model is this host's own, by "
        f"`phicoll characterize`: R_L is {model.value('line.local'):.2f} ns, R_R {rr(model):.1f} ns. Another run gives other "
        f"numbers. {len(taken)} of its {len(model.constants)} constants are assumed from another machine: {', '.join(taken) or 'none'}; each row says how many "
        "it needed.",
        "",
        "Most calls end before their best case, for two reasons. In a measured window ranks enter up to 1 us apart and time counts from the last entry, "
        "so it lacks what others did before (such as a child's part of a reduction); the models have all enter at once. And in the models each write of a flag "
        "takes a whole transfer, while this host's cores go on as a store waits for its line. Two ranks say nothing about contention.",
        "",
        *pieces_table(part.pieces, [model.name]),
        "",
        shown.get("host", ""),
        "",
        *host_table(part.compared),
        "",
    ]  # fmt: skip


def rr(model) -> float:  # type: ignore[no-untyped-def]
    from phicoll.models.equations.line_costs import remote

    return float(remote(model))


def host_table(runs: ComparedRuns) -> list[str]:
    lines = [
        "| operation | algorithm | size | start | measured median, ns | band, ns | inside | below | above | assumed |",
        "|---|---|--:|---|--:|--:|--:|--:|--:|--:|",
    ]
    for r in sorted(
        runs.rows, key=lambda r: (r.subject.operation, r.name, r.subject.size_bytes, r.subject.start)
    ):
        s, p = r.subject, r.prediction
        lines.append(
            f"| {s.operation} | {cell(r.name)} | {size_text(s.size_bytes) if s.size_bytes else ''} | {s.start} | {r.median:,.0f} | "
            f"{p.low_ns:,.0f} to {p.high_ns:,.0f} | {r.inside:.0%} | {r.below:.0%} | {r.above:.0%} | {len(p.assumed)} of {len(p.used)} |"
        )
    left: dict[str, int] = {}
    for _, why in runs.skipped:
        left[why] = left.get(why, 0) + 1
    lines.append("")
    lines += [f"{count} subjects left out: {why}." for why, count in left.items()]
    return lines


def statements(found: ModelOutcome) -> list[str]:
    lines = ["| claim | statement | verdict | how | what it rests on |", "|---|---|---|---|---|"]
    return [*lines, *(f"| {' | '.join(row)} |" for row in statement_cells(found.findings, how=True))]
