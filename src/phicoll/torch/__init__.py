"""PyTorch's collectives on CPUs by phicoll: ``torch.distributed`` gets a backend of this name (docs/torch.md).

    >>> import torch.distributed as dist
    >>> import phicoll.torch
    >>> dist.init_process_group("phicoll")

It serves the ranks of one host. What it is compiled from lies in the package; it is compiled when the first group is
made, against the headers of the PyTorch that is installed, and kept in the user's cache.
"""

from __future__ import annotations

import os
import shutil
import sysconfig
import uuid
from datetime import timedelta
from functools import cache
from importlib import machinery, util
from pathlib import Path
from typing import Any

from phicoll.errors import ArgumentError, ResourceError
from phicoll.foundations.extras import extra
from phicoll.preload.building import built
from phicoll.preload.programs import native_folder

with extra("torch"):
    import torch
    import torch.distributed as dist

__all__ = ["all_reduce_", "build"]

#: The first release whose backends have what is overridden here.
OLDEST = (2, 4)
MODULE = "phicoll_torch"
FLAGS = ("-std=c++20", "-O2", "-fPIC", "-shared", "-w", "-fvisibility=hidden", "-DUSE_DISTRIBUTED")
MOST_RANKS = 1024
CPU = torch.device("cpu")


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
    texts = [*sorted((folder / "torch").glob("*")), *sorted(folder.glob("*.hpp"))]
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
    loader = machinery.ExtensionFileLoader(MODULE, str(library))
    spec = util.spec_from_file_location(MODULE, str(library), loader=loader)
    assert spec is not None
    module = util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def host() -> str:
    """What processes have in common that reach each other's groups: a running kernel, a network namespace, a user."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{boot} {Path('/proc/self/ns/net').stat().st_ino} {os.geteuid()}"


def create(store: Any, rank: int, size: int, timeout: timedelta) -> Any:
    """The backend of one process group, as ``torch.distributed`` asks for it.

    The ranks agree on a name by the store, so that groups of other programs, ports and users never meet.

    Raises
    ------
    ArgumentError
        There are more than 1,024 ranks, or ranks of another host.
    """
    if size > MOST_RANKS:
        raise ArgumentError("world_size", str(size), f"1..{MOST_RANKS} ranks of one host")
    module = build()
    own = host()
    # A store may outlive a group (torchrun's does), and hold what an earlier one of this name left. Nobody comes a
    # second time before all have come once, so that the arrivals tell which time this is.
    time = (store.add("arrivals", 1) - 1) // size
    store.set(f"{time}/host/{rank}", own)
    if rank == 0:
        store.set(f"{time}/name", f"phicoll-torch-{uuid.uuid4().hex}")
    name = store.get(f"{time}/name").decode()
    others = [other for other in range(size) if store.get(f"{time}/host/{other}").decode() != own]
    if others:
        raise ArgumentError(
            "ranks",
            f"rank {others[0]}, which is on another host, in another container or another user's, beside rank {rank}",
            "the ranks of one host; between hosts use another backend, such as gloo",
        )
    limit = max(1, int(timeout.total_seconds() * 1000))
    return module.create(name, rank, size, limit, limit)


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
    if torch.compiler.is_compiling():
        torch.ops.phicoll.all_reduce_(tensor, group.group_name)
    else:
        build().all_reduce(group._get_backend(CPU), tensor)


if dist.is_available():
    dist.Backend.register_backend("phicoll", create, devices=["cpu"])
