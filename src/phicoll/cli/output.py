"""Writing data to stdout."""

from __future__ import annotations

import argparse
import json
from typing import Any, Protocol

from phicoll.foundations import streams

__all__ = ["add_json", "put", "put_found", "put_json"]


class Found(Protocol):
    """A result that a command prints: as text, or with ``--json`` as an object."""

    def to_dict(self) -> dict[str, Any]: ...


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def put(text: str) -> None:
    streams.put(text.rstrip("\n"))


def put_found(found: Found, as_json: bool) -> None:
    if as_json:
        put_json(found.to_dict())
    else:
        put(str(found))


def put_json(data: Any) -> None:
    shown = json.dumps(data, indent=2, ensure_ascii=False)
    put("".join(f"\\u{ord(one):04x}" if streams.is_control(one) else one for one in shown))
