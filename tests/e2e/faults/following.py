"""A machine that sends to its fleet: a real ``fleet push --follow``."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from tests.e2e.daemon_process import environment

_HURRY = "from grader_daemon.cli import following\n\nfollowing._PAUSES = (0.2, 0.5)\n"
"""Read by Python when it starts: after a failure nobody waits for 5 s here."""


class Following:
    """One that runs until its block ends, in the home that it is given. A context manager."""

    def __init__(self, home: Path, url: str, *, under: Sequence[str] = ()) -> None:
        hurry = home / "hurry"
        hurry.mkdir(exist_ok=True)
        (hurry / "sitecustomize.py").write_text(_HURRY)
        self._said = home / "said"
        settings = {"fleet_url": url, "fleet_texts": True}
        with self._said.open("w") as said:
            self._process = subprocess.Popen(
                [*under, sys.executable, "-m", "grader_daemon", "fleet", "push", "--follow"],
                env=environment(home, settings) | {"PYTHONPATH": str(hurry)},
                cwd=home,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
            )

    def __enter__(self) -> Following:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()

    def lines(self) -> list[str]:
        """Return what it said so far."""
        return self._said.read_text("utf-8").splitlines()
