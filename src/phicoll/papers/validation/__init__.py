"""Validation of simulated machines: published and simulated values, errors and verdicts, failures included."""

from __future__ import annotations

from phicoll.papers.validation.guesses import Sensitivity, sensitivity
from phicoll.papers.validation.quantity import Quantity
from phicoll.papers.validation.validation import MACHINES, Validation, validate

__all__ = ["MACHINES", "Quantity", "Sensitivity", "Validation", "sensitivity", "validate"]
