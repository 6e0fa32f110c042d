"""alpha, beta and gamma of a machine from its line costs, best and worst case.

namashivayam-2014 section 5.1 uses the three without giving values; this is phicoll's reading. A message is a flag
followed by lines of data.
"""

from __future__ import annotations

from phicoll.models.equations.alpha_beta import AlphaBeta
from phicoll.models.equations.large_broadcast import copy_slope
from phicoll.models.equations.line_costs import Constants, local, remote
from phicoll.models.equations.multi_line import LINE_BYTES, lines_of

__all__ = ["message_costs"]


def message_costs(model: Constants, size_bytes: int) -> tuple[AlphaBeta, AlphaBeta]:
    """The best and the worst costs of messages of up to ``size_bytes`` (at least 1).

    - Best: alpha = R_L + R_R: a flag that is there is read once, and its store overlaps others. beta = o / 64 of cached
      buffers.
    - Worst: alpha = R_L + 7 R_R + O. A message and the word that it has been read are two flags, each stored (R_R),
      looked at once too early (R_R) and once in time (R_R); between them the message's first line is fetched (R_R).
      Messages of more than a line add a copy's start-up, q - p / N. beta = o / 64 of buffers in memory, if the model
      has it.

    gamma is the constant ``combine`` per line. Beyond 8 KiB copies follow equation A.1 if that is slower.
    """
    lines = lines_of(size_bytes)
    bytes_moved = lines * LINE_BYTES
    gamma = model.value("combine") / LINE_BYTES
    cached = copy_slope(model, lines, longer=True)
    flag = local(model) + remote(model)
    late = flag + 6 * remote(model) + max(model.value("overhead"), 0.0)
    pair = "EE" if model.constant("multi.II.o").value is None else "II"
    if lines > 1:
        late += max(model.value(f"multi.{pair}.q") - model.value(f"multi.{pair}.p") / lines, 0.0)
    slow = max(cached, lines * model.value(f"multi.{pair}.o"))
    return AlphaBeta(flag, cached / bytes_moved, gamma), AlphaBeta(late, slow / bytes_moved, gamma)
