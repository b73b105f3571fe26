"""Which tests look at a file, quickest first."""

from __future__ import annotations

from pathlib import Path

from .bench import Stage
from .change import Change

# Pages that measure something take seconds, all others a fraction of one.
_SLOW = "three-walls/hands-on.md"


class Affected:
    """Finds the tests for a change, given the repository it is made in."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.pages = sorted(
            path.relative_to(root).as_posix() for path in (root / "docs").rglob("*.md")
        )

    def __call__(self, change: Change) -> list[Stage]:
        """Arguments of pytest; a stage is worth running only if the ones before it passed."""
        folder, _, rest = change.path.partition("/")
        if folder == "docs":
            return self._of_page(*rest.split("/", 1))
        if folder == "snippets":
            return self._of_snippet(Path(rest).name)
        return self._of_data()

    def _of_page(self, language: str, name: str) -> list[Stage]:
        parity = f"tests/test_parity.py::test_the_languages_of_a_page_agree[{name}]"
        if name.endswith(".ipynb"):
            return [(parity,), ("tests/test_docs_notebooks.py",)]
        others = ("test_numerals.py", "test_docs_chinese.py", "test_package_page.py")
        return [
            (parity,),
            (*self._present(others), "-k", f"{name} and {language} or package_page"),
            (f"docs/{language}/{name}",),
        ]

    def _of_snippet(self, name: str) -> list[Stage]:
        shown = [
            page for page in self.pages if f'"{name}"' in (self.root / page).read_text("utf-8")
        ]
        return [
            ("tests/test_code_quality.py", "-k", "ruff"),
            ("tests/test_docs_snippets.py", "-k", name),
            *((page,) for page in shown),
        ]

    def _of_data(self) -> list[Stage]:
        texts = "tests/test_parity.py::test_the_languages_of_the_data_agree"
        return [
            (*self._present(("test_ledger.py",)), texts),
            self._present(("test_data.py", "test_tables.py")),
            tuple(page for page in self.pages if not page.endswith(_SLOW)),
            self._present(("test_numerals.py", "test_figures.py")),
            self._present(("test_cli.py", "test_roofline.py", "test_workload.py")),
            tuple(page for page in self.pages if page.endswith(_SLOW)),
        ]

    def _present(self, names: tuple[str, ...]) -> Stage:
        paths = (f"tests/{name}" for name in names)
        return tuple(path for path in paths if (self.root / path).exists())
