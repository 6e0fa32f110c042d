"""Writing data to stdout."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

__all__ = ["add_json", "put", "put_json"]


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def put(text: str) -> None:
    sys.stdout.write(text.rstrip("\n") + "\n")
    sys.stdout.flush()


def put_json(data: Any) -> None:
    put(json.dumps(data, indent=2, ensure_ascii=False))
