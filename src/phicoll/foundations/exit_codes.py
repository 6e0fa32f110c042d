"""Exit codes of ``phicoll``, ``phicoll-bench`` and ``python -m phicoll.launch``."""

__all__ = ["BAD_INPUT", "BROKEN", "FAILED", "INTERRUPTED", "OK", "REGRESSED"]

OK = 0
FAILED = 1  # a resource is missing or was refused
BAD_INPUT = 2
BROKEN = 3  # a group broke, or a subject failed verification
REGRESSED = 4
INTERRUPTED = 130
