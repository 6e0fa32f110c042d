"""Rounds: every subject once, in random order, between two checks whether the cores are distinct."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from phicoll.errors import ArgumentError
from phicoll.models.characterizing.observations import Launch, Observations
from phicoll.models.characterizing.plan import Effort, Subject, subjects
from phicoll.models.characterizing.targets import Target

__all__ = ["KEYS", "observe"]

#: The costs whose intervals end the measurement once they are narrow.
KEYS = ("local.M", "local.E", "near.M", "near.E", "near.memory", "ping-pong.EE")


def observe(
    target: Target,
    effort: Effort,
    seed: int,
    step: Callable[[int, int, str], None],
    keep: Callable[[Sequence[Launch], str], None] = lambda launches, label: None,
) -> Observations:
    """Measure until the intervals are narrow, the rounds are done or the time is up; at least one round.

    ``step(done, total, what)`` is called between launches, ``keep(launches, label)`` after each round. A subject that
    the machine refuses (a state that its protocol does not have) is dropped and recorded in ``skipped``.
    """
    found = Observations(target.simulated)
    chosen = []
    for subject in subjects(effort, target.cores):
        if target.places(subject):
            chosen.append(subject)
        else:
            found.skipped[subject.name] = target.missing.get(subject.place, "too few cores")
    random = np.random.default_rng(seed)
    start = time.monotonic()
    for number in range(effort.rounds):
        late = time.monotonic() - start > effort.budget_s
        if number > 0 and (late or narrow(found, effort, number)):
            break
        launches = done_round(target, effort, found, chosen, number, random, start, step)
        keep(launches, found.labels[number])
    return found


def done_round(
    target: Target,
    effort: Effort,
    found: Observations,
    chosen: list[Subject],
    number: int,
    random: np.random.Generator,
    start: float,
    step: Callable[[int, int, str], None],
) -> list[Launch]:
    seeds = [int(value) for value in random.integers(1, 1 << 31, size=len(chosen) + 2)]
    before = target.label(number, seeds[-1])
    launches = []
    for i, index in enumerate(random.permutation(len(chosen))):
        subject = chosen[index]
        elapsed = time.monotonic() - start
        if number > 0 and elapsed > effort.budget_s:
            break
        if subject.name in found.skipped:
            continue
        step(*progress(effort, number, i / len(chosen), elapsed), f"{subject.name} {subject.n}")
        try:
            launches.append(target.run(subject, number, seeds[i]))
        except ArgumentError as error:
            found.skipped[subject.name] = error.allowed.removeprefix("what it can run: ")
    after = target.label(number, seeds[-2])
    found.labels[number] = before if before == after else "mixed"
    for one in launches:
        found.add(one)
    return launches


def progress(effort: Effort, number: int, share: float, elapsed: float) -> tuple[int, int]:
    """Progress in thousandths, by the rounds or the time, whichever ends first."""
    by_rounds = (number + share) / effort.rounds
    by_time = elapsed / effort.budget_s if effort.budget_s > 0 else 0.0
    return min(999, int(1000 * max(by_rounds, by_time))), 1000


def narrow(found: Observations, effort: Effort, rounds: int) -> bool:
    if rounds < effort.least_rounds:
        return False
    keys = [key for key in KEYS if key not in found.skipped]
    return all(found.width(key) <= effort.target_width for key in keys)
