"""The algorithms that MPIs have for a collective, and the variables by which they take one."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from phicoll.errors import ResourceError
from phicoll.foundations.programs import finished, on_path

__all__ = ["alternatives"]

#: MPICH's, as its variables MPIR_CVAR_..._INTRA_ALGORITHM name them.
OF_MPICH = {
    "barrier": ("dissemination",),
    "broadcast": ("binomial", "scatter_recursive_doubling_allgather", "scatter_ring_allgather"),
    "reduce": ("binomial", "reduce_scatter_gather"),
    "allreduce": ("recursive_doubling", "reduce_scatter_allgather"),
    "allgather": ("brucks", "recursive_doubling", "ring"),
    "alltoall": ("brucks", "pairwise", "scattered"),
}
#: Those that have one in shared memory, too.
IN_SHARED_MEMORY = ("barrier", "broadcast", "reduce", "allreduce")
#: Names of operations that the MPIs shorten.
SHORT = {"broadcast": "bcast"}
LISTING_TIMEOUT_S = 30.0


def alternatives(
    kind: str, launcher: str, operation: str, ranks: Collection[int]
) -> dict[str, dict[str, str]]:
    """The algorithms of an MPI, with its variables; the one that it takes by itself is among them.

    ``kind`` is that of its ``launcher``: hydra, which is MPICH's, or openmpi. Each serves communicators of all these
    numbers of ``ranks``: MPICH takes another where one cannot, Open MPI ends the program.

    Raises
    ------
    ResourceError
        Open MPI's cannot be listed.
    """
    name = SHORT.get(operation, operation)
    if kind == "hydra":
        of = f"MPIR_CVAR_{name.upper()}"
        found = {one: {f"{of}_INTRA_ALGORITHM": one} for one in OF_MPICH.get(operation, ())}
        if operation in IN_SHARED_MEMORY:
            found["release_gather"] = {f"{of}_POSIX_INTRA_ALGORITHM": "release_gather"}
        return found
    beside = Path(on_path(launcher) or launcher).resolve().parent / "ompi_info"
    words = [beside, "--param", "coll", "tuned", "--level", "9", "--parsable"]
    try:
        listed = finished(words, LISTING_TIMEOUT_S)
    except OSError as error:
        raise ResourceError(
            f"no ompi_info beside {launcher}, which would list the algorithms ({error.strerror})"
        ) from error
    parameter = f"coll_tuned_{name}_algorithm"
    values = re.findall(rf":{parameter}:enumerator:value:(\d+):(\w+)", listed.stdout)
    return {
        word: {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1", f"OMPI_MCA_{parameter}": number}
        for number, word in values
        if number != "0" and (word != "two_proc" or set(ranks) == {2})
    }
