"""The targets of a characterisation: this host's CPUs, or a simulated machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

import phicoll._core as _core
from phicoll.errors import ArgumentError
from phicoll.explaining import kernels
from phicoll.models.characterizing.observations import Launch
from phicoll.models.characterizing.plan import Subject
from phicoll.registry.machines import Machine, load_machine

__all__ = ["Host", "Simulated", "Target"]

#: A read that takes less than this many hits of the own core's cache never left the core (as in docs/measuring.md).
SAME_CORE_HITS = 8


class Target(Protocol):
    name: str
    simulated: bool
    cores: int  #: that can run a rank each
    missing: dict[str, str]  #: places that it does not have, with the reason

    def places(self, subject: Subject) -> Sequence[str]: ...
    def run(self, subject: Subject, round_number: int, seed: int) -> Launch: ...
    def label(self, round_number: int, seed: int) -> str: ...


def launch(subject: Subject, machine: str | None, where: str, round_number: int, seed: int) -> Launch:
    found = kernels.run(
        subject.spec,
        machine=machine,
        ranks=subject.ranks,
        where=where,
        samples=subject.samples,
        seed=seed,
        # The reading rank takes no part in polling, so the kernel's other ranks need not hold a CPU.
        wait="adaptive" if machine is None and subject.spec.startswith("read-latency") else "spin",
    )
    empty = found.empty_ns / found.per_sample
    ns = np.atleast_2d(found.measured).mean(axis=0) - empty
    return Launch(subject, round_number, where, ns, empty, found)


@dataclass
class Host:
    """The CPUs that this process may use."""

    name: str = "host"
    simulated: bool = False
    cores: int = field(init=False)
    cpus: list[int] = field(init=False)
    missing: dict[str, str] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        allowed = set(_core.allowed_cpus())
        count = _core.allowed_cpu_count()  # a container's quota may be less
        usable = [place for place in _core.topology() if place["cpu"] in allowed]
        self.cpus = [place["cpu"] for place in usable]
        heads, siblings = [], []
        seen: dict[int, int] = {}
        for place in usable:
            core = place["core"]
            if core < 0 or core not in seen:
                seen[core if core >= 0 else -1 - place["cpu"]] = place["cpu"]
                heads.append(place)
            else:
                siblings.append(f"{seen[core]},{place['cpu']}")
        self.cores = min(len(heads), count)
        self.place = {"one": [str(place["cpu"]) for place in heads[:4]], "siblings": siblings[:3]}
        self.spread = ",".join(str(place["cpu"]) for place in heads)
        pairs: dict[bool, list[str]] = {True: [], False: []}
        triples: dict[bool, list[str]] = {True: [], False: []}
        for distance in dict.fromkeys((1, len(heads) // 2, len(heads) - 1)):
            for near in (True, False):
                for a, b in zip(heads, heads[distance:] if distance > 0 else [], strict=False):
                    if (a["package"] == b["package"]) != near:
                        continue
                    pairs[near].append(f"{a['cpu']},{b['cpu']}")
                    # The other holder is in the owner's package, so that the line has one place.
                    third = [c for c in heads if c not in (a, b) and c["package"] == b["package"]]
                    if third:
                        triples[near].append(f"{a['cpu']},{b['cpu']},{third[0]['cpu']}")
                    break  # one pair for each distance
        if count < 2:
            pairs = {True: [], False: []}
        if count < 3:
            triples = {True: [], False: []}
        self.place |= {"near": pairs[True], "far": pairs[False]}
        self.place |= {"near-helper": triples[True], "far-helper": triples[False]}
        self.place["same-cpu"] = [str(heads[0]["cpu"])]
        cpus = f"{count} CPU{'s' if count > 1 else ''}"
        third = f"it takes three cores of a package, and {cpus} may be used"
        packages = len({place["package"] for place in heads})
        other = "no other package" if packages < 2 else f"no core of another package among {cpus}"
        reasons = {
            "near": f"it takes two cores of a package, and {cpus} may be used",
            "near-helper": third,
            "far": other,
            "far-helper": other,
            "siblings": "no two CPUs that may be used share a core",
        }
        self.missing = {place: why for place, why in reasons.items() if not self.place[place]}

    def places(self, subject: Subject) -> Sequence[str]:
        if subject.place == "spread":
            return [",".join(self.spread.split(",")[: subject.ranks])] if subject.ranks <= self.cores else []
        return self.place[subject.place]

    def run(self, subject: Subject, round_number: int, seed: int) -> Launch:
        places = self.places(subject)
        return launch(subject, None, places[round_number % len(places)], round_number, seed)

    def label(self, round_number: int, seed: int) -> str:
        """Whether two cores are distinct just now: virtual CPUs sometimes share one."""
        if not self.place["near"]:
            return "remote"
        where = self.place["near"][round_number % len(self.place["near"])]
        own = Subject("probe", "read-latency:state=M:owner=self", 1, "one", 5)
        other = Subject("probe", "read-latency:state=M", 2, "near", 10)
        local = float(np.median(launch(own, None, where.split(",")[0], round_number, seed).ns))
        read = float(np.median(launch(other, None, where, round_number, seed).ns))
        return "same-core" if read < SAME_CORE_HITS * local else "remote"


@dataclass
class Simulated:
    """A simulated machine, optionally with changes."""

    machine: Machine
    all_distances: bool = False
    simulated: bool = True
    missing: dict[str, str] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        parameters = self.machine.parameters
        self.name = self.machine.name
        self.cores = self.machine.cores
        packages = int(parameters["topology.packages"])
        if parameters["topology.protocol"] == "directory":
            # ramos-hoefler-2013 fits its model at the middle distance.
            near = ["middle", "adjacent", "maximum"] if self.all_distances else ["middle"]
        else:
            near = ["same-package"]
        alone, few = self.cores // packages < 2, self.cores // packages < 3
        self.place = {
            "one": ["scatter"],
            "spread": ["scatter"],
            "near": [] if alone else near,
            "near-helper": [] if few else near,
            "far": ["other-package"] if packages > 1 else [],
            "far-helper": ["other-package"] if packages > 1 and not few else [],
            "siblings": ["same-core"] if self.machine.contexts > self.cores else [],
            "same-cpu": [],
        }
        reasons = {
            "near": "the machine has one core",
            "near-helper": "a package has fewer than three cores",
            "far": "the machine has one package",
            "far-helper": "the machine has one package",
            "siblings": "a core has one context",
            "same-cpu": "a context of a simulated machine has one rank",
        }
        self.missing = {place: why for place, why in reasons.items() if not self.place[place]}

    @classmethod
    def of(cls, machine: str, all_distances: bool) -> Simulated:
        if not isinstance(machine, str):
            raise ArgumentError("machine", repr(machine), "the name or file of a simulated machine")
        found = cls(load_machine(machine), all_distances)
        found.text = machine
        return found

    text: str = ""  #: what loads it

    def places(self, subject: Subject) -> Sequence[str]:
        if subject.place == "spread" and subject.ranks > self.cores:
            return []
        return self.place[subject.place]

    def run(self, subject: Subject, round_number: int, seed: int) -> Launch:
        places = self.places(subject)
        return launch(subject, self.text, places[round_number % len(places)], round_number, seed)

    def label(self, round_number: int, seed: int) -> str:
        return "remote"
