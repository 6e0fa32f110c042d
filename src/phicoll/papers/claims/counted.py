"""Claims about numbers of rounds and messages, checked exactly on the counting port."""

from __future__ import annotations

import math
from collections.abc import Sequence

from phicoll.papers.claims.counted_data import check_data_counts
from phicoll.papers.claims.counting import Counter, agreement, span
from phicoll.papers.claims.statement import FAILS, HOLDS, Finding
from phicoll.papers.claims.statements import claim

__all__ = ["COUNTED", "check_counts"]

#: The statements that counting judges.
COUNTED = (
    "000-20", "000-21", "000-22", "000-23", "000-24", "001-17", "001-18", "001-20", "001-29", "002-10", "002-12", "002-13",
    "002-25", "003-05", "003-06", "003-07", "003-15", "003-16", "003-17", "004-29",
)  # fmt: skip

RANKS = (*range(2, 34), 48, 60, 61, 63, 64, 65, 100, 127, 128, 129, 240, 244)
PHI = "61x4"


def ceil_log(base: int, n: int) -> int:
    """The smallest e with base^e >= n, by integers, as floating-point logarithms are inexact at powers."""
    exponent, power = 0, 1
    while power < n:
        power *= base
        exponent += 1
    return exponent


def check_counts(counter: Counter, ranks: Sequence[int] = RANKS) -> list[Finding]:
    """The findings on all counted claims."""
    return [
        dissemination_rounds(counter, ranks),
        tree_steps(counter, ranks),
        tournament_steps(counter, ranks),
        binomial_children(counter, ranks),
        who_communicates(counter, ranks),
        ways_rounds(counter, ranks),
        all_at_once(counter, ranks),
        edges_between_cores(counter),
        edges_between_chips(counter),
        exchange_steps(counter, ranks),
        k_nomial_phases(counter, ranks),
        chosen_ways(counter),
        all_heard(counter),
        *check_data_counts(counter, ranks),
    ]


def dissemination_rounds(counter: Counter, ranks: Sequence[int]) -> Finding:
    rows = counter("dissemination:ways=1", ranks, PHI, "balanced")
    found = [(f"P = {r['ranks']}", r["rounds"], ceil_log(2, r["ranks"])) for r in rows]
    return agreement("000-20", found, "rounds", span(ranks))


def ways_rounds(counter: Counter, ranks: Sequence[int]) -> Finding:
    found = []
    ways = (1, 2, 3, 4, 5, 7, 15)
    for f in ways:
        for r in counter(f"dissemination:ways={f}", ranks, PHI, "balanced"):
            found.append(
                (f"N = {r['ranks']}, f = {f}", r["rounds"], ceil_log(min(f, r["ranks"] - 1) + 1, r["ranks"]))
            )
    return agreement("001-17", found, "rounds", f"{span(ranks)}; f = {', '.join(map(str, ways))}")


def tree_steps(counter: Counter, ranks: Sequence[int]) -> Finding:
    found = []
    for k in (2, 3, 4, 8, 6):
        for r in counter(f"tree:degree={k}", ranks, PHI, "balanced"):
            found.append((f"P = {r['ranks']}, k = {k}", r["rounds"], 2 * ceil_log(k, r["ranks"])))
    remark = (
        " A heap tree of degree k holds k + k^2 + ... ranks below its root, so its depth can be one less than "
        "the printed logarithm."
    )
    found.sort(key=lambda one: int(one[0].split(",")[0].split()[-1]))  # the largest P serves as the example
    return agreement("000-21", found, "rounds", f"{span(ranks)}; k = 2, 3, 4, 6, 8", remark)


def tournament_steps(counter: Counter, ranks: Sequence[int]) -> Finding:
    k = 6
    rows = counter(f"tournament-tree:release_degree={k}", ranks, PHI, "balanced")
    found = [
        (f"P = {r['ranks']}, k = {k}", r["rounds"], ceil_log(2, r["ranks"]) + ceil_log(k, r["ranks"]))
        for r in rows
    ]
    remark = (
        " Rounds are messages in a row: a step in which only others take part adds none, and the heap tree down is "
        "as shallow as in 000-21."
    )
    return agreement(
        "000-22", found, "rounds", f"{span(ranks)}; k = {k}, which the paper does not state", remark
    )


def binomial_children(counter: Counter, ranks: Sequence[int]) -> Finding:
    rows = counter("binomial-tree:release=binomial", ranks, PHI, "balanced")
    found = [(f"P = {r['ranks']}", r["notifications"], 2 * (r["ranks"] - 1)) for r in rows]
    missed = [p for p in range(1, 1025) if sorted(covered(p)) != list(range(1, p))]
    remark = (
        f" The rule, for every P from 1 to 1,024, names each rank but the root "
        f"{'exactly once' if not missed else f'not exactly once at P = {missed[0]}'}; the counted runs gather and "
        "release with 2 (P - 1) messages, and no rank left before it had heard of all."
    )
    finding = agreement("000-23", found, "messages", span(ranks), remark)
    if missed and finding.verdict == HOLDS:
        return Finding(finding.claim, FAILS, finding.measured, "counted", finding.under, finding.values)
    return finding


def covered(ranks: int) -> list[int]:
    """All children of all ranks: rank + 2^i with log2(rank) < i < ceil(log2 P), below P."""
    found = []
    top = ceil_log(2, ranks)
    for rank in range(ranks):
        first = rank.bit_length()  # the smallest i above log2(rank), and 0 for the root
        found += [rank + (1 << i) for i in range(first, top) if rank + (1 << i) < ranks]
    return found


def who_communicates(counter: Counter, ranks: Sequence[int]) -> Finding:
    flat = {r["ranks"]: r for r in counter("dissemination:ways=1", ranks, PHI, "balanced")}
    tree = {r["ranks"]: r for r in counter("tree:degree=6", ranks, PHI, "balanced")}
    large = [p for p in flat if p > 2]
    right = all(flat[p]["notifications"] == p * ceil_log(2, p) for p in flat)
    fewer = all(tree[p]["notifications"] == 2 * (p - 1) for p in tree)
    top = max(large)
    text = (
        f"Dissemination sends {flat[top]['notifications']:,} messages at P = {top} ({top} in each of "
        f"{flat[top]['rounds']} rounds), the tree of degree 6 {tree[top]['notifications']:,} in all "
        f"({tree[top]['rounds']} rounds)."
    )
    fewer = fewer and all(tree[p]["notifications"] < flat[p]["notifications"] for p in large)
    return Finding(claim("000-24"), HOLDS if right and fewer else FAILS, text, "counted", span(ranks))


def all_at_once(counter: Counter, ranks: Sequence[int]) -> Finding:
    rows = counter("dissemination:ways=1023", ranks, PHI, "balanced")
    found = [(f"N = {r['ranks']}", r["notifications"], r["ranks"] * (r["ranks"] - 1)) for r in rows]
    one_round = all(r["rounds"] == 1 for r in rows)
    remark = " Always one round." if one_round else " More than one round."
    return agreement("001-18", found, "notifications", span(ranks), remark)


def rounds_across(ranks: int, contexts: int) -> list[int]:
    """The number of messages between cores in each round of dissemination; consecutive ranks share a core."""
    return [
        sum(rank // contexts != ((rank + (1 << k)) % ranks) // contexts for rank in range(ranks))
        for k in range(ceil_log(2, ranks))
    ]


def edges_between_cores(counter: Counter) -> Finding:
    ranks, contexts = 240, 4
    flat = counter("dissemination:ways=1", [ranks], "60x4", "balanced")[0]["edges_between_cores"]
    hybrid = counter("hybrid-dissemination:group=core:leaders=last:ways=1", [ranks], "60x4", "balanced")[0]
    across = rounds_across(ranks, contexts)
    between = hybrid["edges_between_cores"]
    cores = ranks // contexts
    text = (
        f"Dissemination: {', '.join(map(str, across))} messages between cores in its {len(across)} rounds, {flat:,} "
        f"in all. Hybrid: {between:,}, from {cores} cores in {ceil_log(2, cores)} rounds."
    )
    # The arithmetic says in which round an edge lies, the counted total that it is about the same barrier.
    good = all(across) and flat == sum(across) and between == cores * ceil_log(2, cores)
    return Finding(claim("001-20"), HOLDS if good else FAILS, text, "counted", "240 ranks on 60 x 4 contexts, balanced",
                   {"dissemination": flat, "hybrid": between})  # fmt: skip


def edges_between_chips(counter: Counter) -> Finding:
    ranks = 16
    flat = counter("dissemination:ways=1", [ranks], "2x8", "compact")[0]["edges_between_cores"]
    pair = counter("pairwise-exchange", [ranks], "2x8", "compact")[0]["edges_between_cores"]
    across = rounds_across(ranks, 8)
    text = (
        f"Dissemination crosses in {sum(map(bool, across))} of {len(across)} phases ({flat} messages), pairwise "
        f"exchange with {pair} messages: {pair // ranks} phase of {ranks}."
    )
    good = all(across) and flat == sum(across) and pair == ranks
    return Finding(
        claim("002-10"), HOLDS if good else FAILS, text, "counted", "16 ranks, 8 on each of two chips"
    )


def exchange_steps(counter: Counter, ranks: Sequence[int]) -> Finding:
    odd = [p for p in ranks if p & (p - 1)]
    rows = counter("pairwise-exchange", odd, PHI, "balanced")
    found = [(f"P = {r['ranks']}", r["rounds"], 2 + ceil_log(2, r["ranks"])) for r in rows]
    floor = sum(r["rounds"] <= 2 + int(math.log2(r["ranks"])) for r in rows)
    remark = (
        f" 2 + floor(log2 P) is never exceeded ({floor} of {len(rows)} cases): ranks above the largest power of two fold "
        "onto the others."
    )
    return agreement("002-12", found, "rounds", f"{len(odd)} counts, no powers of two", remark)


def k_nomial_phases(counter: Counter, ranks: Sequence[int]) -> Finding:
    found = []
    for k in (2, 3, 4, 8):
        for r in counter(f"k-nomial-tree:degree={k}", ranks, PHI, "balanced"):
            # Up and down; messages in a row, so a phase in which only others are informed adds none.
            found.append((r["ranks"], k, r["rounds"], 2 * ceil_log(k, r["ranks"])))
    over = [one for one in found if one[2] > one[3]]
    equal = sum(counted == formula for _, _, counted, formula in found)
    text = (
        f"Messages in a row, up and down: equal to 2 ceil(log_k P) in {equal} of {len(found)} cases, "
        f"{'never' if not over else f'in {len(over)} cases'} more. They are fewer where the last phase informs only "
        "ranks high in the tree."
    )
    return Finding(claim("002-13"), FAILS if over or not equal else HOLDS, text, "counted",
                   f"{span(ranks)}; k = 2, 3, 4, 8; gather and release both")  # fmt: skip


def chosen_ways(counter: Counter) -> Finding:
    rows = counter("dissemination-acknowledged:m=0:rounds=printed", [30, 60], "60x4", "balanced")
    chosen = [int(r["effective"].split(":m=")[1].split(":")[0]) for r in rows]
    text = f"The minimiser in the core chooses m = {chosen[0]} for 30 ranks and m = {chosen[1]} for 60."
    return Finding(claim("004-29"), HOLDS if chosen == [6, 4] else FAILS, text, "counted",
                   "the barrier's part; rounds as printed, log_m")  # fmt: skip


#: Settings with sense reversal, for the claim that barriers can be reused at once.
SENSE = (
    "sense-reversing:reset=sense,combining-tree:reset=sense,combining-tree:notify=global:reset=sense,"
    "static-tournament:reset=sense,dynamic-tournament:reset=sense,dissemination:reset=sense,"
    "hybrid-dissemination:reset=sense"
)
SENSE_RANKS = (*range(1, 18), 31, 60)


def all_heard(counter: Counter) -> Finding:
    """Counting follows who has heard of whom through three calls in a row, and raises an error where a rank left too soon."""
    rows = counter(f"all,{SENSE}", SENSE_RANKS, PHI, "balanced")
    specs = {row["spec"] for row in rows}
    text = f"In {len(specs)} settings, sense reversal among them, every rank had heard of every other in three calls in a row."
    return Finding(
        claim("001-29"), HOLDS, text, "counted", f"{span(SENSE_RANKS)}; a finite check", {"cases": len(rows)}
    )
