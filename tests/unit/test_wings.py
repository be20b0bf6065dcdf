"""The table of wings: every name in it is there, and is what the core takes it for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

import click
import pytest

from grader_daemon import bootstrap
from grader_daemon.api.context import GraderContext
from grader_daemon.api.parts import MessageSearch, Routing, Scorers, Setup, SharedCopy
from grader_daemon.domain.setup_changes import SetupChange, SetupChanges
from grader_daemon.domain.work_fate import WorkOutcomes
from grader_daemon.fleet.copies import Copies
from grader_daemon.messages.found import Messages
from grader_daemon.outcomes.store import work_outcomes
from grader_daemon.push.metrics import preferred_text
from grader_daemon.reports.suggestions import AdviceOn
from grader_daemon.routing.advice import Advice
from grader_daemon.scorers import make
from grader_daemon.settings import Settings
from grader_daemon.skills import agent_setup, places
from grader_daemon.skills.read_changes import changes_between, setup_changes
from grader_daemon.storage.sqlite.store import SqliteStore
from grader_daemon.wings import WINGS, Wing, given, part

# What type checkers are shown here, they cannot see where a part is asked for by its name.
_COPY: Callable[[Settings, SqliteStore], SharedCopy] = Copies.open
_SCORERS: type[Scorers] = make.Scorers
_ROUTING: Callable[[GraderContext], Routing] = Advice
_SETUP: Callable[[GraderContext], Setup] = agent_setup.Setup
_INSTALLED: Callable[[Settings], bootstrap.Installed] = places.Installed.of
_CHANGES: Callable[[SqliteStore, datetime, datetime], Sequence[SetupChange]] = changes_between
_EFFECTS: Callable[[SqliteStore, datetime, datetime], SetupChanges] = setup_changes
_SKILL_ADVICE: Callable[[Settings, SqliteStore, datetime], AdviceOn] = agent_setup.skill_advice
_MESSAGES: Callable[[GraderContext], MessageSearch] = Messages
_METRICS: Callable[[GraderContext, str], tuple[str, str]] = preferred_text
_OUTCOMES: Callable[[SqliteStore, datetime, datetime], WorkOutcomes] = work_outcomes

_PARTS = {
    "scorers": _SCORERS,
    "routing": _ROUTING,
    "setup": _SETUP,
    "changes": _CHANGES,
    "effects": _EFFECTS,
    "skill_advice": _SKILL_ADVICE,
    "messages": _MESSAGES,
    "metrics": _METRICS,
    "outcomes": _OUTCOMES,
}
"""Without `copies` and `installed`, of which what they make is shown above."""


def _given(wing: Wing) -> Iterator[str]:
    yield from (*wing.jobs, *wing.own_jobs, *wing.checks.values(), *wing.parts.values())
    yield from (row.plain for row in wing.commands.values() if row.plain is not None)


@pytest.mark.parametrize("wing", WINGS, ids=lambda wing: wing.name)
def test_everything_that_a_wing_gives_is_there(wing: Wing) -> None:
    assert all(isinstance(given(wing.name, row.where), click.Command) for row in wing.commands.values())
    assert all(callable(given(wing.name, what)) for what in _given(wing))


def test_parts_are_those_that_type_checkers_are_shown() -> None:
    assert {name: part(name) for name in _PARTS} == _PARTS
    assert {name for wing in WINGS for name in wing.parts} == {*_PARTS, "copies", "installed"}
    assert (part("copies"), part("installed")) == (Copies, places.Installed)
