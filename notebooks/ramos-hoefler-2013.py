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
# # Ramos and Hoefler 2013: models of cache-line transfers, and collectives designed with them
#
# *It runs for some minutes on two cores; half a minute of that measures this host.*
#
# *Modelling Communications in Cache Coherent Systems* measures what lines cost on a Xeon Phi 5110P and on Sandy Bridge, fits models,
# builds collectives from them and compares. This notebook goes through it: Tables 1.5 to 3.2, Figures 3.1 to 3.6, 4.1 and 4.4 to 4.8,
# A.2 to A.13 and Tables B.1 to B.3. Every number has one of four labels:
#
# - **published**: printed in the paper;
# - **simulated**: the same kernels and collectives on phicoll's simulated machines. Some parameters of these were set by the paper's
#   single-line numbers (docs/validation-xeon-phi-5110p.md says which), collectives by none. **Nothing here ran on a Xeon Phi**;
# - **measured**: on two threads of the host that runs the notebook;
# - **modelled**: by the paper's equations, from constants of one of the three.
#
# The paper's figures are known by what its text says of them: their form is followed, their values are not compared.
#
# A broadcast designed by the model beside two that are not, on the simulated machine, before the details:

# %%
import phicoll

phicoll.sweep(
    "broadcast",
    algorithm="model-tree,binomial,flat",
    sizes=64,
    ranks=[4, 15, 60],
    machine="xeon-phi-5110p",
    rounds=2,
    budget_s="none",
    progress=False,
).plot()

# %%
import os
import warnings
from concurrent.futures import ThreadPoolExecutor
from datetime import date

import matplotlib as mpl
import numpy as np
import pandas as pd
from IPython.display import Markdown, display

import phicoll
from phicoll import kernels
from phicoll.models import Constant, MachineModel, compare_with_runs, machine_model, optima
from phicoll.models.equations.bandwidth import bandwidth
from phicoll.models.fits import Summary, cluster_costs, estimate, fit, summary_of, welch_test
from phicoll.models.equations.contention import contention
from phicoll.models.equations.multi_line import multi_line, naive_multi_line
from phicoll.models.constants.published_tables import (
    BANDWIDTH, CONTENTION, DISTANCE_TABLES, MULTI_LINE, PHI_PING_PONG, PHI_READ, SANDY_PING_PONG, SANDY_READ_MEASURED,
)  # fmt: skip
from phicoll.models.optima.tables_b import TABLES, reproduce
from phicoll.plots.bands import draw_bands, draw_boxes
from phicoll.plots.canvas import new_figure
from phicoll.plots.medians import medians_figure
from phicoll.plots.style import INK, SERIES, tidy

QUICK = bool(os.environ.get("PHICOLL_QUICK"))  # a short form, for tests
PHI, SANDY = "xeon-phi-5110p", "sandy-bridge-e5-2670"
SAMPLES = 40 if QUICK else 800
SEEDS = 2 if QUICK else 8
CPUS = len(os.sched_getaffinity(0))

phi, sandy = phicoll.load_machine(PHI), phicoll.load_machine(SANDY)
published = machine_model(PHI)
mpl.rcParams["legend.loc"] = "upper left"
workers = ThreadPoolExecutor()  # simulations run side by side
display(
    Markdown(
        f"**{phi.name}**: {phi.summary}. Digest `{phi.digest}`, phicoll {phicoll.__version__}"
        f"{', short form' if QUICK else ''}. **{sandy.name}**: digest `{sandy.digest}`, a table of costs that has what the paper printed."
    )
)


def simulated(kernel, *arguments, samples=SAMPLES, machine=PHI, **more):
    """Samples over several seeds, each of which places lines elsewhere."""
    each = max(2, samples // SEEDS)
    jobs = [
        workers.submit(kernel, *arguments, machine=machine, samples=each, seed=s, **more)
        for s in range(1, SEEDS + 1)
    ]
    return np.concatenate([np.ravel(job.result()) for job in jobs])


def note(label, text):
    display(Markdown(f"*{label.capitalize()}. {text}*"))


# %% [markdown]
# ## The three sets of constants
#
# Published ones come with phicoll. Those of the simulated machine and of the host come from `phicoll.characterize`: kernels, fits, a
# model with a source and an error for each constant. Two CPUs show no contention: there are no two ranks to share a third one's line.
# What could not be determined is left so here, not taken from another machine.

# %%
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what the machine's state did to the measurement is in its report
    of_simulated = phicoll.characterize(
        "quick", machine=PHI, family=None, rounds=2 if QUICK else None, progress=False
    )
    if CPUS > 1:
        of_host = phicoll.characterize("quick", family=None, budget_s=4 if QUICK else 30, progress=False)
    else:
        of_host = None
simulated_model = MachineModel("simulated", of_simulated.model.constants)
models = {"published": published, "simulated": simulated_model}
if of_host is not None:
    models["measured"] = of_host.model
    rounds = ", ".join(f"{n} {label}" for label, n in of_host.labels.items())
    note("measured", f"On this host, {date.today().isoformat()}, {CPUS} CPUs allowed; rounds: {rounds}.")
rows = {}
for label, model in models.items():
    for name, constant in model.constants.items():
        error = "" if constant.standard_error is None else f" ± {constant.standard_error:.2g}"
        value = f"{constant.value:.4g}{error}" if constant.value is not None else "undetermined"
        rows.setdefault(name, {"unit": constant.unit})[label] = value
pd.DataFrame.from_dict(rows, orient="index").fillna("")

# %% [markdown]
# ## Chapter 1: reading a line
#
# ### Tables 1.5 and 1.6: Xeon Phi


# %%
def reads(state, place, **more):
    return simulated(kernels.read_latency, state, place, samples=SAMPLES // 4, **more)


found = {(state, place): reads(state, "local" if place == "local" else place)
         for state, places in PHI_READ.items() for place in places if not (state == "I" and place != "local")}  # fmt: skip
table = pd.DataFrame([
    {"state": state, "place": place, "published mean": PHI_READ[state][place][0], "published deviation": PHI_READ[state][place][1],
     "simulated mean": ns.mean(), "simulated deviation": ns.std(), "error of the mean": f"{ns.mean() / PHI_READ[state][place][0] - 1:+.1%}"}
    for (state, place), ns in found.items()
])  # fmt: skip
display(table.round(1))
note("published, simulated", "Table 1.6, ns. R_L, R_R and R_I were calibrated on; the other rows were not.")

# %% [markdown]
# Costs are put together where their means differ by less than the larger deviation (Table 1.5b):

# %%
for label, costs in {
    "published": {f"R_{place[0].upper()},{state}": Summary(*PHI_READ[state][place], 5000) for state in "MES" for place in ("local", "middle")},
    "simulated": {f"R_{place[0].upper()},{state}": summary_of(found[state, place]) for state in "MES" for place in ("local", "middle")},
}.items():  # fmt: skip
    text = "; ".join(f"{', '.join(c.names)}: {c.summary.mean:.1f} ns" for c in cluster_costs(costs))
    display(Markdown(f"- {label}: {text} (L local, M middle distance)"))
line_costs = {
    label: {
        name: model.constant(key).value
        for name, key in (("R_L", "line.local"), ("R_R", "line.remote"), ("R_I", "line.memory"))
    }
    for label, model in models.items()
}
display(pd.DataFrame(line_costs).round(1).astype(object).fillna("undetermined"))
note("Table 1.5b", "ns; the host's are measured here.")

# %% [markdown]
# ### Tables 1.7 and 1.8: Sandy Bridge

# %%
rows = []
for state, places in SANDY_READ_MEASURED.items():
    for place, (mean, deviation) in places.items():
        if state == "F":  # a program cannot ask for it
            continue
        where = {"local": "local", "same-package": "same-package", "other-package": "other-package"}[place]
        ns = reads(state, where, machine=SANDY)
        rows.append(
            {
                "state": state,
                "place": place,
                "published mean": mean,
                "published deviation": deviation,
                "simulated mean": ns.mean(),
            }
        )
display(pd.DataFrame(rows).round(1))
note(
    "published, simulated",
    "Table 1.7, ns. The simulated machine has these numbers as parameters: agreement says only that it can.",
)

# %% [markdown]
# ## Chapter 2: a line there and back
#
# Half a round trip is three reads and an overhead, T_1 = R_L,s + R_R,r + R_R,M + O (2.1). The estimate's deviation is (2.2); Welch's test
# (2.3, 2.4) asks whether O is one. Tables 2.4 to 2.7, Xeon Phi:


# %%
def ping_pong_table(places, read, of_machine, table_of, machine):
    rows = []
    for place, states in places.items():
        for (send, receive), (mean, deviation) in states.items():
            if QUICK and (send, receive) not in (("E", "E"), ("I", "E")):
                continue
            far = "local" if place == "same-core" else place
            terms = (read[send]["local"], read[receive][far], read["M"][far])
            guess = estimate(*(Summary(*term, 5000) for term in terms))
            test = welch_test(Summary(mean, deviation, 5000), guess)
            ns = simulated(kernels.ping_pong, send, receive, place, machine=machine)
            mine = of_machine(send, receive, far)
            rows.append({"table": table_of[place], "send": send, "receive": receive, "estimate": guess.mean, "published": mean, "O published": mean - guess.mean,
                         "p of no overhead": test.p_value, "simulated": ns.mean(), "O simulated": ns.mean() - mine})  # fmt: skip
    return pd.DataFrame(rows)


local = found["E", "local"].mean()
memory = found["I", "local"].mean()


def simulated_reads(send, receive, place):
    far = local if place == "local" else None
    one = local if send != "I" else memory
    two = far or found[receive, place].mean()
    three = far or found["M", place].mean()
    return one + two + three


table = ping_pong_table(PHI_PING_PONG, PHI_READ, simulated_reads, DISTANCE_TABLES, PHI)
display(table.round(1))
note(
    "published, simulated",
    "ns. The simulated E, E at the middle distance and inside a core were calibrated on.",
)

# %% [markdown]
# Tables 2.1 to 2.3, Sandy Bridge. Some overheads are negative; the simulated machine has them as parameters of its table.

# %%
columns = {"same-core": "2.1", "same-package": "2.2", "other-package": "2.3"}
sandy_local = SANDY_READ_MEASURED["E"]["local"][0]


def sandy_reads(send, receive, place):
    return sum(SANDY_READ_MEASURED[s][p][0] for s, p in ((send, "local"), (receive, place), ("M", place)))


table = ping_pong_table(SANDY_PING_PONG, SANDY_READ_MEASURED, sandy_reads, columns, SANDY)
display(table.round(1))
if of_host is not None:
    o = of_host.model.constant("overhead")
    note(
        "measured",
        f"On this host the overhead of a ping-pong of exclusive lines over its three reads is {o}.",
    )

# %% [markdown]
# ## Chapter 3: many lines
#
# ### Figure 3.1 and Table 3.1
#
# Half a round trip of N lines, fitted by o N + q - p / N (3.1). Boxes are simulated samples; lines the published fit, the fit of the simulated
# samples, and for comparison the naive 2 N / P R + R_R,M.

# %%
LINES = (1, 2, 4, 8, 32, 128) if QUICK else (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
PAIRS = [(s, r) for s in "EI" for r in "EI"]
copies = {
    (s, r, n): simulated(kernels.multi_line, n, s, r, samples=max(16, SAMPLES // 4))
    for s, r in PAIRS
    for n in LINES
}
figure = new_figure(11.5, 7.2)
rows = []
at = np.linspace(1, 128, 300)
for ax, (s, r) in zip(figure.subplots(2, 2).flat, PAIRS, strict=True):
    of = [copies[s, r, n] for n in LINES]
    means, errors = (
        [float(v.mean()) for v in of],
        [float(v.std() / np.sqrt(v.size)) + 0.01 * float(v.mean()) for v in of],
    )
    done = fit("multi-line", LINES, means, sigma=errors)
    draw_boxes(ax, LINES, [v / 1000 for v in of], 2.2, SERIES[0])
    ax.plot(at, done.predict(at) / 1000, color=SERIES[0], label="fit of the simulated")
    low, high = done.band(at)
    ax.fill_between(at, low / 1000, high / 1000, color=SERIES[0], alpha=0.2, linewidth=0)
    o, q, p = MULTI_LINE[s, r]
    ax.plot(at, (o * at + q - p / at) / 1000, color=SERIES[1], label="published fit")
    if s == r:
        ax.plot(
            LINES,
            [naive_multi_line(published, n, s) / 1000 for n in LINES],
            ":",
            color=INK,
            label="naive model, published constants",
        )
    ax.set_title(f"send {s}, receive {r}", loc="left")
    ax.set_xlabel("lines")
    ax.set_ylabel("half a round trip, µs")
    ax.set_ylim(0)
    ax.legend(frameon=False, fontsize=8)
    tidy(ax, "both")
    row = {"send, receive": f"{s}, {r}"}
    for name, value in zip("oqp", (o, q, p), strict=True):
        row[f"{name} published"] = value
        row[f"{name} simulated"] = f"{done.value(name):.1f} ± {done.standard_error(name):.1f}"
        if of_host is not None:
            c = of_host.model.constant(f"multi.{s}{r}.{name}")
            row[f"{name} measured"] = (
                "undetermined" if c.value is None else f"{c.value:.1f} ± {c.standard_error or 0:.1f}"
            )
    row["unseen points, error"] = f"{done.held_out().relative_rms:.1%}"
    rows.append(row)
display(figure)
note(
    "published, simulated",
    "Figure 3.1. Most of the start-up of two and more lines is missing in the simulation: it is not of the protocol.",
)
display(pd.DataFrame(rows))
note("published, simulated, measured", "Table 3.1, ns.")

# %% [markdown]
# ### Figures 3.2 to 3.6 and Table 3.2
#
# n threads copy one line at the same time; common and private lines in E or I. Boxes as in the paper; lines are c n + b - a / n (3.2, 3.3).

# %%
READERS = (1, 8, 30, 59) if QUICK else (1, 2, 4, 8, 12, 16, 20, 24, 30, 36, 42, 48, 54, 59)
crowds = {
    (s, r, n): simulated(kernels.contention, n, s, r, samples=max(4, SAMPLES // 20))
    for s, r in PAIRS
    for n in READERS
}
figure = new_figure(11.5, 7.2)
rows, fits = [], {}
at = np.linspace(1, 59, 200)
for number, (ax, (s, r)) in enumerate(zip(figure.subplots(2, 2).flat, PAIRS, strict=True), 2):
    of = [crowds[s, r, n] for n in READERS]
    errors = [float(v.std() / np.sqrt(v.size)) + 0.01 * float(v.mean()) for v in of]
    form = "contention" if s == "E" else "contention-memory"
    done = fits[s, r] = fit(form, READERS, [float(v.mean()) for v in of], sigma=errors)
    draw_boxes(ax, READERS, [v / 1000 for v in of], 1.5, SERIES[0])
    ax.plot(at, done.predict(at) / 1000, color=SERIES[0], label="fit of the simulated")
    c, b, a = CONTENTION[s, r]
    ax.plot(at, (c * at + b - a / at) / 1000, color=SERIES[1], label="published fit")
    ax.set_title(f"Figure 3.{number}: common line {s}, private lines {r}", loc="left")
    ax.set_xlabel("threads that copy")
    ax.set_ylabel("each thread's time, µs")
    ax.set_ylim(0)
    ax.legend(frameon=False, fontsize=8)
    tidy(ax, "both")
    row = {"common, private": f"{s}, {r}", "c published": c, "b published": b, "a published": a}
    for name in done.form.parameters:
        row[f"{name} simulated"] = f"{done.value(name):.1f} ± {done.standard_error(name):.1f}"
    rows.append(row)
display(figure)
note("published, simulated", "Figures 3.2 to 3.5; 3.6 is the first and the last of them with their fits.")
display(pd.DataFrame(rows).fillna(""))
note("published, simulated", "Table 3.2, ns. On the host with two CPUs it is undetermined.")
one = contention(published, 1)
display(Markdown(f"T_C(1) should be R_L + R_R (3.2): {published.value('line.local') + published.value('line.remote'):.1f} ns published; the published fit says {one:.1f} ns, "
                 f"the simulated kernel {crowds['E', 'E', 1].mean():.1f} ns, which has the paper's overhead of a copy."))  # fmt: skip

# %% [markdown]
# ## Chapter 4: collectives
#
# ### Figure 4.1: two writers and a reader that polls
#
# The line begins in memory. If both write before the reader looks, R_I + 2 R_R; if it looks between the two, R_I + 3 R_R; if it looks before
# each, R_I + 4 R_R. Hence models of a best and a worst case.

# %%
rows = {label: {f"R_I + {k} R_R": m.value("line.memory") + k * m.value("line.remote") for k in (2, 3, 4)}
        for label, m in models.items() if m.known("line.memory") and m.known("line.remote")}  # fmt: skip
display(pd.DataFrame(rows).round(0))
note("modelled", "ns, with each set of constants.")

# %% [markdown]
# ### Tables B.1 to B.3: the best parameters
#
# phicoll's optimisers are exhaustive. With the readings that docs/models.md explains every printed row costs the least; with the equations as
# printed many do not.

# %%
READINGS = {
    "B.1": ("broadcast", {}, "T_C(1) = R_L + R_R"),
    "B.1, fitted b": ("broadcast", {"b": "fitted"}, "T_C(1) of Table 3.2"),
    "B.2": ("barrier", {"rounds": "printed"}, "log_m rounds, as printed"),
    "B.2, corrected": ("barrier", {"rounds": "corrected"}, "log_(m+1) rounds, which the partners need"),
    "B.3": ("reduce", {}, "T_k = o k"),
    "B.3, multi-line": ("reduce", {"combining": "multi-line"}, "T_k = o k + q - p / k, as the text says"),
}
rows = []
for name, (operation, reading, words) in READINGS.items():
    done = reproduce(operation, published, **reading)
    rows.append(
        {
            "table": name,
            "reading": words,
            "rows": done.rows,
            "printed row costs the least": done.optimal,
            "most that a row costs more": f"{done.worst_regret:.1%}",
        }
    )
display(pd.DataFrame(rows))
note("modelled", "With the published constants, against the printed tables.")

# %%
SHOWN = (2, 8, 16, 30, 60) if QUICK else range(2, 61)
rows = []
for n in SHOWN:
    row = {"ranks": n}
    for name, operation in (("B.1", "broadcast"), ("B.2", "barrier"), ("B.3", "reduce")):
        row[f"{name} printed"] = ", ".join(map(str, TABLES[operation][n]))
    rows.append(row)
frame = pd.DataFrame(rows).set_index("ranks")
for label, model in models.items():
    if not model.known("contention.EE.c"):
        continue
    for name, operation, reading in (
        ("B.1", "broadcast", {}),
        ("B.2", "barrier", {"rounds": "printed"}),
        ("B.3", "reduce", {}),
    ):
        best = optima.table(operation, SHOWN, model, **reading)
        frame[f"{name} by {label}"] = [
            ", ".join(map(str, (one.ways, one.rounds) if operation == "barrier" else one.levels))
            for one in best
        ]
display(frame)
note(
    "published, modelled",
    "Children of each level (B.1, B.3), m and rounds (B.2). Where several cost as little the smallest is shown, which is not always the printed one.",
)
for operation in ("broadcast", "barrier", "reduce"):
    reading = {"rounds": "printed"} if operation == "barrier" else {}
    display(Markdown(f"- {optima.compare_bounds(operation, range(2, 61), published, **reading)}"))

# %% [markdown]
# ### Figure 4.4: the tree against others
#
# Broadcast of 8 bytes. Flags and slots are evicted before each call, as the models assume, all ranks enter at once, one rank a core; times go
# from the last entry to the last exit.

# %%
RANKS = [4, 30] if QUICK else [2, 4, 6, 8, 12, 16, 20, 24, 26, 28, 30, 36, 42, 48, 54, 60]
TREES = ["model-tree", "flat", "binomial", "k-nomial:degree=3", "fibonacci", "fibonacci:overhead=quarter"]


def run(operation, algorithms, start="evicted", ranks=RANKS, **more):
    return phicoll.sweep(operation, algorithm=algorithms, ranks=ranks, machine=PHI, placement="scatter", definition="window",
                         start=start, skew_ns=0, rounds=SEEDS, calls=3, warm_up=1, seed=1, budget_s="none", progress=False, **more)  # fmt: skip


trees = compare_with_runs(run("broadcast", TREES, sizes=8), published)
display(medians_figure(trees, "published"))
note("simulated, modelled", "Figure 4.4.")
orders = trees.to_dataframe("orders")[["ranks", "tau_low", "loss_low", "observed", "predicted"]]
display(orders.round(2))
note(
    "simulated, modelled",
    "tau: Kendall's, of the predicted order; loss: what the predicted best costs over the best there was.",
)

# %% [markdown]
# ### Figures 4.5 to 4.8: samples on their bands
#
# Shaded: best to worst case, with the published constants (blue) and with those of the simulated machine (orange). Intel's MPI and OpenMP, which
# the paper's figures show too, are not here: they are proprietary.

# %%
LARGE = RANKS[:1] if QUICK else [2, 8, 16, 30, 44, 60]
FIGURES = {
    "4.5": ("broadcast", "model-tree", {"sizes": 8}, RANKS),
    "4.6, flat": ("broadcast", "flat-large", {"sizes": 8192}, LARGE),
    "4.6, pipelined": (
        "broadcast",
        "pipelined-slices",
        {"sizes": 8192},
        LARGE,
    ),
    "4.7": ("barrier", "dissemination-acknowledged:rounds=printed", {}, RANKS),
    "4.8": ("reduce", "model-tree", {"sizes": 8}, RANKS),
}
figure = new_figure(11.5, 10.5)
axes = list(figure.subplots(3, 2).flat)
rows = []
for ax, (name, (operation, algorithm, more, counts)) in zip(axes, FIGURES.items(), strict=False):
    for start in ("evicted", "warm"):
        runs = run(operation, algorithm, start, counts, **more)
        for (label, model), colour in zip(
            (("published", published), ("simulated", simulated_model)), SERIES, strict=False
        ):
            compared = compare_with_runs(runs, model)
            if start == "evicted":
                draw_bands(ax, compared.rows, colours=[colour], legend=False)
                ax.plot([], [], color=colour, linewidth=6, alpha=0.35, label=f"{label} constants")
            low, high = [r.over_low for r in compared.rows], [r.over_high for r in compared.rows]
            rows.append({"figure": name, "algorithm": algorithm, "start": start, "constants": label, "inside": f"{compared.inside:.0%}",
                         "median / best case": f"{min(low):.2f} to {max(low):.2f}", "median / worst case": f"{min(high):.2f} to {max(high):.2f}"})  # fmt: skip
    ax.set_title(f"Figure {name}: {operation} {algorithm.partition(':')[0]}, evicted start", loc="left")
    ax.legend(frameon=False, fontsize=8)
axes[-1].set_visible(False)
display(figure)
note("simulated, modelled", "Boxes: simulated calls of all seeds. Bands: modelled.")
display(pd.DataFrame(rows))
note("simulated, modelled", "Share of the samples inside the band, and where their median lies.")

# %% [markdown]
# What does not hold, and why: pipelined slices lie about their best case, as (4.8) lets each stage pay a start-up; binomial, k-nomial and Fibonacci
# trees lie before theirs, as most children have acknowledged long before the last one has its subtree. docs/validation-models.md has all of it.

# %% [markdown]
# ### The same on this host
#
# Two threads on two CPUs and the host's own constants. Never ranks that share a CPU: the models give each one of its own. Expect calls that end
# before the best case: the models let each write of a flag take a whole transfer, one after another; this host's cores go on while their stores
# wait for the line.

# %%
if of_host is None:
    display(Markdown("*Not measured: one CPU is allowed here.*"))
else:
    figure = new_figure(11.5, 7.6)
    axes = figure.subplots(3, 2)
    rows = []
    HOST = (("barrier", ["dissemination-acknowledged", "dissemination"], {}), ("broadcast", ["model-tree", "pipelined-slices", "flat-large"], {"sizes": [8, 1024, 8192]}),
            ("reduce", ["model-tree"], {"sizes": [8, 1024]}))  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for line, (operation, algorithms, more) in zip(axes, HOST, strict=True):
            for ax, start in zip(line, ("evicted", "warm"), strict=True):
                runs = phicoll.sweep(operation, algorithm=algorithms, ranks=2, mode="threads", definition="window", start=start, seed=1, launches=1 if QUICK else 8,
                                     rounds=2 if QUICK else 4, budget_s=2 if QUICK else 6, progress=False, **more)  # fmt: skip
                compared = compare_with_runs(runs, of_host.model)
                draw_bands(ax, compared.rows, over="size_bytes" if more else "ranks", log=bool(compared.rows))
                ax.set_title(f"{operation}, {start} start, measured", loc="left")
                for r in compared.rows:
                    rows.append({"operation": operation, "algorithm": r.name, "bytes": r.subject.size_bytes or "", "start": start, "median, ns": round(r.median),
                                 "band, ns": f"{r.prediction.low_ns:.0f} to {r.prediction.high_ns:.0f}", "inside": f"{r.inside:.0%}"})  # fmt: skip
    display(figure)
    note(
        "measured, modelled",
        f"Two threads of this host, {date.today().isoformat()}; another run gives other numbers.",
    )
    display(pd.DataFrame(rows))

# %% [markdown]
# ## Appendix A: bandwidth between pairs
#
# Pairs exchange messages that lie in memory; T_N = (2 N / P R_I + R_R,M) F (A.1). The paper's patterns: pairs in groups of four, pairs that all
# cross one link, pairs across the two packages. Published P and F for the Xeon Phi are those of *another card* (61 cores, 1,080 MHz).

# %%
KIB = (4, 64) if QUICK else (4, 16, 64, 256, 1024)


def curves(machine, pattern, pairs):
    """GB/s of a pair, mean over pairs, by size."""
    jobs = [
        workers.submit(
            kernels.pair_bandwidth, pairs, pattern, lines=16 * k, machine=machine, samples=1 if k > 64 else 3
        )
        for k in KIB
    ]
    return [float(job.result().mean()) for job in jobs]


def with_factors(model, p, factor):
    """The model with a scenario's P and F."""
    given = {
        name: Constant(value, "1", "published", "ramos-hoefler-2013 section A.2 or A.3")
        for name, value in (("bandwidth.P", p), ("bandwidth.F", factor))
    }
    return MachineModel(model.name, {**model.constants, **given})


def panels(machine, model, patterns, counts, scenario, numbers, far=False):
    """Simulated bandwidth by size and number of pairs with the model's curve (above), and differences (below)."""
    figure = new_figure(5.6 * len(patterns), 6.4)
    axes = figure.subplots(2, len(patterns), squeeze=False)
    for column, (pattern, title) in enumerate(patterns.items()):
        for pairs, colour in zip(counts, SERIES, strict=False):
            name, (p, factor) = scenario(pairs)
            said = [bandwidth(with_factors(model, p, factor), 16 * k, far=far) for k in KIB]
            rate = curves(machine, pattern, pairs)
            axes[0, column].plot(KIB, rate, marker="o", color=colour, label=f"{pairs} pairs, simulated")
            axes[0, column].plot(
                KIB,
                said,
                "--",
                color=colour,
                linewidth=1,
                label=f"modelled, {name}" if len(counts) > 2 or pairs == counts[0] else None,
            )
            axes[1, column].plot(
                KIB,
                [100 * (a / b - 1) for a, b in zip(said, rate, strict=True)],
                marker="o",
                color=colour,
                label=f"{pairs} pairs",
            )
        axes[0, column].set_title(f"{title}", loc="left")
        axes[0, column].set_ylabel("GB/s of a pair")
        axes[1, column].set_ylabel("modelled over simulated, %")
        axes[1, column].axhline(0, color=INK, linewidth=0.8)
        for ax in axes[:, column]:
            ax.set_xscale("log", base=2)
            ax.set_xticks(KIB, [f"{k} KiB" for k in KIB])
            ax.legend(frameon=False, fontsize=7, loc="lower right")
            tidy(ax, "both")
        axes[0, column].set_ylim(0)
    display(figure)
    note("simulated, modelled", numbers)


def inside(pairs):
    name = "2 or 4 threads, one package" if pairs <= 2 else "8 or 16 threads, one package"
    return name, BANDWIDTH[SANDY][name]


def across(pairs):
    name = (
        "2 or 4 threads, across"
        if pairs <= 2
        else "8 threads, across"
        if pairs <= 4
        else "16 threads, across"
    )
    return name, BANDWIDTH[SANDY][name]


panels(SANDY, machine_model(SANDY), {"grouped": "A.2, A.5, A.6, A.7: grouped", "link": "A.3: stressing a link"}, (2, 4), inside,
       "Figures A.2, A.3 and A.5 to A.7: Sandy Bridge, inside a package.")  # fmt: skip
panels(SANDY, machine_model(SANDY), {"across": "A.4, A.8, A.9: across packages"}, (1, 2) if QUICK else (1, 2, 4, 8), across,
       "Figures A.4, A.8 and A.9. The simulated table machine has no link that fills up, so more pairs take nothing from each other.", far=True)  # fmt: skip

# %%
panels(PHI, published, {"grouped": "A.10: grouped", "link": "A.11, A.12, A.13: stressing a link"}, (2, 8) if QUICK else (2, 8, 30), lambda pairs: ("another card", BANDWIDTH[PHI]["any pairs"]),
       "Figures A.10 to A.13: Xeon Phi. Simulated copies have as many lines under way as Table 3.1 asks for, a pair gets some 13 % less than the paper's other card.")  # fmt: skip

# %% [markdown]
# ## What came out
#
# The rows of `phicoll claims` for this paper, whatever ran above. `phicoll validate models` compares over 20 seeds what sections 3 and 4 compare here.
# To do all this with a machine of your own: [characterise-and-tune](characterise-and-tune.ipynb).

# %%
phicoll.claims.report("ramos-hoefler-2013")

# %%
workers.shutdown()
summary = pd.DataFrame(
    [{"constants": label, "R_L, ns": m.constant("line.local").value, "R_R, ns": m.constant("line.remote").value, "o, ns a line": m.constant("multi.EE.o").value,
      "c, ns a reader": m.constant("contention.EE.c").value, "8 lines, E to E, ns": multi_line(m, 8) if m.known("multi.EE.o") and m.known("multi.EE.q") and m.known("multi.EE.p") else None}
     for label, m in models.items()]
).set_index("constants")  # fmt: skip
summary.round(1)
