"""``mpi4py.util.pkl5``: phicoll's own communicators, which leave large buffers out of an object's pickle anyway."""

from phicoll.MPI import Comm, Intercomm, Intracomm, Message, Pickle, Request, pickle

__all__ = ["Comm", "Intercomm", "Intracomm", "Message", "Pickle", "Request", "pickle"]


class _BigMPI:
    """Where programs set the bytes from which mpi4py sends an object in blocks. Messages here have any size."""

    blocksize = 1 << 30


_bigmpi = _BigMPI()
