"""The repository as a whole: lint, types, what imports what, and what must not be in it."""

import ast
import importlib.util
import re
import subprocess
import sys

import pytest
from pages import ROOT

PACKAGE = ROOT / "wallsite"

# What a part of the package may import besides itself. Facts come first, then the models, then
# what people see, the rendering of tables included; the probes stand beside them. Readers of what
# tools print know nothing of the models; `explain` brings the two together.
_FACTS = {"units", "tables", "_checks"}
_MODELS = {"roofline", "workload", "collectives", "topology"}
_CORE = _FACTS | _MODELS
_CONTENT = {"lessons", "locale"}
MAY_IMPORT = {
    "_checks": set(),
    "units": {"_checks"},
    "tables": {"units", "_checks"},
    **dict.fromkeys(_MODELS, _CORE),
    "locale": set(),
    "lessons": {"tables"},
    "render": _CORE | _CONTENT,
    "probes": _CORE,
    "figures": _CORE | _CONTENT | {"probes"},
    "site": _CORE | _CONTENT | {"render", "figures"},
    "quantity": {"_checks"},
    "readers": set(),
    "explain": _CORE | {"locale", "quantity", "readers"},
    "cli": _CORE | {"render", "probes", "figures", "locale", "quantity", "readers", "explain"},
    "__main__": {"cli"},
}


@pytest.mark.parametrize(
    "command",
    ["ruff check .", "ruff format --check .", "mypy wallsite"],
)
def test_linters_find_nothing(command):
    tool, *arguments = command.split()
    if importlib.util.find_spec(tool) is None:
        pytest.skip(f"{tool} is not installed")
    done = subprocess.run(
        [sys.executable, "-m", tool, *arguments],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def part(module):
    """The part of the package that a module, or a name in one, belongs to."""
    return module.removeprefix("wallsite.").split(".")[0]


def dotted(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imports(path):
    """Every module, or name in one, that a file imports, anywhere in it, with the line."""
    package = path.relative_to(ROOT).parts[:-1]
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            source = ".".join([*base, *([node.module] if node.module else [])])
            yield from ((f"{source}.{alias.name}", node.lineno) for alias in node.names)


MODULES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path):
    this = part(dotted(path))
    allowed = {this, "__version__"} | MAY_IMPORT.get(this, set())
    for name, line in imports(path):
        if name.startswith("wallsite."):
            assert part(name) in allowed, f"{path}:{line}: {this} must not import {name}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_core_imports_the_standard_library_alone(path):
    if part(dotted(path)) in _CORE | _CONTENT | {"render", "wallsite"}:
        for name, line in imports(path):
            top = name.partition(".")[0]
            known = top == "wallsite" or top in sys.stdlib_module_names
            assert known, f"{path}:{line}: the core must not import {top}"


# Prints the modules that an import loads, and the data files that it opens.
_TRACE = """
import sys
opened = []
sys.addaudithook(lambda event, args: event == "open" and opened.append(str(args[0])))
before = set(sys.modules)
import {module}
loaded = {{name.partition(".")[0] for name in set(sys.modules) - before}}
print(*sorted(loaded - sys.stdlib_module_names - {{"wallsite"}}))
print(*[name for name in opened if not name.endswith((".py", ".pyc"))])
"""


def trace(module):
    """Packages that importing a module loads besides the standard library, and files it opens."""
    done = subprocess.run(
        [sys.executable, "-c", _TRACE.format(module=module)],
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    packages, files = done.stdout.split("\n")[:2]
    return set(packages.split()), files.split()


@pytest.mark.parametrize(
    ("module", "allowed"),
    [
        ("wallsite", set()),
        *(
            (f"wallsite.{name}", set())
            for name in sorted(_CORE | _CONTENT | {"render.table", "render.export"})
        ),
        ("wallsite.probes", {"numpy"}),
        ("wallsite.explain", set()),
        ("wallsite.quantity", set()),
        ("wallsite.readers", {"click", "quantiphy"}),
        ("wallsite.cli", {"click"}),
    ],
)
def test_importing_loads_nothing_heavy_and_reads_no_data(module, allowed):
    packages, files = trace(module)
    assert packages <= allowed
    assert not files


def repository():
    """Files that git tracks or would track."""
    done = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()]


def test_no_registry_and_no_path_of_one_machine():
    unwanted = re.compile(
        r"(^|[^A-Za-z0-9_.])/(work|farm|tmp|root|home)/|pypi\.org|python[h]osted|registry\.npmjs",
        re.M,
    )
    found = [
        f"{path.relative_to(ROOT)}: {match[0]!r}"
        for path in repository()
        for match in unwanted.finditer(path.read_text("utf-8", errors="ignore"))
    ]
    assert not found


def test_nothing_generated_and_nothing_of_others():
    suffixes = {".pyc", ".so", ".whl", ".zip", ".woff", ".woff2", ".ttf", ".otf", ".map"}
    found = [
        str(path.relative_to(ROOT))
        for path in repository()
        if path.suffix in suffixes or path.stat().st_size > 500 * 1024
    ]
    assert not found


def test_nothing_ignored_is_tracked():
    repository()
    done = subprocess.run(
        ["git", "ls-files", "--cached", "--ignored", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert done.stdout == ""
