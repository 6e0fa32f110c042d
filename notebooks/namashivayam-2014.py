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
# # Namashivayam et al. 2014: put and get, load and store, and allreduce by both
#
# *It runs for some minutes on two cores.*
#
# The paper on OpenSHMEM for the Xeon Phi replaces put and get by loads and stores through `shmem_ptr` (its figure 2), and times pairs of
# processes (figures 3 to 5), STREAM (figure 6) and four reductions to all (figures 7 to 10: flat tree FT, recursive doubling RD, Bruck
# BR, Rabenseifner RSAG; 64 processes). Here all of that runs on a simulated machine of its kind, a Xeon Phi SE10P; figures 3 to 6 also on
# the machine that runs the notebook. **No number below was measured on a Xeon Phi**, unless it is labelled as the paper's. The MPIs in its
# figures are not simulated.
#
# The paper's put and get go through a library, GASNet, whose calls cost something themselves. It does not say how much. Figures 3 to 6
# therefore have several *stated* costs of a call; without one, a put is the copy alone, as it is through `shmem_ptr`, and in phicoll's own
# library, which inlines it. In figures 7 to 10 calls cost nothing: what is seen there is what the *data's way* costs, so the difference
# between the two ways must be smaller than the paper's. A *seed* decides where lines lie and when processes start.
#
# The four reductions on 8 processes of the simulated machine, before the details:

# %%
import phicoll

phicoll.sweep(
    "allreduce",
    algorithm="flat-tree,recursive-doubling,bruck:bit_identical=no,rabenseifner",
    sizes="8,1K,16K",
    ranks=8,
    machine="xeon-phi-se10p",
    rounds=2,
    budget_s="none",
    progress=False,
).plot()

# %%
import os

import numpy as np
import pandas as pd
from IPython.display import HTML, Markdown, display

import phicoll
from phicoll.papers.validation.one_sided import CALL
from phicoll.plots.canvas import new_figure
from phicoll.plots.style import SERIES, plain_log_ticks, tidy

QUICK = bool(os.environ.get("PHICOLL_QUICK"))  # a few seconds, for tests
MACHINE = "xeon-phi-se10p"
SEEDS = 1 if QUICK else 2
RANKS = 8 if QUICK else 64
INTEGERS = [1, 1024] if QUICK else [1, 16, 256, 1024, 4096, 16384]
SMALL = 1024  # integers: where the paper's figures for small and for large messages meet
CALLS = [0, 50, CALL, 800]  # cycles; CALL: what the paper's bandwidths ask for
CALLS_HERE = [0, 80, 800]  # of the time-stamp counter; 80: about what Open MPI's put takes (docs/shmem.md)
PAIRS = [1, 2] if QUICK else [1, 30]
BYTES = [8, 1024] if QUICK else [8, 64, 512, 2048, 8192, 16384, 32768, 131072, 524288]
STREAM_RANKS, LINES = (4, 256) if QUICK else (60, 4096)
RANKS_HERE, LINES_HERE = 2, 256 if QUICK else 131072
ROUNDS_HERE = 2 if QUICK else 7

machine = phicoll.load_machine(MACHINE)
display(
    Markdown(
        f"**{machine.name}**: {machine.summary}. Digest `{machine.digest}`, phicoll {phicoll.__version__}, seeds 1 to "
        f"{SEEDS}{', quick' if QUICK else ''}."
    )
)


def note(text):
    display(Markdown(f"*Simulated, {MACHINE}, machine digest {machine.digest}, {SEEDS} seeds. {text}*"))


PUT_GET = {
    "FT": "flat-tree:transfer=put-get",
    "RD": "recursive-doubling:transfer=put-get",
    "BR": "bruck:transfer=put-get",
    "RSAG": "rabenseifner:transfer=put-get:merge_middle=no",
}
LOAD_STORE = {
    "FT, load/store": "flat-tree:transfer=load-store",
    "RD, load/store": "recursive-doubling:transfer=load-store",
    "BR, load/store": "bruck:transfer=load-store",
    "RSAG, load/store": "rabenseifner:transfer=load-store:merge_middle=no",
}
STEPS = {
    "RD, left computes": "recursive-doubling:transfer=load-store:left_computes=yes",
    "RSAG, merged": "rabenseifner:transfer=load-store:merge_middle=yes",
    "RSAG, merged, left computes": "rabenseifner:transfer=load-store:merge_middle=yes:left_computes=yes",
    "all read all": "all-reads-all",
    "the paper's choice": "paper-003:threshold=4096",
}
NAMES = {**PUT_GET, **LOAD_STORE, **STEPS}


def simulate(algorithms, ranks, integers):
    """Microseconds: a row for each name, number of processes and number of integers, a column for each seed."""
    results = phicoll.sweep("allreduce", algorithm=list(algorithms.values()), ranks=ranks, machine=MACHINE, placement="balanced",
                            sizes=[4 * n for n in integers], type="int32", op="sum", rounds=SEEDS, calls=2, warm_up=1, seed=1, budget_s="none",
                            progress=False)  # fmt: skip
    assert not results.unverified
    specs = dict.fromkeys(point["spec"] for point in results.points)
    names = dict(zip(specs, algorithms, strict=True))
    frame = results.to_dataframe()
    frame["name"] = frame["spec"].map(names)
    frame["integers"] = frame["size_bytes"] // 4
    return frame.pivot_table(index=["name", "ranks", "integers"], columns="round", values="ns") / 1000


times = simulate(NAMES, RANKS, INTEGERS).droplevel("ranks")


def curves(axes, names, integers, dashed=()):
    for name, colour, marker in zip(names, [*SERIES[:4], *SERIES[:4], *SERIES], "osD^osD^v", strict=False):
        of = times.loc[name].loc[integers]
        axes.plot(of.index, of.mean(axis=1), color=colour, marker=marker, markersize=4.5, linewidth=1.4, label=name,
                  linestyle=(0, (4, 2)) if name in dashed else "-")  # fmt: skip
        axes.vlines(of.index, of.min(axis=1), of.max(axis=1), color=colour, linewidth=2.4, alpha=0.3)
    axes.set_xscale("log", base=2)
    axes.set_xticks(integers, [f"{n // 1024} K" if n >= 1024 else f"{n}" for n in integers])
    values = times.loc[list(names)].loc[(slice(None), integers), :]
    plain_log_ticks(axes, "y", values.min().min() / 1.3, values.max().max() * 1.3)
    axes.set_xlabel("32-bit integers")
    axes.set_ylabel("time of a call, µs")
    axes.legend(frameon=False, fontsize=8, handlelength=3.6, ncols=2 if len(names) > 5 else 1)
    tidy(axes, "y")


def size(count, unit=""):
    return f"{count // 1024} K{unit}" if count >= 1024 else f"{count} {unit}".strip()


def axis_of_bytes(axes, sizes):
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [size(n) for n in sizes], fontsize=8)
    axes.set_xlabel("bytes")
    axes.legend(frameon=False, fontsize=8)
    tidy(axes, "y")


# %% [markdown]
# ## Put and get, load and store (figures 2 to 5)
#
# Figure 2 is the replacement itself:
#
# ```c
# shmem_int_put(target, source, m, pe);
#
# int *ptr = (int *) shmem_ptr(target, pe);
# for (i = 0; i < m; i += 1) ptr[i] = source[i];
# ```
#
# A process and the one half of the processes further are a pair, and the lower one transfers. *Latency*: one put into lines that the
# partner has just written, with the quiet behind it, or one get of such lines. *Bandwidth*: transfers one after another from and to the
# same buffers, which stay in the caches as far as these hold them, and one quiet, as the paper's benchmarks do.

# %%


def transfers(machine, pairs, calls, rounds):
    """A row for each way, size, number of pairs and cost of a call."""
    return pd.concat(
        phicoll.kernels.one_sided(way, sizes=BYTES, pairs=pairs, call=calls, machine=machine, rounds=rounds).to_dataframe()
        for way in ("put", "get")
    )  # fmt: skip


def draw_transfers(axes, rows, quantity, title, unit, unit_label):
    for (call, row), colour, marker in zip(rows.groupby("call"), SERIES, "osD^", strict=False):
        way = row["access"].iloc[0]
        axes.plot(row["bytes"], row[quantity] / unit, color=colour, marker=marker, markersize=4.5, linewidth=1.4,
                  label=f"{way}, {call} cycles a call" if call else "load and store")  # fmt: skip
    values = rows[quantity] / unit
    plain_log_ticks(axes, "y", values.min() / 1.2, values.max() * 1.2)
    axes.set_ylabel(unit_label)
    axes.set_title(title, loc="left")
    axis_of_bytes(axes, sorted(set(rows["bytes"])))


def draw_figures(frame, pairs):
    """Figure 3 of one pair, figures 4 and 5 of each number of pairs."""
    short = frame[frame["bytes"] <= 8192]
    panels = [
        (short, pairs[0], "fresh_ns", 1000, "latency, µs"),
        *((frame, n, "gigabytes_a_second", 1, "GB/s of all pairs") for n in pairs),
    ]
    figure = new_figure(11.5, 4.2 * len(panels))
    for row, (of, n, quantity, unit, label) in zip(figure.subplots(len(panels), 2), panels, strict=True):
        for axes, way in zip(row, ("put", "get"), strict=True):
            rows = of[(of["access"] == way) & (of["pairs"] == n)]
            draw_transfers(
                axes, rows, quantity, f"{way.capitalize()}, {n} pair{'s' if n > 1 else ''}", unit, label
            )
    display(figure)


draw_figures(transfers(MACHINE, PAIRS, CALLS, SEEDS), PAIRS)
note("Figures 3, 4 and 5.")

# %% [markdown]
# ## The same on this machine
#
# Two threads. The copy is the one that phicoll's inlined `shmem_put` and `shmem_get` make, so loads and stores are its curve; the others
# have the stated cost in front, in ticks of the time-stamp counter.

# %%
here = transfers(None, [1], CALLS_HERE, ROUNDS_HERE)
draw_figures(here, [1])
display(here.pivot_table(index=["access", "call"], columns="bytes", values="row_ratio").round(2))
display(
    Markdown(
        f"*Measured here, medians of {ROUNDS_HERE} rounds. The table: time of a transfer in a row over that of loads and stores.*"
    )
)

# %% [markdown]
# Loads and stores win by what a call costs, and that was stated. `phicoll validate xeon-phi-se10p` takes the cost that gives the paper's
# largest gain of bandwidth, and holds its largest saving of latency against it: the rows of `phicoll claims`.

# %%
rows = phicoll.claims.report("namashivayam-2014")
shown = {}


def verdict(number, read, faster, slower, condition):
    """The statement's row of `phicoll claims`, and how much less time ``faster`` takes in these runs (a seed each)."""
    ratio = np.asarray(slower, float) / np.asarray(faster, float)
    row, here = rows[number].finding, f"{ratio.min():.2f} to {ratio.max():.2f} times, {condition}"
    shown.setdefault(number, []).append(here)
    display(Markdown(f"> **{number}** {row.claim.statement} **{row.verdict}**. {row.measured} *In these runs, read as: {read}* {here}."))  # fmt: skip


def of(name, integers):
    return times.loc[(name, integers)]


def least(names, integers):
    return pd.concat([of(name, integers) for name in names], axis=1).min(axis=1)


def show(number):
    """A statement's row, where the runs are the figure's."""
    row = rows[number].finding
    shown.setdefault(number, []).append("")
    display(Markdown(f"> **{number}** {row.claim.statement} **{row.verdict}**: {row.measured} ({row.under})"))


for number in ("003-01", "003-02", "003-03"):
    show(number)

# %% [markdown]
# Bandwidth falls above 16 K, where source and target together no longer fit the first-level cache of 32 KB, as the paper explains it.
#
# ## STREAM (figure 6)
#
# The paper's STREAM has a reduction to all behind each block of a process. *Put and get*: blocks of 8 KB of the operands are got into a
# buffer, the results are put back. *Load and store*: in place. Prefetches and stores that do not read first stand for its vector and
# prefetch directives. Reductions of one double are timed on their own, and added to each block; put and get call the paper's default
# (all read all), with the cost of a call for each process that is read.

# %%
OPERATIONS = ("copy", "scale", "add", "triad")
BLOCK = 128  # lines


def stream(machine, ranks, lines, call):
    """GB/s by operation and way, without a reduction and with one behind each block."""
    ways = {
        f"put and get, {call} cycles a call": f"way=put-get:block={BLOCK}:call={call}:ahead=0",
        "put and get, calls for nothing": f"way=put-get:block={BLOCK}:ahead=0",
        "load and store": "ahead=0",
        "load and store, prefetched": "ahead=16:store=no-read" if machine else "ahead=16",
    }
    runs = {
        name: {operation: phicoll.kernels.run(f"stream:operation={operation}:lines={lines}:{spec}", machine=machine, ranks=ranks,
                                              samples=1 if machine else 9) for operation in OPERATIONS}
        for name, spec in ways.items()
    }  # fmt: skip
    rates = pd.DataFrame(
        {name: {o: np.median(run.gigabytes_a_second) for o, run in of.items()} for name, of in runs.items()}
    )
    tick = runs["load and store"]["copy"].ns_per_tick
    more = (
        {"placement": "balanced", "rounds": SEEDS, "calls": 2, "warm_up": 1}
        if machine
        else {"mode": "threads", "launches": 1, "rounds": ROUNDS_HERE}
    )
    reductions = phicoll.sweep("allreduce", algorithm=["all-reads-all", "flat-tree:transfer=load-store"], ranks=ranks, machine=machine, sizes=[8],
                               type="float64", op="sum", seed=1, budget_s="none" if machine else 10, progress=False,
                               **more).to_dataframe().groupby("algorithm")["ns"].median()  # fmt: skip
    moved = pd.Series({o: ranks * BLOCK * 64 * (3 if o in ("add", "triad") else 2) for o in OPERATIONS})
    behind = {name: reductions["all-reads-all"] + (ranks * call * tick if str(call) in name else 0) if "put" in name else reductions["flat-tree"]
              for name in ways}  # fmt: skip
    return (
        rates,
        pd.DataFrame({name: moved / (moved / rates[name] + behind[name]) for name in ways}),
        reductions,
    )


def draw_stream(rates, reduced, ranks):
    figure = new_figure(11.5, 4.2)
    for axes, frame, title in zip(
        figure.subplots(1, 2),
        (rates, reduced),
        ("No reduction", "A reduction behind each block"),
        strict=True,
    ):
        for i, (name, colour) in enumerate(zip(frame.columns, SERIES, strict=False)):
            axes.bar(
                np.arange(len(OPERATIONS)) + 0.2 * (i - 1.5), frame[name], 0.19, color=colour, label=name
            )
        axes.set_xticks(range(len(OPERATIONS)), OPERATIONS)
        axes.set_ylabel("GB/s")
        axes.set_title(f"{title}, {ranks} processes", loc="left")
        tidy(axes, "y")
    axes.legend(frameon=False, fontsize=8)
    display(figure)
    display(pd.concat({"no reduction": rates.T, "with reductions": reduced.T}).round(1))


rates, reduced, reductions = stream(MACHINE, STREAM_RANKS, LINES, CALL)
draw_stream(rates, reduced, STREAM_RANKS)
note("Figure 6. Seed 1; the bandwidths with reductions are computed from the others and the reductions' times: "
     f"{reductions['all-reads-all'] / 1000:.1f} µs all read all, {reductions['flat-tree'] / 1000:.1f} µs flat tree by load and store.")  # fmt: skip

# %%
show("003-04")

# %% [markdown]
# ## STREAM on this machine

# %%
rates, reduced, reductions = stream(None, RANKS_HERE, LINES_HERE, CALLS_HERE[1])
draw_stream(rates, reduced, RANKS_HERE)
display(Markdown(f"*Measured here, two threads, {LINES_HERE * 64 >> 10} KB of each array and thread.*"))

# %% [markdown]
# ## Allreduce
#
# 32-bit integers, sum, freshly written operands, back-to-back calls.

# %%
SMALLS = [n for n in INTEGERS if n <= SMALL]
LARGES = [n for n in INTEGERS if n >= SMALL]

# %% [markdown]
# ## By put and get (figure 7)

# %%
figure = new_figure(11.5, 4.2)
left, right = figure.subplots(1, 2)
curves(left, PUT_GET, SMALLS)
left.set_title(f"Put and get, {RANKS} processes, small", loc="left")
curves(right, PUT_GET, LARGES)
right.set_title("large", loc="left")
display(figure)
note("Figure 7 without the MPIs; bars span the seeds.")

# %%
LAST = INTEGERS[-1]
verdict("003-08", "The flat tree is the worst.", pd.concat([of(name, LAST) for name in ("RD", "BR", "RSAG")], axis=1).max(axis=1),
        of("FT", LAST), f"against the worst other, {LAST:,} integers")  # fmt: skip
verdict("003-09", "Recursive doubling is best for small messages.", of("RD", INTEGERS[0]), least(("FT", "BR", "RSAG"), INTEGERS[0]),
        f"against the best other, {INTEGERS[0]} integers")  # fmt: skip
verdict("003-10", "Rabenseifner's is best for large messages.", of("RSAG", LAST), least(("FT", "RD", "BR"), LAST),
        f"against the best other, {LAST:,} integers")  # fmt: skip

# %% [markdown]
# ## By load and store (figures 8 and 9)

# %%
figure = new_figure(11.5, 4.6)
left, right = figure.subplots(1, 2)
curves(left, [*PUT_GET, *LOAD_STORE], SMALLS, dashed=PUT_GET)
left.set_title("Small: put and get (dashed), load and store", loc="left")
curves(right, [*PUT_GET, *LOAD_STORE], LARGES, dashed=PUT_GET)
right.set_title("Large", loc="left")
display(figure)
note("Figures 8 and 9; bars span the seeds.")

# %%
gain = pd.DataFrame(
    {name: times.loc[name].mean(axis=1) / times.loc[f"{name}, load/store"].mean(axis=1) for name in PUT_GET}
).T
gain.index.name = "put/get over load/store"
display(gain.round(2))
for name in PUT_GET:
    verdict(
        "003-12",
        f"Load and store improve {name}.",
        of(f"{name}, load/store", LAST),
        of(name, LAST),
        f"{LAST:,} integers",
    )

# %% [markdown]
# ## The algorithms by load and store, and the paper's further steps (figure 10)
#
# "Left computes": only the lower one of a pair combines, and stores the result to both. Merged: Rabenseifner's last step of the
# reduce-scatter and first of the allgather are one.

# %%
figure = new_figure(11.5, 4.6)
left, right = figure.subplots(1, 2)
ours = ["RD, load/store", "RSAG, load/store", *STEPS]
curves(left, ours, SMALLS, dashed=ours[4:])
left.set_title("Load and store, small", loc="left")
curves(right, ours, LARGES, dashed=ours[4:])
right.set_title("Large", loc="left")
display(figure)
note("Figure 10 without the MPIs; bars span the seeds.")

# %%
long = times.mean(axis=1).rename("us").reset_index()
display(long.pivot_table(index="name", columns="integers", values="us").loc[list(NAMES)].round(1))
verdict("003-14", "Left computes is significantly better for large arrays.", of("RD, left computes", LAST), of("RD, load/store", LAST),
        f"recursive doubling, {LAST:,} integers")  # fmt: skip
verdict("003-15", "Merging the middle saves a step.", of("RSAG, merged", INTEGERS[0]), of("RSAG, load/store", INTEGERS[0]),
        f"{INTEGERS[0]} integers, where steps are all that counts")  # fmt: skip

# %% [markdown]
# ## Less congestion of the ring? (003-21)
#
# The paper explains Rabenseifner's lead by less traffic on the ring. An experiment: the same on a machine whose ring takes no time.


# %%
def lead(where):
    results = phicoll.sweep("allreduce", algorithm=[PUT_GET["RD"], PUT_GET["RSAG"]], ranks=RANKS, machine=where, placement="balanced",
                            sizes=[4 * LAST], type="int32", op="sum", rounds=SEEDS, calls=2, warm_up=1, seed=1, budget_s="none", progress=False)  # fmt: skip
    frame = results.to_dataframe().groupby("algorithm")["ns"].mean()
    return frame["recursive-doubling"] / frame["rabenseifner"]


with_ring, without = lead(MACHINE), lead(f"{MACHINE}:ring.hop=0")
shown["003-21"] = [f"it leads {with_ring:.2f} times, without distance {without:.2f} times"]
display(Markdown(f"> **003-21** {rows['003-21'].finding.claim.statement} **{rows['003-21'].finding.verdict}**. *In these runs:* {shown['003-21'][0]}. "
                 "Links of the ring are no servers in the model, so only distance can be taken away; "
                 "what it leads by here is that each process moves and combines fewer bytes."))  # fmt: skip

# %% [markdown]
# ## All verdicts

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
