"""phicoll as a backend of torch.distributed. ``make test-torch`` runs these where PyTorch is; elsewhere they skip."""

import functools
import itertools
import os
import resource
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: make test-torch installs it")
dist = pytest.importorskip("torch.distributed")
mp = pytest.importorskip("torch.multiprocessing")

import phicoll.torch  # noqa: E402
from phicoll.errors import ArgumentError, ResourceError  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


Work = Callable[[int, int], None]  # of a rank and the number of ranks


def enter(
    rank: int,
    store: str,
    size: int,
    timeout_s: float,
    work: Work,
    options: phicoll.torch.Options | None,
    hosts: list[int] | None,
) -> None:
    phicoll.torch.build()
    if hosts:
        phicoll.torch.host = lambda: f"host {hosts[rank]}"
    dist.init_process_group(
        "phicoll",
        store=dist.FileStore(store, size),
        rank=rank,
        world_size=size,
        timeout=timedelta(seconds=timeout_s),
        pg_options=options,
    )
    work(rank, size)
    dist.destroy_process_group()


def together(
    tmp_path: Path,
    work: Work,
    size: int = 2,
    timeout_s: float = 60.0,
    options: phicoll.torch.Options | None = None,
    hosts: list[int] | None = None,
) -> None:
    """Runs a function on each rank of a world; ``hosts`` says which host each takes itself to be on."""
    phicoll.torch.build()  # once, before the ranks
    mp.start_processes(
        enter,
        (str(tmp_path / "store"), size, timeout_s, work, options, hosts),
        nprocs=size,
        start_method="fork",
    )


def values(rank: int, dtype: torch.dtype, count: int = 37) -> torch.Tensor:
    found = torch.arange(count) % 5 + rank + 1
    return found % 2 == 0 if dtype == torch.bool else found.to(dtype)


def reductions(rank: int, size: int) -> None:
    ops = dist.ReduceOp
    by_number = {ops.SUM: sum, ops.PRODUCT: torch.mul, ops.MIN: torch.minimum, ops.MAX: torch.maximum}
    by_bits = {ops.BAND: torch.bitwise_and, ops.BOR: torch.bitwise_or, ops.BXOR: torch.bitwise_xor}
    for dtype in [*INTEGERS, *FLOATS, torch.complex64, torch.complex128, torch.bool]:
        for op, combine in {**by_number, **by_bits}.items():
            if (dtype.is_complex and op != ops.SUM) or (
                op in by_bits and dtype not in (*INTEGERS, torch.bool)
            ):
                with pytest.raises((RuntimeError, ValueError), match=r"op: got .* allowed: sums|complex"):
                    dist.all_reduce(values(rank, dtype), op)
                continue
            expected = values(0, dtype)
            for other in range(1, size):
                more = values(other, dtype)
                truth = dtype == torch.bool
                if op == ops.SUM:
                    expected = expected | more if truth else expected + more
                else:
                    expected = combine(expected, more)
            got = values(rank, dtype)
            dist.all_reduce(got, op)
            assert torch.equal(got, expected), (dtype, op)
            dist.reduce(got := values(rank, dtype), 1, op)
            assert torch.equal(got, expected if rank == 1 else values(rank, dtype))
    mean = values(rank, torch.bfloat16)
    dist.all_reduce(mean, ops.AVG)
    assert torch.equal(mean, values(0, torch.bfloat16) + (size - 1) / 2)
    with pytest.raises(RuntimeError, match="AVG"):
        dist.all_reduce(values(rank, torch.int32), ops.AVG)
    scaled = values(rank, torch.float32)
    dist.all_reduce(scaled, dist._make_nccl_premul_sum(0.5))
    assert torch.equal(scaled, sum(values(other, torch.float32) for other in range(size)) / 2)
    plain = values(rank, torch.bfloat16)
    phicoll.torch.all_reduce_(plain)
    assert torch.equal(plain, sum(values(other, torch.bfloat16) for other in range(size)))
    for op, combine in by_number.items():  # of several tensors a rank: one result of all
        listed = dist.AllreduceOptions()
        listed.reduceOp = op
        given = [values(2 * rank + i, torch.float32) for i in range(2)]
        dist.group.WORLD.allreduce(given, listed).wait()
        every = [values(other, torch.float32) for other in range(2 * size)]
        expected = sum(every) if op == ops.SUM else functools.reduce(combine, every)
        assert all(torch.equal(one, expected) for one in given), op
    one, two = torch.full((2,), float(rank + 1)), torch.full((2,), 10.0)
    dist.group.WORLD.allreduce([one, two, one]).wait()
    assert one.tolist() == two.tolist() == [size * (size + 1) + 10.0 * size] * 2
    again = torch.full((2,), float(rank + 1))
    others = [again, again] if rank == 0 else [again, again.clone()]
    dist.group.WORLD.allreduce_coalesced(others).wait()  # each tensor once, also where it comes twice
    assert again.tolist() == [size * (size + 1) / 2] * 2
    apart = torch.zeros(8, 6)[:, ::2]  # not contiguous
    apart += rank + 1
    dist.all_reduce(apart)
    assert torch.equal(apart, torch.full((8, 3), size * (size + 1) / 2))


def movements(rank: int, size: int) -> None:
    for dtype in [*FLOATS, torch.int64, torch.bool, torch.complex64, torch.float8_e4m3fn]:
        mine = values(rank, dtype)
        every = [values(other, dtype) for other in range(size)]

        def same(got: torch.Tensor, expected: torch.Tensor) -> bool:
            return torch.equal(got.view(torch.uint8), expected.view(torch.uint8))

        got = mine.clone()
        dist.broadcast(got, 1)
        assert same(got, every[1])
        blocks = [torch.empty_like(mine) for _ in range(size)]
        dist.all_gather(blocks, mine)
        assert all(map(same, blocks, every))
        whole = torch.empty(size * len(mine), dtype=dtype)
        dist.all_gather_into_tensor(whole, mine)
        assert torch.equal(whole.view(torch.uint8), torch.cat([one.view(torch.uint8) for one in every]))
        dist.gather(mine, blocks if rank == 0 else None, 0)
        dist.scatter(got, every if rank == 0 else None, 0)
        assert same(got, mine)
        dist.all_to_all(blocks, [mine] * size)
        assert all(map(same, blocks, every))
    pair, chosen = [torch.full((3,), 2 * rank + i) for i in range(2)], dist.BroadcastOptions()
    chosen.rootRank = chosen.rootTensor = 1
    dist.group.WORLD.broadcast(pair, chosen).wait()
    assert [one.tolist() for one in pair] == [[3, 3, 3]] * 2
    sent = torch.arange(size * (size + 1) // 2) + 100 * rank  # to rank i: i + 1 rows
    got = torch.empty(size * (rank + 1), dtype=torch.int64)
    dist.all_to_all_single(got, sent, [rank + 1] * size, [other + 1 for other in range(size)])
    begin = rank * (rank + 1) // 2
    assert got.tolist() == [100 * other + begin + i for other in range(size) for i in range(rank + 1)]
    for dtype in (torch.float32, torch.bfloat16):
        own = torch.empty(3, dtype=dtype)
        dist.reduce_scatter_tensor(own, torch.arange(3 * size, dtype=dtype))
        assert own.tolist() == [size * (3 * rank + i) for i in range(3)]
        dist.reduce_scatter(
            own, [torch.full((3,), float(rank + other), dtype=dtype) for other in range(size)]
        )
        assert own.tolist() == [size * rank + size * (size - 1) / 2] * 3
    objects: list[object] = [None] * size
    dist.all_gather_object(objects, {"rank": rank})
    assert objects == [{"rank": other} for other in range(size)]


def folds(rank: int, size: int) -> None:
    for dtype, count in itertools.product(FLOATS, [1, 1000, 40_000]):
        torch.manual_seed(count)
        rows = (torch.randn(size, size * count) * 2.0 ** torch.randint(-4, 5, (size, size * count))).to(dtype)
        expected = functools.reduce(torch.add, rows)
        dist.all_reduce(got := rows[rank].clone())
        assert torch.equal(got, expected)
        phicoll.torch.all_reduce_(got := rows[rank].clone())
        assert torch.equal(got, expected)
        dist.reduce(got := rows[rank].clone(), size - 1)
        assert rank < size - 1 or torch.equal(got, expected)
        dist.reduce_scatter_tensor(own := torch.empty(count, dtype=dtype), rows[rank])
        assert torch.equal(own, expected.chunk(size)[rank])


def on_several_hosts(rank: int, size: int) -> None:
    for dtype, op in itertools.product([*FLOATS, torch.int64], ["SUM", "PRODUCT", "MIN", "MAX"]):
        every = torch.stack([values(other, dtype) for other in range(size)])
        expected = {"SUM": every.sum(0), "PRODUCT": every.prod(0), "MIN": every.amin(0), "MAX": every.amax(0)}
        dist.all_reduce(got := values(rank, dtype), getattr(dist.ReduceOp, op))
        assert torch.equal(got, expected[op].to(dtype)), (dtype, op)
        dist.reduce(got := values(rank, dtype), 1, getattr(dist.ReduceOp, op))
        assert torch.equal(got, expected[op].to(dtype) if rank == 1 else values(rank, dtype))
    with pytest.raises(RuntimeError, match=r"op: got BAND .* allowed: sums"):
        dist.all_reduce(values(rank, torch.float32), dist.ReduceOp.BAND)
    dist.all_reduce(scaled := values(rank, torch.float32), dist._make_nccl_premul_sum(0.5))
    assert torch.equal(scaled, sum(values(other, torch.float32) for other in range(size)) / 2)
    phicoll.torch.all_reduce_(plain := torch.ones(8, 6)[:, ::2])  # not contiguous
    assert torch.equal(plain, torch.full((8, 3), float(size)))
    assert dist.get_backend() == "phicoll"
    for dtype, root in itertools.product([torch.bfloat16, torch.bool, torch.float8_e4m3fn], range(size)):
        every = [values(other, dtype).view(torch.uint8) for other in range(size)]
        dist.broadcast(got := values(rank, dtype), root)
        assert torch.equal(got.view(torch.uint8), every[root])
        blocks = [torch.empty_like(got) for _ in range(size)]
        dist.all_gather(blocks, values(rank, dtype))
        assert all(torch.equal(one.view(torch.uint8), of) for one, of in zip(blocks, every, strict=True))
    whole = torch.empty(size, 3)
    dist.all_gather_into_tensor(whole, torch.full((1, 3), float(rank)))
    assert whole[:, 0].tolist() == list(range(size))
    own = torch.empty(3)
    dist.reduce_scatter_tensor(own, torch.arange(3.0 * size))
    assert own.tolist() == [size * (3.0 * rank + i) for i in range(3)]
    dist.reduce_scatter(own, [torch.full((3,), float(rank + other)) for other in range(size)])
    assert own.tolist() == [size * rank + size * (size - 1) / 2] * 3
    got = torch.ones(4)
    work = dist.all_reduce(got, async_op=True)
    assert work.get_future().wait()[0].tolist() == [size] * 4
    dist.gather(own, list(whole) if rank == 1 else None, 1)
    dist.scatter(own, list(whole) if rank == 1 else None, 1)
    dist.all_to_all_single(torch.empty(size), torch.arange(float(size)))
    if rank == 0:
        dist.send(torch.full((2,), 7.0), size - 1)
    elif rank == size - 1:
        dist.recv(got := torch.empty(2), 0)
        assert got.tolist() == [7.0, 7.0]
    dist.barrier()


def messages(rank: int, size: int) -> None:
    for count in (3, 500_000):
        right, left = (rank + 1) % size, (rank - 1) % size
        got = torch.empty(count)
        works = dist.batch_isend_irecv([
            dist.P2POp(dist.isend, torch.full((count,), float(rank)), right),
            dist.P2POp(dist.irecv, got, left),
        ])  # fmt: skip
        for work in works:
            work.wait()
        assert (got == left).all()
    if rank == 0:
        seen = {dist.recv(got := torch.empty(2), None, tag=7) for _ in range(size - 1)}
        assert seen == set(range(1, size))
    else:
        dist.send(torch.full((2,), float(rank)), 0, tag=7)
    dist.barrier()
    dist.group.WORLD.monitored_barrier(timedelta(seconds=30))


def begun(rank: int, size: int) -> None:
    first, second = torch.ones(1000), torch.full((5,), rank)
    works = [dist.all_reduce(first, async_op=True), dist.broadcast(second, 0, async_op=True)]
    third = torch.ones(2)
    dist.all_reduce(third)  # after those before
    assert third.tolist() == [size, size]
    made = dist.AllreduceOptions()
    if hasattr(made, "asyncOp"):  # a call that is made has no Work
        made.asyncOp = False
        assert dist.group.WORLD.allreduce([third], made) is None
        assert third.tolist() == [size * size] * 2
        third /= size
    done = works[0].get_future().then(lambda future: future.value()[0].sum().item())
    for work in works:
        work.wait()
        assert work.is_completed()
    assert done.wait() == 1000 * size
    assert second.tolist() == [0] * 5
    # Two groups whose calls two ranks begin in different order.
    groups = [dist.new_group(), dist.new_group()]
    pair = [torch.ones(1), torch.ones(1)]
    order = [0, 1] if rank == 0 else [1, 0]
    for work in [dist.all_reduce(pair[i], group=groups[i], async_op=True) for i in order]:
        work.wait()
    assert [one.item() for one in pair] == [size, size]
    alone = dist.new_group([1])
    if rank == 1:
        dist.all_reduce(third, group=alone)
    dist.barrier()


def data_parallel(rank: int, size: int) -> None:
    def losses(parallel: bool) -> list[float]:
        torch.manual_seed(1)
        net: torch.nn.Module = torch.nn.Sequential(
            torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)
        )
        data, wanted = torch.randn(8, 8), torch.randn(8, 1)
        if parallel:
            net = torch.nn.parallel.DistributedDataParallel(net)
            data, wanted = data.chunk(size)[rank], wanted.chunk(size)[rank]
        steps = torch.optim.SGD(net.parameters(), 0.1)
        found = []
        for _ in range(5):
            loss = torch.nn.functional.mse_loss(net(data), wanted)
            steps.zero_grad()
            loss.backward()
            steps.step()
            total = loss.detach().clone()
            if parallel:
                dist.all_reduce(total, dist.ReduceOp.AVG)
            found.append(total.item())
        return found

    assert losses(True) == pytest.approx(losses(False), rel=1e-5)


def profiled(rank: int, size: int) -> None:
    mine = torch.ones(3)
    lists = [[torch.empty(3), torch.empty(4)] for _ in range(size)]
    with torch.autograd.profiler.profile(record_shapes=True) as profile:
        dist.all_gather([torch.empty(3) for _ in range(size)], mine)
        dist.all_gather_coalesced(lists, [mine, torch.full((4,), float(rank))])
        if rank == 0:
            dist.send(mine, 1)
        else:
            dist.recv(mine, 0)
    assert [each[1].tolist() for each in lists] == [[float(other)] * 4 for other in range(size)]
    shapes = {
        name: [event.input_shapes for event in profile.function_events if event.name == f"phicoll:{name}"]
        for name in ("all_gather", "send", "recv")
    }
    assert shapes == {
        "all_gather": [[[3]], [[3], [4]]],
        "send": [[[3]]] * (rank == 0),
        "recv": [[[3]]] * (rank == 1),
    }


def refusals(rank: int, size: int) -> None:
    with pytest.raises(RuntimeError, match="got a sparse tensor; allowed: a dense tensor on the CPU"):
        phicoll.torch.all_reduce_(torch.eye(2).to_sparse())
    with pytest.raises(RuntimeError, match="op: got SUM of elements of type Float8_e4m3fn"):
        dist.all_reduce(torch.zeros(2, dtype=torch.float8_e4m3fn))
    with pytest.raises((RuntimeError, ValueError), match="elements"):
        dist.all_gather_into_tensor(torch.empty(3), torch.empty(2))
    world, one = dist.group.WORLD._get_backend(torch.device("cpu")), torch.zeros(1)
    rooted = {
        world.broadcast: (dist.BroadcastOptions(), [one]),
        world.reduce: (dist.ReduceOptions(), [one]),
        world.gather: (dist.GatherOptions(), [], [one]),
        world.scatter: (dist.ScatterOptions(), [one], []),
    }
    for call, (options, *given) in rooted.items():
        options.rootRank = size
        with pytest.raises(RuntimeError, match=rf"root: got {size}; allowed: 0\.\.{size - 1}"):
            call(*given, options)
        options.rootRank = (rank + 1) % size
        if call in (world.gather, world.scatter):
            with pytest.raises(RuntimeError, match="on a rank that is not the root; allowed: none"):
                call(*(each or [[one] * size] for each in given), options)
        else:
            options.rootTensor = 1
            with pytest.raises(RuntimeError, match=r"got root tensor 1; allowed: 0"):
                call(*given, options)
    with pytest.raises(RuntimeError, match="got no tensor; allowed: at least one"):
        world.allreduce([])
    with pytest.raises(RuntimeError, match=r"got tensors of sizes \[2\] and \[1\]; allowed: .* one size"):
        world.allreduce([one, torch.zeros(2)])
    dist.barrier()
    if rank == 0:
        with pytest.raises(dist.DistBackendError, match="rank 1 has not come within 200 ms"):
            dist.group.WORLD.monitored_barrier(timedelta(milliseconds=200))
        with pytest.raises(dist.DistBackendError, match="rank 1 has not come within 0 ms"):
            dist.group.WORLD.monitored_barrier(timedelta(0))


def unequal(rank: int, size: int) -> None:
    with pytest.raises(dist.DistBackendError, match=r"rank [01]"):
        dist.all_reduce(torch.zeros(2 + rank))


def in_parts(rank: int, size: int) -> None:
    for dtype, count in itertools.product([torch.bfloat16, torch.float32, torch.int64], [1 << 19, 1_000_003]):
        rows = [values(other, dtype, count) for other in range(size)]
        expected = functools.reduce(torch.add, rows)
        dist.all_reduce(got := rows[rank].clone())
        assert torch.equal(got, expected)
        phicoll.torch.all_reduce_(got := rows[rank].clone())
        assert torch.equal(got, expected)
        dist.reduce(got := rows[rank].clone(), 1)
        assert torch.equal(got, expected if rank == 1 else rows[rank])
        dist.broadcast(got := rows[rank].clone(), 1)
        assert torch.equal(got, rows[1])
        dist.all_gather_into_tensor(whole := torch.empty(size * count, dtype=dtype), rows[rank])
        assert torch.equal(whole, torch.cat(rows))
        whole.chunk(size)[rank].add_(1)
        dist.all_gather_into_tensor(whole, whole.chunk(size)[rank])  # in place
        assert torch.equal(whole, torch.cat(rows) + 1)
        dist.all_gather(blocks := [torch.empty_like(got) for _ in range(size)], rows[rank])
        assert all(map(torch.equal, blocks, rows))
        dist.reduce_scatter_tensor(got, torch.cat([row + rank for row in rows]))
        assert torch.equal(got, size * rows[rank] + size * (size - 1) // 2)
        parts = [row[: count - 5 * other] + rank for other, row in enumerate(rows)]
        dist.reduce_scatter(got := torch.empty_like(parts[rank]), parts, dist.ReduceOp.MAX)
        assert torch.equal(got, parts[rank] - rank + size - 1)
        dist.all_to_all(blocks, [row + rank for row in rows])
        assert all(torch.equal(block, rows[rank] + other) for other, block in enumerate(blocks))
        # Of one rank less than 1 MB: all go by the largest.
        sizes = [[count * (i + j) // (4 * size) for j in range(size)] for i in range(size)]
        sent = torch.full((sum(sizes[rank]),), rank + 1, dtype=dtype)
        received = [sizes[other][rank] for other in range(size)]
        dist.all_to_all_single(got := torch.empty(sum(received), dtype=dtype), sent, received, sizes[rank])
        assert [block.unique().tolist() for block in got.split(received)] == [
            [other + 1] if sizes[other][rank] else [] for other in range(size)
        ]
    # Rank 0's first part is as large as rank 1's call.
    with pytest.raises(dist.DistBackendError, match=r"1048576 bytes.*524544|524544 bytes.*1048576"):
        dist.all_reduce(torch.zeros((1 << 18, (1 << 17) + 64)[min(rank, 1)]))


def by_others(call: Callable[[], object]) -> float:
    """The share of the process's time that threads other than this one take."""

    def spent(who: int) -> float:
        used = resource.getrusage(who)
        return used.ru_utime + used.ru_stime

    begin = spent(resource.RUSAGE_SELF), spent(resource.RUSAGE_THREAD)
    for _ in range(5):
        call()
    whole, own = spent(resource.RUSAGE_SELF) - begin[0], spent(resource.RUSAGE_THREAD) - begin[1]
    return (whole - own) / whole


def shared_by_threads(rank: int, size: int) -> None:
    torch.set_num_threads(1)
    one, every = torch.zeros(1 << 21), torch.zeros(size << 21)
    calls: dict[str, Callable[[], object]] = {
        "broadcast": lambda: dist.broadcast(one, 0),
        "all_reduce": lambda: dist.all_reduce(one),
        "reduce": lambda: dist.reduce(one, 0),
        "all_gather": lambda: dist.all_gather_into_tensor(every, one),
        "reduce_scatter": lambda: dist.reduce_scatter_tensor(one, every),
        "all_to_all": lambda: dist.all_to_all_single(every, every.clone()),
    }
    shares = {name: by_others(call) for name, call in calls.items()}
    assert all(share > 0.1 for share in shares.values()), shares


def late(rank: int, size: int) -> None:
    if rank == 0:
        with pytest.raises(dist.DistBackendError, match="rank 1"):
            dist.all_reduce(torch.zeros(2))
    else:
        os._exit(0)


@pytest.mark.parametrize(
    "work", [movements, messages, begun, data_parallel, profiled, refusals, unequal, late]
)
def test_two_ranks(tmp_path: Path, work: Work) -> None:
    together(tmp_path, work)


def test_three_ranks_reduce(tmp_path: Path) -> None:
    together(tmp_path, reductions, 3)


def test_several_threads_make_parts_of_large_calls(tmp_path: Path) -> None:
    together(tmp_path, in_parts, options=phicoll.torch.Options(threads=2, reproducible=True))


def test_three_ranks_share_large_calls_among_three_threads(tmp_path: Path) -> None:
    together(tmp_path, in_parts, 3, options=phicoll.torch.Options(threads=3))


def test_threads_take_a_part_of_each_large_call(tmp_path: Path) -> None:
    together(tmp_path, shared_by_threads, options=phicoll.torch.Options(threads=2))


def test_three_ranks_reduce_in_one_order(tmp_path: Path) -> None:
    together(tmp_path, folds, 3, options=phicoll.torch.Options(reproducible=True))


@pytest.mark.parametrize("hosts", [[0, 0, 1], [0, 1, 0]])
def test_ranks_are_on_several_hosts(tmp_path: Path, hosts: list[int]) -> None:
    together(tmp_path, on_several_hosts, 3, hosts=hosts)


def absent(rank: int, size: int) -> None:
    if rank != 1:
        with pytest.raises(dist.DistBackendError, match=r"1000 ms for ranks? 1\b.*not seen in call"):
            dist.all_reduce(torch.zeros(2))
    else:
        time.sleep(2)


def test_a_call_that_a_rank_does_not_come_to_ends_at_the_time_out(tmp_path: Path) -> None:
    begin = time.monotonic()
    together(tmp_path, absent, 3, timeout_s=1)
    assert time.monotonic() - begin < 30


def test_too_many_ranks_are_refused() -> None:
    given = SimpleNamespace(store=None, group_rank=0, group_size=1025, timeout=timedelta(seconds=1))
    with pytest.raises(ArgumentError, match=r"^world_size: got 1025; allowed: 1\.\.1024 ranks"):
        phicoll.torch.create(given)


def refused(rank: int, store: str, wrong: list[phicoll.torch.Options], hosts: list[int], why: str) -> None:
    phicoll.torch.host = lambda: f"host {hosts[rank]}"
    with pytest.raises(ArgumentError, match=why):
        dist.init_process_group(
            "phicoll", store=dist.FileStore(store, 2), rank=rank, world_size=2, pg_options=wrong[rank]
        )


@pytest.mark.parametrize(
    ("first", "second", "hosts", "why"),
    [
        (
            {"between": None},
            {"between": None},
            [0, 1],
            r"rank [01], which is on another host.*Options\(between",
        ),
        ({"reproducible": True}, {"reproducible": True}, [0, 1], r"rank [01].*reproducible"),
        ({"between": "nothing"}, {"between": "nothing"}, [0, 1], r"between: got 'nothing'; allowed: .*gloo"),
        ({"reproducible": True}, {}, [0, 0], r"pg_options: got .*on rank [01].*; allowed: the same on all"),
    ],
)
def test_ranks_that_cannot_be_one_group_are_refused(
    tmp_path: Path, first: dict[str, Any], second: dict[str, Any], hosts: list[int], why: str
) -> None:
    phicoll.torch.build()
    options = [phicoll.torch.Options(**first), phicoll.torch.Options(**second)]
    mp.start_processes(refused, (str(tmp_path / "store"), options, hosts, why), nprocs=2, start_method="fork")


def test_under_torchrun(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
            import torch, torch.distributed as dist, phicoll.torch
            dist.init_process_group("cpu:phicoll")
            ones = torch.ones(3)
            dist.all_reduce(ones)
            print(ones.tolist())
            dist.destroy_process_group()
            dist.init_process_group("phicoll")
            dist.destroy_process_group()
        """)
    )
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node=2",
        str(script),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("[2.0, 2.0, 2.0]") == 2


def test_what_cannot_be_built_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    build = phicoll.torch.build.__wrapped__
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(
        ResourceError, match=r"no C\+\+ compiler 'no-such-compiler'.*install g\+\+, or set CXX"
    ):
        build()
    monkeypatch.setattr(torch, "__version__", "2.3.1")
    with pytest.raises(ResourceError, match=r"too old for phicoll.s backend: install 2\.4"):
        build()


@pytest.mark.parametrize(
    ("wrong", "argument"),
    [({"between": 5}, "between"), ({"reproducible": "no"}, "reproducible"), ({"threads": 0}, "threads")],
)
def test_an_option_of_another_type_is_named(wrong, argument):
    with pytest.raises(ArgumentError, match=rf"^{argument}: got "):
        phicoll.torch.Options(**wrong)
