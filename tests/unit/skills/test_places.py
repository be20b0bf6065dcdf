from __future__ import annotations

from pathlib import Path

from grader_daemon.domain.installed import InstalledKind, InstalledSkill
from grader_daemon.skills.places import Installed, is_gone, name_of


def write_skill(folder: Path, name: str, description: str = "Does it.") -> Path:
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {description}\n---\n")
    return folder


def installed(home: Path, *roots: Path) -> Installed:
    return Installed({"hermes": [str(home / "sessions")]}, skill_roots=[str(root) for root in roots])


def names(found: Installed) -> list[str]:
    return [skill.name for skill in found.skills()]


def test_skills_are_found_below_the_home_of_an_agent(tmp_path: Path) -> None:
    folder = write_skill(tmp_path / "skills" / "devops" / "deploy", "deploy")
    (tmp_path / "skills" / ".bundled_manifest").write_text("deploy:0a1b\nother:ff\n")
    assert installed(tmp_path).skills() == [
        InstalledSkill(
            name="deploy", description="Does it.", agent="hermes", path=str(folder), bundled=True, problem=None
        )
    ]


def test_skills_of_a_folder_that_is_set_belong_to_nobody(tmp_path: Path) -> None:
    write_skill(tmp_path / "shared" / "a", "a")
    [skill] = installed(tmp_path / "home", tmp_path / "shared").skills()
    assert (skill.agent, skill.bundled) == (None, False)


def test_one_that_is_not_sound_is_listed_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "skills" / "half").mkdir(parents=True)
    (tmp_path / "skills" / "half" / "SKILL.md").write_text("# Half")
    [skill] = installed(tmp_path).skills()
    assert (skill.name, skill.problem) == ("half", "SKILL.md does not begin with ---")


def test_a_skill_within_a_skill_is_a_part_of_it(tmp_path: Path) -> None:
    write_skill(write_skill(tmp_path / "skills" / "outer", "outer") / "examples" / "inner", "inner")
    assert names(installed(tmp_path)) == ["outer"]


def test_links_and_hidden_folders_are_passed_over_but_for_those_of_codex(tmp_path: Path) -> None:
    elsewhere = write_skill(tmp_path / "elsewhere", "elsewhere")
    write_skill(tmp_path / "skills" / ".archive" / "old", "old")
    write_skill(tmp_path / "skills" / ".system" / "shipped", "shipped")
    (tmp_path / "skills" / "link").symlink_to(elsewhere)
    assert [(skill.name, skill.bundled) for skill in installed(tmp_path).skills()] == [("shipped", True)]


def test_configuration_files_of_the_home_are_places(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("model: x")
    (tmp_path / "memory.md").write_text("changes all the time")
    (tmp_path / "SOUL.md").symlink_to(tmp_path / "memory.md")
    [place] = installed(tmp_path).places()
    assert (place.kind, name_of(place), place.agent) == (InstalledKind.CONFIGURATION, "config.yaml", "hermes")


def test_a_folder_that_cannot_be_listed_is_told(tmp_path: Path) -> None:
    (tmp_path / "skills").touch()
    assert installed(tmp_path).unreadable() == {str(tmp_path / "skills"): "Not a directory"}


def test_only_a_folder_that_is_set_has_to_be_there(tmp_path: Path) -> None:
    assert installed(tmp_path, tmp_path / "gone").unreadable() == {str(tmp_path / "gone"): "No such file or directory"}


def test_only_what_surely_lies_there_no_more_is_gone(tmp_path: Path) -> None:
    skill, file = write_skill(tmp_path / "skills" / "deploy", "deploy"), tmp_path / "config.yaml"
    (tmp_path / "link").symlink_to(tmp_path / "link")
    assert not is_gone(InstalledKind.SKILL, str(skill))
    assert is_gone(InstalledKind.CONFIGURATION, str(file))
    assert is_gone(InstalledKind.CONFIGURATION, str(skill / "SKILL.md" / "config.yaml"))
    assert not is_gone(InstalledKind.SKILL, str(tmp_path / "link")), "a folder that cannot be entered"
    (skill / "SKILL.md").unlink()
    assert is_gone(InstalledKind.SKILL, str(skill))
