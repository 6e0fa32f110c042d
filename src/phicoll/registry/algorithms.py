"""The core's registry of algorithms and their parameters, as Python objects."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import phicoll._core as _core
from phicoll.errors import ArgumentError
from phicoll.foundations.checks import argument_names, check_items, check_text
from phicoll.foundations.html_table import html_table
from phicoll.foundations.markup import Html, code, fill, join

__all__ = [
    "CALLS",
    "OPERATIONS",
    "PROGRAMS",
    "REDUCTIONS",
    "Algorithm",
    "AlgorithmList",
    "Parameter",
    "Program",
    "algorithm_sets",
    "algorithms",
    "as_text",
    "check_call",
    "check_measured",
    "check_operation",
    "expand",
    "moves_data",
    "short_spec",
]

#: The operations of this version.
OPERATIONS: tuple[str, ...] = tuple(_core.operations())
#: Everything that can be measured, mapped to its operation: the operations themselves, and ``exscan``, ``gatherv``,
#: ``scatterv``, ``allgatherv``, ``alltoallv``, ``reduce_scatter``.
CALLS: dict[str, str] = dict(_core.measured_calls())
#: The operations that combine elements with an operator.
REDUCTIONS: tuple[str, ...] = tuple(_core.reductions())
_WITHOUT_DATA = frozenset(_core.operations_without_data())


@dataclass(frozen=True)
class Program:
    """A program whose run is measured with each algorithm of ``operation``; ``classes`` say how large an input is.

    ``ways``, if there are any, say how it moves its data.
    """

    name: str
    operation: str
    source: str
    summary: str
    classes: Mapping[str, str]
    ways: Mapping[str, str]


#: The programs, by name. One of a class is named as NPB names its executables: ``cg.S``, ``is-shmem.S.get``.
PROGRAMS: dict[str, Program] = {row["name"]: Program(**row) for row in _core.programs()}


def program_of(operation: str) -> Program | None:
    """The program of a name such as ``cg.S``, or None for a call's name."""
    return PROGRAMS.get(operation.partition(".")[0])


def moves_data(operation: str) -> bool:
    """Whether the operation has a message or blocks, and so a size: all but ``barrier`` and programs."""
    return operation not in _WITHOUT_DATA and program_of(operation) is None


@dataclass(frozen=True)
class Parameter:
    """One parameter of an algorithm; ``range`` and ``default`` are text, as on the command line."""

    name: str
    range: str
    default: str
    meaning: str


@dataclass(frozen=True)
class Algorithm:
    """One algorithm. ``origin`` is ``paper``, ``phicoll`` or ``reference``; ``source`` cites where it comes from."""

    name: str
    origin: str
    source: str
    summary: str
    parameters: tuple[Parameter, ...]

    def to_dict(self) -> dict[str, Any]:
        """The object that ``phicoll list --json`` prints."""
        return {**asdict(self), "parameters": [asdict(parameter) for parameter in self.parameters]}

    def __str__(self) -> str:
        return ":".join([self.name, *(f"{p.name}={p.default}" for p in self.parameters)])


class AlgorithmList(tuple[Algorithm, ...]):
    """Algorithms in the registry's order; displayed as a table, in a notebook with the parameters."""

    __slots__ = ()

    @property
    def names(self) -> list[str]:
        """The names alone."""
        return [algorithm.name for algorithm in self]

    def __repr__(self) -> str:
        width = max(map(len, self.names), default=0)
        return "\n".join(f"{a.name:<{width}}  {a.origin:<9}  {a.summary}" for a in self)

    def _repr_html_(self) -> str:
        # What most of them take is said once; the rows have its name alone.
        found = Counter(parameter for algorithm in self for parameter in algorithm.parameters)
        common = [parameter for parameter, number in found.items() if number > max(1, len(self) / 2)]

        def meaning(p: Parameter) -> Html:
            return fill("{} {}, default {}: {}", code(p.name), p.range, p.default, p.meaning)

        def parameters(a: Algorithm) -> Html:
            named = join(", ", (code(p.name) for p in a.parameters if p in common))
            own = [meaning(p) for p in a.parameters if p not in common]
            return join(Html("<br>"), own + [named] * bool(named))

        rows = [[code(a.name), a.origin, a.source, a.summary, parameters(a)] for a in self]
        table = html_table(["name", "origin", "source", "what it does", "parameters"], rows, left=(3, 4))
        return table + join(
            "", (fill("<p><small>{}</small></p>", meaning(parameter)) for parameter in common)
        )


def check_call(operation: str) -> str:
    """Return the name in :data:`CALLS` of a call given by that name or MPI's, else raise :class:`ArgumentError`."""
    return named(operation, _core.call_of)


def check_measured(operation: str) -> str:
    """Return the same for what a sweep takes, which may also be one of :data:`PROGRAMS`: ``cg`` is ``cg.S``."""
    return named(operation, _core.measured_of)


def named(operation: str, name_of: Callable[[str], str]) -> str:
    text = check_text("operation", operation, ", ".join(CALLS))
    try:
        return name_of(text)
    except ArgumentError:
        name = text.partition(",")[0].partition(":")[0].strip()
        having = [known for known in OPERATIONS if name in algorithms_of(known).names]
        if not having:
            raise
        meant = f"{' or '.join(having)}, with {text!r} as its algorithm"
        raise ArgumentError("operation", repr(text), meant) from None


def check_operation(operation: str) -> str:
    """Return the operation of a call, by its name or by MPI's, else raise :class:`ArgumentError`."""
    return CALLS[check_call(operation)]


@argument_names
def algorithms(operation: str = "barrier") -> AlgorithmList:
    """All algorithms of an operation: the papers', phicoll's own, and references from other systems.

    Raises
    ------
    ArgumentError
        ``operation`` is not one of :data:`phicoll.registry.OPERATIONS`.
    """
    return algorithms_of(check_operation(operation))


@functools.cache
def algorithms_of(operation: str) -> AlgorithmList:
    return AlgorithmList(
        Algorithm(
            name=found["name"],
            origin=found["origin"],
            source=found["source"],
            summary=found["summary"],
            parameters=tuple(Parameter(**parameter) for parameter in found["parameters"]),
        )
        for found in _core.algorithms(operation)
    )


def algorithm_sets(operation: str = "barrier") -> list[str]:
    """The names of the sets that ``algorithm=`` accepts, such as ``all``, ``references`` and ``paper-001``."""
    return list(_core.algorithm_sets(check_operation(operation)))


@argument_names
def expand(algorithm: str | Iterable[str] = "all", operation: str = "barrier") -> list[str]:
    """Expand ``algorithm`` to a list of canonical specs, each with the value of every parameter.

    Parameters
    ----------
    algorithm:
        ``name:parameter=value:...``, several of them separated by commas or in a list; sets are expanded.
    operation:
        One of :data:`phicoll.registry.CALLS`: ``"barrier"``, ``"broadcast"``, ``"gatherv"``, ...

    Raises
    ------
    ArgumentError
        An unknown algorithm (the message lists the nearest names), an unknown parameter, or a value out of range.
    """
    operation = check_call(operation)
    text = as_text(algorithm)
    return list(_core.expand(operation, text))


def as_text(algorithm: str | Iterable[str]) -> str:
    """Join specs with commas."""
    if isinstance(algorithm, str):
        text = algorithm
    else:
        given = check_items(
            "algorithm", algorithm, "a text such as 'dissemination:ways=3', or a list of them"
        )
        parts = [str(part) if not isinstance(part, Algorithm) else part.name for part in given]
        text = ",".join(parts)
    if not text.strip():
        raise ArgumentError("algorithm", repr(algorithm), "at least one algorithm or set")
    return check_text("algorithm", text)


@functools.cache
def defaults(operation: str, name: str) -> Mapping[str, str]:
    """The default values of an algorithm's parameters; empty for an unknown algorithm."""
    program = program_of(operation)
    if program is None and operation not in CALLS:
        return {}
    listed = algorithms(CALLS[operation] if program is None else program.operation)
    found: Sequence[Algorithm] = [a for a in listed if a.name == name]
    return {p.name: p.default for p in found[0].parameters} if found else {}


def short_spec(operation: str, spec: str) -> str:
    """``spec`` without the parameters that have default values."""
    name, *parameters = spec.split(":")
    usual = defaults(operation, name)
    kept = [text for text in parameters if usual.get(text.partition("=")[0]) != text.partition("=")[2]]
    return ":".join([name, *kept])
