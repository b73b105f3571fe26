"""Ways to write a fence and to nest it, all of which the site shows as code."""

import textwrap

SPELLINGS = [
    ("```python", "```"),
    ("```py", "```"),
    ("```python3", "```"),
    ("```Python", "```"),
    ("```pycon", "```"),
    ("``` python", "```"),
    ("```.python", "```"),
    ("~~~python", "~~~"),
    ("~~~~~~ py", "~~~~~~"),
    ("````python", "````"),
    ("```{.python}", "```"),
    ("``` { .python .figure #curve title='T' alt='a curve' }", "```"),
    ('```python title="x.py"', "```"),
    ('```python title="x.py" hl_lines="1 3" linenums="1"', "```"),
    ('```python {title="x.py"}', "```   "),
    ('```{ .py .annotate title="x.py" hl_lines="1" }', "```"),
]


def indented(opener, by=4):
    return lambda fence: f"{opener}\n\n{textwrap.indent(fence, ' ' * by)}"


def quoted(fence):
    return textwrap.indent(fence, "> ", lambda line: True)


NESTINGS = {
    "plain": lambda fence: fence,
    "directly under text": lambda fence: f"text\n{fence}",
    "admonition": indented("!!! note"),
    "admonition without a blank line": lambda fence: indented("!!! note")(fence).replace(
        "\n\n", "\n", 1
    ),
    "fold": indented('??? question "What?"'),
    "open fold": indented('???+ success "It."'),
    "tab": indented('=== "GPU"'),
    "bullet": indented("- item"),
    "number": indented("1. item"),
    "two spaces in a list": indented("- item", 2),
    "three spaces in a list": indented("1. item", 3),
    "footnote": indented("[^1]: note"),
    "definition": indented("term\n:   meaning"),
    "quote": quoted,
    "quote in an admonition": lambda fence: indented("!!! note")(quoted(fence)),
    "tab in a fold in a list": lambda fence: indented("- item")(
        indented('??? note "N"')(indented('=== "T"')(fence))
    ),
    "block": lambda fence: f'/// details | "T"\n\n{fence}\n///',
    "block in an admonition": lambda fence: indented("!!! note")(
        f"/// details | T\n\n{fence}\n///"
    ),
}
