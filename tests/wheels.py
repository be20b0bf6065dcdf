"""Is there a wheel of everything that the package needs, for each Python and machine? ``python -m tests.wheels``.

Nothing is installed: pip says what it would take, wheels alone, as if it ran there. Exit code 1 where one is missing.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from itertools import product
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement

_PYTHONS: Final = ("3.11", "3.12", "3.13", "3.14", "3.15")
_MACHINES: Final = {
    "Linux x86-64": ("linux", "manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64"),
    "Linux AArch64": ("linux", "manylinux_2_28_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64"),
    "macOS Apple silicon": ("darwin", "macosx_14_0_arm64"),
}
_PROJECT: Final = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))["project"]


def main(extras: list[str]) -> int:
    """Print a row for each machine and Python; `extras` are asked for too."""
    missing = 0
    for machine, python in product(_MACHINES, _PYTHONS):
        system, *platforms = _MACHINES[machine]
        taken, why = _would_take(_wanted(extras, python=python, system=system), python=python, platforms=platforms)
        missing += why is not None
        print(f"{machine:<20} {python:<5} {why or f'{len(taken)} wheels'}", flush=True)
    return 1 if missing else 0


def _wanted(extras: list[str], *, python: str, system: str) -> list[str]:
    """Return what is needed there: of a marker pip only knows what holds where it runs itself."""
    lines = [
        *_PROJECT["dependencies"],
        *(line for extra in extras for line in _PROJECT["optional-dependencies"][extra]),
    ]
    there = {"python_version": python, "sys_platform": system}
    needed = [need for need in map(Requirement, lines) if need.marker is None or need.marker.evaluate(there)]
    return [str(need).partition(";")[0] for need in needed]


def _would_take(wanted: list[str], *, python: str, platforms: list[str]) -> tuple[list[str], str | None]:
    """Return the wheels, or why there are none."""
    command = [sys.executable, "-m", "pip", "install", "-q", "--dry-run", "--ignore-installed", "--report=-"]
    command += ["--target=none", "--only-binary=:all:", "--implementation=cp", f"--python-version={python}"]
    command += [f"--platform={each}" for each in platforms]
    done = subprocess.run([*command, *wanted], capture_output=True, text=True, timeout=900, check=False)
    if done.returncode:
        return [], next((line for line in done.stderr.splitlines() if line.startswith("ERROR")), "pip failed")
    return [each["metadata"]["name"] for each in json.loads(done.stdout)["install"]], None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
