"""The decisions of a tuning run, kept beside its table so that a later run can continue."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from phicoll.errors import ArgumentError
from phicoll.foundations.files import input_lines
from phicoll.foundations.json_text import parse_json
from phicoll.models.tuning.decision import Decision

__all__ = ["read_journal"]


def read_journal(path: Path, head: dict[str, Any]) -> list[Decision]:
    """The decisions of an earlier run; none if there is no such file. A last line that was cut off is dropped."""
    if not path.exists():
        return []
    try:
        lines = [line.rstrip(b"\n") for line in input_lines(path)]
    except OSError as error:
        raise ArgumentError("resume", f"'{path}' ({error.strerror})", "a file that can be read") from None
    try:
        theirs = parse_json(lines[0]) if lines else None
    except ValueError:
        theirs = None
    if theirs != head:
        raise ArgumentError(
            "resume", f"'{path}', decisions of another machine or with other settings", json.dumps(head)
        )
    found = []
    for number, line in enumerate(lines[1:], start=2):
        if not line:
            continue
        try:
            found.append(Decision.from_dict(parse_json(line)))
        except ValueError:
            if number < len(lines):
                shown = line[:60].decode("utf-8", "replace")
                raise ArgumentError("resume", f"{path}:{number}: {shown!r}", "a decision") from None
    return found
