"""Reading JSON strictly: no NaN, no infinity, no invalid UTF-8, and one kind of error for all that is not JSON."""

from __future__ import annotations

from typing import Any

import msgspec

__all__ = ["parse_json"]

DECODER = msgspec.json.Decoder()


def parse_json(text: str | bytes) -> Any:
    """The value of a JSON text.

    Raises
    ------
    ValueError
        Not JSON, not UTF-8, a number out of range, or nested too deeply.
    """
    try:
        return DECODER.decode(text)
    except (msgspec.DecodeError, UnicodeError) as error:  # which of them says so depends on msgspec's version
        said = str(error)
        raise ValueError("not UTF-8" if "utf-8" in said.lower() else said) from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
