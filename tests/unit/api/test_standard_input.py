from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from grader_daemon.api.context import GraderContext
from grader_daemon.api.grading import Grading, GradingResult
from grader_daemon.api.standard_input import documents_in
from grader_daemon.errors import InputError
from grader_daemon.storage.sqlite.store import SqliteStore
from grader_daemon.testing.source_contract import Keeper
from tests.unit.sources.contract.kept_by import KEEPERS, OpenHandsFolder, OpenHandsLine, run_of

ATIF = run_of(1)


@pytest.fixture
def grading(context: GraderContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Grading:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    return Grading(context)


_OF_FOLDERS = (OpenHandsFolder, OpenHandsLine)
"""What they write is read with what lies beside it."""


def told(result: GradingResult) -> list[str]:
    return [*(each.session_file for _, each in result.grades), *(file for file, _ in (*result.skipped, *result.errors))]


@pytest.mark.parametrize(
    "kind",
    [kind for kind in KEEPERS if not kind.is_database and kind not in _OF_FOLDERS],
    ids=lambda kind: kind.__name__,
)
def test_a_session_of_any_agent_that_keeps_it_in_one_file_is_graded(
    grading: Grading, tmp_path: Path, kind: type[Keeper]
) -> None:
    keeper = kind(tmp_path / "kept")
    keeper.write(2)

    result = grading.grade_content(keeper.file.read_bytes(), keeper.source().name)

    assert result.errors == []
    assert [row for row, _ in result.grades] == [None]
    assert told(result)[0].startswith("-")


def test_nothing_of_it_is_kept(grading: Grading, store: SqliteStore, tmp_path: Path) -> None:
    grading.grade_content(ATIF, "atif")

    assert store.graded_paths() == []
    assert list((tmp_path / "tmp").iterdir()) == []


def test_each_of_several_documents_is_told_by_its_number(grading: Grading) -> None:
    documents = [ATIF, ATIF.replace(b'"run"', b'"other"'), b'{"schema_version": "ATIF-v1.7", "steps": [']

    result = grading.grade_content(b"\n".join(documents), "atif")

    assert sorted(told(result)) == ["-#1", "-#2", "-#3"]
    assert result.errors == [("-#3", "the JSON ends too early")]


@pytest.mark.parametrize(
    ("content", "source", "why"),
    [
        (b"", "acme", "there is no source 'acme'"),
        (b"", "codx", "did you mean codex"),
        (b"", "opencode", "OpenCode keeps sessions in a database or a folder"),
        (b"SQLite format 3\0" + b"x" * 99, "hermes", "keeps sessions in a database"),
        (ATIF * 10_001, "atif", "10,001 sessions; at most 10,000"),
    ],
)
def test_what_cannot_come_so_is_refused_in_one_line(grading: Grading, content: bytes, source: str, why: str) -> None:
    with pytest.raises(InputError, match=why) as caught:
        grading.grade_content(content, source)
    assert "\n" not in str(caught.value)


def test_a_file_is_read_as_a_person_says(grading: Grading, tmp_path: Path) -> None:
    file = tmp_path / "acme.log"
    file.write_bytes(ATIF)

    assert [each.format for _, each in grading.grade_paths([file], dry_run=True, source="atif").grades] == ["atif"]
    assert grading.grade_paths([file], dry_run=True, source="gemini-cli").grades == []
    assert [why for _, why in grading.grade_paths([tmp_path], dry_run=True, source="atif").errors] == [
        "no session files are below it"
    ]


@pytest.mark.parametrize(
    ("content", "documents"),
    [
        (b'{"a": "}\\"{"}\n{"b": [1, {}]} ', [b'{"a": "}\\"{"}', b'\n{"b": [1, {}]}']),
        (b'{\n "a": 1\n}{"b": 2}', [b'{\n "a": 1\n}', b'{"b": 2}']),
        (b'{"a": 1', [b'{"a": 1']),
        (b'{"a": 1}\n{"b"', [b'{"a": 1}', b'\n{"b"']),
        (b'{"a": 1}}}', [b'{"a": 1}', b"}", b"}"]),
        (b"[1] [2]", [b"[1] [2]"]),
        (b"", [b""]),
    ],
)
def test_documents_that_follow_each_other_are_told_apart(content: bytes, documents: list[bytes]) -> None:
    assert list(documents_in(content)) == documents
