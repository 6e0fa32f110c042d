# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Velamati et al. 2007, simulated: barrier, broadcast and reduce on two chips
#
# *It runs for less than a minute (42 s of CPU time).*
#
# *Optimization of Collective Communication in Intra-Cell MPI* built MPI's collectives on a blade of two Cell processors: 16 cores
# (SPEs), eight on a chip, each with a local store and no cache, moving data by DMA. Here phicoll's algorithms, which are the same on
# all machines, run on a simulated blade: local stores, commands between them, and the paper's bandwidths. Its latencies are guesses
# (`phicoll list machine cell-qs20` says which). **No number below was measured on a Cell.** What is looked at is which of the paper's
# *orders* come out.
#
# Figures have the paper's axes: processes against time for barriers (its figure 2), size against time for broadcast (figure 3) and
# reduce (figure 4). Every broadcast ends with a barrier, as the paper's calls do. Times are of back-to-back calls, buffers freshly
# written; a *seed* decides when processes start.

# %%
import os

import numpy as np
import pandas as pd
from IPython.display import HTML, Markdown, display

import phicoll
from phicoll.plots.canvas import new_figure
from phicoll.plots.style import PALE, SERIES, plain_log_ticks, tidy

QUICK = bool(os.environ.get("PHICOLL_QUICK"))  # a few seconds, for tests
NATIVE = bool(os.environ.get("PHICOLL_NATIVE"))  # the last section measures on this host
MACHINE = "cell-qs20"
CHIP = 8  # cores
SEEDS = 1 if QUICK else 2
FULL = 4 if QUICK else 16  # processes of the figures over sizes
SIZES = [128, 8192] if QUICK else [128, 1024, 8192, 32768, 262144, 1048576]

machine = phicoll.load_machine(MACHINE)
display(
    Markdown(
        f"**{machine.name}**: {machine.summary}. Digest `{machine.digest}`, phicoll {phicoll.__version__}, seeds 1 to "
        f"{SEEDS}{', quick' if QUICK else ''}."
    )
)


def note(text):
    display(Markdown(f"*Simulated, {MACHINE}, machine digest {machine.digest}, {SEEDS} seeds. {text}*"))


def simulate(operation, algorithms, ranks, **more):
    """Microseconds: a row for each name and number of processes (and size), a column for each seed."""
    results = phicoll.sweep(operation, algorithm=list(algorithms.values()), ranks=ranks, machine=MACHINE, placement="compact",
                            rounds=SEEDS, calls=3, warm_up=1, seed=1, budget_s="none", progress=False, **more)  # fmt: skip
    assert not results.unverified
    specs = dict.fromkeys(point["spec"] for point in results.points)
    names = dict(zip(specs, algorithms, strict=True))
    frame = results.to_dataframe()
    frame["name"] = frame["spec"].map(names)
    by = ["name", "ranks", *(["size_bytes"] if operation != "barrier" else [])]
    return frame.pivot_table(index=by, columns="round", values="ns") / 1000


def across(times):
    """Means of the seeds, sizes from left to right."""
    by = [level for level in times.index.names if level != "size_bytes"]
    long = times.mean(axis=1).rename("us").reset_index()
    return long.pivot_table(index=by, columns="size_bytes", values="us", sort=False)


def curves(axes, times, names, size):
    """Mean of the seeds with their span; over sizes, or over processes."""
    for name, colour, marker in zip(names, SERIES, "osD^v*PX", strict=False):
        of = times.loc[name].droplevel("ranks" if size else [])
        axes.plot(
            of.index, of.mean(axis=1), color=colour, marker=marker, markersize=4.5, linewidth=1.4, label=name
        )
        axes.vlines(of.index, of.min(axis=1), of.max(axis=1), color=colour, linewidth=2.4, alpha=0.3)
    if size:
        axes.set_xscale("log", base=2)
        axes.set_xticks(SIZES, [f"{n // 1024:,} K" if n >= 1024 else f"{n}" for n in SIZES], fontsize=8)
        axes.set_xlabel("size of the message, bytes")
        plain_log_ticks(axes, "y", times.min().min() / 1.3, times.max().max() * 1.3)
    else:
        axes.axvline(CHIP + 0.5, color=PALE, linewidth=1, zorder=0)
        axes.set_xlabel("processes")
        axes.set_ylim(0)
    axes.set_ylabel("time of a call, µs")
    axes.legend(frameon=False, fontsize=8)
    tidy(axes, "y")


rows = phicoll.claims.report("velamati-2007")
shown = {}


def verdict(number, read, faster, slower, condition):
    """The statement's row of `phicoll claims`, and how much less time ``faster`` takes in these runs (a seed each)."""
    ratio = np.asarray(slower, float) / np.asarray(faster, float)
    row, here = rows[number].finding, f"{ratio.min():.2f} to {ratio.max():.2f} times, {condition}"
    shown.setdefault(number, []).append(here)
    display(Markdown(f"> **{number}** {row.claim.statement} **{row.verdict}**. {row.measured} *In these runs, read as: {read}* {here}."))  # fmt: skip


# %% [markdown]
# ## Barriers (figure 2)
#
# Left: TREE by its degree. Right: OTA, TREE, pairwise exchange (PE) and dissemination (DIS). Processes 1 to 8 are on one chip. In the
# paper a tree whose degree is a power of two is faster for reasons of compiled code, which no simulated machine has.

# %%
PROCESSES = [2, 4] if QUICK else [2, 4, 6, 8, 10, 12, 14, 16]
TREES = {f"degree {k}": f"k-nomial-tree:degree={k}" for k in ((2, 4) if QUICK else (2, 3, 4, 5, 8))}
BARRIERS = {
    "OTA": "one-to-all",
    "SIG": "signal-register:release=flags",
    "TREE, degree 4": "k-nomial-tree:degree=4",
    "PE": "pairwise-exchange",
    "DIS": "dissemination:layout=packed",
}
trees = simulate("barrier", TREES, PROCESSES)
barriers = simulate("barrier", BARRIERS, PROCESSES)
figure = new_figure(11.5, 4.0)
left, right = figure.subplots(1, 2)
curves(left, trees, TREES, size=False)
left.set_title("TREE by degree", loc="left")
curves(right, barriers, BARRIERS, size=False)
right.set_title("Barriers; the line: a second chip from here on", loc="left")
display(figure)
note("Figure 2, back to back; bars span the seeds.")

# %%
ALL = PROCESSES[-1]
best = np.minimum(barriers.loc[("PE", ALL)], barriers.loc[("DIS", ALL)])
others = np.minimum(barriers.loc[("OTA", ALL)], barriers.loc[("TREE, degree 4", ALL)])
verdict(
    "002-08",
    "PE and DIS are substantially faster than gather and broadcast.",
    best,
    others,
    f"best against best on {ALL}",
)
verdict(
    "002-09",
    "PE is faster than DIS on two chips.",
    barriers.loc[("PE", ALL)],
    barriers.loc[("DIS", ALL)],
    f"on {ALL}",
)
verdict("002-06", "The signal register does not help.", barriers.loc[("OTA", ALL)], barriers.loc[("SIG", ALL)],
        f"SIG against OTA on {ALL}; each waits for its own flag")  # fmt: skip
if not QUICK:
    grown = [barriers.loc[(name, 10)] / barriers.loc[(name, 8)] for name in ("PE", "DIS")]
    verdict("002-10", "DIS jumps from 8 to 10 processes by more than PE.", *grown, "growth from 8 to 10")
    verdict(
        "002-07",
        "Degree 8 is slower than degree 4.",
        trees.loc[("degree 4", ALL)],
        trees.loc[("degree 8", ALL)],
        f"on {ALL}",
    )

# %% [markdown]
# ## Broadcast (figure 3)
#
# TREEMM: children copy from the parent's memory. OTA: all copy from the root's, each beginning at a place of its own. G: the root
# copies to all. AG: each process gets one piece and puts it into all others' memory. TREE: pieces go down a tree of buffers in local
# stores; degree 1 is the pipeline.

# %%
END = ":trailing=barrier"
BROADCASTS = {
    "TREEMM, degree 3": f"tree-copy:degree=3{END}",
    "OTA": f"one-to-all-shifted{END}",
    "G": f"root-copies{END}",
    "AG, 2 K": f"piece-per-rank:minimum=2048{END}",
    "TREE, degree 3": f"local-store-tree:degree=3{END}",
    "TREE, degree 1": f"local-store-tree:degree=1{END}",
}
broadcasts = simulate("broadcast", BROADCASTS, [4] if QUICK else [4, FULL], sizes=SIZES)
figure = new_figure(11.5, 4.4)
left, right = figure.subplots(1, 2)
curves(left, broadcasts[broadcasts.index.get_level_values("ranks") == FULL], BROADCASTS, size=True)
left.set_title(f"Broadcast on {FULL} processes", loc="left")
chosen = simulate(
    "broadcast", {"the paper's choice": f"paper-002{END}"}, [4] if QUICK else [4, 8, 12, 16], sizes=SIZES
)
for number, colour, marker in zip(chosen.index.unique("ranks"), SERIES, "osD^", strict=False):
    of = chosen.xs(("the paper's choice", number), level=("name", "ranks")).mean(axis=1)
    right.plot(
        of.index,
        number * of.index / of / 1000,
        color=colour,
        marker=marker,
        markersize=4.5,
        label=f"{number} processes",
    )
right.set_xscale("log", base=2)
right.set_xticks(SIZES, [f"{n // 1024:,} K" if n >= 1024 else f"{n}" for n in SIZES], fontsize=8)
right.set_xlabel("size of the message, bytes")
right.set_ylabel("one read and P - 1 writes over the time, GB/s")
right.legend(frameon=False, fontsize=8)
right.set_title("Bytes a second with the paper's choice", loc="left")
tidy(right, "y")
display(figure)
note("Figure 3; each call ends with a barrier; bars span the seeds.")

# %%
display(across(broadcasts).round(2))
SMALL, LARGE = SIZES[0], SIZES[-1]


def of(times, name, ranks, size):
    return times.loc[(name, ranks, size)]


def least(times, ranks, size, without):
    rows = times.xs((ranks, size), level=("ranks", "size_bytes"))
    return rows.drop(index=[name for name in without if name in rows.index]).min()


verdict("002-20", "G is best for small messages on up to four processes.", of(broadcasts, "G", 4, SMALL),
        least(broadcasts, 4, SMALL, ["G"]), f"against the best other, {SMALL} B on 4")  # fmt: skip
if not QUICK:
    verdict("002-20", "TREE of degree 3 is best for small messages on more.", of(broadcasts, "TREE, degree 3", FULL, SMALL),
            least(broadcasts, FULL, SMALL, ["TREE, degree 3", "TREE, degree 1"]), f"against the best other, {SMALL} B on {FULL}")  # fmt: skip
    verdict("002-20", "AG is best or close to it from 8 K on.", of(broadcasts, "AG, 2 K", FULL, 32768),
            1.1 * least(broadcasts, FULL, 32768, ["AG, 2 K"]), f"within 10 % of the best other, 32 K on {FULL}")  # fmt: skip
    verdict("002-19", "The pipeline is slightly better than TREE for very large messages.", of(broadcasts, "TREE, degree 1", FULL, LARGE),
            of(broadcasts, "TREE, degree 3", FULL, LARGE), f"1 M on {FULL}")  # fmt: skip
    rate = FULL * LARGE / chosen.loc[("the paper's choice", FULL, LARGE)] / 1000
    verdict("002-21", "Broadcast comes close to the controller's 25.6 GB/s.", 0.8 * 25.6, rate,
            f"of 0.8 times that, 1 M on {FULL}")  # fmt: skip

# %% [markdown]
# ### Parameters: AG's minimum piece and the tree's buffers

# %%
PIECES = {
    f"AG, {n} B": f"piece-per-rank:minimum={n}{END}"
    for n in ((1024, 4096) if QUICK else (128, 1024, 2048, 4096, 8192))
}
BUFFERS = {
    "TREE, 16 K": f"local-store-tree:piece=16384{END}",
    "TREE, 4 K": f"local-store-tree:piece=4096{END}",
}
pieces = simulate("broadcast", PIECES, FULL, sizes=SIZES)
buffers = simulate("broadcast", BUFFERS, FULL, sizes=SIZES)
figure = new_figure(11.5, 4.0)
left, right = figure.subplots(1, 2)
curves(left, pieces, PIECES, size=True)
left.set_title("AG by the smallest piece", loc="left")
curves(right, buffers, BUFFERS, size=True)
right.set_title("TREE by the size of its buffers", loc="left")
display(figure)
note(f"{FULL} processes; bars span the seeds.")
if not QUICK:
    inner = np.minimum(of(pieces, "AG, 2048 B", FULL, 8192), of(pieces, "AG, 4096 B", FULL, 8192))
    outer = pd.concat([of(pieces, f"AG, {n} B", FULL, 8192) for n in (128, 1024, 8192)], axis=1).min(axis=1)
    verdict("002-17", "Pieces of 2 or 4 KB are best at intermediate sizes.", inner, outer, f"8 K on {FULL}")
    four, sixteen = of(buffers, "TREE, 4 K", FULL, LARGE), of(buffers, "TREE, 16 K", FULL, LARGE)
    verdict(
        "002-14",
        "Buffers of 4 KB do about as well as of 16 KB.",
        four,
        1.1 * sixteen,
        f"within 10 %, 1 M on {FULL}",
    )

# %% [markdown]
# ## Reduce (figure 4)
#
# TREE and AG as above with the directions reversed; TREEMM, over sends and receives, is there for comparison. 32-bit integers, sum. TREE has
# the barrier at the end; AG and TREEMM do not bring one, so for small data they are not judged against TREE.

# %%
REDUCES = {
    "TREE, degree 1": f"local-store-tree:degree=1{END}",
    "TREE, degree 2": f"local-store-tree:degree=2{END}",
    "TREE, degree 3": f"local-store-tree:degree=3{END}",
    "TREE, degree 4": f"local-store-tree:degree=4{END}",
    "AG, 2 K": "piece-per-rank:least=2048",
    "TREEMM": "send-receive-tree",
}
COUNTS = [4] if QUICK else [4, 8, 12, 16]
reduces = simulate("reduce", REDUCES, COUNTS, sizes=SIZES, type="int32", op="sum")
figure = new_figure(11.5, 4.2 if QUICK else 8.2)
panels = np.atleast_1d(figure.subplots(1 if QUICK else 2, 1 if QUICK else 2)).ravel()
for axes, number in zip(panels, COUNTS, strict=True):
    curves(axes, reduces[reduces.index.get_level_values("ranks") == number], REDUCES, size=True)
    axes.set_title(f"{number} processes", loc="left")
display(figure)
note("Figure 4; bars span the seeds.")

# %%
display(across(reduces).round(2))
verdict("002-23", "On four processes degree 4 is best for small data.", of(reduces, "TREE, degree 4", 4, SMALL),
        least(reduces, 4, SMALL, ["TREE, degree 4", "AG, 2 K", "TREEMM"]), f"against the best other TREE, {SMALL} B on 4")  # fmt: skip
if not QUICK:
    verdict("002-22", "TREE of degree 3 is best or close to it for small data on more.", of(reduces, "TREE, degree 3", FULL, SMALL),
            1.1 * least(reduces, FULL, SMALL, ["TREE, degree 3", "AG, 2 K", "TREEMM"]), f"within 10 % of the best other TREE, {SMALL} B on {FULL}")  # fmt: skip
    verdict("002-24", "AG is best at intermediate sizes.", of(reduces, "AG, 2 K", FULL, 32768), least(reduces, FULL, 32768, ["AG, 2 K"]),
            f"against the best other, 32 K on {FULL}")  # fmt: skip
    verdict("002-24", "The pipeline is best for very large data.", of(reduces, "TREE, degree 1", FULL, LARGE),
            least(reduces, FULL, LARGE, ["TREE, degree 1"]), f"against the best other, 1 M on {FULL}")  # fmt: skip
    verdict("002-27", "Over sends and receives it is slower than the best.", least(reduces, 8, LARGE, ["TREEMM"]),
            of(reduces, "TREEMM", 8, LARGE), "1 M on 8")  # fmt: skip
verdict("002-26", "A reduce takes longer than a broadcast.", least(broadcasts, FULL, LARGE, []), least(reduces, FULL, LARGE, []),
        f"best against best, {LARGE:,} B on {FULL}")  # fmt: skip

# %% [markdown]
# ## Verdicts

# %%
with pd.option_context("display.max_colwidth", None):
    table = [
        {
            "claim": n,
            "the paper": rows[n].finding.claim.statement,
            "verdict": rows[n].finding.verdict,
            "in these runs": "; ".join(here),
        }
        for n, here in sorted(shown.items())
    ]
    display(HTML(pd.DataFrame(table).set_index("claim").to_html(justify="left")))
note("Ratios of times: above 1 as the paper says, the smallest and the largest seed.")

# %% [markdown]
# ## On this host
#
# Measured, not simulated, only when `PHICOLL_NATIVE=1` is set, since the outputs kept with this notebook are the same everywhere.

# %%
if NATIVE:
    measured = phicoll.sweep("broadcast", algorithm=list(BROADCASTS.values()), ranks=2, sizes=[128, 8192, 262144], mode="processes",
                             launches=2, rounds=3, progress=False)  # fmt: skip
    display(measured.compare())
else:
    display(Markdown("*Not asked for: `PHICOLL_NATIVE=1`.*"))
