"""Trust: who decides, how far that agrees with people, and what the probability is made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from starlette.responses import Response

from grader_daemon.dashboard.reliability_chart import reliability_chart
from grader_daemon.dashboard.visit import Page, Visit
from grader_daemon.domain.calendar import day_of, week_name
from grader_daemon.domain.calibration import LabelCounts
from grader_daemon.domain.feedback import Label
from grader_daemon.reports.reliability import UNSEEN, agreement_table, label_words, sentence

_WEIGHTS_SHOWN: Final = 12
_UP, _DOWN = "\N{BLACK UP-POINTING TRIANGLE}", "\N{BLACK DOWN-POINTING TRIANGLE}"
_WEEKS_SHOWN: Final = 8
_RECORDS_SHOWN: Final = 8


class WeekOfLabels(NamedTuple):
    """The labels that people gave in a week, and how many of them say completed."""

    week: str
    labels: int
    completed: int


def trust(visit: Visit) -> Response:
    """Answer with what is known of how far verdicts can be believed."""
    state = visit.grader.calibration.state()
    evidence = None if state.look is None else state.look.evidence
    bins = () if evidence is None else evidence.reliability
    return visit.show(
        "trust.html",
        state=state,
        trust=visit.grader.grades.trust(),
        found=None if evidence is None else sentence(evidence.why),
        labels=label_words(LabelCounts() if evidence is None else evidence.counts),
        diagram=reliability_chart(bins, identifier="reliability") if bins else None,
        agreement=agreement_table(evidence.rules, evidence.model)
        if evidence is not None and evidence.model is not None and evidence.rules is not None
        else [],
        weeks=_weeks(visit.grader.labels.standing(), visit),
        weights=[
            ("\N{BLACK UP-POINTING TRIANGLE}" if each.weight > 0 else "\N{BLACK DOWN-POINTING TRIANGLE}", each)
            for each in state.weights
            if each.meaning
        ][:_WEIGHTS_SHOWN],
        history=state.history[:_RECORDS_SHOWN],
        unseen=sentence(UNSEEN),
        sessions=sum(state.provenance.sessions.values()),
    )


def _weeks(labels: Sequence[Label], visit: Visit) -> list[WeekOfLabels]:
    zone = visit.site.settings.zone
    given = [(week_name(day_of(label.given_at, zone)), label) for label in labels if label.completed is not None]
    counts = Counter(week for week, _ in given)
    done = Counter(week for week, label in given if label.completed)
    return [WeekOfLabels(week, counts[week], done[week]) for week in sorted(counts, reverse=True)[:_WEEKS_SHOWN]]


PAGES: Final = (Page("/trust", trust),)
