"""The snippets as downloads that run by themselves: `uv run ADDRESS` needs nothing else.

A snippet in the repository depends on ``wallsite`` by name. The copy that the site serves names
the wheel that the site serves beside it, so that it runs wherever the site can be reached.
"""

from __future__ import annotations

import re
import tempfile
from functools import cache
from pathlib import Path
from urllib.parse import urljoin

FOLDER = "dist"  # of the site, where the wheel is

_DEPENDENCY = re.compile(r'^(# dependencies = \[.*)"wallsite"(.*\])$', re.MULTILINE)


@cache
def wheel(root: Path) -> tuple[str, bytes]:
    """Build the package's wheel: its file name and its content, the same for the same sources."""
    from hatchling.builders.wheel import WheelBuilder  # noqa: PLC0415 (only a build needs it)

    with tempfile.TemporaryDirectory() as folder:
        (path,) = WheelBuilder(str(root)).build(directory=folder, versions=["standard"])
        return Path(path).name, Path(path).read_bytes()


def address(site: str, root: Path) -> str:
    """Return the wheel's address on a site."""
    return urljoin(site, f"{FOLDER}/{wheel(root)[0]}")


def standalone(text: str, wheel_address: str) -> str:
    """Make a snippet depend on the wheel at an address instead of on a published package.

    Raises:
        ValueError: the snippet's header does not depend on wallsite.
    """
    text, found = _DEPENDENCY.subn(rf'\1"wallsite @ {wheel_address}"\2', text)
    if not found:
        raise ValueError("its header does not depend on wallsite")
    return text
