"""The timed region of `read-latency` on `NativePort`: the reads, and nothing else but the loop's own counting.

Between the two stamps of a sample the compiled kernel may have one loop of a dependent load, an addition, a compare and a
branch. What the stamps themselves take is in every sample too; each run of a kernel times it and records it (`empty_ns`).
"""

import re

import pytest

from conftest import disassembly_of

#: Part of the second stamp: which clock it reads.
STAMP = "phicoll::os::cycle_counter_is_clock()"


@pytest.fixture(scope="module")
def timed(tmp_path_factory):
    """The instructions between the two stamps in order: (address, mnemonic, operands, called function or None)."""
    text = disassembly_of("kernel_path_probe.cpp", tmp_path_factory.mktemp("kernel"))
    header = r"^[0-9a-f]+ <(?:void )?phicoll::kernels::ReadLatency::run<(?![^\n]*clone)[^\n]*>:\n"
    body = re.search(header + r"(.*?)(?:\n\n|\Z)", text, re.DOTALL | re.MULTILINE)
    assert body, "the kernel is not in the object"
    found = []
    for line in body.group(1).splitlines():
        if relocation := re.match(r"\s+[0-9a-f]+: R_X86_64_PLT32\s+(.*?)-0x4$", line):
            found[-1] = (*found[-1][:3], relocation.group(1))
        elif instruction := re.match(r"\s+([0-9a-f]+):\s+(\S+)\s*(.*)", line):
            found.append((int(instruction.group(1), 16), instruction.group(2), instruction.group(3), None))
    stamps = [i for i, (_, mnemonic, _, _) in enumerate(found) if mnemonic == "rdtsc"]
    assert len(stamps) == 2, "a stamp before the reads and one after them"
    return found[stamps[0] + 1 : stamps[1]]


def test_the_loop_is_a_load_and_its_own_counting(timed):
    jumps = [(i, int(x[2].split()[0], 16)) for i, x in enumerate(timed) if x[1].startswith("j")]
    backward = [(i, to) for i, to in jumps if to <= timed[i][0]]
    assert len(backward) == 1, "one loop"
    last, begin = backward[0]
    loop = [x for x in timed[: last + 1] if x[0] >= begin]
    loads = [x for x in loop if x[1].startswith("mov") and re.match(r".*\(.*\),%r\w+$", x[2])]
    rest = [x for x in loop if x not in loads]
    assert len(loads) == 1
    # The next load's address depends on the load's target: each read needs the one before.
    target = loads[0][2].rsplit(",", 1)[1]
    assert target in loads[0][2].rsplit(",", 1)[0]
    assert all(
        re.fullmatch(r"add|sub|inc|dec|cmp|test|lea|j\w+", mnemonic[:4].rstrip("lq"))
        for _, mnemonic, _, _ in rest
    )
    assert not any("(%" in operands for _, _, operands, _ in rest), "no other access to memory"
    assert len(loop) <= 6


def test_nothing_is_called_but_the_stamp(timed):
    assert {called for _, _, _, called in timed if called} <= {STAMP}
    assert not any(re.match(r"lock|[ms]fence|xchg|clflush", mnemonic) for _, mnemonic, _, _ in timed)
