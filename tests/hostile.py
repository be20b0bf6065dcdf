"""Session files that nobody would write by accident, each kind at any size.

A kind is a function from a size to about so many bytes of a file. They are read in time and memory that grow with the
size and no faster; what fuzzing and property tests found is among them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from tests.strategies import document, json_answer, json_round, json_user

Kind = Callable[[int], bytes]

# -- text that makes patterns try again and again ----------------------------------------------------------------------

LINES = (
    *(
        "a",
        "0",
        " ",
        "-",
        "_",
        ".",
        "/",
        "\\",
        "'",
        '"',
        "`",
        "(",
        "[",
        "{",
        "<",
        "=",
        ":",
        "@",
        "\t",
        "\x1b[",
        "é",
        "💥",
    ),
    *(
        "a ",
        "a.",
        "a/",
        "a:",
        "a-",
        "a@",
        "'a",
        "0.",
        "1 ",
        "http://",
        "a@b.",
        "a.py:1:",
        "error: ",
        "E: ",
        "at a (",
        "::1",
    ),
    *(
        "No such file or directory: ",
        "sh: line 1: ",
        "KeyError: ",
        "curl: (6) ",
        "<path> ",
        "<number> a ",
        "2026-11-21T22:00 ",
    ),
    *("exit code 1 ", '"error": "', '"exit_code": 1', "Permission denied", "thread 'a' panicked at ", "choose from "),
)
PARAGRAPHS = (
    *(
        "\n",
        "error\n",
        "error: a\n",
        "Traceback (most recent call last)\nE",
        "Caused by: a\n",
        "E   a\n",
        "a:\n",
        "1\r\n",
    ),
    *(
        "The above exception was the direct cause\n",
        "npm ERR! \n",
        "0 errors\n",
        "FAILED a - ",
        "Traceback (most recent",
    ),
)
COMMANDS = (
    *(
        "a",
        "'a",
        '"a',
        "\\",
        "$(",
        "$((",
        "`a`",
        "a && ",
        "a | ",
        "a; ",
        "<<E\n",
        "<<'E'\n",
        "A=b ",
        "A[0]=",
        "sudo ",
        "# a\n",
    ),
    *(
        "env A=b ",
        "timeout 5 ",
        "bash -c 'a ",
        'bash -c "',
        "python -m ",
        "eval ",
        "2>&1 ",
        "'\\''",
        "\\\n",
        "C:\\",
        "if ",
    ),
)
TAGS = (
    *("<think>", "<tool_call>", "<tool_response>", "<tool_call></think>", "<tool_response>{}", "</tool_call>", "<"),
    *("<tool_call>{}</tool_call>", "<tool_response>{}</tool_response>", '<tool_call>{"arguments": "'),
)
SPEECH = (
    *(
        "fix ",
        "fix the ",
        "clean up ",
        "look the up ",
        "a",
        " ",
        "done ",
        "not done ",
        "n't ",
        "no longer failed ",
        "saved to ",
    ),
    *("```", "https://a.b ", "[CONTEXT COMPACTION", "?", "\u2028", "\u202e", "İ", "word-", "it's "),
)


def _filled(unit: str, size: int) -> str:
    return unit * (size // len(unit) + 1)


def _failing(text: str) -> list[dict[str, Any]]:
    return json_round(json.dumps({"output": text, "exit_code": 1, "error": None}, ensure_ascii=False))


def _session(*turns: dict[str, Any]) -> bytes:
    return document([json_user(), *turns, json_answer()])


def _output(unit: str) -> Kind:
    return lambda size: _session(*_failing(_filled(unit, size)))


def _plain(unit: str) -> Kind:
    return lambda size: _session(*json_round(f"Error: {_filled(unit, size)}"))


def _broken(unit: str) -> Kind:
    return lambda size: _session(*json_round('{"exit_code": 1, "output": "' + _filled(unit, size)))


def _wrapped(unit: str) -> Kind:
    return lambda size: _session(
        *json_round(f"<untrusted_tool_result a>\n{_filled(unit, size)}</untrusted_tool_result>")
    )


def _many_outputs(unit: str) -> Kind:
    def make(size: int) -> bytes:
        line = _filled(unit, 580)[:580]
        return _session(*(turn for number in range(size // 800) for turn in _failing(f"{number} error {line}")))

    return make


def _command(unit: str) -> Kind:
    def make(size: int) -> bytes:
        turns = _failing("x: not found")
        turns[0]["tool_calls"][0]["function"]["arguments"] = json.dumps({"command": _filled(unit, size)})
        return _session(*turns)

    return make


def _broken_command(unit: str) -> Kind:
    def make(size: int) -> bytes:
        turns = _failing("x: not found")
        turns[0]["tool_calls"][0]["function"]["arguments"] = '{"command": "' + _filled(unit, size)
        return _session(*turns)

    return make


def _request(unit: str) -> Kind:
    return lambda size: document([json_user(_filled(unit, size)), json_answer()])


def _answer(unit: str) -> Kind:
    return lambda size: document([json_user(), json_answer(_filled(unit, size))])


def _turn(speaker: str, unit: str) -> Kind:
    def make(size: int) -> bytes:
        turns = [{"from": "human", "value": "Fix it"}, {"from": speaker, "value": _filled(unit, size)}]
        return json.dumps({"session_id": "old", "conversations": turns}).encode()

    return make


def texts() -> Iterator[tuple[str, Kind]]:
    """Yield every kind of one long text, with a name."""
    for place, units in (
        *((_output, (*LINES, *PARAGRAPHS)), (_many_outputs, LINES[::3]), (_plain, PARAGRAPHS), (_broken, LINES[:12])),
        *((_wrapped, ("</", "<", "a</x>")), (_command, COMMANDS), (_broken_command, COMMANDS[:6])),
        *((_request, SPEECH), (_answer, SPEECH)),
    ):
        yield from ((f"{place.__name__.strip('_')}-{unit!a}", place(unit)) for unit in units)
    for speaker in ("gpt", "tool"):
        yield from ((f"{speaker}-{unit}", _turn(speaker, unit)) for unit in TAGS)


# -- structures --------------------------------------------------------------------------------------------------------


def _raw(head: bytes, piece: bytes, tail: bytes) -> Kind:
    """Repeat a piece of JSON, separated by commas."""
    return lambda size: head + piece + (b"," + piece) * (size // (len(piece) + 1)) + tail


def _counted(head: bytes, piece: bytes, tail: bytes) -> Kind:
    """The same with a number in each piece, in the place of its N."""

    def make(size: int) -> bytes:
        pieces = (piece.replace(b"N", b"%07d" % number) for number in range(size // (len(piece) + 7)))
        return head + b",".join(pieces) + tail

    return make


_START = b'{"session_id": "x", "messages": ['
_END = b"]}"
_CALL = b'{"role": "assistant", "tool_calls": [{"id": "N", "function": {"name": "tN", "arguments": "{}"}}]}'
_FAILURE = b'{"role": "tool", "name": "tN", "tool_call_id": "N", "content": "Error: N broke"}'
_IN_CALL = b'{"role": "assistant", "tool_calls": [{"function": {"name": "a", "arguments": {'

STRUCTURES: dict[str, Kind] = {
    "tiny-messages": _raw(_START, b"{}", _END),
    "tiny-answers": _raw(_START, b'{"role":"assistant"}', _END),
    "tiny-results": _raw(_START, b'{"role":"tool","content":"Error:"}', _END),
    "tiny-requests": _raw(_START, b'{"role":"user","content":"?"}', _END),
    "tiny-parts": _raw(_START + b'{"role": "user", "content": [', b"1", b"]}" + _END),
    "empty-parts": _raw(_START + b'{"role": "user", "content": [', b"{}", b"]}" + _END),
    "tiny-calls": _raw(_START + b'{"role": "assistant", "tool_calls": [', b"{}", b"]}" + _END),
    "distinct-tools": _counted(_START, _CALL, _END),
    "distinct-failures": _counted(_START, _CALL + b"," + _FAILURE, _END),
    "failures-without-a-call": _counted(_START, _FAILURE, _END),
    "lists-in-arguments": _raw(_START + _IN_CALL + b'"a": [', b"[]", b"]}}}]}" + _END),
    "objects-in-arguments": _raw(_START + _IN_CALL + b'"a": [', b'{"":0}', b"]}}}]}" + _END),
    "keys-in-arguments": _counted(_START + _IN_CALL, b'"N":0', b"}}}]}" + _END),
    "lists-in-the-model": _raw(b'{"session_id": "x", "model": [', b"[]", b'], "messages": []}'),
    "lists-that-nobody-reads": _raw(b'{"session_id": "x", "tools": [', b"[]", b'], "messages": []}'),
    "the-same-key": _raw(b'{"session_id": "x",', b'"messages":[]', b"}"),
    "lists-in-a-result": _raw(
        _START + b'{"role": "tool", "content": "{\\"exit_code\\": 1, \\"output\\": [', b"[]", b']}"}' + _END
    ),
    "turns": _raw(b'{"session_id": "x", "conversations": [', b"{}", b"]}"),
    "blanks": lambda size: _START + b" " * size + _END,
    "one-number": lambda size: b'{"session_id": "x", "n": ' + b"9" * size + b', "messages": []}',
    "one-number-in-a-message": lambda size: _START + b'{"role": "user", "content": ' + b"9" * size + b"}" + _END,
    "escapes": lambda size: _START + b'{"role": "user", "content": "' + b"\\u0041" * (size // 6) + b'"}' + _END,
    "one-long-id": lambda size: b'{"session_id": "' + b"x" * size + b'", "messages": []}',
    "one-long-role": lambda size: _START + b'{"role": "' + b"r" * size + b'"}' + _END,
    "one-long-tool": lambda size: _START + b'{"role": "tool", "name": "' + b"t" * size + b'"}' + _END,
    "one-long-model": lambda size: b'{"session_id": "x", "model": "' + b"m" * size + b'", "messages": []}',
    "open-lists": lambda size: _START + b"[" * size,
    "open-objects": lambda size: _START + b'{"a":' * (size // 5),
    "deep-content": lambda size: _START + b'{"role": "user", "content": ' + b"[" * size + b"]" * size + b"}" + _END,
    "deep-result": lambda size: document([*json_round("[" * size), *json_round('{"error":' * (size // 9))]),
    "nothing-but-nul": bytes,
    "half-surrogates": lambda size: _START + b'{"role": "user", "content": "' + b"\\ud83d" * (size // 6) + b'"}' + _END,
}
"""What is many, long or deep, by its name."""
