"""How the tests are shared out among processes, if ``pytest -n`` asks for several."""

import pytest


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Keep a file in one process: the examples of a page share a namespace."""
    from xdist.scheduler import LoadFileScheduling

    return LoadFileScheduling(config, log)
