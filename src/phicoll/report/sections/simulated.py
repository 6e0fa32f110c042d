"""A slice of a simulated Xeon Phi: barriers over its ranks, and the critical path of one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from phicoll.foundations.markup import Html, code, fill, join
from phicoll.report.material.evidence import Evidence
from phicoll.report.material.figures import figures
from phicoll.report.material.html import duration, figure, link, number, paragraph
from phicoll.report.material.simulated import (
    FILE,
    PATH_FILE,
    Simulated,
    explain_command,
    sweep_command,
    times_of,
)
from phicoll.report.sections.common import made

TITLE = "On a simulated Xeon Phi"
ANCHOR = "simulated"

Times = Mapping[str, Mapping[int, list[float]]]


def body(evidence: Evidence) -> Html:
    simulated = evidence.simulated
    times = times_of(simulated) if simulated is not None else {}
    if simulated is None or not times:
        return Html()
    point = simulated.results.points[0]
    known = figures(evidence)
    seeds = len({(r["round"]) for r in simulated.results.rounds})
    label = fill(
        "<b>Simulated</b>, not measured: machine {}, digest {}, seed {}, {} placements of lines",
        code(point.get("machine")),
        code(point.get("machine_digest")),
        point.get("seed"),
        seeds,
    )
    words = (
        "The same sources on a simulated Xeon Phi, calibrated on published transfers of single lines, not on barriers. The same seed gives the "
        "same numbers on any host."
    )
    if not simulated.whole:
        words += " The simulation was interrupted: points that are missing are left out, and so is the critical path."
    drawn = figure(
        "simulated-ranks",
        known["simulated-ranks"](),
        label
        + ". Time of a call back to back over the number of ranks, placed balanced; bars: the placements. Past 60 ranks cores have "
        "more than one.",
        "Simulated time of barriers over 8 to 240 ranks of a Xeon Phi",
        [sweep_command(simulated), *made("simulated-ranks", evidence)],
        link(FILE),
    )
    found = paragraph(words) + order_sentences(times, evidence.counts) + drawn
    if not simulated.whole:
        return found
    caption = fill(
        "<b>Simulated</b>, not measured: the critical path of the median call of {}, {} ranks, seed {}. A lane for each rank on it; the "
        "colours say what the time went into.",
        code(simulated.path.data["effective"].split(":")[0]),
        simulated.path.data["ranks"],
        point.get("seed"),
    )
    path = figure(
        "simulated-path",
        known["simulated-path"](),
        caption,
        "Critical path of one simulated call",
        [explain_command(), *made("simulated-path", evidence)],
        link(PATH_FILE),
    )
    return found + path_sentences(simulated) + path


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def order_sentences(times: Times, counts: Sequence[Mapping[str, Any]]) -> Html:
    """Which barrier is first, by how much, why, and how times grow with the ranks: as far as they were simulated."""
    compared = {
        ranks for by in times.values() for ranks in by if sum(ranks in one for one in times.values()) > 1
    }
    if not compared:
        return Html()
    most = max(compared)
    at = sorted((mean(by[most]), name) for name, by in times.items() if most in by)
    (best_ns, best), (next_ns, second) = at[:2]
    last_ns, last = at[-1]
    words = fill("At {} simulated ranks {} is the fastest with {}; ", most, code(best), duration(best_ns))
    words += fill("{} takes {} times as long, ", code(second), number(next_ns / best_ns))
    words += fill("{}, the slowest of these, {} times.", code(last), number(last_ns / best_ns))
    words += reason(best, second, most, counts)
    if most > 60 and 60 in times[best] and 60 in times[last]:
        words += fill(
            " From 60 to {} ranks the fastest grows {} times, the slowest {} times.",
            most,
            number(best_ns / mean(times[best][60])),
            number(last_ns / mean(times[last][60])),
        )
    local, world = times.get("combining-tree", {}), times.get("combining-tree:notify=global", {})
    if most in local and most in world:
        words += fill(
            " The same combining tree, released by one line that all ranks watch instead of down the tree, takes {} times as long.",
            number(mean(world[most]) / mean(local[most])),
        )
    return paragraph(words)


def reason(best: str, second: str, ranks: int, counts: Sequence[Mapping[str, Any]]) -> Html:
    """Why the fastest beats the next one and dissemination, where the counts tell: fewer messages leave a core, or a shorter chain."""
    rows = {row["name"]: row for row in counts if row["ranks"] == ranks}
    found = []
    for other in dict.fromkeys(("dissemination", second)):
        if best not in rows or other not in rows or other == best:
            continue
        few, many = (int(rows[name]["edges_between_cores"]) for name in (best, other))
        short, long = (int(rows[name]["longest_chain"]) for name in (best, other))
        if few < many:
            found.append(
                fill("it sends {:,} messages between cores where {} sends {:,}", few, code(other), many)
            )
        elif short < long:
            found.append(
                fill(
                    "its longest chain of messages is {:,} where that of {} is {:,}", short, code(other), long
                )
            )
    if not found:
        return Html()
    return fill(' It wins because {} (<a href="#counts">counted</a>).', join(", and ", found))


def path_sentences(simulated: Simulated) -> Html:
    """What the critical path consists of."""
    path = simulated.path.data["path"]
    shares = sorted(path["by_cause"].items(), key=lambda item: -item[1])
    meanings = dict(simulated.path.data["causes"])
    largest = join(
        ", ",
        (
            fill("{} {:.0f} % ({})", code(cause), 100 * cycles / path["cycles"], meanings.get(cause, ""))
            for cause, cycles in shares[:4]
        ),
    )
    overs = path["hand_overs"]
    return paragraph(
        fill(
            "Where the time of {} goes: its critical path, {} from the last arrival to the last departure, hands over {} time{} from rank "
            "to rank. Most of it is {}.",
            code(simulated.path.data["effective"].split(":")[0]),
            duration(simulated.path.path_ns),
            overs,
            "s" if overs != 1 else "",
            largest,
        )
    )
