"""Files that real Hermes agents wrote, each with the grade that a person gave it by reading it."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from datetime import UTC, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest

from grader_daemon.analysis.analyzer import Analyzer
from grader_daemon.domain.analysis import Category, FailureKind, SessionState
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.limits import Limits
from grader_daemon.domain.rules import Rules
from grader_daemon.domain.session import Session, Skipped, SkipReason
from grader_daemon.domain.verdict import CompletionPolicy
from grader_daemon.grading import Grader
from grader_daemon.pipeline.commit import Commit
from grader_daemon.pipeline.examine import Examiner
from grader_daemon.pipeline.ingest import Ingest
from grader_daemon.sources.hermes.snapshot import claims, companion, parse
from grader_daemon.storage.records import GradeFilter
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.conftest import MAX_BYTES, Clock
from tests.strategies import NOW
from tests.tables import for_each
from tests.units import hermes, units

SAMPLES = Path(__file__).parents[3] / "shared" / "data" / "hermes"

pytestmark = pytest.mark.skipif(
    not SAMPLES.is_dir() and os.environ.get("CI") != "true", reason="the sample sessions are not here"
)

COMPLETE = SessionState.COMPLETE
INTERRUPTED = SessionState.INTERRUPTED
OPEN = SessionState.OPEN
MISSING = Category.FILE_NOT_FOUND
FAILED = Category.COMMAND_FAILED
UNKNOWN = Category.UNKNOWN
NO_TOOL = Category.TOOL_NOT_FOUND


class Row(NamedTuple):
    """What reading a file with nothing but the contract at hand gives."""

    state: SessionState
    completed: bool
    efficiency: int = 5
    quality: int = 3
    recovered: bool = True
    failures: tuple[tuple[int, str, Category], ...] = ()
    probes: tuple[int, ...] = ()
    got_over: tuple[int, ...] = ()


def every_second(tool: str, category: Category, first: int, last: int) -> tuple[tuple[int, str, Category], ...]:
    """Failures of one tool in every round from `first` to `last`."""
    return tuple((index, tool, category) for index in range(first, last + 1, 2))


ANSWERED = Row(COMPLETE, completed=True)
CURT = Row(COMPLETE, completed=False)
LEFT_OPEN = Row(OPEN, completed=False)
STOPPED = Row(INTERRUPTED, completed=False)
RECOVERED = Row(
    COMPLETE,
    completed=False,
    efficiency=3,
    failures=((2, "read_file", MISSING), (4, "terminal", MISSING)),
    probes=(2,),
)
STUCK = Row(
    COMPLETE,
    completed=False,
    efficiency=1,
    quality=1,
    recovered=False,
    failures=every_second("terminal", MISSING, 2, 14),
)
EVERY_ERROR = (
    (2, "terminal", Category.TIMEOUT),
    (4, "terminal", Category.PERMISSION_DENIED),
    (6, "read_file", MISSING),
    (8, "read_file", UNKNOWN),
    (10, "write_file", MISSING),
    (12, "write_file", Category.PERMISSION_DENIED),
    (14, "patch", UNKNOWN),
    (16, "patch", UNKNOWN),
    (18, "terminal", FAILED),
    (20, "terminal", FAILED),
    (26, "execute_code", FAILED),
    (30, "terminal", MISSING),
    (32, "process", UNKNOWN),
    (34, "skill_view", MISSING),
    (36, "web_search", NO_TOOL),
)
FORK = "v13_library/session_20261121_221523_c8c017.json"
CHAIN = [
    "20261121_221039_a10ba2", "20261121_221040_ffd48c", "20261121_221040_4b90e9", "20261121_221041_e47ad4",
    "20261121_221042_3a0e1a", "20261121_221043_fde28b", "20261121_221044_0e3754", "20261121_221044_b67608",
    "20261121_221045_a53318", "20261121_221046_12bce2", "20261121_221047_9ab362", "20261121_221047_bd55ee",
    "20261121_221048_bfc5cd", "20261121_221049_6a62e9",
]  # fmt: skip
"""Links of one compression chain; the last one goes on where the others stop."""

EXPECTED = {
    "v13_api_400/session_20261121_220905_b9d7a4.json": LEFT_OPEN,
    "v13_api_401_first/session_20261121_220920_6d90d2.json": LEFT_OPEN,
    "v13_api_429_forever/session_20261121_220954_2c1535.json": LEFT_OPEN,
    "v13_api_429_once/session_20261121_220802_b3a70e.json": ANSWERED,
    "v13_api_500_forever/session_20261121_220932_941e27.json": LEFT_OPEN,
    "v13_ask_text/session_20261121_221000_90d886.json": ANSWERED,
    "v13_bad_json_args/session_20261121_221117_389683.json": CURT,
    "v13_cjk/session_20261121_221155_7f800e.json": ANSWERED,
    **{f"v13_compress/session_{link}.json": LEFT_OPEN for link in CHAIN[:11]},
    **{f"v13_compress/session_{link}.json": LEFT_OPEN._replace(efficiency=4) for link in CHAIN[11:13]},
    f"v13_compress/session_{CHAIN[13]}.json": ANSWERED._replace(efficiency=4),
    "v13_content_filter/session_20261121_221050_e27eef.json": STOPPED,
    "v13_delegate/session_20261121_221124_f2a39c.json": ANSWERED,
    "v13_delegate/session_20261121_221127_837410.json": ANSWERED,
    "v13_empty_final/session_20261121_220804_b6ceac.json": LEFT_OPEN,
    "v13_empty_first/session_20261121_220906_1c2b93.json": LEFT_OPEN,
    "v13_empty_then_ok/session_20261121_220921_c5a007.json": ANSWERED,
    "v13_errors_kinds/session_20261121_220805_c0835d.json": Row(
        COMPLETE, completed=False, efficiency=1, quality=1, failures=EVERY_ERROR, probes=(6, 18), got_over=(20, 26)
    ),
    "v13_gateway/session_4ef00927-ea31-446d-b57d-7e0c3ae72ba3.json": CURT,
    "v13_gateway/session_api-d96d7d455c8ab4a4.json": ANSWERED,
    "v13_good_other/session_20261121_221134_947557.json": CURT,
    "v13_inline_think/session_20261121_220945_ce2de5.json": CURT,
    "v13_length_cut/session_20261121_221013_f1aebd.json": ANSWERED,
    "v13_length_forever/session_20261121_221032_2a0da0.json": STOPPED,
    "v13_library/session_20261121_221504_dbc12c.json": ANSWERED,
    "v13_library/session_20261121_221515_f96225.json": LEFT_OPEN,
    "v13_library/session_20261121_221518_24dd7b.json": CURT,
    "v13_long60/session_20261121_221026_fafb02.json": Row(COMPLETE, completed=True, efficiency=2, quality=1),
    "v13_long_limit/session_20261121_221122_4b0704.json": Row(INTERRUPTED, completed=False, efficiency=2, quality=1),
    "v13_parallel/session_20261121_221157_a5ce38.json": Row(
        COMPLETE,
        completed=False,
        efficiency=2,
        recovered=False,
        failures=((7, "read_file", MISSING), (9, "terminal", FAILED)),
        probes=(7,),
    ),
    "v13_plain/session_20261121_221212_3240b3.json": ANSWERED,
    "v13_recover/session_20261121_220911_005393.json": RECOVERED,
    "v13_refuse/session_20261121_221108_7ac335.json": ANSWERED,
    "v13_repeat_errors/session_20261121_220926_d4d98c.json": STUCK,
    "v13_repeat_missing_read/session_20261121_221017_1a57c2.json": STUCK._replace(
        # two errors in nine calls, and five calls that the guard against loops refused: 3 - 2 for the loop
        efficiency=3,
        failures=every_second("read_file", MISSING, 2, 6),
        probes=(2,),
    ),
    "v13_repeat_same/session_20261121_220941_b2457c.json": STUCK._replace(
        failures=every_second("terminal", FAILED, 2, 18)
    ),
    "v13_repeat_same_read/session_20261121_220958_8e0113.json": Row(COMPLETE, completed=False, quality=1),
    "v13_secret_leak/session_20261121_221139_812baa.json": ANSWERED,
    "v13_slow_api_kill9/session_20261121_220911_063998.json": LEFT_OPEN,
    "v13_slow_api_kill9/session_20261121_221525_669a4a.json": LEFT_OPEN,
    "v13_slow_api_sigint/session_20261121_220930_bc999f.json": LEFT_OPEN,
    "v13_slow_api_sigint/session_20261121_221543_002cd5.json": LEFT_OPEN,
    "v13_slow_tool_kill9/session_20261121_221420_3ddbc5.json": LEFT_OPEN,
    "v13_slow_tool_sigint/session_20261121_221438_63cb41.json": LEFT_OPEN,
    "v13_slow_tool_sigterm/session_20261121_220850_9d93ba.json": STOPPED,
    "v13_slow_tool_sigterm/session_20261121_221502_c2b2b3.json": STOPPED,
    "v13_success/session_20261121_220804_6c9c9d.json": ANSWERED,
    "v13_success_oneshot/session_20261121_221018_2327f2.json": ANSWERED,
    "v13_success_snapfalse/session_20261121_221042_892e06.json": ANSWERED,
    "v13_thinking_only/session_20261121_220935_994dba.json": STOPPED,
    "v13_turn2_resumed/session_20261121_221212_3240b3.json": ANSWERED,
    "v13_unknown_tool/session_20261121_221042_334d3c.json": Row(
        COMPLETE, completed=False, efficiency=2, failures=((2, "frobnicate_database", NO_TOOL),)
    ),
    "v13_unknown_tool_forever/session_20261121_221101_baad1a.json": Row(
        OPEN,
        completed=False,
        efficiency=1,
        recovered=False,
        failures=every_second("frobnicate_database", NO_TOOL, 2, 4),
    ),
    "v19_api_400/session_20261121_220911_490797.json": LEFT_OPEN,
    "v19_empty_final/session_20261121_220757_b56f6c.json": STOPPED,
    "v19_recover/session_20261121_220911_f1220a.json": RECOVERED,
    "v19_repeat_errors/session_20261121_220932_c76cf7.json": STUCK,
    "v19_slow_tool_sigterm/session_20261121_221500_c6d239.json": STOPPED,
    "v19_success/session_20261121_220757_e25393.json": ANSWERED,
}
DUMPS = [
    "v13_api_400/request_dump_20261121_220905_b9d7a4_20261121_220910_661675.json",
    "v13_api_401_first/request_dump_20261121_220920_6d90d2_20261121_220923_123829.json",
    "v13_api_429_forever/request_dump_20261121_220954_2c1535_20261121_221001_209990.json",
    "v13_api_500_forever/request_dump_20261121_220932_941e27_20261121_220943_913774.json",
    "v13_library/request_dump_20261121_221515_f96225_20261121_221517_003890.json",
    "v19_api_400/request_dump_20261121_220911_490797_20261121_220924_293515.json",
]
OTHERS = {
    "HOME_LISTINGS.txt",
    "README.md",
    "TAILS.tsv",
    "v13_gateway/channel_directory.json",
    "v13_gateway/gateway_state.json",
    "v13_trajectories/batch.out",
    "v13_trajectories/ds.jsonl",
    "v13_trajectories/run_traj.out",
    "v13_trajectories/run_traj.py",
    "v13_trajectories/trajectory_samples.jsonl",
}
RESUMED = "v13_turn2_resumed/session_20261121_221212_3240b3.json"
BEFORE_RESUMING = "v13_plain/session_20261121_221212_3240b3.json"


def names() -> list[str]:
    """Every file there is."""
    return sorted(str(path.relative_to(SAMPLES)) for path in SAMPLES.rglob("*") if path.is_file())


def read(name: str) -> Session | Skipped:
    return parse((SAMPLES / name).read_bytes(), str(SAMPLES / name), zone=UTC)


def graded(name: str, rules: Rules) -> Grade:
    session = read(name)
    assert isinstance(session, Session)
    return Grader(rules, CompletionPolicy(), zone=UTC).grade(
        session, Analyzer(rules).analyze(session), now=NOW, written_at=NOW
    )


def test_every_file_is_accounted_for() -> None:
    claimed = {name for name in names() if claims(str(SAMPLES / name))}
    ignored = {name for name in names() if not name.startswith("traces/")} - claimed
    assert claimed == {*EXPECTED, *DUMPS, FORK}
    assert ignored == OTHERS


@for_each(("name", "row"), [pytest.param(name, row, id=name) for name, row in EXPECTED.items()])
def test_a_session_has_the_grade_that_reading_it_gives(name: str, row: Row, rules: Rules) -> None:
    grade = graded(name, rules)
    assert row == Row(
        state=grade.state,
        completed=grade.task_completed,
        efficiency=grade.tool_calls_efficient,
        quality=grade.response_quality,
        recovered=grade.errors_recovered,
        failures=tuple((failure.index, failure.tool or "", failure.category) for failure in grade.failures),
        probes=tuple(failure.index for failure in grade.failures if failure.kind is FailureKind.PROBE),
        got_over=tuple(failure.index for failure in grade.failures if failure.kind is FailureKind.RECOVERED),
    )


@pytest.mark.parametrize(
    ("name", "refusal", "interruption", "loop"),
    [
        pytest.param("v13_errors_kinds/session_20261121_220805_c0835d.json", True, False, True, id="user-denied"),
        pytest.param("v13_slow_tool_sigterm/session_20261121_220850_9d93ba.json", False, True, False, id="sigterm"),
        pytest.param(
            "v19_slow_tool_sigterm/session_20261121_221500_c6d239.json", False, True, False, id="sigterm-0.19"
        ),
        pytest.param("v13_long60/session_20261121_221026_fafb02.json", False, False, True, id="sixty-calls"),
        pytest.param("v13_success/session_20261121_220804_6c9c9d.json", False, False, False, id="success"),
    ],
)
def test_flags(name: str, refusal: bool, interruption: bool, loop: bool, rules: Rules) -> None:
    grade = graded(name, rules)
    assert (grade.had_user_refusal, grade.had_user_interruption, grade.had_infinite_loop_risk) == (
        refusal,
        interruption,
        loop,
    )


def test_the_background_review_is_skipped() -> None:
    assert read(FORK) == Skipped(SkipReason.REVIEW_FORK, "20261121_221518_24dd7b")


@pytest.mark.parametrize("name", DUMPS)
def test_request_dumps_are_skipped(name: str) -> None:
    assert companion(str(SAMPLES / name)) is SkipReason.REQUEST_DUMP


def test_no_summary_and_no_reason_holds_a_secret(rules: Rules) -> None:
    texts = [f"{grade.task_summary} {grade.reasons}" for grade in (graded(name, rules) for name in EXPECTED)]
    assert [text for text in texts if "sk-proj" in text] == []


def arranged(order: str, files: Sequence[str]) -> list[str]:
    """The files sorted, reversed, or shuffled by the number that `order` ends in."""
    if order.startswith("shuffled"):
        return random.Random(order).sample(sorted(files), len(files))
    return sorted(files, reverse=order == "reversed")


def ingest_all(paths: list[str], *, batch: int, rules: Rules, store: SqliteStore) -> None:
    """Ingest in this order, so many in a transaction."""
    clock = Clock()
    limits = Limits(bytes=MAX_BYTES)
    examiner = Examiner(
        rules, CompletionPolicy(), hermes(limits=limits), zone=UTC, idle=timedelta(days=36500), limits=limits
    )
    ingest = Ingest(
        examiner=examiner,
        recorder=Commit(store, retry_pauses=(timedelta(1),), asked_again_within=timedelta(2)),
        store=store,
        clock=clock,
    )
    for start in range(0, len(paths), batch):
        ingest.ingest(units(paths[start : start + batch]), within_seconds=60)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "batch", [pytest.param(1, id="one-by-one"), pytest.param(7, id="by-sevens"), pytest.param(999, id="all")]
)
@pytest.mark.parametrize("order", ["sorted", "reversed", "shuffled-1", "shuffled-2", "shuffled-3"])
def test_each_conversation_is_graded_once_in_any_order(
    order: str, batch: int, store: SqliteStore, rules: Rules
) -> None:
    paths = [str(SAMPLES / name) for name in (*EXPECTED, *DUMPS, FORK)]

    ingest_all(arranged(order, paths), batch=batch, rules=rules, store=store)

    superseded = {f"v13_compress/session_{link}.json" for link in CHAIN[:-1]}
    files = sorted(
        str(Path(stored.grade.session_file).relative_to(SAMPLES)) for stored in store.grades.page(GradeFilter()).grades
    )
    assert files == sorted(set(EXPECTED) - superseded - {BEFORE_RESUMING})
    assert store.skip_counts() == {"copy": 1, "request_dump": 6, "review_fork": 1, "superseded": 13}
    assert store.file_counts() == {"graded": 56, "skipped": 21}
    assert store.grades.find(Path(RESUMED).stem.removeprefix("session_")).grade.session_file == str(SAMPLES / RESUMED)
