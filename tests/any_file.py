"""Hypothesis strategies for whole files: sessions of any shape, and bytes that once were one."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from grader_daemon.domain.limits import LONGEST_NAME
from tests.redaction_set import labelled
from tests.strategies import tool_results

_RAW = "RAW NUMBER "
"""Stands before numbers that `json` would not write."""

_STRANGE_TEXTS = (
    *(
        "",
        " ",
        "\0",
        "\x1b[31mred",
        "\x1b]0;title\x07",
        "\x9b31m",
        "\u202egnp.exe",
        "\u2066\u2069",
        "\ufeff",
        "a\u0300" * 50,
    ),
    *(
        "\r\n",
        "\x85\u2028\u2029",
        "💥" * 20,
        "İstanbul",
        "ﬃ",
        "../../etc/passwd",
        "/dev/zero",
        "$(touch planted)",
        "`touch x`",
    ),
    *(
        "'; DROP TABLE session_grades; --",
        "<script>alert(1)</script>",
        "![x](javascript:1)",
        "| a | b |",
        "[red]loud[/red]",
    ),
    *(
        "{0}",
        "%s%n",
        "%(x)s",
        "{{x}}",
        "null",
        "NaN",
        "-0",
        "1e999",
        "0x10",
        "Traceback (most recent call last):\n  x\nE: y",
    ),
    *(
        "<tool_call>{</tool_call>",
        "</untrusted_tool_result>",
        "[CONTEXT COMPACTION",
        "Review the conversation above and ",
    ),
    *(sample.text for sample in list(labelled(rounds=1))[::97]),
)
hostile_texts = st.one_of(
    st.sampled_from(_STRANGE_TEXTS),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
    st.lists(st.sampled_from(_STRANGE_TEXTS), max_size=6).map("".join),
)
hostile_names = hostile_texts.map(lambda text: text[:LONGEST_NAME])

stamps: st.SearchStrategy[Any] = st.one_of(
    st.datetimes().map(datetime.isoformat),
    st.datetimes(timezones=st.just(UTC)).map(datetime.isoformat),
    st.sampled_from(
        [
            *(
                "0001-01-01T00:00:00+14:00",
                "9999-12-31T23:59:59.999999-14:00",
                "99999-01-01T00:00:00",
                "2026-02-30T00:00:00",
            ),
            *(
                "2026-11-21",
                "20261121T220000Z",
                "2026-W47-6",
                "22:00",
                "now",
                "",
                "-1",
                "2026-11-21T22:00:00+99:99",
                None,
            ),
            *(
                0,
                -1,
                1e300,
                1763762400,
                1763762400123,
                True,
                [],
                {},
                f"{_RAW}1e999",
                "2026-11-21T22:00:00.1234567890123",
            ),
        ]
    ),
)
_numbers = st.one_of(
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([f"{_RAW}{number}" for number in ("1e999", "-0", "-0.0", "1E-999", "9" * 5000, "0.1e1", "2e0")]),
)
_values = st.recursive(
    st.none() | st.booleans() | _numbers | hostile_texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(hostile_texts, inner, max_size=3),
    max_leaves=6,
)


def _written(value: Any) -> str:
    """JSON, with numbers in it that `json` does not know."""
    text = json.dumps(value, ensure_ascii=False)
    for part in text.split(f'"{_RAW}')[1:]:
        number = part.partition('"')[0]
        text = text.replace(f'"{_RAW}{number}"', number, 1)
    return text


reports = st.fixed_dictionaries(
    {},
    optional={
        "output": _values,
        "exit_code": _values,
        "returncode": _values,
        "error": _values,
        "message": _values,
        "success": _values,
        "status": _values | st.sampled_from(["error", "blocked", "running"]),
        "exit_code_meaning": _values | st.just("No matches found (not an error)"),
        "isError": _values,
        "guardrail": _values,
        "results": st.lists(st.fixed_dictionaries({}, optional={"status": _values}), max_size=2),
    },
).map(_written)
"""What tools say about their calls, with anything in each field."""


@st.composite
def _cut_or_followed(draw: st.DrawFn) -> str:
    report = draw(reports)
    way = draw(st.sampled_from(["whole", "cut", "followed", "wrapped"]))
    if way == "cut":
        return report[: draw(st.integers(min_value=0, max_value=len(report)))]
    if way == "followed":
        return f"{report}\n\n{draw(hostile_texts)}"
    return f"<untrusted_tool_result source='x'>\n{report}\n</untrusted_tool_result>" if way == "wrapped" else report


_parts = st.fixed_dictionaries({}, optional={"type": _values, "text": st.none() | hostile_texts}) | hostile_texts
_contents = st.one_of(
    hostile_texts, tool_results, _cut_or_followed(), st.lists(_parts, max_size=3), st.none(), _numbers
)
_arguments = st.one_of(
    st.fixed_dictionaries({}, optional={"command": _values, "cmd": _values, "path": _values}),
    st.fixed_dictionaries({"command": hostile_texts}).map(_written),
    hostile_texts,
)
_calls = st.fixed_dictionaries(
    {},
    optional={
        "id": st.sampled_from(["a", "b", "call_1"]) | hostile_names,
        "type": st.just("function"),
        "function": st.fixed_dictionaries({}, optional={"name": hostile_names, "arguments": _arguments}),
    },
)
_messages = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["user", "assistant", "tool", "tool", "system", ""]) | hostile_names,
        "content": _contents,
    },
    optional={
        "tool_calls": st.none() | st.lists(_calls, max_size=3),
        "finish_reason": st.sampled_from(["stop", "tool_calls", "length", None]) | hostile_names,
        "name": st.none() | hostile_names,
        "tool_name": st.none() | hostile_names,
        "tool_call_id": st.sampled_from(["a", "b", None]) | hostile_names,
        "reasoning": _values,
    },
)
_turns = st.fixed_dictionaries(
    {"from": st.sampled_from(["human", "gpt", "tool"]) | hostile_texts},
    optional={"value": st.none() | hostile_texts | reports.map("<tool_response>{}</tool_response>".format)},
)


@st.composite
def session_files(draw: st.DrawFn) -> bytes:
    """A file that is JSON and has the keys of a session, with anything in them."""
    fields: dict[str, Any] = draw(
        st.fixed_dictionaries(
            {"session_id": hostile_names | hostile_texts},
            optional={
                "model": _values,
                "platform": _values,
                "session_start": stamps,
                "last_updated": stamps,
                "system_prompt": hostile_texts,
                "tools": _values,
            },
        )
    )
    if draw(st.booleans()) or draw(st.booleans()):
        fields["messages"] = draw(st.lists(_messages, max_size=8))
    else:
        fields["conversations"] = draw(st.lists(_turns, max_size=5))
    return _written(fields).encode()


@st.composite
def broken_files(draw: st.DrawFn) -> bytes:
    """A session file after accidents: cut, bits flipped, spliced with another, keys doubled, NULs and a mark put in."""
    content = draw(session_files())
    for _ in range(draw(st.integers(min_value=1, max_value=3))):
        content = draw(_accident(content))
    return content


@st.composite
def _accident(draw: st.DrawFn, content: bytes) -> bytes:
    start = draw(st.integers(min_value=0, max_value=len(content)))
    stop = draw(st.integers(min_value=start, max_value=len(content)))
    match draw(st.sampled_from(["cut", "flip", "splice", "repeat", "key", "nul", "mark", "noise"])):
        case "cut":
            return content[start:] if draw(st.booleans()) else content[:start]
        case "flip" if start < len(content):
            flipped = content[start] ^ (1 << draw(st.integers(min_value=0, max_value=7)))
            return content[:start] + bytes([flipped]) + content[start + 1 :]
        case "splice":
            return content[:start] + draw(session_files())[start:]
        case "repeat":
            return content[:stop] + content[start:stop] * 2 + content[stop:]
        case "key":
            return content.replace(b"{", b'{"messages": [], "messages": null, "role": "tool", ', 1)
        case "nul":
            return content[:start] + bytes(draw(st.integers(min_value=1, max_value=9))) + content[stop:]
        case "mark":
            return b"\xef\xbb\xbf" + content
    return content[:start] + draw(st.binary(max_size=12)) + content[stop:]
