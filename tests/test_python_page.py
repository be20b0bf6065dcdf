"""The examples of docs/python-api.md run, one after the other."""

from __future__ import annotations

import os
import re
import sys
import types
from pathlib import Path
from typing import Any

import pytest

import grader_daemon
from tests import demo_home

_PAGE = (Path(__file__).parent.parent / "docs" / "python-api.md").read_text("utf-8")
_EXAMPLES = re.findall(r"```python\n(.+?)```", _PAGE, re.DOTALL)


@pytest.fixture
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person's home with sessions, who stands among them; pandas is there, as far as it is asked for."""
    demo_home.make(tmp_path)
    for name in [name for name in os.environ if name.startswith("GRADER_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path / demo_home.SESSIONS)
    pandas = types.ModuleType("pandas")
    pandas.DataFrame = list  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pandas", pandas)


@pytest.mark.usefixtures("at_home")
def test_examples_of_the_page_run() -> None:
    names: dict[str, Any] = {}

    for example in _EXAMPLES:
        exec(example, names)

    assert names["grade"].session_id == "demo_01"
    assert {each.grade.task_type for each in names["recent"]} == {"debugging"}
    empty = [
        name for name in ("recent", "failed", "issues", "alerts", "labels", "opinions", "frame") if not names[name]
    ]
    assert empty == []


def test_page_names_every_public_name() -> None:
    listed = re.findall(
        r"^\| `(\w+)` \|", _PAGE.partition("\n## Public names\n")[2].partition("\n## ")[0], re.MULTILINE
    )

    assert listed == grader_daemon.__all__
