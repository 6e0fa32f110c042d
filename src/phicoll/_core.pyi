"""phicoll's C++ core: facts, rules and statistics. Measuring is phicoll-bench's."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__version__: str

_Values = Sequence[float] | NDArray[np.float64]

# The registry
def operations() -> list[str]: ...
def measured_calls() -> dict[str, str]: ...
def reductions() -> list[str]: ...
def parse_sizes(text: str) -> list[int]: ...
def check_work(operation: str, size_bytes: int, type: str, op: str) -> None: ...
def algorithms(operation: str) -> list[dict[str, Any]]: ...
def algorithm_sets(operation: str) -> list[str]: ...
def expand(operation: str, text: str) -> list[str]: ...
def effective(operation: str, spec: str, ranks: int, placement: str = "", size_bytes: int = 0) -> str: ...
def parse_wait(text: str) -> str: ...

# This machine
def topology() -> list[dict[str, int]]: ...
def topology_source() -> str: ...
def caches(cpu: int = 0) -> list[dict[str, Any]]: ...
def allowed_cpus() -> list[int]: ...
def allowed_cpu_count() -> int: ...
def cpu_quota() -> float | None: ...
def memory_remaining() -> int | None: ...
def throttling() -> dict[str, int] | None: ...
def place(ranks: int, placement: str) -> list[int]: ...
def facts() -> dict[str, Any]: ...
def cpu_times() -> tuple[int, int, int] | None: ...

# Simulated machines
def shipped_machines() -> list[dict[str, Any]]: ...
def load_machine(text: str) -> dict[str, Any]: ...
def machine_file_text(text: str) -> str: ...
def machine_parameters() -> list[dict[str, Any]]: ...

# Optima of model-designed trees and barriers
most_tree_levels: int

def level_cost(
    operation: str, costs: dict[str, int], base: int, bound: str, start: int = 0, saved: int = 0
) -> tuple[int, int, int, int]: ...
def best_levels(
    nodes: list[int], cost: tuple[int, int, int, int], constraint: str, levels: int, most: int = 1
) -> list[list[list[int]]]: ...
def best_ways(
    ranks: list[int], local: int, remote: int, rounds: str, bound: str
) -> list[list[tuple[int, int]]]: ...
def line_costs(constants: dict[str, tuple[float, str]]) -> dict[str, int]: ...

# A machine file of this host
class HostCosts:
    cpu: str
    clock_mhz: int
    clock_is_counter: bool
    def cost(self, name: str) -> tuple[float, float, float, str] | None: ...
    def set_cost(self, name: str, ns: float, low_ns: float, high_ns: float, how: str) -> None: ...

class CpuLock:
    def __init__(self, cpus: list[int], wait_s: float) -> None: ...
    def release(self) -> None: ...

def measure_host_costs(launches: int, budget_s: float, seed: int) -> HostCosts: ...
def host_clock_mhz() -> int: ...
def check_new_machine_name(name: str) -> None: ...
def fit_machine_text(costs: HostCosts, name: str) -> str: ...

# Counting
def count(
    operation: str, spec: str, cores: int, contexts: int, ranks: int, placement: str = "compact"
) -> dict[str, Any]: ...

# Memory kernels
def kernels() -> list[dict[str, Any]]: ...
def parse_kernel(text: str) -> str: ...
def simulate_kernel(
    machine: str, spec: str, ranks: int, where: str, samples: int, seed: int = 1, wait: str = "spin"
) -> dict[str, Any]: ...
def run_kernel(
    spec: str,
    ranks: int,
    placement: str,
    samples: int,
    seed: int = 1,
    wait: str = "spin",
    timeout_ms: int = 60000,
    oversubscribe: bool = False,
) -> dict[str, Any]: ...

# Why a barrier takes its time
def explain(
    machine: str,
    algorithm: str,
    ranks: int,
    placement: str,
    definition: str,
    episodes: int,
    warm_up: int,
    episode: int,
    skew_ns: float,
    wait: str,
    seed: int,
    most_links: int = 60,
    trace: str = "",
    all_episodes: bool = False,
    operation: str = "barrier",
    size: int = 0,
    buffers: str = "fresh",
    type: str = "float32",
    op: str = "sum",
) -> tuple[str, str]: ...

# Programs: sequences of collectives, for tests
def program_call_unfit(ranks: int, call: dict[str, Any]) -> str: ...
def run_program(
    how: str,
    ranks: int,
    seed: int,
    buffers: list[int],
    calls: list[dict[str, Any]],
    machine: str = "xeon-phi-5110p",
    machine_seed: int = 1,
) -> tuple[list[list[bytes]], list[list[bytes]]]: ...

# Simulated sweeps
def plan_simulation(
    *,
    operation: str,
    machine: str,
    algorithm: str,
    ranks: Sequence[int],
    placement: str,
    definitions: Sequence[str],
    episodes: int,
    warm_up: int,
    rounds: int,
    skew_ns: float,
    wait: str,
    seed: int | None,
    resume: str,
    command: Sequence[str],
    sizes: Sequence[int] = ...,
    buffers: Sequence[str] = ...,
    type: str = "float32",
    op: str = "sum",
    start: str = "warm",
) -> dict[str, Any]: ...
def simulate_point(task: str) -> tuple[list[str], int, str]: ...
def stop_simulating(stop: bool) -> None: ...

# Validation
def barrier_times(
    machine: str,
    spec: str,
    placement: str,
    ranks: int,
    episodes: int,
    warm_up: int,
    window: bool,
    skew_ns: float,
    wait: str,
    seed: int,
) -> dict[str, Any]: ...

# Statistics: phicoll/support/statistics.hpp
def median(values: _Values) -> float: ...
def midmean(values: _Values) -> float: ...
def percentile(values: _Values, p: float) -> float: ...
def geometric_mean(values: _Values) -> float: ...
def median_interval(values: _Values, confidence: float) -> tuple[float, float, float]: ...
def least_count(confidence: float) -> int: ...
def sign_test(values: _Values, centre: float = 0.0) -> float: ...
def holm(p_values: _Values) -> list[float]: ...
def launch_share(values: _Values, launches: Sequence[int] | NDArray[np.int64]) -> float: ...

# Groups and communicators. Addresses are of memory that the caller keeps; None is "in place". Sizes are in bytes,
# `count` in elements of the operator.
class Operator:
    def combine(self, left: int, right: int, count: int) -> None: ...

def operator(op: str, type: str) -> Operator: ...
def user_operator(
    function: Callable[[memoryview, memoryview], None], element_bytes: int, commutative: bool, type: int = 0
) -> Operator: ...

known_types: dict[str, int]  # element types and the numbers by which ranks compare them
most_types: int  # the highest such number

def operator_types(op: str) -> list[str]: ...
def address(array: NDArray[Any]) -> int: ...

class Communicator:
    @property
    def rank(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def closed(self) -> bool: ...
    @property
    def broken(self) -> tuple[int, str] | None: ...
    def barrier(self) -> None: ...
    def broadcast(
        self, buffer: int | None, nbytes: int, root: int, algorithm: str = "", type: int = 0
    ) -> None: ...
    def reduce(
        self,
        send: int | None,
        receive: int | None,
        count: int,
        op: Operator,
        root: int,
        algorithm: str = "",
    ) -> None: ...
    def allreduce(
        self, send: int | None, receive: int | None, count: int, op: Operator, algorithm: str = ""
    ) -> None: ...
    def scan(
        self, send: int | None, receive: int | None, count: int, op: Operator, algorithm: str = ""
    ) -> None: ...
    def exscan(
        self, send: int | None, receive: int | None, count: int, op: Operator, algorithm: str = ""
    ) -> None: ...
    def reduce_scatter_block(
        self, send: int | None, receive: int | None, count: int, op: Operator, algorithm: str = ""
    ) -> None: ...
    def reduce_scatter(
        self,
        send: int | None,
        receive: int | None,
        counts: Sequence[int],
        op: Operator,
        algorithm: str = "",
    ) -> None: ...
    def gather(
        self,
        send: int | None,
        receive: int | None,
        nbytes: int,
        root: int,
        algorithm: str = "",
        type: int = 0,
    ) -> None: ...
    def scatter(
        self,
        send: int | None,
        receive: int | None,
        nbytes: int,
        root: int,
        algorithm: str = "",
        type: int = 0,
    ) -> None: ...
    def allgather(
        self, send: int | None, receive: int | None, nbytes: int, algorithm: str = "", type: int = 0
    ) -> None: ...
    def alltoall(
        self, send: int | None, receive: int | None, nbytes: int, algorithm: str = "", type: int = 0
    ) -> None: ...
    def gatherv(
        self,
        send: int | None,
        nbytes: int,
        receive: int | None,
        counts: Sequence[int],
        displacements: Sequence[int],
        root: int,
        algorithm: str = "",
        type: int = 0,
    ) -> None: ...
    def scatterv(
        self,
        send: int | None,
        counts: Sequence[int],
        displacements: Sequence[int],
        receive: int | None,
        nbytes: int,
        root: int,
        algorithm: str = "",
        type: int = 0,
    ) -> None: ...
    def allgatherv(
        self,
        send: int | None,
        nbytes: int,
        receive: int | None,
        counts: Sequence[int],
        displacements: Sequence[int],
        algorithm: str = "",
        type: int = 0,
    ) -> None: ...
    def alltoallv(
        self,
        send: int | None,
        send_counts: Sequence[int],
        send_displacements: Sequence[int],
        receive: int | None,
        counts: Sequence[int],
        displacements: Sequence[int],
        algorithm: str = "",
        type: int = 0,
    ) -> None: ...
    def select(self, operation: str, algorithm: str) -> None: ...
    def why(self, operation: str, nbytes: int) -> tuple[str, str]: ...
    def split(self, color: int, key: int, memory_limit: int = 0) -> Communicator | None: ...
    def dup(self, memory_limit: int = 0) -> Communicator: ...
    def free(self) -> None: ...
    def allocate(self, nbytes: int) -> NDArray[np.uint8]: ...
    def fail(self, reason: str) -> None: ...
    def close(self) -> None: ...

class LaunchedGroup:
    def __init__(
        self,
        ranks: int,
        placement: str,
        memory_limit: int,
        heap_limit: int,
        timeout_ms: int,
        attach_timeout_ms: int,
        tuning: str = "",
        tuning_foreign: str = "",
    ) -> None: ...
    @property
    def descriptor(self) -> int: ...
    @property
    def broken(self) -> tuple[int, str] | None: ...
    def started(self, rank: int, pid: int) -> None: ...
    def joined(self, rank: int) -> bool: ...
    def fail(self, rank: int, reason: str) -> None: ...

def join(descriptor: int, rank: int, wait: str = "adaptive") -> Communicator: ...
def join_from_environment(wait: str = "adaptive") -> Communicator: ...
def alone(memory_limit: int = ...) -> Communicator: ...
def run_threads(
    ranks: int,
    placement: str,
    memory_limit: int,
    heap_limit: int,
    timeout_ms: int,
    wait: str,
    function: Callable[[Communicator], None],
    tuning: str = "",
    tuning_foreign: str = "",
) -> None: ...
def die_with_parent(parent: int) -> None: ...
def host_fingerprint() -> str: ...
def tuning_table(path: str) -> dict[str, Any]: ...
def parse_tuning(text: str, name: str) -> dict[str, Any]: ...
def call_name(name: str) -> tuple[str, str, bool]: ...
def choose(
    *,
    operation: str,
    size: int,
    ranks: int,
    mode: str,
    placement: str,
    machine: str,
    tuning: str,
    foreign: str,
    type: str,
    op: str,
    vector: bool,
    commutative: bool,
    memory_limit: int,
) -> dict[str, Any]: ...
def candidate(
    *, operation: str, spec: str, size: int, ranks: int, placement: str, machine: str
) -> dict[str, str]: ...
