"""Judge the papers' statements anew, and keep the verdicts in docs/claims.md, the validation pages and phicoll claims.

Some minutes on two cores; the numbers are the same on every host.

usage: python scripts/claims.py [NUMBER ...]      only these statements, such as 004-36; the others keep their verdicts
                                                  (and nothing is said of the guesses that these rest on)
"""

from __future__ import annotations

import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from phicoll.papers.claims import CLAIMS, Report, report
from phicoll.papers.claims.markdown import MARK, table
from phicoll.papers.claims.rows import FILE, numbers_of
from phicoll.papers.validation.guesses import turning
from phicoll.papers.validation.judges import JUDGES
from phicoll.papers.verdicts import judge

ROOT = Path(__file__).parents[1]
STORED = ROOT / "src" / "phicoll" / "papers" / "claims" / FILE
PAGE = ROOT / "docs" / "claims.md"
#: Seconds between two lines of progress.
EVERY = 10.0


class Progress:
    """A line now and then: what is done, of how much, and for how long."""

    def __init__(self) -> None:
        self.start = self.last = time.monotonic()

    def __call__(self, done: int, total: int, what: str) -> None:
        now = time.monotonic()
        if now - self.last >= EVERY or done == total:
            self.last = now
            print(f"claims: {done} of {total}, {now - self.start:.0f} s, {what}", file=sys.stderr, flush=True)


def write(found: Report) -> None:
    """The stored findings and the page that shows them."""
    known = ("paper", "section", "statement", "conditions")  # in phicoll.papers.claims.statements
    rows = [row.finding.to_dict() for row in found]
    claims = [{key: value for key, value in row.items() if key not in known} for row in rows]
    kept = {
        "seeds": found.seeds,
        "machines": found.machines,
        "guesses": found.guesses,
        "claims": claims,
    }
    STORED.write_text(json.dumps(kept, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")
    words, _, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    PAGE.write_text(f"{words}{MARK}\n{table(found)}", encoding="utf-8")


def rests_on(found: Report) -> dict[str, tuple[str, ...]]:
    """The guesses that turn each verdict: of fast checks, where fewer samples and seeds come to the same verdict."""
    machines = dict.fromkeys(judge.machine for judge in JUDGES if judge.numbers)
    with ThreadPoolExecutor(os.cpu_count() or 1) as executor:
        turned = turning(machines, executor, Progress())
    kept = {row.number: row.finding.verdict for row in found}
    return {number: of for number, (verdict, of) in turned.items() if kept[number] == verdict}


def main(arguments: list[str]) -> int:
    for number in arguments:
        numbers_of(None, number)
    begin = time.monotonic()
    found = judge(arguments or CLAIMS, progress=Progress())
    whole = found.report
    if not arguments:
        findings = [row.finding for row in whole]
        whole = Report(findings, whole.seeds, whole.machines, rests_on(whole))
    else:
        before = report()
        mine = {row.number: row.finding for row in whole}
        whole = Report(
            [mine.get(row.number, row.finding) for row in before],
            before.seeds,
            {**before.machines, **whole.machines},
            {n: of for n, of in before.guesses.items() if n not in mine},
        )
    write(whole)
    for validation in found.validations:
        validation.page(ROOT / "docs" / f"validation-{validation.machine.name}.md")
    if found.models is not None:
        found.models.page(ROOT / "docs" / "validation-models.md")
    print(f"{whole.summary()}; {time.monotonic() - begin:.0f} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
