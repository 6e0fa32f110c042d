"""This machine, and what would spoil a measurement on it."""

from __future__ import annotations

from typing import Any

from phicoll.foundations.markup import Html
from phicoll.report.material.evidence import Evidence
from phicoll.report.material.html import bullets, facts as listed, paragraph

TITLE = "This machine"
ANCHOR = "machine"


def body(evidence: Evidence) -> Html:
    return facts(evidence) + Html("<h3>What would spoil a measurement</h3>") + advice(evidence)


def facts(evidence: Evidence) -> Html:
    context = evidence.context
    host: dict[str, Any] = context.get("host") or {}
    compiler: dict[str, Any] = context.get("compiler") or {}
    clock: dict[str, Any] = context.get("clock") or {}
    git: dict[str, Any] = context.get("git") or {}
    caches = [c for c in context.get("caches") or [] if str(c.get("type", "")).lower() != "instruction"]
    found = [
        ("CPU", host.get("cpu_model")),
        ("CPUs used", f"{', '.join(map(str, context.get('allowed_cpus') or []))} of {len(context.get('topology') or [])}"),
        ("topology", topology(context.get("topology") or [])),
        ("caches of CPU 0", ", ".join(f"L{c['level']} {size(c['size_bytes'])}" for c in caches)),
        ("kernel", host.get("kernel")),
        ("virtualisation", f"{host.get('virtualisation') or 'unknown'}, container: {host.get('container') or 'none'}"),
        ("memory", size(host["memory_bytes"]) if host.get("memory_bytes") else None),
        ("load at the start", ", ".join(f"{value:.1f}" for value in host.get("load") or []) or None),
        ("frequency governor", host.get("governor")),
        ("huge pages", host.get("huge_pages")),
        ("clock", f"{clock.get('source')}, step {clock.get('resolution_ns', 0):.3g} ns, reading takes {clock.get('overhead_ns', 0):.3g} ns, "
                  f"CPUs apart by up to {clock.get('offset_ns', 0):.3g} ns"),
        ("compiler", f"{compiler.get('id')} {compiler.get('version')}, {compiler.get('flags')}"),
        ("phicoll", f"{context.get('version')}" + (f", commit {git.get('commit')}{' with changes' if git.get('dirty') else ''}" if git else "")),
    ]  # fmt: skip
    known = {name for name, _ in found}
    found += [(name, value) for name, value in evidence.doctor.facts if name in
              ("CPU quota", "load now", "membarrier", "pidfd", "memfd", "OpenMP references") and name not in known]  # fmt: skip
    return listed((name, value) for name, value in found if value)


def topology(places: list[dict[str, Any]]) -> str:
    cores = {place.get("core") for place in places}
    caches = {place.get("l3") for place in places}
    nodes = {place.get("numa") for place in places}

    def some(count: int, word: str) -> str:
        return f"{count} {word}{'s' if count != 1 else ''}"

    return ", ".join(
        (
            some(len(places), "CPU"),
            some(len(cores), "core"),
            some(len(caches), "L3 cache"),
            some(len(nodes), "NUMA node"),
        )
    )


def size(count: int) -> str:
    for scale, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= scale:
            return f"{count / scale:.3g} {unit}"
    return f"{count} B"


def advice(evidence: Evidence) -> Html:
    """The doctor's findings, from before the run if the report was made with it."""
    if not evidence.doctor.advice:
        return paragraph("The doctor found nothing.")
    return bullets(evidence.doctor.advice) + paragraph(
        Html("<code>phicoll doctor</code> checks again."), "note"
    )
