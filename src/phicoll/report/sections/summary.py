"""The findings of the run, in sentences made from its numbers."""

from __future__ import annotations

from phicoll.papers.claims import ELSEWHERE, FAILS, HOLDS, tally
from phicoll.papers.claims.versus import family_ratio
from phicoll.registry import short_spec
from phicoll.report.evidence import Evidence, crowded
from phicoll.report.html import code, duration, number, span
from phicoll.report.parts import Part
from phicoll.report.ratios import Setting, hand_written_of
from phicoll.report.sections.common import names, times, where
from phicoll.results.compare import Row
from phicoll.results.compare.units import MIN_UNITS

TITLE = "In short"
ANCHOR = "short"


def body(evidence: Evidence) -> str:
    points = [] if evidence.mains else ["<b>Nothing was measured and verified.</b>"]
    points += [sentence for part in evidence.mains for sentence in part_points(part)]
    points += [claims_point(evidence), trust_point(evidence)]
    return '<ul class="points">' + "".join(f"<li>{point}</li>" for point in points if point) + "</ul>"


def part_points(part: Part) -> list[str]:
    """The findings of one comparison."""
    assert part.results is not None
    settings = part.settings
    points = []
    for (definition, mode), setting in settings.items():
        if mode == "threads" or not any(m == "threads" for d, m in settings if d == definition):
            points.append(best_point(part, setting))
    points.append(modes_point(part, settings))
    return points


def best_point(part: Part, setting: Setting) -> str:
    """The best barrier, its ratio to the hand-written reference, which barriers tie with it, and its lead over the other systems."""
    tied = setting.tied()
    if tied is None:
        return ""
    best, others = tied
    assert best.time is not None
    head = {"loop": "back to back", "window": "from a common start"}.get(
        setting.definition, setting.definition
    )
    units = best.in_units
    text = f"<b>{where(part)}, {setting.mode}, {head}.</b> The fastest is {code(best.name)} with {duration(best.time.median)} a call"
    if units:
        text += f", {number(units.median)} {best.subject.unit} {span(units.low, units.high)}"
    text += "."
    hand = hand_written_of(setting)
    if hand and best.subject in hand.ratios:
        ratio = hand.ratios[best.subject]
        text += f" It takes {times(ratio)} as long as the hand-written reference, {code(hand.name)}."
        if ratio.low <= 1 <= ratio.high:
            text += " A difference is not resolved."
    same = [row for row, ratio in others if not ratio.resolved]
    if same:
        text += f" Not resolved from it: {names(same)}."
    elif others:
        row, ratio = others[0]
        text += f" The next, {code(row.name)}, takes {times(ratio)} as long."
    text += auto_words(setting)
    lead = setting.lead()
    if lead is not None:
        if lead.low > 1:
            text += f" The best of other systems, {code(lead.ours)}, takes {times(lead)} as long."
        elif lead.high < 1:
            text += f" A barrier of another system, {code(lead.ours)}, is faster: {times(lead)} its time."
        else:
            text += f" Whether the best of other systems, {code(lead.ours)}, differs is not resolved: {times(lead)} its time."
    return text


def auto_words(setting: Setting) -> str:
    """The choice of `auto`, and its cost against the best of the others."""
    auto = {s: of for s, of in setting.ours.items() if s.algorithm == "auto"}
    others = {s: of for s, of in setting.ours.items() if s.algorithm != "auto"}
    ratio = family_ratio(auto, others)
    if ratio is None:
        return ""
    chosen = setting.rows[next(iter(auto))].chosen or {}
    name = short_spec("barrier", str(chosen.get("spec") or ""))
    if ratio.low <= 1 <= ratio.high or ratio.high < 1:  # the previous sentences have said it
        return f" {code('auto')} chose {code(name)}." if name else ""
    chose = f" chose {code(name)} and" if name else ""
    return f" {code('auto')}{chose} takes {times(ratio)} as long as {code(ratio.theirs)}."


def modes_point(part: Part, settings: dict[tuple[str, str], Setting]) -> str:
    """Threads against processes for the best barrier, within rounds."""
    loops = {mode: setting for (d, mode), setting in settings.items() if d == "loop"}
    if not {"threads", "processes"} <= set(loops):
        return ""
    tied = loops["threads"].tied()
    if tied is None:
        return ""
    best: Row = tied[0]
    group = {m: {s: of for s, of in loops[m].ours.items() if s.spec == best.subject.spec} for m in loops}
    ratio = family_ratio(group["processes"], group["threads"])
    if ratio is None:
        return ""
    text = f"<b>{where(part)}, processes.</b> {code(best.name)} between processes takes {times(ratio)} as long as between threads"
    if ratio.low <= 1 <= ratio.high:
        return text + ": no difference resolved."
    return text + ", over the same places and launches."


def claims_point(evidence: Evidence) -> str:
    words = {HOLDS: "hold", FAILS: "do not hold as stated", ELSEWHERE: "do not carry over to this machine"}
    parts = [f"{count} {words.get(verdict, verdict)}" for verdict, count in tally(evidence.findings).items()]
    if not parts:
        return ""
    return f'<b>The papers’ claims.</b> Of {len(evidence.findings)} checked, {", ".join(parts)}; <a href="#claims">each with its evidence</a>.'


def trust_point(evidence: Evidence) -> str:
    """What a reader has to know before quoting a number."""
    words = []
    rounds = evidence.results.rounds
    distinct = [r for r in rounds if r.get("pingpong_ns") and r.get("label") == "remote"]
    if distinct:
        pings = sorted(r["pingpong_ns"] for r in distinct)
        tenth, ninth = pings[len(pings) // 10], pings[(len(pings) * 9) // 10]
        same = sum(r.get("label") == "same-core" for r in rounds)
        load = (evidence.context.get("host") or {}).get("load") or [0]
        if load[0] > 0.5:
            words.append(f"The machine was not idle: the load was {load[0]:.1f} when the run began.")
        words.append(
            f"One line took {number(tenth)} to {number(ninth)} ns from one CPU to the other in the middle 80 % of {len(distinct):,} rounds; "
            + (
                f"{same} more ran on one physical core and are kept separate"
                if same
                else "no round ran on one physical core"
            )
            + "."
        )
    for part in evidence.mains:
        assert part.results is not None
        rows = [row for setting in part.settings.values() for row in setting.rows.values()]
        few = [row for row in rows if row.units < MIN_UNITS]
        if few:
            words.append(
                f"At {where(part)}, {len(few)} of {len(rows)} rows rest on fewer than {MIN_UNITS} independent units (launches differ), "
                "so their intervals are wide."
            )
        if crowded(part) and part.results.reason == "budget":
            words.append(f"The time ran out at {where(part)} before all planned rounds were made.")
    bad = evidence.results.unverified
    if bad:
        words.append(f"<b>{len(bad)} points failed verification</b> and are not counted anywhere.")
    elif evidence.results.points:
        words.append("Every barrier was verified before it was timed, in the same processes.")
    return "<b>How far to trust the numbers.</b> " + " ".join(words)
