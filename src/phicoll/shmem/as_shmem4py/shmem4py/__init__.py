"""phicoll.shmem as shmem4py: ``phicoll launch --as-shmem4py`` puts it on the path of the programs that it starts."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["rc"]

__version__ = "1.0.0"  # whose names it has


class Rc:
    """Settings for the start of ``shmem4py.shmem``, which programs change before they import it."""

    initialize: bool = True
    threads: bool = False
    thread_level: str = "multiple"
    finalize: bool | None = None  # a program that ends without it ends with it

    def __setattr__(self, name: str, value: Any) -> None:
        if not hasattr(self, name):
            raise TypeError(f"rc has no {name!r}; there are initialize, threads, thread_level, finalize")
        super().__setattr__(name, value)

    def __call__(self, **values: Any) -> None:
        """Set several."""
        for name, value in values.items():
            setattr(self, name, value)

    def __repr__(self) -> str:
        return f"<{__name__}.rc>"


rc = Rc()
sys.modules[f"{__name__}.rc"] = rc  # type: ignore[assignment]
