"""Decoding by a transformer on two processes, phicoll beside gloo: tokens a second, and whether they are equal.

    build/torch/bin/python benchmarks/torch_decode.py --rounds 5

The sizes are GPT-2's (Radford 2019), the weights random, the batch one text, each token the likeliest. There are two
ways: PyTorch's own ``parallelize_module``; and plain shards of each matrix with one sum after the second of a pair, as
inference engines have it, which for phicoll is phicoll.torch.all_reduce_. Each round starts the processes anew.
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

import phicoll.torch

WIDTH, HEADS, WORDS, PLACES = 768, 12, 50304, 1024  # the vocabulary rounded up, so that ranks divide it
PROMPT = 32
SPLIT, SUMMED = ("q", "k", "v", "up"), ("out", "down")


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.q, self.k, self.v, self.out = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))
        self.up = nn.Linear(WIDTH, 4 * WIDTH, bias=False)
        self.down = nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def forward(self, x: torch.Tensor, seen: list[torch.Tensor]) -> torch.Tensor:
        normal = self.before(x)
        # Of the rank's own heads: (heads, places, width of a head).
        q, k, v = (
            each(normal).unflatten(-1, (-1, WIDTH // HEADS)).transpose(0, 1)
            for each in (self.q, self.k, self.v)
        )
        seen[:] = (
            [torch.cat([old, new], 1) for old, new in zip(seen, (k, v), strict=True)] if seen else [k, v]
        )
        found = nn.functional.scaled_dot_product_attention(q, *seen, is_causal=len(x) > 1)
        x = x + self.out(found.transpose(0, 1).flatten(1))
        return x + self.down(nn.functional.gelu(self.up(self.between(x))))


class Transformer(nn.Module):
    def __init__(self, layers: int) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(PLACES, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(layers))
        self.last, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, words: torch.Tensor, begin: int, seen: list[list[torch.Tensor]]) -> torch.Tensor:
        x = self.words(words) + self.places(torch.arange(begin, begin + len(words)))
        for block, of_block in zip(self.blocks, seen, strict=True):
            x = block(x, of_block)
        return self.head(self.last(x[-1:]))[0]


def by_pytorch(model: Transformer, size: int) -> None:
    mesh = init_device_mesh("cpu", (size,))
    plan = {name: ColwiseParallel() for name in SPLIT} | {name: RowwiseParallel() for name in SUMMED}
    for block in model.blocks:
        parallelize_module(block, mesh, plan)
    parallelize_module(model, mesh, {"head": ColwiseParallel(output_layouts=Replicate())})


def by_shards(model: Transformer, size: int) -> None:
    rank = dist.get_rank()
    reduce = phicoll.torch.all_reduce_ if dist.get_backend() == "phicoll" else dist.all_reduce

    def cut(linear: nn.Linear, dim: int) -> None:
        linear.weight = nn.Parameter(linear.weight.chunk(size, dim)[rank].contiguous())

    def summed(_module: nn.Module, _given: object, found: torch.Tensor) -> None:
        reduce(found)

    def joined(_module: nn.Module, _given: object, found: torch.Tensor) -> torch.Tensor:
        whole = torch.empty(size * found.numel(), dtype=found.dtype)
        dist.all_gather_into_tensor(whole, found.flatten())
        return whole[None]

    for block in model.blocks:
        for name in SPLIT:
            cut(getattr(block, name), 0)
        for name in SUMMED:
            cut(getattr(block, name), 1)
            getattr(block, name).register_forward_hook(summed)
    cut(model.head, 0)
    model.head.register_forward_hook(joined)


WAYS = {"parallelize_module": by_pytorch, "shards": by_shards}


@torch.inference_mode()
def decode(
    rank: int, backend: str, way: str, options: argparse.Namespace, dtype: torch.dtype, folder: str
) -> None:
    torch.set_num_threads(1)
    size = options.ranks
    dist.init_process_group(
        backend, store=dist.FileStore(f"{folder}/store", size), rank=rank, world_size=size
    )
    torch.manual_seed(1)
    with torch.inference_mode(False):
        model = Transformer(options.layers).to(dtype).eval().requires_grad_(False)
        WAYS[way](model, size)
    seen: list[list[torch.Tensor]] = [[] for _ in range(options.layers)]
    words = torch.randint(WORDS, (PROMPT,))
    found: list[int] = []
    begin = 0
    for _ in range(options.tokens):
        if len(found) == 4:  # the first ones warm up
            started = time.perf_counter()
        token = model(words, begin, seen).argmax()
        begin += len(words)
        words = token[None]
        found.append(token.item())
    took = time.perf_counter() - started
    if rank == 0:
        torch.save((found, (options.tokens - 4) / took), f"{folder}/found")
    dist.destroy_process_group()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32")
    options = parser.parse_args()
    if not 5 <= options.tokens <= PLACES - PROMPT:
        parser.error(f"--tokens: got {options.tokens}; allowed: 5..{PLACES - PROMPT}")
    phicoll.torch.build()
    rates: dict[tuple[str, str], list[float]] = {}
    texts: dict[str, set[tuple[int, ...]]] = {way: set() for way in WAYS}
    for _ in range(options.rounds):
        for way in WAYS:
            for backend in ("gloo", "phicoll"):
                with tempfile.TemporaryDirectory() as folder:
                    given = backend, way, options, getattr(torch, options.dtype), folder
                    mp.start_processes(decode, given, nprocs=options.ranks, start_method="fork")
                    found, rate = torch.load(Path(folder) / "found")
                texts[way].add(tuple(found))
                rates.setdefault((way, backend), []).append(rate)
    print(f"| way | gloo, tokens/s | phicoll, tokens/s | ratio | tokens |\n|{'---|' * 5}")
    for way in WAYS:
        gloo, own = (statistics.median(rates[way, backend]) for backend in ("gloo", "phicoll"))
        equal = "equal" if len(texts[way]) == 1 else "different"
        print(f"| {way} | {gloo:.1f} | {own:.1f} | {own / gloo:.2f} | {equal} |")
    if any(len(found) > 1 for found in texts.values()):
        sys.exit("the tokens differ")


if __name__ == "__main__":
    main()
