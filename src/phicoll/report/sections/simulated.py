"""A slice of a simulated Xeon Phi: barriers over its ranks, and the critical path of one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from phicoll.report.evidence import Evidence
from phicoll.report.figures import figures
from phicoll.report.html import code, duration, figure, number, paragraph, text
from phicoll.report.sections.common import made
from phicoll.report.simulated import FILE, PATH_FILE, Simulated, explain_command, sweep_command, times_of

TITLE = "On a simulated Xeon Phi"
ANCHOR = "simulated"

Times = Mapping[str, Mapping[int, list[float]]]


def body(evidence: Evidence) -> str:
    simulated = evidence.simulated
    if simulated is None:
        return ""
    point = simulated.results.points[0]
    known = figures(evidence)
    seeds = len({(r["round"]) for r in simulated.results.rounds})
    label = (
        f"<b>Simulated</b>, not measured: machine {code(point['machine'])}, digest {code(point['machine_digest'])}, seed "
        f"{text(point['seed'])}, {seeds} placements of lines"
    )
    intro = paragraph(
        "The same sources on a simulated Xeon Phi, calibrated on published transfers of single lines, not on barriers. The same seed gives the "
        "same numbers on any host."
    )
    times = times_of(simulated)
    drawn = figure(
        "simulated-ranks",
        known["simulated-ranks"](),
        f"{label}. Time of a call back to back over the number of ranks, placed balanced; bars: the placements. Past 60 ranks cores have "
        "more than one.",
        "Simulated time of barriers over 8 to 240 ranks of a Xeon Phi",
        [sweep_command(simulated), *made("simulated-ranks", evidence)],
        f'<a href="{FILE}">{FILE}</a>',
    )
    path = figure(
        "simulated-path",
        known["simulated-path"](),
        f"<b>Simulated</b>, not measured: the critical path of the median call of {code(simulated.path.data['effective'].split(':')[0])}, "
        f"{simulated.path.data['ranks']} ranks, seed {text(point['seed'])}. A lane for each rank on it; the colours say what the time went into.",
        "Critical path of one simulated call",
        [explain_command(), *made("simulated-path", evidence)],
        f'<a href="{PATH_FILE}">{PATH_FILE}</a>',
    )
    return intro + order_sentences(times, evidence.counts) + drawn + path_sentences(simulated) + path


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def order_sentences(times: Times, counts: Sequence[Mapping[str, Any]]) -> str:
    """Which barrier is first, by how much, why, and how times grow with the ranks."""
    most = max(ranks for by in times.values() for ranks in by)
    at = sorted((mean(by[most]), name) for name, by in times.items() if most in by)
    (best_ns, best), (next_ns, second) = at[:2]
    last_ns, last = at[-1]
    words = (
        f"At {most} simulated ranks {code(best)} is the fastest with {duration(best_ns)}; {code(second)} takes {number(next_ns / best_ns)} "
        f"times as long, {code(last)}, the slowest of these, {number(last_ns / best_ns)} times."
    )
    words += reason(best, second, most, counts)
    if 60 in times[best]:
        words += f" From 60 to {most} ranks the fastest grows {number(best_ns / mean(times[best][60]))} times, the slowest {number(last_ns / mean(times[last][60]))} times."
    local, world = times.get("combining-tree"), times.get("combining-tree:notify=global")
    if local and world:
        words += (
            f" The same combining tree, released by one line that all ranks watch instead of down the tree, takes {number(mean(world[most]) / mean(local[most]))} "
            "times as long."
        )
    return paragraph(words)


def reason(best: str, second: str, ranks: int, counts: Sequence[Mapping[str, Any]]) -> str:
    """Why the fastest beats the next one and dissemination, where the counts tell: fewer messages leave a core, or a shorter chain."""
    rows = {row["name"]: row for row in counts if row["ranks"] == ranks}
    found = []
    for other in dict.fromkeys(("dissemination", second)):
        if best not in rows or other not in rows or other == best:
            continue
        few, many = (rows[name]["edges_between_cores"] for name in (best, other))
        short, long = (rows[name]["longest_chain"] for name in (best, other))
        if few < many:
            found.append(f"it sends {few:,} messages between cores where {code(other)} sends {many:,}")
        elif short < long:
            found.append(
                f"its longest chain of messages is {short:,} where that of {code(other)} is {long:,}"
            )
    return f' It wins because {", and ".join(found)} (<a href="#counts">counted</a>).' if found else ""


def path_sentences(simulated: Simulated) -> str:
    """What the critical path consists of."""
    path = simulated.path.data["path"]
    shares = sorted(path["by_cause"].items(), key=lambda item: -item[1])
    meanings = dict(simulated.path.data["causes"])
    largest = ", ".join(
        f"{code(cause)} {100 * cycles / path['cycles']:.0f} % ({text(meanings.get(cause, ''))})"
        for cause, cycles in shares[:4]
    )
    overs = path["hand_overs"]
    return paragraph(
        f"Where the time of {code(simulated.path.data['effective'].split(':')[0])} goes: its critical path, {duration(simulated.path.path_ns)} from the last "
        f"arrival to the last departure, hands over {overs} time{'s' if overs != 1 else ''} from rank to rank. Most of it is {largest}."
    )
