"""Files that trials take away and put back: nothing of a person's is lost, whatever comes between."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from grader_daemon.errors import InputError
from grader_daemon.skills.switched_file import (
    HELD,
    Position,
    SwitchedFile,
    position_of,
    put_back,
    switched_file,
    take_away,
)

STEPS = ("rename", "link", "unlink", "symlink")


class Killed(BaseException):
    """The process ends here, as by kill -9."""


def plain(folder: Path) -> Path:
    path = folder / "CLAUDE.md"
    path.write_text("Be brief.")
    return path


def link_to_file(folder: Path) -> Path:
    (folder / "dotfiles").mkdir()
    plain(folder / "dotfiles")
    path = folder / "CLAUDE.md"
    path.symlink_to("dotfiles/CLAUDE.md")
    return path


def link_to_skill(folder: Path) -> Path:
    (folder / "shared" / "deploy").mkdir(parents=True)
    (folder / "shared" / "deploy" / "SKILL.md").write_text("name: deploy")
    path = folder / "deploy"
    path.symlink_to(folder / "shared" / "deploy")
    return path


KINDS = [plain, link_to_file, link_to_skill]


@pytest.fixture(params=KINDS)
def file(request: pytest.FixtureRequest, tmp_path: Path) -> SwitchedFile:
    make: Callable[[Path], Path] = request.param
    return switched_file(str(make(tmp_path)))


@pytest.fixture
def plain_file(tmp_path: Path) -> SwitchedFile:
    return switched_file(str(plain(tmp_path)))


def seen(folder: Path) -> dict[str, tuple[int, str]]:
    """What lies in a folder: each name with its mode, and what is in the file or link."""
    return {str(path.relative_to(folder)): (path.lstat().st_mode, _content(path)) for path in sorted(folder.rglob("*"))}


def _content(path: Path) -> str:
    if path.is_symlink():
        return f"-> {path.readlink()}"
    return path.read_text() if path.is_file() else ""


def test_a_file_is_away_and_back_as_it_was(file: SwitchedFile, tmp_path: Path) -> None:
    before = seen(tmp_path)
    assert position_of(file) is Position.ON
    take_away(file)
    assert not os.path.lexists(file.path)
    assert position_of(file) is Position.OFF
    assert put_back(file)
    assert (position_of(file), seen(tmp_path)) == (Position.ON, before)
    assert put_back(file)
    assert seen(tmp_path) == before


def test_what_a_link_leads_to_is_never_touched(tmp_path: Path) -> None:
    file = switched_file(str(link_to_skill(tmp_path)))
    take_away(file)
    assert (tmp_path / "shared" / "deploy" / "SKILL.md").read_text() == "name: deploy"
    assert not os.path.lexists(file.held)  # an agent would find a skill by another name, too


def dying(monkeypatch: pytest.MonkeyPatch, at: int, *, after: bool) -> None:
    """Have the process killed before its step `at`, or after it."""
    made: Iterator[int] = iter(range(at + 1))

    def wrapped(step: Callable[..., None]) -> Callable[..., None]:
        def run(*arguments: object, **options: object) -> None:
            last = next(made, None) == at
            if last and not after:
                raise Killed
            step(*arguments, **options)
            if last:
                raise Killed

        return run

    for name in STEPS:
        monkeypatch.setattr(os, name, wrapped(getattr(os, name)))


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("at", [0, 1])
@pytest.mark.parametrize("switch", [take_away, put_back])
def test_a_process_that_is_killed_leaves_what_is_put_right(
    file: SwitchedFile, switch: Callable[[SwitchedFile], object], at: int, after: bool, tmp_path: Path
) -> None:
    before = seen(tmp_path)
    if switch is put_back:
        take_away(file)
    with pytest.MonkeyPatch.context() as patch:
        dying(patch, at, after=after)
        with suppress(Killed):
            switch(file)
    assert position_of(file) in (Position.ON, Position.OFF)
    if position_of(file) is Position.ON:
        take_away(file)
        assert position_of(file) is Position.OFF
    assert put_back(file)
    assert seen(tmp_path) == before


def test_without_hard_links_it_is_renamed(plain_file: SwitchedFile, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "no hard links here")

    take_away(plain_file)
    monkeypatch.setattr(os, "link", refuse)
    assert put_back(plain_file)
    take_away(plain_file)
    Path(plain_file.path).write_text("new")
    assert not put_back(plain_file)
    assert (Path(plain_file.path).read_text(), Path(plain_file.held).read_text()) == ("new", "Be brief.")


def test_what_somebody_put_there_meanwhile_is_kept(file: SwitchedFile) -> None:
    take_away(file)
    Path(file.path).write_text("new")
    assert position_of(file) is Position.REPLACED
    assert not put_back(file)
    assert Path(file.path).read_text() == "new"
    assert file.link is not None or Path(file.held).read_text() == "Be brief."


def test_a_link_that_leads_elsewhere_is_another_file(tmp_path: Path) -> None:
    file = switched_file(str(link_to_file(tmp_path)))
    Path(file.path).unlink()
    Path(file.path).symlink_to("elsewhere.md")
    assert position_of(file) is Position.REPLACED
    take_away(file)
    assert Path(file.held).readlink() == Path("elsewhere.md")


@pytest.mark.parametrize("is_away", [False, True])
def test_an_edit_is_seen_wherever_the_file_is(plain_file: SwitchedFile, is_away: bool) -> None:
    if is_away:
        take_away(plain_file)
    Path(plain_file.held if is_away else plain_file.path).write_text("Be long.")
    assert position_of(plain_file) is Position.EDITED
    assert put_back(plain_file)
    assert Path(plain_file.path).read_text() == "Be long."


def test_an_edit_behind_a_link_is_seen_and_so_is_its_end(tmp_path: Path) -> None:
    file = switched_file(str(link_to_skill(tmp_path)))
    skill = tmp_path / "shared" / "deploy" / "SKILL.md"
    skill.write_text("name: other")
    assert position_of(file) is Position.EDITED
    skill.unlink()
    assert position_of(file) is Position.GONE


def test_a_file_that_is_gone_is_not_made(plain_file: SwitchedFile, tmp_path: Path) -> None:
    Path(plain_file.path).unlink()
    assert position_of(plain_file) is Position.GONE
    assert not put_back(plain_file)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_link_whose_folder_is_gone_is_not_made(tmp_path: Path, is_replaced: bool) -> None:
    folder = tmp_path / "skills"
    folder.mkdir()
    link_to_skill(tmp_path).rename(folder / "deploy")
    file = switched_file(str(folder / "deploy"))
    take_away(file)
    folder.rmdir()
    if is_replaced:
        folder.write_text("x")
    assert not put_back(file)


def test_what_cannot_be_switched_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a readable file"):
        switched_file(str(tmp_path))
    path = plain(tmp_path)
    Path(f"{path}{HELD}").write_text("of another trial")
    with pytest.raises(InputError, match="is left from another trial"):
        switched_file(str(path))
    (tmp_path / "large.md").write_bytes(b"x" * 1_048_577)
    with pytest.raises(InputError, match="at most 1,048,576 bytes"):
        switched_file(str(tmp_path / "large.md"))
