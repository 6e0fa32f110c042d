"""phicoll's groups for PyTorch where engines run: without ptrace, with little shared memory, side by side, after a kill."""

import ctypes
import errno
import os
import platform
import select
import signal
import socket
import struct
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from test_torch import Work, dist, mp, phicoll, together, torch

#: The numbers of ptrace, process_vm_readv and process_vm_writev.
REFUSED = {"x86_64": (101, 310, 311), "aarch64": (117, 270, 271)}.get(platform.machine(), ())
LONG_S = 300  # the ranks of two engines import PyTorch at once


def refuse_ptrace() -> None:
    """From now on the kernel refuses this process what needs ptrace, as a container's seccomp filter does."""
    libc = ctypes.CDLL(None, use_errno=True)

    def step(code: int, yes: int, no: int, value: int) -> bytes:
        return struct.pack("HBBI", code, yes, no, value)

    ends = len(REFUSED)
    steps = [step(0x20, 0, 0, 0)]  # the number of the system call
    steps += [step(0x15, ends - i, 0, number) for i, number in enumerate(REFUSED)]
    steps += [step(0x06, 0, 0, 0x7FFF0000), step(0x06, 0, 0, 0x00050000 | errno.EPERM)]
    text = ctypes.create_string_buffer(b"".join(steps))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(text)))
    for option, value, pointer in ((38, 1, None), (22, 2, program)):  # PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP
        if libc.prctl(option, value, pointer, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl")
    assert libc.syscall(REFUSED[1], os.getpid(), None, 0, None, 0, 0) == -1
    assert ctypes.get_errno() == errno.EPERM


def moved(rank: int, size: int) -> None:
    for count in (3, 1 << 21):
        dist.all_reduce(sums := torch.full((count,), float(rank)))
        assert (sums == size * (size - 1) / 2).all()
        dist.broadcast(got := torch.full((count,), rank), 1)
        assert (got == 1).all()
        blocks = torch.empty(size * count, dtype=torch.bfloat16)
        dist.all_gather_into_tensor(blocks, torch.full((count,), rank, dtype=torch.bfloat16))
        assert all((block == other).all() for other, block in enumerate(blocks.chunk(size)))
        own = torch.empty(count)
        dist.all_to_all_single(whole := torch.empty(size * count), torch.full((size * count,), float(rank)))
        dist.reduce_scatter_tensor(own, whole)
        assert (own == size * rank).all()
        if rank == 0:
            dist.send(own, 1)
        elif rank == 1:
            dist.recv(own, 0)


def moved_without_ptrace_from_now_on(rank: int, size: int) -> None:
    moved(rank, size)
    refuse_ptrace()
    moved(rank, size)


def confined(rank: int, store: str, size: int) -> None:
    refuse_ptrace()
    dist.init_process_group("phicoll", store=dist.FileStore(store, size), rank=rank, world_size=size)
    moved(rank, size)
    dist.destroy_process_group()


@pytest.mark.skipif(
    not REFUSED, reason="only the numbers of x86-64's and aarch64's system calls are known here"
)
def test_groups_need_no_ptrace(tmp_path: Path) -> None:
    phicoll.torch.build()
    mp.start_processes(confined, (str(tmp_path / "store"), 2), nprocs=2, start_method="fork")


@pytest.mark.skipif(
    not REFUSED, reason="only the numbers of x86-64's and aarch64's system calls are known here"
)
def test_ptrace_may_be_refused_later(tmp_path: Path) -> None:
    work: Work = moved_without_ptrace_from_now_on
    together(tmp_path, work)


#: One rank of an engine, which finds the others by what its environment has.
RANK = """
    import sys, time, torch, torch.distributed as dist, phicoll.torch
    dist.init_process_group("phicoll")
    large = torch.full((10_000_000,), float(sys.argv[1]))
    dist.all_reduce(large)
    sys.stdout.write(f"{large[0].item()}\\n")  # in one piece: engines share it
    sys.stdout.flush()
    while len(sys.argv) > 2:
        dist.all_reduce(large)
    dist.barrier()
    dist.destroy_process_group()
"""


def engine(script: Path, port: int, *words: str) -> list[subprocess.Popen[str]]:
    script.write_text(textwrap.dedent(RANK))
    known = os.environ | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2"}
    return [
        subprocess.Popen(
            [sys.executable, str(script), *words],
            env=known | {"RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]


def check(ranks: list[subprocess.Popen[str]], said: str) -> None:
    try:
        for rank in ranks:
            out, errors = rank.communicate(timeout=LONG_S)
            assert (rank.returncode, out.strip()) == (0, said), errors
    finally:
        kill(ranks)


def kill(ranks: list[subprocess.Popen[str]]) -> None:
    for rank in ranks:
        rank.send_signal(signal.SIGKILL)  # nothing, once it has ended
    for rank in ranks:
        rank.communicate(timeout=LONG_S)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def test_an_engine_that_was_killed_starts_again_with_its_port(tmp_path: Path) -> None:
    phicoll.torch.build()
    port = free_port()
    killed = engine(tmp_path / "rank.py", port, "1", "for ever")
    try:
        for rank in killed:
            assert rank.stdout is not None
            assert select.select([rank.stdout], [], [], LONG_S)[0]
            assert rank.stdout.readline() == "2.0\n"
    finally:
        kill(killed)
    check(engine(tmp_path / "rank.py", port, "3"), "6.0")


#: Runs a command in a network of its own, where the port of another engine is free.
ALONE = """
    import fcntl, os, socket, struct, subprocess, sys
    with socket.socket() as one:  # the loopback device is up: IFF_UP
        fcntl.ioctl(one, 0x8914, struct.pack("16sh14x", b"lo", 1))
    ranks = [subprocess.Popen([sys.executable, *sys.argv[1:]], env=os.environ | {"RANK": str(r)}) for r in range(2)]
    sys.exit(max(rank.wait() for rank in ranks))
"""


def test_two_engines_share_a_port_and_little_shared_memory(tmp_path: Path) -> None:
    """As in two containers with one environment and one /dev/shm, which is too small for a tensor of each."""
    phicoll.torch.build()
    (tmp_path / "alone.py").write_text(textwrap.dedent(ALONE))
    (tmp_path / "rank.py").write_text(textwrap.dedent(RANK))
    user = "" if os.geteuid() == 0 else "r"
    both = f"""
        mount -t tmpfs -o size=64m none /dev/shm || exit 77
        for own in 1 2; do
            unshare -n "$0" {tmp_path}/alone.py {tmp_path}/rank.py $own & eval "job$own=$!"
        done
        wait $job1 && wait $job2 && test "$(ls -A /dev/shm)" = ""
    """
    known = os.environ | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29517", "WORLD_SIZE": "2"}
    done = subprocess.run(
        ["unshare", f"-m{user}", "bash", "-c", both, sys.executable],
        env=known,
        capture_output=True,
        text=True,
        timeout=LONG_S,
        check=False,
    )
    if done.returncode == 77 or "unshare failed" in done.stderr:
        pytest.skip("this system lets nobody have namespaces")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()) == ["2.0", "2.0", "4.0", "4.0"]
