from __future__ import annotations

from pathlib import Path

import pytest

from grader_daemon.errors import InputError, NotFoundError
from grader_daemon.skills.places import Installed
from grader_daemon.skills.trial_names import Subject, held_words, subject_of
from tests.unit.skills.test_places import write_skill


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def named(home: Path, name: str, *others: Path) -> Subject:
    roots = {"hermes": [str(home / "sessions")], **{f"agent-{n}": [str(other)] for n, other in enumerate(others)}}
    return subject_of(Installed(roots, skill_roots=()), name)


def test_a_skill_is_found_by_its_name_or_path(home: Path) -> None:
    folder = write_skill(home / "skills" / "devops" / "deploy", "deploy")
    expected = Subject("deploy", "hermes", str(folder / "SKILL.md"))
    assert named(home, "deploy") == named(home, str(folder)) == named(home, str(folder / "SKILL.md")) == expected
    assert held_words(expected) == f"renames {folder}/SKILL.md to SKILL.md.grader-trial or back"


def test_a_skill_in_a_folder_of_another_name_has_the_name_that_agents_know_it_by(home: Path) -> None:
    folder = write_skill(home / "skills" / "deploy-v2", "deploy")
    assert named(home, "deploy") == Subject("deploy", "hermes", str(folder / "SKILL.md"))


def test_a_skill_that_is_a_link_is_the_link(home: Path) -> None:
    (home / "skills").mkdir()
    link = home / "skills" / "deploy"
    link.symlink_to(write_skill(home.parent / "shared" / "deploy", "deploy"))
    expected = Subject("deploy", "hermes", str(link))
    assert named(home, "deploy") == named(home, str(link)) == expected
    assert held_words(expected) == f"removes the link {link} or makes it again"


def test_a_prompt_file_is_found_by_its_name_and_any_other_by_its_path(home: Path) -> None:
    (home / "rules").mkdir()
    for path in (home / "AGENTS.md", home / "rules" / "style.md"):
        path.write_text("x")
    assert named(home, "AGENTS.md") == Subject("AGENTS.md", "hermes", str(home / "AGENTS.md"))
    assert named(home, str(home / "rules" / "style.md")) == Subject(
        "style.md", "hermes", str(home / "rules" / "style.md")
    )


def test_of_several_a_path_is_wanted(home: Path) -> None:
    other = home.parent / "other"
    for each in (home, other):
        write_skill(each / "skills" / "deploy", "deploy")
    with pytest.raises(InputError, match="several are called deploy, give a path"):
        named(home, "deploy", other)
    assert named(home, str(other / "skills" / "deploy"), other).agent == "agent-0"


@pytest.mark.parametrize("name", ["nothing", "nothing.md"])
def test_a_name_that_nothing_has_is_refused(home: Path, name: str) -> None:
    with pytest.raises(NotFoundError, match="no graded agent has a skill or prompt file"):
        named(home, name)


@pytest.mark.parametrize("name", ["config.yaml", "skills", "missing.md"])
def test_what_no_session_can_do_without_is_refused(home: Path, name: str) -> None:
    (home / "skills").mkdir()
    (home / "config.yaml").write_text("model: x")
    with pytest.raises(InputError, match=r"only a skill or a \.md file"):
        named(home, str(home / name))


def test_a_file_elsewhere_is_refused(home: Path) -> None:
    (home.parent / "AGENTS.md").write_text("x")
    with pytest.raises(InputError, match=r"only a skill or a \.md file in the home"):
        named(home, str(home.parent / "AGENTS.md"))


@pytest.mark.parametrize("where", [".git", "../.git", "skills/deploy/.git"])
def test_a_file_in_a_repository_is_refused(home: Path, where: str) -> None:
    write_skill(home / "skills" / "deploy", "deploy")
    (home / where).mkdir()
    with pytest.raises(InputError, match=r"git repository .*, which would show it as deleted"):
        named(home, "deploy")


def test_a_file_behind_the_link_of_a_folder_is_refused(home: Path) -> None:
    write_skill(home.parent / "shared" / "deploy", "deploy")
    (home / "skills").symlink_to(home.parent / "shared")
    with pytest.raises(InputError, match="skills/deploy is behind a link"):
        named(home, "deploy")


def test_a_home_that_is_a_link_is_as_good_as_any(home: Path) -> None:
    (home.parent / "linked").symlink_to(home)
    (home / "AGENTS.md").write_text("x")
    assert named(home.parent / "linked", "AGENTS.md").path == str(home.parent / "linked" / "AGENTS.md")
