"""The browser that the tests drive: whichever Chromium or Chrome the machine has."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

# Without these a headless start looks up hosts of its maker, which is noise here.
_QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def executable() -> str | None:
    """Path of the first browser found, or None."""
    return next((path for name in _NAMES if (path := shutil.which(name))), None)


@contextmanager
def launch() -> Iterator[Browser]:
    """A headless browser with an empty profile, closed afterwards.

    Raises:
        FileNotFoundError: no Chromium or Chrome is on this machine.
    """
    path = executable()
    if path is None:
        raise FileNotFoundError(f"no browser found; looked for {', '.join(_NAMES)}")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as home:
        browser = playwright.chromium.launch(
            executable_path=path, args=list(_QUIET), env={"HOME": str(Path(home))}
        )
        yield browser
        browser.close()
