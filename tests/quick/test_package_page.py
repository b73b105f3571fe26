"""The package page lists every public function of the package, in both languages."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def public_functions(name):
    module = importlib.import_module(f"wallsite.{name}")
    names = getattr(module, "__all__", None) or vars(module)
    return {
        each
        for each in names
        if not each.startswith("_")
        and callable(function := getattr(module, each))
        and not inspect.isclass(function)
        and function.__module__.startswith(module.__name__)
    }


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize(
    "name", ["tables", "roofline", "workload", "collectives", "explain", "readers", "probes"]
)
def test_the_page_lists_every_public_function(language, name):
    page = (ROOT / "docs" / language / "reference" / "package.md").read_text("utf-8")
    section = page.split(f"`wallsite.{name}`")[1].split("###")[0]
    listed = re.findall(r"^\| `(\w+)` \|", section, re.M)
    assert sorted(listed) == sorted(public_functions(name))
