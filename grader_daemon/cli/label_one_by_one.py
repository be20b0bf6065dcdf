"""``label`` alone: sessions to judge, one key each. What the grader thinks is shown when the person has judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from grader_daemon.api.grader import SelfGrader
from grader_daemon.api.grades import GradeFilter
from grader_daemon.api.review import ReviewItem
from grader_daemon.cli import output
from grader_daemon.cli.keys import keys
from grader_daemon.cli.transcript import transcript_lines
from grader_daemon.domain.feedback import FeedbackSource
from grader_daemon.domain.grade import Reason
from grader_daemon.domain.text import clean
from grader_daemon.reports.session_words import ending_words, state_words
from grader_daemon.reports.verdicts import effect_of_answer, plain_verdict

_KEYS = (
    "y done, n not done, 1-5 quality, then y or n; s skip, u undo the last label, t show messages, o show the"
    " file's path, q quit"
)
_ENDS = frozenset({"", "\x04"})
"""What stands for the end of the input: none, Ctrl-D."""
_QUALITIES = frozenset("12345")


def label_one_by_one(grader: SelfGrader, *, limit: int) -> None:
    """Ask about at most so many sessions, and say what was labelled."""
    grader.migrate()
    output.line(f"5 labels a week are enough; you gave {grader.review.done_this_week()} this week in reviews.")
    with keys() as read_key:
        review = _Review(grader, limit, read_key)
        review.run()
    output.line(f"{review.done} labelled now, {grader.review.done_this_week()} this week in reviews.")
    if review.last is not None:
        output.paragraph("", f"To undo the last one: grader-daemon label {output.cell(review.last)} --undo")


class _Review:
    """One sitting: what was judged and passed over in it."""

    def __init__(self, grader: SelfGrader, limit: int, read_key: Callable[[], str]) -> None:
        self._grader = grader
        self._limit = limit
        self._read_key = read_key
        self._judged: list[ReviewItem] = []
        self._passed: set[str] = set()

    @property
    def done(self) -> int:
        """The number of sessions that were judged."""
        return len(self._judged)

    @property
    def last(self) -> str | None:
        """The session that was judged last."""
        return self._judged[-1].stored.grade.session_id if self._judged else None

    def run(self) -> None:
        """Ask until so many are judged, there is nothing left to ask, or the person has enough."""
        item = self._next()
        while item is not None:
            _show(item, number=self.done + 1, limit=self._limit)
            item = self._answered(item)

    def _next(self) -> ReviewItem | None:
        if self.done >= self._limit:
            return None
        item = self._grader.review.next_item(passed=self._passed)
        if item is None:
            output.line(self._nothing_left())
        return item

    def _nothing_left(self) -> str:
        if self._grader.grades.page(GradeFilter(limit=1)).grades:
            return "No other finished session is left to label."
        return "No session is graded yet. Next: grader-daemon grade"

    def _answered(self, item: ReviewItem) -> ReviewItem | None:
        """Read keys until one of them decides; returns what to ask about next."""
        quality: int | None = None
        output.paragraph("", _KEYS)
        while True:
            key = self._read_key()
            if key in _ENDS or key == "q":
                return None
            if key in ("y", "n"):
                self._keep(item, completed=key == "y", quality=quality)
                return self._next()
            if key == "s":
                self._passed.add(item.stored.grade.session_id)
                return self._next()
            if key == "u" and self._judged:
                return self._undo()
            quality = self._told(item, key, quality)

    def _told(self, item: ReviewItem, key: str, quality: int | None) -> int | None:
        """Act on a key that decides nothing; returns the quality that was named."""
        if key in _QUALITIES:
            output.paragraph("", f"Quality {key} of 5. Was the task done, y or n?")
            return int(key)
        if key == "t":
            told = self._grader.grades.transcript(item.stored.grade.session_id, around=None)
            output.pages(transcript_lines(told, unfolded=None))
        elif key == "o":
            output.line(output.cell(item.stored.grade.session_file))
        elif key == "u":
            output.line("Nothing was labelled in this review yet.")
        else:
            output.paragraph("", _KEYS)
        return quality

    def _keep(self, item: ReviewItem, *, completed: bool, quality: int | None) -> None:
        given = self._grader.labels.add(
            item.stored.grade.session_id,
            completed=completed,
            quality=quality,
            source=FeedbackSource.REVIEW,
            sampled=item.sampled,
        )
        self._judged.append(item)
        output.paragraph("", f"Saved: {output.said(given)}.")
        _show_verdict(item)
        output.paragraph(
            "Your answer: ", " ".join(effect_of_answer(self._grader.review.effect(item.stored.grade.session_id)))
        )

    def _undo(self) -> ReviewItem:
        item = self._judged.pop()
        taken_back = self._grader.labels.undo(item.stored.grade.session_id, source=FeedbackSource.REVIEW)
        output.paragraph("", f"Undone: {output.said(taken_back)}.")
        return item


def _show(item: ReviewItem, *, number: int, limit: int) -> None:
    grade = item.stored.grade
    about = [grade.task_type, grade.model, f"{grade.tool_calls} tool calls", output.duration(grade.duration_seconds)]
    output.line()
    output.line(f"{number} of {limit}  {output.cell(grade.session_id)}  {output.cell(grade.ended_at)}")
    ended = ending_words(grade) or state_words(grade)
    output.paragraph("  ", f"{', '.join(clean(str(each)) for each in about if each)}; {ended}")
    _part("Asked", item.request)
    _part("Asked last", item.last_request)
    nothing = "nothing" if grade.host is None else f"not sent: it is on {grade.host}"
    _part("Answered", item.answer or (nothing,))
    _part("Failed or refused", item.failures or (nothing,))
    _part("Claims", item.claims)
    _part("People said", item.signals)
    if item.note is not None:
        _part("Note", (clean(item.note),))
    output.line()


def _show_verdict(item: ReviewItem) -> None:
    """Show what the grader thinks, and why."""
    grade = item.stored.grade
    output.paragraph("The grader says: ", f"{plain_verdict(grade)}. Quality {output.cell(grade.quality)} of 5.")
    for reason in grade.reasons:
        if reason.score in ("task_completed", "response_quality"):
            output.paragraph(f"  {_effect(reason)}  ", f"{reason.rule}: {item.sentences[reason.rule]}")


def _effect(reason: Reason) -> str:
    """Return by how much a rule moved its score; "=" where it decides alone."""
    return f"{'=':>4}" if reason.effect is None else f"{reason.effect:>+4g}"


def _part(title: str, lines: Sequence[str]) -> None:
    if lines:
        output.line()
        output.line(f"{title}:")
        for line in lines:
            output.paragraph("  ", line)
