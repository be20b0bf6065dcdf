"""Sessions whose outcome is known, analysed once, and which of their sources are relatives."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from grader_daemon.calibration.samples import Sample
from grader_daemon.domain.claims import Support
from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import Session
from grader_daemon.domain.session_result import ended_badly
from grader_daemon.domain.verdict import Shown
from grader_daemon.errors import GraderError
from grader_daemon.grading.completion_rules import RuleClassifier, shown_by
from grader_daemon.grading.standing import evidence_of
from grader_daemon.pipeline.labelled import LabelRow, Sampler, read_labels
from grader_daemon.rules import load_rules
from grader_daemon.sources.hermes.snapshot import parse
from tests.benchmarks.truth.processes import in_processes
from tests.units import hermes

_FAMILIES = {
    **dict.fromkeys(("gab_swe", "gab_tau2", "gab_term"), "gab"),
    **dict.fromkeys(("mint", "mint_fb"), "mint"),
    **dict.fromkeys(("fireact", "reflexion_qa", "knowagent"), "hotpot"),
}
"""Families of the sources of the recorded sessions, whose files do not name them: one harness, or one benchmark."""

_FILES_AT_ONCE = 200


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A labelled session; `request` is shared by sessions that were asked for the same, as far as a home can tell.

    `shown` is what its record proves by itself, `ended_badly` whether it says that it ended so.
    """

    session_id: str
    sample: Sample
    request: int | None
    claims: tuple[Support, ...]
    model: str | None = None
    task_type: str = "general"
    shown: Shown = Shown.UNDECIDED
    ended_badly: bool | None = None


class Part(msgspec.Struct, frozen=True):
    """Files of a folder that one process reads."""

    folder: Path
    paths: tuple[Path, ...]


def read_cases(folders: Sequence[Path], *, jobs: int) -> list[Case]:
    """Read and analyse the labelled sessions of folders; each holds ``labels.csv``.

    What is no session is told and left out.

    Raises:
        InputError: the labels cannot be read, or are wrong.
    """
    labels = {folder: read_labels(folder / "labels.csv") for folder in folders}
    parts = [part for folder in folders for part in parts_of(folder)]
    return [case for cases in in_processes(_cases, labels, parts, jobs=jobs) for case in cases]


def parts_of(folder: Path) -> Iterator[Part]:
    """Yield the files of a folder in parts."""
    for archive in sorted(folder.rglob("*.jsonl.gz")):
        yield Part(folder, (archive,))
    single = [Path(found.unit.locator) for walk in hermes([folder]).walks() for found in walk]
    for start in range(0, len(single), _FILES_AT_ONCE):
        yield Part(folder, tuple(single[start : start + _FILES_AT_ONCE]))


def _cases(labels: dict[Path, dict[str, LabelRow]], part: Part) -> list[Case]:
    rules = load_rules()
    sampler, classifier = Sampler(rules), RuleClassifier(rules.completion)
    found = []
    for session in sessions_of(part):
        label = labels[part.folder].get(session.session_id)
        if label is not None:
            found.append(_case(session, _with_family(label), sampler, classifier))
    return found


def _with_family(label: LabelRow) -> LabelRow:
    return msgspec.structs.replace(label, family=label.family or _FAMILIES.get(label.source, label.source))


def _case(session: Session, label: LabelRow, sampler: Sampler, classifier: RuleClassifier) -> Case:
    analysis = sampler.analyze(session)
    reasons = classifier.classify(analysis)[1]
    ending, standing, _ = evidence_of(analysis, reasons, messages=len(session.messages))
    return Case(
        session_id=session.session_id,
        sample=sampler.sample(session, analysis, label),
        request=analysis.request,
        claims=tuple([claim.support for claim in analysis.claims]),
        model=session.model,
        task_type=analysis.task_type,
        shown=shown_by(reasons),
        ended_badly=ended_badly(ending, standing),
    )


def sessions_of(part: Part) -> Iterator[Session]:
    """Yield the sessions in files; what is none is told and left out."""
    for path in part.paths:
        if path.suffix == ".gz":
            with gzip.open(path) as lines:
                for line in lines:
                    yield from _session(line, "session_x.json")
        else:
            yield from _session(path.read_bytes(), str(path))


def _session(content: bytes, path: str) -> Iterator[Session]:
    try:
        session = parse(content, path, limits=Limits())
    except GraderError as error:
        print(f"  left out: {error}")
        return
    if isinstance(session, Session):
        yield session
