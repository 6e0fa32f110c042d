"""How a wait compares."""

from __future__ import annotations

import enum

from phicoll.errors import ArgumentError

__all__ = ["CMP", "CMP_EQ", "CMP_GE", "CMP_GT", "CMP_LE", "CMP_LT", "CMP_NE"]


class CMP(enum.IntEnum):
    """Equal, not equal, greater, greater or equal, less, less or equal. Calls take ``"=="`` and ``"eq"`` too."""

    EQ = 1
    NE = 2
    GT = 3
    GE = 4
    LT = 5
    LE = 6


CMP_EQ = CMP.EQ
CMP_NE = CMP.NE
CMP_GT = CMP.GT
CMP_GE = CMP.GE
CMP_LT = CMP.LT
CMP_LE = CMP.LE

Comparison = CMP | int | str

_NAMES = dict(zip(("==", "!=", ">", ">=", "<", "<="), CMP, strict=True)) | {
    one.name.lower(): one for one in CMP
}


def comparison(cmp: Comparison) -> int:
    """The number of a comparison, by number, name or sign."""
    try:
        return CMP(_NAMES[cmp.lower()] if isinstance(cmp, str) else cmp)
    except (KeyError, ValueError):
        raise ArgumentError("cmp", repr(cmp), f"{', '.join(_NAMES)}, or CMP_EQ and so on") from None
