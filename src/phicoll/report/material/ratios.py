"""Ratios used by several sections: to the hand-written reference, to the best barrier, to the best reference."""

from __future__ import annotations

from dataclasses import dataclass

from phicoll.papers.claims.versus import Versus, family_ratio
from phicoll.results.compare import Comparison, Row
from phicoll.results.compare.best import Ratio, by_round, choose_best, ratios_to, split
from phicoll.results.reading.observations import Observation, Observations
from phicoll.results.reading.subject import Subject

__all__ = ["HandWritten", "Setting", "hand_written_of", "is_hand_written", "is_reference", "settings_of"]

Group = dict[Subject, list[Observation]]


def is_hand_written(subject: Subject) -> bool:
    """Whether a subject is a hand-written reference: a loop for exactly this case."""
    return subject.algorithm.startswith("hand-")


def is_reference(subject: Subject) -> bool:
    """Whether a subject is a barrier of another system."""
    return subject.origin == "reference" and not is_hand_written(subject)


@dataclass
class Setting:
    """The verified subjects of one mode and definition, and their summaries."""

    mode: str
    definition: str
    group: Group
    rows: dict[Subject, Row]

    @property
    def hands(self) -> Group:
        return {s: of for s, of in self.group.items() if is_hand_written(s)}

    @property
    def ours(self) -> Group:
        return {s: of for s, of in self.group.items() if s.origin != "reference"}

    @property
    def references(self) -> Group:
        return {s: of for s, of in self.group.items() if is_reference(s)}

    def ranked(self) -> list[Row]:
        """The project's barriers, the fastest first, by their ratio to the best of them within rounds."""
        ratios = ratios_to(self.ours)
        return sorted((self.rows[s] for s in ratios), key=lambda row: ratios[row.subject].median)

    def tied(self) -> tuple[Row, list[tuple[Row, Ratio]]] | None:
        """The best of the project's barriers, and the ratio of every other to it."""
        ratios = ratios_to(self.ours)
        if not ratios:
            return None
        first = next((s for s, ratio in ratios.items() if ratio.opponent == s.spec), None)
        if first is None:
            return None
        others = sorted(
            ((self.rows[s], r) for s, r in ratios.items() if s != first), key=lambda pair: pair[1].median
        )
        return self.rows[first], others

    def fastest(self, group: Group) -> Row | None:
        """The best subject of a group, chosen as everywhere: on odd rounds."""
        ratios = ratios_to(group)
        return next((self.rows[s] for s, ratio in ratios.items() if ratio.opponent == s.spec), None)

    def lead(self) -> Versus | None:
        """The best reference over the project's best."""
        return family_ratio(self.references, self.ours)


def settings_of(observations: Observations, comparison: Comparison) -> dict[tuple[str, str], Setting]:
    """The settings by (definition, mode), from remote rounds if there are any: other rounds' subjects are rows of their own."""
    found: dict[tuple[str, str], Setting] = {}
    rows = {row.subject: row for row in comparison if row.verified and row.time is not None}
    remote = {(s.definition, s.mode) for s in rows if s.label != "same-core"}
    for subject, of in observations.by_subject.items():
        if subject not in rows:
            continue
        key = (subject.definition, subject.mode)
        if subject.label == "same-core" and key in remote:
            continue
        setting = found.setdefault(key, Setting(subject.mode, subject.definition, {}, {}))
        setting.group[subject] = of
        setting.rows[subject] = rows[subject]
    order = {"loop": 0, "window": 1, "threads": 2, "processes": 3}
    return dict(sorted(found.items(), key=lambda item: [order.get(word, 9) for word in item[0]]))


@dataclass
class HandWritten:
    """The hand-written reference: the chosen loop, and every subject's ratio to it."""

    name: str
    subject: Subject
    ratios: dict[Subject, Ratio]


def hand_written_of(setting: Setting) -> HandWritten | None:
    """Ratios to the best hand-written reference: chosen on odd rounds and compared on even ones where there are several."""
    hands = setting.hands
    if not hands:
        return None
    values = {subject: by_round(of) for subject, of in hands.items()}
    rounds = sorted({key for by in values.values() for key in by})
    group = setting.group
    chosen = next(iter(hands))
    if len(hands) > 1:
        odd, even = split(rounds)
        found = choose_best(values, odd) if odd and even else choose_best(values, set(rounds))
        assert found is not None
        chosen = found
        if odd and even:
            group = {s: [o for o in of if o.round_key in even] for s, of in group.items()}
    return HandWritten(chosen.algorithm, chosen, ratios_to({s: of for s, of in group.items() if of}, chosen))
