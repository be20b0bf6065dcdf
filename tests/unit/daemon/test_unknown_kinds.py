from __future__ import annotations

from structlog.testing import capture_logs

from grader_daemon.daemon.unknown_kinds import UnknownTold
from grader_daemon.domain.session import Skipped, SkipReason
from grader_daemon.domain.unit import Found, Unit
from grader_daemon.pipeline.examine import GradedUnit, SkippedUnit
from grader_daemon.sources.protocol import UnknownKinds
from tests.strategies import grade, identity

SEEN = Found(Unit("codex", "/s/rollout.jsonl"), b"", 0)
READ = SkippedUnit(found=SEEN, digest="d", skipped=Skipped(SkipReason.NOT_A_SESSION))
UNREAD = SkippedUnit(found=SEEN, digest="d", skipped=Skipped(SkipReason.UNREADABLE_VERSION))


def test_what_is_not_known_is_told_once_for_each_version() -> None:
    told = UnknownTold()
    with capture_logs() as logs:
        for version, kinds in (("1.0", ("a",)), ("1.0", ("a", "b")), ("1.1", ("a", "b"))):
            told.tell(UnknownKinds(version, kinds), READ)

    assert [(line["event"], line["version"], line["kinds"]) for line in logs] == [
        ("source.unknown_kinds", "1.0", 1),
        ("source.unknown_kinds", "1.1", 2),
    ]


def test_a_version_that_cannot_be_read_is_a_warning_once() -> None:
    told = UnknownTold()
    with capture_logs() as logs:
        told.tell(UnknownKinds("1.0", ("a",)), READ)
        for _ in range(2):
            told.tell(UnknownKinds("1.0", ("a",)), UNREAD)

    assert [(line["event"], line["log_level"]) for line in logs] == [
        ("source.unknown_kinds", "info"),
        ("source.unreadable_version", "warning"),
    ]


def test_names_that_a_file_chooses_hold_no_secrets_and_do_not_fill_the_log() -> None:
    told = UnknownTold()
    with capture_logs() as logs:
        for number in range(2_000):
            told.tell(UnknownKinds(str(number), ("sk-ant-api03-" + "a1B2" * 20, *"abcdefgh")), READ)

    assert len(logs) == 1_000
    assert len(logs[0]["names"]) == 5
    assert "a1B2" not in str(logs[0])


def graded(version: str, agent: str = "codex") -> GradedUnit:
    made = grade(agent=agent, agent_version=version)
    return GradedUnit(found=SEEN, digest="d", grade=made, signs=(), identity=identity(), look_again_at=None)


def test_a_version_that_is_newer_than_any_tried_is_told_once_with_what_of_it_is_not_known() -> None:
    told = UnknownTold()
    with capture_logs() as logs:
        told.tell(None, graded("0.1.0"))
        told.tell(None, graded("99.0.0", agent="other"))
        for _ in range(2):
            told.tell(UnknownKinds("99.0.0", ("a", "b"), broken=1), graded("99.0.0"))

    assert [line["event"] for line in logs] == ["source.unknown_kinds", "source.newer_version"]
    assert [logs[1][key] for key in ("version", "kinds", "broken")] == ["99.0.0", 2, 1]
