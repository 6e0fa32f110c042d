"""Claims about numbers of transfers and steps of operations that move data, checked exactly on the counting port."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from phicoll.papers.claims.counting import Counter, agreement, span
from phicoll.papers.claims.statement import Finding

__all__ = ["check_data_counts"]

PHI = "61x4"
#: Bytes, on which counts do not depend.
PIECE = 64
SIZE = 1024


def check_data_counts(counter: Counter, ranks: Sequence[int]) -> list[Finding]:
    """The findings on all counted claims. Only some large rank counts are run, as bytes are followed one by one."""
    ranks = [p for p in ranks if p <= 33 or p == 128 or p == max(ranks)]
    return [
        transfers_of_a_piece(counter, ranks),
        merged_steps(counter, ranks),
        folded_ranks(counter, ranks),
        bruck_steps(counter, ranks),
        *(cost_terms(counter, ranks, *terms) for terms in TERMS),
    ]


#: The terms of an equation by p: messages in a row; bytes moved and bytes combined, all ranks' together.
TERMS = (
    ("003-05", "flat-tree:transfer=load-store", "longest_chain",
     lambda p: (p, 2 * (p - 1) * SIZE, (p - 1) * SIZE)),
    ("003-06", "recursive-doubling", "steps",
     lambda p: (floor_log(p), p * floor_log(p) * SIZE, p * floor_log(p) * SIZE)),
    ("003-07", "rabenseifner:merge_middle=no", "steps",
     lambda p: (2 * floor_log(p), 2 * (p - 1) * SIZE, (p - 1) * SIZE)),
)  # fmt: skip


def cost_terms(
    counter: Counter,
    ranks: Sequence[int],
    number: str,
    spec: str,
    chain: str,
    terms: Callable[[int], tuple[int, int, int]],
) -> Finding:
    """An equation's coefficients of alpha, beta and gamma against what is counted; bytes are all ranks' together."""
    found = []
    for p in powers_of_two(ranks):
        (row,) = counter(spec, [p], PHI, "balanced", operation="allreduce", size=SIZE, type="int32")
        counted = (row[chain], row["bytes_between"], 4 * row["combined"])
        found += [
            (f"p = {p}, {term}", have, want)
            for term, have, want in zip(("alpha", "beta", "gamma"), counted, terms(p), strict=True)
        ]
    return agreement(
        number, found, "messages in a row, bytes moved and bytes combined", "powers of two among " + span(ranks),
        " The equation's time adds them up as if nothing overlapped.",
    )  # fmt: skip


def floor_log(n: int) -> int:
    return n.bit_length() - 1


def powers_of_two(ranks: Sequence[int]) -> list[int]:
    return [p for p in ranks if p & (p - 1) == 0 and p > 1]


def transfers_of_a_piece(counter: Counter, ranks: Sequence[int]) -> Finding:
    """As many pieces as ranks. A step that combines reads two operands, of which the second to last are one each."""
    found = []
    for p in ranks:
        (row,) = counter(
            f"piece-per-rank:least={PIECE}", [p], PHI, "balanced", operation="reduce", size=p * PIECE
        )
        pieces = p
        combines = row["combined"] // (p * PIECE // 4)  # a piece's, each of which takes one more operand
        puts = row["transfers"] / pieces - combines
        found.append((f"P = {p}", round(combines + 1 + puts), p + 1))
    return agreement(
        "002-25", found, "transfers of a piece", span(ranks),
        " They are P operands that are read and one result that is put; the first two operands are read in one step.",
    )  # fmt: skip


def merged_steps(counter: Counter, ranks: Sequence[int]) -> Finding:
    found = []
    for p in powers_of_two(ranks):
        steps = {}
        for merge in ("yes", "no"):
            (row,) = counter(
                f"rabenseifner:merge_middle={merge}", [p], PHI, "balanced", operation="allreduce", size=SIZE
            )
            steps[merge] = row["steps"]
        found.append((f"p = {p}", steps["yes"], 2 * floor_log(p) - 1))
        found.append((f"p = {p}, saved", steps["no"] - steps["yes"], 1))
    return agreement(
        "003-15", found, "steps, and what is saved,", "powers of two among " + span(ranks),
        " Elsewhere the ranks that are folded in add theirs.",
    )  # fmt: skip


def folded_ranks(counter: Counter, ranks: Sequence[int]) -> Finding:
    """Transfers of folding: recursive doubling among 2^k ranks makes 2^k k transfers; all others are folding."""
    found = []
    for p in ranks:
        core = 1 << floor_log(p)
        (row,) = counter("recursive-doubling", [p], PHI, "balanced", operation="allreduce", size=SIZE)
        found.append((f"p = {p}", row["transfers"] - core * floor_log(core), 2 * (p - core)))
    return agreement(
        "003-16", found, "transfers of folding, one for each rank that is folded or folds,", span(ranks)
    )


def bruck_steps(counter: Counter, ranks: Sequence[int]) -> Finding:
    found = []
    for p in powers_of_two(ranks):
        (row,) = counter(
            "bruck:transfer=load-store", [p], PHI, "balanced", operation="allreduce", size=SIZE, type="int32"
        )
        found.append((f"p = {p}", row["steps"], floor_log(p)))
        found.append((f"p = {p}, elements combined", row["combined"], p * floor_log(p) * SIZE // 4))
    return agreement(
        "003-17", found, "steps, and elements combined,", "powers of two among " + span(ranks),
        " Each rank combines in another rotation, so that results may differ in their last bits in floating point.",
    )  # fmt: skip
