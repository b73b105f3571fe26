"""What CONTRIBUTING calls adding: a lesson and a language, made with files of their own."""

import re
import shutil

import pytest
from bs4 import BeautifulSoup
from small_site import build, copied

pytestmark = pytest.mark.slow

LESSON = {
    "docs/lessons/second/quantities/caches.toml": """\
["l2.lines"]
label = { zh = "行数", en = "Lines" }
value = 1024
unit = ""
kind = "assumed"

["l2.line"]
label = { zh = "一行", en = "One line" }
value = 128
unit = "byte"
kind = "assumed"

[l2_size]
is = "l2.lines * l2.line"
""",
    "docs/lessons/second/figures/one_line.py": '''\
"""One line of a cache."""

from wallsite import lessons
from wallsite.figures import labels, style
from wallsite.figures.drawing import Drawing, Table
from wallsite.figures.texts import texts


def draw(lang: str) -> Drawing:
    """Write its size into a box."""
    words, size = texts(__file__, lang), lessons.quantity("l2.line").si
    fig, ax = style.canvas(60)
    style.write(ax, 20, 30, words.line.format(labels.significant(size, 3)))
    said = (text.format(labels.significant(size, 3)) for text in (words.title, words.alt))
    return Drawing(fig, *said, words.caption, Table((words.title,), ((str(size),),)))
''',
    "docs/lessons/second/figures/one_line.zh.toml": """\
title = "一行 {}"
alt = "一行，{} 字节"
caption = "缓存的一行"
line = "一行 {} B"
""",
    "docs/lessons/second/figures/one_line.en.toml": """\
title = "A line of {}"
alt = "One line, {} bytes"
caption = "A line of a cache"
line = "a line: {} B"
""",
    "docs/zh/second/index.md": """\
# 缓存 { #caches }

[[131,072 byte := l2_size]]，见[行](line.md)。
""",
    "docs/en/second/index.md": """\
# Caches { #caches }

[[131,072 byte := l2_size]]; see [lines](line.md).
""",
    "docs/zh/second/line.md": "# 行 { #line }\n\n/// figure | one-line\n///\n",
    "docs/en/second/line.md": "# Lines { #line }\n\n/// figure | one-line\n///\n",
}
LANGUAGE = {
    "wallsite/locale/ja.toml": '[kinds]\nassumed = "仮定"\n',
    "docs/ja/index.md": "# 表紙 { #home }\n\n[[8 := small.side]]\n",
}
SAID = """\
    ja:
      partial: true
      locale: ja
      label: 日本語
      name: 三つの壁
      description: ハードウェアの限界
      licence: MIT
      palette: [明るく, 暗く, 自動]
      search: 検索
      permalink: ここへのリンク
      backlink: "脚注 {} に戻る"
      download: ダウンロード
      missing: ページがありません
      home: 表紙へ
"""


def write(project, files):
    for name, text in files.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def edit(path, pattern, text):
    whole, count = re.subn(pattern, text, path.read_text("utf-8"), flags=re.M)
    assert count == 1
    path.write_text(whole, "utf-8")


def read(project, address):
    return BeautifulSoup((project / "site" / address).read_text("utf-8"), "html.parser")


def alternates(project, address):
    """Where a page says that it stands in each language, but for the site’s own address."""
    links = read(project, address).select("head link[rel=alternate]")
    return {
        link["hreflang"]: link["href"].split("/", 3)[3]
        for link in links
        if link["hreflang"] != "x-default"
    }


def built(project):
    run = build(project, "--strict")
    assert run.returncode == 0, run.stdout


def test_a_lesson_and_a_language_come_and_go(tmp_path):
    project = copied(tmp_path)
    settings = project / "mkdocs.yml"
    plain = settings.read_text("utf-8")

    write(project, LESSON)
    edit(
        settings,
        r"^nav: \[index.md, ",
        "nav: [index.md, second: [second/index.md, second/line.md], ",
    )
    built(project)
    for code, heading, said in (("", "缓存", "一行"), ("en/", "Caches", "A line of")):
        first = read(project, f"{code}second/index.html")
        assert first.h1.get_text().startswith(heading)
        assert "131,072 byte" in first.article.get_text()
        # The lesson’s heading names it in the navigation; nothing else had to be said.
        assert heading in first.select_one("nav.md-nav--primary").get_text()
        figure = read(project, f"{code}second/line/index.html").article.figure
        assert f"{said} 128" in figure.get_text()
        assert "Lines" in read(project, "en/second/index.html").get_text()

    write(project, LANGUAGE)
    edit(settings, r"^  generator: false", SAID + "  generator: false")
    built(project)
    page = read(project, "ja/index.html")
    assert page.html["lang"] == "ja"
    assert page.h1.get_text().startswith("表紙")
    assert "8" in page.article.get_text()
    assert "仮定" in str(page.article)
    # A page says that it exists in that language only if it does; the switch then leads home.
    assert alternates(project, "index.html") == {"zh-Hans": "", "en": "en/", "ja": "ja/"}
    assert "ja" not in alternates(project, "second/index.html")
    switch = read(project, "second/index.html").select_one("a[hreflang=ja]")
    assert switch["href"] == "../ja/"
    assert not (project / "site/ja/second").exists()

    for name in LESSON | LANGUAGE:
        (project / name).unlink()
    shutil.rmtree(project / "docs/lessons/second")
    settings.write_text(plain, "utf-8")
    built(project)
    for gone in ("second", "en/second", "ja"):
        assert not (project / "site" / gone).exists()
