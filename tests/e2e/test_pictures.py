"""The pictures of the documents show what is printed today; if not, ``python -m tests.pictures`` makes them anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pictures import TERMINAL, WEEKLY, SampleHome, digest, kept_digest, words


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> SampleHome:
    return SampleHome(tmp_path_factory.mktemp("home"))


def test_picture_of_the_terminal_is_fresh(home: SampleHome) -> None:
    assert words(TERMINAL.read_text("utf-8")) == words(home.terminal())


def test_picture_of_the_weekly_page_is_fresh(home: SampleHome) -> None:
    assert kept_digest(WEEKLY.read_bytes()) == digest(home.weekly_page())


@pytest.mark.parametrize("picture", [TERMINAL, WEEKLY], ids=lambda path: Path(path).name)
def test_picture_is_small_and_asks_nobody_for_anything(picture: Path) -> None:
    content = picture.read_bytes()

    assert len(content) <= 150_000
    assert b"url(http" not in content
