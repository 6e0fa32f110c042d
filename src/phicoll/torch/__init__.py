"""PyTorch's collectives on CPUs by phicoll: ``torch.distributed`` gets a backend of this name (docs/torch.md).

    >>> import torch.distributed as dist
    >>> import phicoll.torch
    >>> dist.init_process_group("phicoll")

Ranks of one host share memory; between hosts another backend serves. What it is compiled from lies in the package; it
is compiled when the first group is made, against the headers of the PyTorch that is installed, and kept in the user's
cache.
"""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
import uuid
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from importlib import machinery, util
from pathlib import Path
from typing import Any

from phicoll.errors import ArgumentError, ResourceError
from phicoll.foundations.checks import check_flag, check_whole
from phicoll.foundations.extras import extra
from phicoll.preload.building import built
from phicoll.preload.programs import native_folder

with extra("torch"):
    import torch
    import torch.distributed as dist

__all__ = ["Options", "all_reduce_", "build"]

#: The first release whose backends have what is overridden here.
OLDEST = (2, 4)
MODULE = "phicoll_torch"
FLAGS = ("-std=c++20", "-O2", "-fPIC", "-shared", "-w", "-fvisibility=hidden", "-DUSE_DISTRIBUTED")
MOST_RANKS = 1024
MOST_THREADS = 64
is_compiling = torch.compiler.is_compiling  # a name less to look up where tenths of microseconds count


@dataclass(frozen=True)
class Options:
    """What a process group is asked for, the same on all ranks.

    ``init_process_group("phicoll", pg_options=phicoll.torch.Options(reproducible=True))``; ``new_group`` likewise.

    Parameters
    ----------
    reproducible:
        Reductions combine the ranks' elements one by one in the order of ranks, so that the bits depend on these alone:
        :meth:`phicoll.Comm.reproducible`. Not on several hosts.
    threads:
        Threads of each rank that share a broadcast, reduction, allgather, reduce-scatter or all-to-all of 1 MB or more,
        1 to 64. Each needs its own CPU.
    between:
        The backend between the hosts of a group that has several. None: an error there.
    """

    reproducible: bool = False
    threads: int = 1
    between: str | None = "gloo"

    def __post_init__(self) -> None:
        check_flag("reproducible", self.reproducible)
        check_whole("threads", self.threads, 1, MOST_THREADS)
        if self.between is not None and not isinstance(self.between, str):
            raise ArgumentError("between", repr(self.between), "a backend's name, such as 'gloo', or None")


@cache
def build() -> Any:
    """The backend's library as a module: from the user's cache, or compiled, which takes half a minute.

    For a container's image, or before many ranks start at once. ``CXX`` names the compiler, else ``c++``.

    Raises
    ------
    ResourceError
        There is no compiler, or it fails; PyTorch is older than 2.4, or was built without ``torch.distributed``.
    """
    version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    if version < OLDEST:
        raise ResourceError(
            f"PyTorch {torch.__version__} is too old for phicoll's backend: install 2.4 or newer"
        )
    if not dist.is_available():
        raise ResourceError(
            f"PyTorch {torch.__version__} was built without torch.distributed: install another build"
        )
    root = Path(torch.__file__).parent
    folder = Path(native_folder()) / "phicoll" / "preload"
    texts = [str(path) for path in (*sorted((folder / "torch").glob("*")), *sorted(folder.glob("*.hpp")))]
    python = sysconfig.get_path("include")
    include = [root / "include", root / "include" / "torch" / "csrc" / "api" / "include", python]
    libraries = ["-L", str(root / "lib"), *(f"-l{name}" for name in ("torch_python", "torch_cpu", "c10"))]
    compiler = os.environ.get("CXX") or "c++"
    abi = f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}"
    command = [
        compiler,
        *FLAGS,
        abi,
        f"-DPHICOLL_TORCH_MODULE={MODULE}",
        *(f"-isystem{path}" for path in include),
    ]
    key = (
        *command,
        torch.__version__,
        str(torch.version.git_version),
        sysconfig.get_config_var("SOABI") or "",
    )
    if not shutil.which(compiler):
        raise ResourceError(f"no C++ compiler {compiler!r} for phicoll's backend: install g++, or set CXX")
    library = built("torch", torch.__version__, texts, key, command, {}, libraries)
    loader = machinery.ExtensionFileLoader(MODULE, library)
    spec = util.spec_from_file_location(MODULE, library, loader=loader)
    assert spec is not None
    module = util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def host() -> str:
    """What processes have in common that reach each other's groups: a running kernel, a network namespace, a user."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{boot} {Path('/proc/self/ns/net').stat().st_ino} {os.geteuid()}"


def create(given: Any, options: Any = None) -> Any:
    """The backend of one process group, as ``torch.distributed`` asks for it.

    The ranks agree on a name by the store, so that groups of other programs, ports and users never meet.

    Raises
    ------
    ArgumentError
        There are more than 1,024 ranks, they ask for different options, or they are on several hosts and cannot be.
    """
    store, rank, size, timeout = given.store, given.group_rank, given.group_size, given.timeout
    # What another backend of the group's other devices takes is not for this one.
    asked = options if isinstance(options, Options) else Options()
    if size > MOST_RANKS:
        raise ArgumentError("world_size", str(size), f"1..{MOST_RANKS} ranks")
    module = build()
    # A store may outlive a group (torchrun's does), and hold what an earlier one of this name left. Nobody comes a
    # second time before all have come once, so that the arrivals tell which time this is.
    time = (store.add("arrivals", 1) - 1) // size
    store.set(f"{time}/of/{rank}", f"{host()}\n{asked}")
    told = [store.get(f"{time}/of/{other}").decode().split("\n") for other in range(size)]
    for other, (_, wanted) in enumerate(told):
        if wanted != str(asked):
            raise ArgumentError(
                "pg_options", f"{wanted} on rank {other}, {asked} on rank {rank}", "the same on all"
            )
    places = [place for place, _ in told]
    hosts = list(dict.fromkeys(places))  # in the order of their first ranks
    own = hosts.index(places[rank])
    members = [other for other in range(size) if places[other] == places[rank]]
    if rank == members[0]:
        store.set(f"{time}/name/{own}", f"phicoll-torch-{uuid.uuid4().hex}")
    name = store.get(f"{time}/name/{own}").decode()
    limit = max(1, int(timeout.total_seconds() * 1000))
    if len(hosts) > 1:
        check_hosts(asked, rank, next(other for other in range(size) if places[other] != places[rank]))
        if rank == 0:
            print(
                f"phicoll: {size} ranks on {len(hosts)} hosts; {asked.between} between them", file=sys.stderr
            )
    local = module.create(
        name, members.index(rank), len(members), limit, limit, asked.reproducible, asked.threads
    )
    if len(hosts) == 1:
        return local

    def between(what: str, number: int, ranks: int) -> Any:
        return other_backend(
            asked.between or "", dist.PrefixStore(f"{time}/{what}", store), number, ranks, timeout
        )

    leaders = between("leaders", own, len(hosts)) if rank == members[0] else None
    whole = between("whole", rank, size)
    return module.join_hosts(local, leaders, whole, [hosts.index(place) for place in places], rank)


def check_hosts(asked: Options, rank: int, other: int) -> None:
    """ArgumentError if a group with these options cannot have ranks on several hosts."""
    got = (
        f"rank {other}, which is on another host, in another container or another user's, beside rank {rank}"
    )
    if not asked.between:
        raise ArgumentError(
            "ranks",
            got,
            'the ranks of one host; for several name a backend between them: Options(between="gloo")',
        )
    if asked.reproducible:
        raise ArgumentError(
            "ranks",
            got,
            "the ranks of one host where results are to be reproducible: other backends have no order",
        )


def other_backend(name: str, store: Any, rank: int, size: int, timeout: timedelta) -> Any:
    """A backend of PyTorch's, or of a plugin that is registered."""
    if name == "gloo" and dist.is_gloo_available():
        return dist.ProcessGroupGloo(store, rank, size, timeout)
    plugin = dist.Backend._plugins.get(name.upper())
    if plugin is None or name == "phicoll":
        known = ["gloo", *(each.lower() for each in dist.Backend._plugins if each != "PHICOLL")]
        raise ArgumentError("between", repr(name), f"a backend for tensors on the CPU: {', '.join(known)}")
    if not plugin.extended_api:
        return plugin.creator_fn(store, rank, size, timeout)
    given = dist.distributed_c10d._DistributedBackendOptions()
    given.store, given.group_rank, given.group_size, given.timeout = store, rank, size, timeout
    return plugin.creator_fn(given, None)


def all_reduce_(tensor: torch.Tensor, group: dist.ProcessGroup | None = None) -> None:
    """Sums ``tensor`` over the ranks of ``group`` (by default the whole world), in place.

    What ``dist.all_reduce`` does, without PyTorch's dispatcher, hooks and profiler, for engines that count
    microseconds. Use it where no gradient is recorded. Its ranks may mix both. Within ``torch.compile`` it becomes the
    operator ``torch.ops.phicoll.all_reduce_`` of the graph.

    Raises
    ------
    RuntimeError
        The group has another backend, or the call failed (``torch.distributed.DistBackendError``).
    """
    group = dist.group.WORLD if group is None else group
    if is_compiling():
        torch.ops.phicoll.all_reduce_(tensor, group.group_name)
    else:
        build().all_reduce(group, tensor)


if dist.is_available():
    dist.Backend.register_backend("phicoll", create, extended_api=True, devices=["cpu"])
