"""Builds a project as often as it is told to, in one process: one JSON object a line in and out.

``python -m building``, in the project's folder, saves importing MkDocs and its plugins each time.
"""

import json
import logging
import os
import sys
import traceback

from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort


class _Said(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def once(strict: bool) -> dict:
    """Build; tell whether it failed and what was said."""
    said = _Said()
    logger = logging.getLogger("mkdocs")
    logger.setLevel(logging.INFO)
    logger.addHandler(said)
    failed = False
    try:
        config = load_config(strict=strict)
        config.plugins.on_startup(command="build", dirty=False)
        build(config)
    except Abort as error:
        failed = True
        said.lines.append(str(error))
    except Exception:
        failed = True
        said.lines.append(traceback.format_exc())
    finally:
        logger.removeHandler(said)
    return {"failed": failed, "said": "\n".join(said.lines)}


def main() -> None:
    """Build once for each line."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1, encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    for line in sys.stdin:
        answers.write(json.dumps(once(**json.loads(line))) + "\n")


if __name__ == "__main__":
    main()
