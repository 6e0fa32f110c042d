"""Files and commands: how to reproduce every number."""

from __future__ import annotations

from phicoll.report.evidence import Evidence
from phicoll.report.html import code, details, number, paragraph, table, text
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
    simulated = (
        f' Simulated samples are in <a href="{FILE}">{FILE}</a>.' if evidence.simulated is not None else ""
    )
    return (
        paragraph(
            f'Every raw sample is in <a href="{evidence.file}">{evidence.file}</a>, beside this file; docs/records.md has its fields.{simulated}'
        )
        + table(
            ["part", "run", "launches", "rounds", "samples", "seconds", "ended", "seed"], rows, left=(0, 1, 6)
        )
        + details(
            "The commands",
            '<div class="made">'
            f"<code>phicoll demo</code><code>phicoll demo --from demo/{evidence.file}</code>"
            f"<code>phicoll compare demo/{evidence.file}</code>"
            + "".join(f"<code>{text(part.command)}</code>" for part in evidence.parts)
            + "</div>",
        )
    )
