""":func:`why`: the algorithm that ``auto`` chooses for a call, and the reason."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import phicoll._core as _core
from phicoll.comm.group_options import MEMORY_LIMIT, MOST_BYTES
from phicoll.errors import ArgumentError
from phicoll.foundations.checks import argument_names, check_flag, check_text, check_whole
from phicoll.foundations.html_table import preformatted
from phicoll.measuring.sweeps import (
    MAX_RANKS,
    MODES,
    ONE_SIZE,
    check_sizes,
    machine_text,
    placement_text,
    refuse,
)
from phicoll.models.tuning.prediction import Predicted, model_of, predicted
from phicoll.models.tuning.table import RULES, Table, as_table, tuning_text
from phicoll.registry import REDUCTIONS, moves_data, short_spec
from phicoll.registry.machines import Machine
from phicoll.results.reading.subject import size_text

if TYPE_CHECKING:
    from phicoll.models import MachineModel

__all__ = ["Choice", "why"]


@dataclass(frozen=True)
class Choice:
    """The algorithm that a communicator chooses for a call, and why.

    Attributes
    ----------
    operation, call:
        The operation, and the call by its own name (``"gatherv"``, ``"exscan"``).
    environment:
        The variable that decided, such as ``"PHICOLL_BROADCAST"``; empty if none did.
    spec, parameters:
        What runs, and every parameter's value in effect.
    reason:
        The row of the table, or the rule; if a row could not serve, also why not.
    numbers:
        The host's numbers at which the rule begins and ends (docs/tuning.md), such as ``"rotate=24576, wide=131072"``;
        empty where none decided.
    origins:
        Where each of these numbers is from: ``"measured here"``, ``"default"``, ``"from the table"``, or ``"from the
        file"`` for another value in the file of this kind of host.
    disturbed:
        How many calibrations in a row were disturbed and dropped; groups made later that lack numbers try again.
    tuned:
        Whether a row of the table decided.
    from_bytes, to_bytes:
        The sizes for which the same choice holds; ``to_bytes`` is None if there is no upper end.
    shared_bytes:
        Bytes of the group's shared memory that it uses.
    rule, rule_reason, rule_line:
        What the built-in rules alone would choose, why, and the line that says so (``phicoll list rules``).
    prediction:
        A model's prediction for it; None if it is not modelled. ``no_prediction`` then says why.
    """

    operation: str
    call: str
    ranks: int
    size: int
    mode: str
    machine: str
    placement: str
    cpus: int
    sharing: bool
    spec: str
    parameters: dict[str, str]
    reason: str
    numbers: str
    origins: dict[str, str]
    disturbed: int
    environment: str
    tuned: bool
    from_bytes: int
    to_bytes: int | None
    shared_bytes: int
    rule: str
    rule_reason: str
    rule_line: int
    table: Table | None
    prediction: Predicted | None
    no_prediction: str

    def to_dict(self) -> dict[str, Any]:
        """The object that ``phicoll why --json`` prints."""
        found: dict[str, Any] = {
            name: getattr(self, name)
            for name in self.__dataclass_fields__
            if name not in ("table", "prediction")
        }
        found["table"] = (
            None if self.table is None else {"path": self.table.name, "digest": self.table.digest}
        )
        found["prediction"] = None if self.prediction is None else self.prediction.to_dict()
        return found

    def __str__(self) -> str:
        where = f"{self.machine}, simulated" if self.mode == "simulated" else self.mode
        what = f"{self.call} of {size_text(self.size)}" if moves_data(self.operation) else self.call
        share = "some share one" if self.sharing else "a CPU each"
        lines = [
            f"{what}, {self.ranks} ranks ({where}, {self.cpus} CPUs: {share})",
            f"  chooses     {short_spec(self.operation, self.spec)}",
            f"  because     {self.reason}",
            "  parameters  " + (", ".join(f"{k}={v}" for k, v in self.parameters.items()) or "none"),
        ]
        if moves_data(self.operation):
            end = "on" if self.to_bytes is None else f"to {self.to_bytes:,}"
            lines.append(f"  holds       from {self.from_bytes:,} {end} bytes")
        if self.numbers:
            how = ", ".join(sorted(set(self.origins.values())))
            if "," in how:
                how = ", ".join(f"{name} {origin}" for name, origin in self.origins.items())
            if self.disturbed:
                how += "; the last calibration was disturbed by other programs"
            lines.append(f"  decided by  {self.numbers} (host's numbers, {how})")
        lines.append(f"  memory      {self.shared_bytes:,} bytes of the group's")
        if self.table is None:
            lines.append("  table       none is given, and PHICOLL_TUNING names none")
        else:
            lines.append(f"  table       {self.table.name}, digest {self.table.digest}")
        if self.tuned or self.environment:
            lines.append(f"  rule        {short_spec(self.operation, self.rule)}: {self.rule_reason}")
        lines.append(
            f"  {'' if self.tuned or self.environment else 'rule':<11} {RULES}, line {self.rule_line}"
        )
        lines.append(f"  model       {self.prediction or self.no_prediction}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return preformatted(str(self))


@argument_names
def why(
    operation: str,
    ranks: int = 2,
    size: int | str | None = None,
    *,
    mode: str | None = None,
    machine: str | os.PathLike[str] | Machine | None = None,
    placement: str = "",
    tuning: str | os.PathLike[str] | None = None,
    foreign: str = "",
    model: str | os.PathLike[str] | MachineModel | None = None,
    type: str = "float32",
    op: str = "sum",
    commutative: bool = True,
    memory_limit: int = MEMORY_LIMIT,
) -> Choice:
    """Explain which algorithm a communicator uses for a call. Starts nothing.

    The environment decides first (``PHICOLL_BROADCAST``, docs/comm.md), otherwise ``auto``. For a simulated machine no
    variable decides.

    Parameters
    ----------
    operation, ranks, size:
        The call, by its operation or by the name of a method of :class:`phicoll.Comm` (``"gatherv"``, ``"Exscan"``,
        ``"bcast"``; ``"reduce_scatter"`` is MPI's, with a count for each rank).
        ``size`` is the bytes of the count argument, a number or a text such as ``"64K"``, 4096 by default: of the
        message or a block; of the mean block in allgatherv and reduce_scatter. In gatherv, scatterv and alltoallv ranks
        do not know each other's counts, so no choice depends on the size. A barrier has none.
    mode:
        ``"threads"`` or ``"processes"`` (the default); ``"simulated"`` with a machine.
    machine:
        A simulated machine; None for this one.
    placement:
        As :func:`phicoll.run` takes it; empty: ranks are not pinned (simulated: ``balanced``).
    tuning:
        A tuning table, ``"none"`` for none, by default that of ``PHICOLL_TUNING``.
    foreign:
        What to do with a table, or a ``model`` file unless the machine is simulated, that was not measured on this
        host: ``"refuse"`` it (the default; for a table ``PHICOLL_TUNING_FOREIGN``), or ``"use"`` it, a model with a
        warning.
    model:
        The machine whose model predicts the call: a file or a name. By default the simulated machine; none for this
        machine.
    type, op:
        Element type and operator of a reduction.
    commutative:
        Whether a reduction's operator is commutative; a user-defined one may not be.
    memory_limit:
        The group's limit of shared memory, in bytes.

    Raises
    ------
    ArgumentError
        Bad input; a table that cannot be read (the message names the line) or is another machine's; an environment
        variable that names an algorithm which does not exist or cannot serve this call.
    """
    name = check_text("operation", operation, "a name such as 'allreduce' or 'Gatherv'")
    call, operation, counts_differ = _core.call_name(name)
    count = check_whole("ranks", ranks, 1, MAX_RANKS)
    if moves_data(operation):
        try:
            sizes = check_sizes(ONE_SIZE if size is None else size)
        except ArgumentError as error:
            raise ArgumentError("size", error.got, error.allowed) from None
        if len(sizes) != 1:
            raise ArgumentError("size", repr(size), "one")
    else:
        refuse({"size": size or None}, "only where data moves")
        sizes = [0]
    text = "" if machine is None else machine_text(machine)
    allowed = ("simulated",) if text else MODES
    mode = ("simulated" if text else "processes") if mode is None else mode
    if mode not in allowed:
        raise ArgumentError("mode", repr(mode), ", ".join(allowed) + (" with a machine" if text else ""))
    if not check_flag("commutative", commutative) and operation not in REDUCTIONS:
        raise ArgumentError("commutative", "False", "only with " + ", ".join(REDUCTIONS))
    if check_text("foreign", foreign, "refuse, use") not in ("", "refuse", "use"):
        raise ArgumentError("foreign", repr(foreign), "refuse, use")
    where = placement_text(placement)
    found = _core.choose(
        operation=call,
        size=sizes[0],
        ranks=count,
        mode=mode,
        placement=where,
        machine=text,
        tuning="" if tuning is None else tuning_text(tuning),
        foreign=foreign,
        type=check_text("type", type),
        op=check_text("op", op),
        vector=counts_differ,
        commutative=commutative,
        memory_limit=check_whole("memory_limit", memory_limit, 1, MOST_BYTES),
    )
    choice, rule = found["choice"], found["rule"]
    prediction, reason = predicted(
        operation,
        choice["spec"],
        count,
        sizes[0],
        model_of(model, text or None, foreign or "refuse"),
        found["sharing"],
    )
    return Choice(
        operation=operation,
        call=found["call"],
        ranks=count,
        size=sizes[0],
        mode=mode,
        machine=text or "host",
        placement=where,
        cpus=found["cpus"],
        sharing=found["sharing"],
        spec=choice["spec"],
        parameters=dict(choice["parameters"]),
        reason=choice["why"],
        numbers=choice["numbers"],
        origins={
            name: found["numbers"]["origins"][name]
            for name in (number.partition("=")[0] for number in choice["numbers"].split(", ") if number)
        },
        disturbed=found["numbers"]["numbers"]["disturbed"],
        environment=found["environment"],
        tuned=choice["tuned"],
        from_bytes=choice["from_bytes"],
        to_bytes=choice["to_bytes"],
        shared_bytes=choice["shared_bytes"],
        rule=rule["spec"],
        rule_reason=rule["why"],
        rule_line=rule["line"],
        table=None if found["table"] is None else as_table(found["table"]),
        prediction=prediction,
        no_prediction=reason,
    )
