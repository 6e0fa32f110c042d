"""The part of mpi4py.util that phicoll offers, pkl5, and what to use instead of the others."""

INSTEAD = {
    "dtlib": "a NumPy dtype is a type: [array, count, dtype]",
    "pool": "concurrent.futures.ProcessPoolExecutor is a pool of processes",
    "sync": "Barrier, and the locks of a shared window (MPI.Win), order ranks",
}


def __getattr__(name: str) -> object:
    if name in INSTEAD:
        raise ModuleNotFoundError(f"{__name__}.{name} is not offered: {INSTEAD[name]}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
