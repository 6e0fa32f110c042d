"""Errors for names of mpi4py's that are not offered, and for misspelled ones."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

__all__ = ["Explained", "Handle", "NotOfferedError", "Refused", "explain", "refuse"]

NO_NUMBERS = "handles have no numbers here; pass the object itself"


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


class Refused:
    """A name that a class refuses by itself. ``__getattr__`` of the class would slow its other names down.

    Parameters
    ----------
    words:
        What to use instead.
    """

    def __init__(self, words: str) -> None:
        self.words = words

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, of: object, owner: type | None = None) -> NoReturn:
        explain(self.name, {self.name: self.words})
        raise AssertionError


def refuse(of: type, name: str, instead: dict[str, str]) -> NoReturn:
    """Raise an AttributeError for a name that a class does not have. ``instead`` is that of :func:`explain`."""
    for base in of.__mro__:
        if isinstance(found := base.__dict__.get(name), Refused):  # Python asks here after its error
            found.__get__(None, of)
    if not name.startswith("__"):
        explain(name, instead)
    from phicoll.foundations.nearest import nearest

    known = [name for name in dir(of) if not name.startswith("_") and hasattr(of, name)]
    nearby = f"; nearest: {', '.join(near)}" if (near := nearest(name, known)) else ""
    raise AttributeError(f"{of.__name__!r} object has no attribute {name!r}{nearby}", name=name, obj=None)


class Explained(type):
    """A class that explains what it does not offer, too: mpi4py makes some objects by functions of their class."""

    #: What the class does not offer, as for :func:`explain`.
    _instead: ClassVar[dict[str, str]] = {}

    def __getattr__(cls, name: str) -> Any:
        refuse(cls, name, cls._instead)


class Handle(metaclass=Explained):
    """Base of the classes whose objects have a handle in MPI."""

    __slots__ = ()

    #: Those that MPI has from the start, which :meth:`free` leaves.
    _constants: ClassVar[tuple[Any, ...]] = ()

    py2f, f2py, toint, fromint, tohandle, fromhandle, handle = (Refused(NO_NUMBERS) for _ in range(7))

    def free(self) -> None:
        """As ``Free``, but without an error if it is null or one of MPI's own."""
        if self and not any(self is one for one in self._constants):
            self.Free()  # type: ignore[attr-defined]

    @classmethod
    def _checked(cls, other: Any) -> Any:
        """What a constructor is given, None or an object of this class; TypeError for any other."""
        kind = next(base for base in cls.__mro__ if base.__module__.startswith("phicoll."))
        if other is not None and not isinstance(other, kind):
            name = kind.__name__
            raise TypeError(f"{name.lower()}: got {other!r}; allowed: a {name} or None")
        return other
