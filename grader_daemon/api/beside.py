"""Lines that optional features tell of a session beside its grade."""

from __future__ import annotations

from grader_daemon.api.context import GraderContext
from grader_daemon.domain.grade import Grade
from grader_daemon.wings import given_by_all


def told_beside(context: GraderContext, grade: Grade) -> list[tuple[str, str]]:
    """Return what optional features tell of a session, each line with what it is about."""
    return [line for lines_of in given_by_all("lines") for line in lines_of(context.store, grade)]
