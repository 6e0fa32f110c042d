"""Info: MPI's lists of hints. They are stored and returned, and have no effect."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from phicoll.comm.not_offered import Handle

__all__ = ["INFO_ENV", "INFO_NULL", "Info"]

_MISSING = object()


class Info(Handle):
    """A list of keys and values, both text, in the order in which they were set. ``Info()`` is null and holds none."""

    __slots__ = ("_items",)

    def __new__(
        cls, info: Info | None = None
    ) -> Info:  # for subclasses that give it the Info, as mpi4py's do
        return object.__new__(cls)

    def __init__(self, info: Info | None = None) -> None:
        self._checked(info)
        self._items: dict[str, str] | None = None if info is None else info._items

    @classmethod
    def Create(cls, items: Info | Mapping[str, str] | Iterable[tuple[str, str]] | None = None) -> Info:
        """A new one with these items."""
        self = cls()
        self._items = {}
        if items is not None:
            self.update(items)
        return self

    @classmethod
    def Create_env(cls, args: Any = None) -> Info:
        """A new one of how the program was started."""
        return cls.Create({"command": sys.executable, "thread_level": "MPI_THREAD_SERIALIZED"})

    def _own(self) -> dict[str, str]:
        if self._items is None:
            raise KeyError("INFO_NULL holds no keys; Info.Create() makes one that does")
        return self._items

    def Free(self) -> None:
        """Make it null."""
        self._items = None

    def Dup(self) -> Info:
        """A new one with the same items."""
        return self.Create(self.items()) if self else type(self)()

    copy = Dup

    def Get(self, key: str) -> str | None:
        """The value of a key, or None."""
        value: str | None = self.get(key)
        return value

    def Set(self, key: str, value: str) -> None:
        """Set the value of a key."""
        self._own()[str(key)] = str(value)

    def Delete(self, key: str) -> None:
        """Remove a key; KeyError if there is none."""
        del self._own()[key]

    def Get_nkeys(self) -> int:
        """How many keys there are."""
        return len(self)

    def Get_nthkey(self, n: int) -> str:
        """Key number ``n``, from 0."""
        return self.keys()[n]

    def __bool__(self) -> bool:
        return self._items is not None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Info) and self._items is other._items

    def __hash__(self) -> int:
        return id(self._items)

    def __len__(self) -> int:
        return len(self._items or ())

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __contains__(self, key: object) -> bool:
        return key in (self._items or ())

    def __getitem__(self, key: str) -> str:
        return self._own()[key]

    def __setitem__(self, key: str, value: str) -> None:
        self.Set(key, value)

    def __delitem__(self, key: str) -> None:
        self.Delete(key)

    def __repr__(self) -> str:
        return f"<phicoll.Info {self._items}>" if self else "phicoll.INFO_NULL"

    def __reduce__(self) -> Any:
        for name, constant in (("INFO_NULL", INFO_NULL), ("INFO_ENV", INFO_ENV)):
            if self is constant:
                return name
            if self == constant:
                return Info, (constant,)
        return Info.Create, (self.items(),)

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key, or ``default``."""
        return (self._items or {}).get(key, default)

    def keys(self) -> list[str]:
        """The keys."""
        return list(self._items or ())

    def values(self) -> list[str]:
        """The values."""
        return list((self._items or {}).values())

    def items(self) -> list[tuple[str, str]]:
        """Keys and values."""
        return list((self._items or {}).items())

    def update(self, items: Any = (), **named: str) -> None:
        """Set several keys."""
        own = self._own()
        own.update({str(key): str(value) for key, value in dict(items or (), **named).items()})

    def pop(self, key: str, default: Any = _MISSING) -> Any:
        """Remove a key and return its value, or ``default``."""
        if default is not _MISSING:
            return (self._items or {}).pop(key, default)
        return self._own().pop(key)

    def popitem(self) -> tuple[str, str]:
        """Remove the key that was set last; return it and its value."""
        return self._own().popitem()

    def clear(self) -> None:
        """Remove all keys."""
        if self._items is not None:
            self._items.clear()


INFO_NULL = Info()
INFO_ENV = Info.Create_env()
Info._constants = (INFO_ENV,)
