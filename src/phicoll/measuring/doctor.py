"""The doctor: what on this machine would disturb a measurement, and what to do about it."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import phicoll._core as _core
from phicoll import bench
from phicoll.errors import Error
from phicoll.foundations.html_table import html_table
from phicoll.foundations.markup import fill
from phicoll.results import Results

__all__ = ["LEVELS", "Diagnosis", "Finding", "doctor"]

#: Levels of findings, from "nothing to do" to "do not measure like this".
LEVELS = ("good", "note", "warning")
MARKS = {"good": "ok  ", "note": "note", "warning": "WARN"}
STEAL_WINDOW_S = 0.5


@dataclass(frozen=True)
class Finding:
    """The result of one check. ``advice`` says what to do; ``None`` if there is nothing to do."""

    topic: str
    level: str
    found: str
    advice: str | None = None


@dataclass
class Diagnosis:
    """The machine's facts and the findings that follow from them."""

    findings: list[Finding]
    facts: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """What ``phicoll doctor --json`` prints."""
        return {"findings": [asdict(finding) for finding in self.findings], "facts": self.facts}

    def __str__(self) -> str:
        width = max(len(finding.topic) for finding in self.findings)
        lines = []
        for finding in self.findings:
            lines.append(f"{MARKS[finding.level]}  {finding.topic.ljust(width)}  {finding.found}")
            if finding.advice:
                lines.append(f"{' ' * (width + 8)}-> {finding.advice}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        colours = {"good": "#009E73", "note": "#0072B2", "warning": "#D55E00"}
        rows = [
            [
                fill("<span style='color:{}'>{}</span>", colours[f.level], f.level),
                f.topic,
                f.found,
                f.advice or "",
            ]
            for f in self.findings
        ]
        return html_table(["", "what", "found", "what to do"], rows, left=(2, 3))


def doctor(probe: bool = True) -> Diagnosis:
    """Check this machine for what would disturb a measurement.

    Parameters
    ----------
    probe:
        Also run a short measurement (2 s). It shows how often two CPUs are on one physical core, and how much the cost
        of moving a cache line varies.
    """
    facts = gather()
    findings = [finding for check in CHECKS for finding in [check(facts)] if finding is not None]
    if probe:
        findings += probes(facts)
    return Diagnosis(findings, facts)


def gather() -> dict[str, Any]:
    """The kernel's facts, with the shares of CPU time stolen and used over half a second."""
    facts: dict[str, Any] = dict(_core.facts())
    facts["topology"] = _core.topology()
    facts["caches"] = _core.caches(0)
    facts["allowed_cpus"] = _core.allowed_cpus()
    facts["allowed_cpu_count"] = _core.allowed_cpu_count()
    facts["cpu_quota"] = _core.cpu_quota()
    facts["throttling"] = _core.throttling()
    before = _core.cpu_times()
    time.sleep(STEAL_WINDOW_S)
    after = _core.cpu_times()
    facts["steal_share"], facts["busy_share"] = shares(before, after)
    return facts


def shares(
    before: tuple[int, int, int] | None, after: tuple[int, int, int] | None
) -> tuple[float | None, float | None]:
    """The shares of CPU time (stolen, used) between two readings of (total, idle, steal)."""
    if before is None or after is None or after[0] <= before[0]:
        return None, None
    total = after[0] - before[0]
    steal = after[2] - before[2]
    return steal / total, max(0.0, 1 - (after[1] - before[1]) / total - steal / total)


def check_processor(facts: dict[str, Any]) -> Finding:
    cores = {place["core"] for place in facts["topology"]}
    nodes = {place["numa"] for place in facts["topology"]}
    found = (
        f"{facts['cpu_model']}, {len(facts['topology'])} CPUs, {len(cores)} cores, {len(nodes)} NUMA node(s)"
    )
    return Finding("processor", "good", f"{found}, Linux {facts['kernel']}")


def check_cpus(facts: dict[str, Any]) -> Finding:
    allowed, count = facts["allowed_cpus"], facts["allowed_cpu_count"]
    found = f"{len(allowed)} of {len(facts['topology'])} CPUs allowed"
    if facts["cpu_quota"] is not None:
        found += f", the container's quota is {facts['cpu_quota']:g} CPUs"
    if count < 2:
        return Finding(
            "CPUs",
            "warning",
            found,
            "two ranks need two CPUs: widen the affinity mask or the quota (cpu.max)",
        )
    if facts["cpu_quota"] is not None:
        advice = "keep ranks below the quota and watch throttling: a stopped rank stops all others"
        return Finding("CPUs", "note", found, advice)
    return Finding("CPUs", "good", found)


def check_throttling(facts: dict[str, Any]) -> Finding | None:
    counters = facts["throttling"]
    if not counters or not counters["throttled"]:
        return None
    found = f"the container was stopped {counters['throttled']} times, {counters['throttled_us'] / 1e6:.1f} s in all"
    return Finding("throttling", "warning", found, "raise the container's CPU quota or use fewer ranks")


def check_siblings(facts: dict[str, Any]) -> Finding | None:
    allowed = set(facts["allowed_cpus"])
    cores = [place["core"] for place in facts["topology"] if place["cpu"] in allowed]
    if len(set(cores)) == len(cores):
        return None
    advice = (
        "placement=scatter gives each rank a core of its own while cores last; compact shares them on purpose"
    )
    return Finding("hardware threads", "note", "allowed CPUs share cores (SMT)", advice)


def check_governor(facts: dict[str, Any]) -> Finding:
    governor, boost = facts["governor"], facts["boost"]
    if governor in ("none", "performance"):
        words = "no frequency scaling visible" if governor == "none" else "governor performance"
        return Finding("frequency", "good", words + (f", boost {boost}" if boost != "unknown" else ""))
    advice = "sudo cpupower frequency-set -g performance; lines are less affected than ns"
    return Finding("frequency", "warning", f"governor {governor}, boost {boost}", advice)


def check_virtual(facts: dict[str, Any]) -> Finding:
    where, container = facts["virtualisation"], facts["container"]
    inside = "" if container == "none" else f", in a container ({container})"
    if where == "none":
        return Finding("virtualisation", "good", f"none seen{inside}")
    advice = "the cost of a line can jump within seconds: trust ratios within rounds, and lines, more than ns"
    return Finding("virtualisation", "note", f"{where}{inside}", advice)


def check_load(facts: dict[str, Any]) -> Finding:
    busy, load = facts["busy_share"], facts["load"]
    found = f"load {load[0]:.2f}" + (f", CPUs {busy:.0%} busy" if busy is not None else "")
    if busy is not None and busy > 0.1:
        return Finding(
            "other load", "warning", found, "wait, or stop whatever else runs: it shares CPUs with the ranks"
        )
    return Finding("other load", "good", found)


def check_steal(facts: dict[str, Any]) -> Finding | None:
    share = facts["steal_share"]
    if share is None:
        return None
    found = f"{share:.1%} of the CPU time was taken by the hypervisor"
    if share > 0.01:
        return Finding("steal", "warning", found, "measure at another time or on a dedicated host")
    return Finding("steal", "good", found)


def check_huge_pages(facts: dict[str, Any]) -> Finding:
    found = f"transparent: {facts['huge_pages']}, shared memory: {facts['huge_pages_shared']}"
    if facts["huge_pages"] == "always":
        advice = "threads may get huge pages where processes do not: compare over places, or set madvise"
        return Finding("huge pages", "note", found, advice)
    return Finding("huge pages", "good", found)


def check_numa_balancing(facts: dict[str, Any]) -> Finding | None:
    nodes = {place["numa"] for place in facts["topology"]}
    if facts["numa_balancing"] != 1 or len(nodes) < 2:
        return None
    return Finding(
        "NUMA balancing",
        "warning",
        "the kernel moves pages between nodes",
        "sudo sysctl kernel.numa_balancing=0",
    )


def check_kernel(facts: dict[str, Any]) -> Finding:
    missing = [name for name in ("membarrier", "memfd", "pidfd") if not facts[name]]
    if missing:
        advice = "fallbacks are used: waking sleepers and noticing a dead rank take longer"
        return Finding("kernel facilities", "note", f"missing: {', '.join(missing)}", advice)
    return Finding("kernel facilities", "good", "membarrier, memfd, pidfd")


def check_copies(facts: dict[str, Any]) -> Finding:
    code = facts["cross_copy_sibling"]
    if code == 0:
        return Finding("cross-process copy", "good", "allowed")
    name = errno.errorcode.get(code, str(code))
    advice = (
        "barriers do not need it; large data between processes is staged: sysctl kernel.yama.ptrace_scope=0"
    )
    return Finding("cross-process copy", "note", f"refused ({name}: {os.strerror(code)})", advice)


CHECKS: tuple[Callable[[dict[str, Any]], Finding | None], ...] = (
    check_processor,
    check_cpus,
    check_throttling,
    check_siblings,
    check_governor,
    check_virtual,
    check_load,
    check_steal,
    check_huge_pages,
    check_numa_balancing,
    check_kernel,
    check_copies,
)


def probes(facts: dict[str, Any]) -> list[Finding]:
    """Findings of a short run: the share of same-core rounds, the cost of a line, the clock."""
    if facts["allowed_cpu_count"] < 2:
        return []
    try:
        results = bench.run(
            [
                *("run", "barrier", "--algorithm", "hand-one-line", "--ranks", "2", "--mode", "threads"),
                *("--launches", "4", "--rounds", "10", "--budget", "2", "--lock-wait", "2"),
            ]
        )
    except Error as error:
        return [Finding("probe", "warning", f"could not measure: {error}")]
    return read_probes(results, facts)


def read_probes(results: Results, facts: dict[str, Any]) -> list[Finding]:
    """The findings from the rounds of a short run."""
    findings = []
    clock = (results.contexts[-1].get("clock") or {}) if results.contexts else {}
    facts["clock"] = clock
    if clock:
        found = f"{clock.get('source')}, {clock.get('resolution_ns')} ns resolution"
        found += f", {clock.get('overhead_ns')} ns to read, {clock.get('offset_ns')} ns between CPUs"
        steady = clock.get("invariant", True)
        advice = None if steady else "window times may be off: use the loop definition"
        findings.append(Finding("clock", "good" if steady else "warning", found, advice))
    lines = sorted(r["pingpong_ns"] for r in results.rounds if r.get("pingpong_ns"))
    if lines:
        facts["pingpong_ns"] = {"low": lines[0], "median": lines[len(lines) // 2], "high": lines[-1]}
        found = f"one way {lines[len(lines) // 2]:.0f} ns, {lines[0]:.0f} to {lines[-1]:.0f} in {len(lines)} rounds"
        wide = lines[-1] > 1.5 * lines[0]
        advice = "it varies: compare in lines and within rounds, over many places" if wide else None
        findings.append(Finding("cache line", "note" if wide else "good", found, advice))
    same = sum(r.get("label") == "same-core" for r in results.rounds)
    if results.rounds:
        facts["same_core_share"] = same / len(results.rounds)
        found = f"{same} of {len(results.rounds)} rounds had both CPUs on one physical core"
        advice = (
            "they are labelled and summarised separately; measure longer to get enough remote rounds"
            if same
            else None
        )
        findings.append(Finding("same-core rounds", "note" if same else "good", found, advice))
    return findings
