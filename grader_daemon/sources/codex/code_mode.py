"""Codex's code mode: calls of tools that stand in JavaScript, the argument of its one tool ``exec``.

The code is read, never run: tokens from left to right. A value counts where it stands in the code as a literal, or
under the name of a variable that is one. One that the code would have to make is left out. Of a loop over a list that
stands in the code, each turn counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final, NamedTuple

from grader_daemon.sources.codex.script_tokens import Token, closings_of, tokens_of
from grader_daemon.sources.codex.script_values import NotRead, ValueReader

TOOL: Final = "exec"
"""Name of the tool that is called with code."""

PATCH: Final = "apply_patch"

_LONGEST = 1_000_000
_MOST_CALLS = 100
_DEEPEST = 5
_COST_OF_TOKEN = 20
"""Characters that reading a token once more counts as; a loop of many turns is read once, without its values."""

_DECLARES = frozenset({"const", "let", "var"})
_CHANGES = frozenset({"push", "unshift", "splice", "pop", "shift", "reverse", "sort", "fill"})
"""Methods after which a list is another one."""

_BEGINS_LOOP = frozenset({"for", "."})
_GO_THROUGH = frozenset({"map", "forEach", "flatMap"})


class ScriptCall(NamedTuple):
    """One call of a tool in the code, with its arguments as far as they are known."""

    tool: str
    arguments: dict[str, object]


class _Pattern(NamedTuple):
    """The name of a loop for the value of each turn, or its names for parts of it (`opening` is [ or {)."""

    opening: str
    names: tuple[str, ...]

    def parts(self, value: object) -> dict[str, object]:
        if not self.opening:
            return {} if value is None else {self.names[0]: value}
        if self.opening == "[" and isinstance(value, list):
            return dict(zip(self.names, value, strict=False))
        if self.opening == "{" and isinstance(value, dict):
            return {name: value[name] for name in self.names if name in value}
        return {}


class _Loop(NamedTuple):
    """The place of the body of a loop, and the list that it goes over; None where it is not known."""

    pattern: _Pattern
    values: object
    start: int
    end: int


def calls_in(code: str) -> list[ScriptCall]:
    """Return the calls of tools in their order; none where the code is not understood, too long, or calls too many."""
    tokens = tokens_of(code) if "tools" in code and len(code) <= _LONGEST else None
    if not tokens:
        return []
    calls = list(islice(_Reader(tokens).calls(len(tokens), 0), _MOST_CALLS + 1))
    return calls if len(calls) <= _MOST_CALLS else []


class _Reader(ValueReader):
    """Reader of the tokens of one code."""

    def __init__(self, tokens: list[Token]) -> None:
        super().__init__(tokens)
        self._closings = closings_of(tokens)
        self._openings = {closing: opening for opening, closing in self._closings.items()}

    def calls(self, end: int, depth: int) -> Iterator[ScriptCall]:
        """Yield each ``tools.NAME(…)`` up to a place, and learn the variables before it."""
        while self.at < end:
            text = self.tokens[self.at].text
            loop = self._loop() if depth < _DEEPEST and text in _BEGINS_LOOP else None
            if loop is not None:
                yield from self._turns(loop, depth)
            elif text == "tools" and self.reads("tools", ".", None, "("):
                yield self._call(self.tokens[self.at - 2].text)
            else:
                self.at += 1
                if text in _DECLARES:
                    self._learn()
                elif text in self.variables:
                    self._forget_changed(text)

    def _learn(self) -> None:
        """Learn the variables that are declared here, one after the other."""
        while self.reads(None, "="):
            name = self.tokens[self.at - 2].text
            self.forget(name)
            start, room = self.at, self.room
            try:
                value = self.value()
            except NotRead:
                return
            if self.peek().text in (".", "[", "(", "?", "+"):
                return
            self.learn(name, value, self.length(start, self.at) + room - self.room)
            self.reads(",")

    def _forget_changed(self, name: str) -> None:
        """Forget a variable that is given another value here, or whose name stands for something else from here on."""
        sign, second, third, fourth = (self.peek(offset).text for offset in range(4))
        is_given = sign == "of" or (sign == "=" and second != "=") or (sign in ("+", "-") and second == "=")
        is_changed = sign == "." and (second in _CHANGES or (third == "=" and fourth != "="))
        if is_given or is_changed:
            self.forget(name)

    def _call(self, tool: str) -> ScriptCall:
        value = self._value_or_none()
        if self.peek().text not in (")", ","):
            return ScriptCall(tool, {})
        if isinstance(value, dict):
            return ScriptCall(tool, value)
        return ScriptCall(tool, {} if value is None else {"input": value})

    def _value_or_none(self) -> object:
        try:
            return self.value()
        except NotRead:
            return None

    def _loop(self) -> _Loop | None:
        if self.peek().text == "for":
            return self._for()
        if self.peek(1).text not in _GO_THROUGH or self.peek(2).text != "(":
            return None
        behind = self.at + 3
        self.at = self._openings.get(self.at - 1, self.at - 1)
        values = self._value_or_none()
        is_whole, self.at = self.at == behind - 3, behind
        return self._mapped(values if is_whole else None, self._closing_of(behind - 1))

    def _for(self) -> _Loop | None:
        """Read ``for (const NAME of LIST) {``."""
        end = self._closing_of(self.at + 1)
        if not (self.reads("for", "(") and self.reads_any(_DECLARES)):
            return None
        pattern = self._pattern()
        if pattern is None or not self.reads("of"):
            return None
        self.forget(*pattern.names)
        values = self._value_or_none() if end < len(self.tokens) else None
        if self.at != end or not self.reads(")", "{"):
            return None
        return _Loop(pattern, values, self.at, self._closing_of(self.at - 1))

    def _mapped(self, values: object, end: int) -> _Loop | None:
        """Read ``NAME =>``, from behind ``LIST.map(``."""
        self.reads("async")
        is_bracketed = self.reads("(")
        pattern = self._pattern()
        while is_bracketed and self.reads(",", None):
            self.forget(self.tokens[self.at - 1].text)
        if pattern is None or (is_bracketed and not self.reads(")")) or not self.reads("=", ">"):
            return None
        return _Loop(pattern, values, self.at, end)

    def _turns(self, loop: _Loop, depth: int) -> Iterator[ScriptCall]:
        turns = loop.values if isinstance(loop.values, list) and loop.values else [None]
        cost = self.length(loop.start, loop.end) + _COST_OF_TOKEN * (loop.end - loop.start + 1)
        if cost * (len(turns) - 1) > self.room:
            turns = [None]
        self.room -= cost * (len(turns) - 1)
        for turn in turns:
            self.forget(*loop.pattern.names)
            for name, value in loop.pattern.parts(turn).items():
                self.learn(name, value, len(str(value)))
            self.at = loop.start
            yield from self.calls(loop.end, depth + 1)
        self.forget(*loop.pattern.names)

    def _pattern(self) -> _Pattern | None:
        if self.reads(None):
            return _Pattern("", (self.tokens[self.at - 1].text,))
        opening = self.peek().text
        if opening not in ("[", "{"):
            return None
        self.at += 1
        names: list[str] = []
        while self.reads(None):
            names.append(self.tokens[self.at - 1].text)
            self.reads(",")
        return _Pattern(opening, tuple(names)) if self.reads_any({"]", "}"}) else None

    def _closing_of(self, place: int) -> int:
        return self._closings.get(place, len(self.tokens))
