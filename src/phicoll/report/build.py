"""The page: its head, a table of contents, and the sections."""

from __future__ import annotations

from importlib.resources import files

from phicoll.foundations.markup import Html, fill, join
from phicoll.plots.live import STYLE, head, scripts
from phicoll.report.material.evidence import Evidence
from phicoll.report.sections import (
    barriers,
    claims,
    counts,
    data,
    machine,
    method,
    places,
    reproduce,
    simulated,
    summary,
)

__all__ = ["SECTIONS", "build"]

#: The sections in order. Each has ``TITLE``, ``ANCHOR`` and ``body(evidence)``; a section with an empty body is left out.
SECTIONS = (summary, barriers, data, places, counts, simulated, claims, machine, method, reproduce)


def build(evidence: Evidence) -> Html:
    """The whole report as one self-contained HTML text."""
    bodies = {section: section.body(evidence) for section in SECTIONS}
    present = [(section.TITLE, section.ANCHOR, bodies[section]) for section in SECTIONS if bodies[section]]
    host = evidence.context.get("host") or {}
    style = files("phicoll.report").joinpath("style.css").read_text(encoding="utf-8")
    contents = join(
        "", (fill('<li><a href="#{}">{}</a></li>', anchor, title) for title, anchor, _ in present[1:])
    )
    first, *others = (
        fill('<section><h2 id="{}">{}</h2>{}</section>', anchor, title, body)
        for title, anchor, body in present
    )
    when = str(evidence.context.get("created", ""))
    lead = ", ".join(
        word
        for word in (str(host.get("cpu_model") or "unknown CPU"), when.replace("T", " ").rstrip("Z"))
        if word
    )
    if when:
        lead += " UTC"
    return fill(
        '{head}<body><header><h1>Collectives on this machine</h1><p class="lead">{lead}</p></header>'
        '<main>{first}<nav aria-label="Contents"><ol>{contents}</ol></nav>{others}</main>'
        "<footer>Made by phicoll {version}. This file needs no network and no other file.</footer>{scripts}</body></html>\n",
        head=head("phicoll: collectives on this machine", style + STYLE),
        lead=lead,
        first=first,
        contents=contents,
        others=join("", others),
        version=evidence.context.get("version", ""),
        scripts=scripts(),
    )
