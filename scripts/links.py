"""Checks the links of a site's pages to each other, to their parts and to their images, and where its search leads.

usage: scripts/links.py DIRECTORY
"""

from __future__ import annotations

import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: A report of one kind of host, or one of its tables.
TABLE = re.compile(r"bench/.+/\w+")


class Page(HTMLParser):
    """The parts that a page has, and what it refers to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.parts: set[str] = set()
        self.links: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.parts.add(value)
            elif name in ("href", "src") and value:
                self.links.add(value)


def broken(site: Path) -> list[str]:
    """The links that lead nowhere, with their pages. Those to other sites are not followed."""
    site = site.resolve()
    pages = {path: Page(path.read_text()) for path in site.rglob("*.html")}
    found = []
    for path, page in pages.items():
        for link in sorted(page.links):
            url = urlsplit(link)
            if url.scheme or url.netloc:
                continue
            target = (path.parent / unquote(url.path)).resolve() if url.path else path
            part = unquote(url.fragment)
            if not target.is_file():
                found.append(f"{path.relative_to(site)}: {link}: no such page or file")
            elif part and target in pages and part not in pages[target].parts:
                found.append(f"{path.relative_to(site)}: {link}: the page has no such part")
    return found


def tables_in_search(site: Path) -> list[str]:
    """The pages of benchmarks' tables that the site's search knows by a heading or a word."""
    index = site / "searchindex.js"
    if not index.is_file():
        return []
    text = index.read_text()
    known = json.loads(text[text.index("(") + 1 : text.rindex(")")])
    pages = {page for places in known["alltitles"].values() for page, _ in places}
    for found in known["terms"].values():
        pages |= {found} if isinstance(found, int) else set(found)
    names = sorted(known["docnames"][page] for page in pages)
    return [f"search: {name}: leads to a benchmark's table" for name in names if TABLE.fullmatch(name)]


def main() -> int:
    site = Path(sys.argv[1])
    if not (site / "index.html").is_file():
        print(f"links: {site} has no index.html")
        return 1
    lines = broken(site) + tables_in_search(site)
    print("\n".join(lines) or f"links: all of {site} lead somewhere")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
