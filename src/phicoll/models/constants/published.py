"""Published sets of constants as models: ramos-hoefler-2013 for the Xeon Phi 5110P and for Sandy Bridge."""

from __future__ import annotations

from phicoll.models.constants.constant import CONSTANTS, Constant
from phicoll.models.constants.machine_model import MachineModel
from phicoll.models.constants.published_tables import (
    BANDWIDTH,
    CONTENTION,
    MULTI_LINE,
    OVERHEADS,
    PHI_READ,
    SANDY_READ,
    SANDY_READ_MEASURED,
)

__all__ = ["PUBLISHED", "SANDY_BRIDGE_E5_2670", "XEON_PHI_5110P"]

PAPER = "ramos-hoefler-2013"
PHI = "xeon-phi-5110p"
SANDY = "sandy-bridge-e5-2670"


def published(value: float, name: str, where: str) -> Constant:
    return Constant(value, CONSTANTS[name].unit, "published", f"{PAPER} {where}")


def undetermined(name: str, reason: str) -> Constant:
    return Constant.undetermined(CONSTANTS[name].unit, f"{PAPER} {reason}")


def xeon_phi() -> MachineModel:
    found: dict[str, Constant] = {}

    def put(name: str, value: float, where: str) -> None:
        found[name] = published(value, name, where)

    # Section 1.3.3: of the rows the column "middle distance", of memory "same core"; one decimal as in Table 1.5.
    put("line.local", round(PHI_READ["M"]["local"][0], 1), "Table 1.5b, from Table 1.6")
    put("line.remote", round(PHI_READ["E"]["middle"][0], 1), "Table 1.5b, from Table 1.6, middle distance")
    # Table 1.6's 277.650 is printed 277.7 in Table 1.5.
    put("line.memory", 277.7, "Table 1.5b, from Table 1.6")
    for state in "MES":
        put(f"line.remote.{state}", round(PHI_READ[state]["middle"][0], 1), "Table 1.5a, from Table 1.6")
    overhead = OVERHEADS[PHI]
    put(
        "overhead", overhead["middle"]["C", "E"][0], "equation 2.19, middle distance, receive lines in M or E"
    )
    put("overhead.same-core", overhead["same-core"]["C", "E"][0], "equation 2.17, receive lines in E")
    for (send, receive), (o, q, p) in MULTI_LINE.items():
        for letter, value in zip("oqp", (o, q, p), strict=True):
            put(f"multi.{send}{receive}.{letter}", value, "Table 3.1")
    for (send, receive), (c, b, a) in CONTENTION.items():
        for letter, value in zip("cba", (c, b, a), strict=True):
            put(f"contention.{send}{receive}.{letter}", value, "Table 3.2")
    p_lines, factor = BANDWIDTH[PHI]["any pairs"]
    card = "section A.3, another card: KNC B0, 61 cores, 1,080 MHz"
    put("bandwidth.F", factor, card)
    put("bandwidth.P", p_lines, card)
    found["copy"] = undetermined("copy", "prints no number, only curves (figures A.10 to A.12)")
    found["switch"] = undetermined("switch", "runs one rank a core")
    found["combine"] = Constant(
        3.8,
        "ns",
        "assumed",
        "the simulated xeon-phi-5110p: core.combine_instructions x core.issue_interval = 4 cycles a line, one vector "
        "instruction every second cycle (namashivayam-2014 section 2)",
    )
    return MachineModel(PHI, found)


def sandy_bridge() -> MachineModel:
    found: dict[str, Constant] = {}

    def put(name: str, value: float, where: str) -> None:
        found[name] = published(value, name, where)

    put("line.local", SANDY_READ["M"]["local"], "Table 1.8")
    found["line.remote"] = undetermined(
        "line.remote",
        "section 1.3.4: reads of M, E and S cannot be put into one here; see line.remote.M, E, S",
    )
    put("line.memory", SANDY_READ["I"]["local"], "Table 1.8")
    for place, column in (("remote", "same-package"), ("far", "other-package")):
        for state in "MES":
            put(f"line.{place}.{state}", SANDY_READ[state][column], "Table 1.8")
        put(f"line.{place}.F", SANDY_READ_MEASURED["F"][column][0], "Table 1.7")
    put("line.far.memory", SANDY_READ["I"]["other-package"], "Table 1.8")
    overhead = OVERHEADS[SANDY]
    put(
        "overhead",
        overhead["same-package"]["C", "E"][0],
        "equation 2.9, one package, receive lines in E, S or F",
    )
    put("overhead.same-core", overhead["same-core"]["C", "E"][0], "equation 2.6")
    p_lines, factor = BANDWIDTH[SANDY]["2 or 4 threads, one package"]
    put("bandwidth.F", factor, "section A.2, 2 or 4 threads of one package")
    put("bandwidth.P", p_lines, "section A.2, within a package")
    for name in CONSTANTS:
        if name.startswith(("multi.", "contention.")):
            found[name] = undetermined(name, "chapter 3 has this for the Xeon Phi only")
    found["copy"] = undetermined("copy", "prints no number, only curves (figures A.2 to A.8)")
    found["switch"] = undetermined("switch", "runs one rank a core")
    found["combine"] = undetermined("combine", "has no measurement of combining")
    return MachineModel(SANDY, found)


XEON_PHI_5110P = xeon_phi()
SANDY_BRIDGE_E5_2670 = sandy_bridge()

#: Models by machine.
PUBLISHED: dict[str, MachineModel] = {m.name: m for m in (XEON_PHI_5110P, SANDY_BRIDGE_E5_2670)}
