"""Checks the links of a site's pages to each other, to their parts and to their images.

usage: scripts/links.py DIRECTORY
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


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


def main() -> int:
    site = Path(sys.argv[1])
    if not (site / "index.html").is_file():
        print(f"links: {site} has no index.html")
        return 1
    lines = broken(site)
    print("\n".join(lines) or f"links: all of {site} lead somewhere")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
