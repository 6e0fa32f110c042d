"""doctor: every finding that asks for something says what to do."""

from __future__ import annotations

import pytest

from made_up import MadeUp
from phicoll import _core
from phicoll.measuring.doctor import CHECKS, LEVELS, doctor, gather, read_probes, shares
from phicoll.results import from_lines

SPOILED = {
    "cpu_model": "made up",
    "kernel": "2.6.38",
    "topology": [{"cpu": cpu, "core": cpu // 2, "numa": cpu // 2} for cpu in range(4)],
    "allowed_cpus": [0, 1, 2, 3],
    "allowed_cpu_count": 1,
    "cpu_quota": 0.5,
    "throttling": {"periods": 10, "throttled": 4, "throttled_us": 2_000_000},
    "governor": "powersave",
    "boost": "on",
    "virtualisation": "kvm",
    "container": "docker",
    "load": [3.0, 2.0, 1.0],
    "busy_share": 0.8,
    "steal_share": 0.2,
    "huge_pages": "always",
    "huge_pages_shared": "never",
    "numa_balancing": 1,
    "membarrier": False,
    "memfd": False,
    "pidfd": False,
    "cross_copy_child": 1,
    "cross_copy_sibling": 1,
}


def test_a_spoiled_machine_is_told_what_to_do():
    found = [finding for check in CHECKS if (finding := check(SPOILED)) is not None]
    assert len(found) == len(CHECKS)
    for finding in found:
        assert finding.level in LEVELS
        assert finding.level == "good" or finding.advice
    warned = {finding.topic for finding in found if finding.level == "warning"}
    assert warned == {"CPUs", "throttling", "frequency", "other load", "steal", "NUMA balancing"}


def test_this_machine_is_looked_at():
    facts = gather()
    assert facts["allowed_cpus"] == _core.allowed_cpus()
    diagnosis = doctor(probe=True)
    assert {"processor", "CPUs", "frequency", "kernel facilities"} <= {f.topic for f in diagnosis.findings}
    if facts["allowed_cpu_count"] > 1:
        assert "same-core rounds" in {f.topic for f in diagnosis.findings} or "probe" in {
            f.topic for f in diagnosis.findings
        }
    assert "<table" in diagnosis._repr_html_()
    assert "processor" in str(diagnosis)


def test_shares_of_same_core_rounds_are_counted():
    results = from_lines(MadeUp(same_core=0.5, launches=4, rounds=10).text().splitlines(), "made up")
    facts = {}
    findings = {finding.topic: finding for finding in read_probes(results, facts)}
    same = sum(r["label"] == "same-core" for r in results.rounds)
    assert facts["same_core_share"] == pytest.approx(same / 40)
    assert findings["same-core rounds"].level == "note"
    assert findings["cache line"].level == "note"


def test_shares_of_time():
    assert shares((0, 0, 0), (100, 60, 10)) == pytest.approx((0.1, 0.3))
    assert shares(None, (1, 1, 1)) == (None, None)
    assert shares((5, 5, 5), (5, 5, 5)) == (None, None)
