"""``mpi4py.util.pkl5``: phicoll's own communicators, which leave large buffers out of an object's pickle anyway."""

from phicoll.MPI import Comm, Intercomm, Intracomm, Message, Request, pickle

__all__ = ["Comm", "Intercomm", "Intracomm", "Message", "Request", "pickle"]
