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
# # Quickstart: look at the machine, sweep, compare, plot
#
# A barrier makes ranks (threads or processes) wait for each other. This notebook measures a few on this machine. It
# takes less than a minute; every number below is measured while you read.

# %%
import phicoll

phicoll.__version__

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
)
results

# %% [markdown]
# The table above is `results.compare()`: medians with exact 95 % intervals, in nanoseconds and in *lines* (one-way
# transfers of one cache line, measured in the same round: about 1 for the hand-written reference of two ranks), and the
# ratio to the best, taken within rounds. `n.s.` marks a difference that is not resolved.

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
        "ratio_to_best_median",
        "ratio_to_best_resolved",
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
# ## The papers' scale
#
# What an algorithm does can be counted exactly at any scale, without such a machine: here on the 60 cores with 4 contexts
# of a Xeon Phi.

# %%
phicoll.count("dissemination,dissemination:ways=3,sense-reversing,combining-tree,simd-flags", "60x4")

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
