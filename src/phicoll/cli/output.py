"""Writing data to stdout."""

from __future__ import annotations

import argparse
import json
from typing import Any, Protocol

__all__ = ["add_json", "put", "put_found", "put_json"]


class Found(Protocol):
    """A result that a command prints: as text, or with ``--json`` as an object."""

    def to_dict(self) -> dict[str, Any]: ...


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def put(text: str) -> None:
    print(text.rstrip("\n"), flush=True)  # nothing where stdout was closed at the start


def put_found(found: Found, as_json: bool) -> None:
    if as_json:
        put_json(found.to_dict())
    else:
        put(str(found))


def put_json(data: Any) -> None:
    put(json.dumps(data, indent=2, ensure_ascii=False))
