"""Statements of ramos-hoefler-2013 that its models and its printed tables decide, in our own words."""

from __future__ import annotations

from phicoll.papers.claims.statement import Claim

__all__ = ["MODELLED"]

_MODELLED = (
    Claim("004-12", "The overhead of a ping-pong is below one deviation of its samples, unless the send line is invalid.",
          "between cores"),
    Claim("004-15", "The model of many lines gives at one line what the single-line ping-pong gives.", "501 against about 500 ns"),
    Claim("004-16", "Fetching by P requests at a time models small messages badly.", "2 to 12 lines, with a factor: 40 to 50 % off from memory, 30 % from a cache"),
    Claim("004-20", "One reader of a line pays R_L + R_R.", "equation 3.2 with Table 3.2"),
    Claim("004-26", "Table B.1 has the trees of small broadcasts that cost the least.", "2 to 60 threads"),
    Claim("004-27", "Table B.2 has the m of barriers that cost the least.", "2 to 60 threads"),
    Claim("004-28", "Table B.3 has the trees of small reductions that cost the least.", "2 to 60 threads"),
    Claim("004-30", "Minimising the worst case chooses nearly as minimising the best case does.", "2 to 60 threads"),
    Claim("004-39", "A pair exchanges long messages at 0.755 GB/s.", "above 256 KB, P = 38, F = 5.8; another card"),
)  # fmt: skip

MODELLED = {claim.number: claim for claim in _MODELLED}
