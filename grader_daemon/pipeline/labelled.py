"""Sessions with labels, from a folder and a table: what a prior is trained on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from grader_daemon.analysis.analyzer import Analyzer
from grader_daemon.calibration.samples import Sample
from grader_daemon.domain.analysis import Analysis
from grader_daemon.domain.rules import Rules
from grader_daemon.domain.session import Session
from grader_daemon.domain.unit import Unit
from grader_daemon.errors import InputError, ParseError, ReadError
from grader_daemon.grading.completion_rules import RuleClassifier
from grader_daemon.pipeline.label_file import read_label_file
from grader_daemon.sources.protocol import Sources


class LabelRow(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a file of labels. Without a `task`, what was asked for is the task."""

    completed: bool
    source: str
    task: str
    family: str = ""


class Sampler:
    """Makes samples of sessions, under one set of rules."""

    def __init__(self, rules: Rules) -> None:
        self._analyzer = Analyzer(rules)
        self._classifier = RuleClassifier(rules.completion)

    def analyze(self, session: Session) -> Analysis:
        """Analyse a session that is over."""
        return self._analyzer.analyze(session, idle=True)

    def sample(self, session: Session, analysis: Analysis, label: LabelRow) -> Sample:
        """Join the analysis of a session and its label."""
        asked = session.session_id if analysis.request is None else str(analysis.request)
        return Sample(
            features=tuple(analysis.features),
            completed=label.completed,
            task=label.task or asked,
            source=label.source,
            family=label.family,
            by_rules=self._classifier.classify(analysis)[0],
        )


def read_labels(path: Path) -> dict[str, LabelRow]:
    """Read the labels of a CSV file, by session; see `read_label_file`.

    Lines without a word on completion are left out.

    Raises:
        InputError: it cannot be read, or a line is wrong.
    """
    read = read_label_file(path)
    if read.wrong:
        more = f" (and {len(read.wrong) - 1:,} more)" if len(read.wrong) > 1 else ""
        raise InputError(f"{read.wrong[0]}{more}")
    return {
        line.session_id: LabelRow(completed=line.completed, source=line.source, task=line.task, family=line.family)
        for line in read.lines
        if line.completed is not None
    }


def samples_in(folder: Path, labels: Mapping[str, LabelRow], *, sampler: Sampler, sources: Sources) -> Iterator[Sample]:
    """Yield a sample of each labelled session below a folder; files that are none, and other sessions, are passed over.

    Raises:
        InputError: there is no such folder.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    left = dict(labels)
    for found in sources.walk_below(str(folder)):
        session = _session_in(found.unit, sources)
        label = left.pop(session.session_id, None) if session is not None else None
        if session is not None and label is not None:
            yield sampler.sample(session, sampler.analyze(session), label)


def _session_in(unit: Unit, sources: Sources) -> Session | None:
    try:
        read = sources.read(unit).session
    except (ReadError, ParseError):
        return None
    return read if isinstance(read, Session) else None
