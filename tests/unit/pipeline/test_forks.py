"""A fork copies the history of a session under a new id; both together are one piece of work until both went on."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from grader_daemon.domain.limits import Limits
from grader_daemon.domain.unit import Unit
from grader_daemon.domain.verdict import CompletionPolicy
from grader_daemon.pipeline.commit import Commit
from grader_daemon.pipeline.examine import Examiner
from grader_daemon.pipeline.ingest import Ingest
from grader_daemon.rules import load_rules
from grader_daemon.sources.claude_code.project_files import ClaudeCode
from grader_daemon.sources.protocol import Sources
from grader_daemon.storage.records import GradeFilter
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.examples import about
from tests.strategies import NOW
from tests.transcripts import Transcript, call

RULES = load_rules()
IDS = [f"{number}0f0f0f0-1111-4222-8333-444455556666" for number in range(4)]
TOKENS_OF_AN_ANSWER = 10
BRANCHES = ("ab", "abc", "abd", "abcd", "x", "abcab")
"""What sessions call, one letter for each call; who has the beginning of another one is its fork."""


class Home:
    """A folder of transcripts with a grader."""

    def __init__(self, folder: Path, store: SqliteStore) -> None:
        self._folder = folder
        self.store = store
        sources = Sources([ClaudeCode([str(folder)], limits=Limits())])
        examiner = Examiner(RULES, CompletionPolicy(), sources, zone=None, idle=timedelta(hours=1), limits=Limits())
        recorder = Commit(store, retry_pauses=(), asked_again_within=timedelta(2))
        self._ingest = Ingest(examiner=examiner, recorder=recorder, store=store, clock=lambda: NOW)

    def write(self, session_id: str, calls: str) -> Unit:
        """Write a session that makes these calls and answers."""
        transcript = Transcript(sessionId=session_id)
        transcript.prompt("Do it")
        for place, letter in enumerate(calls):
            call_id = f"toolu_{letter}_91d65b01dfb0460b_{calls[: place + 1]}"
            transcript.answer(call(call_id, command="ls"), stop="tool_use")
            transcript.result(call_id, "a.txt")
        transcript.answer("Done.")
        path = self._folder / "-work" / f"{session_id}.jsonl"
        transcript.write(path)
        return Unit("claude-code", str(path))

    def grade(self, *units: Unit) -> None:
        """Grade them in one go."""
        self._ingest.ingest(list(units), within_seconds=60)

    @property
    def standing(self) -> dict[str, int | None]:
        """The sessions that have a grade, with their input tokens."""
        found = self.store.grades.page(GradeFilter()).grades
        return {each.grade.session_id: each.grade.input_tokens for each in found}


@contextmanager
def home() -> Iterator[Home]:
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "grades.db")
        try:
            yield Home(Path(folder), store)
        finally:
            store.close()


def used(calls: str) -> int:
    """Tokens that a session read."""
    return TOKENS_OF_AN_ANSWER * (len(calls) + 1)


def test_a_fork_counts_for_what_it_was_copied_from() -> None:
    with home() as one:
        one.grade(one.write(IDS[0], "ab"))
        one.grade(one.write(IDS[1], "abc"))
        assert one.standing == {IDS[1]: used("abc")}


def test_who_goes_on_by_itself_stands_again() -> None:
    with home() as one:
        one.grade(one.write(IDS[0], "ab"))
        one.grade(one.write(IDS[1], "abc"))
        one.grade(one.write(IDS[0], "abd"))
        assert one.standing == {IDS[0]: used("abd"), IDS[1]: used("abc")}


def test_a_session_that_goes_on_beyond_its_fork_counts_for_it() -> None:
    with home() as one:
        one.grade(one.write(IDS[0], "ab"), one.write(IDS[1], "abc"))
        one.grade(one.write(IDS[0], "abcd"))
        assert one.standing == {IDS[0]: used("abcd")}


@settings(max_examples=about(40))
@given(
    sessions=st.lists(st.sampled_from(BRANCHES), min_size=1, max_size=len(IDS)),
    order=st.randoms(use_true_random=False),
    together=st.booleans(),
)
def test_in_whatever_order_forks_are_read_the_same_ones_stand(
    sessions: list[str], order: Random, together: bool
) -> None:
    named = dict(zip(IDS, sessions, strict=False))
    expected = {
        one: used(calls)
        for one, calls in named.items()
        if not any(
            other != one and (theirs.startswith(calls) and (theirs != calls or other < one))
            for other, theirs in named.items()
        )
    }
    with home() as one:
        units = [one.write(name, calls) for name, calls in named.items()]
        order.shuffle(units)
        for batch in [units] if together else [[unit] for unit in units]:
            one.grade(*batch)
        assert one.standing == expected
