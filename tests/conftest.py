"""The site, built once for all tests that look at what a reader gets."""

import os
import subprocess
import sys

import pytest
from pages import ROOT


@pytest.fixture(scope="session")
def built_site(tmp_path_factory):
    """Folder of a strict build of both languages."""
    folder = tmp_path_factory.mktemp("built") / "site"
    build = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    if build.returncode:
        told = [line for line in build.stdout.splitlines() if not line.startswith("INFO")]
        pytest.fail("\n".join(["mkdocs build --strict failed:", *told]), pytrace=False)
    return folder
