"""The scanner finds exactly the blocks that the site shows, however a fence is written."""

import html
import re
from pathlib import Path

import pytest
import yaml
from fences import NESTINGS, SPELLINGS
from markdown import Markdown
from pages import ROOT

from wallsite.site.blocks import SNIPPET_OPTIONS, BlockError, scan

CODE = "total = 1\n\nif total:\n    total += 1  # <b> & `x`"


def shown(text):
    """Code blocks of the page as the reader sees them."""
    page = Markdown(
        extensions=[
            "admonition", "attr_list", "def_list", "footnotes", "md_in_html", "pymdownx.details",
            "pymdownx.blocks.details", "pymdownx.highlight", "pymdownx.superfences",
            "pymdownx.tabbed",
        ],
        extension_configs={"pymdownx.tabbed": {"alternate_style": True}},
    ).convert(text)  # fmt: skip
    page = re.sub(r"<!--.*?-->", "", page, flags=re.DOTALL)
    codes = re.findall(r"<code[^>]*>(.*?)</code>", page, re.DOTALL)
    return [html.unescape(re.sub(r"<[^>]+>", "", code)).rstrip("\n") for code in codes]


def blocks(text, snippets=Path("none")):
    return scan(text, snippets).blocks


@pytest.mark.parametrize("nesting", NESTINGS)
@pytest.mark.parametrize(("opening", "closing"), SPELLINGS)
def test_block_is_found_as_the_site_shows_it(opening, closing, nesting):
    nested = NESTINGS[nesting](f"{opening}\n{CODE}\n{closing}")
    text = f"# Title\n\n{nested}\n\ntext\n"
    (block,) = blocks(text)
    assert [block.source] == shown(text) == [CODE]
    assert block.language in {"python", "py", "python3", "pycon"}
    lines = text.split("\n")
    assert opening in lines[block.line - 1]
    assert lines[block.end - 1].endswith(closing)
    for number, code in zip(block.lines, CODE.split("\n"), strict=True):
        assert code in lines[number - 1]


def test_attributes():
    (block,) = blocks(
        '```{ .python .figure #curve title="T" alt="a curve" hl_lines="1" }\nx\n```\n'
    )
    assert block.classes == ("figure",)
    assert block.title == "T"
    assert block.attributes == {"id": "curve", "title": "T", "alt": "a curve", "hl_lines": "1"}


def test_block_without_a_language():
    (block,) = blocks("```\nx\n```\n")
    assert block.language == ""


def test_blocks_come_in_order_with_their_lines():
    text = "---\ntitle: x\n---\n# T\n\n```text\na\n```\n```output\nb\n```\n"
    assert [(block.language, block.line, block.end) for block in blocks(text)] == [
        ("text", 6, 8),
        ("output", 9, 11),
    ]


@pytest.mark.parametrize(
    "hidden",
    [
        "---\nnote: |\n  ```python\n  x\n  ```\n---\n",
        "<!--\n```python\nx\n```\n-->\n",
        "<!-- `tick -->\n\n<!-- ```python -->\n",
        "````text\n```python\nx\n```\n````\n",
        "Write `` ```python `` to open, and\n```` ```python```` or ```x```.\n",
    ],
)
def test_what_only_mentions_a_fence_is_none(hidden):
    found = blocks(f"{hidden}\n```python\nreal\n```\n")
    assert [block.source for block in found if block.language != "text"] == ["real"]


def test_marks_of_a_comment_in_code_open_none():
    found = blocks(
        "`<!--`\n\n```python\na\n```\n\n```text\n<!--\n```\n\n```python\nb\n```\n\n-->\n"
    )
    assert [block.source for block in found] == ["a", "<!--", "b"]


@pytest.mark.parametrize(
    ("fence", "line"),
    [
        ('text\n\n```bash alt="an attribute outside braces"\nx\n```\n', 3),
        ('text\n\n```bash alt="x"\n\nx\n\n```\n', 3),
        ("```python title=unquoted\nx\n```\n", 1),
        ("a\n\n```python\nnever closed\n", 3),
        ("- ```python\n  x\n  ```\n", 1),
        ("!!! note\n    ```python\n  x\n    ```\n", 2),
    ],
)
def test_a_fence_that_the_site_prints_as_text_is_an_error(fence, line):
    with pytest.raises(BlockError, match=rf"^line {line}: not a fence, shown as text: .*[`~]"):
        blocks(fence)


@pytest.fixture
def snippets(tmp_path):
    (tmp_path / "area.py").write_text(
        "import math\n\n# --8<-- [start:area]\ndef area(r):\n    return math.pi * r * r\n"
        "# --8<-- [end:area]\nprint(area(1))\n"
    )
    return tmp_path


@pytest.mark.parametrize(
    ("reference", "source"),
    [
        (
            '--8<-- "area.py"',
            "import math\n\ndef area(r):\n    return math.pi * r * r\nprint(area(1))\n",
        ),
        (
            '-8<- "area.py"',
            "import math\n\ndef area(r):\n    return math.pi * r * r\nprint(area(1))\n",
        ),
        ('--8<-- "area.py:area"', "def area(r):\n    return math.pi * r * r"),
        ('--8<-- "area.py:7:7"', "print(area(1))"),
        ("--8<--\narea.py:1:1\narea.py:7:7\n--8<--", "import math\nprint(area(1))"),
        (';--8<-- "area.py"', '--8<-- "area.py"'),
    ],
)
@pytest.mark.parametrize("nesting", ["plain", "block", "tab in a fold in a list"])
def test_snippets_are_expanded(snippets, reference, source, nesting):
    fence = f"```python\n{reference}\nlast()\n```"
    text = f"# T\n\n{NESTINGS[nesting](fence)}\n"
    (block,) = blocks(text, snippets)
    assert block.source == f"{source}\nlast()"
    lines = text.split("\n")
    assert "```python" in lines[block.line - 1]
    assert "last()" in lines[block.lines[-1] - 1]
    assert lines[block.lines[0] - 1].strip() == reference.split("\n")[0]


def test_missing_snippet_is_an_error(snippets):
    with pytest.raises(BlockError, match=r"^line 3: .*'nowhere\.py'"):
        blocks('# T\n```python\n--8<-- "nowhere.py"\n```\n', snippets)
    with pytest.raises(BlockError, match=r"^line 3: .*'nothing'"):
        blocks('# T\n```python\n--8<-- "area.py:nothing"\n```\n', snippets)


class _Lenient(yaml.SafeLoader):
    """Reads mkdocs.yml without acting on the tags of MkDocs."""


_Lenient.add_multi_constructor("", lambda loader, tag, node: f"{tag} {node.value}")


def test_options_are_those_of_the_site():
    """The scanner reads fences as the site does as long as mkdocs.yml sets these and no more."""
    extensions = {}
    for item in yaml.load((ROOT / "mkdocs.yml").read_text("utf-8"), _Lenient)[
        "markdown_extensions"
    ]:
        extensions |= item if isinstance(item, dict) else {item: {}}
    assert extensions["pymdownx.superfences"] == {}
    assert extensions["pymdownx.snippets"] == {
        "base_path": ["!relative $config_dir/snippets"],
        **SNIPPET_OPTIONS,
    }


def test_prose_keeps_every_position():
    text = "---\na: b\n---\n你好 `code` <!-- x -->\n\n> ```python\n> x\n> ```\n\nend\n"
    prose = scan(text, Path("none")).prose
    assert prose.split() == ["你好", "end"]
    assert prose.index("end") == text.index("end")
    assert [len(line) for line in prose.split("\n")] == [len(line) for line in text.split("\n")]
