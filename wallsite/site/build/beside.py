"""A process that builds another language while this one builds its own.

It builds once for each line it reads and then waits, so that under ``mkdocs serve`` MkDocs and its
plugins are imported only once.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort, BuildError

LANGUAGE = "WALLSITE_LANG"
"""Environment variable that says which language to build."""

_log = logging.getLogger("mkdocs.wallsite")


class Beside:
    """The process, seen from the build that started it.

    Args:
        code: the language it builds.
    """

    def __init__(self, code: str) -> None:
        self._code = code
        self._process: subprocess.Popen[str] | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def start(self, config_file: str, site_url: str) -> None:
        """Begin a build into a temporary folder."""
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__],
                # This process has already printed what the theme says about its future.
                env=os.environ | {LANGUAGE: self._code, "NO_MKDOCS_2_WARNING": "1"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                encoding="utf-8",
            )
        # It goes when this process ends, even if that is in the middle of a build.
        self._folder = tempfile.TemporaryDirectory(
            prefix=f"wallsite-{self._code}-", ignore_cleanup_errors=True
        )
        pages = str(Path(self._folder.name, self._code))
        options = {"config_file": config_file, "site_url": site_url, "site_dir": pages}
        assert self._process.stdin
        self._process.stdin.write(json.dumps(options) + "\n")
        self._process.stdin.flush()

    def finish(self, site: Path) -> None:
        """Wait for the end, repeat the warnings, and move the pages into the site.

        Raises:
            BuildError: the build failed.
        """
        assert self._process
        assert self._process.stdout
        assert self._folder
        answer = self._process.stdout.readline()
        said: dict[str, Any] = json.loads(answer) if answer else {"error": "its process has died"}
        if "error" in said:
            raise BuildError(f"the build of {self._code!r} failed:\n{said['error']}")
        for warning in said["warnings"]:
            # Repeated here, it counts under --strict.
            _log.warning(f"[{self._code}] {warning}")
        # Not the temporary folder itself, which nobody else may read.
        shutil.move(Path(self._folder.name, self._code), site)
        self._folder.cleanup()
        self._folder = None

    def abandon(self) -> None:
        """Stop in the middle of a build; while it waits for the next one, the process stays."""
        if self._folder is None:
            return
        if self._process:
            self._process.terminate()
            self._process.communicate()
            self._process = None
        self._folder.cleanup()
        self._folder = None


class _Records(logging.Handler):
    """Keeps what MkDocs and its plugins complain about."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


def _build(options: dict[str, str]) -> dict[str, Any]:
    records = _Records()
    logger = logging.getLogger("mkdocs")
    logger.addHandler(records)
    try:
        config = load_config(**options)
        config.plugins.on_startup(command="build", dirty=False)
        build(config)
    except Abort:
        return {"error": "\n".join(records.messages)}
    except Exception:
        return {"error": traceback.format_exc()}
    finally:
        logger.removeHandler(records)
    return {"warnings": records.messages}


def main() -> None:
    """Build once for each line of standard input, until it ends."""
    # Ctrl-C is for the build that started this process; its end closes our input.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # An abandoned build ends as Python does, which deletes its temporary folders.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    # What a build prints must not end up between two answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb", buffering=0)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    for line in sys.stdin:
        answer = json.dumps(_build(json.loads(line))) + "\n"
        try:
            answers.write(answer.encode())
        except BrokenPipeError:  # the build that asked has been interrupted
            return


if __name__ == "__main__":
    main()
