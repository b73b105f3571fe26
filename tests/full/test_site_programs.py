"""A reader runs a snippet straight from the site: `uv run ADDRESS` in an empty folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pages import ROOT, SNIPPETS
from serve import serve

from wallsite.site.build import programs

PUBLISHED = "https://wallsite.github.io/"


@pytest.mark.parametrize("language", ["", "en/"])
def test_every_snippet_is_served_with_the_wheel_it_needs(built_site, language):
    (wheel,) = (built_site / "dist").glob("*.whl")
    for snippet in SNIPPETS.glob("*.py"):
        served = (built_site / f"{language}snippets" / snippet.name).read_text("utf-8")
        needs = f'# dependencies = ["wallsite @ {PUBLISHED}dist/{wheel.name}"]'
        assert served == snippet.read_text("utf-8").replace('# dependencies = ["wallsite"]', needs)


def test_uv_runs_a_snippet_from_its_address(built_site, tmp_path):
    pytest.importorskip("uv", reason="needs uv")
    site, empty = tmp_path / "site", tmp_path / "empty"
    empty.mkdir()
    for folder in ("dist", "snippets"):
        (site / folder).mkdir(parents=True)
        for path in (built_site / folder).iterdir():
            (site / folder / path.name).write_bytes(path.read_bytes())
    with serve(site) as address:
        served = site / "snippets" / "ridge_table.py"
        served.write_text(served.read_text("utf-8").replace(PUBLISHED, address), "utf-8")
        run = subprocess.run(
            [
                sys.executable,
                "-m",
                "uv",
                "run",
                "--python",
                sys.executable,
                f"{address}snippets/{served.name}",
            ],
            cwd=empty,
            env={key: value for key, value in os.environ.items() if key != "VIRTUAL_ENV"},
            capture_output=True,
            text=True,
            check=False,
        )
    assert run.returncode == 0, run.stderr
    page = (ROOT / "docs" / "en" / "reference" / "hardware.md").read_text("utf-8")
    assert run.stdout in page
    assert run.stdout.startswith("device ")
    assert not list(empty.iterdir())


def test_a_snippet_that_does_not_need_wallsite_is_a_mistake():
    with pytest.raises(ValueError, match="does not depend on wallsite"):
        programs.standalone('# /// script\n# dependencies = ["numpy"]\n# ///\n', "x")


def test_the_wheel_holds_the_data_and_is_the_same_each_time():
    name, content = programs.wheel(ROOT)
    programs.wheel.cache_clear()
    assert programs.wheel(ROOT) == (name, content)
    assert b"wallsite/tables/data/accelerators.toml" in content
    assert Path(name).suffix == ".whl"
