"""What a native run finds of the papers' claims: which barrier is faster, and whether every barrier is correct.

Statements on time are about the papers' machines, so this is no verdict on them: :func:`phicoll.claims.report` has those.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from phicoll.papers.claims.statement import AS_STATED, NOT_MEASURED, OTHERWISE, UNRESOLVED, Finding
from phicoll.papers.claims.statements import claim
from phicoll.papers.claims.versus import Versus, family_ratio
from phicoll.results import Results
from phicoll.results.reading.observations import Observation
from phicoll.results.reading.records import verified_calls
from phicoll.results.reading.subject import Subject

__all__ = ["addresses", "check_native", "correctness", "faster", "order"]

Group = dict[Subject, list[Observation]]

TREES = ("tree", "binomial-tree", "tournament-tree")
NOT_TREES = ("dissemination", "centralized-bytes", "centralized-lines")
PEERS = ("pairwise-exchange", "dissemination")
GATHERS = ("one-to-all", "signal-register", "k-nomial-tree")


def group_of(
    results: Results, *, specs: Iterable[str], ranks: int, mode: str, definition: str = "loop"
) -> Group:
    """Verified observations of subjects whose spec begins with one of ``specs`` and its parameters.

    Where a setting has remote and same-core rounds, only the remote ones; a name alone stands for its defaults.
    """
    found: Group = {}
    for subject, of in results.observations.by_subject.items():
        if (subject.ranks, subject.mode, subject.definition) != (ranks, mode, definition):
            continue
        if any(matches(subject.spec, wanted) for wanted in specs) and all(o.verified for o in of):
            found[subject] = of
    remote = {subject: of for subject, of in found.items() if subject.label != "same-core"}
    return remote or found


def matches(spec: str, wanted: str) -> bool:
    """Whether ``spec`` has the name and every parameter that ``wanted`` names."""
    have, want = spec.split(":"), wanted.split(":")
    return have[0] == want[0] and set(want[1:]) <= set(have[1:])


def faster(
    number: str,
    results: Results,
    *,
    ours: Sequence[str],
    theirs: Sequence[str],
    ranks: int,
    mode: str,
    definition: str = "loop",
    under: str = "",
) -> Finding:
    """The best of ``ours`` against the best of ``theirs``, both chosen on odd rounds and compared on even ones."""
    mine = group_of(results, specs=ours, ranks=ranks, mode=mode, definition=definition)
    other = group_of(results, specs=theirs, ranks=ranks, mode=mode, definition=definition)
    ratio = family_ratio(mine, other)
    if ratio is None:
        return nothing(number, under)
    return Finding(claim(number), verdict_of(ratio), sentence(ratio), "measured", under, ratio.to_dict())


def verdict_of(ratio: Versus) -> str:
    """Below 1 as a whole: as stated. Above 1: otherwise. Else not resolved."""
    if not ratio.enough:
        return UNRESOLVED
    return AS_STATED if ratio.high < 1 else OTHERWISE if ratio.low > 1 else UNRESOLVED


def sentence(ratio: Versus) -> str:
    return (
        f"{ratio.ours} takes {ratio.median:.2f} times as long as {ratio.theirs} [{ratio.low:.2f}, {ratio.high:.2f}], "
        f"{ratio.units} {'launches' if ratio.unit == 'launch' else 'rounds'}."
    )


def nothing(number: str, under: str) -> Finding:
    return Finding(claim(number), NOT_MEASURED, "The run has no rounds in which both sides were measured and verified.",
                   "measured", under)  # fmt: skip


def order(
    number: str, results: Results, pairs: Sequence[tuple[str, str]], *, ranks: int, mode: str, under: str
) -> Finding:
    """A finding on several comparisons, all of which must hold: each pair is (expected faster, expected slower).

    The intervals hold jointly (Bonferroni over the pairs).
    """
    found: list[Versus] = []
    for quick, slow in pairs:
        ratio = family_ratio(
            group_of(results, specs=[quick], ranks=ranks, mode=mode),
            group_of(results, specs=[slow], ranks=ranks, mode=mode),
            comparisons=len(pairs),
        )
        if ratio is not None:
            found.append(ratio)
    if not found:
        return nothing(number, under)
    verdicts = [verdict_of(ratio) for ratio in found]
    verdict = (
        AS_STATED if set(verdicts) == {AS_STATED} else OTHERWISE if OTHERWISE in verdicts else UNRESOLVED
    )
    parts = [f"{r.ours} / {r.theirs}: {r.median:.2f} [{r.low:.2f}, {r.high:.2f}]" for r in found]
    text = "Time ratios, below 1 as stated: " + "; ".join(parts) + "."
    return Finding(claim(number), verdict, text, "measured", under,
                   {"ratios": [r.to_dict() for r in found], "verdicts": verdicts})  # fmt: skip


def correctness(results: Results) -> Finding:
    """Claim 001-29: every measured barrier was verified."""
    points = [p for p in results.points if p.get("origin") != "reference"]
    if not points:
        return nothing("001-29", "")
    final = {(p.get("run"), p["point"]): p for p in points}
    bad = sorted({p["spec"] for p in final.values() if not p.get("verified")})
    calls = sum(verified_calls(p) for p in final.values())
    ranks = sorted({p["ranks"] for p in final.values()})
    specs = {p["spec"] for p in final.values()}
    text = (
        f"{len(specs)} barriers kept their promise in {calls:,} checked calls at {words(ranks)} ranks, threads and "
        f"processes: no rank left before all had entered."
    )
    if bad:
        text = f"Not verified: {', '.join(bad)}. " + text
    verdict = OTHERWISE if bad else AS_STATED
    return Finding(claim("001-29"), verdict, text, "measured", "a finite check, which can refute but not prove",
                   {"unverified": bad, "calls": calls})  # fmt: skip


def words(ranks: Sequence[int]) -> str:
    return ", ".join(map(str, ranks[:-1])) + (" and " if len(ranks) > 1 else "") + str(ranks[-1])


# Addresses: the same places visited again and again in one launch.

PERMUTATIONS = 2000
SMALL_EFFECT = 0.03


def addresses(results: Results, algorithm: str = "sense-reversing", seed: int = 1) -> list[Finding]:
    """001-24 and 001-25: how much times vary between places, and how much at one place.

    ``results`` is a run that visits each place several times in one launch.
    """
    under = f"{algorithm}, 2 threads, one launch"
    passes: dict[int, dict[int, float]] = {}
    of = next((of for s, of in results.observations.by_subject.items()
               if s.algorithm == algorithm and s.definition == "loop" and s.label != "same-core"), [])  # fmt: skip
    for o in of:
        place = o.probes.get("place")
        if place is not None and o.verified:
            number = sum(place in by for by in passes.values())
            passes.setdefault(number, {})[place] = float(np.log(max(o.ns, 1e-3)))
    places = sorted(set.intersection(*(set(by) for by in passes.values()))) if len(passes) >= 2 else []
    # The last pass may be cut short: what was visited in every full pass counts.
    while len(places) < 16 and len(passes) > 2:
        passes.pop(max(passes))
        places = sorted(set.intersection(*(set(by) for by in passes.values())))
    if len(places) < 16:
        return [
            Finding(
                claim(n),
                NOT_MEASURED,
                "Too few remote rounds at the same places in this run.",
                "measured",
                under,
            )
            for n in ("001-24", "001-25")
        ]
    table = np.array([[passes[k][place] for place in places] for k in sorted(passes)])
    table = table - np.median(table, axis=1, keepdims=True)  # each pass has its own speed
    agreement, variance, p_value = place_effect(table, seed)
    within = float(np.exp(np.percentile(np.abs(table - np.median(table, axis=0)), 90)) - 1)
    spread = float(np.exp(2 * 1.645 * np.sqrt(variance)) - 1)
    under += f", {len(places)} places of the flags visited {len(table)} times each"
    values = {"p": p_value, "agreement": agreement, "spread": spread, "within": within}
    resolved = p_value <= 0.01
    differ = Finding(
        claim("001-25"),
        UNRESOLVED if not resolved else AS_STATED if spread >= SMALL_EFFECT else OTHERWISE,
        f"Odd and even visits agree on which places are slow: r = {agreement:.2f} (permutation test, p {format_p(p_value)}). "
        f"By what they share, the middle nine tenths of the places differ by {spread:.1%}; {SMALL_EFFECT:.0%} would count.",
        "measured",
        under,
        values,
    )
    calm = within < SMALL_EFFECT or (resolved and within < spread / 3)
    same = Finding(
        claim("001-24"),
        AS_STATED if calm else OTHERWISE if within > 2 * SMALL_EFFECT else UNRESOLVED,
        f"At one place nine tenths of the visits are within {within:.1%} of its median (places differ by "
        f"{spread:.1%}). Negligible: below {SMALL_EFFECT:.0%} or a third of the spread over places.",
        "measured",
        under + "; includes a virtual machine's own jumps",
        values,
    )
    return [same, differ]


def place_effect(table: np.ndarray, seed: int) -> tuple[float, float, float]:
    """The effect of places in a table (pass, place) of times.

    Returns
    -------
    tuple
        The correlation of the places' medians in odd and in even passes; their covariance, which is the variance
        that belongs to the places themselves; and the one-sided p-value of permuting the places of one half.
    """
    random = np.random.default_rng(seed)
    odd, even = np.median(table[::2], axis=0), np.median(table[1::2], axis=0)
    odd, even = odd - odd.mean(), even - even.mean()
    scale = float(np.sqrt((odd**2).sum() * (even**2).sum()))
    if scale <= 0:
        return 0.0, 0.0, 1.0
    seen = float(odd @ even)
    hits = sum(float(odd @ random.permutation(even)) >= seen for _ in range(PERMUTATIONS))
    return seen / scale, max(0.0, seen / (len(odd) - 1)), (hits + 1) / (PERMUTATIONS + 1)


def format_p(p: float) -> str:
    return f"= {p:.2g}" if p > 1.5 / (PERMUTATIONS + 1) else f"below {2 / (PERMUTATIONS + 1):.1g}"


def check_native(main: Results, shared: Results | None, repeated: Results | None) -> list[Finding]:
    """What a demo's runs found.

    Parameters
    ----------
    main:
        All barriers, at two ranks and at more, threads and processes.
    shared:
        The papers' variants, threads, at the largest number of ranks; or ``None``.
    repeated:
        One launch that visits its places again and again; or ``None``.
    """
    ranks = sorted({p["ranks"] for p in main.points})
    modes = {p["mode"] for p in main.points}
    if not ranks:
        return []
    top = ranks[-1]
    mode = "processes" if "processes" in modes else "threads"
    crowded = any(p.get("oversubscribed") for p in main.points if p["ranks"] == top)
    where = f"{top} {mode} on this machine" + (", more ranks than CPUs" if crowded else "")
    findings = [
        faster("000-14", main, ours=TREES, theirs=NOT_TREES, ranks=top, mode=mode, under=where),
        faster(
            "002-08",
            main,
            ours=PEERS,
            theirs=GATHERS,
            ranks=top,
            mode="threads",
            under=where.replace(mode, "threads"),
        ),
        correctness(main),
    ]
    if shared is not None and shared.points:
        at = max(p["ranks"] for p in shared.points)
        there = f"{at} threads on this machine" + (", more ranks than CPUs" if crowded else "")
        trees = ("combining-tree:arity=4", "static-tournament:ways=2", "dynamic-tournament:ways=2")
        findings += [
            order("001-03", shared, [(f"{t}:notify=local", f"{t}:notify=global") for t in trees], ranks=at,
                  mode="threads", under=there),
            order("001-04", shared, [("sense-reversing", f"combining-tree:arity={a}:notify=global") for a in (2, 4, 8)],
                  ranks=at, mode="threads", under=there),
            order("001-05", shared, [(f"combining-tree:arity={a}:notify=global", f"combining-tree:arity={b}:notify=global")
                                     for a, b in ((4, 2), (8, 4))], ranks=at, mode="threads", under=there),
            faster("001-06", shared, ours=("dissemination", "combining-tree:arity=4:notify=local"),
                   theirs=("sense-reversing", "static-tournament", "dynamic-tournament", "combining-tree:notify=global"),
                   ranks=at, mode="threads", under=there),
        ]  # fmt: skip
    if repeated is not None and repeated.points:
        findings.append(
            order("001-09", repeated, [("sense-reversing:wait=pause", "sense-reversing:wait=spin")], ranks=2, mode="threads",
                  under="2 threads, one pause instruction or none; the paper's delay is 64 cycles of another machine")
        )  # fmt: skip
        findings += addresses(repeated)
    return findings
