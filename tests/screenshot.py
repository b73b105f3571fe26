"""Take the README's screenshots of a built site: ``python tests/screenshot.py site``.

Writes ``assets/screenshot.zh.png`` and ``assets/screenshot.en.png`` into the site, so that they
are published with it and never committed.
"""

from __future__ import annotations

import sys
from pathlib import Path

from browser import launch
from serve import serve

PAGES = {"zh": "three-walls/memory/", "en": "en/three-walls/memory/"}


def main(site: Path) -> None:
    """Photograph the memory-wall page in both languages, at its first figure."""
    with serve(site) as address, launch() as browser:
        for language, path in PAGES.items():
            page = browser.new_page(viewport={"width": 1280, "height": 800}, device_scale_factor=2)
            page.goto(f"{address}{path}", wait_until="load")
            page.locator("figure svg").first.evaluate("it => it.scrollIntoView({block: 'center'})")
            page.screenshot(path=site / "assets" / f"screenshot.{language}.png")
            page.close()


if __name__ == "__main__":
    if len(sys.argv) != 2 or not (site := Path(sys.argv[1])).joinpath("index.html").is_file():
        sys.exit("usage: python tests/screenshot.py SITE, where SITE is a built site")
    main(site)
