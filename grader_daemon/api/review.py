"""What a person needs to see to judge a session, and nothing of what the grader thinks of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from grader_daemon.analysis.user_messages.requests import written_by_person
from grader_daemon.api.excerpts import excerpt, passage
from grader_daemon.domain.analysis import FailureKind
from grader_daemon.domain.feedback import Sampling
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.rules import Rules
from grader_daemon.domain.session import ASSISTANT, USER, Message, Session
from grader_daemon.redaction import Redactor, redactor_of
from grader_daemon.storage.records import StoredGrade

THRESHOLD: Final = 0.5
"""The model is least sure of a session with this probability."""
SPANS_DAYS: Final = (7, 28, 366, None)
"""A review asks for a session of the first of these spans that has one to ask for."""
_REQUEST = {"characters": 1200, "lines": 16}
_ANSWER = {"characters": 2400, "lines": 30}
_SHOWN = 8
"""Failures and claims; of more, the last ones are shown."""


class ReviewItem(msgspec.Struct, frozen=True, kw_only=True):
    """A session to be judged: how it was chosen, and the evidence, in lines that a terminal can be given.

    `request` is what was asked for first, `last_request` what a person said last, if that is something else.
    `failures`, `claims` and `signals` are a line each. `sentences` maps the rules of the grade to what they say; they,
    and the grade, are for when the person has judged. `note` says why messages are missing, if they are.
    """

    stored: StoredGrade
    sampled: Sampling
    request: tuple[str, ...]
    last_request: tuple[str, ...]
    answer: tuple[str, ...]
    failures: tuple[str, ...]
    claims: tuple[str, ...]
    signals: tuple[str, ...]
    sentences: dict[str, str]
    note: str | None


def review_item(
    stored: StoredGrade,
    sampled: Sampling,
    *,
    session: Session | None,
    note: str | None,
    rules: Rules,
    sentences: dict[str, str],
) -> ReviewItem:
    """Gather the evidence; `session` is None when its messages cannot be read, `note` says why."""
    grade, redactor = stored.grade, redactor_of(rules.redaction)
    messages = () if session is None else session.messages
    told = (written_by_person(message.text, rules.people) for message in messages if message.role == USER)
    asked = [text for text in told if text]
    first, last = (asked[0], asked[-1]) if asked else (grade.task_summary or "", "")
    return ReviewItem(
        stored=stored,
        sampled=sampled,
        request=passage(first, redactor, **_REQUEST),
        last_request=passage(last, redactor, **_REQUEST) if len(asked) > 1 else (),
        answer=passage(_last_answer(messages), redactor, **_ANSWER),
        failures=tuple(_failures(grade, messages, redactor)),
        claims=tuple(_claims(grade, redactor)),
        signals=tuple(
            f"{signal.kind.replace('_', ' ')}{_said_at(signal.index, messages, redactor)}"
            for signal in grade.signals_from_people[-_SHOWN:]
        ),
        sentences=sentences,
        note=note,
    )


def _last_answer(messages: tuple[Message, ...]) -> str:
    """Give the text that the agent said last."""
    said = (message.text for message in reversed(messages) if message.role == ASSISTANT)
    return next((text for text in said if text.strip()), "")


def _failures(grade: Grade, messages: tuple[Message, ...], redactor: Redactor) -> Iterable[str]:
    for failure in grade.failures[-_SHOWN:]:
        called = excerpt(failure.tool or "a tool", redactor)
        said = _said_at(failure.index, messages, redactor)
        kind = "" if failure.kind is FailureKind.HARMFUL else f", {failure.kind}"
        yield f"{called}: {failure.category.replace('_', ' ')}{kind}{said}"


def _claims(grade: Grade, redactor: Redactor) -> Iterable[str]:
    for claim in grade.claims[-_SHOWN:]:
        subject = "" if claim.subject is None else f" {excerpt(claim.subject, redactor)}"
        shown = ", ".join(str(index) for index in claim.evidence[:_SHOWN])
        evidence = f", see {shown}" if shown else ""
        yield f"{claim.support}: {claim.kind.replace('_', ' ')}{subject} [{claim.index}{evidence}]"


def _said_at(index: int, messages: tuple[Message, ...], redactor: Redactor) -> str:
    """Give the beginning of a message with its index, as the end of a line."""
    return f" [{index}] {excerpt(messages[index].text, redactor)}" if index < len(messages) else f" [{index}]"
