"""How the tests are shared out among processes, if ``pytest -n`` asks for several."""

import pytest


def pytest_addoption(parser):
    """Let ``pytest docs --update`` rewrite what the pages show."""
    parser.addoption(
        "--update", action="store_true", help="rewrite shown outputs and digits of the pages"
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Keep a file in one process: the examples of a page share a namespace."""
    from xdist.scheduler import LoadFileScheduling

    return LoadFileScheduling(config, log)
