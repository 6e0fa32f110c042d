"""Predictions of collectives by the models, from phicoll's names of operations and algorithms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from os import PathLike

from phicoll.errors import ArgumentError
from phicoll.models.constants.constant import Constant
from phicoll.models.constants.machine_model import MachineModel
from phicoll.models.constants.named_model import machine_model
from phicoll.models.equations.alpha_beta import ALLREDUCES
from phicoll.models.equations.band import Band
from phicoll.models.equations.barriers import acknowledged_barrier, dissemination_barrier
from phicoll.models.equations.checks import MAX_RANKS, check_choice, check_whole
from phicoll.models.equations.large_broadcast import flat_large, pipelined_slices
from phicoll.models.equations.line_costs import Constants, Warm
from phicoll.models.equations.message_costs import message_costs
from phicoll.models.equations.multi_line import lines_of
from phicoll.models.equations.small_reduction import reduction
from phicoll.models.equations.tree_broadcast import tree_broadcast, tree_of_levels
from phicoll.models.equations.trees import fibonacci_parents, flat_parents, k_nomial_parents, levels_in_use
from phicoll.models.optima import barrier_ways, table
from phicoll.registry import moves_data

__all__ = ["STARTS", "Prediction", "modelled", "predict"]

#: Where flags and slots are before a call: in memory, as chapter 4 assumes, or where the last call left them.
STARTS = ("evicted", "warm")
#: Bytes of a message that travel in the line that announces it (docs/collectives.md).
IN_HEADER = 48
LARGEST = 1 << 40


@dataclass(frozen=True)
class Prediction:
    """A band in ns with its equations and constants.

    ``used`` names the constants in it, ``assumed`` those of them that are another machine's.
    """

    low_ns: float
    high_ns: float
    source: str
    assumed: tuple[str, ...]
    used: tuple[str, ...] = ()

    @property
    def band(self) -> Band:
        """From the least to the largest time, in ns."""
        return Band(self.low_ns, self.high_ns)

    def holds(self, ns: float) -> bool:
        """Whether a time lies in the band."""
        return self.band.holds(ns)

    def __str__(self) -> str:
        taken = f"; {len(self.assumed)} of {len(self.used)} constants assumed" if self.assumed else ""
        return f"{self.low_ns:.0f} to {self.high_ns:.0f} ns ({self.source}{taken})"


@dataclass(frozen=True)
class Recorder(MachineModel):
    """A model that records which constants are used."""

    used: dict[str, Constant] = field(default_factory=dict, compare=False)

    def value(self, name: str) -> float:
        found = super().value(name)
        self.used[name] = self.constant(name)
        return found


@dataclass(frozen=True)
class Task:
    """One call: the constants of its start, the constants that decide on designs, ranks, bytes, parameters as
    texts."""

    model: Constants
    machine: MachineModel
    ranks: int
    size: int
    parameters: dict[str, str]
    b: str

    def whole(self, name: str) -> int:
        return int(self.parameters[name])

    def levels(self, operation: str) -> tuple[int, ...]:
        """k1 ... of the spec, else the model's best."""
        given = [self.whole(k) for k in ("k1", "k2", "k3", "k4", "k5", "k6") if k in self.parameters]
        levels = tuple(k for k in given if k) or table(operation, [self.ranks], self.machine)[0].levels
        return levels_in_use(self.ranks, levels)

    def copied(self) -> int:
        """Lines that do not fit into the header."""
        return 0 if self.size <= IN_HEADER else lines_of(self.size)


@dataclass(frozen=True)
class Model:
    """The prediction of an algorithm; ``needs`` are the parameter values to which the equations apply."""

    source: str
    band: Callable[[Task], Band]
    needs: tuple[tuple[str, str], ...] = ()


PAPER_004 = "ramos-hoefler-2013"
PAPER_003 = "namashivayam-2014"
SMALL = f"{PAPER_004} equation 4.7; above {IN_HEADER} bytes with T_copy of 4.10 for each level"
SHAPED = f"{SMALL}; at best acknowledged as ranks are done, at worst along the dearest path"
RECEIVERS = (("driven", "receiver"), ("complete", "subtree"))


def model_tree(task: Task) -> Band:
    return tree_of_levels(task.model, task.levels("broadcast"), task.copied(), task.b, task.parameters["ack"])


def shaped(parents: Callable[[Task], list[int]]) -> Model:
    """A tree for which the paper has no equation. For one line it takes at least as long as the "optimal tree" of
    equation 4.7."""

    def band(task: Task) -> Band:
        found = tree_broadcast(task.model, parents(task), task.copied(), task.b, task.parameters["ack"])
        least = 0.0 if task.copied() else model_tree(task).low_ns
        # The same sums in another order differ in their last bits.
        return found if found.low_ns > least + 1e-6 else Band(least, found.high_ns)

    return Model(SHAPED, band, RECEIVERS)


def pipelined(task: Task) -> Band:
    return pipelined_slices(task.model, task.ranks, lines_of(task.size), task.b, longer=True)


def flat(task: Task) -> Band:
    return flat_large(task.model, task.ranks, lines_of(task.size), task.b, longer=True)


def acknowledged(task: Task) -> Band:
    rounds = task.parameters["rounds"]
    ways = min(task.whole("m"), task.ranks - 1) or barrier_ways(task.ranks, task.machine, rounds).ways
    return acknowledged_barrier(task.model, task.ranks, ways, rounds)


def dissemination(task: Task) -> Band:
    return dissemination_barrier(task.model, task.ranks, min(task.whole("ways"), task.ranks - 1))


def model_reduce(task: Task) -> Band:
    piece = max(task.whole("piece") // 64, 1)
    return reduction(task.model, task.levels("reduce"), lines_of(task.size), piece, task.b)


def alpha_beta(name: str) -> Model:
    def band(task: Task) -> Band:
        best, worst = message_costs(task.model, task.size)
        how = {"merge_middle": task.parameters["merge_middle"] == "yes"} if name == "rabenseifner" else {}
        low, high = (ALLREDUCES[name](costs, task.ranks, task.size, **how) for costs in (best, worst))
        return Band(low, high)

    exchanges = (("left_computes", "no"),) if name in ("recursive-doubling", "rabenseifner") else ()
    return Model(
        f"{PAPER_003} section 5.1, folded to powers of two; alpha, beta and gamma from line costs",
        band,
        exchanges,
    )


MODELS: dict[str, dict[str, Model]] = {
    "barrier": {
        "dissemination-acknowledged": Model(
            f"{PAPER_004} equations 4.11 and 4.12", acknowledged, (("ack", "counter"),)
        ),
        "dissemination": Model(
            f"phicoll, of the pieces of {PAPER_004} section 4.2",
            dissemination,
            (("layout", "line-per-round"),),
        ),
    },
    "broadcast": {
        "model-tree": Model(SMALL, model_tree, RECEIVERS),
        "flat": shaped(lambda task: flat_parents(task.ranks)),
        "binomial": shaped(lambda task: k_nomial_parents(task.ranks, 2)),
        "k-nomial": shaped(lambda task: k_nomial_parents(task.ranks, task.whole("degree"))),
        "fibonacci": shaped(lambda task: fibonacci_parents(task.ranks, task.parameters["overhead"])),
        "pipelined-slices": Model(f"{PAPER_004} equations 4.8 and 4.9", pipelined),
        "flat-large": Model(f"{PAPER_004} equation 4.10", flat, (("ack", "counter"),)),
    },
    "reduce": {
        "model-tree": Model(
            f"{PAPER_004} equations 4.13 and 4.14; above a line o for each further one",
            model_reduce,
            (("into", "parents"), ("ack", "counter")),
        ),
    },
    "allreduce": {name: alpha_beta(name) for name in ALLREDUCES},
}


def modelled() -> dict[str, tuple[str, ...]]:
    """Names of the algorithms that :func:`predict` knows, by operation."""
    return {operation: tuple(models) for operation, models in MODELS.items()}


def predict(
    operation: str,
    algorithm: str,
    ranks: int,
    size: int,
    model: str | PathLike[str] | MachineModel,
    *,
    start: str = "evicted",
    b: str = "lines",
) -> Prediction:
    """Predict the time of one call, with each rank on its own core of one package.

    Parameters
    ----------
    operation, algorithm:
        Of :func:`modelled`; the algorithm perhaps with parameters, ``"k-nomial:degree=4"``. Those that a model designs
        (``model-tree``, ``dissemination-acknowledged``) have the design that is best for ``model`` where none is given.
    ranks:
        From 1, which takes nothing, to 1,024.
    size:
        Bytes of the message, from 1 on; 0 of a barrier.
    model:
        A :class:`MachineModel`, or what :func:`machine_model` takes.
    start:
        Where flags and slots are when the call begins: ``evicted``, in memory, as in the paper's models; ``warm``,
        where the last call left them, in another core's cache.
    b:
        ``lines`` or ``fitted``: see :func:`phicoll.models.equations.contention.intercept`.

    Raises
    ------
    ArgumentError
        An operation or algorithm that is not modelled, a parameter value that the model does not cover, ranks
        or size out of range, a constant that the model needs and the machine lacks.
    """
    check_choice("operation", operation, MODELS)
    check_choice("start", start, STARTS)
    found, parameters = of_spec(operation, algorithm)
    n = check_whole("ranks", ranks, 1, MAX_RANKS)
    if moves_data(operation):
        check_whole("size", size, 1, LARGEST)
    else:
        check_whole("size", size, 0, 0, f" (a {operation} has no data)")
    found_model = machine_model(model)
    recorder = Recorder(found_model.name, found_model.constants)
    source = f"{found.source}; {start} start"
    if n == 1:
        return Prediction(0.0, 0.0, source, ())
    constants: Constants = Warm(recorder) if start == "warm" else recorder
    band = found.band(Task(constants, recorder, n, size, parameters, b))
    used = tuple(recorder.used)
    assumed = tuple(key for key in used if recorder.used[key].kind == "assumed")
    # Where memory is dear beside the caches, a best case that begins with R_I can be above the worst, which does not.
    return Prediction(min(band.low_ns, band.high_ns), max(band.low_ns, band.high_ns), source, assumed, used)


def of_spec(operation: str, algorithm: str) -> tuple[Model, dict[str, str]]:
    """Model and all parameters of a spec."""
    from phicoll.registry import expand

    if not isinstance(algorithm, str):
        raise ArgumentError("algorithm", repr(algorithm), ", ".join(MODELS[operation]))
    name = algorithm.partition(":")[0]
    if name not in MODELS[operation]:
        raise ArgumentError("algorithm", repr(algorithm), f"for {operation}: {', '.join(MODELS[operation])}")
    specs = expand(algorithm, operation)
    if len(specs) != 1:
        raise ArgumentError("algorithm", repr(algorithm), "one algorithm")
    parameters = dict(part.split("=", 1) for part in specs[0].split(":")[1:])
    found = MODELS[operation][name]
    for key, needed in found.needs:
        if parameters.get(key, needed) != needed:
            raise ArgumentError(key, repr(parameters[key]), f"{needed!r}, which the model of {name} is about")
    return found, parameters
