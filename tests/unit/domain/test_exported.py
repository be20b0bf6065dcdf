from __future__ import annotations

from grader_daemon.domain.column import ListOf, Record, Scalar
from grader_daemon.domain.exported import Exported, PassedOver


def test_an_export_of_nothing_passed_nothing_over() -> None:
    assert Exported() == Exported(sessions=0, passed_over=PassedOver(sessions=0, lines=()), more=False)


def test_what_columns_hold_is_said_in_words() -> None:
    tools = ListOf(Record({"tool": Scalar.TEXT, "calls": Scalar.INTEGER}))

    assert [str(each) for each in (Scalar.DAY, ListOf(Scalar.TEXT), tools)] == [
        "day",
        "list of text",
        "list of (tool text, calls integer)",
    ]
