"""First look: agents that are found on this machine while nothing is graded, and a click that grades their sessions."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from grader_daemon.api.ungraded import ungraded_agents, watched_agents
from grader_daemon.dashboard.visit import Page, Visit
from grader_daemon.errors import InputError


def first_look(visit: Visit) -> Response:
    """Answer with the agents that are found, each with the command that grades it or one button for all."""
    settings, first = visit.site.settings, visit.site.first_grading
    agents = (*watched_agents(settings), *ungraded_agents(settings))
    runs = visit.grader.status().running
    return visit.show(
        "nothing_yet.html",
        agents=agents,
        runs=runs,
        can_grade=first is not None and bool(agents) and not runs,
        grading=None if first is None else first.state,
    )


def grade(visit: Visit) -> Response:
    """Begin to grade what is found."""
    first = visit.site.first_grading
    if first is None:
        raise InputError("this page cannot grade; run: grader-daemon run")
    visit.site.take_over(first.begin(ungraded_agents(visit.site.settings)))
    return visit.go_to("/")


PAGES: Final = (Page("/grade", grade, writes=True, bare=True),)
