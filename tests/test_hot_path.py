"""The code of `dissemination` on `NativePort`: nothing but loads, stores, compares and branches where every wait passes.

What leaves that path is one of three functions that are cold and out of line: a wait that must go on, a marked sleeper,
a line stored whole. The test walks the control flow of the compiled barrier and demands that it gets from its entry to its
return without any call, and that these three are the only calls there are.
"""

import re

import pytest

from conftest import disassembly_of

RANK = r"phicoll::Dissemination::Rank<phicoll::NativePort>"
# Two ranks take the first function (the barrier inlined into the probe) to its end; more go on, by a jump, to the second.
FUNCTIONS = {
    "two ranks": "phicoll_hot_path",
    "more": rf"{RANK}::all_rounds\(phicoll::NativePort&, unsigned long\)",
}
COLD = ("WaitingRoom::wait", "parking::wake_sleepers", "NativePort::store_whole")


@pytest.fixture(scope="module")
def disassembly(tmp_path_factory):
    return disassembly_of("hot_path_probe.cpp", tmp_path_factory.mktemp("hot"))


@pytest.fixture(scope="module", params=FUNCTIONS.values(), ids=FUNCTIONS.keys())
def code(request, disassembly):
    """The function's instructions in order: address -> (mnemonic, operands, called or jumped-to function or None)."""
    body = re.search(rf"<{request.param}>:\n(.*?)(?:\n\n|\Z)", disassembly, re.DOTALL)
    assert body, "the barrier's function is not in the object"
    instructions = {}
    address = None
    for line in body.group(1).splitlines():
        if relocation := re.match(r"\s+[0-9a-f]+: R_X86_64_PLT32\s+(.*)", line):
            mnemonic, operands, _ = instructions[address]
            instructions[address] = (mnemonic, operands, relocation.group(1))
        elif instruction := re.match(r"\s+([0-9a-f]+):\s+(\S+)\s*(.*)", line):
            address = int(instruction.group(1), 16)
            instructions[address] = (instruction.group(2), instruction.group(3), None)
    return instructions


@pytest.fixture(scope="module")
def without_calls(code):
    """Every instruction that can be reached from the entry while each wait passes at its first look."""
    order = sorted(code)
    following = dict(zip(order, order[1:], strict=False))
    seen, todo = set(), [order[0]]
    while todo:
        at = todo.pop()
        # A call leaves the path; so does the gap between two looks (`look_gap`): the first look has failed there.
        if at in seen or at not in code or code[at][0].startswith(("call", "lfence")):
            continue
        seen.add(at)
        mnemonic, operands, target = code[at]
        if mnemonic.startswith("ret"):
            continue
        if mnemonic.startswith("j"):
            assert "*" not in operands, "an indirect jump"
            if target is None:
                todo.append(int(operands.split()[0], 16))
            else:
                assert "all_rounds" in target
        if mnemonic != "jmp":
            todo.append(following[at])
    return [code[at] for at in sorted(seen)]


def test_the_barrier_returns_without_a_call(without_calls):
    mnemonics = [mnemonic for mnemonic, _, _ in without_calls]
    assert any(m.startswith("ret") for m in mnemonics)
    # Not an empty body: flags are stored and looked at.
    assert sum("(%r" in operands for _, operands, _ in without_calls) >= 6


def test_only_what_leaves_the_fast_path_is_called(code, disassembly):
    called = [target or operands for m, operands, target in code.values() if m.startswith("call")]
    # Here, or in the cold part of the function that the compiler splits off.
    assert "WaitingRoom::wait" in disassembly
    assert [name for name in called if not any(cold in name for cold in COLD)] == []


def test_no_division_no_fence_no_locked_operation(without_calls):
    slow = re.compile(r"i?div|lock|[lms]fence|xchg|cmpxchg|xadd")
    # `xchg %ax,%ax` is how the assembler writes a two-byte nop.
    found = [i for i in without_calls if slow.match(i[0]) and i[:2] != ("xchg", "%ax,%ax")]
    assert found == []
