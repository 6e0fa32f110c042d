"""What is said of statements beside their verdicts: why none, what they wait for, what would change them."""

from __future__ import annotations

__all__ = ["BUILT_IN_BY", "CHANGES", "WHY_NOT"]

_MPI = (
    "Intel's MPI library is proprietary and not simulated; its times on the card are known from figures only."
)

#: No check, by the reason.
WHY_NOT = {
    **dict.fromkeys(("000-17", "000-18", "000-25", "000-26", "000-28", "004-33", "004-35"), _MPI),
    "000-33": "noise.os_core gives a core to the operating system, but nothing published says how often and how long.",
    "001-14": "Intel's OpenMP library, against which the factor stands, is proprietary.",
    "003-11": "Needs MVAPICH2 on the paper's card.",
    "003-13": _MPI,
    "004-23": "No kernel starts two writers and a reader on one line from memory.",
    "004-24": "No kernel times the acknowledgements to one parent alone.",
}

#: Why the model could not have said otherwise.
BUILT_IN_BY = {
    "000-09": "A hop of the ring is short by calibration, so that no distance can matter.",
    "001-13": "The model's no-read store has no read by its definition.",
    "001-24": "The model has no noise.",
    "001-28": "A directory's distance is the only thing that addresses change.",
    "003-23": "A hop of the ring is short by calibration, so that no distance can matter.",
    "004-03": "A hop of the ring is short by calibration, so that no distance can matter.",
}

#: What would change a verdict, where more is known than the kind of the check.
CHANGES = {
    "000-01": "Nothing: 163 GB/s set memory.bandwidth.",
    "000-02": "request.merge_reads = on, which makes contexts of a core share a read.",
    "000-03": "A larger directory.service: its published values do not tell it from the lock while the owner answers.",
    "000-06": "Fewer instructions around a copy than software.copy, which 004's contention test set: a core's contexts share their issue. Without them 1.03 times.",
    "000-08": "Queues on the ring's links.",
    "000-12": "owner.service, which decides how long readers wait for the root's cache.",
    "000-14": "Dissemination by flags that nobody unsets (reset = sense or episode): it takes 5.3 us at 244 then, less than the trees.",
    "000-16": "Queues that dissemination's messages could meet; flags two lines apart.",
    "000-21": "Another reading of a step: the heap tree's depth can be one less than the printed logarithm.",
    "000-22": "The release's degree, which the paper does not give.",
    "000-27": "Flags of a line each (flags = lines): then two buffers are 0.8 times as fast at 244, as the root stores to 243 lines and looks at them for every piece.",
    "000-29": "Stores of the root that invalidate 61 caches' copies at once: with directory.invalidate_each = 1 one buffer takes 2.1 times as long at 244.",
    "000-30": "As 000-27.",
    "000-34": "The original codes and Intel's MPI: inputs are not published, and the algorithms of its reduce and allgather.",
    "001-01": "core.pause of the surrogate; Intel's own library.",
    "001-04": "directory.write_unlock = owner, at the price of 004-07.",
    "001-09": "A cost of polling for a core's other contexts. With memory.retry = 0, which reaches the first call alone, 15 of 20 seeds hold.",
    "001-12": "core.store_window.",
    "001-16": "ack = line-per-sender (1.15).",
    "001-21": "OpenMP's own reduction in place of a sum over all ranks' lines.",
    "001-23": "The latency of arithmetic, and OpenMP's own work around a loop.",
    "002-12": "Reading the printed ceiling as a floor: then it holds.",
    "003-01": "The cycles of a call: 003-02 sets them.",
    "003-02": "Nothing: it set the cycles of a call.",
    "003-04": "What the original's loops and reduction took, which is not published.",
    "003-14": "Copies that wait for memory, not for latencies: with caches of 16 KB and memory.channel ten times as long it is 0.51 times.",
    "003-22": "Nothing: it is how the core is built.",
    "004-20": "Nothing: both sides are printed.",
    "004-31": "The model's constants; levels overlap, which the equations add up.",
    "004-36": "owner.service: with 24 cycles instead of 3 the order turns.",
    "004-37": "The start-up of a copy (004-13).",
    "004-46": "The model's constants, which choose m.",
}
