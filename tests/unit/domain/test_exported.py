from __future__ import annotations

from grader_daemon.domain.column import ColumnKind
from grader_daemon.domain.exported import Exported, PassedOver


def test_an_export_of_nothing_passed_nothing_over() -> None:
    assert Exported() == Exported(sessions=0, passed_over=PassedOver(sessions=0, lines=()), more=False)


def test_kinds_of_columns_are_named_as_they_are_written() -> None:
    assert [str(kind) for kind in ColumnKind] == ["text", "integer", "number", "boolean", "time", "day", "json"]
