"""phicoll.shmem, begun when it is imported."""

from phicoll.shmem import *  # noqa: F403
from phicoll.shmem import THREAD, init, init_thread
from shmem4py import rc

if rc.initialize:
    if rc.threads:
        init_thread(THREAD[rc.thread_level.upper()])
    else:
        init()
