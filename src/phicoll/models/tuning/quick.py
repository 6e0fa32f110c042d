""":func:`tune_quick`: the host's numbers, measured within a tenth of a second."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import phicoll._core as _core
from phicoll.foundations.html_table import preformatted

__all__ = ["Quick", "tune_quick"]


@dataclass(frozen=True)
class Quick:
    """The host's numbers (docs/tuning.md).

    Attributes
    ----------
    host:
        The kind of host, such as ``"AMD EPYC, family 26 model 2"``.
    numbers:
        Every number by its name.
    defaults:
        What they are where nothing was measured.
    file:
        Where they are kept; None where there is no cache to write to.
    """

    host: str
    numbers: dict[str, int]
    defaults: dict[str, int]
    file: Path | None

    def to_dict(self) -> dict[str, object]:
        """The object that ``phicoll tune --quick --json`` prints."""
        return {
            "host": self.host,
            "numbers": self.numbers,
            "defaults": self.defaults,
            "file": None if self.file is None else str(self.file),
        }

    def __str__(self) -> str:
        changed = [
            f"  {name:<18} {value:>12,}  (default {self.defaults[name]:,})"
            for name, value in self.numbers.items()
            if value != self.defaults[name] and name not in ("disturbed", "numbers-seen")
        ]
        disturbed = (
            ["  other programs disturbed it: nothing new was kept; stop them and try again"]
            if self.numbers["disturbed"]
            else []
        )
        where = "not kept: no cache can be written" if self.file is None else f"kept in {self.file}"
        return "\n".join(
            [
                f"{self.host}: {len(changed)} of {len(self.numbers)} numbers differ",
                *changed,
                *disturbed,
                f"  {where}",
            ]
        )

    def _repr_html_(self) -> str:
        return preformatted(str(self))


def tune_quick() -> Quick:
    """Measure the host's numbers between two pinned threads, and keep them for this kind of host.

    Takes a tenth of a second for each of two, four and eight ranks, and more where other programs disturb it. Groups
    that are made later use them.

    Raises
    ------
    ResourceError
        This process may use one CPU only.
    """
    found = _core.calibrate()
    file = Path(found["file"])
    return Quick(
        _core.host_kind(),
        dict(found["numbers"]),
        dict(_core.default_numbers()),
        file if found["file"] and file.exists() else None,
    )
