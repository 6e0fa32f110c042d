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
# # Namashivayam et al. 2014, simulated: allreduce by put and get, and by load and store
#
# The paper on OpenSHMEM for the Xeon Phi built four reductions to all (flat tree FT, recursive doubling RD, Bruck BR, Rabenseifner
# RSAG), first with puts into the receiver's buffers, then with `shmem_ptr`: loads from the peer's array where it lies. Its figures 7
# to 10 have 64 processes on a Xeon Phi SE10P, over numbers of integers. Here its algorithms run on a simulated machine of that kind.
# **No number below was measured on a Xeon Phi.** The MPIs in its figures are not simulated.
#
# The paper's put and get go through a library whose calls cost something themselves; here a put is the copy alone. So what is seen below
# is what the *data's way* costs, not what calling the library does, and the difference between the two ways must be smaller than the
# paper's. 32-bit integers, sum, freshly written operands, back-to-back calls; a *seed* decides where lines lie and when processes start.

# %%
import os

import numpy as np
import pandas as pd
from IPython.display import HTML, Markdown, display

import phicoll
from phicoll.plots.canvas import new_figure
from phicoll.plots.style import SERIES, plain_log_ticks, tidy

QUICK = bool(os.environ.get("PHICOLL_QUICK"))  # a few seconds, for tests
MACHINE = "xeon-phi-se10p"
SEEDS = 1 if QUICK else 2
RANKS = 8 if QUICK else 64
INTEGERS = [1, 1024] if QUICK else [1, 16, 256, 1024, 4096, 16384]
SMALL = 1024  # integers: where the paper's figures for small and for large messages meet

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
    axes.legend(frameon=False, fontsize=8, ncols=2 if len(names) > 5 else 1)
    tidy(axes, "y")


verdicts = []


def verdict(number, statement, faster, slower, condition):
    """Whether ``faster`` takes less time than ``slower`` (a seed each) in every seed."""
    ratio = np.asarray(slower, float) / np.asarray(faster, float)
    found = "holds" if (ratio > 1).all() else "does not hold" if (ratio < 1).all() else "not resolved"
    verdicts.append({"claim": number, "the paper, in our words": statement, "simulated": f"{ratio.min():.2f} to {ratio.max():.2f} times, {condition}",
                     "verdict": found})  # fmt: skip
    display(
        Markdown(
            f"> **{number}** {statement} **{found}**: {ratio.min():.2f} to {ratio.max():.2f} times, {condition}."
        )
    )


def of(name, integers):
    return times.loc[(name, integers)]


def least(names, integers):
    return pd.concat([of(name, integers) for name in names], axis=1).min(axis=1)


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
curves(left, ours, SMALLS)
left.set_title("Load and store, small", loc="left")
curves(right, ours, LARGES)
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
verdicts.append({"claim": "003-21", "the paper, in our words": "Rabenseifner's wins by less congestion of the ring.",
                 "simulated": f"it leads {with_ring:.2f} times, without distance {without:.2f} times",
                 "verdict": "does not hold" if without > 0.9 * with_ring else "holds"})  # fmt: skip
display(Markdown(f"> **003-21** Rabenseifner's wins by less congestion of the ring. **{verdicts[-1]['verdict']}**: "
                 f"{verdicts[-1]['simulated']}. Links of the ring are no servers in the model, so only distance can be taken away; "
                 "what it leads by here is that each process moves and combines fewer bytes."))  # fmt: skip

# %% [markdown]
# ## All verdicts

# %%
with pd.option_context("display.max_colwidth", None):
    display(HTML(pd.DataFrame(verdicts).set_index("claim").to_html(justify="left")))
note("Ratios of times: above 1 as the paper says, the smallest and the largest seed.")
