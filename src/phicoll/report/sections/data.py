"""Operations that move data, over sizes, between processes."""

from __future__ import annotations

from phicoll.foundations.markup import Html, code, fill, join
from phicoll.papers.claims.versus import family_ratio
from phicoll.report.material.evidence import Evidence
from phicoll.report.material.figures import figures
from phicoll.report.material.html import duration, figure, link, number, paragraph, span, table
from phicoll.report.material.parts import MPI_FILE, Part
from phicoll.report.material.ratios import Group
from phicoll.report.sections.common import made, raw
from phicoll.results import Results
from phicoll.results.reading.subject import size_text

TITLE = "Broadcast and allreduce"
ANCHOR = "data"


def body(evidence: Evidence) -> Html:
    if not evidence.data:
        return Html()
    text = paragraph(
        "Between processes, back to back, with buffers freshly written. The size is what the root sends, or each rank contributes. "
        + join(" ", map(auto_words, evidence.data))
    )
    drawn = figure(
        "data",
        figures(evidence)["data"](),
        "Median time of a call with its 95 % interval. More processes than CPUs share them.",
        "Broadcast and allreduce over sizes",
        made("data", evidence),
        raw(evidence),
    )
    return text + drawn + (beside_mpi(evidence, evidence.mpi) if evidence.mpi is not None else "")


def beside_mpi(evidence: Evidence, results: Results) -> Html:
    """The MPIs of this machine: a figure, and the best of them over ``auto`` within rounds."""
    medians = {row.subject: row.time.median for row in results.compare() if row.verified and row.time}
    by_point: dict[tuple[str, int], Group] = {}
    for subject in medians:
        group = by_point.setdefault((subject.operation, subject.size_bytes), {})
        group[subject] = results.observations.by_subject[subject]
    rows = []
    for (operation, size), group in sorted(by_point.items()):
        ours = {s: of for s, of in group.items() if s.origin != "reference"}
        ratio = family_ratio(
            {s: of for s, of in group.items() if s.origin == "reference"}, ours, len(by_point)
        )
        if ratio is not None:
            shown = (
                fill("{} {}", number(ratio.median), span(ratio.low, ratio.high))
                if ratio.enough
                else "too few rounds"
            )
            rows.append(
                [operation, size_text(size), duration(medians[next(iter(ours))]), code(ratio.ours), shown]
            )
    drawn = figure(
        "mpi",
        figures(evidence)["mpi"](),
        "Median time of a call with its 95 % interval, each library with its own settings.",
        "Broadcast and allreduce beside the MPIs",
        made("mpi", evidence),
        link(MPI_FILE),
    )
    return (
        Html("<h3>Beside MPI</h3>")
        + paragraph(
            Html(
                "The MPIs that <code>make mpis</code> has set up, between processes, back to back, in rounds with phicoll: the best MPI’s time "
                "over <code>auto</code>’s. Above 1 <code>auto</code> is faster; an interval that includes 1 resolves nothing."
            )
        )
        + drawn
        + table(["operation", "size", "auto", "best MPI", "best MPI / auto"], rows, left=(0, 3))
    )


def auto_words(part: Part) -> Html:
    """Where something faster than ``auto`` was resolved."""
    found = [
        (row.ratio_to_best, row.subject)
        for row in part.comparison
        if row.subject.algorithm == "auto" and row.ratio_to_best
    ]
    slower = [(ratio.median, subject) for ratio, subject in found if ratio.resolved and ratio.median > 1]
    words = fill("A faster {} than {} is resolved at ", part.operation, code("auto"))
    words += f"{len(slower)} of {len(found)} points"
    if slower:
        most, subject = max(slower, key=lambda pair: pair[0])
        words += f", of {number(most)} times at most ({subject.data}, {subject.ranks} processes)"
    return words + "."
