"""Verdicts on ramos-hoefler-2013's statements about models, designs and collectives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from phicoll.models import MachineModel, machine_model, predict
from phicoll.models.comparison import ComparedRuns
from phicoll.models.constants.published_tables import BANDWIDTH, PHI_PING_PONG, PHI_READ
from phicoll.models.equations.bandwidth import asymptotic_bandwidth
from phicoll.models.equations.contention import contention
from phicoll.models.equations.line_costs import local, remote
from phicoll.models.equations.multi_line import multi_line, naive_multi_line
from phicoll.papers.claims import BUILT_IN, CALIBRATED, FAILS, HOLDS, Finding, claim
from phicoll.papers.validation.predictions.pieces import LINES, Piece
from phicoll.papers.validation.predictions.runs import OCCUPIED, TABLE_4_1
from phicoll.papers.validation.ranked import geomean, verdict_over
from phicoll.registry.machines import load_machine

if TYPE_CHECKING:
    from phicoll.models.optima import BoundComparison

__all__ = ["MODELLED", "SIMULATED", "judge_models", "judge_runs", "table_4_1"]

#: The statements that the printed numbers decide, and those that simulated runs do.
MODELLED = (
    "003-22",
    "004-12",
    "004-15",
    "004-16",
    "004-20",
    "004-26",
    "004-27",
    "004-28",
    "004-30",
    "004-42",
    "004-45",
)
SIMULATED = ("004-25", "004-31", "004-32", "004-36", "004-37")
Medians = dict[tuple[str, str, int, int], np.ndarray]


def judged(number: str, good: bool, text: str, how: str = "modelled", under: str = "") -> Finding:
    return Finding(claim(number), HOLDS if good else FAILS, text, how, under)


def seeds_agree(number: str, holds: Sequence[bool], text: str, under: str = "") -> Finding:
    return Finding(
        claim(number), verdict_over(holds), f"{text} {sum(holds)}/{len(holds)} seeds.", "simulated", under,
        {"seeds": len(holds), "holding": int(sum(holds))},
    )  # fmt: skip


def judge_models(model: MachineModel) -> list[Finding]:
    """What follows from the printed constants and tables alone."""
    from phicoll.models import optima
    from phicoll.models.optima.tables_b import reproduce

    rows: list[Finding] = []
    # 004-12, from the printed means and deviations.
    above, cases = [], 0
    for place, table in PHI_PING_PONG.items():
        if place == "same-core":
            continue
        for (send, receive), (mean, deviation) in table.items():
            reads = PHI_READ[send]["local"][0] + PHI_READ[receive][place][0] + PHI_READ["M"][place][0]
            cases += send != "I"
            if send != "I" and abs(mean - reads) > deviation:
                above.append(f"{send}-{receive} {place} {mean - reads:.0f} against {deviation:.0f} ns")
    rows.append(
        judged("004-12", not above,
               f"{cases - len(above)} of {cases} printed cases with a cached send line{'; beyond: ' * bool(above)}{'; '.join(above)}.")
    )  # fmt: skip
    one = {s: multi_line(model, 1, s, s) for s in "EI"}
    printed = PHI_PING_PONG["middle"]["E", "E"][0]
    rows.append(
        judged("004-15", abs(one["E"] / printed - 1) < 0.05,
               f"q + o - p for E, E: {one['E']:.0f} ns, printed for a single line {printed:.1f}; for I, I {one['I']:.0f}, printed with only the send "
               f"line in I {PHI_PING_PONG['middle']['I', 'E'][0]:.0f}. The same: within 5 % for E, E.")
    )  # fmt: skip
    lines = (2, 3, 4, 6, 8, 10, 12)
    factor = model.value("bandwidth.F")
    words = {"I": "from memory", "E": "from a cache"}
    plain, scaled = (
        {s: [f * naive_multi_line(model, n, s) / multi_line(model, n, s, s) - 1 for n in lines] for s in "IE"}
        for f in (1.0, factor)
    )
    spans = [
        "; ".join(f"{words[s]} {min(of):+.0%} to {max(of):+.0%}" for s, of in off.items())
        for off in (scaled, plain)
    ]
    rows.append(
        judged("004-16", all(max(map(abs, of)) >= 0.25 for of in scaled.values()),
               f"2 N / P R + R_R,M against the printed fit o N + q - p / N, 2 to 12 lines: with the factor {factor:g} of long messages (A.1) {spans[0]}; "
               f"without {spans[1]}. Badly: 25 % or more off somewhere, with the factor.")
    )  # fmt: skip
    fitted, sum_of = contention(model, 1), local(model) + remote(model)
    rows.append(
        judged("004-20", abs(fitted / sum_of - 1) < 0.05,
               f"c + b of Table 3.2 is {fitted:.1f} ns, R_L + R_R is {sum_of:.1f} ns: {fitted - sum_of:.1f} apart.")
    )  # fmt: skip
    for number, operation, reading, how in (
        ("004-26", "broadcast", {}, "T_C(1) = R_L + R_R, falling k_i"),
        ("004-27", "barrier", {"rounds": "printed"}, "rounds log_m n, m < n, as printed"),
        ("004-28", "reduce", {}, "T_k = o k"),
    ):
        found = reproduce(operation, model, **reading)
        other = {
            "broadcast": {"b": "fitted"},
            "barrier": {"rounds": "corrected"},
            "reduce": {"combining": "multi-line"},
        }[operation]
        else_ = reproduce(operation, model, **other)
        named = ", ".join(f"{key} = {value}" for key, value in other.items())
        rows.append(
            judged(number, found.optimal == found.rows,
                   f"{found.optimal} of {found.rows} rows, with {how}; {else_.optimal} with {named}.")
        )  # fmt: skip
    alike = [
        optima.compare_bounds(operation, range(2, 61), model, **reading)
        for operation, reading in (("broadcast", {}), ("reduce", {}), ("barrier", {"rounds": "printed"}))
    ]
    corrected = optima.compare_bounds("barrier", range(2, 61), model)
    rows.append(
        judged("004-30", all(found.regret < 0.1 for found in alike),
               f"Numbers of ranks with the same choice, and what the worst case's costs more in the best case at most: {'; '.join(map(in_short, alike))}. "
               f"Nearly: at most 10 % more. With the rounds that a barrier needs, log_(m+1): {in_short(corrected)}.")
    )  # fmt: skip
    sandy = machine_model("sandy-bridge-e5-2670")
    here, there = asymptotic_bandwidth(model), asymptotic_bandwidth(sandy)
    rows.append(
        judged("004-42", 4 <= there / here <= 6,
               f"Equation A.1: {here:.2f} GB/s on the Phi, {there:.2f} on Sandy Bridge within a package, {there / here:.1f} times; about: 4 to 6.")
    )  # fmt: skip
    fitted_to = "; ".join(
        f"{where}: P = {p:g}, F = {f:g}" for where, (p, f) in BANDWIDTH["sandy-bridge-e5-2670"].items()
    )
    rows.append(
        Finding(claim("004-45"), CALIBRATED, f"{fitted_to}. The paper set each F on the curve that it describes, which it shows in figures only.", "modelled")
    )  # fmt: skip
    cycles = load_machine("xeon-phi-se10p").parameters["core.issue_interval"]
    rows.append(
        Finding(claim("003-22"), BUILT_IN, f"A context of the model issues every {cycles:g} cycles, as published of the core (core.issue_interval).", "modelled")
    )  # fmt: skip
    return rows


def in_short(found: BoundComparison) -> str:
    return f"{found.operation} {len(found.alike)} of {len(found.alike) + len(found.differ)}, {100 * found.regret:.1f} %"


def judge_runs(
    compared: dict[str, ComparedRuns],
    cold: Medians,
    acknowledgements: Medians,
    slow_cache: Medians,
    pieces: Sequence[Piece],
    constants: str,
) -> list[Finding]:
    """What the simulated runs decide; ``compared`` by start, ``cold`` with the evicted one, the models' bands of the set ``constants``."""
    runs = compared["evicted"]
    return [
        trees(cold),
        coverage(compared),
        large(cold, runs, slow_cache),
        packets(pieces, constants),
        notification(acknowledgements, runs.model),
    ]


def trees(cold: Medians) -> Finding:
    """004-31: the model's tree is the fastest of figure 4.4's, over all counts by geometric mean."""
    counts = sorted({key[2] for key in cold if key[0] == "broadcast" and key[3] == 8})
    names = sorted({key[1].removesuffix(OCCUPIED) for key in cold if key[0] == "broadcast" and key[3] == 8})
    times = {name: np.array([cold["broadcast", name + OCCUPIED, n, 8] for n in counts]) for name in names}
    mean = {name: geomean(of, axis=0) for name, of in times.items()}
    own = mean["model-tree"]
    others = [name for name in names if name != "model-tree"]
    ratios = ", ".join(f"{name} {float(geomean(mean[name] / own)):.2f}" for name in others)
    faster = {
        name: [
            n
            for n, a, b in zip(counts, geomean(times[name], 1), geomean(times["model-tree"], 1), strict=True)
            if a < 0.99 * b
        ]
        for name in others
    }
    list_ = "; ".join(f"{name} at {', '.join(map(str, ns))}" for name, ns in faster.items() if ns) or "none"
    return seeds_agree(
        "004-31", [bool(own[s] < min(mean[name][s] for name in others)) for s in range(len(own))],
        f"Times / the model's tree, geometric means over {len(counts)} counts: {ratios}. Faster by 1 % or more: {list_}.",
        "8 bytes, 2 to 60 ranks, one per core, evicted start, occupied=yes",
    )  # fmt: skip


def coverage(compared: dict[str, ComparedRuns]) -> Finding:
    """004-32: samples lie in the bands."""
    shares, printed = [], table_4_1(compared["evicted"])
    for runs in compared.values():
        for key in dict.fromkeys((r.subject.operation, r.name, r.subject.size_bytes) for r in runs.rows):
            of = [r for r in runs.rows if (r.subject.operation, r.name, r.subject.size_bytes) == key]
            if "ramos-hoefler" not in of[0].prediction.source:
                continue
            shares.append(float(np.mean([r.inside for r in of])))
    return judged(
        "004-32", min(shares) >= 0.95,
        f"Samples inside: from {min(shares):.0%} to {max(shares):.0%} by algorithm, size and start, 95 % or more for "
        f"{sum(share >= 0.95 for share in shares)} of {len(shares)}. Between: 95 % of each. Of the algorithms of table 4.1, with their structures in memory, "
        f"{printed:.0%} of all samples.",
        "simulated", "bands of the published constants",
    )  # fmt: skip


def table_4_1(runs: ComparedRuns) -> float:
    """The share of the samples inside the bands that the paper has printed models of, every row weighing the same."""
    of = [r.inside for r in runs.rows if (r.subject.operation, r.name, r.subject.size_bytes) in TABLE_4_1]
    return float(np.mean(of))


def large(cold: Medians, runs: ComparedRuns, slow_cache: Medians) -> Finding:
    """004-36: flat against pipelined at 8 KB; ``slow_cache``: where a line keeps the root's cache busy for long."""
    counts = sorted(
        {key[2] for key in cold if key[:2] == ("broadcast", "flat-large") and key[3] == 8192 and key[2] > 2}
    )
    flat, piped = (
        np.array([cold["broadcast", name, n, 8192] for n in counts])
        for name in ("flat-large", "pipelined-slices")
    )
    said = [
        predict("broadcast", "pipelined-slices", n, 8192, runs.model).low_ns
        / predict("broadcast", "flat-large", n, 8192, runs.model).low_ns
        for n in counts
    ]
    ratio = ", ".join(f"{n}: {r:.2f}" for n, r in zip(counts, geomean(piped / flat, axis=1), strict=True))
    model = ", ".join(f"{n}: {r:.2f}" for n, r in zip(counts, said, strict=True))
    us, slow = (
        float(geomean(of["broadcast", "flat-large", counts[-1], 8192])) / 1000 for of in (cold, slow_cache)
    )
    return seeds_agree(
        "004-36", [bool(r > 1) for r in geomean(piped / flat, axis=0)],
        f"Pipelined / flat by ranks: {ratio}, geometric mean {float(geomean(piped / flat)):.2f}, which decides; by the model's best cases: {model}. The cause "
        f"is the root's fast cache: {counts[-1]} ranks take {us:.1f} us by the flat tree, but {slow:.1f} us if each line kept that cache busy for "
        "24 cycles instead of 3 (owner.service).",
        "8 KB, evicted start",
    )  # fmt: skip


def packets(pieces: Sequence[Piece], constants: str) -> Finding:
    """004-37: a packet's start-up, by the fit and by the simulated kernels."""
    by_lines = {int(p.name.split()[0]): p for p in pieces if p.group == LINES and p.name.endswith("E to E")}
    few, many = by_lines[2], by_lines[128]
    simulated = 64 * few.observed / many.observed
    said = 64 * (few.modelled[constants] or 0) / (many.modelled[constants] or 1)
    return judged(
        "004-37", simulated > 1.5,
        f"64 messages of 2 lines / one of 128: {simulated:.1f}, by equation 3.1 {said:.1f}, whose "
        "(E, E) row set the simulated start-up. A start-up: 1.5 or more.",
        "simulated", "two ranks, E to E",
    )  # fmt: skip


def notification(found: Medians, model: MachineModel) -> Finding:
    """004-25: acknowledgements in one line, or each in its own."""
    counts = sorted({key[2] for key in found})
    names = sorted({key[1] for key in found}, key=len)
    one, apart = (np.array([found["broadcast", name, n, 8] for n in counts]) for name in names)
    said = [
        predict("broadcast", "flat:ack=line-per-child", n, 8, model).low_ns
        / predict("broadcast", "flat", n, 8, model).low_ns
        for n in counts
    ]
    text = ", ".join(f"{n}: {r:.2f}" for n, r in zip(counts, geomean(apart / one, axis=1), strict=True))
    return seeds_agree(
        "004-25", [bool(r > 1) for r in geomean(apart / one, axis=0)],
        f"A line per child / one line, by ranks: {text}; geometric mean {float(geomean(apart / one)):.2f}, which decides. By the model's best "
        f"cases {min(said):.2f} to {max(said):.2f}.",
        "flat broadcast of 8 bytes, evicted start",
    )  # fmt: skip
