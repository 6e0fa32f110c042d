"""Models: each equation gives what the paper's tables or a calculation by hand give, and bad input is named."""

from __future__ import annotations

import dataclasses
import itertools
import json
import pickle
from pathlib import Path

import pytest

import phicoll
from phicoll import _core
from phicoll.errors import ArgumentError
from phicoll.models import (
    CONSTANTS,
    PUBLISHED,
    SANDY_BRIDGE_E5_2670,
    XEON_PHI_5110P,
    Band,
    Constant,
    MachineModel,
    machine_model,
    modelled,
    optima,
    predict,
)
from phicoll.models.constants.published_tables import BANDWIDTH, OVERHEADS, PHI_PING_PONG, SANDY_PING_PONG
from phicoll.models.equations.alpha_beta import (
    ALLREDUCES,
    AlphaBeta,
    all_reads_all,
    bruck,
    flat_tree,
    rabenseifner,
    recursive_doubling,
)
from phicoll.models.equations.bandwidth import asymptotic_bandwidth, bandwidth, long_message
from phicoll.models.equations.barriers import acknowledged_barrier, acknowledged_rounds, dissemination_barrier
from phicoll.models.equations.contention import contention, intercept
from phicoll.models.equations.large_broadcast import (
    copied_lines,
    copy_slope,
    crowd_copy,
    flat_large,
    pipelined_slices,
)
from phicoll.models.equations.line_costs import Warm, read, remote, simplified
from phicoll.models.equations.message_costs import message_costs
from phicoll.models.equations.multi_line import lines_of, multi_line, naive_multi_line
from phicoll.models.equations.notification import (
    known_when,
    notify_back,
    notify_back_apart,
    notify_forward,
)
from phicoll.models.equations.single_line import single_line, three_reads
from phicoll.models.equations.small_broadcast import capacity, hold, small_broadcast, tree_transfer
from phicoll.models.equations.small_reduction import combine_buffers, reduction, small_reduction
from phicoll.models.equations.steps import STEP_COUNTS, ceil_log, floor_log, steps
from phicoll.models.equations.tree_broadcast import tree_broadcast, tree_of_levels
from phicoll.models.equations.trees import (
    children_of,
    fibonacci_parents,
    flat_parents,
    k_nomial_parents,
    level_parents,
    levels_in_use,
)

PHI = XEON_PHI_5110P
SANDY = SANDY_BRIDGE_E5_2670
RANKS = range(2, 61)


def near(band: Band, low: float, high: float) -> None:
    assert (band.low_ns, band.high_ns) == pytest.approx((low, high), abs=0.06)


def refused(argument: str, *, allowed: str = ""):
    """ArgumentError that names the argument, and in what it allows has some words."""
    return pytest.raises(ArgumentError, match=rf"{argument}.*: got .*; allowed: .*{allowed}")


# Constants and machines


def test_published_constants_are_the_papers():
    # Tables 1.5b and 1.5a, equation 2.19, Tables 3.1 and 3.2 (last rows "I E" are I, I), section A.3.
    expected = {
        "line.local": 8.6, "line.remote": 235.8, "line.memory": 277.7,
        "line.remote.M": 234.7, "line.remote.E": 235.8, "line.remote.S": 233.4,
        "overhead": 20, "overhead.same-core": 46,
        "multi.II.o": 94.9, "multi.IE.q": 2698.5, "multi.EI.p": 1276.9,
        "contention.EE.c": 56.2, "contention.EE.b": 320.5, "contention.EE.a": 0,
        "contention.II.c": 23.4, "contention.II.b": 1202.0, "contention.II.a": 695.8,
        "bandwidth.F": 5.8, "bandwidth.P": 38,
    }  # fmt: skip
    assert {name: PHI.value(name) for name in expected} == expected
    # Tables 1.7 and 1.8, equations 2.6 and 2.9, section A.2.
    expected = {
        "line.local": 2.3, "line.memory": 69.3, "line.far.memory": 109.3,
        "line.remote.M": 41.6, "line.remote.E": 32.8, "line.remote.S": 15.7, "line.remote.F": 15.1,
        "line.far.M": 115.4, "line.far.E": 75.7, "line.far.S": 17.3, "line.far.F": 16.0,
        "overhead": -4, "overhead.same-core": 17.7, "bandwidth.F": 5.5, "bandwidth.P": 38,
    }  # fmt: skip
    assert {name: SANDY.value(name) for name in expected} == expected


@pytest.mark.parametrize("model", PUBLISHED.values(), ids=lambda m: m.name)
def test_every_published_constant_says_where_it_is_from(model):
    for name, constant in model.constants.items():
        assert constant.unit == CONSTANTS[name].unit
        assert constant.source
        if constant.kind == "published":
            assert any(word in constant.source for word in ("Table", "equation", "section")), name
    assert "another card" in PHI.constant("bandwidth.F").source


def test_an_undetermined_constant_is_refused_by_name_and_reason():
    with refused("contention.EE.c", allowed="with_family"):
        SANDY.value("contention.EE.c")
    with pytest.raises(ArgumentError, match="one rank a core"):
        PHI.value("switch")
    with pytest.raises(ArgumentError, match="not in this model"):
        MachineModel("empty", {}).value("line.local")
    with refused("constant", allowed="nearest: line.remote"):
        PHI.value("line.remot")


@pytest.mark.parametrize(
    ("change", "argument"),
    [
        ({"value": float("nan")}, "value"),
        ({"value": float("inf")}, "value"),
        ({"value": None}, "value"),
        ({"value": True}, "value"),
        ({"kind": "undetermined"}, "value"),
        ({"kind": "guessed"}, "kind"),
        ({"standard_error": -1.0}, "standard_error"),
        ({"source": ""}, "source"),
        ({"unit": "us"}, "unit"),
    ],
)
def test_a_constant_that_cannot_be_is_refused(change, argument):
    with refused(argument):
        Constant(**{"value": 1.0, "unit": "ns", "kind": "measured", "source": "here", **change})


def test_a_model_checks_names_units_and_signs():
    ns = Constant(-1.0, "ns", "measured", "here")
    MachineModel("m", {"overhead": ns})  # Sandy Bridge's are negative
    with refused("line.local", allowed="above 0"):
        MachineModel("m", {"line.local": ns})
    with refused("copy", allowed="GB/s"):
        MachineModel("m", {"copy": ns})
    with refused("constant"):
        MachineModel("m", {"line.nowhere": ns})


def test_a_family_fills_what_is_undetermined_and_marks_it():
    filled = SANDY.with_family(PHI)
    assert filled.name == SANDY.name
    assert filled.value("line.local") == 2.3
    assumed = filled.constant("contention.EE.c")
    assert assumed.kind == "assumed"
    # A line from another core takes 41.6 ns there and 235.8 here.
    assert assumed.value == pytest.approx(56.2 * 41.6 / 235.8, rel=1e-4)
    assert assumed.source.startswith(
        "xeon-phi-5110p: 56.2 x 0.176, the ratio of line.remote (ramos-hoefler-2013 Table 3.2)"
    )
    assert "chapter 3 has this for the Xeon Phi only" in assumed.source
    assert filled.value("line.remote") == pytest.approx(41.6)
    assert set(filled.assumed) == {n for n in CONSTANTS if not SANDY.known(n) and PHI.known(n)}
    assert set(filled.undetermined) == {"copy", "switch"}
    assert pickle.loads(pickle.dumps(filled)) == filled
    # Without a line to compare nothing is scaled; ratios never are.
    bare = MachineModel("bare", {}).with_family(PHI)
    assert bare.value("contention.EE.c") == 56.2
    one = MachineModel("one", {"line.remote": Constant(23.58, "ns", "measured", "here")}).with_family(PHI)
    assert (one.value("line.memory"), one.value("bandwidth.F")) == pytest.approx((27.77, 5.8))


def write(tmp_path: Path, file: object) -> Path:
    path = tmp_path / "here.json"
    path.write_text(file if isinstance(file, str) else json.dumps(file))
    return path


def file_of(**section: object) -> dict[str, object]:
    return {"phicoll": "machine", "name": "here", "model": section}


ENTRY = {"value": 2.5, "unit": "ns", "kind": "measured", "source": "read-latency"}


def test_a_machine_file_keeps_a_model(tmp_path):
    path = write(tmp_path, {"phicoll": "machine", "name": "here", "model": PHI.to_json()})
    found = machine_model(path)
    assert found.name == "here"
    assert dict(found.constants) == dict(PHI.constants)
    assert machine_model(str(path)) == found
    assert machine_model(found) is found
    withdrawn = {"value": None, "unit": "ns", "kind": "undetermined", "source": "two CPUs"}
    found = machine_model(
        write(tmp_path, file_of(**{"line.local": {**ENTRY, "standard_error": 0.1}, "switch": withdrawn}))
    )
    assert found.constant("line.local").standard_error == 0.1
    assert not found.known("switch")
    assert "line.local" in str(found)
    assert "two CPUs" in found._repr_html_()


@pytest.mark.parametrize(
    ("file", "names"),
    [
        ("{", "JSON|line 1"),
        ([], "machine file"),
        ({"phicoll": "records"}, "machine file"),
        ({"phicoll": "machine", "model": {}}, "name"),
        ({"phicoll": "machine", "name": "here"}, "no parameters"),
        ({"phicoll": "machine", "name": "here", "model": 3}, "model.*int"),
        (file_of(**{"line.local": 3}), "line.local"),
        (file_of(**{"line.locl": ENTRY}), "line.locl.*nearest: line.local"),
        (file_of(**{"line.local": {**ENTRY, "mean": 1}}), "line.local.*'mean'"),
        (file_of(**{"line.local": {"value": 1, "unit": "ns", "kind": "measured"}}), "line.local.*no source"),
        (file_of(**{"line.local": {**ENTRY, "value": "fast"}}), "line.local.value.*'fast'"),
        (file_of(**{"line.local": {**ENTRY, "value": float("nan")}}), "line.local.value.*nan"),
        (file_of(**{"line.local": {**ENTRY, "value": -2}}), "line.local.*above 0"),
        (file_of(**{"line.local": {**ENTRY, "unit": "us"}}), "line.local.*'us'"),
        (file_of(**{"line.local": {**ENTRY, "unit": "GB/s"}}), "line.local.*unit 'ns'"),
        (file_of(**{"line.local": {**ENTRY, "kind": "guessed"}}), "line.local.*'guessed'"),
        (file_of(**{"line.local": {**ENTRY, "value": None}}), "line.local.*value.*None"),
        (file_of(**{"line.local": {**ENTRY, "standard_error": -1}}), "line.local.*standard_error"),
    ],
)  # fmt: skip
def test_a_bad_machine_file_is_refused_with_file_and_field(tmp_path, file, names):
    with pytest.raises(ArgumentError, match=rf"(?s)here\.json.*({names})|({names}).*here\.json"):
        machine_model(write(tmp_path, file))


def test_a_machine_that_is_not_there_is_refused(tmp_path):
    with refused("machine"):
        machine_model(tmp_path / "none.json")
    with refused("machine", allowed="xeon-phi-se10p"):
        machine_model("xeon-phi")
    with refused("machine"):
        machine_model(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "name",
    ["xeon-phi-5110p", "xeon-phi-se10p", "xeon-phi-3120a", "sandy-bridge-e5-2670", "epyc-7742", "xeon-8375c"],
)
def test_a_machines_model_is_the_section_of_its_file(tmp_path, name):
    text = _core.machine_file_text(name)
    found = machine_model(name)
    assert found.name == name
    assert found.to_json() == json.loads(text)["model"]
    assert found == machine_model(write(tmp_path, text))


def test_a_file_without_a_model_knows_nothing_and_costs_what_the_core_takes(tmp_path):
    file = json.loads(_core.machine_file_text("xeon-phi-5110p:core.l1_hit=100"))
    del file["model"]
    found = machine_model(write(tmp_path, {**file, "name": "bare"}))
    assert (found.name, dict(found.constants)) == ("bare", {})
    assert optima.line_costs(found) == optima.line_costs("xeon-phi-5110p")
    with refused("line.local", allowed="a machine that has it"):
        found.value("line.local")


def test_a_changed_machine_assumes_the_unchanged_ones_model(tmp_path):
    changed = machine_model("xeon-phi-5110p:ring.hop=0")
    assert changed.name == "xeon-phi-5110p:ring.hop=0"
    assert set(changed.assumed) == {name for name in CONSTANTS if PHI.known(name)}
    assert all(changed.value(name) == PHI.value(name) for name in changed.assumed)
    assert changed.constant("line.remote").source.startswith("xeon-phi-5110p: 235.8 (ramos-hoefler-2013")
    assert optima.line_costs(changed) == optima.line_costs(PHI)
    hop = phicoll.load_machine("xeon-phi-5110p").parameters["ring.hop"]
    assert machine_model(f"xeon-phi-5110p:ring.hop={hop}") == PHI
    path = write(tmp_path, {**json.loads(_core.machine_file_text("sandy-bridge-e5-2670")), "name": "mine"})
    mine = machine_model(f"{path}:core.pause=7")
    assert mine.name == "mine:core.pause=7"
    assert mine.value("line.remote.M") == SANDY.value("line.remote.M")
    for wrong in ("xeon-phi-5110p:ring.hip=0", "xeon-phi:ring.hop=0", f"{tmp_path}/none.json:ring.hop=0"):
        with refused("machine"):
            machine_model(wrong)


# One line, many lines, contention, bandwidth


@pytest.mark.parametrize(
    ("model", "send", "receive", "place", "table"),
    [
        (PHI, "E", "E", "remote", 479.1),  # Table 2.6
        (PHI, "M", "M", "remote", 478.0),
        (PHI, "I", "M", "remote", 747.1),
        (PHI, "M", "M", "local", 25.8),  # Table 2.4
        (PHI, "I", "E", "local", 294.9),
        (SANDY, "E", "E", "local", 6.9),  # Table 2.1
        (SANDY, "M", "M", "remote", 85.5),  # Table 2.2 has 85.4
        (SANDY, "M", "E", "remote", 76.7),
        (SANDY, "E", "S", "remote", 59.6),
        (SANDY, "I", "E", "remote", 143.7),
        (SANDY, "F", "F", "remote", 59.0),
        (SANDY, "M", "E", "far", 193.4),  # Table 2.3
        (SANDY, "I", "M", "far", 300.1),
        (SANDY, "F", "F", "far", 133.7),
    ],
)
def test_three_reads_are_the_tables_estimates(model, send, receive, place, table):
    if place == "far" and send == "I":
        # The send line comes from the sender's own memory.
        assert read(model, "local", "I") + 2 * read(model, "far", "M") == pytest.approx(table, abs=0.15)
    assert three_reads(model, send, receive, place) == pytest.approx(table, abs=0.15)


@pytest.mark.parametrize(
    ("model", "place", "distance", "tables"),
    [
        (PHI, "remote", "middle", PHI_PING_PONG),
        (PHI, "local", "same-core", PHI_PING_PONG),
        (SANDY, "remote", "same-package", SANDY_PING_PONG),
        (SANDY, "local", "same-core", SANDY_PING_PONG),
        (SANDY, "far", "other-package", SANDY_PING_PONG),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_reads_and_overhead_give_what_was_measured_within_its_deviation(model, place, distance, tables):
    # Equations 2.6 to 2.20 say so, except where they cluster states that differ (2.9, 2.10).
    for (send, receive), (mean, deviation) in tables[distance].items():
        overhead = OVERHEADS[model.name][distance]["I" if send == "I" else "C", receive][0]
        clustered = model is SANDY and distance == "same-package"
        modelled_as = "E" if clustered and receive in ("S", "M" if send == "I" else "S") else receive
        found = single_line(model, send, modelled_as, place, overhead)
        assert abs(found - mean) <= deviation, (send, receive)


def test_overheads_default_to_the_models():
    assert single_line(PHI) == pytest.approx(479.1 + 20)
    assert single_line(PHI, place="local") == pytest.approx(25.8 + 46)
    assert single_line(PHI, overhead=0.0) == three_reads(PHI)
    with refused("overhead"):
        single_line(SANDY, place="far")
    with refused("overhead"):
        single_line(PHI, overhead=float("nan"))


def test_states_and_places_that_cannot_be_are_refused():
    with refused("receive"):
        three_reads(PHI, receive="I")  # its receiver polls it (chapter 2)
    with refused("send"):
        three_reads(PHI, send="X")
    with refused("place"):
        three_reads(PHI, place="near")
    with refused("state"):
        read(PHI, "remote", "O")
    with pytest.raises(ArgumentError, match=r"line\.far\.M"):
        read(PHI, "far", "M")


def test_the_simplified_model_is_table_1_5b():
    assert dataclasses.astuple(simplified(PHI)) == (8.6, 235.8, 277.7)
    assert remote(SANDY) == 41.6  # no one cluster: that of a written line
    assert remote(SANDY.with_family(PHI)) == 41.6  # and not another machine's
    one = MachineModel("m", {"line.remote": Constant(50.0, "ns", "measured", "here")})
    assert read(one, "remote", "S") == 50.0


def test_multi_line_is_table_3_1():
    # Figure 3.1: 76.0 N + 1521.0 - 1096.0 / N and 94.9 N + 2750.0 - 2017.5 / N.
    assert multi_line(PHI, 1) == pytest.approx(501.0)
    assert multi_line(PHI, 64) == pytest.approx(76.0 * 64 + 1521.0 - 1096.0 / 64)
    assert multi_line(PHI, 128, "I", "I") == pytest.approx(94.9 * 128 + 2750.0 - 2017.5 / 128)
    # Section 3.1: with one line it is the model of one line.
    assert multi_line(PHI, 1) == pytest.approx(single_line(PHI), rel=0.01)
    assert multi_line(PHI, 1, "I", "I") == pytest.approx(PHI_PING_PONG["middle"]["I", "E"][0], rel=0.02)
    for bad in (0, 129, 1.5, True):
        with refused("lines", allowed="1 to 128"):
            multi_line(PHI, bad)
    with refused("send"):
        multi_line(PHI, 1, "M")


def test_fetching_alone_is_far_below_what_messages_take():
    # Section 3.1 rejects it: "this simple model misses several factors".
    for lines in range(2, 13):
        assert naive_multi_line(PHI, lines, "I") < 0.6 * multi_line(PHI, lines, "I", "I")
        assert naive_multi_line(PHI, lines, "E") < 0.7 * multi_line(PHI, lines)
    assert naive_multi_line(PHI, 38, "I") == pytest.approx(2 * 277.7 + 234.7)


def test_contention_is_table_3_2():
    assert contention(PHI, 59) == pytest.approx(320.5 + 56.2 * 59)
    assert contention(PHI, 10, "I", "I") == pytest.approx(23.4 * 10 + 1202.0 - 69.58)
    assert contention(PHI, 10, "E", "I") == pytest.approx(57.6 * 10 + 604.4)
    assert contention(PHI, 10, "I", "E") == pytest.approx(23.9 * 10 + 863.6 - 66.74)
    # Equation 3.2 wants T_C(1) = R_L + R_R; the fit of Table 3.2 is 132.3 ns above.
    assert contention(PHI, 1, b="lines") == pytest.approx(244.4)
    assert contention(PHI, 1) - contention(PHI, 1, b="lines") == pytest.approx(132.3)
    assert intercept(PHI) == pytest.approx(188.2)
    assert contention(PHI, 7, b="lines") == pytest.approx(188.2 + 56.2 * 7)
    with refused("b"):
        contention(PHI, 2, "I", "I", b="lines")
    with refused("ranks", allowed="1 to 1024"):
        contention(PHI, 0)


def test_bandwidth_is_equation_a_1():
    assert long_message(PHI, 4096) == pytest.approx((2 * 4096 / 38 * 277.7 + 234.7) * 5.8)
    assert bandwidth(PHI, 4096) == pytest.approx(4096 * 64 / long_message(PHI, 4096))
    assert asymptotic_bandwidth(PHI) == pytest.approx(0.755, abs=0.001)
    # Section A.3: "almost five times lower than for Sandy Bridge".
    assert 4 < asymptotic_bandwidth(SANDY) / asymptotic_bandwidth(PHI) < 5
    # Section A.2: across packages, with that distance's costs of memory and of a line, P = 19, F = 1.9.
    p, f = BANDWIDTH[SANDY.name]["2 or 4 threads, across"]
    across = MachineModel("m", {**SANDY.constants, "bandwidth.P": Constant(p, "1", "published", "A.2"), "bandwidth.F": Constant(f, "1", "published", "A.2")})  # fmt: skip
    assert long_message(across, 100, far=True) == pytest.approx((2 * 100 / 19 * 109.3 + 115.4) * 1.9)
    with refused("lines"):
        bandwidth(PHI, 0)


# Notification and collectives


def test_notifications_are_equations_4_1_4_2_and_4_6():
    near(notify_back(PHI, 5), 277.7 + 4 * 235.8, 277.7 + 8 * 235.8)
    low = 3 * 277.7 + 4 * 8.6
    near(notify_forward(PHI, (5, 5)), low, 277.7 + 2 * 2 * (235.8 + 469.2))
    near(notify_forward(PHI, (5, 5), "printed"), low, 277.7 + 2 * 2 * (235.8 + 938.4))
    # Figure 4.1: two writers and a reader, R_I + 2 R_R at best and R_I + 4 R_R at worst.
    near(notify_back(PHI, 3), 277.7 + 2 * 235.8, 277.7 + 4 * 235.8)
    with refused("ranks", allowed="2 to"):
        notify_back(PHI, 1)
    with refused("nesting"):
        notify_forward(PHI, (5, 5), "double")


def test_a_parent_knows_of_its_children_as_they_are_done():
    assert known_when(PHI, [0.0] * 4) == pytest.approx(notify_back(PHI, 5).low_ns)
    assert known_when(PHI, [5000.0, 0.0, 0.0]) == pytest.approx(5000 + notify_back(PHI, 2).low_ns)
    assert known_when(PHI, [0.0, 100.0]) == pytest.approx(notify_back(PHI, 3).low_ns)


def test_one_line_for_all_acknowledgements_is_never_dearer_at_worst():
    # Section 4.1.1: "both the model and the empirical results confirmed that it provides better performance".
    for ranks in RANKS:
        assert notify_back(PHI, ranks).low_ns <= notify_back_apart(PHI, ranks).low_ns
        assert notify_back(PHI, ranks).high_ns <= notify_back_apart(PHI, ranks).high_ns


def test_small_broadcast_is_equation_4_7():
    assert tree_transfer(PHI, (3, 2)) == pytest.approx(5 * 56.2 + 2 * 188.2)  # figure 4.2: 5c + 2b
    near(
        small_broadcast(PHI, (5, 5)),
        867.5 + 938.4 + 2 * (277.7 + 5 * 235.8),
        3097.7 + 938.4 + 2 * (277.7 + 10 * 235.8),
    )
    near(small_broadcast(PHI, (4, 4, 3)), 5772.1, 11261.6)
    assert small_broadcast(PHI, (5, 5), b="fitted").low_ns == pytest.approx(4719.3 + 2 * 132.3)
    assert small_broadcast(PHI, (5, 5), "printed").high_ns > small_broadcast(PHI, (5, 5)).high_ns
    near(small_broadcast(PHI, ()), 0, 0)
    near(tree_of_levels(PHI, (4, 4, 3)), 5772.1, 11261.6)
    assert capacity((3, 2)) == 10
    assert hold((3, 2), 10) == (3, 2)
    with refused("levels", allowed="11 ranks"):
        hold((3, 2), 11)
    with refused(r"levels\[1\]"):
        small_broadcast(PHI, (3, 0))
    with refused("levels"):
        small_broadcast(PHI, 3)  # type: ignore[arg-type]


def test_large_broadcasts_are_equations_4_8_to_4_10():
    near(pipelined_slices(PHI, 3, 128), 14073.05, 16046.05)
    near(flat_large(PHI, 3, 128), 1311.5 + 10028.6, 2538.1 + 10028.6)
    # b of Table 3.2, "arbitrarily" chosen in 4.10: T_copy = 320.5 + 56.2 (n - 2) + 76.0 N.
    assert crowd_copy(PHI, 29, 128, "fitted") == pytest.approx(320.5 + 56.2 * 28 + 76.0 * 128)
    # A slice is of whole lines: of 128 lines among 59 receivers 10 slices have 3 and 49 have 2.
    uneven, even = pipelined_slices(PHI, 60, 128), pipelined_slices(PHI, 60, 177)
    assert uneven.high_ns == even.high_ns
    assert even.low_ns - uneven.low_ns == pytest.approx(49 * (multi_line(PHI, 3) - multi_line(PHI, 2)))
    # With fewer lines than receivers the others have no stage.
    assert pipelined_slices(PHI, 60, 30).low_ns < pipelined_slices(PHI, 60, 59).low_ns
    for ranks in RANKS:  # section 4.1.3: "We expect the second algorithm (flat tree) to perform better"
        assert flat_large(PHI, ranks, 128).low_ns < pipelined_slices(PHI, ranks, 128).low_ns
    with refused("ranks", allowed="2 to"):
        flat_large(PHI, 1, 1)
    with refused("lines", allowed="1 to 128"):
        flat_large(PHI, 4, 129)
    with refused("lines", allowed="1 to 256"):
        pipelined_slices(PHI, 3, 257)


def test_longer_copies_go_on_where_the_model_ends():
    slope = 2 * 277.7 * 5.8 / 38
    assert copied_lines(PHI, 1128, longer=True) - multi_line(PHI, 128) == pytest.approx(1000 * slope)
    assert copy_slope(PHI, 1128, longer=True) == pytest.approx(128 * 76.0 + 1000 * slope)
    assert copied_lines(PHI, 128, longer=True) == multi_line(PHI, 128)
    with refused("lines"):
        copied_lines(PHI, 129)


def test_barriers_are_equations_4_11_and_4_12():
    near(acknowledged_barrier(PHI, 60, 4, "printed"), 3 * (8.6 + 5 * 235.8), 3 * 26 * 235.8)
    near(acknowledged_barrier(PHI, 30, 6, "printed"), 2 * (8.6 + 7 * 235.8), 2 * 38 * 235.8)
    near(acknowledged_barrier(PHI, 1, 1), 0, 0)
    # 6 partners reach 7 ranks a round: two rounds reach 49; log_6 of 37 is three.
    assert [acknowledged_rounds(49, 6), acknowledged_rounds(50, 6)] == [2, 3]
    assert [acknowledged_rounds(36, 6, "printed"), acknowledged_rounds(37, 6, "printed")] == [2, 3]
    assert acknowledged_rounds(2, 1, "printed") == 1  # Table B.2
    with refused("ways", allowed="2 to 3"):
        acknowledged_rounds(4, 1, "printed")
    with refused("ways", allowed="1 to 3"):
        acknowledged_barrier(PHI, 4, 4)
    with refused("rounds"):
        acknowledged_barrier(PHI, 4, 2, "log")
    near(dissemination_barrier(PHI, 8), 3 * 2 * 235.8, 3 * 3 * 235.8)
    near(dissemination_barrier(PHI, 16, 3), 2 * 2 * 235.8, 2 * 9 * 235.8)


def test_small_reduction_is_equations_4_13_and_4_14():
    near(small_reduction(PHI, (3, 3, 2)), 3 * 710.3 + 8 * 368.0 + 235.8, 3 * 1134.3 + 8 * 660.0 + 235.8)
    near(small_reduction(PHI, ()), 0, 0)
    assert combine_buffers(PHI, 4) == pytest.approx(304.0)
    assert combine_buffers(PHI, 4, "multi-line") == pytest.approx(304.0 + 1521.0 - 274.0)
    assert small_reduction(PHI, (4,), combining="multi-line").low_ns > small_reduction(PHI, (4,)).low_ns
    with refused("combining"):
        combine_buffers(PHI, 4, "sum")
    assert reduction(PHI, (3, 2), 1) == small_reduction(PHI, (3, 2))
    one = small_reduction(PHI, (3, 2))
    near(reduction(PHI, (3, 2), 16, 8), one.low_ns + 15 * 76.0 * 7, 2 * (one.high_ns + 7 * 76.0 * 7))


def test_warm_calls_find_structures_in_another_cache():
    cold, warm = small_broadcast(PHI, (5, 5)), small_broadcast(Warm(PHI), (5, 5))
    assert cold.low_ns - warm.low_ns == pytest.approx(4 * (277.7 - 235.8) + 277.7 - 8.6)
    assert acknowledged_barrier(Warm(PHI), 60, 4) == acknowledged_barrier(PHI, 60, 4)  # no R_I in it
    assert long_message(Warm(PHI), 100) == long_message(PHI, 100)  # data stays in memory


# Trees of any shape


def test_tree_shapes_are_those_the_core_builds():
    shapes = {
        "flat": flat_parents,
        "binomial": lambda n: k_nomial_parents(n, 2),
        "k-nomial:degree=3": lambda n: k_nomial_parents(n, 3),
        "k-nomial:degree=5": lambda n: k_nomial_parents(n, 5),
        "fibonacci:overhead=half": lambda n: fibonacci_parents(n, "half"),
        "fibonacci:overhead=quarter": lambda n: fibonacci_parents(n, "quarter"),
        "model-tree:k1=3:k2=2:k3=2:k4=2": lambda n: level_parents(n, (3, 2, 2, 2)),
    }
    for ranks in (2, 3, 9, 31):
        for spec, shape in shapes.items():
            parents = shape(ranks)
            depth = [0] * ranks
            for rank in range(1, ranks):
                depth[rank] = depth[parents[rank]] + 1
            (row,) = phicoll.count("broadcast", spec, "40x1", ranks=ranks, size=64)
            assert row["steps"] == max(depth), (spec, ranks)


def test_levels_fill_evenly():
    assert levels_in_use(10, (3, 2)) == (3, 2)
    assert levels_in_use(9, (3, 3)) == (3, 2)  # five among three
    assert levels_in_use(40, (3, 2)) == (3, 2, 2, 2)  # the last goes on
    assert levels_in_use(1, ()) == ()
    assert children_of([0, 0, 0, 1]) == [[1, 2], [3], [], []]
    with refused("levels"):
        level_parents(2, ())
    with refused(r"parents\[2\]"):
        children_of([0, 0, 2])
    with refused("degree"):
        k_nomial_parents(4, 1)
    with refused("overhead"):
        fibonacci_parents(4, "third")


def test_a_full_tree_costs_what_its_levels_do():
    for levels in ((59,), (5, 5), (4, 3, 3), (1, 1, 1)):
        parents = level_parents(capacity(levels), levels)
        by_shape, by_levels = tree_broadcast(PHI, parents), small_broadcast(PHI, levels)
        near(by_shape, by_levels.low_ns, by_levels.high_ns)
    near(tree_broadcast(PHI, [0]), 0, 0)
    # 0 has 1 and 2, 1 has 3: at best 2 has acknowledged when 1 has 3's.
    one, two = (277.7 + 2 * 8.6 + contention(PHI, k, b="lines") for k in (1, 2))
    pair = 277.7 + 235.8
    near(
        tree_broadcast(PHI, k_nomial_parents(4, 2)),
        277.7 + two + one + 2 * pair,
        small_broadcast(PHI, (2, 1)).high_ns,
    )
    apart = tree_broadcast(PHI, flat_parents(9), ack="line-per-child")
    assert apart.high_ns - tree_broadcast(PHI, flat_parents(9)).high_ns == pytest.approx(235.8)
    with refused("ack"):
        tree_broadcast(PHI, flat_parents(9), ack="none")


def test_a_line_takes_no_tree_less_than_the_optimum():
    best = predict("broadcast", "model-tree", 60, 8, PHI).low_ns
    assert tree_broadcast(PHI, fibonacci_parents(60, "half")).low_ns < best
    assert predict("broadcast", "fibonacci", 60, 8, PHI).low_ns == best
    longer = tree_broadcast(PHI, fibonacci_parents(60, "half"), 2)
    assert predict("broadcast", "fibonacci", 60, 128, PHI).low_ns == longer.low_ns


@pytest.mark.parametrize("ranks", RANKS)
def test_the_models_tree_is_the_best_of_figure_4_4(ranks):
    others = ["flat", "binomial", "k-nomial:degree=3", "fibonacci", "fibonacci:overhead=quarter"]
    best = predict("broadcast", "model-tree", ranks, 8, PHI)
    for other in others:
        found = predict("broadcast", other, ranks, 8, PHI)
        assert best.low_ns <= found.low_ns + 1e-6, other
        assert best.high_ns <= found.high_ns + 1e-6, other


# alpha, beta, gamma; steps


COSTS = AlphaBeta(100.0, 1.0, 0.5)


def test_allreduces_are_section_5_1_s():
    assert flat_tree(COSTS, 8, 1000, "printed") == pytest.approx(8 * 100 + 2 * 1000 * 7 + 1000 * 7 * 0.5)
    assert flat_tree(COSTS, 8, 1000) == pytest.approx(14 * 100 + 2 * 1000 * 7 + 1000 * 7 * 0.5)
    assert recursive_doubling(COSTS, 8, 1000) == pytest.approx(3 * (100 + 1000 + 500))
    assert bruck(COSTS, 8, 1000) == recursive_doubling(COSTS, 8, 1000)
    assert rabenseifner(COSTS, 8, 1000) == pytest.approx(6 * 100 + 2 * 875 + 875 * 0.5)
    assert rabenseifner(COSTS, 8, 1000, merge_middle=True) == pytest.approx(5 * 100 + 2 * 875 + 1000 * 0.5)
    assert all_reads_all(COSTS, 8, 1000) == pytest.approx(7 * 1600)
    # Section 5.1.2: with 6 ranks two are folded in before and get the result after; the printed form has lg 6.
    assert recursive_doubling(COSTS, 6, 1000) == pytest.approx(2 * 1600 + 1600 + 1100)
    assert recursive_doubling(COSTS, 6, 1000, "printed") == pytest.approx(2.584963 * 1600)
    for name, cost in ALLREDUCES.items():
        assert cost(COSTS, 1, 1000) == 0, name
        assert cost(COSTS, 16, 1000) >= cost(COSTS, 16, 1000, "printed") - 1e-9, name


def test_orderings_of_allreduces():
    best, worst = message_costs(PHI, 1 << 20)
    for costs, ranks in itertools.product((best, worst, COSTS), (16, 61, 244)):
        for size in (
            8,
            1 << 20,
        ):  # section 5.1.5: "the flat tree algorithm performed the worst, as predicted"
            rest = [cost(costs, ranks, size) for cost in (recursive_doubling, bruck, rabenseifner)]
            assert max(rest) < flat_tree(costs, ranks, size)
        assert rabenseifner(costs, ranks, 1 << 20) < recursive_doubling(costs, ranks, 1 << 20)
        assert recursive_doubling(costs, ranks, 8) < rabenseifner(costs, ranks, 8)


def test_message_costs_are_line_costs():
    best, worst = message_costs(PHI, 64)
    assert (best.alpha, best.beta, best.gamma) == pytest.approx((244.4, 76 / 64, 3.8 / 64))
    assert (worst.alpha, worst.beta) == pytest.approx((8.6 + 7 * 235.8 + 20, 94.9 / 64))
    assert message_costs(PHI, 128)[1].alpha == pytest.approx(worst.alpha + 2750.0 - 2017.5 / 2)
    cached = MachineModel(
        "m", {name: c for name, c in PHI.constants.items() if not name.startswith("multi.II")}
    )
    assert message_costs(cached, 128)[1].alpha == pytest.approx(worst.alpha + 1521.0 - 1096.0 / 2)
    with refused("alpha"):
        AlphaBeta(-1.0, 0.0, 0.0)
    with refused("form"):
        bruck(COSTS, 4, 8, "rounded")
    with refused("size_bytes"):
        bruck(COSTS, 4, -1)


def test_steps_are_the_papers():
    # panigrahi-2014 section V and velamati-2007 section 3.2, at 244 ranks, degree 6.
    found = {name: steps(name, 244) for name in STEP_COUNTS}
    assert found == {"dissemination": 8, "tree": 8, "tournament-tree": 12, "binomial-tree": 12, "one-to-all": 2, "k-nomial-tree": 8, "pairwise-exchange": 9}  # fmt: skip
    assert steps("pairwise-exchange", 16) == 4
    assert steps("k-nomial-tree", 16, degree=2) == 8
    assert all(steps(name, 1) == 0 for name in STEP_COUNTS)
    assert [ceil_log(6, n) for n in (1, 6, 7, 216, 217)] == [0, 1, 2, 3, 4]
    assert [floor_log(2, n) for n in (1, 2, 3, 244)] == [0, 1, 1, 7]
    with refused("algorithm"):
        steps("bruck", 4)
    with refused("degree"):
        steps("tree", 4, degree=1)


# Predictions


def calls():
    for operation, names in modelled().items():
        for name, ranks in itertools.product(names, (1, 2, 3, 30, 61, 1024)):
            for size in (0,) if operation == "barrier" else (1, 64, 8192, 1 << 20):
                yield operation, name, ranks, size


def test_everything_modelled_has_a_band_that_grows_with_size():
    before: tuple[object, ...] = ()
    low = 0.0
    for operation, name, ranks, size in calls():
        found = predict(operation, name, ranks, size, PHI)
        assert 0 <= found.low_ns <= found.high_ns
        assert (found.low_ns > 0) == (ranks > 1)
        assert found.source
        assert found.holds(found.low_ns)
        assert not found.holds(found.high_ns + 1)
        if before == (operation, name, ranks):
            assert found.low_ns >= low
        before, low = (operation, name, ranks), found.low_ns


def test_modelled_algorithms_are_phicoll_s():
    for operation, names in modelled().items():
        assert set(names) <= set(phicoll.algorithms(operation).names)


def test_predictions_are_the_equations():
    near(predict("broadcast", "model-tree", 30, 48, PHI).band, 4719.3, 9307.5)
    near(predict("broadcast", "model-tree:k1=4:k2=4:k3=3", 60, 8, PHI).band, 5772.1, 11261.6)
    near(
        predict("barrier", "dissemination-acknowledged:m=4:rounds=printed", 60, 0, PHI).band, 3562.8, 18392.4
    )
    near(predict("barrier", "dissemination-acknowledged:rounds=printed", 60, 0, PHI).band, 3562.8, 18392.4)
    near(predict("reduce", "model-tree:k1=3:k2=3:k3=2", 30, 8, PHI).band, 5310.7, 8918.7)
    near(predict("broadcast", "pipelined-slices", 3, 8192, PHI).band, 14073.05, 16046.05)
    near(predict("broadcast", "flat-large", 3, 8192, PHI).band, 11340.1, 12566.7)
    # Above 48 bytes each level copies: R_L + R_R + c (k - 1) + o N.
    small, line = (predict("broadcast", "flat", 5, size, PHI) for size in (48, 49))
    assert line.low_ns - small.low_ns == pytest.approx(244.4 + 3 * 56.2 + 76.0)
    assert predict("broadcast", "flat", 5, 8, PHI, b="fitted").low_ns > small.low_ns


def test_the_barrier_s_steps_show_where_parameters_change():
    # Section 4.4: "the reason of some variations in the models as seen around 28 processes in Figure 4.7".
    times = [
        predict("barrier", "dissemination-acknowledged:rounds=printed", n, 0, PHI).low_ns
        for n in (25, 27, 28, 36, 37)
    ]
    assert times[0] < times[1] == pytest.approx(3 * (8.6 + 4 * 235.8))
    assert times[2] == times[3] == pytest.approx(2 * (8.6 + 7 * 235.8))
    assert times[4] > times[3]


def test_a_prediction_says_what_was_assumed():
    filled = SANDY.with_family(PHI)
    found = predict("broadcast", "flat", 4, 8, filled)
    assert found.assumed == ("contention.EE.c",)
    assert set(found.used) == {"line.local", "line.remote.M", "line.memory", "contention.EE.c"}
    assert "1 of 4 constants assumed" in str(found)
    assert predict("broadcast", "flat", 4, 8, PHI).assumed == ()
    with pytest.raises(ArgumentError, match=r"contention\.EE\.c"):
        predict("broadcast", "flat", 4, 8, SANDY)


def test_two_ranks_need_no_contention():
    # What two CPUs can determine is enough for two ranks.
    few = {name: c for name, c in PHI.constants.items() if not name.startswith("contention.")}
    two = MachineModel("two", few)
    for operation, names in modelled().items():
        for name in names:
            size = 0 if operation == "barrier" else 4096
            assert predict(operation, name, 2, size, two).band == predict(operation, name, 2, size, PHI).band


def test_start_methods():
    cold = predict("broadcast", "model-tree", 30, 8, "xeon-phi-5110p")
    warm = predict("broadcast", "model-tree", 30, 8, "xeon-phi-5110p", start="warm")
    assert cold.low_ns - warm.low_ns == pytest.approx(4 * (277.7 - 235.8) + 277.7 - 8.6)
    assert "evicted" in cold.source
    assert "warm" in warm.source


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (("scan", "one-shot", 4, 8), "operation"),
        (("barrier", "tree", 4, 0), "algorithm"),
        (("broadcast", "flat,binomial", 4, 8), "algorithm"),
        (("broadcast", "model-tree:k7=2", 4, 8), "k7"),
        (("broadcast", "flat:driven=sender:ack=line-per-child", 4, 8), "driven"),
        (("broadcast", "flat:complete=children", 4, 8), "complete"),
        (("barrier", "dissemination:layout=packed", 4, 0), "layout"),
        (("barrier", "dissemination-acknowledged:ack=line-per-sender", 4, 0), "ack"),
        (("reduce", "model-tree:into=common", 4, 8), "into"),
        (("allreduce", "recursive-doubling:left_computes=yes", 4, 8), "left_computes"),
        (("barrier", "dissemination", 4, 8), "size"),
        (("broadcast", "flat", 4, 0), "size"),
        (("broadcast", "flat", 4, 8.5), "size"),
        (("broadcast", "flat", 0, 8), "ranks"),
        (("broadcast", "flat", 1025, 8), "ranks"),
    ],
)
def test_what_is_not_modelled_is_refused_by_name(call, argument):
    with pytest.raises(ArgumentError, match=argument):
        predict(*call, PHI)


def test_starts_and_intercepts_are_words():
    with refused("start"):
        predict("broadcast", "flat", 4, 8, PHI, start="cold")
    with refused("b"):
        predict("broadcast", "flat", 4, 8, PHI, b="188.2")


def test_bands_add_up():
    near(Band(1, 2) + Band(10, 20) + 100, 111, 122)
    near(sum([Band(1, 2), Band(3, 4)], Band(0, 0)) * 2, 8, 12)
    assert lines_of(65) == 2


def test_the_core_s_reader_of_machine_files_knows_the_same_constants(tmp_path):
    parameters = {
        e.name: {
            "value": e.value,
            "kind": "guessed" if e.kind == "guessed" else "published",
            "source": e.source or "x",
        }
        for e in phicoll.load_machine("xeon-phi-5110p").entries
        if not e.name.startswith("noise.")
    }

    def load(section: dict[str, dict[str, object]]) -> phicoll.Machine:
        file = {
            "phicoll": "machine",
            "name": "all",
            "summary": "of a test",
            "parameters": parameters,
            "model": section,
        }
        return phicoll.load_machine(str(write(tmp_path, file)))

    def entry(unit: str, value: float | None = 1.5) -> dict[str, object]:
        return {"value": value, "unit": unit, "kind": "measured", "source": "a test"}

    assert load({name: entry(meaning.unit) for name, meaning in CONSTANTS.items()}).name == "all"
    for name, meaning in CONSTANTS.items():
        section = {name: entry(meaning.unit, -1.5)}
        if meaning.positive:
            with pytest.raises(ArgumentError, match=name):
                load(section)
            with pytest.raises(ArgumentError, match=name):
                MachineModel.from_json("m", section)
        else:
            load(section)
            MachineModel.from_json("m", section)
    for wrong in (
        {"line.near": entry("ns")},
        {"line.local": entry("GB/s")},
        {"line.local": entry("ns", None)},
    ):
        (name,) = wrong
        with pytest.raises(ArgumentError, match=name):
            load(wrong)
        with pytest.raises(ArgumentError, match=name):
            MachineModel.from_json("m", wrong)
