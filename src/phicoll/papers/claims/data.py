"""What a native run finds of claims on operations that move data: which algorithm is faster.

A claim is a list of comparisons, all of which must hold. :func:`wanted` lists what to measure for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from phicoll.papers.claims.native import Group, matches, nothing, verdict_of
from phicoll.papers.claims.statement import AS_STATED, OTHERWISE, UNRESOLVED, Finding
from phicoll.papers.claims.statements import claim
from phicoll.papers.claims.versus import Versus, family_ratio
from phicoll.results import Results

__all__ = ["STATED", "Comparison", "Stated", "check_data", "wanted"]

PUT_GET, LOAD_STORE = "transfer=put-get", "transfer=load-store"
ALLREDUCES = ("flat-tree", "recursive-doubling", "bruck", "rabenseifner")
#: A time ratio within this of 1 is a small difference.
SMALL = 1.25


@dataclass(frozen=True)
class Side:
    operation: str
    spec: str


@dataclass(frozen=True)
class Comparison:
    """A statement that ``quick`` takes less time than ``slow`` at a size; between two ranks if ``pair``, else all."""

    quick: Side
    slow: Side
    size: int
    pair: bool = False


@dataclass(frozen=True)
class Stated:
    """The comparisons that must hold for a claim. ``close``: the difference must be small, whatever its direction."""

    number: str
    comparisons: tuple[Comparison, ...]
    remark: str = ""
    close: bool = False


def both(
    operation: str, quick: str, slow: str, sizes: Sequence[int], pair: bool = False
) -> tuple[Comparison, ...]:
    return tuple(Comparison(Side(operation, quick), Side(operation, slow), size, pair) for size in sizes)


def against_all(best: str, sizes: Sequence[int]) -> tuple[Comparison, ...]:
    return tuple(
        one
        for other in ALLREDUCES
        if other != best
        for one in both("allreduce", f"{best}:{PUT_GET}", f"{other}:{PUT_GET}", sizes)
    )


STATED = (
    Stated("000-27", both("broadcast", "double-buffered", "centralized", (64 << 10, 256 << 10, 1 << 20)),
           "The order only; the factor is the paper's machine's."),
    Stated("002-15", both("broadcast", "local-store-tree:buffers=2", "local-store-tree:buffers=1", (256 << 10, 1 << 20)),
           "Looked at in the broadcast through local stores."),
    Stated("002-26", tuple(Comparison(Side("broadcast", f"{spec}{two}"), Side("reduce", spec), size)
                           for spec, two in (("local-store-tree", ":buffers=2"), ("piece-per-rank", ""))
                           for size in (4 << 10, 256 << 10))),
    Stated("003-01", both("allreduce", f"recursive-doubling:{LOAD_STORE}", f"recursive-doubling:{PUT_GET}", (64, 512), pair=True),
           "Looked at in an allreduce of two ranks, which read each other's array or get it in a buffer."),
    Stated("003-02", both("allreduce", f"recursive-doubling:{LOAD_STORE}", f"recursive-doubling:{PUT_GET}", (4 << 10, 64 << 10),
                          pair=True), "As 003-01."),
    Stated("003-03", both("allreduce", f"recursive-doubling:{LOAD_STORE}", f"recursive-doubling:{PUT_GET}", (1 << 20,), pair=True),
           f"As 003-01; small is read as less than a factor of {SMALL:g}.", close=True),
    Stated("003-08", tuple(one for other in ALLREDUCES[1:] for one in
                           both("allreduce", f"{other}:{PUT_GET}", f"flat-tree:{PUT_GET}", (4 << 10, 256 << 10)))),
    Stated("003-09", against_all("recursive-doubling", (512, 4 << 10))),
    Stated("003-10", against_all("rabenseifner", (256 << 10, 1 << 20))),
    Stated("003-12", tuple(one for each in ALLREDUCES for one in
                           both("allreduce", f"{each}:{LOAD_STORE}", f"{each}:{PUT_GET}", (512, 64 << 10)))),
    Stated("003-14", both("allreduce", f"recursive-doubling:{LOAD_STORE}:left_computes=yes",
                          f"recursive-doubling:{LOAD_STORE}:left_computes=no", (256 << 10, 1 << 20))),
)  # fmt: skip


def wanted(ranks: Sequence[int], numbers: Sequence[str] = ()) -> list[tuple[str, int, int, str]]:
    """What to measure in the same rounds: (operation, ranks, size in bytes, spec), for all claims or those named.

    ``bruck`` needs operators that are exactly associative: use an integer type.
    """
    pair, most = min(ranks), max(ranks)
    found = [
        (side.operation, pair if one.pair else most, one.size, side.spec)
        for stated in STATED
        if not numbers or stated.number in numbers
        for one in stated.comparisons
        for side in (one.quick, one.slow)
    ]
    return list(dict.fromkeys(found))


def group_of(results: Results, side: Side, size: int, ranks: int, mode: str) -> Group:
    """Verified observations of one algorithm at one size; buffers freshly written where both kinds are there."""
    found = {
        subject: of
        for subject, of in results.observations.by_subject.items()
        if (subject.operation, subject.size_bytes, subject.ranks, subject.mode, subject.definition)
        == (side.operation, size, ranks, mode, "loop")
        and matches(subject.spec, side.spec)
        and all(o.verified for o in of)
    }
    fresh = {subject: of for subject, of in found.items() if subject.buffers == "fresh"}
    return fresh or found


def verdict_on(ratio: Versus, close: bool) -> str:
    if not close:
        return verdict_of(ratio)
    if not ratio.enough:
        return UNRESOLVED
    if ratio.low >= 1 / SMALL and ratio.high <= SMALL:
        return AS_STATED
    return OTHERWISE if ratio.low > SMALL or ratio.high < 1 / SMALL else UNRESOLVED


def check(stated: Stated, results: Results, mode: str) -> Finding:
    """One claim's finding; its intervals hold together (Bonferroni over the comparisons)."""
    counts = sorted({p["ranks"] for p in results.points if p.get("mode") == mode})
    under = stated.remark
    if not counts:
        return nothing(stated.number, under)
    pair, most = counts[0], counts[-1]
    found: list[tuple[Comparison, Versus]] = []
    for one in stated.comparisons:
        ranks = pair if one.pair else most
        ratio = family_ratio(
            group_of(results, one.quick, one.size, ranks, mode),
            group_of(results, one.slow, one.size, ranks, mode),
            comparisons=len(stated.comparisons),
        )
        if ratio is not None:
            found.append((one, ratio))
    if len(found) < len(stated.comparisons):
        return nothing(stated.number, under)
    verdicts = [verdict_on(ratio, stated.close) for _, ratio in found]
    verdict = (
        AS_STATED if set(verdicts) == {AS_STATED} else OTHERWISE if OTHERWISE in verdicts else UNRESOLVED
    )
    ranks = pair if stated.comparisons[0].pair else most
    return Finding(
        claim(stated.number),
        verdict,
        f"Time ratios, {'near 1' if stated.close else 'below 1'} as stated: {'; '.join(map(words, found))}.",
        "measured",
        f"{ranks} {mode} on this machine{', more ranks than CPUs' if crowded(results, ranks, mode) else ''}. {under}".strip(),
        {
            "ratios": [ratio.to_dict() | {"size_bytes": one.size} for one, ratio in found],
            "verdicts": verdicts,
        },
    )


def words(found: tuple[Comparison, Versus]) -> str:
    one, ratio = found
    names = [
        f"{side.operation} {side.spec}" if one.quick.operation != one.slow.operation else side.spec
        for side in (one.quick, one.slow)
    ]
    size = f"{one.size >> 10} KB" if one.size >= 1024 else f"{one.size} B"
    return f"{names[0]} / {names[1]} at {size}: {ratio.median:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]"


def crowded(results: Results, ranks: int, mode: str) -> bool:
    return any(
        p.get("oversubscribed") for p in results.points if (p["ranks"], p.get("mode")) == (ranks, mode)
    )


def check_data(results: Results, mode: str = "threads") -> list[Finding]:
    """Findings on every claim of ``STATED``, from a run that measured what :func:`wanted` lists.

    Between threads a peer's array is reached by loads and stores; between processes the kernel copies it.
    """
    return [check(stated, results, mode) for stated in STATED]
