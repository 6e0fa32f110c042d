"""Judge the papers' statements anew, and keep the verdicts in docs/claims.md, the validation pages and phicoll claims.

Some minutes on two cores; the numbers are the same on every host.

usage: python scripts/claims.py [NUMBER ...]      only these statements, such as 004-36; the others keep their verdicts
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from phicoll.papers.claims import CLAIMS, Report, report
from phicoll.papers.claims.markdown import MARK, table
from phicoll.papers.claims.rows import FILE, numbers_of
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
    kept = {"seeds": found.seeds, "machines": found.machines, "claims": claims}
    STORED.write_text(json.dumps(kept, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")
    words, _, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    PAGE.write_text(f"{words}{MARK}\n{table(found)}", encoding="utf-8")


def main(arguments: list[str]) -> int:
    for number in arguments:
        numbers_of(None, number)
    begin = time.monotonic()
    found = judge(arguments or CLAIMS, progress=Progress())
    whole = found.report
    if arguments:
        before = report()
        mine = {row.number: row.finding for row in whole}
        whole = Report(
            [mine.get(row.number, row.finding) for row in before],
            before.seeds,
            {**before.machines, **whole.machines},
        )
    write(whole)
    for validation in found.validations:
        validation.page(ROOT / "docs" / f"validation-{validation.machine.name}.md")
    print(f"{whole.summary()}; {time.monotonic() - begin:.0f} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
