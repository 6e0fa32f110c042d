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
# # Measure this machine, fit its model, tune its collectives
#
# From nothing to a table that `auto` uses, in some minutes: what a cache line costs here, what the models make of it, where they are right,
# and which algorithms are best. Every number below is measured on this machine while you read, unless it says *simulated* or *modelled*. It
# takes two CPUs.

# %%
import os
import tempfile
import warnings
from pathlib import Path

import numpy as np
from IPython.display import display

import phicoll
from phicoll.models import compare_with_runs, machine_model, predict
from phicoll.models import optima
from phicoll.plots.fits import plot_fit

QUICK = bool(os.environ.get("PHICOLL_QUICK"))  # a short form, for tests
os.chdir(tempfile.mkdtemp())  # where the files below go; choose a folder of your own to keep them
HERE, TABLE = Path("here.json"), Path("here.tuning")
print(f"phicoll {phicoll.__version__}, {len(os.sched_getaffinity(0))} CPUs allowed")

# %% [markdown]
# ## 1. Characterise
#
# `phicoll characterize -o here.json` on the command line. Kernels read lines in each state from each place, exchange messages, copy what
# others copy too; each constant gets a value, a standard error, and a *kind*: `measured`, `undetermined` with the reason, or `assumed`, where this
# machine cannot show it and a family of machines stands in (two CPUs have no third rank to share a line with).

# %%
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    found = phicoll.characterize("quick", HERE, budget_s=4 if QUICK else None, progress=False)
for one in said:
    print("note:", one.message)
found

# %% [markdown]
# A fit with its confidence band and what is left over. A fit is judged on points that it did not see:

# %%
fit = found.fits.get("multi.EE")
if fit is None:
    print(f"multi.EE: {found.model.constant('multi.EE.o')}")
else:
    try:
        print(f"error on unseen points: {fit.held_out().relative_rms:.1%}")
    except phicoll.errors.FitError as error:  # few rounds, or a machine that is not quiet
        print("error on unseen points: unknown,", error)
    display(plot_fit(fit, "messages of many lines, E to E", "lines"))

# %% [markdown]
# ## 2. What the file is good for
#
# The simulator reads its parameters: the same program, on a machine like this one but without its noise.

# %%
phicoll.sweep(
    "barrier",
    algorithm="dissemination,sense-reversing,static-tournament",
    ranks=2,
    machine=HERE,
    definition="loop",
    progress=False,
)

# %% [markdown]
# The models read its constants. Where both CPUs sat on one core all the time, as virtual ones do for minutes, there are none of lines between cores:
# then come back later, and see the rest with a shipped machine's model.

# %%
MODEL = HERE if found.model.known("line.remote") else "xeon-phi-5110p"
model = machine_model(MODEL)
print("model:", model.name)
print("assumed:", ", ".join(model.assumed) or "nothing")
for operation, algorithm, size in (
    ("barrier", "dissemination", 0),
    ("broadcast", "model-tree", 8),
    ("reduce", "model-tree", 8),
    ("allreduce", "recursive-doubling", 4096),
):
    print(
        f"{operation} {algorithm}, {size} bytes, 2 ranks, modelled: {predict(operation, algorithm, 2, size, model)}"
    )

# %% [markdown]
# and design collectives with them. A machine with more cores of this kind would get these trees (children by level) and partners:

# %%
optima.table("broadcast", (2, 4, 8, 16, 32, 64), model)

# %% [markdown]
# ## 3. Are the models right here?
#
# Predictions against runs: the band from best to worst case, and box plots of what was measured. The models assume that flags and slots are in
# memory when a call begins (*evicted*); phicoll measures that too. Ranks that share a CPU are left out: no model is about them.

# %%
runs = None
for operation, algorithms, more in (
    ("barrier", ["dissemination-acknowledged", "dissemination"], {}),
    ("broadcast", ["model-tree", "flat-large"], {"sizes": [8, 8192]}),
    ("allreduce", ["recursive-doubling", "rabenseifner"], {"sizes": [8, 8192]}),
):
    part = phicoll.sweep(operation, algorithm=algorithms, ranks=2, mode="threads", definition="window", start="evicted", launches=1 if QUICK else 6,
                         rounds=2 if QUICK else 4, budget_s=2 if QUICK else 6, seed=1, progress=False, **more)  # fmt: skip
    runs = part if runs is None else runs + part
compared = compare_with_runs(runs, model)
compared

# %%
from phicoll.plots.bands import draw_bands
from phicoll.plots.canvas import new_figure

figure = new_figure(11, 3.4)
for ax, operation in zip(figure.subplots(1, 3), ("barrier", "broadcast", "allreduce"), strict=True):
    rows = compared.select(operation=operation).rows if compared.rows else ()
    draw_bands(ax, rows, over="ranks" if operation == "barrier" else "size_bytes", log=bool(rows))
    ax.set_title(f"{operation}, measured", loc="left")
figure

# %% [markdown]
# What lies outside its band is as much of a result as what lies inside. Where an order matters more than a number:

# %%
compared.to_dataframe("orders").reindex(
    columns=["operation", "size_bytes", "tau_low", "loss_low", "observed", "predicted"]
).round(2)

# %% [markdown]
# ## 4. Tune
#
# `phicoll tune broadcast,allreduce --ranks 2 --budget 60 -o here.tuning`. All candidates stand beside the built-in rule's choice in the
# same rounds; one replaces it only if its gain is resolved. Intervals are of 95 %. With the model named, the report says how far its own choice would
# have been off. A gain of 1 everywhere is a fine result: then the rules are right here.

# %%
tuned = phicoll.tune(
    ["broadcast", "allreduce"] if not QUICK else "allreduce",
    ranks=2,
    sizes=[8, 8192] if not QUICK else [8],
    budget_s=6 if QUICK else 72,
    launches=2 if QUICK else None,
    algorithm="one-shot,recursive-doubling,sliced" if QUICK else None,
    model=MODEL,
    save=TABLE,
    progress=False,
)
tuned

# %%
print(TABLE.read_text())

# %% [markdown]
# ## 5. Use it
#
# `PHICOLL_TUNING=here.tuning`, or by name. `why` says whether a row or a rule decided:

# %%
phicoll.why("allreduce", 2, 8, tuning=TABLE, model=MODEL)


# %%
def work(comm):
    part = np.full(1024, float(comm.rank))
    total = np.empty_like(part)
    comm.Allreduce(part, total)
    return float(total[0]), str(comm.why("allreduce", total.nbytes))


phicoll.run(work, ranks=2, tuning=TABLE)[0]

# %% [markdown]
# The same from C++ (`GroupOptions::tuning`) and on a card, without Python: the table is a small text file. docs/characterizing.md, docs/models.md and
# docs/tuning.md have the details, docs/validation-models.md how far to believe the models.
