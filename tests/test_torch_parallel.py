"""What PyTorch builds on a backend, over phicoll: graphs, and models that are split among ranks."""

from collections.abc import Callable
from pathlib import Path

import pytest

from test_torch import Work, dist, phicoll, together, torch

nn = torch.nn
functional, fsdp, tensors, parallel, meshes = (
    pytest.importorskip(f"torch.distributed.{name}")
    for name in ("_functional_collectives", "fsdp", "tensor", "tensor.parallel", "device_mesh")
)


def train(split: Callable[[torch.nn.Module], torch.nn.Module], part: slice = slice(None)) -> list[float]:
    """The losses of three steps with the rows ``part`` of the data, averaged over the ranks."""
    torch.manual_seed(1)
    net = split(nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4)))
    data, wanted = torch.randn(8, 8)[part], torch.randn(8, 4)[part]
    steps = torch.optim.SGD(net.parameters(), 0.5)
    found = []
    for _ in range(3):
        loss = nn.functional.mse_loss(net(data), wanted)
        loss.backward()
        steps.step()
        steps.zero_grad()
        dist.all_reduce(total := loss.detach().clone(), dist.ReduceOp.AVG)
        found.append(total.item())
    return found


def graphs(rank: int, size: int) -> None:
    world = dist.group.WORLD

    def step(x: torch.Tensor) -> list[torch.Tensor]:
        plain = x * 2
        phicoll.torch.all_reduce_(plain)
        dist.all_reduce(averaged := x + 1, dist.ReduceOp.AVG)
        every = functional.all_gather_tensor(x, 0, world)
        return [
            plain + 1,
            averaged,
            every,
            functional.reduce_scatter_tensor(every, "sum", 0, world),
            functional.all_to_all_single(x, None, None, world),
            functional.broadcast(x, 1, world),
            *functional.all_reduce_coalesced([x, x + 1], "max", world),
            *functional.all_gather_into_tensor_coalesced([x, x + 1], world),
            *functional.reduce_scatter_tensor_coalesced([every, every], "sum", [0, 0], world),
        ]

    mine = torch.arange(float(2 * size)) + rank
    expected = step(mine)
    assert expected[0].tolist() == [
        1 + sum(2.0 * (i + other) for other in range(size)) for i in range(2 * size)
    ]
    for got, one in zip(
        torch.compile(step, backend="aot_eager", fullgraph=True)(mine), expected, strict=True
    ):
        assert torch.equal(got, one)


def sharded(rank: int, size: int) -> None:
    whole = train(lambda net: net)
    rows = slice(rank * 8 // size, (rank + 1) * 8 // size)
    assert train(fsdp.fully_shard, rows) == pytest.approx(whole, rel=1e-5)
    older = torch.distributed.fsdp.FullyShardedDataParallel
    assert train(lambda net: older(net, device_id=torch.device("cpu")), rows) == pytest.approx(
        whole, rel=1e-5
    )


def tensor_parallel(rank: int, size: int) -> None:
    mesh = meshes.init_device_mesh("cpu", (size,))
    plan = {"0": parallel.ColwiseParallel(), "2": parallel.RowwiseParallel()}
    split = train(lambda net: parallel.parallelize_module(net, mesh, plan))
    assert split == pytest.approx(train(lambda net: net), rel=1e-5)
    whole = torch.arange(20.0).view(5, 4)  # rows that the ranks do not divide
    spread = tensors.distribute_tensor(whole, mesh, [tensors.Shard(0)])
    assert torch.equal(spread.redistribute(mesh, [tensors.Shard(1)]).full_tensor(), whole)
    partial = tensors.DTensor.from_local(whole * (rank + 1), mesh, [tensors.Partial("max")])
    assert torch.equal(partial.full_tensor(), whole * size)


@pytest.mark.parametrize("work", [graphs, sharded, tensor_parallel])
def test_two_ranks(tmp_path: Path, work: Work) -> None:
    together(tmp_path, work)
