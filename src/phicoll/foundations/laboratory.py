"""The laboratory: what measures, simulates, models and reports. An installation of the library alone is without it."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from phicoll.errors import Error

__all__ = ["PARTS", "MissingLaboratoryError", "load", "of_laboratory"]

#: Its packages and modules. pyproject.toml leaves them out of a wheel of the library alone.
PARTS = ("bench", "explaining", "measuring", "models", "papers", "plots", "registry", "report", "results")


class MissingLaboratoryError(Error, ImportError):
    """Something of the laboratory was asked for, which is not installed."""


def of_laboratory(module: str) -> bool:
    """Whether ``module``, by its whole name, is the laboratory's."""
    return module.split(".")[1:2] != [] and module.split(".")[1] in PARTS


def load(module: str, wanted: str) -> ModuleType:
    """Import a module of either wing. ``wanted`` is what the user asked for.

    Raises
    ------
    MissingLaboratoryError
        It needs the laboratory, and this installation is the library alone.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if missing.count(".") != 1 or not of_laboratory(missing):
            raise
        raise MissingLaboratoryError(
            f"{wanted} is of phicoll's laboratory, which this installation is without: "
            "install phicoll without PHICOLL_LABORATORY=OFF",
            name=missing,
        ) from None
