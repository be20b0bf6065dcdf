"""A formula for Homebrew, printed: ``python .ci/formula.py pylock.toml dist/grader_daemon-0.1.0.tar.gz``.

The lock has the versions that the tests ran with, and where their sources are:
``uv pip compile pyproject.toml -c .ci/constraints.txt --python-version 3.14 --format pylock.toml -o pylock.toml``
"""

from __future__ import annotations

import hashlib
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_PROJECT = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text("utf-8"))["project"]
_FORMULA = """class GraderDaemon < Formula
  include Language::Python::Virtualenv

  desc "{description}"
  homepage "{source}"
  url "{source}/releases/download/v{version}/{file}"
  sha256 "{sha256}"
  license "{licence}"

  depends_on "rust" => :build # pydantic-core
  depends_on "python@3.14"

{resources}

  def install
    virtualenv_install_with_resources
  end

  test do
    assert_match version.to_s, shell_output("#{{bin}}/grader-daemon --version")
    system bin/"grader-daemon", "grade", "--demo"
  end
end
"""
_RESOURCE = """  resource "{name}" do
    url "{url}"
    sha256 "{sha256}"
  end"""


def formula(lock: Mapping[str, Any], release: Path) -> str:
    """Return the formula of a release: its source, and the source of each package of the lock."""
    packages = (_RESOURCE.format(name=each["name"], **_source(each)) for each in lock["packages"])
    return _FORMULA.format(
        description=_PROJECT["description"].partition(",")[0],  # of which Homebrew takes 80 characters
        source=_PROJECT["urls"]["Source"],
        version=release.name.removesuffix(".tar.gz").rpartition("-")[2],
        file=release.name,
        sha256=hashlib.sha256(release.read_bytes()).hexdigest(),
        licence=_PROJECT["license"],
        resources="\n\n".join(packages),
    )


def _source(package: Mapping[str, Any]) -> dict[str, str]:
    sdist = package["sdist"]
    return {"url": sdist["url"], "sha256": sdist["hashes"]["sha256"]}


if __name__ == "__main__":
    sys.stdout.write(formula(tomllib.loads(Path(sys.argv[1]).read_text("utf-8")), Path(sys.argv[2])))
