"""phicoll under mpi4py's name. ``phicoll launch --as-mpi4py`` puts it on the path of the programs that it starts."""

import sys
from typing import Any

__all__ = ["MPI", "rc"]

__version__ = "4.1.0"  # whose names it has


class Rc:
    """What programs set before they import MPI: by attributes, or ``mpi4py.rc(threads=False)``.

    ``initialize=False`` lets ``MPI.Is_initialized`` be false until ``MPI.Init``, and ``errors`` is what
    ``Get_errhandler`` says. The others have no effect.
    """

    initialize: Any = True
    threads: Any = True
    thread_level: Any = "multiple"
    finalize: Any = None
    fast_reduce: Any = True
    recv_mprobe: Any = True
    irecv_bufsz: Any = 32768
    errors: Any = "exception"

    def __setattr__(self, name: str, value: object) -> None:
        if not hasattr(self, name):
            raise TypeError(f"mpi4py.rc has no option {name!r}")
        super().__setattr__(name, value)

    def __call__(self, **options: object) -> None:
        for name, value in options.items():
            setattr(self, name, value)

    def __repr__(self) -> str:
        return "<mpi4py.rc>"


rc = Rc()
sys.modules[f"{__name__}.rc"] = rc  # type: ignore[assignment]
