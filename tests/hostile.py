"""Session files that nobody would write by accident, each kind at any size.

A kind is a function from a size to about so many bytes of a file. They are read in time and memory that grow with the
size and no faster; what fuzzing and property tests found is among them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
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


REPORTS = (
    *(
        '"message": "',
        "'message': \"",
        "'error': '",
        '"output": "\\',
        '"error": {',
        '\\"',
        "\\\\",
        "\\u00",
        "\\n",
        '\\"message\\": \\"',
    ),
    *("<h1>", "<title>a", '{"a":"', '[{"type": "text", "text": "', '"exit_code": ', "}\n{", '"}'),
)
"""Pieces of what tools report, which ends anywhere."""


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
        *((_output, REPORTS), (_plain, REPORTS), (_broken, REPORTS)),
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

# -- files cut short ---------------------------------------------------------------------------------------------------

_BEFORE = {
    "outside": b"",
    "in-a-list": b'{"messages": [',
    "in-a-key": b'{"',
    "after-a-key": b'{"messages"',
    "in-a-text": b'{"messages": [{"role": "user", "content": "',
    "after-a-text": b'{"messages": [{"role": "user", "content": ""',
    "after-a-backslash": b'{"messages": [{"role": "user", "content": "\\',
    "in-an-escape": b'{"messages": [{"role": "user", "content": "\\u00',
    "in-a-surrogate-pair": b'{"messages": [{"role": "user", "content": "\\ud83d\\u',
    "in-a-character": b'{"messages": [{"role": "user", "content": "\xe6\xbc',
    "in-a-number": b'{"messages": [{"role": 1',
    "in-a-word": b'{"messages": [{"role": nul',
}
"""Where a reader of JSON stands when the rest comes."""

_REST = (
    *(
        b'"',
        b'\\"',
        b"\\\\",
        b"\\",
        b"\\u0041",
        b"\\u",
        b"\\ud83d",
        b'""',
        b'"a',
        b'"\\"',
        b'"\\"a"',
        b'","',
        b'":"',
        b"'",
    ),
    *(b",", b"[", b"]", b"{", b'{"a":', b"[[]", b":", b" ", b"0", b"1e", b"\xe6\xbc\xa2", b"\xe6", b"\0", b"\n"),
)


CUT_AT = tuple(_BEFORE)


def cuts(place: str) -> Iterator[tuple[str, Kind]]:
    """Yield files that stop somewhere: each piece again and again from a place, and no end."""
    return ((f"{place}-{piece!a}", _from(_BEFORE[place], piece)) for piece in _REST)


def _from(before: bytes, piece: bytes) -> Kind:
    return lambda size: before + piece * (size // len(piece))


# -- names -------------------------------------------------------------------------------------------------------------

EVIL = "evil\x1b[31m\x1b]0;title\x07\u202e\x9b2J\r\x08\u2066"
"""What a terminal would obey: colours, a title, a reversed line, a cleared screen."""


def write_evil_sessions(folder: Path) -> None:
    """Write two sessions and a file that is none, with `EVIL` in every text and name."""
    folder.mkdir(parents=True)
    denied = json.dumps({"error": f"Permission denied: {EVIL}"})
    talk = [json_user(EVIL), *json_round(denied, tool=EVIL, call_id=EVIL), json_answer(f"I could not do it. {EVIL}")]
    answered = [json_user(), {"role": EVIL, "content": EVIL}, json_answer()]
    _name(folder, "one").write_bytes(document(talk, session_id=f"one{EVIL}", model=EVIL, platform=EVIL))
    _name(folder, "two").write_bytes(document(answered, session_id=f"two{EVIL}"))
    _name(folder, "bad").write_bytes(b'{"messages": 1}')


def _name(folder: Path, name: str) -> Path:
    return folder / f"session_{name}{EVIL}.json"


# -- secrets -----------------------------------------------------------------------------------------------------------


class Planted:
    """Secrets, each for one place, so that one that turns up tells where it was."""

    def __init__(self) -> None:
        self.by_place: dict[str, str] = {}

    def at(self, place: str) -> str:
        """Give the secret of a place."""
        word = place.title().replace(" ", "") + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
        return self.by_place.setdefault(place, "gh" + f"p_{word[:36]}")

    def in_(self, text: str) -> set[str]:
        """Give the places whose secrets, or most of them, stand in a text."""
        return {place for place, secret in self.by_place.items() if secret[4:24] in text}


def _leaky_call(
    call_id: str, tool: str, arguments: dict[str, str], result: str, planted: Planted
) -> list[dict[str, Any]]:
    made = json_round(result, call_id=call_id, tool=tool)
    made[0] |= {"content": f"calling {planted.at('content of a call')}", "reasoning": planted.at("reasoning")}
    made[0]["tool_calls"][0]["function"]["arguments"] = json.dumps(arguments)
    return made


def leaky_conversation(planted: Planted) -> list[dict[str, Any]]:
    """A session with secrets wherever text goes."""
    at = planted.at
    output = f"remote: denied {at('output')}\nfatal: Authentication failed for {at('last line')}"
    return [
        json_user(f"Fix it with {at('task')}"),
        *_leaky_call(
            f"a{at('call id')}",
            "terminal",
            {"command": f"git push https://x:{at('command')}@host/x"},
            json.dumps({"output": output, "exit_code": 128, "error": None}),
            planted,
        ),
        *_leaky_call(
            "b", at("tool"), {"x": at("argument")}, json.dumps({"error": f"bad key {at('error field')}"}), planted
        ),
        *_leaky_call(
            "c", "terminal", {"command": f"{at('program')} push"}, f"Error: {at('plain result')} denied", planted
        ),
        *_leaky_call("d", "web", {"url": "x"}, json.dumps({"success": False, "message": at("message")}), planted),
        *_leaky_call("e", "terminal", {"command": "ls"}, json.dumps({"output": "fine", "exit_code": 0}), planted),
        {"role": at("role"), "content": "x"},
        json_answer(f"I could not do it with {at('answer')}, see https://u:{at('address')}@host/"),
    ]
