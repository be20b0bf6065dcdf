from __future__ import annotations

from pathlib import Path

import pytest

from grader_daemon.errors import InputError
from grader_daemon.pipeline.labelled import LabelRow, Sampler, read_labels, samples_in
from grader_daemon.rules import load_rules
from tests.e2e.session_files import turns, write
from tests.units import hermes

YES = LabelRow(completed=True, source="", task="")


@pytest.fixture(scope="module")
def sampler() -> Sampler:
    return Sampler(load_rules())


def _table(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "labels.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        pytest.param("session_id,completed\na,yes\n", {"a": YES}, id="completed"),
        pytest.param("success,session_id\n1.0,a\n", {"a": YES}, id="success-in-any-order"),
        pytest.param(b"\xef\xbb\xbfsession_id,success\na, TRUE \n", {"a": YES}, id="as-a-spreadsheet-writes-it"),
        pytest.param(
            "session_id,source,task_id,success\na,here,t1,0\n",
            {"a": LabelRow(completed=False, source="here", task="t1")},
            id="with-source-and-task",
        ),
        pytest.param("session_id,completed,quality\na,yes,\nb,,3\n", {"a": YES}, id="no-word-on-completion"),
    ],
)
def test_a_table_of_labels_is_read(tmp_path: Path, table: str | bytes, expected: dict[str, LabelRow]) -> None:
    assert read_labels(_table(tmp_path, table)) == expected


@pytest.mark.parametrize(
    ("table", "said"),
    [
        pytest.param("id,completed\na,1\n", "line 1: there is no column session_id", id="another-column"),
        pytest.param("session_id\na\n", "line 1: expected one column completed or success", id="no-outcome"),
        pytest.param("", "line 1: there is no column session_id", id="empty"),
        pytest.param("session_id,completed\na,1\nb,maybe\n", "line 3: completed is 'maybe'", id="neither-yes-nor-no"),
        pytest.param("session_id,completed\na\n", "line 2: 1 values for 2 columns", id="a-short-row"),
        pytest.param("session_id,completed\na,1\na,0\nb,x\n", "is already in line 2 (and 1 more)", id="several"),
        pytest.param(b"session_id,completed\n\xff,1\n", "is not UTF-8 text", id="not-utf-8"),
    ],
)
def test_a_wrong_table_is_refused_in_one_line(tmp_path: Path, table: str | bytes, said: str) -> None:
    with pytest.raises(InputError, match=r"labels\.csv") as refused:
        read_labels(_table(tmp_path, table))
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_missing_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        read_labels(tmp_path / "labels.csv")


def test_samples_are_the_labelled_sessions_of_a_folder(tmp_path: Path, sampler: Sampler) -> None:
    write(tmp_path / "deep", "a")
    write(tmp_path, "unlabelled")
    (tmp_path / "session_broken.json").write_text("{")
    label = LabelRow(completed=False, source="here", task="t")
    (made,) = samples_in(tmp_path, {"a": label, "gone": label}, sampler=sampler, sources=hermes(zone=None))
    assert (made.completed, made.source, made.task, made.by_rules) == (False, "here", "t", True)
    assert made.features


def test_without_a_task_what_was_asked_for_is_the_task(tmp_path: Path, sampler: Sampler) -> None:
    asked = {"a": "Fix the long broken parser", "b": "fix the long broken parser ", "c": "Write a poem about rain"}
    for name, task in asked.items():
        write(tmp_path, name, turns(task=task))
    found = [
        made.task
        for made in samples_in(tmp_path, dict.fromkeys(asked, YES), sampler=sampler, sources=hermes(zone=None))
    ]
    assert found[0] == found[1] != found[2]


def test_a_missing_folder_is_refused(tmp_path: Path, sampler: Sampler) -> None:
    with pytest.raises(InputError, match="no such folder"):
        next(samples_in(tmp_path / "gone", {}, sampler=sampler, sources=hermes(zone=None)))
