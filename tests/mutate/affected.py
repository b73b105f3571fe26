"""Which tests look at a file, quickest first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from .bench import Stage
from .change import Change

# Pages that measure something take seconds, all others a fraction of one.
_SLOW = ("three-walls/hands-on.md", "three-walls/measuring.md")


class Affected:
    """Finds the tests for a change.

    Args:
        root: the repository that it is made in.
        alone: leave out the tests that compare the languages.
    """

    def __init__(self, root: Path, *, alone: bool = False) -> None:
        self.root = root
        self.alone = alone
        self.pages = sorted(
            path.relative_to(root).as_posix() for path in (root / "docs").rglob("*.md")
        )

    def __call__(self, change: Change) -> list[Stage]:
        """Arguments of pytest; a stage is worth running only if the ones before it passed."""
        folder, _, rest = change.path.partition("/")
        if change.path.startswith("docs/lessons/"):
            stages = self._of_data()
        elif folder == "docs":
            stages = self._of_page(*rest.split("/", 1))
        elif folder == "snippets":
            stages = self._of_snippet(Path(rest).name)
        elif rest.endswith(".py"):
            stages = self._of_core(Path(rest))
        else:
            stages = self._of_data()
        return [stage for stage in stages if stage]

    def _of_page(self, language: str, name: str) -> Iterator[Stage]:
        if not self.alone:
            yield self._tests(f"test_parity.py::test_the_languages_of_a_page_agree[{name}]")
        if name.endswith(".ipynb"):
            yield self._tests("test_docs_notebooks.py")
            return
        here = f"{name} and {language} or package_page"
        others = "test_numerals.py", "test_docs_chinese.py", "test_package_page.py"
        yield self._tests("test_formulas.py", *others, only=here)
        yield (f"docs/{language}/{name}",)

    def _of_snippet(self, name: str) -> Iterator[Stage]:
        yield self._tests("test_code_quality.py", only="ruff")
        yield self._tests("test_docs_snippets.py", only=name)
        for page in self.pages:
            if f'"{name}"' in (self.root / page).read_text("utf-8"):
                yield (page,)

    def _of_core(self, path: Path) -> Iterator[Stage]:
        name = "_".join(path.with_suffix("").parts)
        yield self._tests(f"test_{name}.py", "test_checks.py")
        if path.parts[0] == "probes":
            yield self._tests("test_probes_results.py", "test_probes_session.py")
            yield self._tests("test_probes_suite.py", "test_cli_measure.py", only="not terminal")
            return
        yield self._tests("test_formulas.py", "test_numbers.py", "test_tables.py")
        yield tuple(page for page in self.pages if not page.endswith(_SLOW))
        yield self._tests("test_figures.py", "test_cli_lookup.py")

    def _of_data(self) -> Iterator[Stage]:
        if not self.alone:
            yield self._tests("test_parity.py::test_the_languages_of_the_data_agree")
        yield self._tests("test_data.py", "test_tables.py")
        yield tuple(page for page in self.pages if not page.endswith(_SLOW))
        yield self._tests("test_numerals.py", "test_figures.py", "test_cli_lookup.py")
        yield tuple(f"docs/lessons/{x.name}" for x in (self.root / "docs/lessons").iterdir())
        yield tuple(page for page in self.pages if page.endswith(_SLOW))

    def _tests(self, *names: str, only: str = "") -> Stage:
        """Those of some test files that exist, and of their tests those with a word in the name."""
        files = [
            f"tests/{tier}/{name}"
            for name in names
            for tier in ("quick", "full")
            if (self.root / "tests" / tier / name.partition("::")[0]).exists()
        ]
        return (*files, *(["-k", only] if only and files else []))
