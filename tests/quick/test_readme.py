"""The READMEs: their two commands, their code, and that neither language lags behind."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
READMES = ["README.md", "README.zh.md"]


def fences(name, language):
    text = (ROOT / name).read_text("utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


def test_both_readmes_give_the_same_commands_and_code():
    english, chinese = READMES
    for language in ("bash", "python"):
        assert fences(english, language) == fences(chinese, language)


def test_there_are_two_commands_and_ci_runs_the_second():
    serve, test = fences("README.md", "bash")
    assert serve.rstrip().endswith(".venv/bin/mkdocs serve")
    assert test in (ROOT / ".ci" / "run").read_text("utf-8")


@pytest.mark.parametrize("name", READMES)
def test_the_code_prints_what_its_comment_says(name):
    (code,) = fences(name, "python")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    shown = re.search(r"# ([\d.]+)…", code)
    assert run.stdout.startswith(shown[1])


@pytest.mark.parametrize("name", [*READMES, "CONTRIBUTING.md"])
def test_links_to_files_lead_somewhere(name):
    text = (ROOT / name).read_text("utf-8")
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", text):
        assert (ROOT / target).exists(), f"{name} links to {target}"


@pytest.mark.parametrize("name", [*READMES, "CONTRIBUTING.md"])
def test_the_paths_it_names_exist(name):
    for code in re.findall(r"`([^`\n]+)`", (ROOT / name).read_text("utf-8")):
        for path in re.findall(r"(?<![\w/.])(?:tests|wallsite|snippets)/[\w./-]+", code):
            if "your_" not in path:  # the reader's own
                assert (ROOT / path).exists(), f"{name} names {path}"


@pytest.mark.parametrize("name", READMES)
def test_the_tree_it_draws_exists(name):
    text = (ROOT / name).read_text("utf-8")
    tree = re.search(r"^```\n(docs/zh.*?)^```$", text, re.M | re.S)[1]
    for line in tree.splitlines():
        for path in re.match(r"[^\s,]+(?:, [^\s,]+)*", line)[0].split(", "):
            assert list(ROOT.glob(path)), f"{name} names {path}"
