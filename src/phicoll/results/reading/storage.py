"""Writing results, and reading them from Parquet.

A Parquet file has one row per sample, with its raw values. The other records are in the file's metadata, so ``load``
returns the same records in the same order.
"""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phicoll.errors import ArgumentError, ResourceError, ResultsFileError
from phicoll.foundations.extras import extra
from phicoll.foundations.files import as_path, check_writable, open_input, replaced
from phicoll.foundations.json_text import parse_json
from phicoll.results.reading.frames import to_dataframe
from phicoll.results.reading.identity import Known
from phicoll.results.reading.records import Record, RecordFile, check

if TYPE_CHECKING:
    from phicoll.results.reading.recorded import Recorded

__all__ = ["check_savable", "read_parquet", "write"]

METADATA = b"phicoll"
ALLOWED = "a results file of phicoll"
#: Before it, a Parquet file could run programs (CVE-2023-47248).
SAFE_PYARROW = (14, 0, 1)
ROWS_AT_ONCE = 256
#: The most values of a file, and bytes of memory, for its size: a small one can hold any number of equal values.
#: Samples have less than one value, and some 15 bytes, to a byte of the file.
ALWAYS_VALUES, VALUES_PER_BYTE = 4 << 20, 16
ALWAYS_TAKEN, MOST_RATIO = 64 << 20, 100
ENDINGS = (".jsonl", ".jsonl.gz", ".parquet", ".csv")
SAMPLE_COLUMNS = ("run", "point", "launch", "round", "order", "definition", "calls", "capped", "ns")


def check_savable(path: str | Path, argument: str = "path") -> Path:
    """Check that results can be saved in ``path``, by its ending and its folder, and return it."""
    path = as_path(path, argument)
    if not path.name.endswith(ENDINGS):
        raise ArgumentError(argument, repr(str(path)), f"a file that ends in {', '.join(ENDINGS)}")
    with extra("frames"):  # before anything is measured
        if path.suffix == ".parquet":
            import pyarrow  # noqa: F401
        elif path.suffix == ".csv":
            import pandas  # noqa: F401
    return check_writable(path, argument)


def write(results: Recorded, path: str | Path) -> Path:
    """Write all records to ``path``, or the table of samples if it ends in ``.csv``; replaces the file atomically.

    Raises :class:`ResourceError` if the disk is full.
    """
    path = check_savable(path)
    with replaced(path) as temporary:
        if path.suffix == ".parquet":
            write_parquet(results, temporary)
        elif path.suffix == ".csv":
            to_dataframe(results).to_csv(temporary, index=False)
        elif path.suffix == ".gz":
            with gzip.open(temporary, "wb", compresslevel=6) as packed:
                packed.writelines(line.encode() for line in lines(results))
        else:
            with temporary.open("w", encoding="utf-8") as stream:
                stream.writelines(lines(results))
    return path


def lines(results: Recorded) -> Iterator[str]:
    for record in results.records:
        yield json.dumps(record, separators=(",", ":"), ensure_ascii=False) + "\n"


def write_parquet(results: Recorded, path: Path) -> None:
    with extra("frames"):
        import pyarrow as pa
        import pyarrow.parquet as pq

    columns: dict[str, list[Any]] = {name: [] for name in (*SAMPLE_COLUMNS, "position", "more")}
    others: list[list[Any]] = []
    for position, record in enumerate(results.records):
        if record["kind"] != "sample":
            others.append([position, record])
            continue
        for name in SAMPLE_COLUMNS:
            columns[name].append(record.get(name))
        columns["position"].append(position)
        rest = {n: v for n, v in record.items() if n not in SAMPLE_COLUMNS or v is None}
        columns["more"].append(json.dumps(rest))
    schema = pa.schema(
        [
            ("run", pa.string()),
            ("point", pa.int64()),
            ("launch", pa.int64()),
            ("round", pa.int64()),
            ("order", pa.int64()),
            ("definition", pa.string()),
            ("calls", pa.int64()),
            ("capped", pa.bool_()),
            ("ns", pa.list_(pa.float64())),
            ("position", pa.int64()),
            ("more", pa.string()),
        ]
    )
    head = {"damaged_lines": results.damaged_lines, "records": others}
    table = pa.table(columns, schema=schema.with_metadata({METADATA: json.dumps(head).encode()}))
    pq.write_table(table, path, compression="zstd")


def read_parquet(path: str | Path) -> RecordFile:
    """Read a Parquet file of :func:`write`. Raises :class:`ResultsFileError` for any other."""
    with extra("frames"):
        import pyarrow as pa
        import pyarrow.parquet as pq

    check_pyarrow(pa.__version__, str(path))
    try:
        with open_input(Path(path)) as stream:
            size = os.fstat(stream.fileno()).st_size
            file = pq.ParquetFile(stream)
            check_columns(file, size, str(path))
            head = (file.schema_arrow.metadata or {})[METADATA]
            rows, taken = [], 0
            for batch in file.iter_batches(ROWS_AT_ONCE):
                taken += batch.nbytes
                if taken > max(ALWAYS_TAKEN, MOST_RATIO * size):
                    raise ResultsFileError(str(path), f"more than {taken >> 20} MB in {size} bytes", ALLOWED)
                rows += batch.to_pylist()
    except ResultsFileError:
        raise
    except (OSError, pa.ArrowException) as error:
        raise ResultsFileError(str(path), str(error).splitlines()[0], ALLOWED) from error
    try:
        head = parse_json(head)
        placed: list[tuple[int, Record]] = [(position, record) for position, record in head["records"]]
        for row in rows:
            position, more = row.pop("position"), parse_json(row.pop("more"))
            row = {name: value for name, value in row.items() if value is not None}
            placed.append((position, {**more, **row}))
        placed.sort(key=lambda pair: pair[0])
        damaged_lines = int(head["damaged_lines"])
    except (ValueError, TypeError, KeyError) as error:
        raise ResultsFileError(
            str(path), f"columns or metadata that are damaged ({error})", ALLOWED
        ) from error
    known, records = Known(), []
    for number, (_, record) in enumerate(placed, start=1):
        fault = check(record, number, str(path), first=number == 1)
        try:
            if fault:
                raise ValueError(fault)
            if known.add(record):
                records.append(record)
        except ValueError as error:
            raise ResultsFileError(str(path), f"record {number}: {error}", ALLOWED) from None
    return RecordFile(records, damaged_lines, str(path))


def check_pyarrow(version: str, path: str) -> None:
    """Refuse a pyarrow that runs programs which a Parquet file names. Raises :class:`ResourceError`."""
    if tuple(map(int, re.findall(r"\d+", version)[:3])) < SAFE_PYARROW:
        safe = ".".join(map(str, SAFE_PYARROW))
        raise ResourceError(
            f"{path} is not read: pyarrow {version} runs programs that a file names (CVE-2023-47248); "
            f"run: pip install 'pyarrow>={safe}'"
        )


def check_columns(file: Any, size: int, path: str) -> None:
    """Refuse a file that :func:`write` did not make, and one with very many values, before data take memory.

    Raises :class:`ResultsFileError`.
    """
    if METADATA not in (file.schema_arrow.metadata or {}):
        raise ResultsFileError(path, "a Parquet file without phicoll's metadata", ALLOWED)
    names = set(file.schema_arrow.names)
    if names != {*SAMPLE_COLUMNS, "position", "more"} or file.metadata.num_columns != len(names):
        raise ResultsFileError(path, f"a Parquet file with columns {', '.join(sorted(names))}", ALLOWED)
    groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
    values = sum(group.column(i).num_values for group in groups for i in range(group.num_columns))
    if values > max(ALWAYS_VALUES, VALUES_PER_BYTE * size):
        raise ResultsFileError(path, f"{values:,} values in {size:,} bytes", ALLOWED)
