"""OpenSHMEM from Python: symmetric NumPy arrays, one-sided transfers, atomics, signals, teams, collectives, locks.

    >>> from phicoll import shmem
    >>> shmem.init()
    >>> me, n = shmem.my_pe(), shmem.n_pes()
    >>> there = shmem.zeros(1, int)                     # on every PE
    >>> shmem.put(there, np.array([me]), (me + 1) % n)  # one store into the next PE's memory
    >>> shmem.barrier_all()                             # there[0] == (me - 1) % n

PEs are the ranks of ``phicoll launch -n 4 program.py``, of ``oshrun -n 4 python program.py`` or, as processes, of
:func:`phicoll.run`; a program that was started by itself is one PE. The interface is that of shmem4py 1.0; a
program begins with :func:`init`. Bad input raises :class:`phicoll.errors.ArgumentError` before anything is changed,
a PE that dies :class:`phicoll.errors.BrokenGroupError` in the others' calls.
"""

from __future__ import annotations

from phicoll.shmem import atomics, collectives, comparisons, library, locks, memory, teams, transfers, waits
from phicoll.shmem.atomics import *
from phicoll.shmem.collectives import *
from phicoll.shmem.comparisons import *
from phicoll.shmem.library import *
from phicoll.shmem.locks import *
from phicoll.shmem.memory import *
from phicoll.shmem.teams import *
from phicoll.shmem.transfers import *
from phicoll.shmem.waits import *

__all__: list[str] = []
__all__ += atomics.__all__
__all__ += collectives.__all__
__all__ += comparisons.__all__
__all__ += library.__all__
__all__ += locks.__all__
__all__ += memory.__all__
__all__ += teams.__all__
__all__ += transfers.__all__
__all__ += waits.__all__
