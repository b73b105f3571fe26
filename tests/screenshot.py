"""Take the README's screenshots of a built site: ``python tests/screenshot.py site``.

Writes ``assets/screenshot.zh.png`` and ``assets/screenshot.en.png`` into the site, so that they
are published with it and never committed.
"""

from __future__ import annotations

import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from browser import launch

PAGES = {"zh": "three-walls/memory/", "en": "en/three-walls/memory/"}


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        """Say nothing: the requests are our own."""


def main(site: Path) -> None:
    """Photograph the memory-wall page in both languages, at its first figure."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site)))
    Thread(target=server.serve_forever, daemon=True).start()
    with launch() as browser:
        for language, path in PAGES.items():
            page = browser.new_page(viewport={"width": 1280, "height": 800}, device_scale_factor=2)
            page.goto(f"http://127.0.0.1:{server.server_port}/{path}", wait_until="load")
            page.locator("figure svg").first.evaluate("it => it.scrollIntoView({block: 'center'})")
            page.screenshot(path=site / "assets" / f"screenshot.{language}.png")
            page.close()
    server.shutdown()


if __name__ == "__main__":
    if len(sys.argv) != 2 or not (site := Path(sys.argv[1])).joinpath("index.html").is_file():
        sys.exit("usage: python tests/screenshot.py SITE, where SITE is a built site")
    main(site)
