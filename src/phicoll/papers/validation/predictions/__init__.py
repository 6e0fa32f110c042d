"""Validation of the models: predictions beside runs (docs/validation-models.md)."""

from __future__ import annotations

from phicoll.papers.validation.predictions.validation import ModelValidation, validate_models

__all__ = ["ModelValidation", "validate_models"]
