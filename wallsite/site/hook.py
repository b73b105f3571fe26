"""What MkDocs loads as a hook: nothing but the way to `wallsite.site.build.run`.

MkDocs keeps a hook for as long as it runs. Under ``mkdocs serve`` everything else of this package
has to be imported afresh for each build, or pages would show what it said before it was edited.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

from mkdocs.plugins import event_priority

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.nav import Navigation
    from mkdocs.structure.pages import Page

    from wallsite.site.build.beside import Beside
    from wallsite.site.build.run import Build

_build: Build
_others: dict[str, Beside] = {}


@event_priority(100)
def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Begin a build, before any plugin reads the settings of its language."""
    global _build  # noqa: PLW0603
    for name in [name for name in sys.modules if name.split(".")[0] == "wallsite"]:
        del sys.modules[name]
    _build = importlib.import_module("wallsite.site.build.run").Build(config, _others)
    return config


def on_pre_build(config: MkDocsConfig) -> None:
    """Start the other languages."""
    _build.start()


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files that all languages share."""
    return _build.add_files(files)


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> Navigation:
    """Name the sections."""
    return _build.name_sections(nav)


@event_priority(-100)
def on_pre_page(page: Page, config: MkDocsConfig, files: Files) -> Page:
    """Take up a page, after mkdocs-jupyter has taken over those of notebooks."""
    return _build.open_page(page)


@event_priority(-100)
def on_post_build(config: MkDocsConfig) -> None:
    """Add what the other languages made, after every plugin has written its files."""
    _build.finish()


def on_build_error(error: Exception) -> None:
    """Stop the other languages, and leave the site as it was."""
    for other in _others.values():
        other.abandon()
    if "_build" in globals():  # not where the package itself does not import
        _build.drop()
