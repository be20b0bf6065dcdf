"""A disposable Debian with a real systemd, in which the package lies as pip would install it.

`../shared/tools/systemd_box.sh` boots it. What tests do there is written to memory, over a tree that stays as
it was made, in a mount name space of its own.
"""

from __future__ import annotations

import io
import json
import os
import shlex
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.needs import IN_CI, require, require_programs
from tests.waiting import wait_until

_ROOT = Path(__file__).parents[3]
SHARED = _ROOT.parent / "shared"
_SCRIPT = SHARED / "tools" / "systemd_box.sh"
_TREE = Path(os.environ.get("BOX_ROOT", "/var/tmp/systemd-box/rootfs"))
_ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}
_PYTHON = (3, 11)
"""Of Debian 12; wheels for another one would not fit."""

_PACKAGES = "systemd,systemd-sysv,dbus,dbus-user-session,libpam-systemd,python3,python3-venv"
_WITHIN_SECONDS = 60

HOME = Path("/home/timmy")
UNIT = "grader-daemon.service"
PAGE = "grader-dashboard.service"
PAGE_SOCKET = "grader-dashboard.socket"
PUSHER = "grader-push.service"
SERVER = "grader-fleet.service"
UNIT_FILE = HOME / ".config/systemd/user" / UNIT
PROGRAM = HOME / "venv/bin/grader-daemon"
DATABASE = HOME / ".timmy/uniwizard/session_grades.db"
CONFIG = HOME / ".config/grader-daemon/config.toml"
SESSIONS = HOME / ".timmy/hermes/sessions"


@dataclass(frozen=True)
class Ended:
    """What a command in the box came to."""

    code: int
    said: str
    errors: str


class Box:
    """The running box, as its user timmy sees it."""

    def __init__(self, script_environment: Mapping[str, str]) -> None:
        self._environment = script_environment

    def run(self, command: str, *, content: bytes = b"", how: str = "sh") -> Ended:
        """Run a command of the shell to its end."""
        ended = subprocess.run(
            ["bash", _SCRIPT, how, command],
            env=self._environment,
            input=content,
            capture_output=True,
            timeout=2 * _WITHIN_SECONDS,
            check=False,
        )
        return Ended(ended.returncode, ended.stdout.decode(), ended.stderr.decode())

    def sh(self, command: str, *, content: bytes = b"", how: str = "sh") -> str:
        """Run a command that must end well; gives what it said."""
        ended = self.run(command, content=content, how=how)
        assert ended.code == 0, f"{command}: {ended}"
        return ended.said

    def root(self, command: str) -> str:
        """Run it as root."""
        return self.sh(command, how="root")

    def run_grader(self, arguments: str, **settings: str) -> Ended:
        """Run the installed program."""
        variables = " ".join(f"GRADER_{name.upper()}={shlex.quote(value)}" for name, value in settings.items())
        return self.run(f"{variables} {PROGRAM} {arguments}")

    def grader(self, arguments: str, **settings: str) -> str:
        """Run it, when it must end well; gives what it said."""
        ended = self.run_grader(arguments, **settings)
        assert ended.code == 0, f"{arguments}: {ended}"
        return ended.said

    def put(self, path: Path, content: bytes) -> None:
        """Write a file in one step, as an agent writes a session."""
        folder, part, whole = (shlex.quote(str(each)) for each in (path.parent, f"{path}.part", path))
        self.sh(f"mkdir -p {folder} && cat > {part} && mv {part} {whole}", content=content)

    def read(self, path: Path) -> str:
        """Read a file."""
        return self.sh(f"cat '{path}'")

    def put_folder(self, path: Path, folder: Path) -> None:
        """Copy a folder of the host into the box; its files come one after the other."""
        self.sh(f"mkdir -p {path} && tar x --no-same-owner --touch -C {path}", content=_packed(folder))

    def show(self, *properties: str, unit: str = UNIT) -> dict[str, str]:
        """Ask the manager for properties of a unit."""
        said = self.sh(f"systemctl --user show {unit} --property={','.join(properties)}")
        return dict(line.split("=", 1) for line in said.splitlines())

    def journal(self, *options: str) -> list[dict[str, Any]]:
        """Give entries of the service's journal."""
        said = self.sh(f"journalctl --user --unit={UNIT} --output=json --all --quiet {shlex.join(options)}")
        return [json.loads(line) for line in said.splitlines()]

    def events(self, name: str) -> list[dict[str, Any]]:
        """Give the daemon's log events of this name."""
        lines = (str(entry["MESSAGE"]) for entry in self.journal("SYSLOG_IDENTIFIER=grader-daemon"))
        events = [json.loads(line) for line in lines if line.startswith("{")]
        return [event for event in events if event["event"] == name]

    def wait_for_line(self, pattern: str, *options: str, unit: str = UNIT) -> str:
        """Wait for a line that matches a pattern of grep in these entries of the journal; gives the first."""
        journal = f"journalctl --user --unit={unit} {shlex.join(options)}"
        follow = f"timeout {_WITHIN_SECONDS} {journal} --follow --lines=all --output=cat"
        return self.sh(f"grep --max-count=1 {shlex.quote(pattern)} < <({follow} 2>/dev/null)")

    def wait_for_graded(self, session_id: str) -> None:
        """Wait until the daemon says that it has graded a session."""
        self.wait_for_line(f'"event":"session.graded","session_id":"{session_id}"')

    def wait_for(self, *, unit: str = UNIT, **properties: str) -> None:
        """Wait until the unit has these properties."""
        wait_until(lambda: self.show(*properties, unit=unit) == properties, str(properties), within=_WITHIN_SECONDS)

    def clear(self) -> None:
        """Leave nothing of a service behind, nor of what it worked on."""
        units = f"{UNIT} {PAGE} {PAGE_SOCKET} {PUSHER} {SERVER}"
        self.run(f"systemctl --user disable --now {units}; rm -rf .timmy .config .cache .local .claude diary /tmp/*")
        self.run(f"systemctl --user daemon-reload; systemctl --user reset-failed {units}")


def _packed(folder: Path) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.add(folder, arcname=".")
    return packed.getvalue()


def require_box() -> None:
    """Require what a box needs of this machine."""
    require_programs("systemd-nspawn", "unshare", "pgrep")
    require(_SCRIPT.exists(), str(_SCRIPT.name))
    require(sys.version_info[:2] == _PYTHON, f"Python {'.'.join(map(str, _PYTHON))}, which the box has,")
    require(os.geteuid() == 0, "the right to boot a box")
    if IN_CI:
        require_programs("debootstrap")
    else:
        require(_TREE.exists(), f"a box at {_TREE} (bash {_SCRIPT.name} build)")


@contextmanager
def booted(folder: Path) -> Iterator[Box]:
    """Boot a box with the program installed in ``~/venv``; `folder` is for what is needed meanwhile."""
    if not _TREE.exists():
        _build()
    environment = {**_ENVIRONMENT, "BOX_ROOT": str(folder / "rootfs")}
    packages = folder / "packages"
    install = [str(_ROOT / ".ci" / "uv"), "pip", "install", "--quiet", "--compile-bytecode", "--link-mode=copy"]
    install += ["--python", sys.executable, "--target", str(packages), f"{_ROOT}[fleet]"]
    installing = subprocess.Popen(install, stdout=subprocess.DEVNULL)
    try:
        _boot(folder, environment)
        box = Box(environment)
        box.sh("python3 -m venv --without-pip venv")
        assert installing.wait() == 0
        site = HOME / f"venv/lib/python{_PYTHON[0]}.{_PYTHON[1]}/site-packages"
        box.sh(f"tar x --no-same-owner -C {site}", content=_packed(packages))
        box.sh(f"sed '1s,.*,#!{HOME}/venv/bin/python,' {site}/bin/{PROGRAM.name} >{PROGRAM} && chmod +x {PROGRAM}")
        yield box
    finally:
        installing.kill()
        installing.wait()
        subprocess.run(["bash", _SCRIPT, "halt"], env=environment, check=False)


def _build() -> None:
    """Make the tree, on a bare Debian of CI; it gets its name when it is whole."""
    unfinished = _TREE.with_name("unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    lingering = unfinished / "var/lib/systemd/linger/timmy"
    for command in (
        f"debootstrap --variant=minbase --include={_PACKAGES} bookworm {unfinished}",
        f"chroot {unfinished} useradd -m timmy",
        f"mkdir -p {lingering.parent}",
        f"touch {lingering}",
    ):
        subprocess.run(command.split(), check=True, stdout=subprocess.DEVNULL)
    unfinished.rename(_TREE)


def _boot(folder: Path, environment: Mapping[str, str]) -> None:
    """Boot the tree under a layer of memory, which ends with the box."""
    layer, tree = folder / "layer", folder / "rootfs"
    layer.mkdir()
    tree.mkdir()
    commands = (
        f"mount -t tmpfs tmpfs {layer}",
        f"mkdir {layer}/changes {layer}/work",
        f"mount -t overlay -o lowerdir={_TREE},upperdir={layer}/changes,workdir={layer}/work overlay {tree}",
        f"bash {_SCRIPT} boot",
    )
    boot = ["unshare", "--mount", "bash", "-c", " && ".join(commands)]
    subprocess.run(boot, env=environment, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":  # `.ci/run`, while it fetches what else there must be
    if _SCRIPT.exists() and not _TREE.exists():
        _build()
