"""Sessions with labels, from a folder and a table: what a prior is trained on."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from grader_daemon.analysis import Analyzer
from grader_daemon.calibration.samples import Sample
from grader_daemon.domain.analysis import Analysis
from grader_daemon.domain.limits import Limits
from grader_daemon.domain.rules import Rules
from grader_daemon.domain.session import Session
from grader_daemon.errors import InputError, ParseError, ReadError
from grader_daemon.grading.completion import CompletionJudge
from grader_daemon.parsing import parse
from grader_daemon.pipeline.discovery import Walk
from grader_daemon.pipeline.reading import look_at, read_file

_OUTCOMES = ("completed", "success")
_MEANINGS = {
    **dict.fromkeys(("1", "1.0", "yes", "true"), True),
    **dict.fromkeys(("0", "0.0", "no", "false"), False),
}


class Label(msgspec.Struct, frozen=True, kw_only=True):
    """One row of a table of labels. Without a `task`, what was asked for is the task."""

    completed: bool
    source: str
    task: str


class Sampler:
    """Makes samples of sessions, under one set of rules."""

    def __init__(self, rules: Rules) -> None:
        self._analyzer = Analyzer(rules)
        self._judge = CompletionJudge(rules.completion)

    def analyze(self, session: Session) -> Analysis:
        """Analyse a session that is over."""
        return self._analyzer.analyze(session, idle=True)

    def sample(self, session: Session, analysis: Analysis, label: Label) -> Sample:
        """Put the analysis of a session and its label together."""
        asked = session.session_id if analysis.request is None else str(analysis.request)
        return Sample(
            features=analysis.features,
            completed=label.completed,
            task=label.task or asked,
            source=label.source,
            by_rules=self._judge.judge(analysis)[0],
        )


def read_labels(path: Path) -> dict[str, Label]:
    """Read a table with the columns ``session_id`` and ``completed`` or ``success``; by session.

    It may have the columns ``source`` and ``task_id`` as well.

    Raises:
        InputError: it cannot be read, or a column or value is wrong.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            return _labels_of(csv.DictReader(file), path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: not a table of comma-separated UTF-8 text") from error


def samples_in(folder: Path, labels: Mapping[str, Label], *, sampler: Sampler, limits: Limits) -> Iterator[Sample]:
    """Yield a sample of each labelled session below a folder; files that are none, and other sessions, are passed over.

    Raises:
        InputError: there is no such folder.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    left = dict(labels)
    for found in Walk(str(folder)):
        session = _session_in(found.path, limits)
        label = left.pop(session.session_id, None) if session is not None else None
        if session is not None and label is not None:
            yield sampler.sample(session, sampler.analyze(session), label)


def _session_in(path: str, limits: Limits) -> Session | None:
    try:
        read = parse(read_file(path, look_at(path), limits=limits), path, limits=limits)
    except (ReadError, ParseError):
        return None
    return read if isinstance(read, Session) else None


def _labels_of(table: csv.DictReader[str], path: Path) -> dict[str, Label]:
    columns = table.fieldnames or ()
    outcome = next((name for name in _OUTCOMES if name in columns), None)
    if "session_id" not in columns or outcome is None:
        raise InputError(f"{path}: the columns session_id and completed (or success) are expected")
    labels = {}
    for row in table:
        said = (row[outcome] or "").strip().lower()
        if said not in _MEANINGS:
            raise InputError(
                f"{path}, line {table.line_num}: {outcome} is {said[:20]!r}; yes or no, 1 or 0 is expected"
            )
        source, task = (row.get("source") or "").strip(), (row.get("task_id") or "").strip()
        labels[(row["session_id"] or "").strip()] = Label(completed=_MEANINGS[said], source=source, task=task)
    return labels
