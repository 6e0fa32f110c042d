"""Steps that barriers take, as the papers count them. Sources: panigrahi-2014 section V, velamati-2007 section 3.2."""

from __future__ import annotations

from collections.abc import Callable

from phicoll.models.equations.checks import MAX_RANKS, check_choice, check_whole

__all__ = ["STEP_COUNTS", "ceil_log", "floor_log", "steps"]


def ceil_log(base: int, number: int) -> int:
    """The least r with base^r >= number, exactly; base at least 2, number at least 1."""
    b, n = check_whole("base", base, 2), check_whole("number", number, 1)
    rounds, reached = 0, 1
    while reached < n:
        reached *= b
        rounds += 1
    return rounds


def floor_log(base: int, number: int) -> int:
    """The largest r with base^r <= number, exactly."""
    b, n = check_whole("base", base, 2), check_whole("number", number, 1)
    rounds, reached = 0, b
    while reached <= n:
        reached *= b
        rounds += 1
    return rounds


def pairwise(n: int, _: int) -> int:
    """velamati-2007 prints 2 + ceil(log2 P) where P is not a power of two; by its algorithm it is a floor."""
    whole = floor_log(2, n)
    return whole if 2**whole == n else 2 + whole


#: Steps by algorithm, of ranks and degree.
STEP_COUNTS: dict[str, tuple[str, Callable[[int, int], int]]] = {
    "dissemination": ("panigrahi-2014 section V: ceil(log2 P)", lambda n, k: ceil_log(2, n)),
    "tree": ("panigrahi-2014 section V: 2 ceil(log_k P)", lambda n, k: 2 * ceil_log(k, n)),
    "tournament-tree": (
        "panigrahi-2014 section V: ceil(log2 P) in, ceil(log_k P) out",
        lambda n, k: ceil_log(2, n) + ceil_log(k, n),
    ),
    "binomial-tree": (
        "panigrahi-2014 sections V and VI: as tree, binomial in, of degree k out",
        lambda n, k: ceil_log(2, n) + ceil_log(k, n),
    ),
    "one-to-all": ("velamati-2007 section 3.2: one phase in, one out", lambda n, k: 2 if n > 1 else 0),
    "k-nomial-tree": ("velamati-2007 section 3.2: ceil(log_k P) in and out", lambda n, k: 2 * ceil_log(k, n)),
    "pairwise-exchange": (
        "velamati-2007 section 3.2: log2 P; else 2 + floor(log2 P), printed as a ceiling",
        pairwise,
    ),
}


def steps(algorithm: str, ranks: int, degree: int = 6) -> int:
    """Steps of a barrier of ``ranks`` ranks.

    Parameters
    ----------
    algorithm:
        A name of :data:`STEP_COUNTS`.
    degree:
        k of those that have one, from 2 on; panigrahi-2014's best is 6.
    """
    check_choice("algorithm", algorithm, STEP_COUNTS)
    n = check_whole("ranks", ranks, 1, MAX_RANKS)
    return STEP_COUNTS[algorithm][1](n, check_whole("degree", degree, 2))
