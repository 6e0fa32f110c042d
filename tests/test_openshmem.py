"""``oshcc`` and ``oshrun``: how programs are compiled, started and ended, and what is said about errors."""

import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

import phicoll

BIN = Path(sys.executable).parent

#: What to do is the first argument.
PROGRAM = r"""
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long word, lock, elsewhere, many[4], block[4096], other[4096];

/* How much of this process's shared memory has huge pages, in kB. */
static long huge_kb(void) {
  char line[256];
  long all = 0, one;
  FILE *smaps = fopen("/proc/self/smaps", "r");
  while (smaps && fgets(line, sizeof line, smaps)) if (sscanf(line, "ShmemPmdMapped: %ld", &one) == 1) all += one;
  if (smaps) fclose(smaps);
  return all;
}
static void wait_for_ever(void) { shmem_long_wait_until(&word, SHMEM_CMP_EQ, 99); }
static void compute_for_ever(void) { for (;;) sleep(1); }

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "nothing";
  if (!strcmp(what, "before")) shmem_long_p(&word, 1, 0);
  shmem_init();
  const int me = shmem_my_pe(), n = shmem_n_pes();
  if (!strcmp(what, "hello")) printf("PE %d of %d\n", me, n);
  if (!strcmp(what, "read")) { char text[20] = ""; if (scanf("%19s", text) == 1) printf("%d %s\n", me, text); }
  if (!strcmp(what, "exit")) { if (me == 1) exit(7); wait_for_ever(); }
  if (!strcmp(what, "exit-computing")) { if (me == 1) exit(7); compute_for_ever(); }
  if (!strcmp(what, "global-exit")) { if (me == 1) shmem_global_exit(5); compute_for_ever(); }
  if (!strcmp(what, "global-exit-0")) { if (me == 1) shmem_global_exit(0); shmem_barrier_all(); }
  if (!strcmp(what, "die")) { if (me == 1) abort(); shmem_barrier_all(); }
  if (!strcmp(what, "die-waiting")) { if (me == 1) abort(); wait_for_ever(); }
  if (!strcmp(what, "interrupt")) { printf("ready\n"); fflush(stdout); compute_for_ever(); }
  if (!strcmp(what, "pe")) shmem_long_p(&word, 1, n);
  if (!strcmp(what, "local")) { long local = 0; shmem_long_p(&local, 1, 0); }
  if (!strcmp(what, "stack")) { long sent = 1, own = 0; if (me == 0) shmem_long_put(&own, &sent, 1, 1); shmem_barrier_all(); }
  if (!strcmp(what, "team")) shmem_sync_all(), shmem_team_sync(SHMEM_TEAM_INVALID);
  if (!strcmp(what, "size")) shmem_malloc(100 + 4 * me);
  if (!strcmp(what, "free")) shmem_free(&word);
  if (!strcmp(what, "free-twice")) { void *p = shmem_malloc(8); shmem_free(p); shmem_free(p); }
  if (!strcmp(what, "full")) { if (shmem_malloc((size_t)1 << 40) == NULL) printf("null\n"); }
  if (!strcmp(what, "lock")) { if (me == 0) shmem_set_lock(&lock); shmem_barrier_all(); if (me == 1) shmem_clear_lock(&lock); shmem_barrier_all(); }
  if (!strcmp(what, "mismatch")) { if (me == 0) shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &elsewhere, &word, 1); else shmem_long_broadcast(SHMEM_TEAM_WORLD, &elsewhere, &word, 1, 0); shmem_barrier_all(); }
  if (!strcmp(what, "free-inside")) shmem_free((char *)shmem_malloc(800) + 400);
  if (!strcmp(what, "realloc")) shmem_realloc(&word, 8);
  if (!strcmp(what, "sizes")) { shmem_long_broadcast(SHMEM_TEAM_WORLD, block, other, 100 + me, 0); shmem_barrier_all(); }
  if (!strcmp(what, "dests")) { shmem_long_broadcast(SHMEM_TEAM_WORLD, block + me, other, 100, 0); shmem_barrier_all(); }
  if (!strcmp(what, "sizes-collect")) { shmem_long_fcollect(SHMEM_TEAM_WORLD, block, other, 100 + me); shmem_barrier_all(); }
  if (!strcmp(what, "one-private")) { long local[100]; shmem_long_broadcast(SHMEM_TEAM_WORLD, me ? local : block, other, 100, 0); shmem_barrier_all(); }
  if (!strcmp(what, "put-and-ring")) { shmem_long_broadcast(SHMEM_TEAM_WORLD, block, other, me ? 4096 : 100, 0); shmem_barrier_all(); }
  if (!strcmp(what, "overlap-broadcast")) shmem_long_broadcast(SHMEM_TEAM_WORLD, block + 1, block, 100, 0);
  if (!strcmp(what, "overlap-reduce")) shmem_long_sum_reduce(SHMEM_TEAM_WORLD, block + 1, block, 100);
  if (!strcmp(what, "overlap-fcollect")) shmem_long_fcollect(SHMEM_TEAM_WORLD, block, block + 100, 100);
  if (!strcmp(what, "overlap-collect")) shmem_long_collect(SHMEM_TEAM_WORLD, block, block + 100 * n - 1, 100);
  if (!strcmp(what, "overlap-alltoall")) shmem_long_alltoall(SHMEM_TEAM_WORLD, block, block + 1, 10);
  if (!strcmp(what, "overlap-alltoalls")) shmem_long_alltoalls(SHMEM_TEAM_WORLD, block, block + 20 * n - 3, 1, 2, 20);
  if (!strcmp(what, "active-set")) { static int sum, one, work; static long sync_words[SHMEM_REDUCE_SYNC_SIZE]; shmem_int_sum_to_all(&sum, &one, 1, 0, 0, 1, &work, sync_words); shmem_barrier_all(); }
  if (!strcmp(what, "lock-2")) shmem_clear_lock(&lock);
  if (!strcmp(what, "sig-op")) { static uint64_t signal; shmem_long_put_signal(&word, &elsewhere, 1, &signal, 1, 77, 0); }
  if (!strcmp(what, "context")) { shmem_ctx_t ctx; shmem_ctx_create(0, &ctx); shmem_ctx_destroy(ctx); shmem_ctx_long_p(ctx, &word, 1, 0); }
  if (!strcmp(what, "pes")) { const int pes[] = {0, n}; shmem_pe_quiet(pes, 2); }
  if (!strcmp(what, "aligned")) shmem_long_atomic_inc((long *)((char *)many + 4), 0);
  if (!strcmp(what, "private")) { long local; shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &local, &word, 1); }
  if (!strcmp(what, "wait-private")) { long local = 0; shmem_long_wait_until(&local, SHMEM_CMP_EQ, 1); }
  if (!strcmp(what, "negative")) { static long work[1], sync_words[SHMEM_REDUCE_SYNC_SIZE]; shmem_long_sum_to_all(many, &word, -1, 0, 0, n, work, sync_words); }
  if (!strcmp(what, "end-alone")) { if (me == 1) shmem_barrier_all(); }
  if (!strcmp(what, "cmp")) shmem_long_wait_until(&word, 77, 1);
  if (!strcmp(what, "globals")) {
    long got[2] = {0, 0};
    shmem_long_p(&elsewhere, 10 + me, (me + 1) % n);
    shmem_long_iput(many, got + 1, 1, 1, 1, (me + 1) % n);
    shmem_barrier_all();
    shmem_long_get(got, &elsewhere, 1, (me + 1) % n);
    printf("%ld %ld %s\n", elsewhere - (me + n - 1) % n, got[0] - me, shmem_ptr(&word, 0) ? "shared" : "copied");
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, many, &elsewhere, 1);
    if (many[0] != 10 * n + n * (n - 1) / 2) return 1;
  }
  if (!strcmp(what, "huge")) {
    const long bytes = 16 << 20;
    char *block = shmem_malloc(bytes), there = 0;
    memset(block, 1 + me, bytes);
    shmem_barrier_all();
    for (long at = 0; at < bytes; at += 4096) if ((there = shmem_char_g(block + at, (me + 1) % n)) != 1 + (me + 1) % n) return 1;
    printf("%ld\n", huge_kb());
    shmem_barrier_all();
  }
  if (!strcmp(what, "atomic")) shmem_long_atomic_inc(&word, 0);
  if (!strcmp(what, "no-finalize")) return 0;
  shmem_finalize();
  if (!strcmp(what, "after")) shmem_long_p(&word, 1, 0);
  return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("openshmem")
    (folder / "program.c").write_text(PROGRAM)
    subprocess.run([BIN / "oshcc", "-O2", "program.c", "-o", "program"], cwd=folder, check=True)
    return folder / "program"


def oshrun(*words, check=False, given="", **variables):
    environment = {**os.environ, "PHICOLL_SHMEM_CHECK": "1" if check else "0", **variables}
    return subprocess.run(
        [BIN / "oshrun", *map(str, words)],
        input=given,
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
    )


def test_output_of_all_pes(program):
    result = oshrun("-n", 4, program, "hello")
    assert sorted(result.stdout.splitlines()) == [f"PE {pe} of 4" for pe in range(4)]
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a program more rights than its caller")
def test_a_program_with_more_rights_than_its_caller_writes_no_profile(program, tmp_path):
    with tempfile.TemporaryDirectory() as folder:  # pytest's are root's alone
        Path(folder).chmod(0o755)
        own = shutil.copy(program, folder)
        Path(own).chmod(0o4755)
        variables = {**os.environ, "PHICOLL_PROFILE": str(tmp_path)}
        subprocess.run([own, "globals"], env=variables, user=65534, group=65534, extra_groups=[], check=True)
    assert list(tmp_path.iterdir()) == []
    subprocess.run([program, "globals"], env=variables, check=True)
    assert list(tmp_path.iterdir()) != []


def test_labels(program):
    result = oshrun("-n", 3, "--label", program, "hello")
    assert sorted(result.stdout.splitlines()) == [f"[{pe}] PE {pe} of 3" for pe in range(3)]


def test_pe_0_alone_has_the_standard_input(program):
    assert oshrun("-n", 2, program, "read", given="word\n").stdout == "0 word\n"


def limited(soft, hard, *words):
    command = [
        "bash",
        "-c",
        f'ulimit -Sn {soft}; ulimit -Hn {hard}; exec "$@"',
        "bash",
        BIN / "oshrun",
        *words,
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_the_limit_on_descriptors_is_raised_for_labels_or_told_at_once(program):
    """Pipes for 12 PEs have 48 ends."""
    told = ["-n", "12", "--label", "sh", "-c", f"ulimit -Sn; exec {program} hello"]
    raised = limited(40, 200, *told)
    lines = [f"[{pe}] {text}" for pe in range(12) for text in ("40", f"PE {pe} of 12")]
    assert sorted(raised.stdout.splitlines()) == sorted(lines)
    refused = limited(40, 50, *told)
    assert "12 PEs need" in refused.stderr
    assert "this process may have 50" in refused.stderr
    assert refused.stdout == ""


def test_a_program_that_was_not_started_by_oshrun_is_one_pe(program):
    result = subprocess.run([program, "hello"], capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stdout) == (0, "PE 0 of 1\n")


def test_a_program_may_end_without_finalize(program):
    assert oshrun("-n", 2, program, "no-finalize").returncode == 0


@pytest.mark.parametrize("what", ["exit", "exit-computing", "no-finalize"])
def test_a_pe_ends_all_without_finalize_where_the_exit_status_is_not_told(program, what):
    """By musl, which has no on_exit."""
    result = oshrun("-n", 3, program, what, PHICOLL_FORCE_FALLBACKS="1")
    assert result.returncode != 0
    assert "ended without shmem_finalize" in result.stderr


def test_pinned(program):
    assert oshrun("-n", 2, "--placement", "compact", program, "hello").returncode == 0


def test_globals_are_shared_or_copied(program):
    result = oshrun("-n", 3, program, "globals")
    assert (result.returncode, result.stdout) == (0, "10 10 shared\n" * 3)
    result = oshrun("-n", 3, program, "globals", PHICOLL_SHMEM_DATA="copy", SHMEM_DEBUG="1")
    assert result.returncode == 0
    assert result.stdout.count("10 10 copied\n") == 3
    assert "copies between processes: PHICOLL_SHMEM_DATA=copy" in result.stdout
    # The kernel copies nothing, so the processes do.
    result = oshrun("-n", 3, program, "globals", PHICOLL_SHMEM_DATA="copy", PHICOLL_FORCE_FALLBACKS="1")
    assert (result.returncode, result.stdout) == (0, "10 10 copied\n" * 3)
    result = oshrun("-n", 2, program, "atomic", PHICOLL_SHMEM_DATA="copy")
    assert result.returncode == 1
    assert "atomics and signals on globals" in result.stderr


def test_symmetric_size(program):
    result = oshrun(
        "-n", 2, program, "hello", SHMEM_SYMMETRIC_SIZE="1.5m", SHMEM_DEBUG="1", SHMEM_VERSION="1"
    )
    assert "2 PEs, each with 1572864 bytes of symmetric heap" in result.stdout
    assert "OpenSHMEM 1.5" in result.stdout
    result = oshrun("-n", 2, program, "hello", SHMEM_SYMMETRIC_SIZE="much")
    assert result.returncode == 2
    assert "SHMEM_SYMMETRIC_SIZE: got 'much'" in result.stderr


def can_have_huge_pages():
    """Whether this Linux makes huge pages of shared memory where it is asked to."""
    allowed = Path("/sys/kernel/mm/transparent_hugepage/shmem_enabled")
    release = tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2])
    return allowed.exists() and "[deny]" not in allowed.read_text() and release >= (6, 1)


def test_huge_pages_of_the_heap(program):
    for setting in ("0", "1"):
        result = oshrun("-n", 2, program, "huge", PHICOLL_SHMEM_HUGE=setting)
        assert (result.returncode, result.stderr) == (0, "")
        mapped = [int(line) for line in result.stdout.splitlines()]
        if setting == "0" or not can_have_huge_pages():
            assert mapped == [0, 0]
        else:  # at least a PE's own block, whose ends may lie in smaller pages
            assert min(mapped) >= 12 << 10


@pytest.mark.parametrize(
    ("what", "status"), [("exit", 7), ("exit-computing", 7), ("die", 134), ("die-waiting", 134)]
)
def test_a_pe_that_fails_ends_all(program, what, status):
    start = time.monotonic()
    result = oshrun("-n", 3, program, what)
    assert result.returncode == status
    assert "PE 1" in result.stderr
    assert "rank" not in result.stderr
    assert time.monotonic() - start < 20


def test_global_exit(program):
    result = oshrun("-n", 3, program, "global-exit")
    assert (result.returncode, result.stderr) == (5, "")
    result = oshrun("-n", 3, program, "global-exit-0")
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("to", [os.kill, os.killpg], ids=["oshrun-alone", "its-group"])
def test_an_interrupt_ends_all(program, to):
    process = subprocess.Popen(
        [BIN / "oshrun", "-n", "2", program, "interrupt"],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert [process.stdout.readline() for _ in range(2)] == ["ready\n"] * 2
    to(process.pid, signal.SIGINT)
    assert process.wait(20) == 130
    assert process.stdout.read() == ""  # once no PE has it open any more
    process.stdout.close()


def test_a_put_to_private_memory_names_the_check(program):
    result = oshrun("-n", 2, program, "stack")
    assert result.returncode in (128 + signal.SIGSEGV, 128 + signal.SIGBUS)
    assert "; with PHICOLL_SHMEM_CHECK=1 a call says so if its memory is not symmetric" in result.stderr
    assert "PHICOLL_SHMEM_CHECK" not in oshrun("-n", 2, program, "die").stderr
    result = oshrun("-n", 2, program, "stack", check=True)
    assert ": got 8 bytes that are not symmetric" in result.stderr


#: What a program does wrong, what is said of it, and whether only with PHICOLL_SHMEM_CHECK=1.
WRONG = [
    ("before", "used before shmem_init", False),
    ("after", "used after shmem_finalize", False),
    ("pe", "pe: got 2; allowed: 0..1", True),
    ("local", "bytes that are not symmetric", True),
    ("team", "team: got SHMEM_TEAM_INVALID", False),
    ("size", "size: got 100 on PE 0 and 104 on PE 1", True),
    ("free", "ptr: got memory where no block of the symmetric heap begins", False),
    ("free-twice", "ptr: got memory where no block of the symmetric heap begins", False),
    ("free-inside", "ptr: got memory where no block of the symmetric heap begins", False),
    ("realloc", "ptr: got memory where no block of the symmetric heap begins", False),
    ("lock", "does not hold the lock", False),
    ("mismatch", "PE 1 called broadcast", False),
    ("sizes", "nelems: got a result of ", False),
    ("dests", "dest: got memory other than on the other PE", False),
    ("sizes-collect", "nelems: got a result of ", False),
    ("one-private", "dest: got memory other than on the other PE", False),
    ("put-and-ring", "called broadcast(announcement, root 0", False),
    ("overlap-broadcast", "dest: got memory that overlaps with source", False),
    ("overlap-reduce", "dest: got memory that overlaps with source", False),
    ("overlap-fcollect", "dest: got memory that overlaps with source", False),
    ("overlap-collect", "dest: got memory that overlaps with source", False),
    ("overlap-alltoall", "dest: got memory that overlaps with source", False),
    ("overlap-alltoalls", "dest: got memory that overlaps with source", False),
    ("active-set", "PE_size 1 on PE 1, which is not in it; allowed: calls by the set's PEs alone", False),
    ("cmp", "cmp: got 77", False),
    ("lock-2", "does not hold the lock", False),
    ("sig-op", "sig_op: got 77; allowed: SHMEM_SIGNAL_SET and SHMEM_SIGNAL_ADD", False),
    ("context", "of a context that was destroyed", True),
    ("pes", "target_pes: got 2; allowed: 0..1", True),
    ("aligned", "address: got one that is not a multiple of 8", True),
    ("private", "dest: got 8 bytes that are not symmetric", True),
    ("wait-private", "ivar: got memory that is not symmetric", True),
    ("negative", "nreduce: got -1; allowed: 0 or more", False),
    ("end-alone", "called barrier", False),
]


@pytest.mark.parametrize(("what", "said", "checked"), WRONG)
def test_errors_are_told(program, what, said, checked):
    result = oshrun("-n", 2, program, what, check=checked)
    assert result.returncode == 1
    assert said in result.stderr
    assert "rank" not in result.stderr


def test_a_full_heap_is_null_and_a_word(program):
    result = oshrun("-n", 2, program, "full")
    assert (result.returncode, result.stdout, result.stderr) == (0, "null\nnull\n", "")
    result = oshrun("-n", 2, program, "full", check=True)
    assert (result.returncode, result.stdout) == (0, "null\nnull\n")
    assert "null is returned" in result.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--hostfile", "hosts", "program"], "--hostfile: got hosts; allowed: no hosts"),
        (["-n", "0", "program"], "-n: got '0'; allowed: 1..1024"),
        (["-n", "two", "program"], "-n: got 'two'"),
        (["--wait", "long", "program"], "wait"),
        (["--heap", "x", "program"], "--heap: got 'x'"),
        (["--frobnicate", "program"], "option: got '--frobnicate'"),
        ([], "program: got none"),
    ],
)
def test_bad_arguments(words, said):
    result = oshrun(*words)
    assert result.returncode == 2
    assert said in result.stderr


def test_a_program_that_is_not_there():
    result = oshrun("-n", 2, "/nowhere/program")
    assert result.returncode == 127
    assert "could not start" in result.stderr


#: Functions of shmem.h: 1.5's 1,719 names, and what 1.6 added, for types, sizes, and with and without a context.
NAMES = 1719 + 4 * 24 + 4 * 5 + 2 * 26 + 2 * 3 + 3


def test_all_names_are_declared_and_exported():
    text = subprocess.run(
        [BIN / "oshcc", "-std=c99", "-E", "-P", "-DPHICOLL_SHMEM_NO_INLINE", "-x", "c", "-"],
        input="#include <shmem.h>\n",
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    declared = sorted(set(re.findall(r"\bshmem_\w+(?= ?\()", text)))
    assert len(declared) == NAMES
    (library,) = Path(phicoll.__file__).parent.rglob("libphicoll-shmem.so")
    exported = ctypes.CDLL(str(library))
    assert [name for name in declared if not hasattr(exported, name)] == []
    assert [name for name in declared if not hasattr(exported, f"p{name}")] == []


def test_oshcc_shows_its_command():
    result = subprocess.run(
        [BIN / "oshcc", "--showme", "-c", "a.c"], capture_output=True, text=True, check=True
    )
    assert "-I" in result.stdout
    assert "-lphicoll-shmem" not in result.stdout


@pytest.mark.parametrize(
    ("wrapper", "variable", "compiler"), [("oshcc", "CC", "cc"), ("oshc++", "CXX", "c++")]
)
def test_a_wrapper_that_is_named_as_the_compiler_does_not_call_itself(wrapper, variable, compiler):
    def command(named):
        return subprocess.run(
            [BIN / wrapper, "--showme", "-c", "a.c"],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, variable: named},
        ).stdout.split()

    for named in (wrapper, str(BIN / wrapper), f"ccache {BIN / wrapper}"):
        assert command(named)[0] == compiler
    assert command("ccache other")[:2] == ["ccache", "other"]
