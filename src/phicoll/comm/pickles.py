"""How objects become bytes: mpi4py's ``Pickle``, and the one that calls of objects use."""

from __future__ import annotations

import pickle as standard
import reprlib
from collections.abc import Callable, Iterable
from typing import Any

import phicoll._core as _core
from phicoll.foundations import pickling

__all__ = ["Pickle", "pickle"]

THRESHOLD = 1 << 18


class Pickle:
    """Two functions that make bytes of an object and an object of bytes.

    ``MPI.pickle.__init__(dill.dumps, dill.loads)`` sets those of all calls of objects in this process;
    ``MPI.pickle.__init__()`` sets phicoll's own again. Set the same on all ranks, between calls. Every object then goes
    through them, numbers and texts too, and arrays are not left out of the bytes.

    Parameters
    ----------
    dumps, loads:
        The functions. By default pickle's, and cloudpickle's for what pickle cannot take.
    protocol:
        The second argument of ``dumps``. By default the highest of pickle's own, and none for other functions.
    threshold:
        The size in bytes from which ``dumps_oob`` leaves a buffer out; by default 256 KB.
    """

    def __init__(
        self,
        dumps: Callable[..., bytes] | None = None,
        loads: Callable[..., Any] | None = None,
        protocol: int | None = None,
        threshold: int | None = None,
    ) -> None:
        self._dumps, self._loads = dumps, loads
        self.PROTOCOL = protocol
        self.THRESHOLD = threshold

    @property
    def PROTOCOL(self) -> int | None:
        """The second argument of ``dumps``, or None if it has none."""
        if self._protocol is None and self._dumps in (None, standard.dumps):
            return standard.HIGHEST_PROTOCOL
        return self._protocol

    @PROTOCOL.setter
    def PROTOCOL(self, protocol: int | None) -> None:
        self._protocol = protocol
        if self is globals().get("pickle"):
            is_own = self._dumps is None and self._loads is None and protocol is None
            _core.set_pickle(None if is_own else self)

    @property
    def THRESHOLD(self) -> int:
        """The size in bytes from which ``dumps_oob`` leaves a buffer out."""
        return self._threshold

    @THRESHOLD.setter
    def THRESHOLD(self, threshold: int | None) -> None:
        self._threshold = THRESHOLD if threshold is None else threshold

    def dumps(self, obj: Any) -> bytes:
        """The bytes of an object."""
        if self._dumps is None and self._protocol is None:
            return pickled(obj)
        protocol = self.PROTOCOL
        return (self._dumps or standard.dumps)(obj, *(() if protocol is None else (protocol,)))

    def loads(self, data: Any) -> Any:
        """The object of its bytes."""
        return (self._loads or standard.loads)(data)

    def dumps_oob(self, obj: Any) -> tuple[bytes, list[standard.PickleBuffer]]:
        """The bytes of an object without its large buffers, and these."""
        buffers: list[standard.PickleBuffer] = []

        def stays(buffer: standard.PickleBuffer) -> bool:
            if buffer.raw().nbytes < self._threshold:
                return True
            buffers.append(buffer)
            return False

        protocol = max(self.PROTOCOL or standard.HIGHEST_PROTOCOL, 5)
        return (self._dumps or standard.dumps)(obj, protocol, buffer_callback=stays), buffers

    def loads_oob(self, data: Any, buffers: Iterable[Any]) -> Any:
        """The object of its bytes and buffers."""
        return (self._loads or standard.loads)(data, buffers=buffers)


pickle = Pickle()
REFUSALS = (standard.PicklingError, AttributeError, TypeError)


def pickled(obj: Any) -> bytes:
    """Pickle ``obj``, by cloudpickle if pickle cannot (functions of the running program)."""
    try:
        return standard.dumps(obj, standard.HIGHEST_PROTOCOL)
    except REFUSALS:
        pass
    try:
        return pickling.dumps(obj)
    except REFUSALS as error:
        if type(error) not in REFUSALS:  # its constructor is not known
            raise
        text = f"object: got {reprlib.repr(obj)}: {error}; allowed: what pickle takes"
        raise type(error)(text) from error
