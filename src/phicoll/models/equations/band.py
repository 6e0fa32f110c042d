"""The minimum and maximum time that a model gives."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Band"]


@dataclass(frozen=True)
class Band:
    """Best and worst case in ns: "min-max models" of ramos-hoefler-2013 chapter 4."""

    low_ns: float
    high_ns: float

    def __add__(self, other: Band | float) -> Band:
        if not isinstance(other, Band):
            other = Band(other, other)
        return Band(self.low_ns + other.low_ns, self.high_ns + other.high_ns)

    __radd__ = __add__

    def __mul__(self, times: float) -> Band:
        """The band of ``times`` repetitions in a row."""
        return Band(self.low_ns * times, self.high_ns * times)

    __rmul__ = __mul__

    def holds(self, ns: float) -> bool:
        """Whether a time is in the band."""
        return self.low_ns <= ns <= self.high_ns

    def __str__(self) -> str:
        return f"{self.low_ns:.1f} to {self.high_ns:.1f} ns"
