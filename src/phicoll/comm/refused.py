"""Classes of mpi4py's of which there are no objects here: programs name them in annotations and ask isinstance."""

from __future__ import annotations

from typing import Any, ClassVar

from phicoll.comm.communicator import Comm
from phicoll.comm.not_offered import Handle, NotOfferedError, refuse

__all__ = [
    "FILE_NULL",
    "NO_BUFFERS",
    "NO_FILES",
    "NO_SESSIONS",
    "NO_TOPOLOGY",
    "SESSION_NULL",
    "Cartcomm",
    "Distgraphcomm",
    "File",
    "Graphcomm",
    "Session",
    "Topocomm",
    "buffer",
]

NO_FILES = "NumPy, HDF5 and others read and write files; np.memmap shares one among ranks"
NO_SESSIONS = "a rank is ready when it runs; COMM_WORLD has all of them"
NO_TOPOLOGY = "ranks have no topology; np.unravel_index(rank, dims) and MPI.Compute_dims place them in a grid"
NO_BUFFERS = "memoryview, bytearray and NumPy's arrays are buffers"


class NullAlone(Handle):
    """Base of the classes that make only their null object. ``_instead`` has the words for all of their names."""

    __slots__ = ()

    _null: ClassVar[str]

    def __init__(self, other: Any = None) -> None:
        self._checked(other)

    def __bool__(self) -> bool:
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NullAlone) and self._null == other._null

    def __hash__(self) -> int:
        return hash(self._null)

    def __getattr__(self, name: str) -> Any:
        refuse(type(self), name, self._instead)

    def __repr__(self) -> str:
        return f"phicoll.{self._null}"

    def __reduce__(self) -> Any:
        constant = globals()[self._null]
        return self._null if self is constant else (type(self), (constant,))


class File(NullAlone):
    """The type of MPI's files. There are none, so it only makes ``FILE_NULL``."""

    __slots__ = ()

    _instead: ClassVar[dict[str, str]] = {"": NO_FILES}
    _null = "FILE_NULL"


class Session(NullAlone):
    """The type of MPI's sessions. There are none, so it only makes ``SESSION_NULL``."""

    __slots__ = ()

    _instead: ClassVar[dict[str, str]] = {"": NO_SESSIONS}
    _null = "SESSION_NULL"


class Topocomm(Comm):
    """The type of communicators with a topology. There are none, so it only makes ``COMM_NULL``."""

    _instead: ClassVar[dict[str, str]] = {"": NO_TOPOLOGY}

    def __init__(self, comm: Any = None) -> None:
        if comm:
            raise TypeError(f"comm: got {comm!r}; allowed: COMM_NULL or None: {NO_TOPOLOGY}")
        super().__init__(comm)


class Cartcomm(Topocomm):
    """As :class:`Topocomm`."""


class Graphcomm(Topocomm):
    """As :class:`Topocomm`."""


class Distgraphcomm(Topocomm):
    """As :class:`Topocomm`."""


class buffer(Handle):  # noqa: N801 - mpi4py's name
    """The type of mpi4py's own buffers. There are none."""

    _instead: ClassVar[dict[str, str]] = {"": NO_BUFFERS}

    def __init__(self, *args: Any) -> None:
        raise NotOfferedError(f"MPI.buffer is not offered: {NO_BUFFERS}")


FILE_NULL = File()
SESSION_NULL = Session()
