"""Which records there are already: lines may be there twice, as in a file that was appended to itself or to its copy.

``known_records.cpp`` does the same for the C++ programs.
"""

from __future__ import annotations

import json
from typing import Any

__all__ = ["Known"]

#: The fields that tell records of a kind apart.
PLACES = {
    "sample": ("point", "launch", "round"),
    "round": ("point", "launch", "round", "mode", "ranks"),
    "point": ("point", "mode", "ranks"),
    "context": (),
    "end": (),
}


class Known:
    """The records so far.

    A sample is told by its run, point, launch, round and definition: it has one value. Another record is repeated if an
    equal one is there; a point that failed later is another one.
    """

    def __init__(self) -> None:
        self.records: dict[Any, list[dict[str, Any]]] = {}
        self.repeated = 0  #: how many were there already, without ends

    def add(self, record: dict[str, Any]) -> bool:
        """Whether the record is new. One that is there already is counted.

        Raises
        ------
        ValueError
            A sample contradicts an earlier one.
        """
        alike = self.records.setdefault(identity(record), [])
        if record in alike:
            self.repeated += record["kind"] != "end"  # a run that is resumed ends again, and may say the same
            return False
        if alike and record["kind"] == "sample":
            raise ValueError("another value of a sample that is there")
        alike.append(record)
        return True


def identity(record: dict[str, Any]) -> Any:
    """What tells a record from those that cannot be equal; all of a record without a place in its run."""
    kind, run = record["kind"], record.get("run", "")
    if kind not in PLACES:
        return kind, run, json.dumps(record, sort_keys=True)
    definition = record.get("definition", "loop") if kind == "sample" else ""
    return kind, run, definition, *(record.get(name) for name in PLACES[kind])
