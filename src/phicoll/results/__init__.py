"""Results of measurements and simulations: records, the values in them, tables and comparisons."""

from phicoll.results.results import Results, from_lines, load

__all__ = ["Results", "from_lines", "load"]
