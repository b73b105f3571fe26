"""Every snippet is a program of its own, and the pages show it and what it prints as they are."""

import ast
import dataclasses
import itertools
import os
import re
import runpy
import shutil
import subprocess
import sys
import time
import tomllib
import types
from concurrent import futures

import numpy as np
import pytest
from doctests.evaluators import difference
from doctests.parsers import pair
from pages import DOCS, LANGUAGES, ROOT, SNIPPETS, names, scan
from recorded import recorded

from wallsite import lessons, probes
from wallsite.cli import report
from wallsite.probes import compare, memory, session

pytestmark = pytest.mark.slow

# The regular expression of PEP 723.
_METADATA = re.compile(r"(?m)^# /// (?P<type>[a-zA-Z0-9-]+)$\s(?P<content>(^#(| .*)$\s)+)^# ///$")
# Python loads this module when it starts. It stands for an environment with the package and its
# own dependencies alone, and so without torch and matplotlib.
_BARE = """
import sys

class Refuse:
    known = sys.stdlib_module_names | {"numpy", "click", "wallsite"}

    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] not in Refuse.known:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refuse)
"""
# A program that finds none of these says so and goes on; the run with numpy alone shows it.
_OPTIONAL = {"torch", "torch_npu"}
_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

every_snippet = pytest.mark.parametrize("snippet", sorted(p.name for p in SNIPPETS.glob("*.py")))


def run_alone(snippet, folder, **environment):
    """Run a copy of a snippet in a folder that holds nothing else."""
    shutil.copy(SNIPPETS / snippet, folder)
    return subprocess.run(
        [sys.executable, snippet],
        cwd=folder,
        env=os.environ | {"PYTHONIOENCODING": "utf-8"} | environment,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def embedded(snippet, language):
    """Where the pages of a language show a snippet as a whole, with the output after it."""
    program = (SNIPPETS / snippet).read_text("utf-8").strip()
    for name in names(".md"):
        path = DOCS / language / name
        if path.exists():
            yield from (
                code for code in pair(scan(path).blocks) if code.block.source.strip() == program
            )


def imports(program):
    """Packages that a program imports anywhere."""
    for node in ast.walk(ast.parse(program)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module.partition(".")[0]


def words(line):
    """A line without its numbers and the blanks that align them."""
    return " ".join(re.sub(r"[\d.,]+", "#", line).split())


def distribution(requirement):
    return re.match(r"[\w.-]+", requirement)[0]


@pytest.mark.parametrize(
    "snippet",
    # Only these look for torch; the others run no differently with numpy alone, as below.
    sorted(p.name for p in SNIPPETS.glob("*.py") if re.search("find_device|torch", p.read_text())),
)
def test_runs_alone(snippet, tmp_path):
    done = run_alone(snippet, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@every_snippet
def test_prints_what_the_pages_show_where_only_numpy_is_installed(snippet, tmp_path):
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / "sitecustomize.py").write_text(_BARE)
    work = tmp_path / "work"
    work.mkdir()
    done = run_alone(snippet, work, PYTHONPATH=str(bare))
    assert done.returncode == 0, done.stderr
    assert done.stdout
    for language in LANGUAGES:
        for code in embedded(snippet, language):
            assert not (wrong := difference(done.stdout, code.output)), wrong


@pytest.mark.parametrize("snippet", ["ridge_table.py", "decode_roofline.py"])
@pytest.mark.parametrize(
    ("device", "message"),
    [("h10", "unknown device 'h10'; did you mean h100"), ("grace", "peak is known for Grace CPU")],
)
def test_device_that_has_no_ridge_point_is_one_line(snippet, device, message, tmp_path):
    shutil.copy(SNIPPETS / snippet, tmp_path)
    done = subprocess.run(
        [sys.executable, snippet, device],
        cwd=tmp_path,
        env=os.environ | {"PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert re.match(rf"Error: .*({message}).*\n\Z", done.stderr)


def test_only_numpy_means_no_torch_and_no_matplotlib(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(_BARE)
    for package in ("torch", "matplotlib", "mkdocs"):
        done = subprocess.run(
            [sys.executable, "-c", f"import wallsite, numpy, click, {package}"],
            env=os.environ | {"PYTHONPATH": str(tmp_path)},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert f"ModuleNotFoundError: No module named {package!r}" in done.stderr


# What a program prints if every sample of it takes 10 ms at best and 20 ms in the median, and the
# first warm-up 1 s: its arithmetic, with the times that vary taken out. By hand: 2 · 128 MiB in
# 10 ms are 26.8 GB/s, 3 · 64 MiB 20.1 GB/s, 3 · 256 KiB 0.08 GB/s, 2 · 2048³ FLOP 1.72 TFLOP/s, and
# 2 · 256³ FLOP 3.36 GFLOP/s.
RATES = {
    "bandwidth_ridge.py": """\
bandwidth  20.1 GB/s at best, 10.1 median
matmul     1.72 TFLOP/s in fp32
ridge      85.3 FLOP/byte on this machine
""",
    "gotcha_cache_sized.py": "right, 128 MiB    26.8 GB/s\n",
    "gotcha_count_once.py": """\
wrong, payload only  1N    13.4 GB/s
right, read + write  2N    26.8 GB/s
with write-allocate  3N    40.3 GB/s
""",
    "gotcha_fresh_output.py": """\
wrong, fresh output     6.7 GB/s
right, out=b            6.7 GB/s
""",
    "gotcha_no_warmup.py": """\
wrong, first pass        0.3 GB/s
right, after warm-up    13.4 GB/s
""",
    "gotcha_one_thread.py": """\
wrong, 1 thread          26.8 GB/s
right, 1 for each core   26.8 GB/s""",
    "gotcha_slow_dtype.py": """\
wrong, float16     3.4 GFLOP/s
right, float32     3.4 GFLOP/s
""",
    "gotcha_unaligned.py": """\
wrong, 16 bytes into a line  256 KiB     0.1 GB/s
right, on a line's start     256 KiB     0.1 GB/s
wrong, 16 bytes into a line  64 MiB     20.1 GB/s
right, on a line's start     64 MiB     20.1 GB/s
""",
    "gotcha_zero_page.py": """\
wrong, np.zeros    26.8 GB/s
right, filled      26.8 GB/s
""",
}


@pytest.fixture
def fixed_times(monkeypatch):
    """Every kernel takes 10 ms at best, 20 ms in the median, on the CPU, over 64 MiB."""

    def sample(call, **more):
        call()
        return probes.Samples(seconds=(0.02, 0.01, 0.03), warmups=(1.0, 0.01))

    cpu = probes.find_device("cpu")
    monkeypatch.setattr(probes, "sample", sample)
    monkeypatch.setattr(probes, "find_device", lambda name: cpu)
    monkeypatch.setattr(probes, "plan_arrays", lambda *_, **more: probes.ArrayPlan(64 * 2**20, 3))


@pytest.mark.parametrize("snippet", RATES)
@pytest.mark.usefixtures("fixed_times")
def test_rates_follow_from_the_bytes_and_the_time(snippet, capsys):
    runpy.run_path(str(SNIPPETS / snippet), run_name="__main__")
    assert RATES[snippet] in capsys.readouterr().out


@pytest.mark.parametrize("snippet", ["gotcha_too_little_memory.py"])
def test_what_is_planned_follows_from_what_is_free(snippet, monkeypatch, capsys):
    # By hand: half of 512 MiB is 256 MiB, and a third of that, in whole MiB, is 85 MiB.
    gib = 2**30
    host = dataclasses.replace(probes.machine(), memory_total=8 * gib)
    cpu = dataclasses.replace(
        probes.find_device("cpu"), memory_available=6 * gib, last_level_cache=2**20
    )
    monkeypatch.setattr(probes, "machine", lambda: host)
    monkeypatch.setattr(probes, "find_device", lambda name: cpu)
    runpy.run_path(str(SNIPPETS / snippet), run_name="__main__")
    here, container, refused = capsys.readouterr().out.splitlines()[1:]
    assert here.split() == ["this", "machine", "3,072", "4,096", "768"]
    assert container.split() == ["512", "MiB", "container", "3,072", "4,096", "255"]
    assert refused.endswith(f"; array_bytes={85 * 2**20} would fit")


@pytest.mark.parametrize("snippet", ["gotcha_too_little_memory.py"])
def test_a_system_that_hides_its_memory_is_planned_for(snippet, monkeypatch, capsys):
    host = dataclasses.replace(probes.machine(), memory_total=None)
    cpu = dataclasses.replace(
        probes.find_device("cpu"), memory_available=None, last_level_cache=None
    )
    monkeypatch.setattr(probes, "machine", lambda: host)
    monkeypatch.setattr(probes, "find_device", lambda name: cpu)
    runpy.run_path(str(SNIPPETS / snippet), run_name="__main__")
    here = capsys.readouterr().out.splitlines()[1]
    assert here.split() == ["this", "machine", "3,072", "0", "768"]


@pytest.mark.parametrize("snippet", ["gotcha_unaligned.py"])
@pytest.mark.usefixtures("fixed_times")
def test_arrays_start_where_the_lines_printed_say(snippet):
    array = runpy.run_path(str(SNIPPETS / snippet), run_name="__main__")["array"]
    for offset in (0, 16):
        made = array(4096, offset)
        assert (made.ctypes.data % 64, made.nbytes, made.dtype) == (offset, 4096, "float32")


@pytest.mark.parametrize("snippet", ["bandwidth_ridge.py"])
@pytest.mark.usefixtures("fixed_times")
def test_the_triad_has_a_thread_for_each_core(snippet, monkeypatch):
    pools = []

    class Pool(futures.ThreadPoolExecutor):
        def __init__(self, threads):
            super().__init__(threads)
            pools.append(threads)

    host = dataclasses.replace(probes.machine(), cores=3)
    monkeypatch.setattr(futures, "ThreadPoolExecutor", Pool)
    monkeypatch.setattr(probes, "machine", lambda: host)
    runpy.run_path(str(SNIPPETS / snippet), run_name="__main__")
    assert pools == [1, 1, 1]


@pytest.mark.parametrize("snippet", ["bandwidth_ridge.py"])
def test_the_path_of_a_gpu_counts_as_much(snippet, monkeypatch, capsys):
    torch = pytest.importorskip("torch")
    synchronised, multiplied = [], []

    def product(x, y, out):
        # The whole of it takes a CPU without bf16 units an hour; the program looks at eight rows.
        multiplied.append((x.shape, y.shape, x.dtype))
        out[:8] = x[:8].float() @ y.float()

    class Gpu(str):  # torch takes it for its CPU, the program for a GPU
        kind, name, note = "cuda", "a GPU", ""

    def sample(call, repeats, synchronise):
        call()
        synchronised.append(synchronise)
        return probes.Samples(seconds=(0.02, 0.01, 0.03), warmups=(1.0,))

    monkeypatch.setattr(torch, "matmul", product)
    monkeypatch.setattr(probes, "sample", sample)
    monkeypatch.setattr(probes, "find_device", lambda name: Gpu("cpu"))
    monkeypatch.setattr(probes, "plan_arrays", lambda *_, **more: probes.ArrayPlan(2**20, 3))
    runpy.run_path(str(SNIPPETS / snippet), run_name="__main__")
    assert synchronised == [torch.accelerator.synchronize] * 2
    assert multiplied == [((8192, 8192), (8192, 8192), torch.bfloat16)]
    # By hand: 3 MiB in 10 ms are 0.3 GB/s, and 2 · 8192³ FLOP 109.95 TFLOP/s.
    assert "0.3 GB/s at best, 0.2 median" in (printed := capsys.readouterr().out)
    assert "109.95 TFLOP/s in bf16" in printed


class Square:
    """A matrix of which only its products are of interest."""

    def __init__(self, happened):
        self.happened = happened

    def __matmul__(self, other):
        assert other is self
        self.happened.append("matmul")


def torch_of_a_gpu(happened):
    """Stand-in for torch where there is a GPU that is called cuda:0."""

    def ones(size, device):
        assert device == "cuda:0"
        return types.SimpleNamespace(nbytes=4 * size)

    def randn(rows, columns, device, dtype):
        assert (rows, columns, device, dtype) == (8192, 8192, "cuda:0", "bf16")
        return Square(happened)

    torch = types.ModuleType("torch")
    torch.ones, torch.randn, torch.bfloat16 = ones, randn, "bf16"
    torch.add = lambda b, c, out: happened.append("add")
    torch.accelerator = types.SimpleNamespace(synchronize=lambda: happened.append("wait"))
    return torch


@pytest.mark.parametrize("snippet", ["first_ridge.py"])
@pytest.mark.parametrize(
    ("kind", "adds", "waits", "printed"),
    [
        # By hand, in 10 ms: 3 · 128 MiB are 40.3 GB/s, and 2 · 2048³ FLOP 1.72 TFLOP/s;
        ("cpu", 3, [], "40.3 GB/s, 1.72 TFLOP/s\nridge point 42.7 FLOP/byte"),
        # 3 · 512 MiB are 161.1 GB/s, and 2 · 8192³ FLOP 109.95 TFLOP/s.
        ("cuda", 1, ["wait"], "161.1 GB/s, 109.95 TFLOP/s\nridge point 682.7 FLOP/byte"),
    ],
)
def test_the_first_program_times_what_it_says(
    snippet, kind, adds, waits, printed, monkeypatch, capsys
):
    # Every second of the times is 10 ms, the others are 20 ms: the best of them counts.
    happened, clock = [], itertools.accumulate(itertools.cycle([0.02, 0, 0.01, 0]), initial=0)

    def look():
        happened.append("clock")
        return next(clock)

    class Device(str):
        pass

    device = Device("cuda:0")
    device.kind = kind
    host = dataclasses.replace(probes.machine(), cores=3)
    square = types.SimpleNamespace(random=lambda shape, dtype: Square(happened))
    monkeypatch.setattr(probes, "machine", lambda: host)
    monkeypatch.setattr(probes, "find_device", lambda: device)
    monkeypatch.setattr(time, "perf_counter", look)
    monkeypatch.setattr(np, "add", lambda b, c, a: happened.append("add"))
    monkeypatch.setattr(np.random, "default_rng", lambda seed: square)
    monkeypatch.setitem(sys.modules, "torch", torch_of_a_gpu(happened))
    runpy.run_path(str(SNIPPETS / snippet), run_name="__main__")
    monkeypatch.undo()
    assert printed in capsys.readouterr().out
    addition, product = (["clock", *work, *waits, "clock"] for work in (adds * ["add"], ["matmul"]))
    assert happened == 10 * addition + 10 * product


@pytest.mark.parametrize("snippet", ["gotcha_no_sync.py"])
def test_a_copy_on_a_gpu_is_timed_with_and_without_synchronising(snippet, monkeypatch, capsys):
    copied, synchronised = [], []
    source, target = (types.SimpleNamespace(nbytes=2**28, copy_=copied.append) for _ in range(2))

    def sample(call, repeats, synchronise=None):
        call()
        synchronised.append(synchronise)
        return probes.Samples(seconds=(0.02,), warmups=(1.0,))

    torch = types.ModuleType("torch")
    torch.rand, torch.empty_like = lambda size, device: source, lambda like: target
    torch.accelerator = types.SimpleNamespace(synchronize=lambda: None)
    gpu = dataclasses.replace(probes.find_device("cpu"), kind="cuda")
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(probes, "find_device", lambda name: gpu)
    monkeypatch.setattr(probes, "sample", sample)
    runpy.run_path(str(SNIPPETS / snippet), run_name="__main__")
    assert copied == [source, source]
    assert synchronised == [None, torch.accelerator.synchronize]
    assert re.findall(r"[\d.]+ GB/s", capsys.readouterr().out) == ["26.8 GB/s"] * 2


@pytest.mark.parametrize(
    ("quantity", "in_the_code"),
    [
        ("restless", session.RESTLESS),
        ("plateau", memory.PLATEAU),
        ("noise", compare.NOISE),
        ("alone", compare.ALONE),
        ("enough", compare.ENOUGH),
    ],
)
def test_the_hands_on_page_states_the_thresholds_of_the_probes(quantity, in_the_code):
    assert lessons.quantity(f"hands_on.{quantity}").si == pytest.approx(in_the_code)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_report_on_the_hands_on_page_looks_as_the_command_prints_it(language):
    (shown,) = (
        block.source
        for block in scan(DOCS / language / "three-walls" / "hands-on.md").blocks
        if "hardware, estimated" in block.source
    )
    printed = set(map(words, report.lines(recorded()["xeon-numpy"])))
    tables_and_decode, _, _ = shown.partition("\nUnstable")  # which differs from run to run
    assert [line for line in tables_and_decode.splitlines() if words(line) not in printed] == []


@every_snippet
def test_says_what_it_needs(snippet):
    program = (SNIPPETS / snippet).read_text("utf-8")
    (header,) = [match for match in _METADATA.finditer(program) if match["type"] == "script"]
    needs = tomllib.loads(re.sub(r"(?m)^# ?", "", header["content"]))
    assert needs["requires-python"] == _PROJECT["requires-python"]
    installed = {distribution(x) for x in needs["dependencies"]}
    if _PROJECT["name"] in installed:
        installed |= {distribution(x) for x in _PROJECT["dependencies"]}
    assert set(imports(program)) - sys.stdlib_module_names - _OPTIONAL <= installed


@pytest.mark.parametrize("language", LANGUAGES)
@every_snippet
def test_is_shown_on_a_page(snippet, language):
    assert any(embedded(snippet, language)), f"no page of docs/{language} embeds all of {snippet}"
