"""The report: an index page, a page and a figure for each operation, from the files of samples alone."""

from __future__ import annotations

import contextlib
import json
import statistics
import subprocess
import time
from collections.abc import Iterable
from dataclasses import astuple, dataclass, field, replace
from pathlib import Path
from typing import Any

from as_results import as_results
from points import Point, Taken
from report_figures import figures
from rounds import HOPELESS
from states import State, states
from tables import (
    composition_table,
    geomean_table,
    hand_table,
    heap_table,
    limit_table,
    listed,
    out_table,
    ratio_tables,
    table,
)
from verdicts import (
    COMPOSITIONS,
    LEAST_SHARE,
    NOT_SLOWER,
    Row,
    at_limit,
    at_most,
    compositions,
    heap_rows,
    limits,
    rows_of,
    tally,
    versus,
)

HAND = "phicoll:hand-pair"
#: A table of more points lists only those that fall short.
MOST_LISTED = 60
SAMPLES_FILE, CLAIMS_FILE = "collectives.jsonl", "claims.jsonl"


@dataclass
class Settings:
    """The settings of a report. They begin the file of samples, with the machine, since both may be others when the
    report is written again."""

    folder: Path
    cpus: list[int]
    mpis: list[str]
    seed: int
    rounds: int
    launches: int
    budget: float  # seconds; 0: no limit
    points: list[Point]
    large: list[Point]
    kind: str
    #: Why this run was interrupted, if it was.
    ended: str = ""
    #: What the machine and the code were.
    machine: list[list[str]] = field(default_factory=list)

    @property
    def beside_others(self) -> list[Point]:
        """The points at which all systems can take part: only phicoll's ranks have a heap."""
        return [point for point in self.points if point.buffers != "heap"]

    def record(self) -> dict[str, Any]:
        return {
            **{name: getattr(self, name) for name in KEPT},
            **{name: [list(astuple(point)) for point in getattr(self, name)] for name in ("points", "large")},
        }

    def as_made(self, made: dict[str, Any]) -> Settings:
        """Those that a file of samples begins with."""
        points = {name: [Point(*values) for values in made[name]] for name in ("points", "large")}
        return replace(self, **{name: made[name] for name in KEPT}, **points)


KEPT = ("cpus", "mpis", "seed", "rounds", "launches", "budget", "kind", "machine")


def begin(settings: Settings) -> None:
    """Starts a new file of samples with the settings and the machine as they are now."""
    settings.machine = machine_rows(settings)
    (settings.folder / SAMPLES_FILE).unlink(missing_ok=True)
    note(settings, {"made": settings.record()})


def note(settings: Settings, record: dict[str, Any]) -> None:
    with (settings.folder / SAMPLES_FILE).open("a") as file:
        file.write(json.dumps(record) + "\n")


def write_report(settings: Settings) -> int:
    """Writes and prints it. 1 where phicoll gave a wrong result, 130 where the run was interrupted, else 0."""
    folder = settings.folder
    samples, claims = folder / SAMPLES_FILE, folder / CLAIMS_FILE
    taken = Taken.read(samples) if samples.exists() else Taken()
    compared = Taken.read(claims) if claims.exists() else Taken()
    if taken.made:
        settings = settings.as_made(taken.made)
    rows = rows_of(taken, points=settings.beside_others)
    at_limits = limits(taken, points=settings.beside_others)
    pictures = figures(taken, folder, settings.beside_others, (HAND,))
    pages = operation_pages(rows, at_limits, pictures)
    for operation, page in pages.items():
        (folder / f"{operation}.md").write_text(page)
        print(page)
    index = "\n\n".join(index_parts(settings, taken, compared, rows, at_limits, list(pages))) + "\n"
    (folder / "README.md").write_text(index)
    print(index)
    print(f"written: {folder / 'README.md'}; samples: {samples}")
    if any(subject.startswith("phicoll") for _, subject in taken.wrong | compared.wrong):
        return 1
    return 130 if settings.ended else 0


def operation_pages(rows: list[Row], at_limits: list[Row], pictures: dict[str, Path]) -> dict[str, str]:
    pages = {}
    for operation in dict.fromkeys(row.point.operation for row in rows):
        parts = [f"# {operation}"]
        if operation in pictures:
            parts.append(f"![{operation}: time over size]({pictures[operation].name})")
        mine = [row for row in rows if row.point.operation == operation]
        parts += [f"## {title}\n\n{text}" for title, text in ratio_tables(mine, at_limits).items()]
        pages[operation] = "\n\n".join(parts) + "\n"
    return pages


def index_parts(
    settings: Settings, taken: Taken, compared: Taken, rows: list[Row], at_limits: list[Row], pages: list[str]
) -> list[str]:
    done = sum(len(by) for of in taken.ns.values() for by in of.values())
    parts = [
        "# phicoll's collectives beside MPI",
        "`docs/measuring-collectives.md` says what is measured. Times are medians, ratios are within rounds. The best "
        "other is chosen on odd rounds and compared on even ones, and so is the best bare loop, near and far by "
        "itself; intervals are Holm-corrected over all rows. of loop: time of the best bare loop / phicoll's time; "
        "loop/other: that loop's time / the best other's. "
        f"Seed {settings.seed}, up to {settings.launches} x {settings.rounds} rounds"
        + (f" in {settings.budget / 60:.3g} minutes" if settings.budget else "")
        + f", {done} samples. Median rounds per point: {rounds_reached(taken)}.",
    ]
    ended = [one for one in (settings.ended, taken.ended, compared.ended) if one.startswith("interrupted")]
    if ended:
        parts.append(f"**The run was {ended[0]}; this is what it had by then.**")
    if absent := [
        name for name in settings.mpis if taken.ns and not any(name in by for by in taken.ns.values())
    ]:
        parts.append(
            f'**Without {" and ".join(absent)}, which took no part at any point: "Took no part" says why.**'
        )
    if taken.ns and not taken.made:
        parts.append(
            "**The samples do not say how they were made: the settings are those of the command that wrote this report "
            "from them, and their machine is unknown.**"
        )
    if len(numbers := numbers_of(taken, compared)) > 1:
        parts.append(
            "**The host's numbers changed between launches, so `auto` had different ones under one name.** "
            + "; ".join(f"{text} ({count} of the starts and ends)" for text, count in numbers.items())
            + "."
        )
    parts += [
        "Pages: " + ", ".join(f"[{operation}]({operation}.md)" for operation in pages)
        if pages
        else "No samples.",
        "## The machine\n\n" + table(["what", "value"], machine_part(settings, taken, compared), (0, 1)),
        "## Against the best other\n\n" + summary(rows, at_limits),
        "Geometric means of best other's time / phicoll's time, each with an interval of its own (?: of too few "
        "units):\n\n" + geomean_table(rows, len(settings.cpus)),
    ]
    if found := states(taken):
        parts.append("## Near and far\n\n" + states_part(found, len(settings.cpus), settings.beside_others))
    if by_hand := versus(taken, "phicoll", HAND):
        parts.append("## Two ranks, 8 bytes, against the hand-written reference\n\n" + hand_table(by_hand))
    if at_limits:
        text = f"## At least {LEAST_SHARE:.0%} of the best bare loop\n\n{in_words(at_limit(row) for row in at_limits)}"
        shown = at_limits
        if len(at_limits) > MOST_LISTED:
            shown = [row for row in at_limits if at_limit(row).rstrip("?") != "met"]
            text += " Those met are left out."
        parts.append(text + ("\n\n" + limit_table(shown) if shown else ""))
    if in_heap := heap_rows(taken):
        parts.append(
            "## Buffers in the group's heap\n\nPrivate buffers' time / that of buffers in the heap, both written "
            f"before each call.\n\n{heap_table(in_heap)}"
        )
    parts.append(consistency(taken))
    if compared.ns:
        parts.append(claims_part(settings, compared))
    return [*parts, *left_out(settings, taken, compared)]


def rounds_reached(taken: Taken) -> str:
    """ "16 with 2 ranks, 5 with 4": of phicoll's own samples."""
    found: dict[int, list[int]] = {}
    for point, by in taken.ns.items():
        found.setdefault(point.ranks, []).append(len(by.get("phicoll", ())))
    return (
        ", ".join(f"{statistics.median(n):g} with {ranks} ranks" for ranks, n in sorted(found.items()))
        or "none"
    )


def summary(rows: list[Row], at_limits: list[Row]) -> str:
    limit = {row.point: at_limit(row) for row in at_limits}
    behind = [row for row in rows if row.verdict.rstrip("?") in ("slower", "unresolved")]
    excused = tally(limit[row.point] for row in behind if row.point in limit).get("met", "0")
    loops = tally(at_most(row.loop_ratio, NOT_SLOWER) for row in behind).get("missed", "0")
    return (
        f"{in_words(row.verdict for row in rows)} Of the slower and unresolved, {excused} are at the copy limit "
        f"({LEAST_SHARE:.0%} of the best bare loop), and at {loops} that loop is slower than the best other. "
        "?: too few units for the intervals' confidence; the bounds are those of all units. "
        + units_in_words(rows)
    )


def units_in_words(rows: list[Row]) -> str:
    """What the rows' units are, and how many."""
    ratios = [row.ratio for row in rows if row.ratio is not None]
    if not ratios:
        return ""
    of = {kind: [ratio.units for ratio in ratios if ratio.unit == kind] for kind in ("round", "launch")}
    words = [
        f"{what} at {len(counts)} (median {statistics.median(counts):g} of them)"
        for what, counts in (("a round", of["round"]), ("a launch's median", of["launch"]))
        if counts
    ]
    alone = sum(ratio.launches == 1 for ratio in ratios)
    return f"The unit is {', '.join(words)}." + (
        f" In one launch alone: {alone}; how launches differ is unknown there." if alone else ""
    )


def states_part(found: list[State], crowded_from: int, points: list[Point] | None = None) -> str:
    near, far = found
    text = [
        f"The machine had two states: a line between the ranks' CPUs took {near.line_ns:.3g} ns (near, "
        f"{near.share:.0%} of the rounds with a CPU per rank) or {far.line_ns:.3g} ns (far). An interval over both "
        "would span their distance, so each is judged alone."
    ]
    for state in found:
        rows = [row for row in rows_of(state.taken, points=points) if row.ratio is not None]
        at_limits = limits(state.taken, points=points)
        against = f"Against {LEAST_SHARE:.0%} of the best bare loop, {in_words(map(at_limit, at_limits))}\n\n"
        text.append(
            f"### {state.name.capitalize()}\n\n{in_words(row.verdict for row in rows)}\n\n"
            + (against if at_limits else "")
            + geomean_table(rows, crowded_from)
        )
    return "\n\n".join(text)


def in_words(verdicts: Iterable[str]) -> str:
    """ "7 points: 4 (1 of them ?) not slower, 3 unresolved." """
    verdicts = list(verdicts)
    return f"{len(verdicts)} points: " + ", ".join(f"{n} {word}" for word, n in tally(verdicts).items()) + "."


def consistency(taken: Taken) -> str:
    rows = compositions(taken)
    missing = {o for o, _ in COMPOSITIONS} - {row.point.operation for row in rows}
    text = (
        "## Self-consistency\n\nphicoll's operation against its composition from others (their sizes in "
        f"brackets; p: ranks). {in_words(row.verdict for row in rows)}"
    )
    if missing and rows:
        text += f" Without samples of all parts: {', '.join(sorted(missing))}."
    if len(rows) > MOST_LISTED:
        rows = [row for row in rows if row.verdict.rstrip("?") == "slower"]
        text += " Only those slower are listed."
    return text + ("\n\n" + composition_table(rows) if rows else "")


def claims_part(settings: Settings, compared: Taken) -> str:
    from phicoll.papers.claims import check_data

    found = check_data(as_results(compared, "threads", len(settings.cpus)))
    return "## The papers' statements on order\n\n" + table(
        ["claim", "paper", "statement", "its conditions", "verdict here", "measured", "under"],
        [
            [f.claim.number, f.claim.paper, f.claim.statement, f.claim.conditions, f.verdict, f.measured, f.under]
            for f in found
        ],
        range(7),
    )  # fmt: skip


def left_out(settings: Settings, taken: Taken, compared: Taken) -> list[str]:
    parts = []
    if taken.dropped or taken.failed or taken.wrong:
        parts.append(
            "## Took no part\n\nA system that does not answer in time is out from that size on, with that number of "
            "ranks.\n\n" + out_table(taken)
        )
    if seldom := seldom_asked(taken):
        parts.append(
            f"Run in few rounds only, after taking {HOPELESS:g} times the best MPI's time: "
            + ", ".join(f"{name} at {count} points" for name, count in seldom.items())
        )
    if compared.dropped or compared.failed or compared.wrong:
        parts.append("Of the papers' statements:\n\n" + out_table(compared))
    if notes := [*taken.notes, *(f"{note} (the papers' statements)" for note in compared.notes)]:
        parts.append("\n".join(f"- {note}" for note in notes))
    missing = [point for point in settings.points if point not in taken.ns]
    for title, points in (
        ("Over 1 GB in all, not measured", settings.large), ("Not reached in the time", missing),
    ):  # fmt: skip
        if points:
            parts.append(f"## {title}\n\n{listed(points)}")
    return parts


def seldom_asked(taken: Taken) -> dict[str, int]:
    """The number of points at which each MPI took part in few rounds without being out."""
    found: dict[str, int] = {}
    for point, by in taken.ns.items():
        for name in by:
            if not name.startswith("phicoll") and taken.few(point, name) and not taken.is_out(point, name):
                found[name] = found.get(name, 0) + 1
    return dict(sorted(found.items()))


def machine_part(settings: Settings, taken: Taken, compared: Taken) -> list[list[str]]:
    """The machine as the samples' file has it, and what each system says of itself."""
    return [
        *settings.machine,
        *(["host's numbers", text] for text in numbers_of(taken, compared)),
        *([name, str(taken.facts[name].get("library", "")).splitlines()[0][:90]] for name in settings.mpis
          if taken.facts.get(name, {}).get("library")),
    ]  # fmt: skip


def numbers_of(*takens: Taken) -> dict[str, int]:
    """The host's numbers that launches had, and how often."""
    found: dict[str, int] = {}
    for taken in takens:
        for text, count in taken.numbers.items():
            found[text] = found.get(text, 0) + count
    return found


def machine_rows(settings: Settings) -> list[list[str]]:
    """The machine and the code as they are now."""
    import phicoll
    from phicoll import _core

    facts: dict[str, Any] = _core.facts()
    caches = [
        f"L{c['level']} {c['type']} {int(c['size_bytes']) >> 10} KB"
        for c in _core.caches(settings.cpus[0])
        if c.get("size_bytes")
    ]
    places = {place["cpu"]: place for place in _core.topology()}
    return [
        ["CPU", _core.host_kind()],
        ["CPUs used", "; ".join(where(cpu, places.get(cpu, {})) for cpu in settings.cpus)],
        ["allowed CPUs", f"{len(_core.allowed_cpus())}, quota {_core.cpu_quota() or 'none'}"],
        ["caches", ", ".join(caches)],
        ["memory", f"{int(facts.get('memory_bytes', 0)) >> 30} GB"],
        *([name.replace("_", " "), str(facts[name])] for name in (
            "kernel", "virtualisation", "container", "governor", "boost", "huge_pages", "huge_pages_shared",
        ) if name in facts),
        ["phicoll", f"{phicoll.__version__}, {settings.kind}, commit {commit()}"],
        ["measured", time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())],
    ]  # fmt: skip


def commit() -> str:
    """Of this checkout."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        words = ["git", "describe", "--always", "--dirty", "--exclude=*"]
        here = Path(__file__).resolve().parent
        return subprocess.run(words, capture_output=True, text=True, check=True, cwd=here).stdout.strip()
    return "unknown"


def where(cpu: int, place: dict[str, int]) -> str:
    return f"{cpu} (core {place.get('core', '?')}, package {place.get('package', '?')})"
