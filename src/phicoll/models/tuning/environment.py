"""The value of ``PHICOLL_TUNING`` while tuning measures."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from phicoll.foundations.files import temporary_folder, write_text
from phicoll.models.tuning.table import costs_text

__all__ = ["only_costs"]


@contextmanager
def only_costs(costs: dict[str, int]) -> Iterator[None]:
    """Within it, algorithms run without the environment's table, and are designed by the new table's costs."""
    before = os.environ.get("PHICOLL_TUNING")
    with ExitStack() as stack:
        name = "none"
        if costs:
            table = stack.enter_context(temporary_folder("the table's line costs")) / "costs.tuning"
            write_text(table, costs_text(costs))
            name = str(table)
        os.environ["PHICOLL_TUNING"] = name
        try:
            yield
        finally:
            if before is None:
                del os.environ["PHICOLL_TUNING"]
            else:
                os.environ["PHICOLL_TUNING"] = before
