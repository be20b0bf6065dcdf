from __future__ import annotations

import json

import pytest

from grader_daemon.analysis.claims.edit_texts import edits_of
from grader_daemon.analysis.claims.evidence import ToolRun
from grader_daemon.analysis.tool_calls import CallView
from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.session import Message
from tests.tables import for_each

PATCH = (
    "*** Begin Patch\n*** Update File: a.py\n@@\n-x = 1\n+x = 2\n"
    "*** Delete File: b.py\n*** Add File: c.py\n+y\n*** End Patch"
)
PATCHED = [("a.py", "x = 1", "x = 2"), ("b.py", None, ""), ("c.py", None, "y")]
DIFF = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"


def edits(tool: str, arguments: dict[str, object] | str) -> list[tuple[str, str | None, str]]:
    given = arguments if isinstance(arguments, str) else json.dumps(arguments)
    run = ToolRun((2, CallView(tool, given), CallStatus.SUCCESS), Message(role="tool"), is_reported=False)
    return [(each.path, each.old, each.new) for each in edits_of(run)]


@for_each(
    ("tool", "arguments", "expected"),
    [
        pytest.param("Edit", {"file_path": "a", "old_string": "x", "new_string": "y"}, [("a", "x", "y")], id="edit"),
        pytest.param("edit", {"filePath": "a", "oldString": "x", "newString": "y"}, [("a", "x", "y")], id="camel-case"),
        pytest.param("Write", {"file_path": "a", "content": "y"}, [("a", None, "y")], id="written-as-a-whole"),
        pytest.param("Edit", {"file_path": "a"}, [], id="nothing-told"),
        pytest.param(
            "MultiEdit",
            {"file_path": "a", "edits": [{"old_string": "x", "new_string": "y"}, "odd"]},
            [("a", "x", "y")],
            id="several",
        ),
        pytest.param("apply_patch", {"input": PATCH}, PATCHED, id="patch"),
        pytest.param("apply_patch", PATCH, PATCHED, id="patch-alone"),
        pytest.param("patch", {"patch": DIFF}, [("a.py", "x = 1", "x = 2")], id="diff"),
        pytest.param("bash", {"command": f"apply_patch <<'EOF'\n{PATCH}\nEOF"}, PATCHED, id="patch-in-a-shell"),
        pytest.param("bash", {"command": "cat > a.py <<'EOF'\nx\nEOF"}, [("a.py", None, "x")], id="here-document"),
        pytest.param("bash", {"command": "cat <<EOF > a.py\nx"}, [("a.py", None, "x")], id="here-document-cut"),
        pytest.param("bash", {"command": "cat <<EOF >> a.py\nx"}, [("a.py", "", "x")], id="put-to-the-end"),
        pytest.param("bash", {"command": "cat >> a.py <<EOF\nx\nEOF"}, [("a.py", "", "x")], id="put-to-the-end-of-it"),
        pytest.param("bash", {"command": "sed -i 's/x/y/' a.py"}, [("a.py", "x", "y")], id="sed"),
        pytest.param("bash", {"command": "sed 's/x/y/' a.py"}, [], id="sed-that-only-prints"),
        pytest.param("bash", {"command": "ls"}, [], id="a-command-that-edits-nothing"),
        pytest.param("bash", '{"command": broken', [], id="broken"),
        pytest.param("bash", "x" * 200_001, [], id="very-long"),
    ],
)
def test_edits_are_read_out_of_calls(
    tool: str, arguments: dict[str, object] | str, expected: list[tuple[str, str | None, str]]
) -> None:
    assert edits(tool, arguments) == expected
