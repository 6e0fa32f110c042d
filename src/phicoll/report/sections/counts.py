"""Exact counts of every barrier at the papers' scale, 60 x 4 and 61 x 4 contexts."""

from __future__ import annotations

from typing import Any

from phicoll.plots.counts import QUANTITIES
from phicoll.report.evidence import Evidence
from phicoll.report.figures import figures
from phicoll.report.html import code, figure, paragraph, table, text
from phicoll.report.sections.common import made

TITLE = "At the papers’ scale, counted"
ANCHOR = "counts"

COMMAND = "phicoll count barrier --algorithm all --shape 60x4,61x4 --placement balanced"


def body(evidence: Evidence) -> str:
    rows = evidence.counts
    if not rows:
        return ""
    machines = list(dict.fromkeys(row["shape"] for row in rows))
    intro = paragraph(
        "Nothing is measured here. The same source of every barrier runs on a port that counts, with all ranks of a Xeon Phi of 60 or 61 cores and "
        "four contexts each, placed balanced, in the steady state. The numbers are exact and the same on every machine; they say what has to "
        "happen, not how long it takes."
    )
    intro += (
        '<ul class="points"><li><b>Rounds</b>: messages in a row on the longest path. <b>Longest chain</b>: the same path when everything that one '
        "rank sends, and everything that queues for one word, counts one after another.</li><li><b>Notifications</b>: stores for others. "
        "<b>Edges between cores</b>: pairs of a writer and a reader on different cores. <b>Lines written</b>: distinct lines of 64 bytes.</li></ul>"
    )
    intro += sentences(rows)
    drawn = figure(
        "counts",
        figures(evidence)["counts"](),
        "One call of every barrier with its default parameters, by longest chain. Filled: 60 x 4; open: 61 x 4.",
        "Counts of every barrier at 240 and 244 ranks",
        [COMMAND, *made("counts")],
        "counted when this report was made",
    )
    return intro + drawn + count_table(rows, machines)


def sentences(rows: list[dict[str, Any]]) -> str:
    """Sentences that name the extremes."""
    large = [row for row in rows if row["shape"] == rows[-1]["shape"] and row["name"] != "auto"]
    ranks = large[0]["ranks"]
    chain = min(large, key=lambda row: (row["longest_chain"], row["rounds"]))
    local = min(large, key=lambda row: (row["edges_between_cores"], row["longest_chain"]))
    flat = max(large, key=lambda row: row["notifications"])
    few = min(large, key=lambda row: (row["lines_written"], row["longest_chain"]))
    same = [row for row in large if row["edges_between_cores"] == local["edges_between_cores"]]
    who = ", ".join(code(row["name"]) for row in same[:5])
    return paragraph(
        f"At {ranks} ranks the shortest chain is {chain['longest_chain']}, of {code(chain['name'])}. "
        f"The fewest edges between cores are {local['edges_between_cores']:,}, of {who}: two for each core but one, which is the least that "
        f"a gather and a release need. {code(few['name'])} writes {few['lines_written']} lines, {code(flat['name'])} sends "
        f"{flat['notifications']:,} notifications to be done in {flat['rounds']} round{'s' if flat['rounds'] != 1 else ''}."
        if local["edges_between_cores"] == 2 * (ranks // 4 - 1)
        else f"At {ranks} ranks the shortest chain is {chain['longest_chain']}, of {code(chain['name'])}; the fewest edges between cores are "
        f"{local['edges_between_cores']:,}, of {who}; {code(few['name'])} writes {few['lines_written']} lines, and {code(flat['name'])} sends "
        f"{flat['notifications']:,} notifications."
    )


def count_table(rows: list[dict[str, Any]], machines: list[str]) -> str:
    """A row for each barrier, both machines side by side."""
    by_name: dict[str, dict[str, dict[str, Any]]] = {}
    for row in rows:
        by_name.setdefault(row["name"], {})[row["shape"]] = row
    fields = ["rounds", "longest_chain", "notifications", "edges_between_cores", "lines_written"]
    short = ["rounds", "chain", "notifications", "core edges", "lines"]
    assert len(fields) == len(QUANTITIES)
    ordered = sorted(
        by_name, key=lambda n: tuple(by_name[n][machines[0]][f] for f in ("longest_chain", "notifications"))
    )
    body = []
    for name in ordered:
        first = by_name[name][machines[0]]
        label = name
        if name == "auto" and first.get("effective"):
            label = f"auto ({str(first['effective']).split(':')[0]})"
        cells = [f'<span class="dot {first["origin"]}"></span>{text(label)}']
        for machine in machines:
            cells += [f"{by_name[name][machine][field]:,}" for field in fields]
        body.append(cells)
    groups = [("", 1)]
    for machine in machines:
        cores, _, contexts = machine.partition("x")
        groups.append((f"{cores} × {contexts}, {int(cores) * int(contexts)} ranks", len(fields)))
    return table(["barrier", *short * len(machines)], body, groups=groups,
                 caption="Exact counts of one call, balanced placement, default parameters.")  # fmt: skip
