"""The part of a session that features are made of: the request, the last messages of each kind, and their numbers.

`RecentMessages` notes messages as the analyzer passes them and forgets all but the last ones, so that a session of any
length costs the same. `SessionWindow` is what they come to: each text is read once here, and only at its ends, as
bytes: translating and splitting them is one call each, and a session has only microseconds for all its features.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import msgspec

from grader_daemon.analysis.session_state import LastWord
from grader_daemon.analysis.tool_calls import CallView, Purpose
from grader_daemon.domain.analysis import CallStatus, Failure
from grader_daemon.domain.claims import Claim
from grader_daemon.domain.people import PersonSignal
from grader_daemon.domain.session import Message

_MOST_ANSWERS = 5
_MOST_CALLS = 12
_MOST_RESULTS = 8
_MOST_STEPS = 24
_MOST_PEOPLE = 4
_ANSWER_REACH = 600
_REQUEST_REACH = 500
_RESULT_REACH = 120
LATE_RESULT_REACH: Final = 400
LATE_RESULTS: Final = 3
"""Number of late results: so many characters are read from each end of them; less of those before."""

_ARGUMENTS_REACH = 400
_SAID_REACH = 200
_CALL_REACH = 200
_READ_CALLS = 6
_FILE_WORDS = frozenset(
    b"file files directory directories repository repo folder server install script codebase docker".split()
    + b"py json csv txt html yaml yml toml md sql js ts cpp rs jar zip tar gz conf log".split()
)
_KEPT = b"0123456789_abcdefghijklmnopqrstuvwxyz"
_BEYOND_ASCII = bytes(range(128, 256))
_TO_LOWER = ord("a") - ord("A")
_PLAIN: Final = bytes(
    code if code in _KEPT + _BEYOND_ASCII else (code + _TO_LOWER if ord("A") <= code <= ord("Z") else ord(" "))
    for code in range(256)
)
_PLAIN_APART: Final = b"\0" + _PLAIN[1:]
"""The same, but NUL stays: it stands between texts that are translated together."""

_FIRST_LETTER = b":"
"""Greater than every digit, less than every letter."""

FRAME: Final = '{"output": "'
"""Beginning of a result that is JSON around the output of a command."""

_OUTPUT_END = '", "'
_TASK_REACH = 1_500
_PATH = re.compile(r"(?:^|[\s`'\"(])[.~]?/\w")


class Step(NamedTuple):
    """A tool call and its result, whole. `forgiven`: a look at what may not be there; it counts as failed, too."""

    call: CallView
    result: str
    status: CallStatus
    forgiven: bool = False

    @property
    def failed(self) -> bool:
        """True if the call failed."""
        return self.status is CallStatus.FAILURE


@dataclass(slots=True)
class RecentMessages:
    """The last messages of each kind, in the order in which they came."""

    answers: deque[Message] = field(default_factory=lambda: deque(maxlen=_MOST_ANSWERS))
    calls: deque[CallView] = field(default_factory=lambda: deque(maxlen=_MOST_CALLS))
    people: deque[str] = field(default_factory=lambda: deque(maxlen=_MOST_PEOPLE))
    steps: deque[Step] = field(default_factory=lambda: deque(maxlen=_MOST_STEPS))
    count_answers: int = 0
    count_results: int = 0
    count_people: int = 0
    said_length: int = 0
    shown_length: int = 0
    person_index: int = -1

    def note_answer(self, message: Message, calls: Sequence[CallView] = ()) -> None:
        """Note a message of the agent, with its calls."""
        self.count_answers += 1
        self.said_length += len(message.text)
        self.answers.append(message)
        if calls:
            self.calls.extend(calls[-_MOST_CALLS:])

    def note_result(self, message: Message, status: CallStatus, call: CallView) -> None:
        """Note a tool result, and the call that it answers."""
        text = message.text
        self.count_results += 1
        self.shown_length += len(text)
        self.steps.append(Step(call, text, status))

    def note_person(self, said: str, index: int = -1) -> None:
        """Note what a person said in the message of this index."""
        self.count_people += 1
        self.person_index = index
        self.people.append(said)

    def forgive(self) -> None:
        """Note that the last result was of a look at what may not be there."""
        self.steps[-1] = self.steps[-1]._replace(forgiven=True)


class RecentResult(msgspec.Struct, frozen=True, gc=False):
    """A tool result: its ends, its words in lower case (as one text, in order, as a set), its length, its outcome.

    A look at what may not be there has worked.
    """

    body: str
    plain: bytes
    tokens: list[bytes]
    words: set[bytes]
    length: int
    status: CallStatus


class Lengths(NamedTuple):
    """Characters of what was asked for at first, of all that the agent said, and of all results."""

    asked: int
    said: int
    shown: int


class SessionWindow(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The part of a session that features look at.

    The lists are in order, the latest last; `answer` is the last text of the agent, `last_said` that of a person, at
    the place `said_at`. Of `calls` are `tools` ("" where the file does not say), the ends of the `arguments` as JSON,
    and `effects`, what they do. `called` holds the words of the last calls' arguments: how they begin, of the last call
    how they end, too. `about_files`: the request speaks of files, folders or machines, or files were written. `task` is
    the beginning of the request, `steps` are the last calls that have a result, `step_effects` what these do. Whole
    sessions are counted in `turns` of the agent, `count_results`, `count_people` and `lengths`.
    """

    end: LastWord
    request: str
    request_words: set[bytes]
    task: str
    answer: str
    answer_plain: bytes
    answer_tokens: list[bytes]
    answer_words: set[bytes]
    said: list[bytes]
    said_words: list[set[bytes]]
    results: list[RecentResult]
    calls: list[CallView]
    tools: list[str]
    arguments: list[str]
    effects: list[Purpose]
    called: list[list[bytes]]
    steps: list[Step]
    step_effects: list[Purpose]
    people: list[bytes]
    people_words: list[set[bytes]]
    last_said: str
    said_at: int
    failures: tuple[Failure, ...]
    claims: tuple[Claim, ...]
    signals: tuple[PersonSignal, ...]
    about_files: bool
    turns: int
    count_results: int
    count_people: int
    lengths: Lengths


def window_of(
    recent: RecentMessages,
    end: LastWord,
    *,
    request: str | None,
    failures: tuple[Failure, ...] = (),
    claims: tuple[Claim, ...] = (),
    signals: tuple[PersonSignal, ...] = (),
) -> SessionWindow:
    """Read the messages that were kept, and put them beside what else is known of the session.

    `end` is what it ends in, `request` the first message of a person; the others are what the analysis found.
    """
    calls, steps = list(recent.calls), list(recent.steps)
    spoken = [text for message in recent.answers if (text := message.text) and not text.isspace()]
    answer = spoken[-1].strip() if spoken else ""
    shown = ends(answer, _ANSWER_REACH).replace("’", "'")
    asked = ends(request or "", _REQUEST_REACH)
    bodies = _bodies([step.result for step in steps[-_MOST_RESULTS:]])
    arguments = [ends(call.text, _ARGUMENTS_REACH) for call in calls]
    effects = [call.effect for call in calls]
    heard = [ends(text, _SAID_REACH) for text in (*spoken, *recent.people)]
    texts = (shown, asked, *heard, *bodies, *_beginnings(calls), *arguments[-1:])
    answer_plain, request_plain, *others = each_as_words(texts)
    said, people, results, called = _parted(others, (len(spoken), len(recent.people), len(bodies)))
    answer_tokens = answer_plain.split()
    answer_words = set(answer_tokens)
    request_words = set(request_plain.split())
    return SessionWindow(
        end=end,
        request=asked,
        request_words=request_words,
        task=(request or "")[:_TASK_REACH],
        answer=shown,
        answer_plain=answer_plain,
        answer_tokens=answer_tokens,
        answer_words=answer_words,
        said=said,
        said_words=[set(text.split()) for text in said],
        results=list(map(_result, steps[-_MOST_RESULTS:], bodies, results)),
        calls=calls,
        tools=[call.tool or "" for call in calls],
        arguments=arguments,
        effects=effects,
        called=[text.split() for text in called],
        steps=steps,
        step_effects=[step.call.effect for step in steps],
        people=people,
        people_words=[set(text.split()) for text in people],
        last_said=heard[-1] if recent.people else "",
        said_at=recent.person_index,
        failures=failures,
        claims=claims,
        signals=signals,
        about_files=_is_about_files(asked, request_words, effects),
        turns=recent.count_answers,
        count_results=recent.count_results,
        count_people=recent.count_people,
        lengths=Lengths(len(request or ""), recent.said_length, recent.shown_length),
    )


def _parted(texts: list[bytes], counts: tuple[int, ...]) -> Iterator[list[bytes]]:
    """Cut a list into parts of so many, and the rest."""
    start = 0
    for count in counts:
        yield texts[start : start + count]
        start += count
    yield texts[start:]


def _is_about_files(request: str, asked: set[bytes], effects: list[Purpose]) -> bool:
    """Return whether this is work on files and machines, as opposed to a question or a conversation."""
    if not _FILE_WORDS.isdisjoint(asked) or Purpose.WRITE in effects:
        return True
    return "/" in request and _PATH.search(request) is not None


def _bodies(results: list[str]) -> list[str]:
    """Return what is read of results: of the last few more than of those before."""
    return [
        *[output(text, _RESULT_REACH) for text in results[:-LATE_RESULTS]],
        *[output(text, LATE_RESULT_REACH) for text in results[-LATE_RESULTS:]],
    ]


def _beginnings(calls: list[CallView]) -> list[str]:
    """Return what is read of the arguments of calls before the last one."""
    return [call.text[:_CALL_REACH] for call in calls[-_READ_CALLS:-1]]


def _result(step: Step, body: str, lowered: bytes) -> RecentResult:
    tokens = lowered.split()
    status = CallStatus.SUCCESS if step.forgiven else step.status
    return RecentResult(body, lowered, tokens, set(tokens), len(step.result), status)


def ends(text: str, reach: int) -> str:
    """Return a text without its middle: at most `reach` characters from each end."""
    return text if len(text) <= 2 * reach else f"{text[:reach]} {text[-reach:]}"


def output(text: str, reach: int) -> str:
    """Return the ends of a tool result; of one that is JSON around the output of a command, those of the output."""
    shown = ends(text, reach)
    if not shown.startswith(FRAME):
        return shown
    shown = shown[len(FRAME) :]
    return shown.rpartition(_OUTPUT_END)[0] or shown


def as_words(text: str) -> bytes:
    """Return the words of a text in lower case with spaces between them; apostrophes are left out ("cant")."""
    return text.encode("utf-8", "replace").translate(_PLAIN, b"'")


def each_as_words(texts: Sequence[str]) -> list[bytes]:
    """Return the words of each of some texts as `as_words` does, in one pass over all of them."""
    found = "\0".join(texts).encode("utf-8", "replace").translate(_PLAIN_APART, b"'").split(b"\0")
    return found if len(found) == len(texts) else list(map(as_words, texts))


def numbers(found: set[bytes]) -> set[bytes]:
    """Return those of the words that begin with a digit."""
    return {word for word in found if word < _FIRST_LETTER}


def not_in(words: set[bytes], results: Iterable[RecentResult]) -> set[bytes]:
    """Return those of the words that none of some results has."""
    for result in results:
        words = words - result.words
    return words
