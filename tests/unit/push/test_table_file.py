from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grader_daemon.api.documents import grade_document
from grader_daemon.api.tables import TableForm, columns
from grader_daemon.domain.column import Scalar
from grader_daemon.domain.grade import Grade
from grader_daemon.errors import ConfigurationError, InputError, StoreError
from grader_daemon.push.table_file import COLUMNS_VERSION, write_table
from grader_daemon.storage.records import StoredGrade
from tests.reports_examples import TRUST
from tests.strategies import grade, grades


def stored(*made: Grade) -> list[StoredGrade]:
    return [
        StoredGrade(id=number, grade=each, detailed=True, digest=None, loop_told=False, watched=False)
        for number, each in enumerate(made, 1)
    ]


def documents(made: list[StoredGrade]) -> list[dict[str, Any]]:
    return [grade_document(each.grade, each.id, trust=TRUST) for each in made]


def plain(value: Any) -> Any:
    """What a cell of Parquet says, as a JSON document says it."""
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    return value.isoformat() if isinstance(value, date) else value


@given(made=st.lists(grades(), max_size=3))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_file_of_parquet_says_what_the_documents_say(tmp_path: Path, made: list[Grade]) -> None:
    path, kinds = tmp_path / "grades.parquet", columns()
    written = write_table(path, stored(*made), TableForm.PARQUET, TRUST)

    read = pq.read_table(path).to_pylist()

    assert written == len(read) == len(made)
    for row, document in zip(read, documents(stored(*made)), strict=True):
        assert list(row) == list(document)
        for name, value in document.items():
            if name == "skills":
                assert row[name] == (None if value is None else [{"name": used[0], "how": used[1]} for used in value])
            elif kinds[name] is Scalar.TIME:
                assert row[name] == (None if value is None else datetime.fromisoformat(value)), name
            else:
                assert plain(row[name]) == json.loads(json.dumps(value)), name


def test_a_file_of_parquet_names_its_columns_and_their_version_without_a_row(tmp_path: Path) -> None:
    path = tmp_path / "grades.parquet"
    write_table(path, [], TableForm.PARQUET, TRUST)

    schema = pq.read_schema(path)

    assert schema.names == list(columns())
    assert schema.metadata[b"grader_daemon.columns_version"] == str(COLUMNS_VERSION).encode()
    assert str(schema.field("ended_at").type) == "timestamp[us, tz=UTC]"
    assert str(schema.field("edited_paths").type) == "list<element: string>"
    assert str(schema.field("ended_on").type) == "date32[day]"


def test_what_is_no_day_is_not_known(tmp_path: Path) -> None:
    write_table(tmp_path / "grades", stored(grade(ended_on="yesterday")), TableForm.PARQUET, TRUST)

    assert pq.read_table(tmp_path / "grades").to_pylist()[0]["ended_on"] is None


def test_edited_files_are_a_list_or_unknown(tmp_path: Path) -> None:
    made = stored(grade(edited_paths="/w/b.py\n/w/a.py"), grade(edited_paths=None))
    write_table(tmp_path / "grades", made, TableForm.PARQUET, TRUST)
    write_table(tmp_path / "lines", made, TableForm.NDJSON, TRUST)

    paths = [["/w/b.py", "/w/a.py"], None]
    assert pq.read_table(tmp_path / "grades")["edited_paths"].to_pylist() == paths
    assert [json.loads(line)["edited_paths"] for line in (tmp_path / "lines").read_text().splitlines()] == paths


@pytest.mark.parametrize("form", [TableForm.CSV, TableForm.NDJSON])
def test_a_file_of_lines_holds_every_grade(tmp_path: Path, form: TableForm) -> None:
    path, made = tmp_path / "grades", stored(grade(session_id="a"), grade(session_id="b"))

    assert write_table(path, made, form, TRUST) == 2

    if form is TableForm.CSV:
        assert [row["session_id"] for row in csv.DictReader(path.read_text().splitlines())] == ["a", "b"]
    else:
        assert [json.loads(line) for line in path.read_text().splitlines()] == json.loads(json.dumps(documents(made)))


def test_a_table_that_cannot_be_finished_leaves_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "grades.csv"
    path.write_text("before")

    def ends_early() -> Iterator[StoredGrade]:
        yield from stored(grade())
        raise StoreError("the database is gone")

    with pytest.raises(StoreError):
        write_table(path, ends_early(), TableForm.CSV, TRUST)

    assert (path.read_text(), list(tmp_path.iterdir())) == ("before", [path])


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere/grades\.csv: cannot be written: No such file or directory"):
        write_table(tmp_path / "nowhere" / "grades.csv", [], TableForm.CSV, TRUST)


def test_parquet_without_its_package_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConfigurationError, match=r"needs the package pyarrow. Add it: .* install .*'pyarrow>=16'"):
        write_table(tmp_path / "grades.parquet", [], TableForm.PARQUET, TRUST)
    assert list(tmp_path.iterdir()) == []
