from __future__ import annotations

import os
from pathlib import Path

import pytest

from grader_daemon.api.permissions import Exposed, exposed_places
from grader_daemon.settings import Settings, load_settings
from tests.rights import NOBODY


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration in a folder of its own that names the database in another one."""
    for name in [name for name in os.environ if name.startswith("GRADER_")]:
        monkeypatch.delenv(name)
    file = tmp_path / "config" / "config.toml"
    for folder in (file.parent, tmp_path / "database"):
        folder.mkdir(mode=0o755)
    file.write_text(f'db_path = "{tmp_path}/database/grades.db"\n')
    file.chmod(0o644)
    return file


def settings(config: Path) -> Settings:
    return load_settings(config=config)


@pytest.mark.parametrize(
    ("place", "mode", "exposed"),
    [
        pytest.param("database", 0o755, False, id="a-folder-that-others-read"),
        pytest.param("database", 0o777, True, id="a-folder-that-all-write"),
        pytest.param("database", 0o1777, False, id="a-sticky-folder"),
        pytest.param("database", 0o775, False, id="a-folder-that-ones-own-group-writes"),
        pytest.param("config", 0o757, True, id="the-folder-of-the-configuration"),
        pytest.param("config/config.toml", 0o666, True, id="the-configuration"),
        pytest.param("config/config.toml", 0o664, False, id="a-configuration-that-ones-own-group-writes"),
    ],
)
def test_what_others_may_write_is_named(config: Path, tmp_path: Path, place: str, mode: int, exposed: bool) -> None:
    path = tmp_path / place
    path.chmod(mode)

    assert exposed_places(settings(config)) == (
        [Exposed(path=str(path), mode=f"{mode:04o}", fix=f"chmod go-w {path}")] if exposed else []
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another group")
def test_another_group_is_others(config: Path) -> None:
    config.chmod(0o664)
    os.chown(config, -1, NOBODY)

    assert [place.path for place in exposed_places(settings(config))] == [str(config)]


def test_what_is_not_there_is_not_exposed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))

    assert exposed_places(load_settings(db_path=tmp_path / "nowhere" / "grades.db")) == []
