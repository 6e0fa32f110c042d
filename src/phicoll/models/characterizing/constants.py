"""From observations to the model's constants, each with its error and origin, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from phicoll.errors import ArgumentError, FitError
from phicoll.models.characterizing.observations import Observations
from phicoll.models.characterizing.plan import PAIRS
from phicoll.models.constants.constant import CONSTANTS, Constant
from phicoll.models.fits import Fit, fit
from phicoll.models.fits.bandwidth_fit import BandwidthFit, fit_bandwidth
from phicoll.models.fits.clusters import Cluster, cluster_costs
from phicoll.models.fits.forms import FORMS as FORM_OF

__all__ = ["Derived", "derive"]

#: The least error of a fit's points, as a share of their time, since no form is exact. In fits of contention, which the
#: paper makes over plain nanoseconds, it is a share of the largest time.
LEAST_ERROR = 0.01
#: A fit whose relative errors on unseen points have a larger root mean square tells nothing.
MOST_UNSEEN = 0.5
#: A line that is read in less than this many hits of the own cache was not in memory.
MEMORY_HITS = 8
#: A switch that takes longer went to another program, for a slice of its time.
MOST_SWITCH_NS = 100_000
FORMS = {
    "multi": {"EE": "multi-line", "EI": "multi-line", "IE": "multi-line", "II": "multi-line"},
    # A line in memory also costs its fetch, which later readers share: equations (3.2) and (3.3).
    "contention": {
        "EE": "contention",
        "EI": "contention",
        "IE": "contention-memory",
        "II": "contention-memory",
    },
}


@dataclass
class Derived:
    """The constants and their sources."""

    constants: dict[str, Constant] = field(default_factory=dict)
    fits: dict[str, Fit] = field(default_factory=dict)
    clusters: list[Cluster] = field(default_factory=list)
    refused: dict[str, str] = field(
        default_factory=dict
    )  #: fits whose constants are not used, with the reason


def derive(found: Observations, machine: str) -> Derived:
    """Every constant of :data:`phicoll.models.CONSTANTS` except ``combine``; undetermined ones have the reason."""
    return Maker(found, machine).derived()


class Maker:
    def __init__(self, found: Observations, machine: str) -> None:
        self.found = found
        self.machine = machine
        self.kind = "simulated" if found.simulated else "measured"
        self.made = Derived()

    def derived(self) -> Derived:
        self.local_reads()
        for place, prefix in (("near", "remote"), ("far", "far")):
            for state in "MESF":
                self.read(f"line.{prefix}.{state}", [f"{place}.{state}"])
        self.memory_reads()
        self.remote()
        self.overheads()
        for family, forms in FORMS.items():
            for pair in PAIRS:
                self.curve(family, pair, forms[pair])
        self.bandwidth()
        self.read("switch", ["switch"], label=None)
        switch = self.value("switch")
        if switch is not None and switch > MOST_SWITCH_NS:
            self.lack("switch", f"{switch:.3g} ns: other programs had the CPU between the ranks' turns")
        self.made.constants = {
            name: self.made.constants[name] for name in CONSTANTS if name in self.made.constants
        }
        return self.made

    def put(self, name: str, value: float, error: float | None, source: str) -> None:
        unit = CONSTANTS[name].unit
        slope = name.startswith("contention.") and name.endswith(".c")  # readers never speed each other up
        if (CONSTANTS[name].positive or slope) and value <= 0:
            self.lack(name, f"it came out as {value:.3g} {unit}, but must be above 0 ({source})")
            return
        shown = None if error is None else float(f"{error:.3g}")
        self.made.constants[name] = Constant(
            float(f"{value:.5g}"), unit, self.kind, f"{self.machine}: {source}", shown
        )

    def lack(self, name: str, reason: str) -> None:
        self.made.constants[name] = Constant.undetermined(CONSTANTS[name].unit, reason)

    def refuse(self, fit_name: str, names: Sequence[str], reason: str) -> None:
        """Drop a fit that tells nothing. All of its constants are then missing, since they belong together."""
        self.made.refused[fit_name] = reason
        for name in names:
            self.lack(name, reason)

    def why_not(self, subject: str) -> str:
        if subject in self.found.skipped:
            return self.found.skipped[subject]
        labels = list(self.found.labels.values())
        if labels and "remote" not in labels:
            return f"no round had its CPUs on distinct cores ({', '.join(sorted(set(labels)))})"
        return "not measured"

    def source(self, what: str, rounds: int, low: float, high: float) -> str:
        return f"{what}, {rounds} round{'s' if rounds > 1 else ''} ({low:.4g} to {high:.4g})"

    def read(self, name: str, subjects: Sequence[str], label: str | None = "remote") -> None:
        """Set a cost to the mean time of some subjects."""
        values = self.found.combined(subjects, lambda *v: float(np.mean(v)), label)
        estimate = self.found.estimate(values)
        if estimate is None:
            self.lack(name, self.why_not(subjects[0]))
            return
        specs = [self.found.launches[s, 1][0].subject.spec for s in subjects]
        text = self.source(" and ".join(specs), estimate.rounds, estimate.low, estimate.high)
        self.put(name, estimate.value, estimate.standard_error, text)

    def local_reads(self) -> None:
        self.read("line.local", ["local.M", "local.E"], label=None)  # of one core, wherever the others are

    def memory_reads(self) -> None:
        if self.found.combined(["local.memory", "near.memory"], lambda *v: 0.0):
            self.read("line.memory", ["local.memory", "near.memory"])
        else:
            self.read("line.memory", ["local.memory"], label=None)
        self.read("line.far.memory", ["far.memory"])
        local = self.value("line.local")
        for name in ("line.memory", "line.far.memory"):
            read = self.value(name)
            if local is not None and read is not None and read < MEMORY_HITS * local:
                self.lack(
                    name, f"{read:.3g} ns is too fast for memory: lines cannot be evicted on {self.machine}"
                )

    def remote(self) -> None:
        """R_R of the simplified model: the mean of M, E and S, whether they form one cluster or differ."""
        known = {state: self.found.summary(f"near.{state}") for state in "MES"}
        costs = {f"line.remote.{state}": one for state, one in known.items() if one is not None}
        others = {"line.local": "local.E", "line.memory": "near.memory"}
        everything = {
            **costs,
            **{n: s for n, of in others.items() if (s := self.found.summary(of)) is not None},
        }
        if everything:
            self.made.clusters = cluster_costs(everything)
        if not costs:
            self.lack("line.remote", self.why_not("near.E"))
            return
        states = [name[-1] for name in costs]
        values = self.found.combined([f"near.{s}" for s in states], lambda *v: float(np.mean(v)))
        estimate = self.found.estimate(values)
        if estimate is None:
            self.lack("line.remote", self.why_not("near.E"))
            return
        together = any(set(costs) <= set(cluster.names) for cluster in self.made.clusters)
        means = ", ".join(f"{name[-1]} {one.mean:.4g}" for name, one in costs.items())
        error = estimate.standard_error
        if together:
            text = f"one cluster: {means}"
        else:
            # The error includes that of the simplification.
            spread = float(np.std([one.mean for one in costs.values()]))
            error = float(np.hypot(error or 0, spread))
            text = f"mean of costs that differ by more than their deviations: {means}"
        self.put(
            "line.remote",
            estimate.value,
            error,
            self.source(text, estimate.rounds, estimate.low, estimate.high),
        )

    def value(self, name: str) -> float | None:
        constant = self.made.constants.get(name)
        return None if constant is None else constant.value

    def overheads(self) -> None:
        """O of equation (2.1), computed within each round: a ping-pong of exclusive lines less its three reads."""
        between = self.found.combined(
            ["ping-pong.EE", "local.E", "near.E", "near.M"],
            lambda t, local, read, modified: t - local - read - modified,
        )
        text = "ping-pong E, E less R_L + R_R,E + R_R,M of the same round"
        estimate = self.found.estimate(between)
        if estimate is None:
            self.lack("overhead", self.why_not("ping-pong.EE"))
        else:
            source = self.source(text, estimate.rounds, estimate.low, estimate.high)
            self.put("overhead", estimate.value, estimate.standard_error, source)
        same = self.found.combined(["ping-pong.siblings", "local.E"], lambda t, local: t - 3 * local)
        text = "ping-pong E, E of two hardware threads of a core less 3 R_L of the same round"
        if not same:
            same = self.found.combined(
                ["ping-pong.EE", "local.E"], lambda t, local: t - 3 * local, "same-core"
            )
            text = "ping-pong E, E less 3 R_L in rounds whose CPUs were on one core"
        estimate = self.found.estimate(same)
        if estimate is None:
            self.lack("overhead.same-core", self.found.skipped.get("ping-pong.siblings", "not measured"))
            return
        source = self.source(text, estimate.rounds, estimate.low, estimate.high)
        self.put("overhead.same-core", estimate.value, estimate.standard_error, source)

    def points(self, name: str) -> tuple[list[int], list[float], list[float]]:
        """The n of a subject measured at several n, with their times and errors."""
        sizes = self.found.sizes(name)
        times, errors = [], []
        for n in sizes:
            estimate = self.found.estimate(self.found.by_round(name, n))
            assert estimate is not None
            times.append(estimate.value)
            errors.append(estimate.standard_error or 0)
        least = LEAST_ERROR * np.abs(times)
        if name.startswith("contention") and times:
            least = np.full(len(times), least.max())
        return sizes, times, np.maximum(errors, least).tolist()

    def curve(self, family: str, pair: str, form: str) -> None:
        """Make a fit whose parameters are the constants ``family.pair.parameter``."""
        subject = f"{family}.{pair}"
        letters = "oqp" if family == "multi" else "cba"
        sizes, times, errors = self.points(subject)
        try:
            if not sizes:
                raise FitError(subject, self.why_not(subject))
            made = fit(form, sizes, times, sigma=errors)
        except (FitError, ArgumentError) as error:
            reason = error.reason if isinstance(error, FitError) else str(error)
            if family == "contention" and len(sizes) <= len(FORM_OF[form].parameters):
                reason = self.no_contention(subject, sizes)
            for letter in letters:
                self.lack(f"{subject}.{letter}", reason)
            return
        self.made.fits[subject] = made
        unseen = unseen_error(made)
        rounds = len(self.found.by_round(subject, sizes[0]))
        points = f"{len(sizes)} points from {sizes[0]} to {sizes[-1]}"
        what = f"{made.form.formula} fitted to {points}, {rounds} rounds"
        if unseen is not None:
            what += f", {unseen:.1%} off on unseen points"
            if not unseen <= MOST_UNSEEN:
                reason = f"{what}: more than {MOST_UNSEEN:.0%}"
                self.refuse(subject, [f"{subject}.{letter}" for letter in letters], reason)
                return
        for letter in letters:
            name = f"{subject}.{letter}"
            if letter in made.form.parameters:
                self.put(name, made.value(letter), made.standard_error(letter), what)
            else:
                self.put(name, 0.0, None, f"{made.form.formula} has none")

    def no_contention(self, subject: str, sizes: Sequence[int]) -> str:
        if sizes:
            most = f"{sizes[-1]} reader{'s' if sizes[-1] > 1 else ''}"
            return (
                f"{sizes[-1] + 1} cores show a line with {most} at most: too few to see how readers hinder each other, "
                "and ranks that share a CPU do not show it"
            )
        return self.found.skipped.get(
            subject, "there is only one core: ranks that share a CPU do not show contention"
        )

    def bandwidth(self) -> None:
        """F and P of (A.1), and the bandwidth of a pair at the longest message. Short messages show the start-up,
        but for those of one line, which have none."""
        short, long = self.points("multi.II"), self.points("bandwidth")
        n, times, errors = (a[short[0].count(1) :] + b for a, b in zip(short, long, strict=True))
        names = ("bandwidth.F", "bandwidth.P")
        memory = self.value("line.memory")
        modified = self.value("line.remote.M")
        if long[0]:
            largest = long[0][-1]
            rates = {
                r: 64 * largest / ns for r, ns in self.found.by_round("bandwidth", largest).items() if ns > 0
            }
            estimate = self.found.estimate(rates)
            if estimate is not None:
                text = f"messages of {64 * largest // 1024} KiB, send and receive lines in memory"
                source = self.source(text, estimate.rounds, estimate.low, estimate.high)
                self.put("copy", estimate.value, estimate.standard_error, source)
        if "copy" not in self.made.constants:
            self.lack("copy", self.why_not("bandwidth"))
        try:
            if memory is None or modified is None:
                missing = "line.memory" if memory is None else "line.remote.M"
                raise FitError(", ".join(names), f"it needs {missing}, which is not known")
            made: BandwidthFit = fit_bandwidth(n, times, memory_ns=memory, remote_ns=modified, sigma=errors)
        except (FitError, ArgumentError) as error:
            for name in names:
                self.lack(name, error.reason if isinstance(error, FitError) else str(error))
            return
        self.made.fits["bandwidth"] = made.fit
        what = f"{made.fit.form.formula} fitted to {len(n)} messages of {n[0]} to {n[-1]} lines"
        unseen = unseen_error(made.fit)
        if unseen is not None:
            what += f", {unseen:.1%} off on unseen points"
            if not unseen <= MOST_UNSEEN:
                self.refuse("bandwidth", names, f"{what}: more than {MOST_UNSEEN:.0%}")
                return
        if not made.in_flight_error <= made.in_flight:
            value = f"P = {made.in_flight:.3g} with a standard error of {made.in_flight_error:.3g}"
            self.refuse("bandwidth", names, f"{what}: {value}")
            return
        self.put("bandwidth.F", made.factor, made.factor_error, what)
        alone = f"long messages show P/F alone, {made.in_flight / made.factor:.3g}"
        self.put("bandwidth.P", made.in_flight, made.in_flight_error, f"{what}; {alone}")


def unseen_error(made: Fit) -> float | None:
    """Root mean square of the relative errors on points left out; None if the others do not determine the fit."""
    try:
        return made.held_out().relative_rms
    except FitError:
        return None
