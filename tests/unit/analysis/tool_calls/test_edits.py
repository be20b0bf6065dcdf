"""Edits by calls as the agents write them: their samples, or their documented formats."""

from __future__ import annotations

import json
from time import process_time

import pytest

from grader_daemon.analysis.tool_calls import CallView
from grader_daemon.analysis.tool_calls.edits import Edit, names_of_texts
from tests.tables import for_each

PATCH = (
    "*** Begin Patch\n*** Update File: a.py\n@@ def f():\n-x = 1\n+x = 2\n y\n*** Delete File: b.py\n"
    "*** Add File: c.py\n+new\n*** Update File: d.py\n*** Move to: e.py\n@@\n-d\n+e\n*** End Patch\n+no more\n"
)
PATCHED = [Edit("a.py", "x = 1", "x = 2"), Edit("b.py", None, ""), Edit("c.py", None, "new"), Edit("e.py", "d", "e")]
DIFF = (
    "--- a/a.py\t2026-11-27\n+++ b/a.py\t2026-11-27\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"
    "--- a/b.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n--- /dev/null\n+++ b/c.py\n@@ -0,0 +1 @@\n+++ new\n"
)
ADD = "def add(a, b):\n    return a - b\n"
MINUS, PLUS = "a - b", "a + b"
EDITED, MADE = [Edit("/p/a.py", MINUS, PLUS)], [Edit("/p/a.py", None, ADD)]


@for_each(
    ("tool", "given", "edits"),
    [
        pytest.param("write_file", {"path": "/p/a.py", "content": ADD}, MADE, id="hermes-file"),
        pytest.param(
            "patch",
            {"mode": "replace", "path": "/p/a.py", "old_string": MINUS, "new_string": PLUS},
            EDITED,
            id="hermes-text",
        ),
        pytest.param("patch", {"mode": "patch", "patch": PATCH}, PATCHED, id="hermes-patch"),
        pytest.param("Write", {"file_path": "/p/a.py", "content": ADD}, MADE, id="claude-code-file"),
        pytest.param(
            "Edit",
            {"replace_all": False, "file_path": "/p/a.py", "old_string": MINUS, "new_string": PLUS},
            EDITED,
            id="claude-code-text",
        ),
        pytest.param(
            "MultiEdit",
            {
                "file_path": "a",
                "edits": [{"old_string": "x", "new_string": "y"}, "odd", {"old_string": "", "new_string": "z"}],
            },
            [Edit("a", "x", "y"), Edit("a", "", "z")],
            id="claude-code-several",
        ),
        pytest.param(
            "NotebookEdit",
            {"notebook_path": "a.ipynb", "cell_id": "c1", "new_source": "x = 1"},
            [Edit("a.ipynb", "", "x = 1")],
            id="claude-code-cell",
        ),
        pytest.param("apply_patch", {"input": PATCH}, PATCHED, id="codex-patch"),
        pytest.param(
            "shell",
            {"command": ["apply_patch", "*** Begin Patch\n*** Update File: a\n@@\n-it's\n+'x'\n*** End Patch"]},
            [Edit("a", "it's", "'x'")],
            id="codex-patch-for-a-program",
        ),
        pytest.param("shell", {"command": ["apply_patch", 1]}, [], id="codex-program-without-patch"),
        pytest.param(
            "shell",
            {"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}EOF"]},
            PATCHED,
            id="codex-patch-in-a-shell",
        ),
        pytest.param("write", {"filePath": "/p/a.py", "content": ADD}, MADE, id="opencode-file"),
        pytest.param(
            "edit", {"filePath": "/p/a.py", "oldString": MINUS, "newString": PLUS}, EDITED, id="opencode-text"
        ),
        pytest.param("apply_patch", {"patchText": PATCH}, PATCHED, id="opencode-patch"),
        pytest.param(
            "replace",
            {"file_path": "/p/a.py", "instruction": "fix it", "old_string": MINUS, "new_string": PLUS},
            EDITED,
            id="gemini-cli",
        ),
        pytest.param("edit", {"file_path": "/p/a.py", "old_string": MINUS, "new_string": PLUS}, EDITED, id="qwen-code"),
        pytest.param("create", {"path": "/p/a.py", "file_text": ADD}, MADE, id="copilot-file"),
        pytest.param("edit", {"path": "/p/a.py", "old_str": MINUS, "new_str": PLUS}, EDITED, id="copilot-text"),
        pytest.param("apply_patch", PATCH, PATCHED, id="copilot-patch"),
        pytest.param("write", {"path": "/p/a.py", "content": ADD}, MADE, id="pi-file"),
        pytest.param("edit", {"path": "/p/a.py", "edits": [{"oldText": MINUS, "newText": PLUS}]}, EDITED, id="pi-text"),
        pytest.param(
            "edit",
            {"path": "/p/a.py", "edits": [{"oldText": MINUS, "newText": PLUS}], "oldText": MINUS, "newText": PLUS},
            EDITED,
            id="openclaw-says-it-twice",
        ),
        pytest.param("editor", {"path": "/p/a.py", "new_text": ADD}, MADE, id="cline-file"),
        pytest.param("editor", {"path": "/p/a.py", "old_text": MINUS, "new_text": PLUS}, EDITED, id="cline-text"),
        pytest.param(
            "editor",
            {"path": "a.py", "new_text": "x", "insert_line": 0},
            [Edit("a.py", "", "x")],
            id="cline-text-at-a-line",
        ),
        pytest.param(
            "replace_in_file",
            {"path": "a", "diff": "------- SEARCH\nx\n=======\ny\n+++++++ REPLACE\n\n------- SEARCH\nz\n=======\n"},
            [Edit("a", "x\n", "y\n"), Edit("a", "z\n", "")],
            id="cline-blocks",
        ),
        pytest.param(
            "apply_diff",
            {"path": "a", "diff": "<<<<<<< SEARCH\n:start_line:3\n-------\nx\n=======\ny\n>>>>>>> REPLACE"},
            [Edit("a", "x\n", "y\n")],
            id="roo-code-blocks",
        ),
        pytest.param(
            "insert_content", {"path": "a", "line": "0", "content": "x"}, [Edit("a", "", "x")], id="roo-code-at-a-line"
        ),
        pytest.param(
            "search_and_replace", {"path": "a", "search": "x", "replace": "y"}, [Edit("a", "x", "y")], id="roo-code"
        ),
        pytest.param(
            "str_replace_editor",
            {"command": "create", "path": "/p/a.py", "file_text": ADD},
            MADE,
            id="openhands-file",
        ),
        pytest.param(
            "str_replace_editor",
            {"command": "str_replace", "path": "/p/a.py", "old_str": MINUS, "new_str": PLUS},
            EDITED,
            id="openhands-text",
        ),
        pytest.param(
            "file_editor",
            {"command": "str_replace", "path": "a.py", "old_str": MINUS},
            [Edit("a.py", MINUS, "")],
            id="openhands-removes",
        ),
        pytest.param(
            "file_editor",
            {"command": "insert", "path": "a.py", "insert_line": 3, "new_str": "x"},
            [Edit("a.py", "", "x")],
            id="openhands-at-a-line",
        ),
        pytest.param("file_editor", {"command": "view", "path": "a.py"}, [], id="openhands-looks"),
        pytest.param(
            "write_file", {"path": "a", "content": "x", "append": True}, [Edit("a", "", "x")], id="put-to-the-end"
        ),
        pytest.param(
            "patch",
            {"patch": DIFF},
            [Edit("a.py", "x = 1", "x = 2"), Edit("b.py", None, ""), Edit("c.py", None, "++ new")],
            id="diff",
        ),
        pytest.param("edit", {"path": "a", "edits": [{"new_text": "x"}]}, [Edit("a", "", "x")], id="one-of-several"),
        pytest.param("Edit", {"file_path": "a"}, [], id="nothing-told"),
        pytest.param("Edit", {"file_path": "a", "content": 3, "old_string": None}, [], id="no-texts"),
        pytest.param("Edit", '{"file_path": "a", "content"', [], id="broken"),
        pytest.param("Edit", '{"file_path": "a", "content": "x", "n": 1e999}', [], id="number-beyond-range"),
        pytest.param("shell", {}, [], id="no-arguments"),
    ],
)
def test_edits_are_read_as_each_agent_writes_them(tool: str, given: dict[str, object] | str, edits: list[Edit]) -> None:
    assert list(CallView(tool, given if isinstance(given, str) else json.dumps(given)).edits) == edits


@for_each(
    ("command", "edits"),
    [
        pytest.param("cat > a.py <<'EOF'\nx\nEOF\nls", [Edit("a.py", None, "x\n")], id="into-a-file"),
        pytest.param('cat <<EOF > "$D/a.py"\nx\nEOF', [Edit("$D/a.py", None, "x\n")], id="file-named-after-it"),
        pytest.param("cat >> a.py <<-EOF\nx\n\tEOF", [Edit("a.py", "", "x\n")], id="put-to-the-end"),
        pytest.param("cat <<EOF | sudo tee -a a.py\nx\nEOF", [Edit("a.py", "", "x\n")], id="by-tee-behind-it"),
        pytest.param(
            "sudo tee /etc/a.conf > /dev/null << 'EOF'\nx\nEOF", [Edit("/etc/a.conf", None, "x\n")], id="by-tee"
        ),
        pytest.param("cat > a.py <<EOF\nx", [Edit("a.py", None, "x")], id="cut"),
        pytest.param(
            "cat > a <<A && cat > b <<B\nx\nA\nB\ncat > c <<C\ny\nC",
            [Edit("a", None, "x\n"), Edit("c", None, "y\n")],
            id="one-after-another",
        ),
        pytest.param(
            "cat > a.sh <<'EOF'\ncat > b <<B\nx\nB\nEOF", [Edit("a.sh", None, "cat > b <<B\nx\nB\n")], id="in-a-script"
        ),
        pytest.param("python3 - <<'EOF' > out.txt\nprint(1)\nEOF", [], id="program-whose-output-is-led-there"),
        pytest.param("cat <<EOF | python3 - > out.txt\nprint(1)\nEOF", [], id="text-for-another-program"),
        pytest.param("cat <<< x > a", [], id="word-in-place-of-a-text"),
        pytest.param("cat a.py", [], id="nothing-written"),
    ],
)
def test_a_here_document_is_what_a_command_writes(command: str, edits: list[Edit]) -> None:
    assert list(CallView("bash", {"command": command}).edits) == edits


@pytest.mark.parametrize("name", ["patch", "input", "patch_text", "patchText", "diff"])
def test_a_patch_names_its_files_by_whatever_name_it_is_given(name: str) -> None:
    assert CallView("apply_patch", {name: PATCH}).paths == ("a.py", "b.py", "c.py", "d.py", "e.py")
    assert CallView("apply_patch", {name: DIFF}).paths == ("a.py", "b.py", "c.py")
    assert CallView("apply_patch", {name: "*** no +++ patch"}).paths == ()


@for_each(
    "command",
    [
        pytest.param("cat > " + "a" * 400 + " ", id="names"),
        pytest.param("cat <<a ", id="beginnings"),
        pytest.param("cat > a <<E\nx\n", id="texts-without-end"),
        pytest.param("*** Begin Patch\n*** Update File: a\n", id="files-of-a-patch"),
        pytest.param("*** Begin Patch\n--- a\n+++ b\n", id="files-of-a-diff"),
    ],
)
def test_a_long_command_is_read_in_linear_time(command: str) -> None:
    call = CallView("bash", {"command": command * (200_000 // len(command))})
    begun = process_time()

    for _ in call.edits:
        pass

    assert process_time() - begun < 2  # 0.1 s at most where this was written


def test_blocks_without_end_are_read_in_linear_time() -> None:
    call = CallView("apply_diff", {"path": "a", "diff": "<<<<<<< SEARCH\n" * 12_000})
    begun = process_time()

    assert len(list(call.edits)) == 100

    assert process_time() - begun < 2  # 0.01 s where this was written


def test_the_names_of_texts_are_those_of_both() -> None:
    assert names_of_texts({"path": "a.py", "oldText": "x", "newText": "y"}) == ("oldText", "newText")
    assert names_of_texts({"path": "a.py", "new_string": "y"}) is None
