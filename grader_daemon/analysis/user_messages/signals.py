"""Signals of people about the work: corrections, complaints, thanks, acceptance, the same request again, giving up.

Only the first words of a message are looked at, without what it quotes: people say first what they think, and a log
that is pasted below is no word of theirs. Other harnesses hand the output of programs to the agent in the user's role;
it is told by how it begins. Their nudges ("use this form") come again and again, so only a request that set the agent
to work, or the first one, can be repeated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Final

import msgspec

from grader_daemon.domain.people import ACCEPTING, MOST_SIGNALS, PersonSignal, SignalKind
from grader_daemon.domain.phrases import PhraseIndex, Phrases, ascii_words_of, uncontracted, words_of
from grader_daemon.domain.rules import PeopleRules, SignalRules

_ORDER: Final = (
    SignalKind.GAVE_UP,
    SignalKind.COMPLAINT,
    SignalKind.CORRECTION,
    SignalKind.ACCEPTANCE,
    SignalKind.THANKS,
)
"""Order of kinds in one message, the first counts: "thanks, but it still fails" is a complaint."""

_CUT: Final = 500
"""Number of characters of a message that are searched for a quotation."""

_COMPARED: Final = 1_000
_FEWEST_WORDS: Final = 4
_REMEMBERED: Final = 4
"""Most requests that a message is compared with: the first, and those before it."""

_ADDRESS = re.compile(r"(?:\[[^\]\n]{0,200}+\]\s{0,9}+){1,2}+")
"""Name of a speaker, or of what is answered, as chats put it before a message."""

_QUOTATION = re.compile(r"\"[^\"\n]{0,200}+\"|`[^`\n]{0,200}+`|“[^”\n]{0,200}+”|«[^»\n]{0,200}+»")
_FOREIGN_LINE = re.compile(
    r"^(?:\s{0,9}>| {4}|\t|\[?\d{1,4}[-/:]\d\d|.{0,40}?\b(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL|CRITICAL)\b).*+$",
    re.MULTILINE,
)
"""A quotation, code, or a line of a log."""

_CLAUSE_END = re.compile(r"[.;:!?,()\n\u2013\u2014]")
_SENTENCE_END = re.compile(r"[.!?\n]")
_CLAUSE: Final = 80
_DIGIT = re.compile(r"\d")


class UserMessage(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A person's message, and where it stands.

    `answered` says that the agent had spoken before, `asked` that this answers a question of the agent; `tool_calls`
    counts those before. `skills` were typed as a command, and their texts stood in its place.
    """

    index: int
    text: str
    answered: bool
    asked: bool
    tool_calls: int
    skills: tuple[str, ...] = ()


class _Where(StrEnum):
    """Place that a phrase must stand at to be a signal."""

    ANYWHERE = "anywhere"
    FIRST = "first"
    FIRST_UNASKED = "first unless the agent asked"


class SignalReader:
    """Finds signals under one set of rules; safe to share among threads."""

    def __init__(self, rules: PeopleRules) -> None:
        self._rules = rules
        said = [(kind, rules.signals[kind]) for kind in _ORDER if kind in rules.signals]
        self._phrases = PhraseIndex([phrase for kind, words in said for phrase in _phrases_of(kind, words)])
        self._alone = {uncontracted(text.lower()): kind for kind, words in reversed(said) for text in words.alone}
        self._not_signals = PhraseIndex([(uncontracted(phrase.lower()), None) for phrase in rules.not_signals])
        self._consents = Phrases([(phrase, None) for phrase in rules.consents])
        fillers = "|".join(re.escape(uncontracted(filler.lower())) for filler in rules.fillers) or r"(?!)"
        self._fillers = re.compile(rf"(?:(?:{fillers})(?!\w)[\s,.!:;\u2013\u2014-]{{0,9}}+){{1,4}}+")

    def read(self, messages: Sequence[UserMessage]) -> tuple[PersonSignal, ...]:
        """Return the signals in the messages of a session's people, one at most for each; the last ones."""
        if not messages or not messages[-1].answered:
            return ()
        found = []
        for message, requests in _with_requests(messages):
            kind = self._kind_of(message, requests) if message.answered else None
            if kind is not None:
                found.append(PersonSignal(kind, message.index))
        return tuple(found[-MOST_SIGNALS:])

    def _kind_of(self, message: UserMessage, requests: tuple[str, ...]) -> SignalKind | None:
        text = self._first_words(message.text)
        if not text:
            return None
        kinds = self._kinds_said(text, asked=message.asked)
        if kinds:
            return min(kinds, key=_ORDER.index)
        return SignalKind.REPEATED if self._is_repeated(message.text, requests) else None

    def _kinds_said(self, text: str, *, asked: bool) -> list[SignalKind]:
        """Return the first kind that a phrase tells, and the one that the first clause tells as a whole."""
        words = ascii_words_of(text)
        for pattern, _ in self._not_signals.possible(words):
            text = pattern.sub(" ", text)
        opening = _after(self._fillers, text)
        kinds = [] if asked else self._kinds_alone(opening)
        for pattern, (kind, where) in self._phrases.possible(words):
            if where is _Where.ANYWHERE:
                is_said = self._is_said_in(text, pattern, kind)
            else:
                is_said = pattern.match(opening) is not None and not (asked and where is _Where.FIRST_UNASKED)
                is_said = is_said and not (kind in ACCEPTING and _is_question(opening, 0))
            if is_said:
                return [*kinds, kind]
        return kinds

    def _kinds_alone(self, opening: str) -> list[SignalKind]:
        kind = self._alone.get(_CLAUSE_END.split(opening, maxsplit=1)[0].strip())
        return [] if kind is None or (kind in ACCEPTING and _is_question(opening, 0)) else [kind]

    def _is_said_in(self, text: str, pattern: re.Pattern[str], kind: SignalKind) -> bool:
        for found in pattern.finditer(text):
            is_doubt = kind in ACCEPTING and _is_question(text, found.start())
            if not is_doubt and not self._is_denied(text, found.start()):
                return True
        return False

    def _is_denied(self, text: str, start: int) -> bool:
        """Return whether words before, in the same clause, negate it or make it a condition: "not", "if"."""
        clause = _CLAUSE_END.split(text[max(0, start - _CLAUSE) : start])[-1]
        return not self._rules.deniers.isdisjoint(words_of(clause))

    def _first_words(self, text: str) -> str:
        """Return the beginning as a person says it, in lower case; nothing if it is the output of a program."""
        head = _after(_ADDRESS, text[:_CUT].lstrip())
        if head.startswith(self._rules.output_beginnings):
            return ""
        head = _FOREIGN_LINE.sub("", head.partition("```")[0])
        return uncontracted(_QUOTATION.sub(" ", head).lstrip()[: self._rules.examined_characters].lower())

    def _is_repeated(self, text: str, requests: tuple[str, ...]) -> bool:
        near = [request for request in requests if len(request) < 2 * len(text) < 4 * len(request)]
        if not near or self._consents.begin(text[:_CUT].lower()):
            return False
        words = _words_in(text)
        return len(words) >= _FEWEST_WORDS and any(
            _are_alike(words, _words_in(request), self._rules.similar_words) for request in near
        )


def _with_requests(messages: Sequence[UserMessage]) -> Iterator[tuple[UserMessage, tuple[str, ...]]]:
    """Yield each message with the requests that it may repeat: the first, and the last of those that led to calls."""
    requests: tuple[str, ...] = ()
    before: UserMessage | None = None
    for message in messages:
        if before is not None and (not requests or message.tool_calls > before.tool_calls):
            requests = (*requests[:1], *requests[1:][2 - _REMEMBERED :], before.text)
        yield message, requests
        before = message


def _words_in(text: str) -> frozenset[str]:
    return frozenset(words_of(text[:_COMPARED].lower()))


def _are_alike(words: frozenset[str], others: frozenset[str], least: float) -> bool:
    """Return whether two texts share nearly all of their words. Other numbers make another request."""
    shared = len(words & others)
    if shared < least * (len(words) + len(others) - shared):
        return False
    return not any(_DIGIT.search(word) for word in words ^ others)


def _is_question(text: str, start: int) -> bool:
    end = _SENTENCE_END.search(text, start)
    return end is not None and end.group() == "?"


def _after(beginning: re.Pattern[str], text: str) -> str:
    found = beginning.match(text)
    return text if found is None else text[found.end() :]


def _phrases_of(kind: SignalKind, words: SignalRules) -> Iterator[tuple[str, tuple[SignalKind, _Where]]]:
    for where, phrases in (
        (_Where.ANYWHERE, words.phrases),
        (_Where.FIRST, words.openings),
        (_Where.FIRST_UNASKED, words.unasked),
    ):
        for phrase in phrases:
            yield uncontracted(phrase.lower()), (kind, where)
