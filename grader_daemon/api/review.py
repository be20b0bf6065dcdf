"""Reviews: which session a person should judge, with what they need to see and nothing of what the grader thinks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import timedelta
from random import Random
from typing import Final

import msgspec

from grader_daemon import bootstrap
from grader_daemon.analysis.user_messages import as_typed, written_by_person
from grader_daemon.api.context import GraderPart
from grader_daemon.api.excerpts import excerpt, failed_excerpt, passage
from grader_daemon.api.explanation import sentences_of
from grader_daemon.api.parts import Scorers
from grader_daemon.domain.analysis import FailureKind
from grader_daemon.domain.calendar import last_days, start_of, week_of
from grader_daemon.domain.feedback import AnswerEffect, Feedback, Sampling, automatic
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.quality import QualityCheck, QualityScorer, as_scorer
from grader_daemon.domain.rollup import Dimension
from grader_daemon.domain.rules import Rules
from grader_daemon.domain.session import ASSISTANT, USER, Message, Session
from grader_daemon.errors import InputError
from grader_daemon.patterns.next_review import choose
from grader_daemon.pipeline.group_completion import completion_of
from grader_daemon.pipeline.save_labels import candidates, is_turn_of_chance, reviews_since
from grader_daemon.redaction import Redactor
from grader_daemon.reports.session_words import KIND_WORDS, NOT_ALLOWED, messages_words, why_words
from grader_daemon.storage.records import StoredGrade
from grader_daemon.wings import part

WEEKLY_QUESTIONS: Final = 5
"""So many a week take a person 90 seconds, and are enough to know within a month how far verdicts hold."""
_THRESHOLD: Final = 0.5
"""The model is least sure of a session with this probability."""
_SPANS_DAYS: Final = (7, 28, 366, None)
"""A review asks for a session of the first of these spans that has one to ask for."""
_EFFECT_DAYS: Final = 28
"""An answer is shown by what it did to the rate of so many days: those of a week are few."""
_REQUEST = {"characters": 1200, "lines": 16}
_ANSWER = {"characters": 2400, "lines": 30}
_WHOLE = {"characters": 200_000, "lines": 10_000}
"""More is no text of a person; its session shows it."""
_SHOWN = 8
"""Failures and claims; of more, the last ones are shown."""


class ReviewItem(msgspec.Struct, frozen=True, kw_only=True):
    """A session to label: how it was chosen, and the evidence, in lines safe for a terminal.

    `request` is what was asked for first, `last_request` what a person said last, if that is something else.
    Of each that was cut, `whole_request`, `whole_last_request` and `whole_answer` hold all; else they are empty.
    `failures`, with the calls that were not allowed, `claims` and `signals` are a line each. `sentences` maps the rules
    of the grade to what they say; they, and the grade, are for when the person has judged. `note` says why messages are
    missing, if they are.
    """

    stored: StoredGrade
    sampled: Sampling
    request: tuple[str, ...]
    last_request: tuple[str, ...]
    whole_request: tuple[str, ...]
    whole_last_request: tuple[str, ...]
    whole_answer: tuple[str, ...]
    answer: tuple[str, ...]
    failures: tuple[str, ...]
    claims: tuple[str, ...]
    signals: tuple[str, ...]
    sentences: dict[str, str]
    note: str | None


class ReviewAnswer(msgspec.Struct, frozen=True):
    """Answer of a person in a review: the session's grade, and whether its task was done."""

    grade: Grade
    completed: bool

    @property
    def surprise(self) -> float:
        """Distance from the grader's probability, 0 to 1; a half if the grader has none."""
        likely = self.grade.p_completed
        return _THRESHOLD if likely is None else abs(self.completed - likely)


class Reviews(GraderPart):
    """Sessions that people, or a scorer, should judge next, and how far they are."""

    def next_item(self, *, seed: int | None = None, passed: Collection[str] = ()) -> ReviewItem | None:
        """Return the next session for a person to label, with its evidence; None if there is none.

        By turns it is one drawn by chance from the finished sessions of the last days that nobody judged, and the one
        that teaches most: hand `sampled` back to `Labels.add`. `passed` are sessions to leave out. The same `seed`
        gives the same session while nothing changes.
        """
        chance, now = Random(seed), self._context.now()  # noqa: S311  a draw, no secret
        store = self._context.store
        disputed = frozenset(store.quality.disagreeing(by=self._context.settings.quality_discrepancy))
        threshold, known_requests = self._threshold(), store.feedback.judged_requests()
        by_chance = is_turn_of_chance(store)
        for days in _SPANS_DAYS:
            found = candidates(store, since=None if days is None else now - timedelta(days=days))
            chosen = choose(
                [candidate for candidate in found if candidate.session_id not in passed],
                by_chance=by_chance,
                threshold=threshold,
                disputed=disputed,
                known_requests=known_requests,
                chance=chance,
            )
            if chosen is not None:
                candidate, sampled = chosen
                return self._item(candidate.session_id, sampled)
        return None

    def item(self, session_id: str, sampled: Sampling) -> ReviewItem:
        """Return one session with its evidence, as `next_item` does, to ask about it again.

        Raises:
            InputError: no session id, or several, begin with it.
        """
        return self._item(session_id, sampled)

    def effect(self, session_id: str) -> AnswerEffect:
        """Return what the label that stands on a session changed, beside what is known without it; its id is whole.

        Raises:
            InputError: there is no such session.
        """
        store, grade = self._context.store, self._context.store.grades.find(session_id).grade
        span, guess = last_days(_EFFECT_DAYS, self._context.today), store.level_guesses.last()
        sums, rate = store.rollups.group(Dimension.OVERALL, "", span), None if guess is None else guess.rate
        return AnswerEffect(
            verdict_before=automatic(grade).outcome,
            verdict=grade.outcome,
            rate_before=completion_of(store, sums, span, guess=rate, without=grade.session_id),
            rate=completion_of(store, sums, span, guess=rate),
            days=_EFFECT_DAYS,
        )

    def done_this_week(self) -> int:
        """Return the number of sessions labelled in reviews since Monday."""
        return len(self._reviews_this_week())

    def answers_this_week(self) -> tuple[ReviewAnswer, ...]:
        """Return what people answered in reviews since Monday, the most surprising for the grader first."""
        grades = self._context.store.grades
        answers = (
            ReviewAnswer(grades.find(last.session_id).grade, last.completed)
            for last in self._reviews_this_week()
            if last.completed is not None
        )
        return tuple(sorted(answers, key=lambda answer: -answer.surprise))

    def newest_label(self) -> int:
        """Return the number of the newest label, which is another one after each answer; 0 without any."""
        return self._context.store.feedback.newest_number()

    def left_this_week(self) -> int:
        """Return how many of the week's five questions are not answered; 0 if fewer sessions are left to ask about."""
        left = WEEKLY_QUESTIONS - self.done_this_week()
        since = self._context.now() - timedelta(days=_EFFECT_DAYS)
        return left if left > 0 and len(candidates(self._context.store, since=since)) >= left else 0

    def check_quality(
        self, scorer: QualityScorer | Callable[[Session, Grade], float] | None = None, *, n: int = 10
    ) -> list[QualityCheck]:
        """Have a scorer judge up to `n` random finished sessions of the last four weeks that it has not judged yet.

        Without a `scorer`, the one that is set is asked; a function is one that gives 1 to 5 for session and grade. Its
        answers are kept beside the grades, under its name, and change none.

        Raises:
            InputError: no scorer is given or set, or what is given is none.
            ScorerUnavailableError: the scorer cannot be asked now; what it said before is kept.
        """
        known: Scorers = part("scorers")
        asked = as_scorer(scorer) if scorer is not None else known.of(self._context.settings)
        if asked is None:
            raise InputError("no scorer is given, and neither quality_command nor quality_judge_url is set")
        checker = known.checker(self._context.settings, self._context.writable, asked, clock=self._context.now)
        return checker.judge(self._context.now(), count=n, budgeted=scorer is None)

    def _threshold(self) -> float:
        """Return the probability from which on the model in force says completed."""
        model = bootstrap.make_policy(self._context.settings, self._context.store).model
        return _THRESHOLD if model is None else model.threshold

    def _reviews_this_week(self) -> list[Feedback]:
        """Return the last answer on each session that was judged in reviews since Monday."""
        monday = week_of(self._context.today).first
        return reviews_since(self._context.store, start_of(monday, self._context.settings.zone))

    def _item(self, session_id: str, sampled: Sampling) -> ReviewItem:
        stored = self._context.store.grades.find(session_id)
        session, note = self._context.session_of(stored)
        return review_item(
            stored,
            sampled,
            session=session,
            note=note,
            rules=self._context.rules,
            redactor=self._context.redactor,
            sentences=sentences_of(stored.grade.reasons),
        )


def review_item(
    stored: StoredGrade,
    sampled: Sampling,
    *,
    session: Session | None,
    note: str | None,
    rules: Rules,
    redactor: Redactor,
    sentences: dict[str, str],
) -> ReviewItem:
    """Gather the evidence; `session` is None when its messages cannot be read, `note` says why."""
    grade = stored.grade
    messages = () if session is None else session.messages
    told = (written_by_person(as_typed(message.text), rules.people) for message in messages if message.role == USER)
    asked = [text for text in told if text]
    first, last = (asked[0], asked[-1]) if asked else (grade.task_summary or "", "")
    answer = _last_answer(messages)
    return ReviewItem(
        stored=stored,
        sampled=sampled,
        request=passage(first, redactor, **_REQUEST),
        last_request=passage(last, redactor, **_REQUEST) if len(asked) > 1 else (),
        whole_request=_whole(first, redactor, **_REQUEST),
        whole_last_request=_whole(last, redactor, **_REQUEST) if len(asked) > 1 else (),
        answer=passage(answer, redactor, **_ANSWER),
        whole_answer=_whole(answer, redactor, **_ANSWER),
        failures=(
            *_failures(grade, messages, redactor),
            *_refused(() if session is None else session.refused, messages, redactor),
        ),
        claims=tuple(_claims(grade, redactor)),
        signals=tuple(
            f"{signal.kind.replace('_', ' ')}{_said_at(signal.index, messages, redactor)}"
            for signal in grade.signals_from_people[-_SHOWN:]
        ),
        sentences=sentences,
        note=note,
    )


def _whole(text: str, redactor: Redactor, *, characters: int, lines: int) -> tuple[str, ...]:
    """Return all of a text of which a passage of so much shows a part; nothing if it shows all."""
    whole = passage(text, redactor, **_WHOLE)
    return () if whole == passage(text, redactor, characters=characters, lines=lines) else whole


def _last_answer(messages: tuple[Message, ...]) -> str:
    """Return the text that the agent said last."""
    said = (message.text for message in reversed(messages) if message.role == ASSISTANT)
    return next((text for text in said if text.strip()), "")


def _failures(grade: Grade, messages: tuple[Message, ...], redactor: Redactor) -> Iterable[str]:
    for failure in grade.failures[-_SHOWN:]:
        called = excerpt(failure.tool or "a tool", redactor)
        said = _said_at(failure.index, messages, redactor, quote=failed_excerpt)
        kind = "" if failure.kind is FailureKind.HARMFUL else f", {KIND_WORDS[failure.kind]}"
        yield f"{called}: {failure.words}{kind}{said}"


def _refused(indexes: Sequence[int], messages: tuple[Message, ...], redactor: Redactor) -> Iterable[str]:
    for index in indexes[-_SHOWN:]:
        yield f"{NOT_ALLOWED}{_said_at(index, messages, redactor)}"


def _claims(grade: Grade, redactor: Redactor) -> Iterable[str]:
    for claim in grade.claims[-_SHOWN:]:
        subject = "" if claim.subject is None else f" {excerpt(claim.subject, redactor)}"
        evidence = f", see {messages_words(claim.evidence[:_SHOWN])}" if claim.evidence else ""
        why = why_words(claim)
        reason = f", {why}" if why else ""
        where = f"({messages_words([claim.index])}{evidence})"
        yield f"{claim.support}: {claim.kind.replace('_', ' ')}{subject}{reason} {where}"


def _said_at(
    index: int,
    messages: tuple[Message, ...],
    redactor: Redactor,
    *,
    quote: Callable[[str, Redactor], str] = excerpt,
) -> str:
    """Return a quote of a message with its index, as the end of a line."""
    where = f" ({messages_words([index])})"
    return f"{where}: {quote(messages[index].text, redactor)}" if index < len(messages) else where
