"""A session: the conversation as it was, and beside it what the grade found in it and why it is what it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from starlette.responses import PlainTextResponse, Response

from grader_daemon.api.bug_report import bug_report
from grader_daemon.api.context import told_beside
from grader_daemon.api.explanation import sentences_of
from grader_daemon.api.grades import StoredGrade
from grader_daemon.api.outline import Outline, OutlinedMessage
from grader_daemon.api.said_and_happened import SaidAndHappened
from grader_daemon.dashboard.addresses import PAGE_MESSAGES, message_address
from grader_daemon.dashboard.conversation import MOST_CALLS, shown_message
from grader_daemon.dashboard.minimap import MapMessage, has_times, marks_of, minimap
from grader_daemon.dashboard.visit import Page, Visit
from grader_daemon.dashboard.words import moment_words
from grader_daemon.domain.claims import AGAINST, Support
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.similar import Similar
from grader_daemon.domain.text import duration_words
from grader_daemon.domain.verdict import GradeVersion
from grader_daemon.errors import InputError, NotFoundError
from grader_daemon.reports.claim_words import SUPPORTS
from grader_daemon.reports.early_words import early_words
from grader_daemon.reports.money import price_words, usd_words, used_words
from grader_daemon.reports.numbers import BAD_ENDINGS, UNKNOWN, estimate_words
from grader_daemon.reports.session_words import (
    after_the_last,
    agent_words,
    asked_words,
    checked_words,
    claim_words,
    effect_words,
    ending_words,
    feature_words,
    flag_words,
    gone_words,
    likely_note,
    likeness_words,
    moved_words,
    of_five,
    reason_words,
    resume_command,
    said_words,
    standing_sentence,
    why_words,
)
from grader_daemon.reports.story import repeated_now, repeated_words, story_of
from grader_daemon.reports.verdicts import outcome_words, shares_words, verdict_words

_LONGEST: Final = 2_000
"""Characters of a text on a page; all of it has a page of its own."""
_SHORTEST: Final = 100
_PAGE_CHARACTERS: Final = 400_000
"""Where the messages of a page have more of them, so cut, their texts are cut to less."""
_LONGEST_WHOLE: Final = 200_000
_FEW_MESSAGES: Final = 10
"""So few are seen at once, and the answer among them."""
_MOST_DIGITS: Final = 12
_MOST_FAILURES: Final = 12
_MOST_CLAIMS: Final = 40
_MOST_STEPS: Final = 40
"""So many steps of the story are folded at most."""
_FIRST_CLAIMS: Final = 3
"""So many claims stand on top of a page, beside what the record holds; those that it bears out are folded."""
_EVIDENCE_LINES: Final = 6
"""Lines of evidence that its box holds: 9 rem of height."""
_MOST_CHILDREN: Final = 20
_FEW_SIMILAR: Final = 5
_SIGNS: Final = {Support.VERIFIED: "=", Support.UNSUPPORTED: "?"} | dict.fromkeys(AGAINST, "≠")


class Pages(NamedTuple):
    """Addresses of other parts of a session; None where there are none."""

    previous: str | None
    next: str | None
    previous_finding: str | None
    next_finding: str | None


def session(visit: Visit) -> Response:
    """Answer with a session, from the message on that is asked for."""
    grades = visit.grader.grades
    session_id, first = visit.path["session_id"], _number(visit.query.get("from", "0"))
    outline, asked = grades.outline(session_id), _only(visit)
    only = None if asked is None else asked[:PAGE_MESSAGES]
    listed = range(first, first + PAGE_MESSAGES) if only is None else only
    longest = _longest([outline.messages[index] for index in listed if index < len(outline.messages)])
    told = grades.transcript(session_id, first=first, count=PAGE_MESSAGES, only=only, longest=longest)
    grade = told.stored.grade
    shown = range(first, first + len(told.messages)) if only is None else range(0)
    at = partial(_address, shown)
    mapped = mapped_messages(outline, grade)
    has_answer = outline.answer is not None and told.total > _FEW_MESSAGES
    return visit.show(
        "session.html",
        grade=grade,
        note=told.note,
        total=told.total,
        shown=shown,
        is_part=only is not None,
        find=visit.query.get("find", ""),
        part_words="" if asked is None else _part_words(visit, len(asked), told.total),
        head=_head(grade),
        resume=resume_command(grade),
        messages=[shown_message(each, outline) for each in told.messages],
        answer=shown_message(outline.answer, outline) if has_answer and outline.answer else None,
        **_claims(grades.said_and_happened(grade.session_id) if grade.claims else ()),
        story=story_of(grade),
        repeated=_repeated(grade, outline),
        map=minimap(mapped, shown=shown or range(len(mapped)), page=PAGE_MESSAGES, address=at) if mapped else None,
        marks=marks_of(mapped),
        has_times=has_times(mapped),
        children=grades.children(grade.session_id),
        **_similar(grades.similar_to(grade, limit=_FEW_SIMILAR)),
        beside=told_beside(visit.grader.context, grade),
        is_gone=grades.is_gone(grade),
        sentences=sentences_of(grade.reasons),
        effects=grades.effects(grade),
        most_failures=_MOST_FAILURES,
        most_steps=_MOST_STEPS,
        most_children=_MOST_CHILDREN,
        **_words(visit, told.stored),
        reasons=[(score, tuple(found)) for score, found in groupby(grade.reasons, key=lambda each: each.score)],
        pages=_pages(shown, told.total, _found(grade), at),
        at=at,
        whole=partial(_whole, grade.session_id),
    )


def _only(visit: Visit) -> list[int] | None:
    """Return the messages that an address asks for: those with failures, or with words; None for all of them.

    One more than a page holds says that there are more.
    """
    session_id, words = visit.path["session_id"], visit.query.get("find", "").strip()
    if words:
        return visit.grader.grades.messages_with(session_id, words, limit=PAGE_MESSAGES + 1)
    if "only" not in visit.query:
        return None
    found = {failure.index for failure in visit.grader.grades.find(session_id).grade.failures}
    return sorted(found)[: PAGE_MESSAGES + 1]


def _part_words(visit: Visit, found: int, total: int) -> str:
    """Return how many messages of all have what an address asks for; the page shows the first of them."""
    number = f"{PAGE_MESSAGES} or more" if found > PAGE_MESSAGES else str(found)
    what = "these words" if visit.query.get("find", "").strip() else "failures"
    return f"{number} of {total:,} messages with {what}"


def _head(grade: Grade) -> list[str]:
    """Return how long a session took and what it cost, as far as it is known."""
    lasted = None if grade.duration_seconds is None else duration_words(grade.duration_seconds)
    cost = None if grade.cost_usd is None else usd_words(grade.cost_usd)
    return [each for each in (lasted, cost) if each is not None]


def message(visit: Visit) -> Response:
    """Answer with one message, whole."""
    index = _number(visit.path["index"])
    told = visit.grader.grades.transcript(visit.path["session_id"], first=index, count=1, longest=_LONGEST_WHOLE)
    if not told.messages:
        raise NotFoundError(told.note or f"message {index} does not exist")
    grade = told.stored.grade
    return visit.show(
        "session_message.html",
        grade=grade,
        note=told.note,
        total=told.total,
        message=shown_message(told.messages[0], None),
        session=message_address(grade.session_id, index),
    )


def report(visit: Visit) -> Response:
    """Answer with what went wrong, as Markdown that can be copied into an issue."""
    grades, session_id = visit.grader.grades, visit.path["session_id"]
    return PlainTextResponse(bug_report(grades.find(session_id).grade, grades.said_and_happened(session_id)))


PAGES: Final = (
    Page("/session/{session_id:path}/message/{index}", message),
    Page("/session/{session_id:path}/report", report),
    Page("/session/{session_id:path}", session),
)


def mapped_messages(outline: Outline, grade: Grade) -> list[MapMessage]:
    """Return the messages of a session with what its grade found in each."""
    failures = {failure.index: failure.kind for failure in grade.failures}
    claims: dict[int, Support] = {}
    for claim in sorted(grade.claims, key=lambda claim: SUPPORTS.index(claim.support)):
        claims[claim.index] = claim.support
    people = {signal.index for signal in grade.signals_from_people}
    return [
        MapMessage(
            message.role, message.characters, message.seconds, failures.get(index), claims.get(index), index in people
        )
        for index, message in enumerate(outline.messages)
    ]


def _repeated(grade: Grade, outline: Outline) -> dict[str, Any] | None:
    """Return what an open session does over and over, since which message, and for how many seconds if known."""
    failures = repeated_now(grade)
    if not failures:
        return None
    passed = [each.seconds for each in outline.messages[failures[0].index + 1 :]]
    known = [seconds for seconds in passed if seconds is not None]
    return {
        "words": repeated_words(failures),
        "since": failures[0].index,
        "seconds": sum(known) if known and len(known) == len(passed) else None,
    }


def _claims(told: Sequence[SaidAndHappened]) -> dict[str, Any]:
    """Return the claims that stand on top, and those that are folded below them."""
    open_ones = [each for each in told if each.claim.support is not Support.VERIFIED][:_FIRST_CLAIMS]
    folded = [each for each in told if each not in open_ones]
    counts = Counter(each.claim.support.value for each in folded)
    return {
        "claims": open_ones,
        "folded_claims": folded[:_MOST_CLAIMS],
        "folded_words": ", ".join(f"{number} {support}" for support, number in counts.items()),
        "more_claims": max(0, len(folded) - _MOST_CLAIMS),
        "sign_of": _SIGNS.__getitem__,
        "evidence_lines": _EVIDENCE_LINES,
    }


def _similar(found: Similar) -> dict[str, Any]:
    """Return what became of the same request in other sessions, in the words of `search --similar`."""
    return {
        "similar": found,
        "similar_asked": asked_words(found),
        "likeness_words": likeness_words,
        "shares_words": shares_words,
        "outcome_words": outcome_words,
        "bad_endings_words": lambda record: estimate_words(record.ended_badly, BAD_ENDINGS),
    }


def _words(visit: Visit, stored: StoredGrade) -> dict[str, Any]:
    """Return what the side of the page says, in the words of the command line."""
    grade, moment = stored.grade, partial(moment_words, zone=visit.site.settings.zone)
    said, check = visit.grader.labels.of(grade.session_id), visit.grader.grades.quality_check(grade.session_id)
    by_person = {
        name: None if given is None else said_words(given, stored.digest, when=moment(given.given_at))
        for name, given in (("completed", said.completed), ("quality", said.quality))
    }
    early, quality = visit.grader.grades.early(grade), of_five(grade.quality)
    if by_person["quality"] is not None:
        otherwise = of_five(grade.automatic_quality if grade.has_scores else None)
        quality = f"{quality}, {by_person['quality']}; automatically: {otherwise or UNKNOWN}"
    return {
        "verdict": verdict_words(grade, visit.grader.grades.trust(), said=by_person["completed"]),
        "agent": " ".join(filter(None, (agent_words(grade), grade.agent_version))),
        "ending": ending_words(grade),
        "standing": standing_sentence(grade),
        "efficiency": of_five(grade.efficiency),
        "quality": quality,
        "checked": None if check is None else checked_words(check, when=moment(check.checked_at)),
        "remark": None if said.last is None else said.last.note,
        "after_the_last": after_the_last(grade),
        "likely_note": likely_note(grade),
        "early": None if early is None else early_words(early),
        "flags": flag_words(grade),
        "gone": gone_words(grade),
        "tokens": used_words(grade) or "not known",
        "cost": price_words(grade) or "not known",
        "version": str(GradeVersion.read(grade.rules_version)),
        "claim_words": claim_words,
        "why_words": why_words,
        "effect_words": effect_words,
        "reason_words": reason_words,
        "feature_words": feature_words,
        "moved_words": moved_words,
    }


def _longest(messages: Sequence[OutlinedMessage]) -> int:
    """Return with how many characters a text is cut on a page of these messages."""
    cut = sum(min(message.characters, MOST_CALLS * _LONGEST) for message in messages)
    return _LONGEST if cut <= _PAGE_CHARACTERS else max(_SHORTEST, _LONGEST * _PAGE_CHARACTERS // cut)


def _number(given: str) -> int:
    """Return the number of a message that an address asks for.

    Raises:
        InputError: it is none.
    """
    if not (given.isascii() and given.isdigit() and len(given) <= _MOST_DIGITS):
        raise InputError(f"{given[:40]!r} is not the number of a message; numbers start at 0")
    return int(given)


def _address(shown: range, index: int) -> str:
    """Return where a message is, as links of its session have it: on this page, or on the one that holds it."""
    return f"#m{index}" if index in shown else f"?from={index // PAGE_MESSAGES * PAGE_MESSAGES}#m{index}"


def _whole(session_id: str, index: int) -> str:
    return f"/session/{quote(session_id)}/message/{index}"


def _found(grade: Grade) -> list[int]:
    """Return the messages in which something was found."""
    found = {failure.index for failure in grade.failures} | {signal.index for signal in grade.signals_from_people}
    found |= {index for claim in grade.claims for index in (claim.index, *claim.evidence)}
    return sorted(found)


def _pages(shown: range, total: int, found: list[int], at: Callable[[int], str]) -> Pages:
    before = [index for index in found if index < shown.start]
    behind = [index for index in found if shown.stop <= index < total]
    return Pages(
        previous=at(max(0, shown.start - PAGE_MESSAGES)) if shown.start else None,
        next=at(shown.stop) if shown.stop < total else None,
        previous_finding=at(before[-1]) if before else None,
        next_finding=at(behind[0]) if behind else None,
    )
