"""The pages of the models' validation: predictions beside simulation, failures first, and beside a host."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import numpy as np

from phicoll.models.comparison import Compared, ComparedRuns
from phicoll.papers.validation.page import cell, statements_note, write_with_figures
from phicoll.papers.validation.predictions.figures import (
    draw_host,
    draw_orders,
    draw_pieces,
    draw_runs,
    draw_trees,
)
from phicoll.papers.validation.predictions.outcome import ModelOutcome
from phicoll.papers.validation.predictions.pieces import Piece
from phicoll.papers.validation.predictions.runs import OCCUPIED
from phicoll.papers.validation.quantity import number
from phicoll.results.reading.subject import size_text

__all__ = ["write_page"]

FIGURES = (
    ("pieces", draw_pieces, "Modelled / simulated, all pieces, published and simulated constants"),
    ("places", draw_orders, "Each algorithm's median on its band, published constants"),
    ("trees", draw_trees, "Broadcast trees, simulated and modelled"),
    ("bands", draw_runs, "Bands and simulated samples by ranks"),
)
HOST_FIGURES = (("samples", draw_host, "Bands and measured samples of two threads of one host"),)

#: Why predictions miss, by operation and algorithm; said with the numbers.
CAUSES = {
    ("broadcast", "reads"): "A line costs o, 76 ns (beyond 128 lines by equation A.1 85 ns), fitted to copies into another's buffer, and 4.10 has no "
    "start-up; simulated ranks read another's buffer by 90 ns a line, with two lines prefetched",
    ("broadcast", "pipelined-slices"): "The model lets each of n - 1 stages pay the start-up q - p/N of Table 3.1",
    ("broadcast", "trees"): "The model adds up what overlaps in runs: children that have read acknowledge while others read",
    ("allreduce", ""): "Alpha, beta and gamma are derived from line costs: a message is a flag and then lines, and a rank's messages do "
    "not overlap",
}  # fmt: skip


def write_page(found: ModelOutcome, path: Path) -> list[Path]:
    """Write ``path`` and its figures, ``<stem>-<figure>.svg`` beside it; a host's part in ``<stem>-host.md``.

    All that is simulated is alike on any host, so `make claims` writes it anew, and leaves the other page as it is.
    """
    beside = path.with_name(f"{path.stem}-host{path.suffix}")
    files = []
    if found.host is not None:
        files = write_with_figures(found, beside, HOST_FIGURES, partial(host_text, simulated=path.name))
    measured = f" Those of a host are [measured]({beside.name})." if beside.exists() else ""
    return write_with_figures(found, path, FIGURES, partial(text_of, measured=measured)) + files


def text_of(found: ModelOutcome, shown: dict[str, str], measured: str) -> str:
    effort = found.effort
    lines = [
        "# Validation of the models",
        "",
        f"Predictions of `phicoll.models` beside runs on the simulated {found.machine.name} (digest `{found.machine.digest}`; nothing ran on a card), by "
        f"`phicoll validate models --page FILE`: seeds 1 to {effort.seeds} ({effort.few_seeds} for long "
        f"messages and allreduce), {effort.calls} calls each, timed from the last entry to the last exit. All ranks enter at once, one per core.",
        "",
        f"- Numbers are *published* (printed in ramos-hoefler-2013), *simulated* or *modelled*.{measured}",
        "- *Published constants* show how far the card's model carries to the simulated card; *simulated constants*, the simulated machine's own "
        "(`phicoll characterize --machine`), what the form of the equations misses. The machine was calibrated on published single lines, not on "
        "collectives.",
        "- *Evicted* start: flags and slots are in memory when a call begins, as chapter 4 assumes. *Warm*: where the last call left them, with R_R for R_I in the models.",
        "",
        "Results:",
        "",
        *(f"- {line}" for line in found.inside_simulated()),
        "",
        *failures(found),
        "## Pieces",
        "",
        f"A cell is the {found.pieces[0].kind} time in ns, or bandwidth in GB/s, then the errors of the models with {' and with '.join(found.models)} "
        f"constants (modelled / {found.pieces[0].kind} - 1).",
        "",
        shown.get("pieces", ""),
        "",
        *pieces_tables(found.pieces, list(found.models)),
        "## Collectives on the simulated machine",
        "",
        f"A row is one algorithm among {spanned(usual_ranks(found.compared))} ranks, if no others are named. A cell, of one set of constants and one start, "
        "is the share of samples inside, below and above the band, in %, then the median over the band's best case, from least to most over the ranks.",
        "",
        shown.get("places", ""),
        "",
        *bands_table(found.compared),
        "",
    ]  # fmt: skip
    lines += [shown.get("bands", ""), "", *orders(found, shown)]
    modelled = [f.claim.number for f in found.findings if f.how == "modelled"]
    lines += statements_note(found.findings)
    lines.append(f"From printed constants and tables, without runs: {', '.join(modelled)}.")
    return "\n".join([*lines, ""])


def failures(found: ModelOutcome) -> list[str]:
    """The section on what does not hold, with known causes."""
    lines = ["## What does not hold", ""]
    groups: dict[tuple[str, str], list[str]] = {}
    for key, rows in by_algorithm(found.compared["published"]["evicted"]).items():
        inside = float(np.mean([r.inside for r in rows]))
        if inside < 0.5:
            operation, name, size = key
            cause = (operation, name) if (operation, name) in CAUSES else (operation, "")
            cause = cause if cause in CAUSES else (operation, "trees")
            ratio = float(np.exp(np.mean([np.log(r.over_low) for r in rows])))
            if name == "flat-large" or (name == "pipelined-slices" and ratio > 1):
                cause = (operation, "reads")
            groups.setdefault(cause, []).append(
                f"{name.removesuffix(OCCUPIED)}{f' {size_text(size)}' if size else ''} {inside:.0%}, {ratio:.2f}"
            )
    if groups:
        lines += ["With published constants and an evicted start: samples inside, and the median over the best case (geometric mean).", ""]  # fmt: skip
    for cause, names in groups.items():
        lines.append(f"- {cause[0]}: {'; '.join(names)}. {CAUSES.get(cause, 'The cause is not known')}.")
    return [*lines, ""]


def pieces_tables(pieces: tuple[Piece, ...], constants: list[str]) -> list[str]:
    """A table for each group. A piece's name is its row and, after a comma, its column."""
    lines: list[str] = []
    for group in dict.fromkeys(p.group for p in pieces):
        of = {tuple(p.name.partition(", ")[::2]): p for p in pieces if p.group == group}
        columns = list(dict.fromkeys(column for _, column in of))
        equation = next(iter(of.values())).equation
        lines += [
            f"| {group} ({equation}) | {' | '.join(columns)} |",
            f"|---|{'---|' * len(columns)}",
        ]
        for row in dict.fromkeys(row for row, _ in of):
            cells = [piece_cell(of[row, c], constants) if (row, c) in of else "" for c in columns]
            lines.append(f"| {cell(row)} | {' | '.join(cells)} |")
        lines.append("")
    return lines


def piece_cell(piece: Piece, constants: list[str]) -> str:
    """The observed value, then each model's error."""
    errors = [piece.error(name) for name in constants]
    return "; ".join([number(piece.observed), *("-" if e is None else f"{e:+.0%}" for e in errors)])


def by_algorithm(runs: ComparedRuns) -> dict[tuple[str, str, int], list[Compared]]:
    found: dict[tuple[str, str, int], list[Compared]] = {}
    for row in runs.rows:
        found.setdefault((row.subject.operation, row.name, row.subject.size_bytes), []).append(row)
    return found


def usual_ranks(compared: dict[str, dict[str, ComparedRuns]]) -> tuple[int, int]:
    """The fewest and the most ranks that most algorithms ran with."""
    spans = Counter(
        ranks_of(rows)
        for of in compared.values()
        for runs in of.values()
        for rows in by_algorithm(runs).values()
    )
    return spans.most_common(1)[0][0]


def ranks_of(rows: list[Compared]) -> tuple[int, int]:
    ranks = [r.subject.ranks for r in rows]
    return min(ranks), max(ranks)


def spanned(span: tuple[int, int]) -> str:
    return f"{span[0]} to {span[1]}" if span[0] < span[1] else str(span[0])


def shares(rows: list[Compared]) -> str:
    """Samples inside, below and above the bands, in percent."""
    return "/".join(
        f"{100 * np.mean([getattr(r, side) for r in rows]):.0f}" for side in ("inside", "below", "above")
    )


def bands_table(compared: dict[str, dict[str, ComparedRuns]]) -> list[str]:
    """A row for each algorithm and size; a column for each set of constants and start."""
    usual = usual_ranks(compared)
    of = {
        (name, start): by_algorithm(runs)
        for name, starts in compared.items()
        for start, runs in starts.items()
    }
    heads = [f"{name}, {start}" for name, start in of]
    lines = [f"| algorithm | {' | '.join(heads)} |", f"|---|{'---|' * len(heads)}"]
    assumed: set[str] = set()
    for key in dict.fromkeys(key for found in of.values() for key in found):
        operation, algorithm, size = key
        label = f"{operation} {cell(algorithm)}{f', {size_text(size)}' if size else ''}"
        cells = []
        for (name, _), found in of.items():
            rows = found.get(key, [])
            low = [r.over_low for r in rows]
            cells.append(f"{shares(rows)}; {min(low):.2f}-{max(low):.2f}" if rows else "")
            if rows and ranks_of(rows) != usual and not any(cells[:-1]):
                label += f", {spanned(ranks_of(rows))} ranks"
            assumed |= {f"{n} ({operation}, {name} constants)" for r in rows for n in r.prediction.assumed}
        lines.append(f"| {label} | {' | '.join(cells)} |")
    lines += ["", f"Assumed from another machine: {', '.join(sorted(assumed)) or 'no constant'}."]
    return [*lines, *left_out(run for starts in compared.values() for run in starts.values())]


def left_out(runs: Iterable[ComparedRuns]) -> list[str]:
    """How many subjects were left out for each reason."""
    counts = Counter(why for one in runs for _, why in one.skipped)
    return [line for why, count in counts.items() for line in ("", f"{count} subjects left out: {why}.")]


def orders(found: ModelOutcome, shown: dict[str, str]) -> list[str]:
    """Kendall's tau of the predicted order and what taking the predicted best costs."""
    lines = [
        "## Orders",
        "",
        "The order of an operation's algorithms at one number of ranks and size: by best and worst cases (published constants) against by simulated "
        f"medians. *tau*: Kendall's, 1 for the same order. *Loss*: the predicted best over the actual best, less 1. Cells have {'; '.join(found.compared['published'])} start.",
        "",
        shown.get("trees", ""),
        "",
        "| operation | algorithms | tau, best: mean (least) | worst | loss: mean (most) | predicted best was best |",
        "|---|--:|--:|--:|--:|--:|",
    ]  # fmt: skip
    rows: dict[tuple[str, int, int], list[list[str]]] = {}
    for runs in found.compared["published"].values():
        groups: dict[tuple[str, int, int], list[int]] = {}
        every = runs.orders()
        for index, order in enumerate(every):
            s = order.rows[0].subject
            groups.setdefault((s.operation, s.size_bytes, len(order.rows)), []).append(index)
        for group, of in groups.items():
            low, high = ([every[i].tau(by) for i in of] for by in ("low", "high"))
            loss = [every[i].loss() for i in of]
            rows.setdefault(group, []).append(
                [
                    f"{mean(low)} ({least(low)})",
                    mean(high),
                    f"{np.mean(loss):.0%} ({max(loss):.0%})",
                    f"{sum(v < 0.005 for v in loss)} of {len(of)}",
                ]
            )
    for (operation, size, many), starts in rows.items():
        cells = ["; ".join(of) for of in zip(*starts, strict=True)]
        lines.append(f"| {operation}{f' {size_text(size)}' if size else ''} | {many} | {' | '.join(cells)} |")
    examples = [
        order for order in found.compared["published"]["evicted"].orders()
        if order.rows[0].subject.operation == "broadcast" and order.rows[0].subject.size_bytes == 8 and order.rows[0].subject.ranks == 60
    ]  # fmt: skip
    lines.append("")
    for order in examples:
        n = order.rows[0].subject.ranks
        simulated, modelled = (
            " < ".join(of).replace(OCCUPIED, "") for of in (order.observed, order.predicted())
        )
        lines.append(f"{n} ranks, simulated: {simulated}; modelled: {modelled}.")
    return [*lines, ""]


def mean(values: list[float]) -> str:
    known = [v for v in values if v == v]
    return f"{np.mean(known):.2f}" if known else "alike"


def least(values: list[float]) -> str:
    known = [v for v in values if v == v]
    return f"{min(known):.2f}" if known else ""


def host_text(found: ModelOutcome, shown: dict[str, str], simulated: str) -> str:
    part = found.host
    assert part is not None
    model = part.model
    taken = model.assumed
    needed = part.compared.assumed
    lines = [
        "# The models beside two threads of one host",
        "",
        f"`phicoll validate models --host HERE.json --page FILE` writes this beside [the simulated page]({simulated}). Of the measured "
        f"samples {part.compared.inside:.0%} lie inside the bands.",
        "",
        f"*Measured* on {part.cpu}, {part.date}, two threads on two CPUs, without rounds whose CPUs were one core; another run gives other numbers. "
        f"The model is this host's own, by `phicoll characterize`: R_L is {model.value('line.local'):.2f} ns, R_R {rr(model):.1f} ns. Of its "
        f"{len(model.constants)} constants {len(taken)} are assumed from another machine; of these the rows below need {', '.join(needed) or 'none'}.",
        "",
        "Most calls end before their best case: ranks enter up to 1 us apart and time counts from the last entry, without what others did before (as a "
        "child's part of a reduction); and this host's cores go on where the models wait for a flag's write. Two ranks say nothing about "
        "contention.",
        "",
        "A cell is the measured time or bandwidth, then the model's error:",
        "",
        *pieces_tables(part.pieces, [model.name]),
        shown.get("samples", ""),
        "",
        "Median and band in ns; samples inside, below and above the band in %:",
        "",
        *host_table(part.compared),
        "",
    ]  # fmt: skip
    return "\n".join(lines)


def rr(model) -> float:  # type: ignore[no-untyped-def]
    from phicoll.models.equations.line_costs import remote

    return float(remote(model))


def host_table(runs: ComparedRuns) -> list[str]:
    """A table without data and one with: a row for each algorithm and start, a column for each size."""
    tables: dict[bool, dict[tuple[str, str, str], dict[int, str]]] = {False: {}, True: {}}
    for (operation, name, size), of in sorted(by_algorithm(runs).items()):
        for r in of:
            told = f"{r.median:,.0f}; {r.prediction.low_ns:,.0f}-{r.prediction.high_ns:,.0f}; {shares([r])}"
            tables[size > 0].setdefault((operation, name, r.subject.start), {})[size] = told
    lines: list[str] = []
    for rows in filter(None, tables.values()):
        sizes = sorted({size for of in rows.values() for size in of})
        lines += [
            f"| | {' | '.join(size_text(size) if size else 'no data' for size in sizes)} |",
            f"|---|{'---|' * len(sizes)}",
            *(
                f"| {operation} {cell(name)}, {start} | {' | '.join(of.get(size, '') for size in sizes)} |"
                for (operation, name, start), of in rows.items()
            ),
            "",
        ]
    return [*lines[:-1], *left_out([runs])]
