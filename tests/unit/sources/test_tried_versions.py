from __future__ import annotations

import pytest

from grader_daemon import bootstrap
from grader_daemon.sources.tried_versions import newer_than


@pytest.mark.parametrize(
    ("source", "agent", "version", "tried"),
    [
        ("codex", "codex", "0.170.0", "0.169.0"),
        ("codex", None, "0.1000.0-alpha.3", "0.169.0"),
        ("codex", "codex", "0.169.0.1", "0.169.0"),
        ("codex", "codex", "0.169.0", None),
        ("codex", "codex", "0.45.0", None),
        ("codex", "codex", "main", None),
        ("codex", "codex", None, None),
        ("opencode", "kilo", "99.0", None),
        ("atif", "codex", "99.0", None),
    ],
)
def test_a_version_above_those_that_were_tried_is_newer(
    source: str, agent: str | None, version: str | None, tried: str | None
) -> None:
    assert newer_than(source, agent, version) == tried


def test_every_source_of_one_agent_was_tried_with_a_version() -> None:
    assert [name for name in bootstrap.SOURCES if newer_than(name, None, "999999999") is None] == ["atif", "openhands"]
