"""What the documents promise is what the code has: commands, settings, rules, log events, the commands to copy."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from grader_daemon.domain.session import SkipReason
from grader_daemon.grading import CATALOG
from grader_daemon.settings import Settings

_ROOT = Path(__file__).parent.parent
_PAGES = {
    path: path.read_text("utf-8")
    for path in sorted([*_ROOT.glob("*.md"), *(_ROOT / "docs").rglob("*.md")])
    if path.name != "CHANGELOG.md"
}
_DOCUMENTS = "\n".join(_PAGES.values())
_SOURCES = {path: path.read_text("utf-8") for path in (_ROOT / "grader_daemon").rglob("*.py")}
_SAMPLE_CONFIG = (_ROOT / "config" / "grader.toml").read_text("utf-8")


def test_documents_name_every_command() -> None:
    from grader_daemon.cli import _COMMANDS

    missing = [name for name in _COMMANDS if f"`grader-daemon {name}" not in _DOCUMENTS]

    assert missing == []


def test_documents_name_every_setting() -> None:
    assert [name for name in Settings.model_fields if f"`{name}`" not in _DOCUMENTS] == []


def test_documents_list_every_rule_in_the_order_of_the_catalog() -> None:
    grades = _PAGES[_ROOT / "docs" / "grades.md"]
    listed = re.findall(r"^\| `((?:completion|efficiency|quality|recovery)\.\w+)` \|", grades, re.MULTILINE)

    assert sorted(listed) == sorted(CATALOG)


def test_rules_in_the_code_are_the_rules_in_the_catalog() -> None:
    grading = "\n".join(
        text for path, text in _SOURCES.items() if "grading" in path.parts and path.name != "catalog.py"
    )

    used = set(re.findall(r'"((?:completion|efficiency|quality|recovery)\.\w+)"', grading))

    assert used == set(CATALOG)


def test_documents_name_every_skip_reason() -> None:
    assert [reason.value for reason in SkipReason if f"`{reason.value}`" not in _DOCUMENTS] == []


def test_sample_configuration_shows_every_setting_with_its_default() -> None:
    uncommented = re.sub(r"^# (\w+ = )", r"\1", _SAMPLE_CONFIG, flags=re.MULTILINE)
    shown = tomllib.loads(uncommented)

    assert list(shown) == list(Settings.model_fields)
    for name, field in Settings.model_fields.items():
        if field.default is not None:
            assert shown[name] == _plain(field.default), name
        assert f"# {field.description}\n# {name} = " in _SAMPLE_CONFIG


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def test_ci_runs_the_test_command_of_the_documents() -> None:
    commands = [line for line in (_ROOT / ".ci" / "run").read_text("utf-8").splitlines() if "-m tests" in line]

    assert len(commands) == 1
    assert f"```sh\n{commands[0]}\n```" in _DOCUMENTS


@pytest.mark.parametrize(
    ("page", "link"),
    [
        pytest.param(path, link, id=f"{path.relative_to(_ROOT)}-{link}")
        for path, text in _PAGES.items()
        for link in re.findall(r"\]\(((?!https?:)[^)#]+)\)", text)
    ],
)
def test_links_of_the_documents_lead_somewhere(page: Path, link: str) -> None:
    assert (page.parent / link).exists()


def test_changelog_has_a_place_for_what_comes_next() -> None:
    assert "## Unreleased" in (_ROOT / "CHANGELOG.md").read_text("utf-8")
