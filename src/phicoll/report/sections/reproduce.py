"""Files and commands: how to reproduce every number."""

from __future__ import annotations

from phicoll.report.evidence import Evidence
from phicoll.report.html import code, number, paragraph, table, text
from phicoll.report.simulated import FILE

TITLE = "Files and commands"
ANCHOR = "files"


def body(evidence: Evidence) -> str:
    rows = []
    for part in evidence.parts:
        results = part.results
        if results is None:
            continue
        elapsed = sum(float(end.get("elapsed_s") or 0) for end in results.ends)
        context = results.contexts[0] if results.contexts else {}
        launches = len({(r.get("run"), r["launch"]) for r in results.rounds})
        rows.append(
            [
                text(part.title),
                code(context.get("run", "")),
                str(launches),
                f"{len(results.rounds):,}",
                f"{len(results.samples):,}",
                number(elapsed),
                text(results.reason),
                code(context.get("seed", "")),
            ]
        )
    text_parts = [
        paragraph("Every number comes from raw samples in <a href=\"results.jsonl\">results.jsonl</a>, which stands beside this file; its fields "
                  "are described in docs/records.md. Nothing was left out of it."
                  + (f" Simulated samples are separate, in <a href=\"{FILE}\">{FILE}</a>." if evidence.simulated is not None else "")),
        table(["part", "run", "launches", "rounds", "samples", "seconds", "ended", "seed"], rows, left=(0, 1, 6)),
        "<h3>Again</h3>",
        '<div class="made">'
        "<code>phicoll demo</code>"
        "<code>phicoll demo --from demo/results.jsonl</code>"
        "<code>phicoll compare demo/results.jsonl</code>"
        "<code>phicoll doctor</code>"
        + "".join(f"<code>{text(part.command)}</code>" for part in evidence.parts)
        + "</div>",
        paragraph("The second makes this report of the same records, the third prints their table. With <code>--seed</code> and the numbers above, "
                  "places, orders and delays are the same again."),
    ]  # fmt: skip
    return "".join(text_parts)
