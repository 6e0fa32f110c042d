"""Bad input: every reader and every public function refuses it in words, soon, whatever it is."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import phicoll
from made_up import MadeUp
from phicoll import cli
from phicoll.bench import find
from phicoll.foundations.files import replaced
from phicoll.plots.canvas import new_figure, save_figure
from phicoll.results import Results

MACHINE = "sandy-bridge-e5-2670"
LIMIT_S = 20  # of a single call: what is refused is refused before anything is measured


@pytest.fixture(autouse=True)
def nothing_hangs():
    def hang(*_):
        raise AssertionError(f"no answer within {LIMIT_S} s")

    before = signal.signal(signal.SIGALRM, hang)
    signal.alarm(LIMIT_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def results(tmp_path) -> Path:
    return MadeUp(launches=2, rounds=3).write(tmp_path / "good.jsonl")


def program(*words, stdout=subprocess.PIPE):
    return subprocess.run(words, stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=60, check=False)


# Files that are none.


def a_fifo(folder: Path) -> Path:
    os.mkfifo(folder / "fifo.json")
    return folder / "fifo.json"


def an_endless_line(folder: Path) -> Path:
    path = folder / "endless.json"
    path.touch()
    os.truncate(path, 1 << 40)  # takes no room on the disk
    return path


def bytes_of(name: str, content: bytes):
    def write(folder: Path) -> Path:
        path = folder / f"{name}.json"
        path.write_bytes(content)
        return path

    write.__name__ = name
    return write


FILES = [
    lambda _: Path("/dev/zero"),
    lambda _: Path("/proc/self"),
    a_fifo,
    an_endless_line,
    bytes_of("empty", b""),
    bytes_of("zeros", b"\0" * 10_000),
    bytes_of("not-utf-8", b"\xff\xfe\x00{"),
    bytes_of("text-not-utf-8", b'{"phicoll": "machine", "name": "\xff"}'),
    bytes_of("tuning-not-utf-8", b"phicoll tuning 1\nmachine \xff\n"),
    bytes_of("tuning-words", b"phicoll tuning 1\nbarrier threads 2/2 0 no-such-barrier\n"),
    bytes_of("brackets", b"[" * 3000),
    bytes_of("deep", b'{"a":' * 3000 + b"1" + b"}" * 3000),
    bytes_of("infinite", b'{"phicoll": "machine", "schema": 1e999, "name": Infinity}'),
    bytes_of("number", b"5"),
    bytes_of(
        "wrong-types", b'{"phicoll": "machine", "name": 5, "summary": [], "parameters": {}, "model": 3}'
    ),
    bytes_of("context-of-wrong-type", b'{"schema":1,"kind":"context","phicoll":"results","settings":5}\n'),
    bytes_of("kind-of-wrong-type", b'{"schema":1,"kind":[],"phicoll":"results"}\n'),
]
IDS = ["dev-zero", "folder", *(make.__name__ for make in FILES[2:])]

COMMANDS = [
    "compare {bad}",
    "compare {good} --baseline {bad}",
    "plot {bad} --figure {folder}/f.svg",
    "run barrier --ranks 1 --algorithm dissemination --resume -o {bad}",
    "run barrier --ranks 2 --algorithm dissemination --machine {bad}",
    "run barrier --ranks 2 --algorithm dissemination --tuning {bad}",
    "list machine {bad}",
    "explain barrier --ranks 2 --machine {bad}",
    "why barrier --machine {bad}",
    "why barrier --model {bad}",
    "why barrier --tuning {bad}",
    "tune barrier --ranks 2 --machine {bad}",
    "tune barrier --ranks 2 --by model --model {bad}",
    "tune barrier --ranks 2 --machine " + MACHINE + " --resume -o {bad}",
    "validate {bad}",
    "validate models --quick --host {bad}",
    "latency --machine {bad}",
]


@pytest.mark.parametrize("make", FILES, ids=IDS)
def test_every_command_refuses_a_file_that_is_none_of_ours(make, tmp_path, results, capsys):
    bad = make(tmp_path)
    for command in COMMANDS:
        if "-o {bad}" in command and (bad.parent != tmp_path or bad.name == "empty.json"):
            continue  # an empty file may be written; and what does not belong to the test is only read
        words = command.format(bad=bad, good=results, folder=tmp_path).split()
        assert cli.main(words) == 2, command
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.startswith("phicoll: "), command
        assert "; allowed: " in said.err, command
        assert "Traceback" not in said.err


@pytest.mark.parametrize("make", FILES, ids=IDS)
def test_phicoll_bench_refuses_them_too(make, tmp_path):
    bad = make(tmp_path)
    for words in (
        ["compare", str(bad)],
        ["list", "machine", str(bad)],
        ["run", "barrier", "--ranks", "2", "--machine", str(bad)],
        ["run", "barrier", "--ranks", "1", "--tuning", str(bad)],
    ):
        done = program(str(find()), *words)
        assert done.returncode == 2, words
        assert done.stderr.startswith("phicoll-bench: "), words
        assert "; allowed: " in done.stderr


@pytest.mark.parametrize("make", FILES, ids=IDS)
def test_functions_that_read_refuse_them(make, tmp_path):
    bad = make(tmp_path)
    parquet = tmp_path / "bad.parquet"
    parquet.symlink_to(bad)
    for read in (
        lambda: phicoll.load(bad),
        lambda: phicoll.load(parquet),
        lambda: phicoll.load_machine(bad),
        lambda: phicoll.models.machine_model(bad),
        lambda: phicoll.explain(machine=bad, ranks=2),
        lambda: phicoll.why("barrier", 2, 0, tuning=bad),
        lambda: phicoll.run(len, ranks=1, mode="threads", tuning=bad),
    ):
        with pytest.raises(phicoll.ArgumentError) as caught:
            read()
        assert str(caught.value).isprintable()


def test_the_pytest_plugin_refuses_a_bad_baseline(pytester, tmp_path):
    pytester.makepyfile("def test_nothing(): pass")
    bad = tmp_path / "bad.jsonl"
    bad.write_bytes(b"[" * 3000)
    for options, words in (
        (("--phicoll-baseline", str(bad)), "is not JSON"),
        (("--phicoll-baseline", "/dev/zero"), "not a regular file"),
        (("--phicoll-threshold", "2"), "2 without a baseline"),
    ):
        done = pytester.runpytest_subprocess(*options)
        assert done.ret == pytest.ExitCode.USAGE_ERROR
        done.stderr.fnmatch_lines([f"*{words}*"])


# Lines that are none of a results file.

LINES = [
    ("[" * 3000, "nested too deeply"),
    ('{"a":' * 3000, "nested too deeply"),
    ("[]", "no schema and kind"),
    ("5", "no schema and kind"),
    ('{"schema":1,"kind":"sample"', "malformed|truncated"),
    ('{"schema":1,"kind":"sample","point":0,"launch":0,"round":0}', "missing required field `ns`"),
    ('{"schema":1,"kind":"sample","point":0,"launch":"0","round":0,"ns":[1]}', r"got `str` - at `\$.launch`"),
    ('{"schema":1,"kind":"sample","point":0,"launch":0,"round":0,"ns":[1e999]}', "out of range"),
    ('{"schema":1,"kind":"sample","point":0,"launch":0,"round":0,"ns":[Infinity]}', "malformed"),
    ('{"schema":1,"kind":"sample","point":0,"launch":-1,"round":0,"ns":[1]}', r"at `\$.launch`"),
    ('{"schema":1,"kind":"sample","point":[],"launch":0,"round":0,"ns":[1]}', r"at `\$.point`"),
    ('{"schema":1,"kind":"round","mode":{},"ranks":2,"launch":0,"round":0}', r"at `\$.mode`"),
    ('{"schema":1,"kind":"point","point":0}', "missing required field"),
    ('{"schema":1,"kind":5}', r"at `\$.kind`"),
    ('{"schema":[],"kind":"point"}', r"schema \[\]"),
]


@pytest.mark.parametrize(("line", "words"), LINES)
def test_a_line_of_another_form_is_counted_and_told_with_its_number(results, line, words, capfd):
    whole = results.read_text().splitlines()
    results.write_text("\n".join([*whole[:20], line, *whole[20:]]) + "\n")
    with pytest.warns(phicoll.PhicollWarning, match=rf"1 damaged line\(s\) skipped, .*; line 21: .*{words}"):
        found = phicoll.load(results)
    assert found.damaged_lines == 1
    assert len(found.records) == len(whole)
    assert cli.main(["compare", str(results)]) == 0
    assert "line 21: " in capfd.readouterr().err
    done = program(str(find()), "compare", str(results))
    assert done.returncode == 0
    assert "; line 21: " in done.stderr


def test_invalid_utf_8_in_a_line_is_damage(results):
    whole = results.read_bytes().splitlines()
    results.write_bytes(b"\n".join([*whole[:5], whole[5].replace(b"point", b"poi\xff"), *whole[6:]]))
    with pytest.warns(phicoll.PhicollWarning, match="line 6: not UTF-8"):
        assert phicoll.load(results).damaged_lines == 1


VALUES = [
    None,
    0,
    -1,
    1.5,
    1e308,
    -1e300,
    1e-320,
    10**30,
    "",
    "x",
    [],
    {},
    [1, [2]],
    {"a": 1},
    True,
    [None],
    "\ud800",
]


def places(value, before=()):
    """The keys of every value in a record."""
    items = (
        value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    )
    for key, inner in items:
        yield (*before, key)
        yield from places(inner, (*before, key))


def changed(records, random_: random.Random):
    """The records with one or two fields missing or of another value, in one record or in all of a kind."""
    found = json.loads(json.dumps(records))
    for _ in range(random_.choice((1, 2))):
        kind = random_.choice(("context", "point", "round", "sample", "end"))
        of = [record for record in found if record["kind"] == kind]
        place = random_.choice(list(places(of[0])))
        value, drop = random_.choice(VALUES), random_.random() < 0.25
        for record in of if random_.random() < 0.5 else of[:1]:
            inner = record
            try:
                for key in place[:-1]:
                    inner = inner[key]
                if drop:
                    del inner[place[-1]]
                else:
                    inner[place[-1]] = value
            except (KeyError, TypeError, IndexError):
                continue  # an earlier change has taken it
    return found


VIEWS = [
    lambda found, _: str(found),
    lambda found, _: found._repr_html_(),
    lambda found, _: found.summary(),
    lambda found, _: found.regressions(found),
    lambda found, _: [found.to_dataframe(what) for what in ("samples", "calls", "rounds", "points")],
    lambda found, folder: phicoll.load(found.save(folder / "r.parquet")),
    lambda found, _: found.plot("probes"),
]


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 8))]
)
def test_whatever_a_field_holds_every_view_answers_or_refuses(seed, tmp_path):
    random_ = random.Random(seed)
    records = MadeUp(launches=2, rounds=2, modes=("threads", "processes")).records()
    path = tmp_path / "r.jsonl"
    for _ in range(12):
        path.write_text("".join(json.dumps(record) + "\n" for record in changed(records, random_)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found = phicoll.load(path)
            except phicoll.ResultsFileError:
                continue
            for view in VIEWS:
                try:
                    view(found, tmp_path)
                except phicoll.Error:
                    continue


# Arguments of every kind.

ARGUMENTS = [
    5,
    -1,
    float("nan"),
    "",
    "x",
    "\udcff",
    "a\0b",
    b"x",
    [],
    {},
    [[1]],
    object(),
    10**30,
    (),
    "9" * 5000,
]

FUNCTIONS = {
    phicoll.algorithms: ({}, "operation"),
    phicoll.expand: ({}, "algorithm operation"),
    phicoll.load: ({}, "path"),
    phicoll.load_machine: ({}, "machine"),
    phicoll.count: ({}, "operation algorithm shape ranks placement size"),
    phicoll.explain: (
        {"ranks": 2, "calls": 1, "machine": MACHINE},
        "operation algorithm machine placement definition wait seed skew_ns size most_links call",
    ),
    phicoll.why: (
        {"operation": "reduce", "ranks": 2},
        "operation ranks size mode machine placement tuning foreign model type op commutative memory_limit",
    ),
    phicoll.sweep: (
        {
            "machine": MACHINE,
            "ranks": 2,
            "calls": 1,
            "rounds": 1,
            "algorithm": "dissemination",
            "progress": False,
        },
        "operation algorithm machine ranks placement definition wait seed save jobs on_interrupt type",
    ),
    phicoll.tune: (
        {"machine": MACHINE, "ranks": 2, "operations": "barrier", "rounds": 2, "algorithm": "dissemination"},
        "operations ranks mode by machine model algorithm placement save",
    ),
}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_an_argument_of_any_kind_is_taken_or_refused_by_name(function, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given, names = FUNCTIONS[function]
    for name in names.split():
        for value in ARGUMENTS:
            try:
                function(**{**given, name: value})
            except phicoll.Error:
                continue


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: phicoll.sweep(algorithm=5, ranks=1), "algorithm"),
        (lambda: phicoll.sweep(save=3, ranks=1), "save"),
        (lambda: phicoll.load(5), "path"),
        (lambda: phicoll.count(maschine=60), "argument"),
        (lambda: phicoll.sweep(algoritm="x"), "argument"),
        (lambda: Results(5), "records"),
    ],
)
def test_arguments_of_another_type_are_named(call, argument):
    with pytest.raises(phicoll.ArgumentError) as caught:
        call()
    assert caught.value.argument == argument


@pytest.mark.parametrize(
    ("call", "nearest"),
    [
        (lambda: phicoll.sweep("barier"), "nearest: barrier"),
        (lambda: phicoll.sweep(algoritm="x"), "nearest: algorithm"),
        (lambda: phicoll.tune("barier"), "nearest: barrier"),
    ],
)
def test_the_nearest_name_is_told(call, nearest):
    with pytest.raises(phicoll.ArgumentError, match=nearest):
        call()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("explain broadcast --sizes 4K", "nearest: --size; all: what phicoll explain --help lists"),
        ("run barrier --algoritm x", "nearest: --algorithm; all: what phicoll run --help lists"),
        ("run barrier --ranks 999", "unless --oversubscribe is given"),
        ("explain --set skew-ns=-1", "skew-ns: got "),
        ("explain --set links=-1", "links: got "),
        ("compare r.jsonl --threshold 2", "threshold: got 2 without --baseline"),
        ("compare r.jsonl --against x --summary", "against: got 'x' with --summary"),
        ("run barrier --budget 0", "budget: got '0'; allowed: a number above 0, or none"),
        (
            "plot r.jsonl --unit furlong",
            "unit: got 'furlong'; allowed: lines, switches, ns, us, cycles, GB/s, ratio",
        ),
        ("latency --machine xeon-phi-5110p --cpus 0-99999999999", "cpus: got "),
    ],
)
def test_the_shell_is_told_its_own_names(words, said, capsys):
    assert cli.main(words.split()) == 2
    assert said in capsys.readouterr().err


def test_a_number_is_read_to_its_end():
    with pytest.raises(phicoll.ArgumentError, match=r"budget_s: got .* a number above 0, or none"):
        phicoll.sweep(budget_s="4\0")


def test_a_variable_of_the_environment_keeps_its_name(monkeypatch, capsys):
    monkeypatch.setenv("PHICOLL_TUNING_FOREIGN", "maybe")
    assert cli.main(["why", "barrier"]) == 2
    assert "PHICOLL_TUNING_FOREIGN: got 'maybe'" in capsys.readouterr().err


def test_python_is_told_its_own_names():
    with pytest.raises(phicoll.ArgumentError, match="unless oversubscribe=True is given"):
        phicoll.sweep(ranks=999)


@pytest.mark.parametrize(
    ("name", "words"),
    [("AllReduce", "nearest: Allreduce"), ("iallreduce", "nearest: allreduce, Iallreduce")],
)
def test_an_unknown_method_is_told_with_the_nearest(name, words):
    with pytest.raises(AttributeError, match=words):
        getattr(phicoll.COMM_SELF, name)


def test_an_unknown_function_is_told_with_the_nearest():
    with pytest.raises(AttributeError, match="nearest: sweep"):
        phicoll.sweeep  # noqa: B018


# Disks that are full.


def test_a_full_disk_is_one_line(results):
    with Path("/dev/full").open("w") as full:
        done = program(sys.executable, "-m", "phicoll", "compare", str(results), stdout=full)
    assert done.returncode == 1
    assert done.stderr.splitlines()[0].startswith("phicoll: standard output: No space left on device")
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def draw(results, path):
    save_figure(results.plot(), path)


@pytest.mark.parametrize(
    ("write", "name"), [(Results.save, "r.jsonl"), (Results.save, "r.parquet"), (draw, "f.png")]
)
def test_a_file_that_cannot_be_written_to_its_end_is_an_error_and_leaves_nothing(
    write, name, results, tmp_path
):
    found = phicoll.load(results)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(phicoll.ResourceError, match="cannot be written"):
            write(found, tmp_path / name)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert [path.name for path in tmp_path.iterdir()] == ["good.jsonl"]


def limited(kilobytes, *words):
    """Run a program whose files may have so many KB: as on a disk that is full, but where nothing else is."""
    return program("bash", "-c", f'ulimit -f {kilobytes}; exec "$@"', "bash", sys.executable, "-m", *words)


SIMULATED = ("--machine", MACHINE, "--ranks", "2")


@pytest.mark.parametrize(
    ("kilobytes", "words", "name"),
    [
        (0, ("phicoll", "tune", "barrier", *SIMULATED, "--by", "model", "-o"), "t.tuning.jsonl"),
        (1, ("phicoll", "characterize", "--machine", MACHINE, "--set"), "t.tuning"),
        (1, ("phicoll", "run", "barrier", *SIMULATED, "--rounds", "2", "-o"), "t.tuning"),
        (1, ("phicoll", "explain", "barrier", *SIMULATED, "--trace"), "t.tuning"),
    ],
)
def test_a_full_disk_is_told_with_the_file_and_leaves_whole_lines(kilobytes, words, name, tmp_path):
    file = tmp_path / "t.tuning"
    done = limited(kilobytes, *words, f"samples={file}" if words[-1] == "--set" else str(file))
    assert done.returncode == 1, done.stderr
    assert str(tmp_path / name) in done.stderr
    assert "File too large" in done.stderr
    assert "Traceback" not in done.stderr
    for line in file.read_text().splitlines() if "--trace" not in words and file.exists() else ():
        json.loads(line)


def test_a_run_on_a_full_disk_keeps_whole_records_and_tells_no_damage(tmp_path):
    file = tmp_path / "r.jsonl"
    words = ("phicoll", "run", "barrier", "--algorithm", "dissemination", "--ranks", "2", "--mode", "threads")
    done = limited(12, *words, "--launches", "1", "--rounds", "400", "--budget", "none", "-o", str(file))
    assert done.returncode == 1, done.stderr
    assert f"output: '{file}' can no longer be written (File too large)" in done.stderr
    assert "cut-off" not in done.stderr
    assert len([json.loads(line) for line in file.read_text().splitlines()]) > 2


@pytest.mark.parametrize(
    ("use", "words"),
    [
        ("the run's records", ("run", "barrier", "--ranks", "2", "--mode", "threads", "--budget", "2")),
        ("the table's line costs", ("tune", "barrier", *SIMULATED, "--by", "model")),
    ],
)
def test_where_no_temporary_folder_can_be_had_its_use_and_the_variable_are_named(use, words):
    done = limited(0, "phicoll", *words)
    assert done.returncode == 1, done.stderr
    assert f"phicoll: no temporary folder for {use}: No usable temporary directory found in ['" in done.stderr
    assert "; TMPDIR names another folder" in done.stderr


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_what_is_no_regular_file_is_never_replaced(suffix, results, tmp_path):
    found = phicoll.load(results)
    fifo = tmp_path / f"fifo.{suffix}"
    os.mkfifo(fifo)
    for write in (found.save, lambda path: phicoll.tune("barrier", ranks=2, machine=MACHINE, save=path)):
        with pytest.raises(phicoll.ArgumentError, match="not a regular file"):
            write(fifo)
    assert fifo.is_fifo()
    link = tmp_path / f"link.{suffix}"
    link.symlink_to(tmp_path / f"target.{suffix}")
    found.save(link)
    assert link.is_symlink()
    assert phicoll.load(link).records == found.records


def test_a_figure_larger_than_matplotlib_draws_is_an_error(tmp_path):
    with pytest.raises(phicoll.ResourceError, match="cannot be written"):
        save_figure(new_figure(1e6, 1), tmp_path / "f.png")
    assert not (tmp_path / "f.png").exists()


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_a_replaced_file_has_the_umasks_mode_and_the_umask_stays(umask, tmp_path, monkeypatch):
    """Another thread's file would be writable for all while it is 0."""
    before = os.umask(umask)
    try:
        with monkeypatch.context() as patched:
            patched.setattr(os, "umask", lambda _: pytest.fail("the umask was changed"))
            with replaced(tmp_path / "file") as temporary:
                assert temporary.stat().st_mode & 0o777 == 0o666 & ~umask
                temporary.write_text("new")
    finally:
        os.umask(before)
    assert (tmp_path / "file").read_text() == "new"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o666 & ~umask
