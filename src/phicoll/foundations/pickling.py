"""Pickles of functions of the running program, which keep the names of their files."""

from __future__ import annotations

import functools
import io
import sys
from collections import ChainMap
from collections.abc import Callable
from types import CodeType
from typing import Any, ClassVar

__all__ = ["dumps"]


def dumps(obj: Any) -> bytes:
    """Pickle ``obj`` by cloudpickle; a traceback through its functions shows their source."""
    with io.BytesIO() as file:
        pickler()(file).dump(obj)
        return file.getvalue()


@functools.cache
def pickler() -> Any:
    """cloudpickle's, with the name of each function's file: from 3.1.3 on it is left out."""
    import cloudpickle

    # What the running program is called in multiprocessing's workers (spawn, forkserver), and nowhere else.
    if "__mp_main__" in sys.modules:
        cloudpickle.register_pickle_by_value(sys.modules["__mp_main__"])
    table = cloudpickle.Pickler.dispatch_table

    def reduced(code: CodeType) -> tuple[Callable[..., CodeType], tuple[Any, ...]]:
        make, arguments = table[CodeType](code)
        return restored, (make, arguments, code.co_filename)

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        dispatch_table: ClassVar[Any] = ChainMap({CodeType: reduced}, table)

    return Pickler


def restored(make: Callable[..., CodeType], arguments: tuple[Any, ...], filename: str) -> CodeType:
    return make(*arguments).replace(co_filename=filename)
