"""The command: sample changes, judge them, report those that no test notices."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain, zip_longest
from pathlib import Path
from random import Random

from . import bench, kinds
from .affected import Affected
from .change import Change

ROOT = Path(__file__).parents[2]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 0 if every change was noticed, 1 if not, 2 if the tests fail anyway."""
    options = _parser().parse_args(arguments)
    shared = "wallsite", "snippets", "docs/lessons"
    roots = (*shared, *(f"docs/{language}" for language in options.language or ["zh", "en"]))
    paths = [path for path in bench.tracked(ROOT) if path.startswith(roots)]
    chosen = options.kind or list(kinds.KINDS)
    possible = kinds.changes(ROOT, paths, options.seed, chosen)
    changes = sample(possible, options.sample, options.seed)
    started = time.monotonic()
    try:
        stages = Affected(ROOT, alone=options.alone)
        verdicts = bench.judge(ROOT, changes, stages, tell=_tell if options.v else _quiet)
    except bench.Broken as error:
        print(error, file=sys.stderr)
        return 2
    print(report(verdicts, Counter(change.kind for change in possible), stages))
    print(f"{len(changes)} changes, seed {options.seed}, {time.monotonic() - started:.0f} s")
    return int(any(verdict.failed is None for verdict in verdicts))


def sample(changes: Sequence[Change], size: int, seed: int) -> list[Change]:
    """Choose changes at random, as many of each kind as there are, up to an equal share."""
    by_kind: dict[str, list[Change]] = {}
    for change in changes:
        by_kind.setdefault(change.kind, []).append(change)
    for kind, found in by_kind.items():
        Random(f"{seed} {kind}").shuffle(found)
    in_turn = chain.from_iterable(zip_longest(*by_kind.values()))
    return [change for change in in_turn if change is not None][:size]


def report(
    verdicts: Sequence[bench.Verdict],
    possible: Counter[str],
    stages: Callable[[Change], Sequence[bench.Stage]] = lambda change: (),
) -> str:
    """Say how many of each kind survived, which, and which tests should have noticed."""
    survivors = [verdict.change for verdict in verdicts if verdict.failed is None]
    sampled = Counter(verdict.change.kind for verdict in verdicts)
    survived = Counter(change.kind for change in survivors)
    lines = [f"{'kind':<12} {'possible':>8} {'sampled':>8} {'survived':>8}"]
    for kind, number in sampled.items():
        lines.append(f"{kind:<12} {possible[kind]:>8} {number:>8} {survived[kind]:>8}")
    for change in survivors:
        text = (ROOT / change.path).read_text("utf-8")
        lines += ["", f"{change.path}:{change.line(text)}: {change.kind}", change.diff(text)]
        if looked := [stage[0] for stage in stages(change) if stage]:
            lines.append(f"not noticed by {', '.join(looked)}")
    return "\n".join(lines)


def _tell(verdict: bench.Verdict) -> None:
    change = verdict.change
    print(f"{change.kind:12} {change.path}: {verdict.failed or 'SURVIVED'}", flush=True)


def _quiet(verdict: bench.Verdict) -> None:
    print("." if verdict.failed else "S", end="", file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m tests.mutate", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="which sample to take (default 0)")
    parser.add_argument("--sample", type=int, default=300, help="how many changes (default 300)")
    parser.add_argument(
        "--language", action="append", choices=["zh", "en"], help="pages of one language only"
    )
    parser.add_argument(
        "--kind", action="append", choices=list(kinds.KINDS), help="changes of one kind only"
    )
    parser.add_argument(
        "--alone",
        action="store_true",
        help="judge each page by itself, without comparing the languages",
    )
    parser.add_argument("-v", action="store_true", help="name the test that noticed each change")
    return parser


if __name__ == "__main__":
    sys.exit(main())
