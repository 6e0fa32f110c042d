"""alpha, beta and gamma of a machine from its line costs, at best and at worst: phicoll's reading.

namashivayam-2014 section 5.1 uses the three without giving values. A message is a flag and the lines behind it.
"""

from __future__ import annotations

from phicoll.models.alpha_beta import AlphaBeta
from phicoll.models.large_broadcast import copied_lines, copy_slope
from phicoll.models.line_costs import Constants, local, remote
from phicoll.models.multi_line import LINE_BYTES, lines_of

__all__ = ["message_costs"]


def message_costs(model: Constants, size_bytes: int) -> tuple[AlphaBeta, AlphaBeta]:
    """The best and the worst costs of messages of up to ``size_bytes`` (at least 1).

    Best: alpha = R_L + R_R, a flag that is there is read once; beta = o / 64. Worst: alpha = R_L + 3 R_R + O, the flag
    is looked at once too early, so that its writer fetches it back, and, of more than a line, the start-up of a copy,
    q - p / N. gamma is the constant ``combine`` a line. Copies beyond 8 KiB go on by equation A.1.
    """
    lines = lines_of(size_bytes)
    bytes_moved = lines * LINE_BYTES
    gamma = model.value("combine") / LINE_BYTES
    beta = copy_slope(model, lines, longer=True) / bytes_moved
    flag = local(model) + remote(model)
    late = flag + 2 * remote(model) + max(model.value("overhead"), 0.0)
    if lines > 1:
        late += max(copied_lines(model, lines, longer=True) - copy_slope(model, lines, longer=True), 0.0)
    return AlphaBeta(flag, beta, gamma), AlphaBeta(late, beta, gamma)
