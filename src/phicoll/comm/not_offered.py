"""Errors for names of mpi4py's that are not offered, and for misspelled ones."""

from __future__ import annotations

from typing import NoReturn

__all__ = ["NO_NUMBERS", "refuse"]

# Of the functions that turn a handle into a number, and back.
NO_NUMBERS = dict.fromkeys(("py2f", "f2py"), "handles have no numbers here; pass the object itself")


def refuse(of: type, name: str, instead: dict[str, str]) -> NoReturn:
    """Raise an AttributeError for a name. ``instead``: beginnings of names that are not offered, and what to use."""
    for beginning, words in instead.items():
        if name.startswith(beginning):
            raise AttributeError(f"{name} is not offered: {words}")
    from phicoll.foundations.nearest import nearest

    found = nearest(name, [known for known in dir(of) if not known.startswith("_")])
    nearby = f"; nearest: {', '.join(found)}" if found else ""
    raise AttributeError(f"{of.__name__!r} object has no attribute {name!r}{nearby}")
