"""Values that stand in JavaScript: literals, variables that are literals, and texts that are put together of them."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from itertools import accumulate
from typing import Final

from grader_daemon.sources.codex.script_tokens import END, Token, unescaped

_DEEPEST = 20
_MOST_REPEATED = 1_000_000
"""Characters that variables and loops may add by being used again, so that no short code becomes a long text."""

_HOLE = re.compile(r"\$\{\s*([A-Za-z_$][\w$]*)\s*\}")
_WORDS: Final = {"true": True, "false": False, "null": None, "undefined": None}
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


class NotRead(Exception):  # noqa: N818  it is no error: the code makes the value when it runs
    """A value that does not stand in the code."""


class ValueReader:
    """Reads values from tokens.

    tokens: of the code.
    at: the place of the next one.
    variables: those whose value is known, with the characters that each use adds.
    room: how many characters variables and loops may still add.
    """

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.at = 0
        self.room = _MOST_REPEATED
        self.variables: dict[str, tuple[object, int]] = {}
        self._lengths = list(accumulate((len(token.text) for token in tokens), initial=0))

    def length(self, start: int, end: int) -> int:
        """Return how many characters the code has between two places."""
        return self._lengths[end] - self._lengths[start]

    def learn(self, name: str, value: object, size: int) -> None:
        """Keep the value of a variable, with the characters that each use of it adds."""
        self.variables[name] = value, size

    def forget(self, *names: str) -> None:
        """Drop variables whose value is not known from here on."""
        for name in names:
            self.variables.pop(name, None)

    def value(self, depth: int = 0) -> object:
        """Read the value here.

        Raises:
            NotRead: it does not stand in the code.
        """
        if depth > _DEEPEST:
            raise NotRead
        value = self._joined(self._simple(depth))
        if not (isinstance(value, str) and self.peek().text == "+"):
            return value
        texts = [value]
        while self.reads("+"):
            more = self._joined(self._simple(depth))
            if not isinstance(more, str):
                raise NotRead
            texts.append(more)
        return "".join(texts)

    def reads(self, *texts: str | None) -> bool:
        """Go behind these tokens if they stand here; None is any name."""
        for offset, text in enumerate(texts):
            token = self.peek(offset)
            if (token.kind != "name") if text is None else (token.text != text):
                return False
        self.at += len(texts)
        return True

    def reads_any(self, texts: AbstractSet[str]) -> bool:
        """Go behind the token here if it is one of these."""
        return self.peek().text in texts and self.reads(self.peek().text)

    def peek(self, offset: int = 0) -> Token:
        """Return a token ahead."""
        place = self.at + offset
        return self.tokens[place] if place < len(self.tokens) else END

    def _simple(self, depth: int) -> object:
        if self.reads("String", ".", "raw"):
            return self._raw()
        token = self.peek()
        match token.kind, token.text:
            case "string", text:
                value: object = unescaped(text[1:-1])
            case "template", text:
                value = self._filled(text[1:-1])
            case "number", text:
                value = _number(text)
            case "name", text:
                value = _WORDS[text] if text in _WORDS else self._used(text)
            case _, "{":
                return self._object(depth)
            case _, "[":
                return self._list(depth)
            case _:
                raise NotRead
        self.at += 1
        return value

    def _used(self, name: str) -> object:
        """Return the value of a variable.

        Raises:
            NotRead: there is none, or variables were used too much.
        """
        value, size = self.variables.get(name, (None, _MOST_REPEATED + 1))
        if size > self.room:
            raise NotRead
        self.room -= size
        return value

    def _raw(self) -> str:
        token = self.peek()
        if token.kind != "template" or "${" in token.text:
            raise NotRead
        self.at += 1
        return token.text[1:-1]

    def _filled(self, text: str) -> str:
        """Return the text of a template with its variables filled in.

        What else stands in it is kept as it is written: most of a command is worth more than none.
        """
        return unescaped(_HOLE.sub(self._filling, text))

    def _filling(self, hole: re.Match[str]) -> str:
        try:
            value = self._used(hole[1])
        except NotRead:
            return hole[0]
        return value.replace("\\", "\\\\") if isinstance(value, str) else hole[0]

    def _joined(self, value: object) -> object:
        """Return the text of a list whose lines are joined behind it; any other value as it is."""
        if not (isinstance(value, list) and self.reads(".", "join", "(")):
            return value
        sign = self.peek()
        self.at += 1
        if sign.kind != "string" or not self.reads(")") or not all(isinstance(each, str) for each in value):
            raise NotRead
        return unescaped(sign.text[1:-1]).join(value)

    def _list(self, depth: int) -> list[object]:
        self.at += 1
        values: list[object] = []
        while not self.reads("]"):
            values.append(self.value(depth + 1))
            if not self.reads(",") and self.peek().text != "]":
                raise NotRead
        return values

    def _object(self, depth: int) -> dict[str, object]:
        """Read an object; a value that does not stand in the code is left out of it."""
        self.at += 1
        values: dict[str, object] = {}
        while not self.reads("}"):
            if self.reads(".", ".", "."):
                self._pass_over()
                self.reads(",")
                continue
            key = self._key()
            try:
                value = self.value(depth + 1) if self.reads(":") else self._used(key)
                is_whole = self.peek().text in (",", "}")
            except NotRead:
                is_whole = False
            if is_whole:
                values[key] = value
            else:
                self._pass_over()
            if not self.reads(",") and self.peek().text != "}":
                raise NotRead
        return values

    def _key(self) -> str:
        token = self.peek()
        if token.kind not in ("name", "string"):
            raise NotRead
        self.at += 1
        return token.text if token.kind == "name" else unescaped(token.text[1:-1])

    def _pass_over(self) -> None:
        """Go to the end of the value here: a comma, or the sign that closes what it stands in."""
        depth = 0
        while self.peek() is not END:
            text = self.peek().text
            if depth == 0 and (text == "," or text in _CLOSING):
                return
            depth += (text in _OPENING) - (text in _CLOSING)
            self.at += 1


def _number(text: str) -> object:
    try:
        return int(text.replace("_", ""))
    except ValueError:
        raise NotRead from None
