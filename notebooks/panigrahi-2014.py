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
# # Panigrahi et al. 2014, simulated: one line read by all, and barriers of 244 processes
#
# *It runs for one to two minutes on two cores (115 s of CPU time).*
#
# *Optimizing MPI Collectives on Intel MIC Through Effective Use of Cache* measured the memory system of a Xeon Phi SE10P (61
# cores, 1.1 GHz) with up to 244 processes, four on a core, and built barriers on what it saw. Here its memory experiments
# (section IV) and its barriers (sections V and VI) run on a simulated machine of that kind. **No number below was measured on
# a Xeon Phi.**
#
# The machine is the 60-core one, calibrated on another paper's transfers of single lines, with one core more and this clock
# (docs/machines.md). From this paper one switch was set with figure 2 in sight: contexts of a core do not share a read that is
# under way (`request.merge_reads = off`); figure 2 below shows both settings. Every section has the paper's statement, in our
# words and with its number in docs/claims.md, the verdict of `phicoll claims` on it, and what the figure beside it shows.
# Orders are judged over *seeds*: a seed decides which tag directory each line belongs to, and when processes start. The
# paper's figures are known from its text only: their form is followed, their values are not compared.

# %%
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
from IPython.display import HTML, Markdown, display

import phicoll
from phicoll import kernels
from phicoll.papers.claims import HOLDS
from phicoll.plots.canvas import new_figure
from phicoll.plots.style import INK, PALE, SERIES, plain_log_ticks, tidy

QUICK = bool(os.environ.get("PHICOLL_QUICK"))  # a few seconds, for tests
MACHINE = "xeon-phi-se10p"
SEEDS = 2 if QUICK else 5  # of the figures
SAMPLES = 3 if QUICK else 10  # of each process and seed
CORES = 61
COUNTS = [2, 61, 122, 244] if QUICK else [2, 4, 8, 16, 31, 46, 61, 76, 92, 107, 122, 152, 183, 213, 244]

machine = phicoll.load_machine(MACHINE)
display(
    Markdown(
        f"**{machine.name}**: {machine.summary}. Digest `{machine.digest}`, phicoll {phicoll.__version__}, seeds 1 to "
        f"{SEEDS}{', quick' if QUICK else ''}."
    )
)


def geomean(values):
    return float(np.exp(np.mean(np.log(values))))


def note(text, seeds=SEEDS):
    display(Markdown(f"*Simulated, {MACHINE}, machine digest {machine.digest}, seeds 1 to {seeds}. {text}*"))


def read(points):
    """Mean latency of a process in ns, for each of (pattern, lines, processes, machine) and each seed, in columns."""
    points = list(points)
    work = [(point, seed) for point in points for seed in range(1, SEEDS + 1)]

    def one(item):
        (pattern, lines, processes, where), seed = item
        return kernels.read_by_all(
            processes, pattern, lines, machine=where, where="scatter", samples=SAMPLES, seed=seed
        ).mean()

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(one, work))
    index = pd.MultiIndex.from_tuples(points, names=["pattern", "lines", "processes", "machine"])
    return pd.DataFrame(np.array(found).reshape(len(points), SEEDS), index=index)


def smt(axes, words=True):
    """Where a core gets its second, third and fourth process."""
    for n in (1, 2, 3):
        axes.axvline(n * CORES, color=PALE, linewidth=1, zorder=0)
        if words:
            axes.annotate(f"{n} a core", (n * CORES, 0.99), xycoords=("data", "axes fraction"), fontsize=7.5, color="#777777",
                          ha="right", va="top", xytext=(-3, 0), textcoords="offset points")  # fmt: skip


# %% [markdown]
# The verdicts, all at once:

# %%
verdicts = {row.number: row.finding for row in phicoll.claims.report("panigrahi-2014")}
display(Markdown(", ".join(f"{sum(f.verdict == v for f in verdicts.values())} {v}"
                           for v in dict.fromkeys(f.verdict for f in verdicts.values()))
                 + f" of {len(verdicts)} statements of this paper: the rows of `phicoll claims`, whatever runs below."))  # fmt: skip


def show(number, here="", why=""):
    """A statement, its verdict, what the figure shows; ``why`` it comes out so, where it is not the paper's."""
    finding = verdicts[number]
    lines = [f"**{number}** {finding.claim.statement} — **{finding.verdict}**. {finding.measured}"]
    lines += [f"*In the figure's runs:* {here}"] if here else []
    lines += [f"*Why:* {why}"] if why and finding.verdict != HOLDS else []
    display(Markdown("\n>\n".join(f"> {line}" for line in lines)))


# %% [markdown]
# ## One line read by all (figure 2)
#
# Every process copies one line of the root, all at the same time. What the directories have to do with it is an experiment
# here: the same on machines whose directories, owners or ring take no time.

# %%
WHAT_IF = {
    "as it is": MACHINE,
    "directories take no time": f"{MACHINE}:directory.latency=0:directory.service=0:directory.acknowledge=0",
    "directories and owners take no time": f"{MACHINE}:directory.latency=0:directory.service=0:directory.acknowledge=0:"
    "owner.latency=0:owner.service=0",
    "ring without distance": f"{MACHINE}:ring.hop=0",
    "contexts of a core share a read": f"{MACHINE}:request.merge_reads=on",
}
FEWER = [n for n in COUNTS if n in (2, 31, 61, 92, 122, 152, 183, 213, 244)]
single = read(
    ("root", 1, n, where) for where in WHAT_IF.values() for n in (COUNTS if where == MACHINE else FEWER)
)
alone = single.xs(("root", 1, MACHINE), level=("pattern", "lines", "machine"))
figure = new_figure(11.5, 4.2)
axes = figure.subplots()
axes.fill_between(
    alone.index, alone.min(axis=1) / 1000, alone.max(axis=1) / 1000, color=SERIES[0], alpha=0.2, linewidth=0
)
for (title, where), colour, marker in zip(WHAT_IF.items(), SERIES, "osD^v", strict=False):
    of = single.xs(("root", 1, where), level=("pattern", "lines", "machine")).mean(axis=1) / 1000
    axes.plot(of.index, of, color=colour, marker=marker, markersize=5 if where == MACHINE else 4, label=title,
              linewidth=1.8 if where == MACHINE else 1.1, linestyle="-" if where == MACHINE else (0, (4, 2)))  # fmt: skip
slope, start = np.polyfit(alone.index, alone.mean(axis=1), 1)
smt(axes)
axes.set_xlim(0, 250)
axes.set_ylim(0)
axes.set_xlabel("processes")
axes.set_ylabel("latency of a copy, mean of processes, µs")
axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(0.0, 0.95))
axes.set_title("Processes accessing a single cache line simultaneously", loc="left")
tidy(axes, "y")
display(figure)
note(f"Figure 2: {SAMPLES} accesses of each process and seed; shaded: the seeds.")

# %%
slopes = {}
for title, where in WHAT_IF.items():
    of = single.xs(("root", 1, where), level=("pattern", "lines", "machine")).mean(axis=1)
    of = of[of.index >= CORES]
    slopes[title] = np.polyfit(of.index, of, 1)[0]
show("000-02", f"{start:.0f} ns + {slope:.1f} ns a process.")
show(
    "000-03",
    "Slope from 61 processes on, ns a process: "
    + ", ".join(f"{title} {value:.1f}" for title, value in slopes.items())
    + ".",
)
show("000-08")

# %% [markdown]
# ## Lines of each other (figure 3)
#
# Patterns: I, process *i* copies from *i + 1*; II, from *i + 2*; III, groups of four that communicate in an interleaved way,
# which the paper does not define: pairs *i* and *i + 2* within each four.

# %%
PATTERNS = {"I: i + 1": "next", "II: i + 2": "second", "III: fours": "fours"}
AMONG = [n for n in COUNTS if n >= 4]
among = read((pattern, 1, n, MACHINE) for pattern in PATTERNS.values() for n in AMONG)
figure = new_figure(11.5, 4.0)
left, right = figure.subplots(1, 2, width_ratios=(1.5, 1))
for (title, pattern), colour, marker in zip(PATTERNS.items(), SERIES, "osD", strict=False):
    of = among.xs((pattern, 1, MACHINE), level=("pattern", "lines", "machine"))
    left.plot(of.index, of.mean(axis=1), color=colour, marker=marker, markersize=5, label=title)
    left.vlines(of.index, of.min(axis=1), of.max(axis=1), color=colour, linewidth=2.4, alpha=0.3)
    right.plot(of.index, of.mean(axis=1) / 1000, color=colour, marker=marker, markersize=4)
right.plot(
    alone.index, alone.mean(axis=1) / 1000, color=INK, linewidth=1.4, label="one line read by all (figure 2)"
)
left.set_ylim(0, among.max().max() * 1.25)
left.set_ylabel("latency of a copy, mean of processes, ns")
left.legend(frameon=False, fontsize=8, loc="lower right")
left.set_title("Processes accessing lines in different caches", loc="left")
right.set_ylim(0)
right.set_ylabel("the same, µs")
right.legend(frameon=False, fontsize=8, loc="upper left")
right.set_title("Beside one line", loc="left")
for axes in (left, right):
    smt(axes, words=axes is left)
    axes.set_xlabel("processes")
    axes.set_xlim(0, 250)
    tidy(axes, "y")
display(figure)
note(
    f"Figure 3: {SAMPLES} accesses of each process and seed, one process a core up to {CORES}; bars span the seeds."
)

# %%
table = (
    among.mean(axis=1)
    .rename("ns")
    .reset_index()
    .pivot_table(index="pattern", columns="processes", values="ns")
)
table = table.loc[list(PATTERNS.values())].rename(
    index={pattern: title for title, pattern in PATTERNS.items()}
)
display(table[[n for n in (16, 31, 61, 92, 122, 183, 244) if n in table]].round(0).astype(int))
show("000-05")
show(
    "000-06",
    "From 61 to 244 processes, times as long: "
    + ", ".join(f"{title} {row[244] / row[61]:.2f}" for title, row in table.iterrows()) + "."
)  # fmt: skip
show("000-07")
show("000-09")
show("000-11")

# %% [markdown]
# ## Several lines of the root (figure 4)

# %%
LINES = (1, 4, 16) if QUICK else (1, 2, 4, 16, 64)
COPIES = [n for n in COUNTS if n in (2, 16, 31, 61, 92, 122, 183, 244)]
several = read(("root", lines, n, MACHINE) for lines in LINES for n in COPIES)
figure = new_figure(11.5, 4.0)
left, right = figure.subplots(1, 2)
for lines, colour, marker in zip(LINES, SERIES, "osD^v", strict=False):
    of = several.xs(("root", lines, MACHINE), level=("pattern", "lines", "machine")).mean(axis=1)
    one = several.xs(("root", 1, MACHINE), level=("pattern", "lines", "machine")).mean(axis=1)
    left.plot(of.index, of / 1000, color=colour, marker=marker, markersize=4.5, label=f"{lines * 64:,} B")
    right.plot(of.index, of / (lines * one), color=colour, marker=marker, markersize=4.5)
plain_log_ticks(left, "y", 0.2, several.max().max() / 800)
left.set_ylabel("latency of a copy, mean of processes, µs")
left.legend(frameon=False, fontsize=8, ncols=2, loc="lower right", title="message", title_fontsize=8)
left.set_title("Processes copying the same data from one process", loc="left")
right.set_ylim(0, 1.1)
right.set_ylabel("latency over that of so many single lines")
right.set_title("Against what single lines predict", loc="left")
for axes in (left, right):
    smt(axes, words=axes is right)
    axes.set_xlabel("processes")
    axes.set_xlim(0, 250)
    tidy(axes, "y")
display(figure)
note(f"Figure 4: {SAMPLES} copies of each process and seed, prefetcher on.")

# %%
most = {
    lines: float(
        several.loc[("root", lines, 244, MACHINE)].mean() / several.loc[("root", 1, 244, MACHINE)].mean()
    )
    for lines in LINES
}
show(
    "000-04",
    "At 244 processes, times as long as one line: "
    + ", ".join(f"{n} lines {r:.1f}" for n, r in most.items())
    + ".",
)
show("000-12")
show("000-10")

# %% [markdown]
# ## Barriers (figure 5 a)
#
# Trees of degree 6, as the paper; the root of Centralized-I unsets the bytes of 64 flags by one store, as vectorised code
# would; dissemination has one line a process for all rounds, as the paper's, and unsets its flags. Ordered no-read stores where the algorithm has a
# line for itself, and a delay of 64 cycles between looks: the paper says nothing about either.

# %%
BARRIERS = {
    "tree": "tree:degree=6:reset=unset",
    "binomial tree (BST)": "binomial-tree:release_degree=6",
    "tournament": "tournament-tree:release_degree=6",
    "Centralized-I": "centralized-bytes",
    "Centralized-II": "centralized-lines",
    "dissemination": "dissemination:layout=line-per-rank:reset=unset",
    "dissemination, a line a round": "dissemination:layout=line-per-round:reset=unset",
}
PROCESSES = [2, 61, 244] if QUICK else [2, 8, 16, 31, 46, 61, 76, 92, 107, 122, 152, 183, 213, 244]


def simulate(algorithms, ranks):
    """Times in µs of back-to-back barriers: a row for each algorithm and number of processes, a column a seed."""
    results = phicoll.sweep(algorithm=algorithms, ranks=ranks, machine=MACHINE, placement="balanced", rounds=SEEDS,
                            calls=2 if QUICK else 6, warm_up=1, seed=1, budget_s="none", progress=False)  # fmt: skip
    assert not results.unverified
    order = {spec: i for i, spec in enumerate(dict.fromkeys(point["spec"] for point in results.points))}
    frame = results.to_dataframe()
    frame["algorithm"] = frame["spec"].map(order)
    return (frame.pivot_table(index=["algorithm", "ranks"], columns="round", values="ns") / 1000), results


times, results = simulate(list(BARRIERS.values()), PROCESSES)
times.index = times.index.set_levels(list(BARRIERS), level=0)
figure = new_figure(11.5, 4.6)
axes = figure.subplots()
middle = times.mean(axis=1)
for name, colour, marker in zip(BARRIERS, SERIES, "osD^v*P", strict=False):
    of = times.loc[name]
    axes.plot(of.index, middle[name], color=colour, marker=marker, markersize=5, linewidth=1.5, label=name,
              linestyle=(0, (4, 2)) if "round" in name else "-")  # fmt: skip
    axes.vlines(of.index, of.min(axis=1), of.max(axis=1), color=colour, linewidth=2.4, alpha=0.3)
smt(axes)
axes.set_xlim(0, 250)
plain_log_ticks(axes, "y", 0.25, times.max().max() * 1.5)
axes.set_ylim(0.25, times.max().max() * 1.5)
axes.set_xlabel("processes")
axes.set_ylabel("time of a barrier, µs")
axes.legend(frameon=False, fontsize=8, loc="lower right", ncols=2)
axes.set_title("The paper's barriers", loc="left")
tidy(axes, "y")
display(figure)
note(f"Figure 5 (a), {SEEDS} rounds of seed 1, back to back; bars span the seeds.")

# %%
table = (
    middle.rename("µs")
    .reset_index()
    .pivot_table(index="algorithm", columns="ranks", values="µs")
    .loc[list(BARRIERS)]
)
display(table[[n for n in (8, 16, 31, 61, 122, 183, 244) if n in table]].round(2))
ordered = list(table[244].sort_values().index)
at_244 = ", ".join(f"{name} {table.loc[name, 244]:.2f}" for name in ordered)
growth = ", ".join(f"{name} {table.loc[name, 244] / table.loc[name, 61]:.2f}" for name in BARRIERS)
show(
    "000-14",
    f"µs at 244 processes: {at_244}.",
    "dissemination takes eight rounds of one message each; a tree takes fewer, but a node hears and tells its children one after "
    "another. In the model 244 messages at once travel as well as one: links of the ring are not servers, and nothing is short in a "
    "core with four busy contexts but its issue port. What the paper blames, every round's traffic of all processes, costs too "
    "little here.",
)
show("000-15")
show(
    "000-16",
    f"From 61 to 244 processes, times as long: {growth}.",
    "as for 000-14. This statement and 001-06, which has dissemination among the best, contradict each other; the layout, one line "
    "a process against one a round, is part of it: compare the two curves.",
)
show("000-19")
show("000-24")
show("000-20")
show("000-21")
show("000-22")
show("000-23")

# %% [markdown]
# ### The tree's degree

# %%
DEGREES = (2, 6, 12) if QUICK else (2, 3, 4, 5, 6, 7, 8, 10, 12, 16)
by_degree, _ = simulate([f"tree:degree={degree}" for degree in DEGREES], [244])
by_degree = by_degree.droplevel("ranks")
figure = new_figure(7.5, 3.2)
axes = figure.subplots()
axes.plot(DEGREES, by_degree.mean(axis=1), color=SERIES[0], marker="o", markersize=5)
axes.vlines(DEGREES, by_degree.min(axis=1), by_degree.max(axis=1), color=SERIES[0], linewidth=2.4, alpha=0.3)
axes.set_ylim(0)
axes.set_xticks(DEGREES)
axes.set_xlabel("degree of the tree")
axes.set_ylabel("time of a barrier, µs")
axes.set_title("The tree barrier with 244 processes", loc="left")
tidy(axes, "y")
display(figure)
note(f"{SEEDS} rounds of seed 1; bars span the seeds.")
show("000-13")

# %% [markdown]
# ## Broadcast (figures 5 b and 6)
#
# *Centralized*: the root fills one region of 32 KB, all read it, and when all have unset their flags it is filled again. *Double
# buffering*: two halves of the region in turn. A flag is a byte, as in Centralized-I. Freshly written messages, back-to-back calls. phicoll's own `ring` beside them, which has
# many cells instead of two halves, and flags that only grow: its calls run into each other, and the few that are simulated do not
# fill it, so its curve says what a call costs a root that is not held up, not how long the message is on its way. Intel's MPI, which the paper compares with, is not simulated.

# %%
BROADCASTS = {
    "centralized": "centralized:region=32768:flags=bytes:reset=unset",
    "double buffering": "double-buffered:region=32768:flags=bytes:reset=unset",
    "phicoll's ring": "ring",
}
MOST = 61 if QUICK else 244
WITHIN = [256, 32768] if QUICK else [64, 256, 1024, 4096, 16384, 32768]
ABOVE = [32768, 65536] if QUICK else [32768, 65536, 131072]
LONG = 65536 if QUICK else 524288
SHIFTS = [2, 61] if QUICK else [2, 61, 122, 244]
ROUNDS = 1 if QUICK else 2


def broadcast(sizes, ranks, rounds):
    """Times in µs: a row for each algorithm, number of processes and size, a column a seed."""
    calls = (
        {"calls": 12, "warm_up": 12} if max(sizes) <= 4096 else {"calls": 2, "warm_up": 1}
    )  # small: starts differ by more
    results = phicoll.sweep("broadcast", algorithm=list(BROADCASTS.values()), ranks=ranks, sizes=sizes, machine=MACHINE,
                            placement="balanced", rounds=rounds, seed=1, budget_s="none", progress=False, **calls)  # fmt: skip
    assert not results.unverified
    specs = dict.fromkeys(point["spec"] for point in results.points)
    frame = results.to_dataframe()
    frame["name"] = frame["spec"].map(dict(zip(specs, BROADCASTS, strict=True)))
    return frame.pivot_table(index=["name", "ranks", "size_bytes"], columns="round", values="ns") / 1000


by_size = pd.concat(
    broadcast(sizes, MOST, ROUNDS)
    for sizes in (
        [n for n in WITHIN if n <= 4096],
        sorted({*WITHIN, *ABOVE} - {n for n in WITHIN if n <= 4096}),
    )
).sort_index()
by_count = broadcast([LONG], SHIFTS, 1)
small = broadcast([256], SHIFTS, 1)
figure = new_figure(11.5, 4.0)
panels = figure.subplots(1, 3)
for name, colour, marker in zip(BROADCASTS, SERIES, "osD", strict=False):
    of = by_size.loc[(name, MOST)].mean(axis=1)
    panels[0].plot(WITHIN, of[WITHIN], color=colour, marker=marker, markersize=5, label=name)
    panels[1].plot(ABOVE, of[ABOVE] / 1000, color=colour, marker=marker, markersize=5)
    of = by_count.loc[name].mean(axis=1).droplevel("size_bytes")
    panels[2].plot(of.index, of / 1000, color=colour, marker=marker, markersize=5)
for axes, sizes in zip(panels, (WITHIN, ABOVE), strict=False):
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [f"{n // 1024} K" if n >= 1024 else f"{n}" for n in sizes])
    axes.set_xlabel("size of the message, bytes")
    axes.set_ylim(0)
panels[2].set_xlabel("processes")
panels[2].set_ylim(0)
panels[0].set_ylabel("time of a broadcast, µs")
panels[1].set_ylabel("the same, ms")
panels[2].set_ylabel("ms")
panels[0].legend(frameon=False, fontsize=8)
panels[0].set_title(f"{MOST} processes, within the region", loc="left", fontsize=10)
panels[1].set_title("Larger than the region", loc="left", fontsize=10)
panels[2].set_title(f"{LONG // 1024} KB over processes", loc="left", fontsize=10)
for axes in panels:
    tidy(axes, "y")
display(figure)
note("Figures 5 (b), 6 (a) and 6 (b) without Intel's MPI.", ROUNDS)


# %%
one, two = (by_size.loc[(name, MOST)].loc[ABOVE[1:]] for name in ("centralized", "double buffering"))
factor = (one / two).to_numpy()
show("000-27", f"{factor.min():.2f} to {factor.max():.2f} times, {MOST} processes, {ABOVE[1] // 1024} to {ABOVE[-1] // 1024} KB.")  # fmt: skip
spared = (1 - two / one).to_numpy()
show("000-30", f"Of the time with one buffer two save {100 * spared.min():.0f} to {100 * spared.max():.0f} %.")  # fmt: skip
growth = {
    name: float((by_count.loc[(name, SHIFTS[-1], LONG)] / by_count.loc[(name, 2, LONG)]).iloc[0])
    for name in BROADCASTS
}
show("000-29", f"From 2 to {SHIFTS[-1]} processes, times as long: " + ", ".join(f"{name} {value:.1f}" for name, value in growth.items()) + ".")  # fmt: skip
short = {
    name: float((small.loc[(name, SHIFTS[-1], 256)] / small.loc[(name, 2, 256)]).iloc[0])
    for name in BROADCASTS
}
show("000-32", f"From 2 to {SHIFTS[-1]} processes, times as long: "
      + ", ".join(f"{name} {short[name]:.1f} at 256 B and {growth[name]:.1f} at {LONG // 1024} KB" for name in ("centralized", "double buffering")) + ".")  # fmt: skip

# %% [markdown]
# ## Two applications (figure 7)
#
# *Particle transport*: random walkers of a Monte Carlo simulation, whose tallies (64 doubles) a reduce adds up after each batch. *Load
# balancing*: in each step of quantum Monte Carlo walkers die or double, an allgather tells all loads, and walkers move by the alias method
# (`phicoll run transport`, `phicoll run balancing`; docs/programs.md). The paper shows the time saved over Intel's MPI, and describes
# neither its reduce nor its allgather, nor the codes' inputs. Here its reduce is a tree over shared regions as its broadcast's
# (`tree-reconstructed`), its allgather one in which all read all (`one-shot`). In place of Intel's MPI: a binomial tree over sends and
# receives, and an allgather that copies each block from where its sender has it, as MPIs with kernel-assisted copies do. *Not modelled*: an
# MPI library's own instructions, which would add to the time saved.

# %%
CODES = {
    "transport": ("tree-reconstructed", "send-receive-tree", {"S": "64 walkers a batch", "W": "2,048 walkers a batch"}),
    "balancing": ("one-shot", "single-copy", {"S": "1,000 walkers", "W": "100,000 walkers"}),
}  # fmt: skip
AT = [16, 61] if QUICK else [16, 61, 122, 183, 244]
figure = new_figure(11.5, 4.0)
for axes, (code, (ours, usual, classes)) in zip(figure.subplots(1, 2), CODES.items(), strict=True):
    runs = phicoll.sweep(code, problem_class=list(classes), algorithm=[ours, usual], ranks=AT, machine=MACHINE, placement="balanced", rounds=1 if QUICK else 3,
                         calls=10 if code == "transport" else 2, seed=1, budget_s="none", progress=False)  # fmt: skip
    assert not runs.unverified
    frame = runs.to_dataframe()
    ms = frame.pivot_table(index=["operation", "ranks", "round"], columns="algorithm", values="ns")
    saved = 100 * (1 - ms[ours] / ms[usual])
    for x, (letter, words) in enumerate(classes.items()):
        of = saved[f"{code}.{letter}"].groupby("ranks").agg(["mean", "min", "max"])
        at = np.arange(len(AT)) + 0.4 * (x - 0.5)
        axes.bar(at, of["mean"], 0.38, color=SERIES[x], label=f"class {letter}: {words}")
        axes.vlines(at, of["min"], of["max"], color=INK, linewidth=1.2)
    axes.axhline(0, color=INK, linewidth=1)
    axes.set_xticks(range(len(AT)), AT)
    axes.set_xlabel("processes")
    axes.set_title(f"{code}: {ours} for {usual}", loc="left", fontsize=10)
    axes.legend(frameon=False, fontsize=8)
    tidy(axes, "y")
figure.axes[0].set_ylabel("time of a run saved, %")
display(figure)
note("Figure 7, with stand-ins for Intel's MPI; bars span the seeds.", 1 if QUICK else 3)

# %%
show("000-34")

# %% [markdown]
# ## All verdicts

# %%
table = pd.DataFrame(
    [
        {
            "claim": number,
            "the paper": f.claim.statement,
            "verdict": f.verdict,
            "simulated or counted": f.measured,
        }
        for number, f in sorted(verdicts.items())
    ]
).set_index("claim")
with pd.option_context("display.max_colwidth", None):
    display(
        HTML(
            table.to_html(justify="left").replace(
                "<td>", '<td style="text-align: left; vertical-align: top">'
            )
        )
    )
