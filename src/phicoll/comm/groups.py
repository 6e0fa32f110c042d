"""Groups: ordered sets of ranks, as mpi4py's, and how two of them or two communicators compare."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import index
from typing import Any

from phicoll.comm.messages import PROC_NULL
from phicoll.comm.not_offered import Handle, Refused
from phicoll.comm.requests import UNDEFINED
from phicoll.errors import ArgumentError

__all__ = ["CONGRUENT", "GROUP_EMPTY", "GROUP_NULL", "IDENT", "SIMILAR", "UNEQUAL", "Group"]

# Results of comparing communicators: the same one, the same ranks in order, in another order, other ranks.
IDENT, CONGRUENT, SIMILAR, UNEQUAL = 0, 1, 2, 3


class Group(Handle):
    """An ordered set of ranks, each by its number in the whole group. No method is collective.

    ``Group(other)`` is an equal group; ``Group()`` equals ``GROUP_NULL``, no group at all.
    """

    __slots__ = ("_own", "_ranks")

    Create_from_session_pset = Refused("a rank is ready when it runs; COMM_WORLD.Get_group() has all of them")

    def __init__(self, group: Group | None = None) -> None:
        self._checked(group)
        self._ranks: tuple[int, ...] = () if group is None else group._ranks
        # This rank's number in the whole group; None in GROUP_NULL.
        self._own: int | None = None if group is None else group._own

    @classmethod
    def of(cls, ranks: Iterable[int], own: int) -> Group:
        """The group of these ranks of the whole group; ``own`` is this rank's number there."""
        made = cls()
        made._ranks, made._own = tuple(ranks), own
        return made

    @property
    def size(self) -> int:
        """How many ranks there are."""
        return len(self._ranks)

    @property
    def rank(self) -> int:
        """This rank's place; ``UNDEFINED`` if it is not among them."""
        return self._ranks.index(self._own) if self._own in self._ranks else UNDEFINED

    def Get_size(self) -> int:
        """How many ranks there are."""
        return self.size

    def Get_rank(self) -> int:
        """This rank's place; ``UNDEFINED`` if it is not among them."""
        return self.rank

    def __bool__(self) -> bool:
        return self._own is not None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Group) and self._ranks == other._ranks and bool(self) == bool(other)

    def __hash__(self) -> int:
        return hash(self._ranks)

    def __repr__(self) -> str:
        if not self:
            return "phicoll.GROUP_NULL"
        return f"<phicoll.Group of ranks {', '.join(map(str, self._ranks)) or 'none'} of the whole>"

    def __reduce__(self) -> Any:
        for name in ("GROUP_EMPTY", "GROUP_NULL"):
            if self is globals()[name]:
                return name
            if self == globals()[name]:
                return Group, (globals()[name],)
        raise ValueError("a group belongs to its rank and cannot be pickled")

    def _made(self, ranks: Iterable[int]) -> Group:
        return Group.of(ranks, -1 if self._own is None else self._own)

    def _places(self, ranks: Sequence[int]) -> list[int]:
        places = [index(rank) for rank in ranks]
        for place in places:
            if not 0 <= place < self.size:
                raise ArgumentError("ranks", str(place), f"0..{self.size - 1}")
        if len(set(places)) != len(places):
            raise ArgumentError("ranks", repr(list(ranks)), "each rank once")
        return places

    def Incl(self, ranks: Sequence[int]) -> Group:
        """The ranks at these places, in this order."""
        return self._made(self._ranks[place] for place in self._places(ranks))

    def Excl(self, ranks: Sequence[int]) -> Group:
        """All ranks but those at these places."""
        without = set(self._places(ranks))
        return self._made(rank for place, rank in enumerate(self._ranks) if place not in without)

    def Range_incl(self, ranks: Sequence[tuple[int, int, int]]) -> Group:
        """The ranks at the places that the ranges (first, last, step) name, ``last`` included."""
        return self.Incl(places_of(ranks))

    def Range_excl(self, ranks: Sequence[tuple[int, int, int]]) -> Group:
        """All ranks but those at the places that the ranges (first, last, step) name."""
        return self.Excl(places_of(ranks))

    @classmethod
    def Union(cls, group1: Group, group2: Group) -> Group:
        """The ranks of ``group1``, then those of ``group2`` that are not in it."""
        return group1._made([*group1._ranks, *(r for r in group2._ranks if r not in group1._ranks)])

    @classmethod
    def Intersection(cls, group1: Group, group2: Group) -> Group:
        """The ranks of ``group1`` that are also in ``group2``."""
        return group1._made(r for r in group1._ranks if r in group2._ranks)

    Intersect = Intersection

    @classmethod
    def Difference(cls, group1: Group, group2: Group) -> Group:
        """The ranks of ``group1`` that are not in ``group2``."""
        return group1._made(r for r in group1._ranks if r not in group2._ranks)

    def Translate_ranks(self, ranks: Sequence[int] | None = None, group: Group | None = None) -> list[int]:
        """For the ranks at these places, their places in ``group`` (None: the whole group) or ``UNDEFINED``."""
        found = []
        for place in range(self.size) if ranks is None else ranks:
            if place == PROC_NULL:
                found.append(PROC_NULL)
                continue
            rank = self._ranks[self._places([place])[0]]
            if group is not None:
                rank = group._ranks.index(rank) if rank in group._ranks else UNDEFINED
            found.append(rank)
        return found

    def Compare(self, group: Group) -> int:
        """``IDENT``, ``SIMILAR`` (another order) or ``UNEQUAL``."""
        if self._ranks == group._ranks:
            return IDENT
        return SIMILAR if set(self._ranks) == set(group._ranks) else UNEQUAL

    def Dup(self) -> Group:
        """The same group."""
        return self._made(self._ranks)

    def Free(self) -> None:
        """Make it ``GROUP_NULL``."""
        self._ranks, self._own = (), None


GROUP_NULL = Group()
GROUP_EMPTY = Group.of((), -1)
Group._constants = (GROUP_EMPTY,)


def places_of(ranges: Sequence[tuple[int, int, int]]) -> list[int]:
    places: list[int] = []
    for given in ranges:
        first, last, step = map(index, given)
        if step == 0:
            raise ArgumentError("ranks", repr(given), "(first, last, step) with a step that is not 0")
        places.extend(range(first, last + (1 if step > 0 else -1), step))
    return places
