"""Notebooks run from top to bottom, hold no results, and differ between languages in words only."""

import importlib.util

import nbformat
import pytest
from nbclient import NotebookClient
from pages import DOCS, LANGUAGES, names

pytestmark = pytest.mark.slow

_TIMEOUT_S = 120


def read(language, name):
    return nbformat.read(DOCS / language / name, as_version=4)


def code(notebook):
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


@pytest.mark.parametrize("name", names(".ipynb"))
def test_notebook_runs(name, tmp_path):
    # One language stands for both: their code is the same, as tested below.
    notebook = read("zh", name)
    if "matplotlib" in "".join(code(notebook)) and not importlib.util.find_spec("matplotlib"):
        pytest.skip("needs matplotlib")
    NotebookClient(
        notebook,
        timeout=_TIMEOUT_S,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    ).execute()


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", names(".ipynb"))
def test_results_are_not_stored(language, name):
    for cell in read(language, name).cells:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


@pytest.mark.parametrize("name", names(".ipynb"))
def test_both_languages_run_the_same_code(name):
    zh, en = (read(language, name) for language in LANGUAGES)
    assert code(zh) == code(en)
    assert [cell.cell_type for cell in zh.cells] == [cell.cell_type for cell in en.cells]
