from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from grader_daemon.api.context import GraderContext
from grader_daemon.api.tables import TableForm
from grader_daemon.domain.session import SkipReason
from grader_daemon.errors import InputError
from grader_daemon.pipeline.saving import retract
from grader_daemon.push import month_files
from grader_daemon.push.month_files import ExportedMonths, export_months
from grader_daemon.push.table_file import write_table
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.unit.api.conftest import Save

OCTOBER, NOVEMBER = datetime(2026, 10, 31, 23, 59, 59, tzinfo=UTC), datetime(2026, 11, 1, tzinfo=UTC)


def export(context: GraderContext, folder: Path, *, since: datetime | None = None) -> ExportedMonths:
    return export_months(context, folder, TableForm.NDJSON, since=since)


def exported(folder: Path) -> dict[str, list[str]]:
    """The ids in each month."""
    return {
        file.parent.name: sorted(json.loads(line)["session_id"] for line in file.read_text().splitlines())
        for file in sorted(folder.glob("month=*/grades.ndjson"))
    }


@pytest.fixture
def folder(tmp_path: Path, context: GraderContext, save: Save) -> Path:
    """A folder with an export of a session of October and two of November."""
    save("a", ended_at=OCTOBER)
    save("b", ended_at=NOVEMBER)
    save("c", ended_at=NOVEMBER)
    export(context, tmp_path / "grades")
    return tmp_path / "grades"


def test_each_session_stands_in_the_month_in_which_it_ended(folder: Path) -> None:
    assert exported(folder) == {"month=2026-10": ["a"], "month=2026-11": ["b", "c"]}


def test_nothing_is_written_again_until_something_changes(context: GraderContext, folder: Path) -> None:
    files = written(folder)

    done = export(context, folder)

    assert done == ExportedMonths(written=(), removed=(), unchanged=2, grades=0)
    assert written(folder) == files


def written(folder: Path) -> dict[Path, tuple[int, int]]:
    """Return when what file was written; to read it changes nothing of that."""
    return {file: ((told := file.stat()).st_ino, told.st_mtime_ns) for file in folder.rglob("*")}


def test_a_month_in_which_a_grade_changed_is_written_anew(context: GraderContext, folder: Path, save: Save) -> None:
    save("c", ended_at=NOVEMBER, response_quality=1)

    done = export(context, folder)

    assert (done.written, done.unchanged, done.grades) == (("2026-11",), 1, 2)
    rows = [json.loads(line) for line in (folder / "month=2026-11/grades.ndjson").read_text().splitlines()]
    assert {row["session_id"]: row["response_quality"] for row in rows}["c"] == 1


def test_a_session_of_the_future_stands_in_the_month_in_which_it_was_graded(
    context: GraderContext, folder: Path, save: Save
) -> None:
    future = datetime(2200, 1, 1, tzinfo=UTC)
    save("f", ended_at=future, graded_at=NOVEMBER)
    export(context, folder)
    save("f", ended_at=future, graded_at=NOVEMBER, response_quality=1)

    done = export(context, folder)

    [month] = done.written
    rows = [json.loads(line) for line in (folder / f"month={month}/grades.ndjson").read_text().splitlines()]
    assert {row["session_id"]: row["response_quality"] for row in rows}["f"] == 1


def test_a_session_that_goes_on_moves_and_leaves_nothing_behind(
    context: GraderContext, folder: Path, save: Save
) -> None:
    save("a", ended_at=NOVEMBER)

    done = export(context, folder)

    assert (done.written, done.removed) == (("2026-11",), ("2026-10",))
    assert exported(folder) == {"month=2026-11": ["a", "b", "c"]}


def test_a_session_that_was_taken_back_is_gone(context: GraderContext, store: SqliteStore, folder: Path) -> None:
    with store.transaction():
        retract(store, "b", SkipReason.COPY)

    assert export(context, folder).written == ("2026-11",)
    assert exported(folder) == {"month=2026-10": ["a"], "month=2026-11": ["c"]}


def test_a_label_changes_a_month(context: GraderContext, folder: Path) -> None:
    from grader_daemon.api.labels import Labels

    Labels(context).add("a", quality=1)

    assert export(context, folder).written == ("2026-10",)


def test_a_file_that_somebody_removed_is_written_again(context: GraderContext, folder: Path) -> None:
    (folder / "month=2026-10/grades.ndjson").unlink()

    assert export(context, folder).written == ("2026-10",)


def test_months_before_are_left_as_they_are(context: GraderContext, folder: Path, save: Save) -> None:
    save("a", ended_at=OCTOBER, response_quality=1)

    assert export(context, folder, since=NOVEMBER) == ExportedMonths(written=(), removed=(), unchanged=1, grades=0)
    assert export(context, folder).written == ("2026-10",)


def test_an_export_that_is_interrupted_is_finished_by_the_next(
    context: GraderContext, folder: Path, save: Save, monkeypatch: pytest.MonkeyPatch
) -> None:
    save("a", ended_at=OCTOBER, response_quality=1)
    save("c", ended_at=NOVEMBER, response_quality=1)
    with monkeypatch.context() as broken:
        broken.setattr("grader_daemon.push.month_files._keep", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            export(context, folder)

    assert export(context, folder).written == ("2026-10", "2026-11")


def test_a_month_that_changed_before_one_that_was_written_is_not_forgotten(
    context: GraderContext, folder: Path, save: Save, monkeypatch: pytest.MonkeyPatch
) -> None:
    save("c", ended_at=NOVEMBER, response_quality=1)
    save("a", ended_at=OCTOBER, response_quality=1)
    with monkeypatch.context() as broken:
        broken.setattr(
            month_files,
            "write_table",
            lambda file, *rest: write_table(file, *rest) if "2026-10" in str(file) else 1 / 0,
        )
        with pytest.raises(ZeroDivisionError):
            export(context, folder)

    assert export(context, folder).written == ("2026-11",)


def test_of_a_database_that_went_back_all_is_written_anew(
    context: GraderContext, store: SqliteStore, folder: Path
) -> None:
    index = json.loads((folder / "_grades.json").read_bytes())
    (folder / "_grades.json").write_text(json.dumps(index | {"seq": store.changes.newest() + 1}))

    assert export(context, folder).written == ("2026-10", "2026-11")


def test_the_first_export_may_be_interrupted_too(
    context: GraderContext, tmp_path: Path, save: Save, monkeypatch: pytest.MonkeyPatch
) -> None:
    save("a", ended_at=OCTOBER)
    with monkeypatch.context() as broken:
        broken.setattr("grader_daemon.push.month_files.write_table", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            export(context, tmp_path / "grades")

    assert export(context, tmp_path / "grades").written == ("2026-10",)


def test_a_month_that_is_empty_now_is_gone_with_other_columns_too(
    context: GraderContext, folder: Path, save: Save
) -> None:
    index = json.loads((folder / "_grades.json").read_text())
    (folder / "_grades.json").write_text(json.dumps(index | {"columns": {"id": "integer"}}))
    save("a", ended_at=NOVEMBER)

    assert export(context, folder, since=NOVEMBER).removed == ()
    assert export(context, folder).removed == ("2026-10",)
    assert exported(folder) == {"month=2026-11": ["a", "b", "c"]}


def test_tables_with_other_columns_are_written_anew(context: GraderContext, folder: Path) -> None:
    index = json.loads((folder / "_grades.json").read_text())
    (folder / "_grades.json").write_text(json.dumps(index | {"columns": {"id": "integer"}}))

    assert export(context, folder).written == ("2026-10", "2026-11")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        pytest.param(None, "contains other files than an export; choose another folder", id="something-else"),
        pytest.param("{", "is damaged; remove .* and export again", id="damaged"),
        pytest.param({"database": "other"}, "contains grades of another database", id="another-database"),
        pytest.param({"form": "csv"}, "holds csv, not ndjson", id="another-form"),
    ],
)
def test_what_is_not_ours_is_left_alone(
    context: GraderContext, folder: Path, content: str | dict[str, str] | None, says: str
) -> None:
    index = folder / "_grades.json"
    if content is None:
        index.unlink()
    else:
        index.write_text(content if isinstance(content, str) else json.dumps(json.loads(index.read_text()) | content))
    before = exported(folder)

    with pytest.raises(InputError, match=says):
        export(context, folder)
    assert exported(folder) == before
