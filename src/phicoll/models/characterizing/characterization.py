"""Measure a machine and fit its model: one machine file for the simulator and the models (docs/characterizing.md).

>>> found = phicoll.characterize("quick", "here.json")
>>> found.model.value("line.remote"), found.fits["multi.EE"]
>>> phicoll.sweep("barrier", machine="./here.json")          # simulates this machine
"""

from __future__ import annotations

import os
import time
import warnings
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import phicoll._core as _core
from phicoll.errors import ArgumentError, PhicollWarning
from phicoll.foundations.checks import argument_names
from phicoll.foundations.files import check_writable, write_text
from phicoll.foundations.progress import display
from phicoll.models.characterizing.constants import Derived, derive
from phicoll.models.characterizing.machine_text import file_text, host_file, simulated_file
from phicoll.models.characterizing.observations import Observations
from phicoll.models.characterizing.plan import Effort, effort_of
from phicoll.models.characterizing.records import Recorder
from phicoll.models.characterizing.rounds import KEYS, observe
from phicoll.models.characterizing.targets import Host, Simulated
from phicoll.models.constants.constant import Constant
from phicoll.models.constants.machine_model import MachineModel, ratio_of_lines
from phicoll.models.constants.named_model import machine_model
from phicoll.models.fits import Fit
from phicoll.models.fits.clusters import Cluster

__all__ = ["Characterization", "characterize"]

#: Seconds of the budget for the costs of a single core.
CORE_BUDGET_S = 5.0
CORE_LAUNCHES = 7


@dataclass(frozen=True)
class Characterization:
    """The result of a characterisation. ``str()`` shows the machine's constants."""

    model: MachineModel
    fits: dict[str, Fit]  #: by the constants' common name: ``multi.EE``, ``contention.IE``, ``bandwidth``
    clusters: tuple[Cluster, ...]  #: line costs that count as equal, cheapest first
    file: dict[str, Any]  #: the machine file
    path: Path | None
    labels: dict[str, int]  #: rounds: ``remote``, ``same-core``, ``mixed``
    skipped: dict[str, str]  #: what was not measured, and why
    widths: dict[str, float]  #: relative widths of the 95 % intervals whose width can end the measurement
    observations: Observations

    def samples(self, subject: str, n: int = 1) -> NDArray[np.float64]:
        """Raw samples of a subject (``near.E``, ``multi.EE`` at ``n`` lines) in ns, one row per launch."""
        key = (subject, n)
        if key not in self.observations.launches:
            raise ArgumentError(
                "subject", repr(key), ", ".join(f"{s} {m}" for s, m in self.observations.launches)
            )
        return np.vstack([launch.ns + launch.empty_ns for launch in self.observations.launches[key]])

    @property
    def text(self) -> str:
        """The machine file's text."""
        return file_text(self.file)

    def __str__(self) -> str:
        rounds = ", ".join(f"{count} {label}" for label, count in self.labels.items())
        return f"{self.model}\nrounds: {rounds}"

    def _repr_html_(self) -> str:
        return self.model._repr_html_()


@argument_names
def characterize(
    mode: str = "quick",
    path: str | os.PathLike[str] | None = None,
    *,
    samples: str | os.PathLike[str] | None = None,
    machine: str | None = None,
    name: str | None = None,
    family: str | None = "xeon-phi-5110p",
    seed: int = 1,
    budget_s: float | None = None,
    rounds: int | None = None,
    lock_wait_s: float = 30,
    progress: bool | None = None,
) -> Characterization:
    """Measure this host, or a simulated machine, with the memory kernels, and fit the constants of its model.

    Parameters
    ----------
    mode:
        ``"quick"`` (at most a minute on two cores) or ``"thorough"`` (until the intervals of the line costs are 2 %
        wide, at most a quarter of an hour).
    path:
        The machine file to write; an existing one is replaced at the end. ``None`` writes none.
    samples:
        The file for raw samples, written round by round (docs/records.md); ``None`` keeps them only in the result.
    machine:
        A simulated machine's name or file, optionally with changes; ``None`` is this host.
    name:
        The machine's name in results. By default ``"host"``, or the simulated machine's name followed by
        ``-simulated``. It must not be a shipped machine's, for which the model would be mistaken.
    family:
        The machine whose constants stand in for those that this one cannot show. Their times are scaled by the ratio of
        the two machines' ``line.remote``, and they are marked ``assumed``. ``None`` leaves them undetermined.
    seed:
        Seed of addresses and orders.
    budget_s, rounds:
        Limits of time, and of rounds over all kernels, instead of the mode's. At least one round is made.
    lock_wait_s:
        Seconds to wait for CPUs in use by another measurement.
    progress:
        Whether to show a bar; ``None`` shows one on a terminal and in a notebook.

    Returns
    -------
    Characterization
        Each constant is ``measured`` (simulated: ``simulated``), ``assumed``, or ``undetermined`` with the reason.

    Raises
    ------
    ArgumentError
        Bad input, before anything is measured.
    ResourceError
        A CPU is in use by another measurement.
    VerificationError
        A kernel moved wrong data.

    Warns
    -----
    PhicollWarning
        The clock is not invariant; rounds had both CPUs on one core; the intervals are wider than the mode's target; a
        fit tells nothing, so that its constants are not used.
    """
    effort = effort_of(mode)
    if budget_s is not None and not 0 <= budget_s < float("inf"):
        raise ArgumentError("budget_s", repr(budget_s), "seconds, 0 or more")
    if rounds is not None and not (isinstance(rounds, int) and rounds >= 1):
        raise ArgumentError("rounds", repr(rounds), "a whole number from 1")
    if not (isinstance(seed, int) and 0 <= seed < 1 << 53):
        raise ArgumentError("seed", repr(seed), "0 to 2^53 - 1")
    if not 0 <= lock_wait_s < float("inf"):
        raise ArgumentError("lock_wait_s", repr(lock_wait_s), "seconds, 0 or more")
    target = None if path is None else check_writable(path)
    raw = None if samples is None else check_writable(samples, "samples")
    relative = None if family is None else machine_model(family, argument="family")
    if machine is not None:
        simulated = Simulated.of(machine, effort.all_distances)
        called = name or f"{simulated.name.replace(':', '-')}-simulated"
        _core.check_new_machine_name(called)
        effort = limited(effort.simulated(), budget_s, rounds)
        found, made = gather(simulated, effort, seed, raw, progress)
        warn_of_fits(made)
        made.constants["combine"] = combine_simulated(simulated)
        constants = filled(made.constants, relative)
        file = simulated_file(simulated.machine, machine, constants, called)
    else:
        called = name or "host"
        _core.check_new_machine_name(called)
        effort = limited(effort, budget_s, rounds)
        host = Host(called)
        lock = _core.CpuLock(host.cpus, lock_wait_s)
        start = time.monotonic()
        try:
            costs = _core.measure_host_costs(CORE_LAUNCHES, min(CORE_BUDGET_S, effort.budget_s), seed)
            # If the costs of a core took longer than planned, the rounds get less time: the total is kept.
            late = max(0.0, time.monotonic() - start - CORE_BUDGET_S)
            effort = replace(effort, budget_s=max(0.0, effort.budget_s - late))
            found, made = gather(host, effort, seed, raw, progress)
        finally:
            lock.release()
        warn_of(costs, found, effort)
        warn_of_fits(made)
        made.constants["combine"] = combine_measured(costs, called)
        constants = filled(made.constants, relative)
        file = host_file(costs, found, constants, called)
    labels = list(found.labels.values())
    done = Characterization(
        model=MachineModel(called, constants),
        fits=made.fits,
        clusters=tuple(made.clusters),
        file=file,
        path=target,
        labels={label: labels.count(label) for label in dict.fromkeys(labels)},
        skipped=dict(found.skipped),
        widths={key: found.width(key) for key in KEYS if key not in found.skipped},
        observations=found,
    )
    if target is not None:
        write_text(target, done.text)
    return done


def limited(effort: Effort, budget_s: float | None, rounds: int | None) -> Effort:
    if budget_s is not None:
        effort = replace(effort, budget_s=budget_s)
    if rounds is not None:
        effort = replace(effort, rounds=rounds)
    return effort


def gather(
    target: Host | Simulated, effort: Effort, seed: int, raw: Path | None, shown: bool | None
) -> tuple[Observations, Derived]:
    settings = {"characterize": effort.name, "machine": target.name, "seed": seed}
    with display(shown) as bar, Recorder(raw, settings) as recorder:

        def step(done: int, total: int, what: str) -> None:
            if bar is not None:
                bar.update(done, total, what)

        found = observe(target, effort, seed, step, recorder.add)
        step(1000, 1000, "fitting")
    when = datetime.now(timezone.utc).date().isoformat()
    of = target.name if target.simulated else f"{target.name}, {when}"
    return found, derive(found, of)


def filled(constants: dict[str, Constant], family: MachineModel | None) -> dict[str, Constant]:
    """Undetermined constants, assumed from another machine; none if its times cannot be scaled to this one's."""
    own = MachineModel("own", constants)
    if family is None or ratio_of_lines(own, family) is None:
        return constants
    return dict(own.with_family(family).constants)


def combine_measured(costs: _core.HostCosts, name: str) -> Constant:
    """The median launch. It has no standard error: only the fastest and the slowest launch are known here, not how many
    there was time for."""
    cost = costs.cost("combine")
    if cost is None:
        return Constant.undetermined("ns", "not measured")
    ns, low, high, how = cost
    source = f"{name}: {how} ({low:.3g} to {high:.3g} by launch; no standard error, as only these are kept)"
    return Constant(float(f"{ns:.4g}"), "ns", "measured", source)


def combine_simulated(target: Simulated) -> Constant:
    parameters = target.machine.parameters
    cycles = int(parameters["core.combine_instructions"]) * int(parameters["core.issue_interval"])
    if cycles == 0:
        return Constant.undetermined("ns", "core.combine_instructions is 0")
    ns = 1000 * cycles / target.machine.clock_mhz
    source = f"{target.name}: core.combine_instructions x core.issue_interval"
    return Constant(float(f"{ns:.4g}"), "ns", "simulated", source)


def warn_of(costs: _core.HostCosts, found: Observations, effort: Effort) -> None:
    """Warn about what affects the meaning of the numbers."""
    if not costs.clock_is_counter:
        warn("the cycle counter is not invariant: times are from the system clock, which is coarse")
    labels = list(found.labels.values())
    other = len(labels) - labels.count("remote")
    if other:
        warn(
            f"{other} of {len(labels)} rounds had two CPUs on one core, at start or end; they are fitted separately"
        )
    wide = [key for key in KEYS if key not in found.skipped and found.width(key) > effort.target_width]
    if wide and len(labels) >= effort.least_rounds:
        warn(
            f"after {len(labels)} rounds the intervals of {', '.join(wide)} are wider than {effort.target_width:.0%}: "
            "the machine is not quiet, or the budget too short"
        )


def warn_of_fits(made: Derived) -> None:
    """Warn about fits whose constants are not used."""
    for name, reason in made.refused.items():
        warn(f"{name} is not used, but more rounds may determine it: {reason}")


def warn(text: str) -> None:
    warnings.warn(text, PhicollWarning, stacklevel=5)
