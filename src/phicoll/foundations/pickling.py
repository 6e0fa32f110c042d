"""Pickles of functions of the running program, which keep the names of their files."""

from __future__ import annotations

import contextlib
import functools
import io
import sys
import threading
from collections import ChainMap
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any, ClassVar

__all__ = ["dumps"]


def dumps(obj: Any) -> bytes:
    """Pickle ``obj`` by cloudpickle; a traceback through its functions shows their source."""
    with io.BytesIO() as file, program_by_value():
        pickler()(file).dump(obj)
        return file.getvalue()


@contextlib.contextmanager
def program_by_value() -> Iterator[None]:
    """In a worker of multiprocessing (spawn, forkserver) the program is a module that no other process can import."""
    import cloudpickle

    # Except in a worker, this is __main__ itself, which is pickled by value anyway.
    program = sys.modules.get("__mp_main__")
    name = getattr(program, "__name__", None)
    if name != "__mp_main__":
        yield
        return
    with registering:
        known = name in cloudpickle.list_registry_pickle_by_value()
        if not known:
            cloudpickle.register_pickle_by_value(program)
        try:
            yield
        finally:
            if not known:
                cloudpickle.unregister_pickle_by_value(program)


registering = threading.RLock()  # one thread must not undo what another relies on


@functools.cache
def pickler() -> Any:
    """cloudpickle's, with the name of each function's file: from 3.1.3 on it is left out."""
    import cloudpickle

    table = cloudpickle.Pickler.dispatch_table

    def reduced(code: CodeType) -> tuple[Callable[..., CodeType], tuple[Any, ...]]:
        make, arguments = table[CodeType](code)
        return restored, (make, arguments, code.co_filename)

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        dispatch_table: ClassVar[Any] = ChainMap({CodeType: reduced}, table)

    return Pickler


def restored(make: Callable[..., CodeType], arguments: tuple[Any, ...], filename: str) -> CodeType:
    return make(*arguments).replace(co_filename=filename)
