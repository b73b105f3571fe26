"""A copy of the package with a site of one page in two languages, to break or to add to."""

import os
import re
import shutil
import subprocess
import sys

from pages import ROOT

PAGES = {
    "zh": "# 首页 { #home }\n\n/// table | ridge\n    devices: [h100-sxm]\n///\n",
    "en": "# Home { #home }\n\n/// table | ridge\n    devices: [h100-sxm]\n///\n",
}
# Tables link to it.
SOURCES = "# Sources { #sources }\n\n/// list | sources\n///\n"
FIGURE = """
```{ .python .figure #curve title="A title" alt="A text" }
import matplotlib.pyplot as plt

from wallsite import roofline, tables

fig, ax = plt.subplots()
ax.set_title(f"{tables.accelerator('h100-sxm').bandwidth.value} {roofline.ridge_point(8e12, 2e12)}")
```
"""


def copied(tmp_path):
    ignored = shutil.ignore_patterns("__pycache__")
    lesson = tmp_path / "docs/lessons/small/quantities"
    lesson.mkdir(parents=True)
    (lesson / "first.toml").write_text(
        '["small.side"]\nlabel = { zh = "边长", en = "Side" }\nvalue = 8\nunit = ""\n'
        'kind = "assumed"\n',
        encoding="utf-8",
    )
    shutil.copytree(ROOT / "wallsite", tmp_path / "wallsite", ignore=ignored)
    shutil.copytree(ROOT / "docs/assets", tmp_path / "docs/assets")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "snippets").mkdir()
    for language, text in PAGES.items():
        folder = tmp_path / "docs" / language
        (folder / "reference").mkdir(parents=True)
        (folder / "index.md").write_text(text, encoding="utf-8")
        (folder / "reference/sources.md").write_text(SOURCES, encoding="utf-8")
    settings = (ROOT / "mkdocs.yml").read_text("utf-8")
    nav = "nav: [index.md, reference/sources.md]\n\n"
    settings = re.sub(r"^nav:\n.*?^(?=\w)", nav, settings, flags=re.M | re.S)
    (tmp_path / "mkdocs.yml").write_text(settings, encoding="utf-8")
    return tmp_path


def mkdocs(project, *arguments, **variables):
    return {
        "args": [sys.executable, "-m", "mkdocs", *arguments],
        "cwd": project,
        # The copy, not the package that is installed.
        "env": os.environ | {"PYTHONPATH": str(project)} | variables,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.STDOUT,
        "encoding": "utf-8",
    }


def build(project, *arguments, **variables):
    return subprocess.run(**mkdocs(project, "build", *arguments, **variables), check=False)
