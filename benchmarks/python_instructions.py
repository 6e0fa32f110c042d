"""The instructions of calls from Python by one rank, counted by callgrind, which a busy machine does not change.

    python benchmarks/python_instructions.py [--calls 400] [--json FILE] [--path DIRECTORY]

Counts what `benchmarks/python_calls_worker.py` measures, and an empty function. Needs valgrind with its headers and a
C compiler. `--path` has another build's `phicoll`, to compare with.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import re
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

WORKER = Path(__file__).resolve().parent / "python_calls_worker.py"
SHIM = """#include <valgrind/callgrind.h>
void zero(void) { CALLGRIND_ZERO_STATS; }
void dump(void) { CALLGRIND_DUMP_STATS; CALLGRIND_ZERO_STATS; }
"""


def loop(call: Callable[[], object], times: int) -> None:
    for _ in range(times):
        call()


def count(shim: ctypes.CDLL, times: int) -> None:
    """Under callgrind: a dump for each call, and their names."""
    sys.argv[1:] = ["1"]
    names = runpy.run_path(str(WORKER))
    calls = {"empty": lambda: None, **names["calls"]()}
    for call in [calls["empty"], *calls.values()]:  # the first count has what callgrind itself begins with
        loop(call, times // 8)  # Python has specialised the code by then
        shim.zero()
        loop(call, times)
        shim.dump()
    print(json.dumps(list(calls)))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--calls", type=int, default=400, help="of each kind (default: 400)")
    parser.add_argument("--json", type=Path, help="where the counts go, too")
    parser.add_argument("--path", type=Path, help="the directory of another phicoll")
    parser.add_argument("--shim", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.shim:
        count(ctypes.CDLL(given.shim), given.calls)
        return 0
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "shim.c").write_text(SHIM)
        shim = folder / "shim.so"
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", shim, folder / "shim.c"], check=True)
        import phicoll

        package = given.path / "phicoll" if given.path else Path(phicoll.__file__).parent
        paths = [str(package.parent), str(package / "comm" / "as_mpi4py")]
        valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out"]
        again = [sys.executable, __file__, "--shim", str(shim), "--calls", str(given.calls)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONHASHSEED": "0"}
        done = subprocess.run(
            [*valgrind, *again], env=environment, stdout=subprocess.PIPE, text=True, check=True
        )
        found = {}
        for number, name in enumerate(json.loads(done.stdout.splitlines()[-1]), 2):
            text = (folder / f"out.{number}").read_text()
            found[name] = int(re.findall(r"^(?:summary|totals): (\d+)", text, re.M)[-1]) / given.calls
    for name, instructions in found.items():
        print(f"{instructions:10.1f}  {name}")
    if given.json:
        given.json.write_text(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
