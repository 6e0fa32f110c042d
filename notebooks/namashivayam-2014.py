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
# figures are not simulated. Its programs IS and SP run on the simulated machine, too (figures 11 to 17).
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
LONG, LONGER = ([256, 1024], [4096]) if QUICK else ([2**14, 2**16], [2**18, 2**20])  # simulated; beyond them
SMALL = 1024  # integers: where the paper's figures for small and for large messages meet
CALLS = [0, 50, CALL, 800]  # cycles; CALL: what the paper's bandwidths ask for
CALLS_HERE = [0, 80, 800]  # of the time-stamp counter; 80: about what Open MPI's put takes (docs/shmem.md)
PAIRS = [1, 2] if QUICK else [1, 30]
BYTES = [8, 1024] if QUICK else [8, 64, 512, 2048, 8192, 16384, 32768, 131072, 524288]
STREAM_RANKS, LINES, LETTER = (4, 256, "S") if QUICK else (60, 4096, "W")
RANKS_HERE, LINES_HERE, LETTER_HERE = (2, 256, "S") if QUICK else (2, 131072, "A")
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


def simulate(algorithms, ranks, integers, rounds=SEEDS, calls=2, warm_up=1):
    """Microseconds: a row for each name, number of processes and number of integers, a column for each seed."""
    results = phicoll.sweep("allreduce", algorithm=list(algorithms.values()), ranks=ranks, machine=MACHINE, placement="balanced",
                            sizes=[4 * n for n in integers], type="int32", op="sum", rounds=rounds, calls=calls, warm_up=warm_up, seed=1,
                            budget_s="none", progress=False)  # fmt: skip
    assert not results.unverified
    specs = dict.fromkeys(point["spec"] for point in results.points)
    names = dict(zip(specs, algorithms, strict=True))
    frame = results.to_dataframe()
    frame["name"] = frame["spec"].map(names)
    frame["integers"] = frame["size_bytes"] // 4
    return frame.pivot_table(index=["name", "ranks", "integers"], columns="round", values="ns") / 1000


def curves(axes, names, integers, dashed=()):
    """Draw times by integers; those of long arrays, on lines, beside the ``LARGES``."""
    beyond = lines.loc[list(names)] if integers == LARGES else lines.iloc[:0]
    for name, colour, marker in zip(names, [*SERIES[:4], *SERIES[:4], *SERIES], "osD^osD^v", strict=False):
        of = times.loc[name].loc[integers]
        axes.plot(of.index, of.mean(axis=1), color=colour, marker=marker, markersize=4.5, linewidth=1.4, label=name,
                  linestyle=(0, (4, 2)) if name in dashed else "-")  # fmt: skip
        if name in beyond.index:
            axes.plot(beyond.columns, beyond.loc[name], color=colour, linewidth=1.2, linestyle=":")
        axes.vlines(of.index, of.min(axis=1), of.max(axis=1), color=colour, linewidth=2.4, alpha=0.3)
    axes.set_xscale("log", base=2)
    ticks = [*integers, *beyond.columns.difference(integers)] if len(beyond) else integers
    axes.set_xticks(ticks, [f"{n // 1024} K" if n >= 1024 else f"{n}" for n in ticks])
    values = times.loc[list(names)].loc[(slice(None), integers), :]
    plain_log_ticks(
        axes,
        "y",
        values.min().min() / 1.3,
        max(values.max().max(), beyond.max().max() if len(beyond) else 0) * 1.3,
    )
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
    """A row for each way, size, number of pairs and cost of a call. Long ones are simulated once, with the least and the largest cost."""
    long = [size for size in BYTES if machine and size > 32768]
    parts = [(sorted({*BYTES} - {*long}), calls, rounds), (long, [calls[0], calls[-1]], 1)]
    return pd.concat(
        phicoll.kernels.one_sided(way, sizes=sizes, pairs=pairs, call=costs, machine=machine, rounds=times_each).to_dataframe()
        for sizes, costs, times_each in parts if sizes for way in ("put", "get")
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


def verdict(number, read, faster, slower, condition):
    """The statement's row of `phicoll claims`, and how much less time ``faster`` takes in these runs (a seed each)."""
    ratio = np.asarray(slower, float) / np.asarray(faster, float)
    row, here = rows[number].finding, f"{ratio.min():.2f} to {ratio.max():.2f} times, {condition}"
    display(Markdown(f"> **{number}** {row.claim.statement} **{row.verdict}**. {row.measured} *In these runs, read as: {read}* {here}."))  # fmt: skip


def of(name, integers):
    return times.loc[(name, integers)]


def least(names, integers):
    return pd.concat([of(name, integers) for name in names], axis=1).min(axis=1)


def show(number):
    """A statement's row, where the runs are the figure's."""
    row = rows[number].finding
    display(Markdown(f"> **{number}** {row.claim.statement} **{row.verdict}**: {row.measured} ({row.under})"))


for number in ("003-01", "003-02", "003-03"):
    show(number)

# %% [markdown]
# Bandwidth falls above 16 K, where source and target together no longer fit the first-level cache of 32 KB, as the paper explains it.
#
# ## STREAM (figure 6)
#
# The paper's STREAM has a reduction to all behind each block of a process. First its four loops alone, by the kernel `stream`: *put and
# get*: blocks of 8 KB of the operands are got into a buffer, the results are put back; *load and store*: in place. Prefetches and stores
# that do not read first stand for its vector and prefetch directives. Then the whole program, `phicoll run stream-shmem`, with a reduction
# behind each block: by the paper's default (all read all), by the flat tree that replaces it, and by recursive doubling.

# %%
OPERATIONS = ("copy", "scale", "add", "triad")
BLOCK = 128  # lines
REDUCTIONS = {"all read all": "all-reads-all", "flat tree": "flat-tree:transfer=load-store", "recursive doubling": "recursive-doubling:transfer=load-store"}  # fmt: skip


def loops(machine, ranks, lines, call):
    """GB/s of STREAM's loops, by operation and way."""
    ways = {
        f"put and get, {call} cycles a call": f"way=put-get:block={BLOCK}:call={call}:ahead=0",
        "put and get, calls for nothing": f"way=put-get:block={BLOCK}:ahead=0",
        "load and store": "ahead=0",
        "load and store, prefetched": "ahead=16:store=no-read" if machine else "ahead=16",
    }
    return pd.DataFrame(
        {name: {operation: np.median(phicoll.kernels.run(f"stream:operation={operation}:lines={lines}:{spec}", machine=machine, ranks=ranks,
                                                         samples=1 if machine else 9).gigabytes_a_second) for operation in OPERATIONS}
         for name, spec in ways.items()}
    )  # fmt: skip


def programs(name, letters, ways, algorithms, ranks, machine):
    """Nanoseconds of a whole run, simulated or measured here: a row for each class, way, algorithm and number of processes."""
    more = (
        {"placement": "balanced", "rounds": 1, "calls": 1}
        if machine
        else {"mode": "threads", "launches": 1, "rounds": ROUNDS_HERE}
    )
    results = phicoll.sweep(name, problem_class=letters, way=ways, algorithm=list(algorithms.values()), ranks=ranks, machine=machine, seed=1,
                            budget_s="none" if machine else 2 if QUICK else 30, progress=False, **more)  # fmt: skip
    assert not results.unverified
    frame = results.to_dataframe()
    frame[["class", "way"]] = frame["operation"].str.split(".", expand=True)[[1, 2]].to_numpy()
    by_spec = dict(zip(dict.fromkeys(point["spec"] for point in results.points), algorithms, strict=True))
    frame["algorithm"] = frame["spec"].map(by_spec)
    return frame.groupby(["class", "way", "algorithm", "ranks"])["ns"].median()


def reduced(machine, ranks, letter, call):
    """GB/s of the whole program, by reduction and way: ten times copy, scale, add and triad."""
    found = {
        "load and store": programs("stream-shmem", [letter], ["loads"], REDUCTIONS, [ranks], machine),
        "load and store, prefetched": programs("stream-shmem", [letter], ["prefetched"], REDUCTIONS, [ranks], machine),
    }  # fmt: skip
    free = {
        "put and get, calls for nothing": programs(
            "stream-shmem", [letter], ["put-get"], REDUCTIONS, [ranks], machine
        )
    }
    if machine:
        library = f"{machine}:software.put={call}"
        free = {
            f"put and get, {call} cycles a call": programs(
                "stream-shmem", [letter], ["put-get"], REDUCTIONS, [ranks], library
            ),
            **free,
        }
    moved = 10 * (2 + 2 + 3 + 3) * 8 * {"S": 2**16, "W": 2**20, "A": 2**23}[letter]
    return pd.DataFrame({way: {name: moved / of.xs(name, level="algorithm").iloc[0] for name in REDUCTIONS}
                         for way, of in {**free, **found}.items()})  # fmt: skip


def draw_stream(alone, whole, ranks):
    figure = new_figure(11.5, 4.2)
    colours = dict(zip(alone.columns, SERIES, strict=False))
    for axes, frame, title in zip(figure.subplots(1, 2), (alone, whole), ("The loops alone", "The program, with a reduction behind each block"),
                                  strict=True):  # fmt: skip
        for i, name in enumerate(frame.columns):
            axes.bar(
                np.arange(len(frame)) + 0.2 * (i - (len(frame.columns) - 1) / 2),
                frame[name],
                0.19,
                color=colours[name],
                label=name,
            )
        axes.set_xticks(range(len(frame)), frame.index)
        axes.set_ylabel("GB/s")
        axes.set_title(f"{title}, {ranks} processes", loc="left", fontsize=10)
        tidy(axes, "y")
    figure.axes[0].legend(frameon=False, fontsize=8)
    figure.axes[0].set_ylim(0, alone.max().max() * 1.45)
    display(figure)
    display(whole.T.round(1))


# %%
draw_stream(
    loops(MACHINE, STREAM_RANKS, LINES, CALL), reduced(MACHINE, STREAM_RANKS, LETTER, CALL), STREAM_RANKS
)
note(f"Figure 6. Seed 1; the program is of class {LETTER}. Calls within the reductions cost nothing.")

# %%
show("003-04")

# %% [markdown]
# ## STREAM on this machine

# %%
draw_stream(
    loops(None, RANKS_HERE, LINES_HERE, CALLS_HERE[1]), reduced(None, RANKS_HERE, LETTER_HERE, 0), RANKS_HERE
)
display(
    Markdown(
        f"*Measured here, two threads; left, {LINES_HERE * 64 >> 10} KB of each array and thread; right, class {LETTER_HERE}.*"
    )
)

# %% [markdown]
# ## Allreduce
#
# 32-bit integers, sum, freshly written operands, back-to-back calls.

# %%
times = simulate(NAMES, RANKS, INTEGERS).droplevel("ranks")
SMALLS = [n for n in INTEGERS if n <= SMALL]
LARGES = [n for n in INTEGERS if n >= SMALL]

# %% [markdown]
# The paper's figures go on to 2^20 integers. The algorithms repeat their steps for each piece of at most 64 KB, and with 64 processes times of long
# arrays lie on straight lines: one call of 2^14 integers and one of 2^16 are simulated, and the dotted lines beyond go through both. Eight of the
# algorithms were simulated whole at 2^18 integers: the lines are 0.7 % below to 1.3 % above. At 2^20, which takes 14 s and 36 s a call, RSAG and RD with
# loads and stores take 14.4 and 44.9 ms; the lines say 14.6 and 45.1 ms. With few processes, whose arrays leave the caches, lines are up to 19 % off.

# %%
lines = simulate(NAMES, RANKS, LONG, rounds=1, calls=1, warm_up=0).droplevel("ranks").mean(axis=1)
lines = lines.reset_index(name="us").pivot_table(index="name", columns="integers", values="us")
for n in LONGER:
    lines[n] = lines[LONG[1]] + (n - LONG[1]) / (LONG[1] - LONG[0]) * (lines[LONG[1]] - lines[LONG[0]])
display((lines.loc[list(NAMES)] / 1000).round(2))
note("Milliseconds, seed 1, by integers.")

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


with_ring, without = float(of("RD", LAST).mean() / of("RSAG", LAST).mean()), lead(f"{MACHINE}:ring.hop=0")
here = f"it leads {with_ring:.2f} times, without distance {without:.2f} times"
display(Markdown(f"> **003-21** {rows['003-21'].finding.claim.statement} **{rows['003-21'].finding.verdict}**. *In these runs:* {here}. "
                 "Links of the ring are no servers in the model, so only distance can be taken away; "
                 "what it leads by here is that each process moves and combines fewer bytes."))  # fmt: skip

# %% [markdown]
# ## IS (figures 11 to 14)
#
# IS of the NAS Parallel Benchmarks over OpenSHMEM (`phicoll run is-shmem`, docs/programs.md): in each iteration an allreduce of the sizes
# of the buckets, and all keys change places. Keys are put, or got, by calls of the library that take the stated cost; by the same copies
# without it; or counted where they lie, by loads and stores as figure 2 has them. The paper says that loads gain from more than 32 PEs on,
# 13 % on average, and that recursive doubling and Rabenseifner's in place of the default reduction gain 25 %, in figure 14 as the time of
# the reduction. Here the whole run is timed, of which some iterations are simulated.
#
# *Not modelled:* classes A to C, whose runs are long (`phicoll run is-shmem --class A` simulates one); a rank's own keys before they are in buckets, which always are in its
# first-level cache; Intel's MPI.

# %%
SORTS = {"S": [8, 16]} if QUICK else {letter: [8, 16, 32, 64, 128] for letter in "SW"}
DEFAULT = {"all read all": "all-reads-all"}
FASTER = {name: LOAD_STORE[f"{name}, load/store"] for name in PUT_GET}
FASTER["BR"] += ":bit_identical=no"
LIBRARY = f"{MACHINE}:software.put={CALL}"


def draw_times(axes, lines, title):
    for (name, line), colour, marker in zip(lines.items(), SERIES, "osD^v", strict=False):
        line = line.droplevel([level for level in line.index.names if level != "ranks"]) / 1e6
        axes.plot(line.index, line, color=colour, marker=marker, markersize=4.5, linewidth=1.4, label=name)
    counts, values = (
        sorted({n for line in lines.values() for n in line.index.get_level_values("ranks")}),
        pd.concat(lines.values()) / 1e6,
    )
    axes.set_xscale("log", base=2)
    axes.set_xticks(counts, counts)
    axes.minorticks_off()
    plain_log_ticks(axes, "y", values.min() / 1.2, values.max() * 1.2)
    axes.set_xlabel("processes")
    axes.set_ylabel("ms of a run")
    axes.set_title(title, loc="left", fontsize=10)
    axes.legend(frameon=False, fontsize=8)
    tidy(axes, "y")


def saved(slow, fast):
    """Percent of the time, by number of processes."""
    return (100 * (1 - fast.to_numpy() / slow)).droplevel(["way", "algorithm"])


figure = new_figure(11.5, 4.0 * len(SORTS))
savings = {}
for (left, right), (letter, counts) in zip(
    figure.subplots(len(SORTS), 2, squeeze=False), SORTS.items(), strict=True
):
    by_calls = programs("is-shmem", [letter], ["put", "get"], DEFAULT, counts, LIBRARY)
    free = programs("is-shmem", [letter], ["put", "get", "loads"], DEFAULT, counts, MACHINE)
    loads = free.xs("loads", level="way", drop_level=False)
    lines = {
        f"{way}, {CALL} cycles a call": by_calls.xs(way, level="way", drop_level=False)
        for way in ("put", "get")
    }
    savings |= {
        (letter, f"loads for {way}"): saved(of, loads).droplevel("class")
        for way, of in zip(("put", "get"), lines.values(), strict=True)
    }
    draw_times(left, {**lines, **{f"{way}, calls for nothing": free.xs(way, level="way", drop_level=False) for way in ("put", "get")}, "loads": loads},
               f"IS, class {letter}, all read all")  # fmt: skip
    faster = programs("is-shmem", [letter], ["loads"], FASTER, counts, MACHINE)
    reductions = {name: faster.xs(name, level="algorithm", drop_level=False) for name in FASTER}
    savings |= {
        (letter, f"{name} for all read all"): saved(loads, of).droplevel("class")
        for name, of in reductions.items()
    }
    draw_times(right, {"all read all": loads, **reductions}, f"IS, class {letter}, loads, by reduction")
display(figure)
note("Figures 11 and 12 (left) and 14 (right), for the classes that fit. Seed 1.")
table = pd.DataFrame(savings).T
table.index.names = ["class", "time saved, %"]
display(table.round(1))

# %%
show("003-18")
show("003-20")

# %% [markdown]
# Loads save the buffer that put and get fill, at every number of PEs; what a call costs shows only where messages are short. The default
# reduction, in which all read all, takes so much of the run from 64 PEs on that whatever replaces it gains more than the paper's 25 %.
#
# ## SP (figures 15 to 17)
#
# SP of NPB with a slab of planes for each PE, which gets two planes of each neighbour, and along z gets a row of all planes into a buffer and puts
# it back; or loads and stores in place. It takes as many PEs as there are planes, so class W up to 36. The paper says that loads gain
# 17 % on average, less for longer messages.
#
# *Not modelled:* classes A to C (`phicoll run sp --class A` simulates one, with up to 64); the latency of arithmetic and vector instructions, so that computing takes another share of the run; Intel's MPI.

# %%
FLOWS = {"S": [3, 6]} if QUICK else {"S": [3, 6, 12], "W": [9, 18, 36]}
figure = new_figure(11.5, 4.0)
savings = {}
for axes, (letter, counts) in zip(
    figure.subplots(1, len(FLOWS), squeeze=False)[0], FLOWS.items(), strict=True
):
    by_calls = programs("sp", [letter], ["get"], {"dissemination": "dissemination"}, counts, LIBRARY)
    free = programs("sp", [letter], ["get", "loads"], {"dissemination": "dissemination"}, counts, MACHINE)
    loads = free.xs("loads", level="way", drop_level=False)
    draw_times(axes, {f"get and put, {CALL} cycles a call": by_calls, "get and put, calls for nothing": free.xs("get", level="way", drop_level=False),
                      "loads and stores": loads}, f"SP, class {letter}")  # fmt: skip
    savings[letter] = saved(by_calls, loads).droplevel("class")
display(figure)
note("Figures 15 to 17, for the classes that fit. Seed 1.")
table = pd.DataFrame(savings).T
table.index.name = "time that loads save, %"
display(table.round(1))

# %%
show("003-19")

# %% [markdown]
# ## All verdicts

# %%
with pd.option_context("display.max_colwidth", None):
    table = [
        {
            "claim": row.number,
            "the paper": row.finding.claim.statement,
            "verdict": row.finding.verdict,
            "found": row.finding.measured,
        }
        for row in rows
    ]
    display(HTML(pd.DataFrame(table).set_index("claim").to_html(justify="left")))
