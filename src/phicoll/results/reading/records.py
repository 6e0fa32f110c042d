"""Reading the lines of a results file (docs/records.md).

Every complete line is kept; damaged ones, and those whose fields are not what docs/records.md says, are counted and
told with their numbers. What is there twice counts once. A file of another program or of a newer schema is refused.
"""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from reprlib import repr as shortened
from typing import Any

from phicoll.errors import PhicollWarning, ResultsFileError
from phicoll.foundations.files import as_path, input_lines
from phicoll.foundations.json_text import parse_json
from phicoll.foundations.streams import printable
from phicoll.results.reading.identity import Known
from phicoll.results.reading.schema import record_fault

__all__ = ["KINDS", "SCHEMA", "Record", "RecordFile", "parse_lines", "read_file", "verified_calls"]

#: The newest schema that this version reads and writes.
SCHEMA = 1

#: The most values in a record. A window of 1,000 calls of 1,024 ranks has half as many.
MOST_VALUES = 4 << 20

KINDS = ("context", "point", "round", "sample", "end")

Record = dict[str, Any]


@dataclass
class RecordFile:
    """The records of one source in order, and the number of damaged lines."""

    records: list[Record] = field(default_factory=list)
    damaged_lines: int = 0
    source: str = ""


def parse_lines(lines: Iterable[str | bytes], source: str, *, warn: bool = True) -> RecordFile:
    """Parse the JSON Lines of a run.

    Parameters
    ----------
    lines:
        The lines, with or without line ends.
    source:
        The name of the source in messages: a path or a program.
    warn:
        Whether to issue a :class:`PhicollWarning` if lines are damaged.

    Raises
    ------
    ResultsFileError
        The first complete line is not a record of phicoll, a record's schema is newer than :data:`SCHEMA`, or there is
        no complete line.
    """
    with collection_paused():
        return parse(lines, source, warn)


@contextmanager
def collection_paused() -> Iterator[None]:
    """Leave the garbage collector alone: records have no cycles, and looking for some takes half of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def parse(lines: Iterable[str | bytes], source: str, warn: bool) -> RecordFile:
    parsed = RecordFile(source=source)
    last_is_cut_off = False
    faults: list[str] = []
    known = Known()
    for number, line in enumerate(lines, start=1):
        text = line if isinstance(line, bytes) else line.encode("utf-8", "surrogatepass")
        text = text.strip().strip(b"\0")
        if not text:
            continue
        try:
            check_size(text)
            record = parse_json(text)
        except ValueError as error:
            if not parsed.records and not text.startswith(b"{"):
                raise not_ours(source, f"line {number} is not JSON") from None
            faults.append(f"line {number}: {error}")
            last_is_cut_off = True
            continue
        last_is_cut_off = False
        fault = check(record, number, source, first=not parsed.records)
        try:
            if fault:
                raise ValueError(fault)
            if known.add(record):
                parsed.records.append(record)
        except ValueError as error:
            faults.append(f"line {number}: {error}")
    parsed.damaged_lines = len(faults)
    if not parsed.records:
        got = (
            "no line"
            if not parsed.damaged_lines
            else f"{describe_damage(parsed.damaged_lines, last_is_cut_off)} and no whole one"
        )
        raise ResultsFileError(source, got, "a results file with at least its context line")
    words = []
    if faults:
        words.append(
            f"{describe_damage(parsed.damaged_lines, last_is_cut_off)} skipped,"
            f" {len(parsed.records)} whole lines kept; {told(faults)}"
        )
    if known.repeated:
        words.append(f"{known.repeated} repeated line(s) counted once")
    if words and warn:
        warnings.warn(f"{printable(source)}: {'; '.join(words)}", PhicollWarning, stacklevel=3)
    return parsed


def check_size(text: bytes) -> None:
    """Refuse a text of very many values before they take their memory: 60 times that of ``0,``. Raises ValueError."""
    if len(text) > MOST_VALUES and text.count(b",") + text.count(b"[") + text.count(b"{") > MOST_VALUES:
        raise ValueError(f"more than {MOST_VALUES} values")


def describe_damage(lines: int, last_is_cut_off: bool) -> str:
    """Damaged lines in words. Only the last line can have been cut off by the end of the run."""
    inner = lines - last_is_cut_off
    parts = [f"{inner} damaged line(s)"] * (inner > 0) + ["1 cut-off line"] * last_is_cut_off
    return " and ".join(parts)


def told(faults: list[str], most: int = 3) -> str:
    """The first faults as text."""
    return "; ".join([*faults[:most], *["..."] * (len(faults) > most)])


def check(record: object, number: int, source: str, *, first: bool) -> str:
    """What is wrong with a record; empty if nothing is.

    Raises
    ------
    ResultsFileError
        The first record is not phicoll's, or the record is of a newer schema.
    """
    fault = ""
    if not isinstance(record, dict) or "schema" not in record or "kind" not in record:
        fault = "no schema and kind"
    else:
        schema = record["schema"]
        if not isinstance(schema, int) or isinstance(schema, bool) or schema < 1:
            fault = f"schema {shortened(schema)}"
        elif schema > SCHEMA:
            raise ResultsFileError(
                source,
                f"schema {shortened(schema)} in line {number}",
                f"schema {SCHEMA} or older; a newer phicoll wrote this file",
            )
        elif first and (record["kind"] != "context" or record.get("phicoll") != "results"):
            fault = f"kind {shortened(record['kind'])}"
        else:
            fault = record_fault(record)
    if fault and first:
        raise not_ours(source, f"line {number}: {fault}")
    return fault


def verified_calls(point: Record) -> int:
    """The number of calls that verified a point. Older files name it ``episodes``."""
    verification = point.get("verification") or {}
    return int(verification.get("calls", verification.get("episodes")) or 0)


def not_ours(source: str, why: str) -> ResultsFileError:
    return ResultsFileError(source, why, "a results file of phicoll, which begins with its context line")


def read_file(path: str | Path, *, warn: bool = True) -> RecordFile:
    """Read a JSON Lines results file. Raises :class:`ResultsFileError` if it cannot be read."""
    path = as_path(path)
    try:
        return parse_lines(input_lines(path), str(path), warn=warn)
    except OSError as error:
        raise ResultsFileError(
            str(path), error.strerror or str(error), "a results file that can be read"
        ) from error
