"""A bounded look at what lies in the folders of a source."""

from __future__ import annotations

import os
from pathlib import Path

from grader_daemon.api.looks import look
from grader_daemon.domain.limits import Limits
from grader_daemon.domain.unit import Found
from grader_daemon.sources.hermes.hermes_source import HermesSnapshots


def test_of_more_than_are_counted_the_newest_is_among_those_that_are(tmp_path: Path) -> None:
    for number in range(5):
        path = tmp_path / f"session_2026112{number}.json"
        path.write_text("{}")
        os.utime(path, (1000 + number, 1000 + number))
    source = HermesSnapshots([str(tmp_path)], zone=None, limits=Limits())

    passed: list[Found] = []
    seen = look(source, [str(tmp_path)], sessions=2, passing=passed.append)

    assert (seen.sessions, seen.is_more) == (2, True)
    assert seen.newest is not None
    assert seen.newest.unit.locator.endswith("session_20261124.json")
    assert [found.unit.locator[-6:-5] for found in passed] == ["4", "3"]
