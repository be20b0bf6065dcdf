"""``show``: everything that is known of one grade, or the session itself."""

from __future__ import annotations

from collections.abc import Sequence

import click

from grader_daemon.api.context import told_beside
from grader_daemon.api.documents import session_document, transcript_document
from grader_daemon.api.grader import SelfGrader
from grader_daemon.api.grades import Child
from grader_daemon.cli import output
from grader_daemon.cli.grades import children_words, people_words
from grader_daemon.cli.options import Whole, json_option, reads
from grader_daemon.domain.analysis import FailureKind
from grader_daemon.domain.early import EarlyErrors
from grader_daemon.domain.feedback import Standing
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.quality import QualityCheck
from grader_daemon.domain.session import SessionKind
from grader_daemon.domain.text import count
from grader_daemon.domain.verdict import GradeVersion
from grader_daemon.reports.early_words import early_words
from grader_daemon.reports.money import price_words, usd_words, used_words
from grader_daemon.reports.session_words import (
    MOST_MESSAGES,
    after_the_last,
    agent_words,
    checked_words,
    ending_words,
    flag_words,
    gone_words,
    messages_words,
    of_five,
    skill_words,
    standing_sentence,
    state_words,
)


@click.command("show")
@reads
@click.argument("session_id")
@click.option("--transcript", is_flag=True, help="Print the session as text, with the findings in each message.")
@click.option(
    "--around", type=Whole(min=0), help="Print only this message of the transcript and the messages around it."
)
@click.option("--markdown", is_flag=True, help="Print what went wrong as Markdown for an issue, without secrets.")
@json_option
def command(
    *, session_id: str, grader: SelfGrader, transcript: bool, around: int | None, markdown: bool, as_json: bool
) -> None:
    """Show the grade of a session; the beginning of its id is enough."""
    if markdown:
        from grader_daemon.api.bug_report import bug_report  # reads calls, which a grade alone need not wait for

        told = grader.grades.said_and_happened(session_id)
        output.line(bug_report(grader.grades.find(session_id).grade, told).rstrip())
        return
    if transcript or around is not None:
        _show_transcript(grader, session_id, around, as_json=as_json)
        return
    if as_json:
        output.document(session_document(grader.grades, session_id))
        return
    stored = grader.grades.find(session_id)
    check = grader.grades.quality_check(stored.grade.session_id)
    is_gone = grader.grades.is_gone(stored.grade)
    children = grader.grades.children(stored.grade.session_id)
    beside = told_beside(grader.context, stored.grade)
    said, early = grader.labels.of(stored.grade.session_id), grader.grades.early(stored.grade)
    _print(stored.grade, said, digest=stored.digest, check=check, children=children, early=early, beside=beside)
    if is_gone:
        output.line()
        output.paragraph("", gone_words(stored.grade))


def _show_transcript(grader: SelfGrader, session_id: str, around: int | None, *, as_json: bool) -> None:
    from grader_daemon.cli.transcript import transcript_lines  # which a grade alone need not wait for

    told = grader.grades.transcript(session_id, around=around)
    if as_json:
        output.document(transcript_document(told))
    elif around is None:
        output.pages(transcript_lines(told, unfolded=None))
    else:
        for line in transcript_lines(told, unfolded=around):
            output.line(line)


def _print(
    grade: Grade,
    said: Standing,
    *,
    digest: str | None,
    check: QualityCheck | None,
    children: list[Child],
    early: EarlyErrors | None,
    beside: Sequence[tuple[str, str]],
) -> None:
    output.facts(
        [
            ("session", grade.session_id),
            ("task", grade.task_summary),
            ("task type", grade.task_type),
            *([("state", f"{state_words(grade)} ({grade.state_reason})")] if grade.ending is None else []),
            ("ending", ending_words(grade)),
            ("result", _standing(grade)),
            ("verdict", output.plain_verdict(grade, said, digest=digest)),
            ("tool efficiency", of_five(grade.efficiency)),
            ("response quality", _quality(grade, said, digest)),
            *([("  checked", checked_words(check, when=output.cell(check.checked_at)))] if check is not None else []),
            ("session score", None if grade.score is None else f"{grade.score:.2f} of 5"),
            ("assistant messages", grade.total_api_calls),
            ("tool calls", grade.tool_calls),
            ("failures", _failures(grade)),
            *([("after the last one", after_the_last(grade))] if grade.total_errors else []),
            *([("began with", early_words(early))] if early is not None else []),
            *beside,
            ("note", None if said.last is None else said.last.note),
            ("flags", ", ".join(flag_words(grade))),
            ("people", ", ".join(people_words(grade))),
            ("agent", " ".join(filter(None, (agent_words(grade), grade.agent_version)))),
            *([("read by", grade.adapter)] if grade.adapter is not None else []),
            *([("parent", grade.parent)] if grade.parent is not None else []),
            *([("children", children_words(children))] if children else []),
            ("skills", skill_words(grade)),
            ("model", grade.model),
            ("tokens", used_words(grade) or "unknown"),
            ("cost", _cost(grade, children)),
            ("platform", grade.platform),
            ("started", grade.session_start),
            ("ended", grade.ended_at),
            ("duration", output.duration(grade.duration_seconds)),
            ("graded", grade.graded_at),
            ("graded by", GradeVersion.read(grade.rules_version)),
            ("project", grade.project),
            ("file", grade.session_file),
        ]
    )
    output.ledger(grade.claims)
    if grade.failures:
        output.line()
        output.failures(grade)


def _standing(grade: Grade) -> str | None:
    """Return how the result stands, what says so, and in which messages."""
    shown = [index for reason in grade.reasons if reason.score == "standing" for index in reason.messages]
    where = f" ({messages_words(shown[-MOST_MESSAGES:])})" if shown else ""
    told = standing_sentence(grade)
    return None if told is None else f"{told}{where}"


def _failures(grade: Grade) -> str:
    """Return how many calls failed, and how many more of those listed were expected to."""
    expected = sum(failure.kind is FailureKind.PROBE for failure in grade.failures)
    more = f"; {expected} more expected (probes)" if expected else ""
    return f"{grade.total_errors} ({grade.error_rate:.2f} per assistant message){more}"


def _cost(grade: Grade, children: list[Child]) -> str:
    """Return what a session cost, and what it did with those that it started, as far as that is known."""
    known = [child.cost_usd for child in children if child.kind is not SessionKind.MAIN and child.cost_usd is not None]
    alone = price_words(grade) or "unknown"
    if not known:
        return alone
    return f"{alone}; {usd_words(sum(known))} more for {count(len(known), 'session')} that it started"


def _quality(grade: Grade, said: Standing, digest: str | None) -> str:
    otherwise = grade.automatic_quality if grade.has_scores else None
    return output.word(of_five(grade.quality), said.quality, otherwise=otherwise, digest=digest)
