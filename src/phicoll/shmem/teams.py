"""Teams of PEs, and contexts, which order transfers."""

from __future__ import annotations

import enum
from collections.abc import Mapping

import phicoll._core as _core
from phicoll.errors import ArgumentError

__all__ = [
    "CTX",
    "CTX_DEFAULT",
    "CTX_INVALID",
    "CTX_NOSTORE",
    "CTX_PRIVATE",
    "CTX_SERIALIZED",
    "TEAM_INVALID",
    "TEAM_SHARED",
    "TEAM_WORLD",
    "Ctx",
    "Team",
    "fence",
    "quiet",
]


class CTX(enum.IntFlag):
    """What a context is for: one thread alone, one at a time, nobody's stores. Hints, which change nothing here."""

    PRIVATE = 1
    SERIALIZED = 2
    NOSTORE = 4


CTX_PRIVATE = CTX.PRIVATE
CTX_SERIALIZED = CTX.SERIALIZED
CTX_NOSTORE = CTX.NOSTORE


class Ctx:
    """A context of a team: transfers on it name PEs by their numbers in that team.

    ``Ctx(other)`` is another name of the same one, ``Ctx()`` is ``CTX_INVALID``. A ``with`` statement destroys it.
    """

    ob_ctx: int

    def __init__(self, ctx: Ctx | None = None) -> None:
        if not isinstance(ctx, Ctx | None):
            raise ArgumentError("ctx", type(ctx).__name__, "a Ctx or None")
        self.ob_ctx = 0 if ctx is None else ctx.ob_ctx

    def __eq__(self, other: object) -> bool:
        return self.ob_ctx == other.ob_ctx if isinstance(other, Ctx) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.ob_ctx)

    def __bool__(self) -> bool:
        return self.ob_ctx != 0

    def __enter__(self) -> Ctx:
        return self

    def __exit__(self, *exception: object) -> None:
        self.destroy()

    @staticmethod
    def create(options: int = 0, team: Team | None = None) -> Ctx:
        """A new context of ``team``, or of all PEs; ``options`` is a sum of :class:`CTX`."""
        made = Ctx()
        made.ob_ctx = _core.shmem_ctx_create(team, options)
        return made

    def destroy(self) -> None:
        """End it, after :func:`quiet`. ``CTX_DEFAULT`` stays; another name of it becomes invalid."""
        if self is CTX_DEFAULT or not self:
            return
        if self.ob_ctx != CTX_DEFAULT.ob_ctx:
            _core.shmem_ctx_destroy(self)
        self.ob_ctx = 0

    def get_team(self) -> Team:
        """The team whose PEs it reaches."""
        return _team(_core.shmem_ctx_team(self))

    def fence(self) -> None:
        """As :func:`phicoll.shmem.fence`, for this context."""
        _core.shmem_fence(self)

    def quiet(self) -> None:
        """As :func:`phicoll.shmem.quiet`, for this context."""
        _core.shmem_quiet(self)


class Team:
    """Some PEs, with numbers from 0 of their own.

    ``Team(other)`` is another name of the same one, ``Team()`` is ``TEAM_INVALID``. A ``with`` statement destroys it.
    """

    ob_team: int

    def __init__(self, team: Team | None = None) -> None:
        if not isinstance(team, Team | None):
            raise ArgumentError("team", type(team).__name__, "a Team or None")
        self.ob_team = 0 if team is None else team.ob_team

    def __eq__(self, other: object) -> bool:
        return self.ob_team == other.ob_team if isinstance(other, Team) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.ob_team)

    def __bool__(self) -> bool:
        return self.ob_team != 0

    def __enter__(self) -> Team:
        return self

    def __exit__(self, *exception: object) -> None:
        self.destroy()

    def destroy(self) -> None:
        """End it, with its contexts. Collective over it. ``TEAM_WORLD`` and ``TEAM_SHARED`` stay."""
        if self is TEAM_WORLD or self is TEAM_SHARED or not self:
            return
        if self.ob_team not in (TEAM_WORLD.ob_team, TEAM_SHARED.ob_team):
            _core.shmem_team_destroy(self)
        self.ob_team = 0

    def split_strided(
        self,
        start: int = 0,
        stride: int = 1,
        size: int | None = None,
        config: Mapping[str, int] | None = None,
        **kwargs: int,
    ) -> Team:
        """A team of ``size`` PEs of this one: ``start`` and every ``stride``-th after it. Collective over this one.

        Parameters
        ----------
        size:
            ``None``: as many as there are.
        config:
            ``num_contexts``, also as an argument: how many contexts the team will have, which is only remembered.

        Returns
        -------
        Team
            ``TEAM_INVALID`` on PEs that are not in it.
        """
        wanted = {**(config or {}), **kwargs}
        contexts = wanted.pop("num_contexts", None)
        if wanted:
            raise ArgumentError("config", repr(sorted(wanted)), "num_contexts")
        if size is None:
            if stride == 0:
                raise ArgumentError("stride", "0", "a stride, or a size too")
            size = len(range(start, self.n_pes() if stride > 0 else -1, stride))
        return _team(_core.shmem_team_split(self, start, stride, size, contexts))

    def get_config(self) -> dict[str, int]:
        """``num_contexts``, as it was given."""
        return {"num_contexts": _core.shmem_team_num_contexts(self)}

    def my_pe(self) -> int:
        """This PE's number in the team."""
        return _core.shmem_team_my_pe(self)

    def n_pes(self) -> int:
        """How many PEs the team has."""
        return _core.shmem_team_n_pes(self)

    def translate_pe(self, pe: int | None = None, team: Team | None = None) -> int:
        """The number in ``team``, or among all PEs, of this team's PE ``pe``, or of the calling one.

        Raises
        ------
        ArgumentError
            If it is not in ``team``.
        """
        mine = self.my_pe() if pe is None else pe
        found = _core.shmem_team_translate(self, mine, TEAM_WORLD if team is None else team)
        if found < 0:
            raise ArgumentError("pe", str(mine), "a PE that is in the other team too")
        return found

    def create_ctx(self, options: int = 0) -> Ctx:
        """As :meth:`Ctx.create`, of this team."""
        return Ctx.create(options, self)

    def sync(self) -> None:
        """As :func:`phicoll.shmem.sync`, of this team."""
        _core.shmem_sync(self)


def _team(handle: int) -> Team:
    made = Team()
    made.ob_team = handle
    return made


def _default_ctx() -> Ctx:
    made = Ctx()
    made.ob_ctx = _core.SHMEM_CTX_DEFAULT
    return made


CTX_DEFAULT = _default_ctx()
CTX_INVALID = Ctx()
TEAM_WORLD = _team(_core.SHMEM_TEAM_WORLD)
TEAM_SHARED = _team(_core.SHMEM_TEAM_SHARED)  # all PEs are on one machine
TEAM_INVALID = Team()


def fence(ctx: Ctx | None = None) -> None:
    """Order: what this PE puts before is seen by a PE that sees what it puts after."""
    _core.shmem_fence(ctx)


def quiet(ctx: Ctx | None = None) -> None:
    """Completion: when the call returns, all PEs see what this PE has put, nonblocking puts and gets included."""
    _core.shmem_quiet(ctx)
