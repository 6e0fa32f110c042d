"""Packages that only an extra of phicoll installs, such as Matplotlib by ``phicoll[plots]``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from phicoll.errors import ResourceError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["data_frame", "extra"]


@contextmanager
def extra(name: str) -> Iterator[None]:
    """A context for importing an extra's packages: the error for one that is missing names the command that
    installs it.

    Raises
    ------
    ResourceError
        A package is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise ResourceError(f"{error.name} is not installed; run: pip install 'phicoll[{name}]'") from error


def data_frame(data: Any = None, **options: Any) -> pd.DataFrame:
    """``pandas.DataFrame(data, **options)``. Raises as :func:`extra`."""
    with extra("frames"):
        import pandas

    return pandas.DataFrame(data, **options)
