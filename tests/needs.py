"""What tests need of the machine beside Python: elsewhere they are skipped without it, in CI they fail.

`.ci/run` installs all of it; no test installs anything.
"""

from __future__ import annotations

import os
import shutil
from glob import glob
from pathlib import Path

import pytest

IN_CI = os.environ.get("CI") == "true"

KERNELS = frozenset({"this kernel has its memory controller elsewhere", "this file system cuts such times itself"})
"""Why a test may be skipped in CI too: nothing that could be installed would change it."""

AGENTS = frozenset({"no Claude Code is here", "no Codex is here", "no Hermes Agent 0.19 is here"})
"""Agents that are tried for real where their packages can be had; `.ci/run` tries to get them."""

_PACKAGES = {
    "setpriv": "util-linux",
    "unshare": "util-linux",
    "pgrep": "procps",
    "systemd-nspawn": "systemd-container",
}
_AGENTS = Path(__file__).parents[1] / ".agents"
_LIBRARIES = ("/usr/lib/*", "/usr/lib64", "/usr/local/lib")


def require(is_there: object, what: str) -> None:
    """Skip the test where `what` is missing; in CI nothing may be missing."""
    if not is_there:
        (pytest.fail if IN_CI else pytest.skip)(f"{what} is missing")


def require_programs(*names: str) -> None:
    """Require programs of the machine."""
    missing = [name for name in names if shutil.which(name) is None]
    packages = " ".join(sorted({_PACKAGES.get(name, name) for name in missing}))
    require(not missing, f"{', '.join(missing)} (apt-get install {packages})")


def require_claude_code() -> str:
    """Require a Claude Code, and return the path of its program."""
    found = [
        *glob(f"{_AGENTS}/node_modules/@anthropic-ai/claude-code-*/claude"),
        *filter(None, [shutil.which("claude")]),
    ]
    if not found:
        pytest.skip("no Claude Code is here")
    return found[0]


def require_codex() -> str:
    """Require a Codex, and return the path of its program."""
    found = [*glob(f"{_AGENTS}/node_modules/@openai/codex/vendor/*/bin/codex"), *filter(None, [shutil.which("codex")])]
    if not found:
        pytest.skip("no Codex is here")
    return found[0]


def require_hermes() -> str:
    """Require a Hermes Agent that leaves its sessions in its database alone, and return the path of its program."""
    found = _AGENTS / "hermes" / "bin" / "hermes"
    if not found.exists():
        pytest.skip("no Hermes Agent 0.19 is here")
    return str(found)


def require_faketime() -> str:
    """Require the library that tells programs another time, and return its path."""
    found = [path for place in _LIBRARIES for path in glob(f"{place}/faketime/libfaketimeMT.so.1")]
    require(found, "libfaketime (apt-get install libfaketime)")
    return found[0]
