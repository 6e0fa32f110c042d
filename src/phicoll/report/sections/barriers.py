"""Every barrier beside the hand-written reference: one figure, the findings in sentences, the numbers."""

from __future__ import annotations

from phicoll.foundations.markup import Html, code, fill, join
from phicoll.papers.claims.versus import family_ratio
from phicoll.registry import short_spec
from phicoll.report.material.evidence import Evidence, crowded
from phicoll.report.material.figures import figures
from phicoll.report.material.html import bullets, details, duration, figure, number, paragraph, span
from phicoll.report.material.parts import Part
from phicoll.report.material.ratios import Setting, hand_written_of
from phicoll.report.sections.common import barrier_table, made, names, raw, times, where
from phicoll.results.compare.units import MIN_UNITS

TITLE = "Barriers beside the hand-written reference"
ANCHOR = "barriers"


def body(evidence: Evidence) -> Html:
    if not evidence.mains:
        return Html()
    text = paragraph(
        "The reference is a loop written by hand for one case: one flag for each of two ranks, or a counter for each CPU where ranks share "
        "CPUs; nothing checked, nothing configurable. It is no bound: a barrier may be faster. All ran in the same rounds."
    )
    if any(crowded(part) for part in evidence.mains):
        text += paragraph(
            "Where ranks share CPUs a barrier costs switches: each rank has to get the CPU before the last can know that all have arrived, "
            "so p ranks on c CPUs need p/c - 1 on every CPU at least."
        )
    known = figures(evidence)
    drawn = figure(
        "barriers",
        known["barriers"](),
        "Time of a call over the hand-written reference’s in the same rounds, with the exact 95 % interval of the median ratio "
        "(Holm-corrected). Left of the dashed line is faster; a number at the right edge lies beyond the axis.",
        "Ratios of every barrier to the hand-written reference",
        made("barriers", evidence),
        raw(evidence),
    )
    points = bullets(point for part in evidence.mains for point in part_points(part))
    tables = details("The numbers", join("", map(barrier_table, evidence.mains)))
    return text + drawn + points + tables


def part_points(part: Part) -> list[Html]:
    """The findings of one comparison."""
    settings = part.settings
    points = [
        best_point(part, setting)
        for (definition, mode), setting in settings.items()
        if mode == "threads" or not any(m == "threads" for d, m in settings if d == definition)
    ]
    return [*points, modes_point(part, settings), few_point(part)]


def best_point(part: Part, setting: Setting) -> Html:
    """The best barrier, its ratio to the hand-written reference, and which barriers tie with it."""
    tied = setting.tied()
    if tied is None:
        return Html()
    best, others = tied
    assert best.time is not None
    start = {"loop": "back to back", "window": "from a common start"}.get(
        setting.definition, setting.definition
    )
    units = best.in_units
    text = fill("<b>{}, {}, {}.</b> The fastest is ", where(part), setting.mode, start)
    text += fill("{} with {}", code(best.name), duration(best.time.median))
    if units:
        text += fill(", {} {} {}", number(units.median), best.subject.unit, span(units.low, units.high))
    hand = hand_written_of(setting)
    if hand and best.subject in hand.ratios:
        text += fill(", {} as long as {}", times(hand.ratios[best.subject]), code(hand.name))
    text += "."
    same = [row for row, ratio in others if not ratio.resolved]
    if same:
        text += fill(" Not resolved from it: {}.", names(same, 4))
    elif others:
        row, ratio = others[0]
        text += fill(" The next, {}, takes {} as long.", code(row.name), times(ratio))
    return text + auto_words(setting)


def auto_words(setting: Setting) -> Html:
    """The choice of `auto`, and its cost against the best of the others."""
    auto = {s: of for s, of in setting.ours.items() if s.algorithm == "auto"}
    others = {s: of for s, of in setting.ours.items() if s.algorithm != "auto"}
    ratio = family_ratio(auto, others)
    if ratio is None:
        return Html()
    chosen = setting.rows[next(iter(auto))].chosen or {}
    name = short_spec("barrier", str(chosen.get("spec") or ""))
    if ratio.low <= 1:
        return fill(" {} chose {}.", code("auto"), code(name)) if name else Html()
    chose = fill(" chose {} and", code(name)) if name else ""
    return fill(" {}{} takes {} as long as {}.", code("auto"), chose, times(ratio), code(ratio.theirs))


def modes_point(part: Part, settings: dict[tuple[str, str], Setting]) -> Html:
    """Threads against processes for the best barrier, within rounds."""
    loops = {mode: setting for (d, mode), setting in settings.items() if d == "loop"}
    if not {"threads", "processes"} <= set(loops):
        return Html()
    tied = loops["threads"].tied()
    if tied is None:
        return Html()
    best = tied[0]
    group = {m: {s: of for s, of in loops[m].ours.items() if s.spec == best.subject.spec} for m in loops}
    ratio = family_ratio(group["processes"], group["threads"])
    if ratio is None:
        return Html()
    text = fill("<b>{}, processes.</b> {} takes {} as long between processes as between threads", where(part),
                code(best.name), times(ratio))  # fmt: skip
    return text + (": no difference resolved." if ratio.low <= 1 <= ratio.high else ".")


def few_point(part: Part) -> Html:
    """How many rows have wide intervals."""
    rows = [row for setting in part.settings.values() for row in setting.rows.values()]
    few = sum(row.units < MIN_UNITS for row in rows)
    if not few:
        return Html()
    words = "At {}, {} of {} rows rest on fewer than {} independent units: wide intervals."
    return fill(words, where(part), few, len(rows), MIN_UNITS)
