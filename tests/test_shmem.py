"""``phicoll.shmem``: every function group over one table of types, starts and ends, and what is said about errors."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import phicoll

#: What OpenSHMEM has for a type: reductions (bits, order, sum), atomics (atomic for all, swap for fetch, set and swap) and
#: waits. Transfers take every type.
TYPES = {
    "i1": "bits order sum",
    "i2": "bits order sum wait",
    "i4": "bits order sum wait atomic swap",
    "i8": "bits order sum wait atomic swap",
    "u1": "bits order sum",
    "u2": "bits order sum wait",
    "u4": "bits order sum wait atomic swap",
    "u8": "bits order sum wait atomic swap",
    "f4": "order sum swap",
    "f8": "order sum swap",
    "g": "order sum",
    "c8": "sum",
    "c16": "sum",
    "?": "",
    "S3": "",
    "M8[s]": "",
    "i4,f8": "",
    ">i4": "",
}
REDUCTIONS = {
    "and": ("bits", np.bitwise_and),
    "or": ("bits", np.bitwise_or),
    "xor": ("bits", np.bitwise_xor),
    "max": ("order", np.maximum),
    "min": ("order", np.minimum),
    "sum": ("sum", np.add),
    "prod": ("sum", np.multiply),
}


def with_group(group):
    return [code for code, groups in TYPES.items() if group in groups.split()]


def without_group(group):
    return [code for code in TYPES if code not in with_group(group)]


def numbers(code, seed, count):
    """Elements that differ from seed to seed."""
    raw = np.random.default_rng(seed).integers(0, 100, (count, 2))
    kind = np.dtype(code)
    if kind.names:
        made = np.zeros(count, kind)
        made["f0"], made["f1"] = raw.T
        return made
    if kind.kind == "S":
        return raw[:, 0].astype(str).astype(kind)
    if kind.kind == "c":
        return (raw[:, 0] + 1j * raw[:, 1]).astype(kind)
    return raw[:, 0].astype(kind)


def refused(said, function, *arguments, **named):
    """Whether the call raises ArgumentError with these words, in one line."""
    try:
        function(*arguments, **named)
    except phicoll.ArgumentError as error:
        text = str(error)
        assert said in text, text
        assert "\n" not in text, text
        assert "allowed: " in text, text
        return True
    return False


def transfers(comm):
    from phicoll import shmem

    shmem.init()
    me, n = shmem.my_pe(), shmem.n_pes()
    assert (me, n) == (comm.rank, comm.size)
    after, before = (me + 1) % n, (me - 1) % n
    for code in TYPES:
        there = shmem.array(numbers(code, 100 + me, 12))
        was = [numbers(code, 100 + pe, 12) for pe in range(n)]
        mine = numbers(code, me, 12)
        came = numbers(code, before, 12)

        def check(expected, there=there, code=code):
            shmem.barrier_all()
            assert np.array_equal(there, expected), code
            shmem.barrier_all()

        shmem.put(there, mine, after)
        check(came)
        shmem.put_nbi(there[3:], was[after][3:5], after)
        shmem.quiet()
        check(np.r_[came[:3], was[me][3:5], came[5:]])
        shmem.put(there, was[after], after, size=12, ctx=shmem.CTX_DEFAULT)
        check(was[me])
        shmem.iput(there, mine, after, tst=3, sst=2)
        strided = was[me].copy()
        strided[::3] = came[:8:2]
        check(strided)

        found = np.zeros(12, code)
        shmem.get(found, there, after, 5)
        expected = was[after].copy()
        expected[::3] = mine[:8:2]
        assert np.array_equal(found[:5], expected[:5]), code
        shmem.get_nbi(found, there, after)
        shmem.quiet()
        assert np.array_equal(found, expected), code
        shmem.iget(found, there, after, 2, 4)
        assert np.array_equal(found[:6:2], expected[::4]), code

        view = shmem.ptr(there, after)
        assert np.array_equal(view, expected), code
        assert (view.dtype, view.shape, view.strides) == (there.dtype, there.shape, there.strides)
        shmem.barrier_all()
        view[5] = mine[11]
        shmem.barrier_all()
        assert there[5] == came[11]

        signal_word = shmem.new_signal()
        shmem.put_signal(there, mine, after, signal_word, 7, shmem.SIGNAL_SET)
        assert shmem.signal_wait_until(signal_word, ">=", 7) == 7
        assert np.array_equal(there, came), code
        shmem.barrier_all()
        shmem.put_signal_nbi(there[:0], mine[:0], after, signal_word, 2, shmem.SIGNAL_ADD)
        assert shmem.signal_wait_until(signal_word, shmem.CMP_EQ, 9) == shmem.signal_fetch(signal_word) == 9
        shmem.del_signal(signal_word)
        shmem.free(there)
    return me


def atomics(comm):
    from phicoll import shmem

    shmem.init()
    me, n = shmem.my_pe(), shmem.n_pes()
    after = (me + 1) % n
    values = {"add": 5, "and": 6, "or": 9, "xor": 3, "set": 44, "inc": None}
    models = {
        "add": lambda old: old + 5,
        "and": lambda old: old & 6,
        "or": lambda old: old | 9,
        "xor": lambda old: old ^ 3,
        "set": lambda old: 44,
        "inc": lambda old: old + 1,
    }
    for code in TYPES:
        there = shmem.array(numbers(code, 50, 1))
        for op, value in values.items():
            offered = with_group("swap" if op == "set" else "atomic")
            arguments = () if op == "inc" else (value,)
            fetching = getattr(shmem, "atomic_swap" if op == "set" else f"atomic_fetch_{op}")
            fetching_nbi = getattr(shmem, "atomic_swap_nbi" if op == "set" else f"atomic_fetch_{op}_nbi")
            plain = getattr(shmem, f"atomic_{op}")
            if code not in offered:
                kept = there.copy()
                assert refused("target: got an array of", plain, there, *arguments, after)
                assert refused("int64", fetching, there, *arguments, after)
                assert np.array_equal(there, kept)
                continue
            shmem.barrier_all()
            expected = shmem.atomic_fetch(there, after)
            old = np.zeros(1, code)
            ways = (
                (fetching, (there, *arguments, after)),
                (plain, (there, *arguments, after)),
                (fetching_nbi, (old, there, *arguments, after)),
                (shmem.atomic_op, (there, value, op, after, shmem.CTX_DEFAULT)),
                (shmem.atomic_fetch_op, (there, value, op.upper(), after)),
                (shmem.atomic_fetch_op_nbi, (old, there, value, op, after)),
            )
            for number, (function, given) in enumerate(ways):
                found = function(*given)
                if number in (2, 5):
                    found = old[0]
                if found is not None:
                    assert found == expected, (code, op)
                expected = models[op](expected)
                assert shmem.atomic_fetch(there, after) == expected, (code, op)
            shmem.barrier_all()
            assert there[0] == expected
            shmem.barrier_all()
        if code in with_group("atomic"):
            shmem.atomic_set(there, 10, after)
            assert shmem.atomic_compare_swap(there, 11, 1, after) == 10
            old = np.zeros(1, code)
            shmem.atomic_compare_swap_nbi(old, there, 10, 1, after)
            shmem.atomic_fetch_nbi(old, there, after)
            assert old[0] == 1
            shmem.barrier_all()
            for _ in range(100):
                shmem.atomic_inc(there, 0)
            shmem.barrier_all()
            assert shmem.atomic_fetch(there, 0) == 1 + 100 * n
        shmem.free(there)
    return me


def waits(comm):
    from phicoll import shmem

    shmem.init()
    me, n = shmem.my_pe(), shmem.n_pes()
    after = (me + 1) % n
    for code in TYPES:
        words = shmem.zeros(4, code)
        if code not in with_group("wait"):
            assert refused("ivars: got an array of", shmem.test_all, words, "==", 0), code
            shmem.free(words)
            continue
        assert shmem.test(words[:1], "eq", 0)
        assert not shmem.test_all(words, shmem.CMP_GT, 0)
        assert shmem.test_any(words, ">", 0) is None
        assert shmem.test_some(words, "<=", 0, status=[0, 1, 0, 1]) == [0, 2]
        assert shmem.test_all(words[:0], "ne", 0)
        assert shmem.wait_until_any(words, "==", 0, status=[1] * 4) is None
        shmem.barrier_all()
        shmem.put(words, np.arange(1, 5, dtype=code), after)
        shmem.wait_until(words[3:], "==", 4)
        shmem.wait_until_all(words, ">=", 1)
        shmem.wait_until_all_vector(words, "==", [1, 2, 3, 4])
        assert shmem.wait_until_any(words, "==", 3) == 2
        assert shmem.wait_until_any_vector(words, "<", [1, 1, 9, 1]) == 2
        assert shmem.wait_until_some(words, "!=", 2) == [0, 2, 3]
        assert shmem.wait_until_some_vector(words, "ge", [1, 3, 4, 4]) == [0, 3]
        assert shmem.test_all_vector(words, "le", [1, 2, 3, 4])
        assert shmem.test_any_vector(words, "gt", [1, 2, 3, 3]) == 3
        assert shmem.test_some_vector(words, "lt", [2, 2, 2, 9], status=[1, 0, 0, 0]) == [3]
        shmem.barrier_all()
        shmem.free(words)
    return me


def collectives(comm):
    from phicoll import shmem

    shmem.init()
    all_pes = list(range(shmem.n_pes()))
    odd = shmem.TEAM_WORLD.split_strided(len(all_pes) - 1, -2)
    # fmt: off
    for team, members in ((None, all_pes), (shmem.TEAM_SHARED, all_pes), (odd, all_pes[::-2])):
        me = shmem.my_pe()
        if me not in members:
            assert not team
            continue
        m, mine = len(members), members.index(me)
        if team is not None:
            assert (team.my_pe(), team.n_pes()) == (mine, m)
            assert [team.translate_pe(pe) for pe in range(m)] == members
            ctx = team.create_ctx()
        for code in TYPES:
            target = {}
            source = {}
            for name, count in (("one", 3), ("many", 3 * m * 2)):
                # Blocks of the team's first PEs: memory is all PEs' alike.
                target[name] = BLOCKS[code, name, "to"][:count]
                source[name] = BLOCKS[code, name, "from"][:count]
                source[name][...] = numbers(code, mine, count)
            data = [numbers(code, pe, 3 * m * 2) for pe in range(m)]
            one = [numbers(code, pe, 3) for pe in range(m)]
            shmem.sync(team)
            for root in range(m):
                shmem.broadcast(target["one"], source["one"], root, team=team)
                assert np.array_equal(target["one"], one[root]), code
                shmem.sync(team)
            shmem.fcollect(target["many"], source["one"], 2, team)
            assert np.array_equal(target["many"][:2 * m], np.concatenate([part[:2] for part in one])), code
            shmem.sync(team)
            shmem.collect(target["many"], source["one"], 1 + mine % 2, team)
            expected = np.concatenate([part[:1 + pe % 2] for pe, part in enumerate(one)])
            assert np.array_equal(target["many"][:len(expected)], expected), code
            shmem.sync(team)
            shmem.alltoall(target["many"], source["many"], team=team)
            expected = np.concatenate([part[6 * mine:6 * mine + 6] for part in data])
            assert np.array_equal(target["many"], expected), code
            if np.dtype(code).itemsize in (1, 2, 4, 8, 16):
                shmem.alltoalls(target["many"], source["many"], 2, 3, size=2, team=team)
                got = target["many"][::2][:2 * m].reshape(m, 2)
                assert np.array_equal(got, [part[::3][2 * mine:2 * mine + 2] for part in data]), code
            else:
                assert refused("elements of 1, 2, 4, 8 or 16", shmem.alltoalls, target["many"], source["many"])
            for op, (group, ufunc) in REDUCTIONS.items():
                if code not in with_group(group):
                    assert refused("source: got an array of", shmem.reduce, target["one"], source["one"], op, team=team)
                    continue
                shmem.sync(team)
                shmem.reduce(target["one"], source["one"], op.upper(), team=team)
                expected = ufunc.reduce(one, dtype=code)
                assert np.allclose(target["one"], expected) if group == "sum" else np.array_equal(target["one"], expected), (code, op)
                target["one"][...] = 0
                shmem.sync(team)
                getattr(shmem, f"{op}_reduce")(target["one"], source["one"], 2, team)
                assert np.allclose(target["one"], np.r_[expected[:2], 0]), (code, op)
        if team is not None:
            word = BLOCKS["word"]
            shmem.sync(team)
            shmem.put(word, np.array([mine]), (mine + 1) % m, ctx=ctx)  # by the team's numbers
            ctx.quiet()
            shmem.sync(team)
            assert word[0] == (mine - 1) % m
            assert ctx.get_team() == team
            shmem.sync(team)
            ctx.destroy()
            assert not ctx
            assert refused("ctx: got CTX_INVALID", shmem.put, word, word, 0, ctx=ctx)
        shmem.sync(team)
    # fmt: on
    odd.destroy()
    return shmem.my_pe()


def make_blocks(comm):
    """What all PEs allocate: twice what the largest team uses of each type."""
    from phicoll import shmem

    shmem.init()
    for code in TYPES:
        for name, count in (("one", 3), ("many", 6 * comm.size)):
            for way in ("to", "from"):
                BLOCKS[code, name, way] = shmem.new_array(count, code)
    BLOCKS["word"] = shmem.zeros(1, int)
    return collectives(comm)


BLOCKS: dict = {}


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("function", [transfers, atomics, waits, make_blocks])
def test_every_type(function, ranks):
    assert phicoll.run(function, ranks=ranks) == list(range(ranks))


def test_memory():
    def memory(comm):
        from phicoll import shmem

        shmem.init(heap_bytes=8 << 20)
        for shape in ((), 5, (2, 3), (0,), (3, 0, 2), (2, 3, 4)):
            for order in "CF":
                plain = np.empty(shape, "i2", order)
                for made in (
                    shmem.zeros(shape, "i2", order),
                    shmem.empty(shape, "i2", order),
                    shmem.ones(shape, "i2", order),
                    shmem.full(shape, 7, "i2", order),
                    shmem.array(np.full(shape, 7, "i2", order)),
                    shmem.new_array(shape, "i2", order, align=4096, hints=shmem.MALLOC_ATOMICS_REMOTE),
                ):
                    assert (made.shape, made.dtype) == (plain.shape, plain.dtype)
                    assert made.size == 0 or made.strides == plain.strides
                    assert made.size == 0 or shmem.addr_accessible(made, 0)
                    shmem.free(made)
        assert (shmem.ones(3) == 1).all()
        assert shmem.full(3, 2.5).dtype == np.dtype(float)
        assert np.array_equal(shmem.array([[1, 2], [3, comm.rank]]), [[1, 2], [3, comm.rank]])
        turned = shmem.array(np.arange(6).reshape(2, 3).T)
        assert turned.flags.f_contiguous
        assert np.array_equal(shmem.array(np.arange(12)[::3]), [0, 3, 6, 9])
        for align in (8, 256, 1 << 20):
            block = shmem.alloc(3, 5, align)
            assert (len(block), block[7]) == (15, 0)
            assert shmem.fromalloc(block, dtype="u1").ctypes.data % align == 0
            assert shmem.fromalloc(block, (5, 3), "u1").shape == (5, 3)
            shmem.free(block)
            assert refused("mem: got memory where no block", shmem.free, block)
        with pytest.raises(phicoll.ResourceError, match="has no room for 16777216 bytes"):
            shmem.zeros(2 << 20)
        if comm.size > 1:
            assert refused("8 on PE 0", shmem.alloc, 8 + 8 * (comm.rank != 0))
        return comm.rank

    assert phicoll.run(memory, ranks=2) == [0, 1]


def test_locks_and_shared_calls():
    def locked(comm):
        from phicoll import shmem

        assert shmem.init_thread() == shmem.THREAD_MULTIPLE == shmem.query_thread()
        counter, lock = shmem.zeros(1, "i8"), shmem.Lock()
        value = np.zeros(1, "i8")
        for _ in range(50):
            with lock:
                shmem.get(value, counter, 0)
                shmem.put(counter, value + 1, 0)
        word = shmem.new_lock()
        shmem.barrier_all()
        if comm.rank == 0:
            shmem.set_lock(word)
        shmem.barrier_all()
        held = shmem.test_lock(word) if comm.rank != 0 else True
        assert held
        comm.Barrier()  # the communicator's calls and these follow each other in any order
        if comm.rank == 0:
            shmem.clear_lock(word)
        else:
            with pytest.raises(phicoll.Error, match="does not hold the lock"):
                shmem.clear_lock(word)
        assert comm.allreduce(1) == comm.size
        lock.destroy()
        lock.destroy()
        with pytest.raises(phicoll.Error, match="was destroyed"):
            lock.acquire()
        return int(counter[0])

    assert phicoll.run(locked, ranks=3) == [150, 0, 0]


#: A call that is wrong, and what is said of it. `a` is a symmetric array of 4 float64, `w` one of one int64, `p` a plain one.
WRONG = [
    ("s.put(p, p, 0)", "target: got an array that is not symmetric; allowed: one of phicoll.shmem's"),
    ("s.get(p, p, 0)", "source: got an array that is not symmetric"),
    ("s.put([1.0], p, 0)", "target: got an object of type list; allowed: a NumPy array"),
    ("s.put(a, None, 0)", "source: got None"),
    ("s.put(a, p.astype('f4'), 0)", "source: got an array of float32; allowed: the type of target, float64"),
    ("s.put(a[::2], p, 0)", "target: got an array whose elements have gaps between them"),
    ("s.put(a, np.empty(4, object), 0)", "source: got an array of Python objects"),
    ("s.get(readonly, a, 0)", "target: got an array that is read-only"),
    ("s.put(a, p, 1)", "pe: got 1; allowed: 0..0"),
    ("s.put(a, p, -1)", "pe: got -1"),
    ("s.put(a, p, 'next')", "pe: got 'next'"),
    ("s.put(a, p, 0, size=5)", "size: got 5; allowed: a whole number in 0..4"),
    ("s.put(a, p, 0, size=1.5)", "size: got 1.5"),
    ("s.put(a, p, 0, ctx=3)", "ctx: got 3; allowed: a Ctx or None"),
    ("s.put(a, p, 0, ctx=s.CTX_INVALID)", "ctx: got CTX_INVALID; allowed: a Ctx or None"),
    ("s.put(a, p, 0, ctx=destroyed)", "ctx: got a handle that is none, or of a context that was destroyed"),
    ("s.iput(a, p, 0, tst=0)", "tst: got 0"),
    ("s.iget(p, a, 0, 1, 2, 3)", "size: got 3; allowed: a whole number in 0..2"),
    ("s.atomic_add(w, 1.5, 0)", "value: got 1.5; allowed: a whole number in -9223372036854775808.."),
    ("s.atomic_add(w, 1 << 63, 0)", "value: got 9223372036854775808"),
    ("s.atomic_add(a, 1, 0)", "target: got an array of float64; allowed: one of int64, int32"),
    ("s.atomic_add(a.view('i8'), 1, 0)", "target: got an array of 4 elements; allowed: one of 1 element"),
    ("s.atomic_swap(w, None, 0)", "value: got None"),
    ("s.atomic_op(w, 1, 'nand', 0)", "op: got 'nand'; allowed: set, inc, add, and, or, xor"),
    ("s.atomic_fetch_nbi(np.zeros(1, 'i4'), w, 0)", "fetch: got an array of int32"),
    ("s.atomic_inc(w, 9)", "pe: got 9"),
    ("s.put_signal(a, p, 0, w, 1, s.SIGNAL_SET)", "signal: got an array of int64"),
    ("s.put_signal(a, p, 0, s.new_signal(), 1, 2)", "sigop: got 2"),
    ("s.put_signal(a, p, 0, s.new_signal(), -1, 0)", "value: got -1"),
    ("s.wait_until(w, '~', 0)", "cmp: got '~'; allowed: ==, !="),
    ("s.wait_until(w, 9, 0)", "cmp: got 9"),
    ("s.wait_until(np.zeros(1, int), '==', 0)", "ivar: got an array that is not symmetric"),
    ("s.test_all(w, '==', 0, status=[])", "status: got 0 of int32; allowed: 1"),
    ("s.test_all_vector(w, '==', [])", "values: got 0 values; allowed: 1"),
    ("s.test_all_vector(w, '==', ['x'])", "values: got"),
    ("s.broadcast(a, a, 1)", "root: got 1; allowed: a whole number in 0..0"),
    ("s.broadcast(a, p, 0)", "source: got an array that is not symmetric"),
    ("s.fcollect(w, s.zeros(2, int))", "target: got an array of 1 elements; allowed: one of 2 at least"),
    ("s.collect(w, s.zeros(2, int))", "target: got an array of 1 elements; allowed: one of 2 at least"),
    ("s.reduce(a, a, 'mean')", "op: got 'mean'; allowed: and, or, xor, max, min, sum, prod"),
    ("s.reduce(a, a, team=s.TEAM_INVALID)", "team: got TEAM_INVALID"),
    ("s.sync(4)", "team: got 4; allowed: a Team or None"),
    ("s.sync(gone)", "team: got a handle that is none, or of a team that was destroyed"),
    ("s.TEAM_WORLD.split_strided(0, 1, 2)", "start, stride, size: got 0, 1, 2"),
    ("s.TEAM_WORLD.split_strided(colour=1)", "config: got ['colour']; allowed: num_contexts"),
    ("s.TEAM_WORLD.translate_pe(3)", "pe: got 3"),
    ("s.Team(5)", "team: got int; allowed: a Team or None"),
    ("s.CTX_DEFAULT.create(8)", "options: got 8"),
    ("s.alloc(-1)", "count: got -1"),
    ("s.alloc(8, align=3)", "align: got 3; allowed: a power of two up to 1073741824"),
    ("s.alloc(8, hints=9)", "hints: got 9"),
    ("s.zeros(-1)", "shape: got -1"),
    ("s.zeros(3, object)", "dtype: got object"),
    ("s.free(p)", "mem: got memory where no block of the symmetric heap begins"),
    ("s.free(a[1:])", "mem: got memory where no block"),
    ("s.free('a')", "mem: got 'a'"),
    ("s.set_lock(a)", "lock: got an array of float64"),
    ("s.init_thread(7)", "requested: got 7"),
    ("s.global_exit('a')", "status: got 'a'"),
    ("s.global_exit(1 << 31)", "status: got 2147483648"),
    ("s.broadcast(a[1:], a[:-1], 0)", "target: got memory that overlaps with source"),
    ("s.sum_reduce(a[1:], a[:-1])", "target: got memory that overlaps with source"),
    ("s.collect(a, a[1:], size=2)", "target: got memory that overlaps with source"),
    ("s.fcollect(a, a[:3])", "target: got memory that overlaps with source"),
    ("s.alltoall(a, a)", "target: got memory that overlaps with source"),
    ("s.alltoalls(a[1:], a[:-1])", "target: got memory that overlaps with source"),
]


def test_bad_input_is_one_line_that_names_it():
    def wrong(comm):
        from phicoll import shmem as s

        s.init()
        a, w, p = s.array([1.0, 2.0, 3.0, 4.0]), s.zeros(1, int), np.array([1.0, 2.0, 3.0, 4.0])
        readonly = np.zeros(4)
        readonly.flags.writeable = False
        destroyed = s.Ctx.create()
        alias = s.Ctx(destroyed)
        destroyed.destroy()
        team = s.TEAM_WORLD.split_strided()
        gone = s.Team(team)
        team.destroy()
        names = {
            "s": s,
            "a": a,
            "w": w,
            "p": p,
            "np": np,
            "readonly": readonly,
            "destroyed": alias,
            "gone": gone,
        }
        for call, said in WRONG:
            assert refused(said, eval, call, names), call
        assert np.array_equal(a, p)
        assert w[0] == 0
        assert s.ptr(p, 0) is None
        assert s.pe_accessible(0)
        assert not s.pe_accessible(1)

    phicoll.run(wrong, ranks=1)


def test_overlapping_arrays_are_refused_before_anything_is_entered():
    def overlapping(comm):
        from phicoll import shmem as s

        s.init()
        a = s.full(12, comm.rank + 1.0)
        half = s.TEAM_WORLD.split_strided()
        said = "target: got memory that overlaps with source"
        for team in (None, half):
            if comm.rank == 1:  # nobody waits for the others' calls
                assert refused(said, s.broadcast, a[1:], a[:-1], 0, team=team)
                assert refused(said, s.collect, a[:8], a[7:], team=team)
                assert refused(said, s.fcollect, a, a[1:3], team=team)
                assert refused(said, s.alltoall, a[:8], a[4:], team=team)
                assert refused(said, s.alltoalls, a[:6], a[3:], 1, 2, 2, team=team)
                assert refused(said, s.max_reduce, a[1:], a[:-1], team=team)
            s.broadcast(a, a, 1, team=team)
            s.sum_reduce(a, a, team=team)
            s.barrier_all()
        s.fcollect(a[:4], a[4:6])  # apart, in one block
        s.barrier_all()
        return a.tolist()

    assert phicoll.run(overlapping, ranks=2) == [[8.0] * 12] * 2


def test_use_before_and_after():
    def used(comm):
        from phicoll import shmem

        for call in (shmem.my_pe, shmem.barrier_all, shmem.quiet, lambda: shmem.zeros(1)):
            with pytest.raises(phicoll.Error, match="used before shmem_init"):
                call()
        assert not shmem.initialized()
        shmem.init()
        shmem.init()
        kept = shmem.full(1000, comm.rank)
        there = shmem.ptr(kept, (comm.rank + 1) % comm.size)
        assert shmem.initialized()
        shmem.finalize()
        shmem.finalize()
        for call in (
            shmem.my_pe,
            shmem.barrier_all,
            lambda: shmem.put(kept, kept, 0),
            lambda: shmem.zeros(1),
        ):
            with pytest.raises(phicoll.Error, match="used after shmem_finalize"):
                call()
        found = int(kept.sum() + there.sum()), comm.allreduce(1)  # memory and the group are still there
        shmem.init()
        after = (comm.rank + 1) % comm.size
        again = shmem.full(1000, 5 + comm.rank)
        shmem.barrier_all()
        assert shmem.ptr(again, after).sum() == 1000 * (5 + after)
        shmem.finalize()
        return found

    assert phicoll.run(used, ranks=2) == [(1000, 2), (1000, 2)]


def test_ranks_that_are_threads_are_refused():
    def begin(comm):
        from phicoll import shmem

        shmem.init()

    with pytest.raises(phicoll.ArgumentError, match="mode: got threads; allowed: processes"):
        phicoll.run(begin, ranks=2, mode="threads")


# Programs of their own.

RING = """
import numpy as np
from phicoll import shmem
shmem.init()
me, n = shmem.my_pe(), shmem.n_pes()
there = shmem.zeros(1, int)
shmem.put(there, np.array([me]), (me + 1) % n)
shmem.barrier_all()
print(f"PE {me} of {n} has heard from PE {there[0]}\\n", end="")  # in one piece: PEs share a pipe
"""


def left_in_shared_memory():
    """Of groups, whose memory has names there where Linux has no memfd. A profile's folder begins with a dot."""
    return {path.name for path in Path("/dev/shm").glob("phicoll*")}


def start(*words, timeout=60, **environment):
    return subprocess.run(
        [*map(str, words)],
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, **environment},
    )


def lines_of(result):
    return sorted(line.split(": ", 1)[-1] for line in result.stdout.splitlines())


def test_an_empty_wait_policy_is_as_good_as_none(tmp_path):
    script = tmp_path / "ring.py"
    script.write_text(RING)
    result = start(sys.executable, script, PHICOLL_WAIT="")
    assert (result.returncode, result.stdout) == (0, "PE 0 of 1 has heard from PE 0\n"), result.stderr


def test_every_way_to_start(tmp_path):
    script = tmp_path / "ring.py"
    script.write_text(RING)
    before = left_in_shared_memory()
    result = start(sys.executable, script)
    assert (result.returncode, result.stdout) == (0, "PE 0 of 1 has heard from PE 0\n"), result.stderr
    expected = [f"PE {pe} of 3 has heard from PE {(pe - 1) % 3}" for pe in range(3)]
    for words in (
        [sys.executable, "-m", "phicoll.launch", "-n", "3", script],
        [Path(sys.executable).parent / "oshrun", "-n", "3", sys.executable, script],
    ):
        result = start(*words)
        assert (result.returncode, result.stderr) == (0, "")
        assert [line[line.index("PE") :] for line in lines_of(result)] == expected
    assert left_in_shared_memory() == before


def test_programs_of_shmem4py(tmp_path):
    script = tmp_path / "ring.py"
    script.write_text(
        RING.replace(
            "from phicoll import shmem\nshmem.init()", "from shmem4py import rc, shmem\nassert rc.initialize"
        )
    )
    result = start(sys.executable, "-m", "phicoll.launch", "--as-shmem4py", "-n", "2", script)
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("has heard from") == 2


ENDS = {
    "killed": "os.kill(os.getpid(), signal.SIGKILL)",
    "raises": "raise ZeroDivisionError('on purpose')",
    "exits": "sys.exit(7)",
}


@pytest.mark.parametrize(
    "waiting", ["shmem.barrier_all()", "shmem.wait_until(word, '==', 1)", "shmem.set_lock(lock)"]
)
@pytest.mark.parametrize(("end", "status"), [("killed", 137), ("raises", 1), ("exits", 7)])
def test_a_pe_that_ends_ends_the_others_calls(tmp_path, end, status, waiting):
    script = tmp_path / "program.py"
    script.write_text(
        textwrap.dedent(
            f"""
            import os, signal, sys, time
            from phicoll import BrokenGroupError, shmem
            shmem.init()
            word, passed, lock = shmem.zeros(1, int), shmem.zeros(1, int), shmem.new_lock()
            if shmem.my_pe() == 1:
                shmem.set_lock(lock)
            shmem.barrier_all()
            if shmem.my_pe() == 1:
                shmem.wait_until(passed, '==', 2)  # no other PE is in the barrier any more
                {ENDS[end]}
            shmem.atomic_inc(passed, 1)
            try:
                {waiting}
            except BrokenGroupError as error:
                print("told:", error.rank)
            """
        )
    )
    before = left_in_shared_memory()
    result = start(sys.executable, "-m", "phicoll.launch", "-n", "3", script)
    assert result.returncode == status, result.stderr
    assert result.stdout.count("told: 1") == 2, result.stderr
    assert left_in_shared_memory() == before


@pytest.mark.parametrize("status", [0, 5])
@pytest.mark.parametrize(
    "launcher", [[Path(sys.executable).parent / "oshrun"], [sys.executable, "-m", "phicoll.launch"]]
)
def test_global_exit(tmp_path, launcher, status):
    script = tmp_path / "program.py"
    script.write_text(
        "import sys\nfrom phicoll import shmem\nshmem.init()\nif shmem.my_pe() == 1:\n"
        f"    sys.stdout.write('last words\\n')\n    shmem.global_exit({status})\n"
        "shmem.barrier_all()\nprint('not reached')\n"
    )
    result = start(*launcher, "-n", "3", sys.executable, script, PYTHONUNBUFFERED="")
    assert (result.returncode, result.stdout.removeprefix("[1] "), result.stderr) == (
        status,
        "last words\n",
        "",
    )


def test_an_interrupt_ends_a_wait():
    program = (
        "import signal\nfrom phicoll import shmem\nshmem.init()\nword = shmem.zeros(1, int)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.3)\n"
        "signal.signal(signal.SIGALRM, signal.default_int_handler)\n"
        "try:\n    shmem.wait_until(word, '==', 1)\nexcept KeyboardInterrupt:\n    print('interrupted')\n"
        "shmem.barrier_all()\n"
    )
    result = start(sys.executable, "-c", program)
    assert (result.returncode, result.stdout) == (0, "interrupted\n"), result.stderr


def test_other_threads_run_while_one_waits():
    program = (
        "import threading\nfrom phicoll import shmem\nshmem.init_thread()\nword = shmem.zeros(1, int)\n"
        "there = shmem.ptr(word, 0)\n"
        "other = threading.Timer(0.2, lambda: there.__setitem__(0, 3))\nother.start()\n"
        "shmem.wait_until(word, '==', 3)\nprint('seen')\n"
    )
    result = start(sys.executable, "-c", program)
    assert (result.returncode, result.stdout) == (0, "seen\n"), result.stderr
