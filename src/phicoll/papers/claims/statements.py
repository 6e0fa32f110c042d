"""The papers' statements, each in our own words, with the number that docs/claims.md uses."""

from __future__ import annotations

from phicoll.papers.claims.modelled import MODELLED
from phicoll.papers.claims.statement import Claim

__all__ = ["CLAIMS", "DATA", "SIMULATED", "WAITING", "claim"]

_CHECKED = (
    Claim("000-14", "Barriers built as trees (heap tree, binomial tree, tournament with a tree release) are faster "
          "than the others.", "Xeon Phi, 244 processes"),
    Claim("000-20", "Dissemination takes ceil(log2 P) steps.", "any P"),
    Claim("000-21", "A tree barrier of degree k takes 2 ceil(log_k P) steps.", "any P, k"),
    Claim("000-22", "The tournament takes ceil(log2 P) steps up and ceil(log_k P) down.", "any P"),
    Claim("000-23", "The rule for a binomial tree's children reaches every rank exactly once.", "any P"),
    Claim("000-24", "Dissemination keeps all P processes communicating in every round, trees far fewer.", "any P"),
    Claim("001-03", "A tree barrier that releases all through one global word is slower than one that releases down "
          "the tree.", "Xeon Phi, EPCC, every tree and arity"),
    Claim("001-04", "A combining tree with one global release is slower than a plain sense-reversing counter.",
          "Xeon Phi, EPCC, every arity"),
    Claim("001-05", "With a global release, a combining tree gets faster as its arity grows.",
          "Xeon Phi, arity 2 to 32"),
    Claim("001-06", "Of the plain algorithms, dissemination and the combining tree of arity 4 are the best.",
          "Xeon Phi, preliminary runs"),
    Claim("001-09", "A delay in the loop that waits lowers the overhead.", "Xeon Phi, 64 cycles against none"),
    Claim("001-17", "f-way dissemination takes ceil(log_(f+1) N) rounds.", "any N, f"),
    Claim("001-18", "With f = N - 1 all ranks are notified at once, by N (N - 1) notifications.", "any N"),
    Claim("001-20", "Every round of dissemination has messages between cores; meeting inside each core first removes "
          "them from those rounds.", "60 cores with 4 contexts"),
    Claim("001-24", "While the addresses of flags stay the same, times hardly vary.", "sense-reversing, 1 to 60 threads"),
    Claim("001-25", "Different sets of addresses differ significantly in time.", "three sets, sense-reversing"),
    Claim("001-29", "All algorithms are correct, and can be reused at once through sense reversal.", "any N"),
    Claim("002-08", "Pairwise exchange and dissemination are substantially faster than gathering to one rank and "
          "broadcasting from it.", "Cell, 2 to 16 SPEs"),
    Claim("002-10", "On two chips every phase of dissemination crosses between them, but only one of pairwise "
          "exchange.", "16 SPEs on two chips"),
    Claim("002-12", "Pairwise exchange takes 2 + ceil(log2 P) steps where P is not a power of two.", "any P (as printed)"),
    Claim("002-13", "A tree in which every informed rank informs k - 1 others takes ceil(log_k P) phases.", "any P, k"),
    Claim("002-25", "Where each rank reduces a piece over all operands, a piece takes P + 1 transfers.", "any P"),
    Claim("003-15", "With the middle stages merged, Rabenseifner's allreduce takes 2 floor(lg p) - 1 steps, one fewer.",
          "p a power of two"),
    Claim("003-16", "With r = p - 2^floor(lg p), 2 r ranks fold before recursive doubling, and unfold after it.", "any p"),
    Claim("003-17", "The Bruck variant has the whole reduction on every rank after lg p steps.", "p a power of two"),
    Claim("004-29", "The model chooses m = 6 for 30 threads and m = 4 for 60.", "m-way dissemination, published constants"),
)  # fmt: skip

CLAIMS = {claim.number: claim for claim in _CHECKED}


#: What a native run of operations that move data can be asked (``phicoll.papers.claims.data``; 000-27 is below).
_DATA = (
    Claim("002-15", "Two buffers are significantly better than one.", "Cell, copies through a local store"),
    Claim("002-26", "A reduction takes longer than a broadcast of the same size.", "Cell, 2 to 16 SPEs"),
    Claim("003-01", "Loads and stores in a peer's array have less latency than put and get.", "Xeon Phi; up to 60 %"),
    Claim("003-02", "They have more bandwidth, too.", "Xeon Phi; up to 12 times"),
    Claim("003-03", "For large blocks the difference becomes small.", "Xeon Phi, above 16 K"),
    Claim("003-08", "The flat tree is the slowest allreduce.", "Xeon Phi, 64 PEs, put and get"),
    Claim("003-09", "Recursive doubling is the fastest allreduce of small arrays.", "Xeon Phi, 64 PEs, put and get, up to 4 KB"),
    Claim("003-10", "Rabenseifner's is the fastest allreduce of large arrays.", "Xeon Phi, 64 PEs, put and get"),
    Claim("003-12", "Loads and stores make every allreduce faster than put and get do.", "Xeon Phi, 64 PEs"),
    Claim("003-14", "Recursive doubling of large arrays is significantly faster where one of a pair computes for both.",
          "Xeon Phi, 64 PEs"),
)  # fmt: skip

DATA = {claim.number: claim for claim in _DATA}


#: What only a simulated machine can be asked (``phicoll validate``).
_SIMULATED = (
    Claim("000-02", "The time to read one line of a root grows linearly with the processes that read it, slightly more at large "
          "counts.", "Xeon Phi SE10P, up to 244 processes"),
    Claim("000-03", "Contention at the tag directory is the cause.", "as 000-02"),
    Claim("000-04", "Copies of more than one line slow down less than the case of one line predicts.", "from a root, simultaneous"),
    Claim("000-05", "Reading from the next process, the one after, or within groups of four differs little.", "up to 61 processes"),
    Claim("000-06", "Reading distinct lines takes significantly longer beyond 61 processes.", "the same patterns"),
    Claim("000-07", "That increase is small against that of one line read by all.", "up to 244 processes"),
    Claim("000-08", "Contention at the directories matters much more than on the ring.", "all patterns"),
    Claim("000-09", "The distance between cores does not matter.", "random addresses"),
    Claim("000-10", "Caches together deliver more than memory, and more with more processes.", "distinct lines"),
    Claim("000-11", "Reading different lines is faster than all reading the same.", "any number of processes"),
    Claim("000-12", "Neighbouring lines spread over the directories, which lowers contention.", "copies of several lines"),
    Claim("000-13", "A tree barrier gains nothing from degrees beyond 6.", "Xeon Phi SE10P"),
    Claim("000-15", "Centralized-I, whose flags are bytes unset by vector stores, beats Centralized-II with a line for each flag.",
          "Xeon Phi SE10P"),
    Claim("000-16", "Dissemination and Centralized-II do not scale, the others do.", "up to 244 processes"),
    Claim("000-17", "The best barrier is up to 9 times as fast as Intel's MPI.", "up to 244 processes"),
    Claim("000-18", "Intel's MPI barrier jumps at multiples of 61 processes.", "up to 244 processes"),
    Claim("000-19", "More processes cost the paper's barriers little.", "up to 244 processes"),
    Claim("000-25", "Small broadcasts are 10 times as fast as Intel's MPI.", "244 processes, below 256 B"),
    Claim("000-26", "Medium broadcasts are 4 to 5 times as fast as Intel's MPI.", "244 processes, up to 32 KB"),
    Claim("000-27", "Two buffers make large broadcasts 1.5 to 2 times as fast as one.", "above 32 KB"),
    Claim("000-28", "Large broadcasts are up to 4 times as fast as Intel's MPI.", "244 processes"),
    Claim("000-29", "A broadcast of 512 KB takes hardly longer with 244 processes than with 2.", "the paper's algorithms"),
    Claim("000-30", "With one buffer receivers wait for it to be filled again.", "above 32 KB"),
    Claim("000-31", "Filling a buffer again hits the root's own cache.", "double buffering"),
    Claim("000-32", "Many copies of one message scale if the message is large enough.", "size against processes"),
    Claim("000-33", "Using the core that serves the operating system does not hurt.", "61 cores against 60"),
    Claim("001-01", "The hybrid barrier's overhead is below Intel's OpenMP barrier's (a third of it, as the paper measured).", "EPCC, geometric mean over 8 to 232 threads"),
    Claim("001-02", "The fastest tree with a global release is close to twice as slow as the slowest with a local one.",
          "EPCC, geometric mean over 8 to 232 threads"),
    Claim("001-07", "The hybrid barrier is the best of all.", "EPCC, geometric mean over 8 to 232 threads"),
    Claim("001-08", "Choosing the best barrier for each thread count gains only marginally over the best single one.", "29 thread counts"),
    Claim("001-10", "The delay is a compromise: too long ones delay what is waited for.", "sense-reversing and others"),
    Claim("001-11", "Streaming stores of flags and counters lower the overhead.", "Xeon Phi"),
    Claim("001-12", "Globally ordered no-read stores are better than non-ordered ones.", "5 %"),
    Claim("001-13", "A no-read store reads no data for ownership.", "Xeon Phi"),
    Claim("001-14", "Caballero's barrier has a 2.84 times lower overhead than Intel's.", "EPCC"),
    Claim("001-15", "Choosing addresses makes a combining tree 1.18 times as fast.", "Dolbeau: 2.85 and 2.41 over Intel's"),
    Claim("001-16", "The dissemination barrier of ramos-hoefler-2013 only equals Intel's.", "60 threads"),
    Claim("001-19", "The hybrid barrier is better than dissemination by geometric mean.", "figure 4"),
    Claim("001-21", "The hybrid barrier wins in CG and the N-body kernel.", "class Y"),
    Claim("001-22", "Combining trees of arity above 2 are slightly better than dissemination in MG.", "class Y"),
    Claim("001-26", "At fixed addresses the overhead is S-shaped in the number of threads.", "threads along the ring"),
    Claim("001-27", "On the mean over addresses the overhead is linear in the number of threads.", "sense-reversing, 1 to 60 threads"),
    Claim("001-28", "The delay depends on the distance between threads and directories.", "sense-reversing"),
    Claim("003-04", "STREAM gains about 40 times by a better reduction and directives for vectors and prefetches.", "Xeon Phi, OpenSHMEM"),
    Claim("004-03", "The distance between cores does not matter to a read.", "adjacent, middle, maximum"),
    Claim("004-10", "The state of a cached send line does not matter.", "single-line ping-pong"),
    Claim("004-11", "The deviation of ping-pong times falls with the distance between the cores.", "printed, not remarked on"),
    Claim("004-21", "Independent buffers in memory cause no congestion.", "bandwidth benchmark"),
    Claim("004-22", "The variability of times grows with the number of readers.", "contention"),
    Claim("004-23", "Two writers and a reader of a line from memory cost R_I + 2, 3 or 4 R_R.", "figure 4.1"),
    Claim("004-24", "Acknowledging in one line costs from R_I + (n - 1) R_R to R_I + 2 (n - 1) R_R.", "n threads"),
    Claim("004-25", "One shared line is better for acknowledgements than a line for each child.", "model and runs"),
    Claim("004-31", "The model's tree beats flat, binomial, 3-nomial and Fibonacci trees.", "broadcast, 2 to 60 threads"),
    Claim("004-32", "Measurements lie between the models' minimum and maximum.", "all algorithms"),
    Claim("004-33", "The paper's algorithms beat Intel's MPI and OpenMP except in two cases.", "2 to 60 threads"),
    Claim("004-34", "Intel's OpenMP barrier is better at 60 threads.", "60 threads"),
    Claim("004-35", "The pipelined 8 KB broadcast loses to Intel's MPI above 32 threads, the flat tree does not.", "8 KB"),
    Claim("004-36", "A flat tree beats the pipeline for large messages.", "8 KB broadcast"),
    Claim("004-37", "A pipeline pays the start-up of each packet.", "8 KB broadcast"),
    Claim("004-38", "Starting from flags in memory costs more than repeating with warm ones.", "barrier"),
    Claim("004-40", "A pair's bandwidth does not depend on the other pairs or on a shared link.", "up to 30 pairs, large messages"),
    Claim("004-41", "Below 512 KB more pairs hurt.", "up to 30 pairs"),
    Claim("004-46", "Where the model's m changes, times step.", "barrier near 28 threads"),
)  # fmt: skip

SIMULATED = {claim.number: claim for claim in _SIMULATED}


def claim(number: str) -> Claim:
    """The statement with a number such as ``"000-20"``."""
    return next(of for of in (CLAIMS, DATA, SIMULATED, MODELLED) if number in of)[number]


#: Statements on barriers that need what is not there yet, by the reason.
WAITING = (
    ("the simulated Xeon Phi: phicoll validate compares it with the papers",
     ("000-13", "000-15", "000-16", "000-19", "001-01", "001-02", "001-07", "001-08", "001-10", "001-11", "001-12",
      "001-13", "001-16", "001-19", "001-21", "001-22", "001-26", "001-27", "001-28", "004-34", "004-38", "004-46")),
    ("a simulated Cell with its two chips, which is not there yet",
     ("002-05", "002-06", "002-07", "002-09", "002-11")),
    ("another vendor's library on the paper's machine", ("000-17", "000-18", "001-14", "001-15", "004-33")),
    ("the paper's application and machine", ("001-23",)),
)  # fmt: skip
