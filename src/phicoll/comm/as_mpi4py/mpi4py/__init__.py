"""phicoll under mpi4py's name. ``phicoll launch --as-mpi4py`` puts it on the path of the programs that it starts."""

import sys
from types import SimpleNamespace

from phicoll import MPI

__all__ = ["MPI", "rc"]

__version__ = "4.1.0"  # whose names it has

# What programs set before they import MPI. None of it has an effect here.
rc = SimpleNamespace(
    initialize=True, finalize=None, threads=True, thread_level="multiple", errors="exception"
)

sys.modules[f"{__name__}.MPI"] = MPI
