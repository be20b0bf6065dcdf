from __future__ import annotations

import json

import pytest

from grader_daemon.analysis.claims.edit_texts import edits_of
from grader_daemon.analysis.claims.evidence import ToolRun
from grader_daemon.analysis.tool_calls import CallView
from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.session import Message
from tests.tables import for_each

PATCH = "*** Begin Patch\n*** Delete File: b.py\n*** End Patch"


def edits(tool: str, arguments: dict[str, object] | str) -> list[tuple[str, str | None, str]]:
    given = arguments if isinstance(arguments, str) else json.dumps(arguments)
    run = ToolRun((2, CallView(tool, given), CallStatus.SUCCESS), Message(role="tool"), is_reported=False)
    return [(each.path, each.old, each.new) for each in edits_of(run)]


@for_each(
    ("tool", "arguments", "expected"),
    [
        pytest.param("Edit", {"file_path": "a", "old_string": "x", "new_string": "y"}, [("a", "x", "y")], id="edit"),
        pytest.param("Read", {"file_path": "a", "content": "x"}, [], id="tool-that-only-looks"),
        pytest.param("apply_patch", {"input": PATCH}, [("b.py", None, "")], id="patch"),
        pytest.param(
            "bash",
            {"command": "cat > a.py <<'EOF'\nx\nEOF\nsed -i 's/x/y/' a.py"},
            [("a.py", None, "x\n"), ("a.py", "x", "y")],
            id="here-document-and-sed",
        ),
        pytest.param("bash", {"command": "sed -i 's/x/y/' a.py"}, [("a.py", "x", "y")], id="sed"),
        pytest.param("bash", {"command": "sed 's/x/y/' a.py"}, [], id="sed-that-only-prints"),
        pytest.param("bash", {"command": "ls"}, [], id="a-command-that-edits-nothing"),
        pytest.param("Write", {"file_path": "a", "content": "x" * 200_000}, [], id="very-long"),
        pytest.param(
            "Edit",
            {"file_path": "a", "edits": [{"old_string": "x", "new_string": "y"}] * 50},
            [("a", "x", "y")] * 40,
            id="very-many",
        ),
    ],
)
def test_edits_are_read_out_of_calls(
    tool: str, arguments: dict[str, object] | str, expected: list[tuple[str, str | None, str]]
) -> None:
    assert edits(tool, arguments) == expected
