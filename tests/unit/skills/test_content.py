from __future__ import annotations

import os
from pathlib import Path

import pytest

from grader_daemon.skills.content import MOST_FILE_BYTES, MOST_FILES, digest_of, parts_of, read_beginning


def digest(path: Path) -> str:
    return digest_of(str(path), parts_of(str(path)))


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    folder = tmp_path / "skill"
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text("text")
    (folder / "scripts" / "go.sh").write_text("true")
    return folder


def test_a_copy_has_the_same_digest_whenever_it_was_made(skill: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / "scripts").mkdir(parents=True)
    (other / "scripts" / "go.sh").write_text("true")
    (other / "SKILL.md").write_text("text")
    os.utime(other / "SKILL.md", (0, 0))
    assert digest(other) == digest(skill)


@pytest.mark.parametrize(
    ("path", "content"),
    [
        pytest.param("SKILL.md", "TEXT", id="edited"),
        pytest.param("scripts/go.sh", "trux", id="script-edited"),
        pytest.param("scripts/b.sh", "", id="added-empty"),
    ],
)
def test_every_edit_makes_another_one(skill: Path, path: str, content: str) -> None:
    before = digest(skill)
    (skill / path).write_text(content)
    assert digest(skill) != before


def test_names_belong_to_it(skill: Path) -> None:
    before = digest(skill)
    (skill / "scripts" / "go.sh").rename(skill / "scripts" / "gone.sh")
    assert digest(skill) != before


def test_what_running_it_leaves_behind_does_not(skill: Path) -> None:
    before = digest(skill)
    for path in (".cache", "__pycache__"):
        (skill / path).mkdir()
        (skill / path / "x").write_text("x")
    assert digest(skill) == before


def test_links_are_not_followed(skill: Path, tmp_path: Path) -> None:
    before = digest(skill)
    (tmp_path / "secret").write_text("secret")
    (skill / "link").symlink_to(tmp_path / "secret")
    (skill / "folder").symlink_to(tmp_path)
    assert digest(skill) == before


def test_of_a_large_file_the_size_counts_alone(skill: Path) -> None:
    large = skill / "large"
    large.write_bytes(b"a" * (MOST_FILE_BYTES + 1))
    before = digest(skill)
    large.write_bytes(b"b" * (MOST_FILE_BYTES + 1))
    assert digest(skill) == before
    large.write_bytes(b"b" * (MOST_FILE_BYTES + 2))
    assert digest(skill) != before


def test_of_very_many_files_some_are_looked_at(skill: Path) -> None:
    for number in range(MOST_FILES + 5):
        (skill / f"{number:04}").touch()
    assert len(parts_of(str(skill))) == MOST_FILES


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "SKILL.md")
    with pytest.raises(OSError, match="no regular file"):
        read_beginning(str(tmp_path / "SKILL.md"), 10)


def test_what_is_no_file_leaves_nothing_open(tmp_path: Path) -> None:
    (tmp_path / "SKILL.md").mkdir()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        with pytest.raises(OSError, match="no regular file"):
            read_beginning(str(tmp_path / "SKILL.md"), 10)

    assert len(os.listdir("/proc/self/fd")) == before
