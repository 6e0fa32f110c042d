"""Not offered."""

# Without a name, as "from mpi4py import futures" would hide the error if it had this module's.
raise ModuleNotFoundError(
    "mpi4py.futures is not offered: concurrent.futures.ProcessPoolExecutor is a pool of processes"
)
