"""The versions that CI tests with: every dependency has one, within the range that a user may have, and no source."""

from __future__ import annotations

import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.tables import for_each

_ROOT = Path(__file__).parent.parent
_LINES = (_ROOT / ".ci" / "constraints.txt").read_text("utf-8").splitlines()
_LOCKED = {
    canonicalize_name(name): version for name, _, version in (line.partition("==") for line in _LINES) if version
}
_PROJECT = tomllib.loads((_ROOT / "pyproject.toml").read_text("utf-8"))["project"]
_OPTIONAL = _PROJECT["optional-dependencies"]
_INSTALLED = [line for extra in ("archive", "parquet", "test") for line in _OPTIONAL[extra]]
_DIRECT = [*_PROJECT["dependencies"], *(line for line in _INSTALLED if not line.startswith(_PROJECT["name"]))]


@for_each("line", _DIRECT)
def test_every_dependency_has_a_version_of_its_range(line: str) -> None:
    requirement = Requirement(line)

    assert requirement.specifier.contains(_LOCKED[canonicalize_name(requirement.name)])


def test_versions_say_nothing_of_where_they_come_from() -> None:
    versions = {line: line.partition("==") for line in _LINES}

    assert [line for line, (name, _, at) in versions.items() if at != _LOCKED.get(canonicalize_name(name))] == []
