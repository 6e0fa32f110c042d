"""Runs PyTorch's own tests of gloo against phicoll's backend, and counts them.

    build/torch/bin/python tests/torch_gloo_adapter.py PYTORCH/test/distributed [--gloo] [--any-words] [Class.test ...]

``PYTORCH`` is a checkout of https://github.com/pytorch/pytorch; its tests are not copied here. They run with "gloo"
replaced by "phicoll", and with phicoll's groups where they make gloo's own class. ``--gloo`` leaves them as they are.
``--any-words`` takes an error whose words are not gloo's. ``LEFT_OUT`` has every test that fails, with the reason; all
others have to pass.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import unittest
from collections import Counter
from datetime import timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
import torch.distributed as dist
from torch.testing._internal.common_distributed import MultiProcessTestCase

import phicoll.torch

#: What fails, by the reason: patterns of "Class.test".
LEFT_OUT: dict[str, list[str]] = {
    "the error has other words, or what gloo refuses is served": ["*_checks"],
    "sparse tensors are refused": [
        "*.test_sparse_*",
        "DistributedDataParallelTest.test_ddp_comm_hook_sparse_gradients",
    ],
    "several inputs of one rank in an allgather are refused": [
        f"ProcessGroupGlooTest.test_allgather_{name}"
        for name in ("basics", "noncontiguous_input", "inference_mode")
    ],
    "a time-out cannot be set later": ["ProcessGroupGlooTest.test_set_gloo_pg_timeout"],
    "fails with gloo, too": ["*.test_new_group_local_sync"],
    "tensors that are not contiguous are served": ["*.test_all_to_all_single"],
}
GLOO = dist.ProcessGroupGloo
fork = torch.multiprocessing.get_context("fork")


class Group:
    """Stands for the class of gloo's groups, and makes phicoll's."""

    _Options = GLOO._Options
    create_device = staticmethod(GLOO.create_device)

    def __new__(cls, store: Any, rank: int, size: int, options: Any) -> Any:
        seconds = options._timeout
        timeout = seconds if isinstance(seconds, timedelta) else timedelta(seconds=seconds)
        return phicoll.torch.create(
            SimpleNamespace(store=store, group_rank=rank, group_size=size, timeout=timeout)
        )


def prepare() -> None:
    """What the changed file calls first, in each process."""
    dist.ProcessGroupGloo = Group
    if os.environ.get("PHICOLL_ANY_WORDS"):

        def raises(self: unittest.TestCase, error: Any, _words: Any, *args: Any, **named: Any) -> Any:
            return self.assertRaises(error, *args, **named)  # noqa: PT027

        unittest.TestCase.assertRaisesRegex = raises


def reason_of(name: str) -> str | None:
    """Why a test fails; None if it does not."""
    return next(
        (why for why, names in LEFT_OUT.items() if any(fnmatchcase(name, pattern) for pattern in names)), None
    )


class Counting(unittest.TextTestResult):
    """Notes how each test ended."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.passed: set[str] = set()
        self.skips: Counter[str] = Counter()

    def addSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802
        self.passed.add(short(test))
        super().addSuccess(test)

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:  # noqa: N802
        self.skips[reason] += 1
        super().addSkip(test, reason)


def short(test: unittest.TestCase) -> str:
    return ".".join(test.id().split(".")[-2:])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gloo", action="store_true", help="gloo itself")
    parser.add_argument("--any-words", action="store_true", help="whatever an error says")
    parser.add_argument("tests", nargs="*")
    given = parser.parse_args()
    if given.any_words:
        os.environ["PHICOLL_ANY_WORDS"] = "1"
    with tempfile.TemporaryDirectory() as made:
        text = (given.folder / "test_c10d_gloo.py").read_text()
        if not given.gloo:
            phicoll.torch.build()
            for old, new in (('"gloo"', '"phicoll"'), ("backend.create_device(interface=LOOPBACK)", "pass")):
                text = text.replace(old, new)
            text = f"import torch_gloo_adapter\ntorch_gloo_adapter.prepare()\n{text}"
        (Path(made) / "test_c10d_gloo.py").write_text(text)
        sys.path[1:1] = [made, str(given.folder)]
        sys.argv[1:] = []  # PyTorch's tests read them
        # Ranks are forks, which import nothing.
        MultiProcessTestCase._spawn_processes = lambda self: self._start_processes(fork.Process)
        names = [f"test_c10d_gloo.{name}" for name in given.tests] or ["test_c10d_gloo"]
        suite = unittest.defaultTestLoader.loadTestsFromNames(names)
        result = unittest.TextTestRunner(verbosity=2, resultclass=Counting).run(suite)
    failed = sorted({short(test) for test, _ in result.failures + result.errors})
    print(f"{len(result.passed)} passed, {len(failed)} failed, {sum(result.skips.values())} skipped")
    for why, count in result.skips.most_common():
        print(f"{count:5}  skipped: {why}")
    for name in failed:
        print(f"       failed: {name}: {reason_of(name)}")
    if given.gloo:
        return 0
    wrong = [name for name in failed if reason_of(name) is None]
    better = [] if given.any_words else [name for name in sorted(result.passed) if reason_of(name)]
    for name in better:
        print(f"       passes, though it is left out: {name}")
    return 1 if wrong or better else 0


if __name__ == "__main__":
    sys.exit(main())
