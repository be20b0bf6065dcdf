"""Review: one session to judge, its evidence first; what the grader thinks is said when the person has judged.

The view is in the address: `ask` is a session that is asked about again, `judged` the one that was judged last, and
`passed` those that were skipped. How a session was chosen is signed, because the labels are weighed by it.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Any, Final

from starlette.responses import Response

from grader_daemon.api.review import WEEKLY_QUESTIONS, ReviewItem
from grader_daemon.dashboard.addresses import message_address
from grader_daemon.dashboard.visit import Page, Visit
from grader_daemon.domain.feedback import FeedbackSource, Sampling, automatic
from grader_daemon.errors import InputError
from grader_daemon.reports.numbers import UNKNOWN
from grader_daemon.reports.reliability import trial_words
from grader_daemon.reports.session_words import effect_words, of_five
from grader_daemon.reports.verdicts import effect_of_answer, plain_verdict

_MOST_PASSED: Final = 100
_TOLD_SCORES: Final = frozenset({"task_completed", "response_quality"})
_COMPLETED: Final[Mapping[str, bool | None]] = {"yes": True, "no": False, "": None}
_SEEDS: Final = 1000
_MOST_ANSWERS: Final = 10


def review(visit: Visit) -> Response:
    """Answer with the session to judge next, and what the grader says of the one before."""
    passed = [each for each in visit.query.get("passed", "").split(",") if each][-_MOST_PASSED:]
    reviews, done = visit.grader.review, visit.grader.review.done_this_week()
    item = _asked_again(visit) or reviews.next_item(seed=done * _SEEDS + len(passed), passed=passed)
    return visit.show(
        "review.html",
        item=item,
        done=done,
        wanted=WEEKLY_QUESTIONS,
        passed=",".join(passed),
        skipped=None if item is None else ",".join([*passed, item.stored.grade.session_id][-_MOST_PASSED:]),
        signature=None if item is None else _signature(visit, item.stored.grade.session_id, item.sampled),
        judged=_judged(visit),
        trial=_trial(visit) if done >= WEEKLY_QUESTIONS else None,
    )


def use(visit: Visit) -> Response:
    """Have the grader learn from the labels, and use what it has learned if that is better."""
    visit.grader.calibration.learn()
    return visit.go_to("/review")


def judge(visit: Visit) -> Response:
    """Keep what a person says of a session that was asked about."""
    form = visit.form
    session_id, sampled = form.get("session", ""), form.get("sampled", "")
    if not _is_signed(visit, form.get("signature", ""), session_id, sampled):
        raise InputError("this review form is out of date or came from another site; nothing was saved")
    if form.get("completed") not in ("yes", "no"):
        raise InputError("choose done or not done; nothing was saved")
    if not _was_said(visit, session_id):
        _keep(visit, session_id, source=FeedbackSource.REVIEW, sampled=Sampling(sampled))
    kept = {"passed": form["passed"]} if form.get("passed") else {}
    return visit.go_to("/review", judged=session_id, sampled=sampled, signature=form["signature"], **kept)


def _was_said(visit: Visit, session_id: str) -> bool:
    """Return whether this answer stands already, as after a form that was sent twice."""
    last = visit.grader.labels.of(session_id).last
    said = (_COMPLETED[visit.form["completed"]], visit.form.get("quality", ""))
    return (
        last is not None and last.source is FeedbackSource.REVIEW and (last.completed, str(last.quality or "")) == said
    )


def take_back(visit: Visit) -> Response:
    """Withdraw what was said last in a review, and ask about the same session again."""
    form = visit.form
    session_id = form.get("session", "")
    visit.grader.labels.undo(session_id, source=FeedbackSource.REVIEW)
    return visit.go_to("/review", ask=session_id, sampled=form.get("sampled", ""), signature=form.get("signature", ""))


def label(visit: Visit) -> Response:
    """Keep what a person says of the session that they look at."""
    session_id = visit.path["session_id"]
    _keep(visit, session_id, source=FeedbackSource.LABEL, sampled=None)
    return visit.go_to(message_address(session_id, None))


def unlabel(visit: Visit) -> Response:
    """Withdraw what was said last of the session that they look at."""
    session_id = visit.path["session_id"]
    visit.grader.labels.undo(session_id, source=FeedbackSource.LABEL)
    return visit.go_to(message_address(session_id, None))


def _keep(visit: Visit, session_id: str, *, source: FeedbackSource, sampled: Sampling | None) -> None:
    completed, quality = visit.form.get("completed", ""), visit.form.get("quality", "")
    if completed not in _COMPLETED:
        raise InputError(f"completed must be yes or no, not {completed[:20]!r}; nothing was saved")
    if quality not in ("", *"12345"):
        raise InputError(f"quality must be 1 to 5, not {quality[:20]!r}; nothing was saved")
    visit.grader.labels.add(
        session_id,
        completed=_COMPLETED[completed],
        quality=int(quality) if quality else None,
        note=visit.form.get("note", "").strip() or None,
        source=source,
        sampled=sampled,
    )


def _asked_again(visit: Visit) -> ReviewItem | None:
    session_id, sampled = visit.query.get("ask"), visit.query.get("sampled", "")
    if session_id is None:
        return None
    if not _is_signed(visit, visit.query.get("signature", ""), session_id, sampled):
        raise InputError("the address of this review is incomplete: start at /review")
    return visit.grader.review.item(session_id, Sampling(sampled))


def _judged(visit: Visit) -> dict[str, Any] | None:
    """Return what the grader says of the session that was judged last, and what the person said."""
    session_id = visit.query.get("judged")
    if session_id is None:
        return None
    stored = visit.grader.grades.find(session_id)
    last = visit.grader.labels.of(stored.grade.session_id).last
    if last is None:
        return None
    item = visit.grader.grades.explain(stored.grade.session_id)
    return {
        "grade": stored.grade,
        "said": last,
        "verdict": plain_verdict(automatic(stored.grade)),
        "quality": of_five(stored.grade.automatic_quality or stored.grade.quality) or UNKNOWN,
        "reasons": [
            (effect_words(reason), item.sentences[reason.rule])
            for reason in stored.grade.reasons
            if reason.score in _TOLD_SCORES
        ],
        "effect": effect_of_answer(visit.grader.review.effect(stored.grade.session_id)),
        "sampled": visit.query.get("sampled", ""),
        "signature": visit.query.get("signature", ""),
    }


def _trial(visit: Visit) -> dict[str, Any]:
    """Return what the answers of the week would change, and which of them surprise the grader most."""
    tried = visit.site.label_trial.of(visit.grader.review.newest_label())
    return {
        "tried": tried,
        "words": () if tried.made is None else trial_words(tried.made, tried.agreement_before),
        "answers": visit.grader.review.answers_this_week()[:_MOST_ANSWERS],
    }


def _signature(visit: Visit, session_id: str, sampled: str) -> str:
    return visit.site.access.signed(f"{sampled} {session_id}")


def _is_signed(visit: Visit, signature: str, session_id: str, sampled: str) -> bool:
    return hmac.compare_digest(signature.encode(), _signature(visit, session_id, sampled).encode())


PAGES: Final = (
    Page("/review", review, for_owner=True),
    Page("/review", judge, writes=True),
    Page("/review/use", use, writes=True),
    Page("/review/undo", take_back, writes=True),
    Page("/session/{session_id:path}/label", label, writes=True),
    Page("/session/{session_id:path}/unlabel", unlabel, writes=True),
)
