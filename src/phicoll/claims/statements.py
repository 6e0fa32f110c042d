"""The papers' statements on barriers, each in our own words, with the number that docs/claims.md uses."""

from __future__ import annotations

from phicoll.claims.statement import Claim

__all__ = ["CLAIMS", "WAITING", "claim"]

_CHECKED = (
    Claim("000-14", "Barriers built as trees (heap tree, binomial tree, tournament with a tree release) are faster "
          "than the others.", "Xeon Phi, 244 processes"),
    Claim("000-20", "Dissemination takes ceil(log2 P) steps.", "any P"),
    Claim("000-21", "A tree barrier of degree k takes 2 ceil(log_k P) steps.", "any P, k"),
    Claim("000-22", "The tournament takes ceil(log2 P) steps up and ceil(log_k P) down.", "any P"),
    Claim("000-23", "The rule for a binomial tree's children reaches every rank exactly once.", "any P"),
    Claim("000-24", "Dissemination keeps all P processes communicating in every round, trees far fewer.", "any P"),
    Claim("001-03", "A tree barrier that releases all through one global word is slower than one that releases down "
          "the tree.", "Xeon Phi, EPCC, every tree and arity"),
    Claim("001-04", "A combining tree with one global release is slower than a plain sense-reversing counter.",
          "Xeon Phi, EPCC, every arity"),
    Claim("001-05", "With a global release, a combining tree gets faster as its arity grows.",
          "Xeon Phi, arity 2 to 32"),
    Claim("001-06", "Of the plain algorithms, dissemination and the combining tree of arity 4 are the best.",
          "Xeon Phi, preliminary runs"),
    Claim("001-09", "A delay in the loop that waits lowers the overhead.", "Xeon Phi, 64 cycles against none"),
    Claim("001-17", "f-way dissemination takes ceil(log_(f+1) N) rounds.", "any N, f"),
    Claim("001-18", "With f = N - 1 all ranks are notified at once, by N (N - 1) notifications.", "any N"),
    Claim("001-20", "Every round of dissemination has messages between cores; meeting inside each core first removes "
          "them from those rounds.", "60 cores with 4 contexts"),
    Claim("001-24", "While the addresses of flags stay the same, times hardly vary.", "sense-reversing, 1 to 60 threads"),
    Claim("001-25", "Different sets of addresses differ significantly in time.", "three sets, sense-reversing"),
    Claim("001-29", "All algorithms are correct, and can be reused at once through sense reversal.", "any N"),
    Claim("002-08", "Pairwise exchange and dissemination are substantially faster than gathering to one rank and "
          "broadcasting from it.", "Cell, 2 to 16 SPEs"),
    Claim("002-10", "On two chips every phase of dissemination crosses between them, but only one of pairwise "
          "exchange.", "16 SPEs on two chips"),
    Claim("002-12", "Pairwise exchange takes 2 + ceil(log2 P) steps where P is no power of two.", "any P (as printed)"),
    Claim("002-13", "A tree in which every informed rank informs k - 1 others takes ceil(log_k P) phases.", "any P, k"),
    Claim("004-29", "The model chooses m = 6 for 30 threads and m = 4 for 60.", "m-way dissemination, published constants"),
)  # fmt: skip

CLAIMS = {claim.number: claim for claim in _CHECKED}


def claim(number: str) -> Claim:
    """The statement with a number such as ``"000-20"``."""
    return CLAIMS[number]


#: Statements on barriers that need what is not there yet, by the reason.
WAITING = (
    ("the simulated Xeon Phi, which is not there yet",
     ("000-13", "000-15", "000-16", "000-19", "001-01", "001-02", "001-07", "001-08", "001-10", "001-11", "001-12",
      "001-13", "001-16", "001-19", "001-21", "001-22", "001-26", "001-27", "001-28", "004-34", "004-38", "004-46")),
    ("a simulated Cell with its two chips, which is not there yet",
     ("002-05", "002-06", "002-07", "002-09", "002-11")),
    ("another vendor's library on the paper's machine", ("000-17", "000-18", "001-14", "001-15", "004-33")),
    ("the paper's application and machine", ("001-23",)),
)  # fmt: skip
