"""Errors for names of mpi4py's that are not offered, and for misspelled ones."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

__all__ = ["NO_NUMBERS", "Explained", "NotOfferedError", "explain", "refuse"]

# Of the functions that turn a handle into a number, and back.
NO_NUMBERS = dict.fromkeys(
    ("py2f", "f2py", "tohandle", "fromhandle", "handle"),
    "handles have no numbers here; pass the object itself",
)


class NotOfferedError(AttributeError, NotImplementedError):
    """A name of mpi4py's that is not offered. mpi4py raises NotImplementedError for what its MPI does not have."""


def explain(name: str, instead: dict[str, str]) -> None:
    """Raise NotOfferedError if a name is one of mpi4py's that is not offered.

    ``instead``: beginnings of such names, and what to use.
    """
    for beginning, words in instead.items():
        if name.startswith(beginning):
            # With an object, Python would add the nearest of its names to the text.
            raise NotOfferedError(f"{name} is not offered: {words}", name=name, obj=None)


def refuse(of: type, name: str, instead: dict[str, str]) -> NoReturn:
    """Raise an AttributeError for a name that a class does not have. ``instead`` is that of :func:`explain`."""
    explain(name, instead)
    from phicoll.foundations.nearest import nearest

    found = nearest(name, [known for known in dir(of) if not known.startswith("_")])
    nearby = f"; nearest: {', '.join(found)}" if found else ""
    raise AttributeError(f"{of.__name__!r} object has no attribute {name!r}{nearby}", name=name, obj=None)


class Explained(type):
    """A class that explains what it does not offer, too: mpi4py makes some objects by functions of their class."""

    #: What the class does not offer, as for :func:`explain`.
    _instead: ClassVar[dict[str, str]] = {}

    def __getattr__(cls, name: str) -> Any:
        refuse(cls, name, cls._instead)
