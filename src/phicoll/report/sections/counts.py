"""Exact counts of every barrier at the papers' scale, 60 x 4 and 61 x 4 contexts."""

from __future__ import annotations

from typing import Any

from phicoll.foundations.markup import Html, code, fill, join
from phicoll.report.material.evidence import Evidence
from phicoll.report.material.figures import figures
from phicoll.report.material.html import figure, paragraph
from phicoll.report.sections.common import made

TITLE = "At the papers’ scale, counted"
ANCHOR = "counts"

COMMAND = "phicoll count barrier --algorithm all --shape 60x4,61x4 --placement balanced"


def body(evidence: Evidence) -> Html:
    words = Html(
        "Exact, not measured: the same sources on a port that counts, with all ranks of a Xeon Phi of 60 or 61 cores and four contexts each. "
        "<b>Chain</b>: the longest path of messages, where what one rank sends, or one word takes, counts one after another. "
        "<b>Notifications</b>: stores for others. <b>Edges</b>: pairs of a writer and a reader on different cores."
    )
    drawn = figure(
        "counts",
        figures(evidence)["counts"](),
        "One call of every barrier with its default parameters, by longest chain. Filled: 60 x 4; open: 61 x 4.",
        "Counts of every barrier at 240 and 244 ranks",
        [COMMAND, *made("counts", evidence)],
    )
    return paragraph(words) + sentences(evidence.counts) + drawn


def sentences(rows: list[dict[str, Any]]) -> Html:
    """Sentences that name the extremes."""
    large = [row for row in rows if row["shape"] == rows[-1]["shape"] and row["name"] != "auto"]
    ranks = large[0]["ranks"]
    chain = min(large, key=lambda row: (row["longest_chain"], row["rounds"]))
    local = min(large, key=lambda row: (row["edges_between_cores"], row["longest_chain"]))
    flat = max(large, key=lambda row: row["notifications"])
    few = min(large, key=lambda row: (row["lines_written"], row["longest_chain"]))
    same = [row for row in large if row["edges_between_cores"] == local["edges_between_cores"]]
    who = join(", ", (code(row["name"]) for row in same[:5]))
    edges = local["edges_between_cores"]
    text = fill(
        "At {} ranks the shortest chain is {}, of {}", ranks, chain["longest_chain"], code(chain["name"])
    )
    written = fill("{} writes {} lines", code(few["name"]), few["lines_written"])
    sent = fill("{} sends {:,} notifications", code(flat["name"]), flat["notifications"])
    if edges != 2 * (ranks // 4 - 1):
        return paragraph(
            text
            + fill("; the fewest edges between cores are {:,}, of {}; {}, and {}.", edges, who, written, sent)
        )
    text += fill(
        ". The fewest edges between cores are {:,}, of {}: two for each core but one, which is the least that a gather and "
        "a release need. ",
        edges,
        who,
    )
    rounds = f"{flat['rounds']} round{'s' if flat['rounds'] != 1 else ''}"
    return paragraph(text + fill("{}, {} to be done in {}.", written, sent, rounds))
