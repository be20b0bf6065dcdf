"""A daemon that stands still where it reads a session, so that a test need not hit that moment."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.daemon_process import DaemonProcess
from tests.waiting import wait_until

_HOLD = """
import os
import time
from pathlib import Path
from grader_daemon.pipeline.examine import Examiner

examine = Examiner.examine


def hold(self, unit, **arguments):
    if {name!r} in unit.locator:
        Path({folder!r}, f"held_{{os.getpid()}}").touch()
        while True:
            time.sleep(60)
    return examine(self, unit, **arguments)


Examiner.examine = hold
"""
"""Read by Python when it starts, so that the package itself knows nothing of it."""


class HeldReading:
    """Programs started `under` it are held while they read a session whose path has `name` in it."""

    def __init__(self, folder: Path, name: str) -> None:
        (folder / "sitecustomize.py").write_text(_HOLD.format(name=name, folder=str(folder)))
        self.under = ("env", f"PYTHONPATH={folder}")
        self._folder = folder

    def wait_for(self, daemon: DaemonProcess) -> None:
        """Wait until a daemon, or its helper, is held. It ends by a kill, or because it is told to and gives up."""

        def is_held() -> bool:
            return any((self._folder / f"held_{pid}").exists() for pid in (daemon.pid, *daemon.children()))

        wait_until(is_held, "the session to be read")
