# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#       jupytext_version: 1.19.6
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Quickstart: run a collective, look at the machine, sweep, compare, plot
#
# A collective is a call that a group of ranks (threads or processes) makes together: a barrier makes them wait for each
# other, an allreduce combines what each of them has. This notebook runs and measures some on this machine. It takes about
# a minute; every number below is measured while you read, unless it says *simulated* or *counted*.

# %%
import matplotlib.pyplot as plt
import numpy as np

import phicoll

phicoll.__version__

# %% [markdown]
# ## Run an allreduce
#
# `phicoll.run` starts ranks, here two processes, and returns what the function returned in each. A rank's communicator takes
# the calls of mpi4py's. Small arrays or large, its own or in memory that all reach: `auto` chooses the algorithm, and `why`
# says which.


# %%
def add(comm):
    mine = np.arange(4.0) + 10 * comm.rank
    total = np.empty_like(mine)
    comm.Allreduce(mine, total, op=phicoll.SUM)
    return comm.rank, total.tolist(), str(comm.why("allreduce", total.nbytes))


phicoll.run(add, ranks=2)

# %% [markdown]
# ## Look at the machine
#
# What would spoil a measurement here, and what to do about it. The last lines come from a short measurement: what moving
# one cache line costs, and how often two CPUs sat on one physical core, as virtual machines sometimes have it.

# %%
phicoll.doctor()

# %% [markdown]
# ## What there is
#
# Every barrier of the papers, phicoll's own, and references of other systems. Parameters follow the name behind colons:
# `dissemination:ways=3`.

# %%
phicoll.algorithms("barrier")

# %% [markdown]
# ## Sweep
#
# Algorithms, rank counts and modes are crossed. Every round visits all of them in a random order, at new addresses, beside
# probes of the machine. Two definitions of run time: `loop`, the mean of back-to-back calls, and `window`, each call from
# the last entry to the last exit. More ranks than CPUs have to be asked for with `oversubscribe`.

# %%
results = phicoll.sweep(
    "barrier",
    algorithm="dissemination,sense-reversing,static-tournament,simd-flags,auto,hand-one-line,std-barrier,pthread-barrier",
    ranks=2,
    mode=["threads", "processes"],
    launches=5,
    rounds=12,
    budget_s=20,
    seed=1,
    oversubscribe=True,
    progress=False,
)
results

# %% [markdown]
# The table above is `results.compare()`: medians with exact 95 % intervals, in nanoseconds and in *lines* (one-way
# transfers of one cache line, measured in the same round: about 1 for the hand-written reference of two ranks), and the
# ratio to the best, taken within rounds. *n.s.* marks a difference that is not significant, with the number of units that
# it was tested on.

# %% [markdown]
# ## Compare
#
# Against one opponent of your choice, as a DataFrame:

# %%
table = results.compare(against="hand-one-line").to_dataframe()
table[
    [
        "spec",
        "mode",
        "definition",
        "median_ns",
        "median_lines",
        "ratio_to_opponent_median",
        "ratio_to_opponent_resolved",
    ]
].round(2)

# %% [markdown]
# ## Plot
#
# Every point is a round at a place of its own in memory; the bar on top is the interval of the median.

# %%
results.plot()

# %% [markdown]
# Threads and processes run the same code. Their distributions over places and launches:

# %%
results.plot("distributions", most=3)

# %% [markdown]
# What the machine did meanwhile, same-core rounds shaded:

# %%
results.plot("probes")

# %% [markdown]
# ## Sweep an allreduce
#
# Operations that move data have sizes as well. Every call is verified, and its operands are freshly written.

# %%
sums = phicoll.sweep(
    "allreduce",
    algorithm="auto,one-shot,recursive-doubling,sliced,flat-tree",
    ranks=2,
    mode="threads",
    definition="loop",
    sizes=["8", "256", "4K", "64K", "512K"],
    type=np.float64,
    op=phicoll.SUM,
    launches=5,
    rounds=8,
    budget_s=20,
    seed=1,
    progress=False,
)
sums.compare().best()

# %% [markdown]
# A figure of its own, `sums.plot()`, or drawn into yours. The ratio to the best of each size shows what times over decades
# hide:

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(13, 4))
sums.plot(ax=left, title="Allreduce of two threads")
_ = sums.plot(ax=right, unit="ratio", title="against the best of each size")

# %% [markdown]
# The same sweep with `machine=` is *simulated*: 16 ranks on a node with two processors.

# %%
phicoll.sweep(
    "allreduce",
    algorithm="auto,rabenseifner,recursive-doubling,sliced,flat-tree",
    ranks=16,
    sizes=["8", "512", "4K", "64K"],
    type=np.float64,
    op=phicoll.SUM,
    machine="sandy-bridge-e5-2670",
    rounds=3,
    calls=2,
    budget_s="none",
    progress=False,
).plot(unit="ratio")

# %% [markdown]
# ## The papers' scale
#
# What an algorithm does can be counted exactly at any scale, without such a machine: here on the 60 cores with 4 contexts
# of a Xeon Phi.

# %%
phicoll.count(
    "barrier", "dissemination,dissemination:ways=3,sense-reversing,combining-tree,simd-flags", "60x4"
)

# %% [markdown]
# ## Keep
#
# Raw samples, with the machine and the settings beside them. `phicoll compare FILE` and `phicoll plot FILE` read the same.

# %%
import tempfile
from pathlib import Path

with tempfile.TemporaryDirectory() as folder:
    path = results.save(Path(folder) / "quickstart.jsonl")
    print(path.name, path.stat().st_size, "bytes,", len(phicoll.load(path)), "samples")
