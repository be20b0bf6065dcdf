"""What fuzzing begins with: the session files that our own tests write, and the words that matter in them."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tests.redaction_set import labelled
from tests.strategies import BROKE, WORKED, document, json_answer, json_round, json_user

_RESULTS = (
    WORKED,
    BROKE,
    '{"output": "cat: x: Permission denied", "exit_code": 1, "error": null}',
    '{"output": "Traceback (most recent call last):\\n  File \\"a.py\\", line 1\\nKeyError: \'a\'", "exit_code": 1}',
    '{"error": "Blocked", "guardrail": {"action": "block"}}',
    '{"success": false, "error": "File not found: a"}\n\n[Tool loop warning: same_tool_failure_warning; count=3]',
    '<untrusted_tool_result source="web">\n{"error": "timed out"}\n</untrusted_tool_result>',
    "[Tool execution cancelled — x was skipped due to user interrupt]",
    "Error: Invalid JSON arguments.",
    '{"results": [{"status": "failed"}]}',
)
_COMMANDS = (
    "cd /srv && FOO=1 sudo -u kim timeout 5 git push origin main 2>&1 | tail -n 3",
    "cat <<'EOF' > a.py\nprint(1)\nEOF\npython3 -m pytest -q tests; echo $?",
    "for f in *.py; do bash -c \"ruff check '$f'\"; done",
)
_SECRETS = 40


def seeds() -> Iterator[bytes]:
    """Whole session files, one for each shape that we know."""
    yield document()
    yield document([json_user("Größe 漢字"), json_answer()])
    for result in _RESULTS:
        yield document([json_user(), *json_round(result), *json_round(result, call_id="b"), json_answer()])
    for command in _COMMANDS:
        turns = json_round(BROKE)
        turns[0]["tool_calls"][0]["function"]["arguments"] = json.dumps({"command": command})
        yield document([json_user(command), *turns, json_answer("Could not do it. Shall I go on?")])
    yield document([json_user([{"type": "text", "text": "look"}, {"type": "image_url"}]), json_answer("")])
    yield json.dumps({"session_id": "old", "conversations": list(_sharegpt())}).encode()
    for sample in list(labelled(rounds=1))[:: 1500 // _SECRETS]:
        yield document([json_user(sample.text), *json_round(json.dumps({"error": sample.text})), json_answer()])


def words() -> Iterator[str]:
    """Keys and phrases that random bytes would take long to hit upon."""
    yield from ("session_id", "messages", "conversations", "role", "user", "assistant", "tool", "content", "tool_calls")
    yield from ("function", "arguments", "name", "tool_call_id", "finish_reason", "session_start", "last_updated")
    yield from ("exit_code", "error", "success", "status", "exit_code_meaning", "guardrail", "output", "command")
    yield from ("Traceback (most recent call last)", "Caused by: ", "error: ", "[CONTEXT COMPACTION", "<tool_call>")
    yield from (
        "password=",
        "://a:b@",
        "-----BEGIN PRIVATE KEY-----",
        "eyJhbGciO",
        "1e999",
        "\\ud83d",
        "\\u0000",
        "null",
    )


def _sharegpt() -> Iterator[dict[str, str]]:
    yield {"from": "human", "value": "Fix it"}
    yield {"from": "gpt", "value": '<think>x</think><tool_call>{"name": "terminal", "arguments": {}}</tool_call>'}
    yield {"from": "tool", "value": '<tool_response>{"name": "terminal", "content": {"exit_code": 1}}</tool_response>'}
    yield {"from": "gpt", "value": "Done."}
