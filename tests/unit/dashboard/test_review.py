"""Judging: nothing of the grader before, everything kept and taken back, nothing believed that a browser made up."""

from __future__ import annotations

import re
from contextlib import closing
from datetime import timedelta
from html import unescape
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from grader_daemon.api.calibration import Calibrations
from grader_daemon.api.grader import SelfGrader
from grader_daemon.api.labels import Labels
from grader_daemon.domain.feedback import FeedbackSource, Sampling
from grader_daemon.errors import StoreBusyError
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.e2e.session_files import write
from tests.strategies import NOW, calibration, grade, json_answer, json_round, json_user, model, new_grade
from tests.unit.dashboard.conftest import ACCESS, MakeClient
from tests.waiting import wait_until

_FIELD = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)">')


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "grades.db"


@pytest.fixture
def client(client_of: MakeClient, path: Path) -> TestClient:
    """A client of a home with four finished sessions, of which the model finds one likely done."""
    store = SqliteStore(path)
    made = [
        grade(
            session_id=f"s{number}",
            session_file=f"/s/{number}.json",
            ended_at=NOW - timedelta(hours=number),
            p_completed=0.777,
            task_summary=f"Task {number}",
            request=number,
        )
        for number in range(4)
    ]
    with store.transaction():
        save_grades(store, [new_grade(each) for each in made])
    store.close()
    return client_of(path)


def _form(text: str) -> dict[str, str]:
    """Return the hidden fields of the form that asks."""
    return dict(_FIELD.findall(text.split('<form method="post" action="/review" ')[1].split("</form>", maxsplit=1)[0]))


def _said(path: Path) -> list[tuple[str, bool | None, int | None, FeedbackSource, Sampling | None, int | None]]:
    store = SqliteStore(path)
    said = [
        (each.session_id, each.completed, each.quality, each.source, each.sampled, each.withdraws)
        for each in store.feedback.said()
    ]
    store.close()
    return said


def test_nothing_of_the_verdict_is_told_before_one_has_judged(client: TestClient) -> None:
    text = client.get("/review").text.split("<main")[1].split("</main>")[0]
    assert "Was the task done?" in text
    for told in ("0.78", "0.777", "grader says", 'class="verdict', "done</"):
        assert told not in text


def test_the_same_session_is_asked_about_when_the_page_is_read_again(client: TestClient) -> None:
    one, other = _form(client.get("/review").text), _form(client.get("/review").text)
    assert one.pop("form_token") != other.pop("form_token")
    assert one == other


def test_answer_is_kept_with_how_the_session_was_chosen_and_then_the_grader_speaks(
    client: TestClient, path: Path
) -> None:
    form = _form(client.get("/review").text)
    answer = client.post("/review", data={**form, "completed": "no", "quality": "2", "note": " so so "})
    assert answer.status_code == 303
    [said] = _said(path)
    assert said == (form["session"], False, 2, FeedbackSource.REVIEW, Sampling(form["sampled"]), None)
    text = client.get(answer.headers["location"]).text
    assert "not done, quality 2 of 5" in text
    assert "The grader says:" in text
    assert "label 50 sessions" not in text, "that is being done"
    assert "1 of 5 this week" in text
    assert "1 verdict moved, this one: done \N{RIGHTWARDS ARROW} not done. Last 28 days: unknown:" in text
    assert _form(text)["session"] != form["session"]


def test_more_answers_than_a_week_asks_for_are_counted_alone(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader_daemon.dashboard.pages.review.WEEKLY_QUESTIONS", 2)
    for _ in range(3):
        client.post("/review", data={**_form(client.get("/review").text), "completed": "no"})

    assert "3 this week: that is enough" in client.get("/review").text


def test_answers_of_a_week_are_tried_out_without_writing_anything(
    client: TestClient, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader_daemon.dashboard.pages.review.WEEKLY_QUESTIONS", 2)
    for answer in ("no", "yes"):
        assert "What your answers change" not in client.get("/review").text
        client.post("/review", data={**_form(client.get("/review").text), "completed": answer})

    def tried() -> str:
        text = client.get("/review").text.partition("What your answers change")[2].partition("</section>")[0]
        return text if "Learning from" not in text else ""

    text = wait_until(tried, "the trial ends")
    assert "No verdict would change" in text
    assert "Use it" not in text
    assert re.findall(r"the grader: (\d+) % likely done; you: (done|not done)", text) == [
        ("78", "not done"),
        ("78", "done"),
    ], "the most surprising first"
    with closing(SqliteStore(path)) as store:
        assert store.calibrations.last_look() is None


def test_better_grader_is_used_by_a_click(client: TestClient, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader_daemon.dashboard.pages.review.WEEKLY_QUESTIONS", 0)
    monkeypatch.setattr(Calibrations, "try_out", lambda _: calibration(model=model(version="m2")))
    text = wait_until(lambda: _with(client.get("/review").text, "Use it"), "the trial ends")
    assert 'action="/review/use"' in text

    assert client.post("/review/use", data={"form_token": ACCESS.form_token}).headers["location"] == "/review"
    with closing(SqliteStore(path)) as store:
        assert store.calibrations.last_look() is not None


def test_trial_that_fails_says_why(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Calibrations) -> None:
        raise StoreBusyError("the database is locked")

    monkeypatch.setattr("grader_daemon.dashboard.pages.review.WEEKLY_QUESTIONS", 0)
    monkeypatch.setattr(Calibrations, "try_out", fail)

    wait_until(lambda: _with(client.get("/review").text, "the database is locked"), "the trial ends")


def _with(text: str, words: str) -> str:
    """Return a text if it has words, else nothing."""
    return text if words in text else ""


def test_what_the_grader_says_after_a_judgement_is_not_the_word_of_the_person(client: TestClient) -> None:
    form = _form(client.get("/review").text)
    text = client.get(client.post("/review", data={**form, "completed": "no"}).headers["location"]).text

    said = text.split("The grader says:")[1].split("</p>")[0]
    assert "not done" not in said
    assert "automatically" not in said
    assert "done, by the rules." in said


def test_judgement_that_a_locked_database_does_not_take_is_offered_again_whole(
    client: TestClient, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = {**_form(client.get("/review").text), "completed": "no", "note": "so <so>"}
    with monkeypatch.context() as locked:
        locked.setattr(Labels, "add", _refuse)
        answer = client.post("/review", data=form)

    assert answer.status_code == 503
    assert "locked" in answer.text
    assert "so &lt;so&gt;" in answer.text
    again = {name: unescape(value) for name, value in _FIELD.findall(answer.text.split("<main")[1])}
    assert client.post("/review", data=again).status_code == 303
    assert [(each[0], each[1]) for each in _said(path)] == [(form["session"], False)]


def _refuse(*_: object, **__: object) -> None:
    raise StoreBusyError("the database is locked by another program")


def test_long_request_can_be_read_whole(client_of: MakeClient, tmp_path: Path) -> None:
    asked = [f"Line {number} of what is wanted." for number in range(60)]
    write(tmp_path / "sessions", "long", [json_user("\n".join(asked)), *json_round("{}"), json_answer("Done.")])
    with SelfGrader(db_path=tmp_path / "grades.db", watch_roots=tmp_path / "sessions") as grader:
        grader.grade_latest_sessions()

    text = client_of(tmp_path / "grades.db").get("/review").text

    cut, whole = text.split("<h3>Request</h3>")[1].split("</section>")[0].split("Show all 60 lines")
    assert asked[-1] not in cut
    assert asked[-1] in whole


def test_what_was_taken_back_is_asked_again(client: TestClient, path: Path) -> None:
    form = _form(client.get("/review").text)
    client.post("/review", data={**form, "completed": "yes"})
    undone = client.post("/review/undo", data=form)
    assert [said[5] is None for said in _said(path)] == [True, False]
    assert _form(client.get(undone.headers["location"]).text)["session"] == form["session"]


def test_skipped_session_is_not_asked_about_again(client: TestClient) -> None:
    seen = []
    address = "/review"
    for _ in range(4):
        text = client.get(address).text
        seen.append(_form(text)["session"])
        found = re.search(r'id="skip" href="([^"]+)"', text)
        assert found is not None
        address = found[1]
    assert sorted(seen) == ["s0", "s1", "s2", "s3"]
    assert "No finished session is left" in client.get(address).text


@pytest.mark.parametrize("changed", [{"sampled": "random"}, {"session": "s3"}, {"signature": "0"}, {"signature": ""}])
def test_how_it_was_chosen_cannot_be_made_up(client: TestClient, path: Path, changed: dict[str, str]) -> None:
    form = _form(client.get("/review").text)
    given = {**form, **changed, "completed": "yes"}
    if {name: given[name] for name in form} == form:
        given["sampled"] = "uncertain" if form["sampled"] == "random" else "random"
    answer = client.post("/review", data=given)
    assert answer.status_code == 400
    assert "nothing was saved" in answer.text
    assert _said(path) == []


@pytest.mark.parametrize(
    "given",
    [{"completed": "maybe"}, {"completed": "yes", "quality": "6"}, {"completed": "yes", "quality": "12"}, {}],
)
def test_answer_out_of_bounds_is_refused(client: TestClient, path: Path, given: dict[str, str]) -> None:
    form = _form(client.get("/review").text)
    assert "nothing was saved" in client.post("/review", data={**form, **given}).text
    assert _said(path) == []


def test_session_is_labelled_on_its_own_page_and_that_is_taken_back(client: TestClient, path: Path) -> None:
    token = {"form_token": ACCESS.form_token}
    assert client.post("/session/s1/label", data={**token, "completed": "no"}).headers["location"] == "/session/s1"
    assert client.post("/session/s1/unlabel", data=token).status_code == 303
    first, second = _said(path)
    assert first[:4] == ("s1", False, None, FeedbackSource.LABEL)
    assert second[5] is not None


def test_trust_says_too_few_where_nobody_judged_and_counts_where_somebody_did(client: TestClient) -> None:
    text = client.get("/trust").text
    assert "Too few labels" in text
    assert "No labels yet." in text
    client.post("/session/s1/label", data={"form_token": ACCESS.form_token, "completed": "yes"})
    assert "No labels yet." not in client.get("/trust").text


def test_a_form_that_is_sent_twice_is_one_answer(client: TestClient, path: Path) -> None:
    form = {**_form(client.get("/review").text), "completed": "yes"}

    statuses = [client.post("/review", data=form).status_code for _ in range(3)]

    assert statuses == [303, 303, 303]
    assert len(_said(path)) == 1


@pytest.mark.parametrize("signature", ["\N{LATIN SMALL LETTER E WITH ACUTE}", ""])
def test_a_signature_that_is_none_is_refused_in_a_line(client: TestClient, path: Path, signature: str) -> None:
    form = {**_form(client.get("/review").text), "completed": "yes", "signature": signature}

    assert client.post("/review", data=form).status_code == 400
    asked = client.get("/review", params={"ask": "s1", "signature": signature}, follow_redirects=True)
    assert asked.status_code == 400
    assert _said(path) == []
