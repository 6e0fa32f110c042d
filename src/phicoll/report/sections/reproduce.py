"""Files and commands: how to reproduce every number."""

from __future__ import annotations

from phicoll.foundations.markup import Html, code, fill, join
from phicoll.report.material.evidence import Evidence
from phicoll.report.material.html import details, link, number, paragraph, table
from phicoll.report.material.simulated import FILE

TITLE = "Files and commands"
ANCHOR = "files"


def body(evidence: Evidence) -> Html:
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
                part.title,
                code(context.get("run", "")),
                str(launches),
                f"{len(results.rounds):,}",
                f"{len(results.samples):,}",
                number(elapsed),
                results.reason,
                code(context.get("seed", "")),
            ]
        )
    simulated = fill(" Simulated samples are in {}.", link(FILE)) if evidence.simulated is not None else ""
    words = "Every raw sample is in {}, beside this file; docs/records.md has its fields.{}"
    heads = ["part", "run", "launches", "rounds", "samples", "seconds", "ended", "seed"]
    commands = [
        "phicoll demo",
        f"phicoll demo --from demo/{evidence.file}",
        f"phicoll compare demo/{evidence.file}",
    ]
    commands += [part.command for part in evidence.parts]
    return (
        paragraph(fill(words, link(evidence.file), simulated))
        + table(heads, rows, left=(0, 1, 6))
        + details("The commands", fill('<div class="made">{}</div>', join("", map(code, commands))))
    )
