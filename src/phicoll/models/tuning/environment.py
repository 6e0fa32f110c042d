"""The value of ``PHICOLL_TUNING`` while tuning measures."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from phicoll.models.tuning.table import costs_text

__all__ = ["only_costs"]


@contextmanager
def only_costs(costs: dict[str, int]) -> Iterator[None]:
    """Within it, algorithms run without the environment's table, and are designed by the new table's costs."""
    before = os.environ.get("PHICOLL_TUNING")
    with tempfile.NamedTemporaryFile("w", suffix=".tuning") as stream:
        stream.write(costs_text(costs))
        stream.flush()
        os.environ["PHICOLL_TUNING"] = stream.name if costs else "none"
        try:
            yield
        finally:
            if before is None:
                del os.environ["PHICOLL_TUNING"]
            else:
                os.environ["PHICOLL_TUNING"] = before
