"""Choosing algorithms by measurement, by model, or by both: tuning tables, and the reasons for ``auto``'s choices.

A table is a small text file that the core reads (docs/tuning.md). :func:`phicoll.tune` makes one; ``PHICOLL_TUNING`` or
``tuning=`` of :func:`phicoll.run` applies it; :func:`phicoll.why` explains a choice.
"""

from __future__ import annotations

from phicoll.models.tuning.candidates import candidates
from phicoll.models.tuning.decision import Decision, Gain
from phicoll.models.tuning.explain import Choice, why
from phicoll.models.tuning.quick import Quick, tune_quick
from phicoll.models.tuning.result import Tuned
from phicoll.models.tuning.table import Row, Table, default_rules, load_table
from phicoll.models.tuning.tune import tune

__all__ = [
    "Choice",
    "Decision",
    "Gain",
    "Quick",
    "Row",
    "Table",
    "Tuned",
    "candidates",
    "default_rules",
    "load_table",
    "tune",
    "tune_quick",
    "why",
]
