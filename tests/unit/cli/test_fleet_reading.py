"""What a person of a team sees and says of the sessions of all machines; a real PostgreSQL, two homes and a lead's."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from contextlib import closing
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest

from grader_daemon import SelfGrader, bootstrap
from grader_daemon.bootstrap import utc_now
from grader_daemon.domain.calendar import Span
from grader_daemon.domain.rollup import SUMMED_BY_MACHINES, Dimension
from grader_daemon.domain.verdict import VerdictBy
from grader_daemon.fleet.copy_settings import make_fleet_copy, settings_of_copy
from grader_daemon.settings import load_settings
from grader_daemon.storage.lock import only_one
from grader_daemon.storage.records import GradeFilter
from grader_daemon.storage.sqlite.store import SqliteStore
from tests import demo_home
from tests.postgres import Server
from tests.reference.pages import SCHEMAS
from tests.reference.validation import misfits
from tests.unit.cli.conftest import Run

SETTINGS = Path(".config/grader-daemon/config.toml")
COPIES = Path(".cache/grader-daemon")
Ask = Callable[..., str]


class Team:
    """Two machines, of anna and ben, and a lead who has none; the machines have sent what they have."""

    def __init__(self, folder: Path, server: Server, run: Run) -> None:
        self.lead = folder / "lead"
        self.machines = {"anna": folder / "anna", "ben": folder / "ben"}
        self.server = server
        self._run = run

    def __call__(self, home: str, *arguments: str) -> str:
        """Run a command that must go well."""
        ended = self._run(self.lead if home == "lead" else self.machines[home], *arguments)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    def fails(self, home: str, *arguments: str) -> str:
        """Run a command that must not; returns its line."""
        ended = self._run(self.lead if home == "lead" else self.machines[home], *arguments)
        assert ended.returncode == 2, ended.stdout
        return ended.stderr

    def let_in(self, home: str, line: str) -> None:
        place = (self.lead if home == "lead" else self.machines[home]) / SETTINGS
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(line)

    def verdict(self, session: str, *, home: str = "lead") -> str:
        shown = self(home, "show", session)
        return next(line for line in shown.splitlines() if line.startswith("verdict")).split(maxsplit=1)[1]

    def ids(self, *arguments: str) -> list[str]:
        document = json.loads(self("lead", "list", "-n", "100", "--json", *arguments))
        return [grade["session_id"] for grade in document["grades"]]


@pytest.fixture
def team(running: Server, made: Path, tmp_path: Path, run: Run) -> Team:
    running.empty()
    url = running.url()
    team = Team(tmp_path, running, run)
    team.lead.mkdir()
    team("lead", "fleet", "init", "--url", url)
    for user, home in team.machines.items():
        shutil.copytree(made, home)
        team.let_in(user, team("lead", "fleet", "add-host", f"{user}-laptop", "--user", user, "--url", url))
        team(user, "fleet", "push")
    team.let_in("lead", team("lead", "fleet", "add-member", "lead", "--url", url))
    return team


def test_a_lead_sees_the_sessions_of_all_machines_and_those_of_one(team: Team) -> None:
    assert len(team.ids()) == 26
    of_anna = team.ids("--user", "anna")
    assert len(of_anna) == 13
    assert all(session.startswith("anna-laptop/") for session in of_anna)
    assert team.ids("--host", "anna-laptop") == of_anna
    assert "known: " in team.fails("lead", "list", "--host", "nobody-s")
    assert "known: anna, ben" in team.fails("lead", "list", "--user", "nobody")


def test_a_url_asks_a_fleet_and_a_file_this_machine(team: Team) -> None:
    url = (team.lead / SETTINGS).read_text().split('"')[1]
    assert "anna-laptop/demo_03" in team("anna", "list", "--db", url)
    own = team.machines["anna"] / demo_home.DATABASE
    assert "anna-laptop" not in team("lead", "list", "--db-path", str(own))


def test_what_is_read_again_is_only_what_changed(team: Team) -> None:
    assert len(team.ids()) == 26
    team("anna", "label", "demo_05", "--completed", "yes")
    team("anna", "fleet", "push")
    with closing(SqliteStore(next((team.lead / COPIES).glob("*.db")))) as copy:
        before = copy.changes.newest()
    assert team.verdict("anna-laptop/demo_05").startswith("done (labelled by ")
    with closing(SqliteStore(next((team.lead / COPIES).glob("*.db")))) as copy:
        assert [change.subject for change in copy.changes.after(before, 100)] == ["anna-laptop/demo_05"]


_WORK_DONE = ("request_words", "answer_beginning", "last_check", "edited_paths")


@pytest.mark.parametrize("texts", [False, True])
def test_a_copied_grade_is_that_of_its_machine(team: Team, texts: bool) -> None:
    team("anna", "config", "set", "fleet_texts", str(texts).lower())
    team("anna", "fleet", "push", "--take-over")
    own = {each["session_id"]: each for each in json.loads(team("anna", "list", "-n", "50", "--json"))["grades"]}
    copied = json.loads(team("lead", "list", "-n", "50", "--host", "anna-laptop", "--json"))["grades"]
    not_there = ("id", "session_id", "host", "verdict")
    words = ("session_file", "task_summary", "project", *_WORK_DONE)
    for each in copied:
        name = each["session_id"].removeprefix("anna-laptop/")
        expected = {key: value for key, value in own[name].items() if key not in not_there}
        if expected["asked_again"] is not None:
            expected["asked_again"] = f"anna-laptop/{expected['asked_again']}"
        if not texts:
            claims = [{**claim, "subject": None, "words": None} for claim in expected["claims"]]
            expected |= {"session_file": "", "task_summary": None, "project": None, "claims": claims}
            expected |= dict.fromkeys(_WORK_DONE)
        assert {key: value for key, value in each.items() if key not in not_there} == expected
        assert each["host"] == "anna-laptop"
        assert texts or not any(each[word] for word in words)
    assert len(copied) == len(own) == 13


def test_errors_of_machines_are_one_issue_and_told_in_words_only_if_they_were_sent(team: Team) -> None:
    worst = json.loads(team("lead", "report", "errors", "list", "--json"))["issues"][0]
    assert (worst["failures"], worst["sessions"], worst["signal"]) == (18, 6, "")
    team("anna", "config", "set", "fleet_texts", "true")
    team("anna", "fleet", "push", "--take-over")
    again = json.loads(team("lead", "report", "errors", "list", "--json"))["issues"][0]
    assert (again["failures"], again["sessions"]) == (18, 6)
    assert "Permission denied" in again["signal"]


def test_patterns_compare_machines_and_users_and_each_machine_with_itself(team: Team) -> None:
    document = json.loads(team("lead", "report", "patterns", "--json"))
    assert {group["name"]: group["sessions"] for group in document["groups"]["host"]} == {
        "anna-laptop": 7,
        "ben-laptop": 7,
    }
    assert {group["name"] for group in document["groups"]["user"]} == {"anna", "ben"}
    told = team("lead", "report", "patterns")
    assert "Of 2 machines. Changes compare each machine with itself" in told


def test_the_first_look_is_about_the_machines_and_not_about_a_daemon(team: Team) -> None:
    team("lead", "fleet", "add-host", "new-laptop", "--url", team.server.url())
    seen = team("lead")
    assert "fleet" in seen
    assert "3 machines, read " in seen
    assert "; never pushed: new-laptop" in seen
    assert "no contact" not in seen
    assert "daemon  " not in seen
    document = json.loads(team("lead", "--json"))
    schema = json.loads((SCHEMAS / "summary.json").read_text("utf-8"))
    assert list(misfits(document, schema, root=schema)) == []
    assert [host["host"] for host in document["fleet"]["hosts"]] == ["anna-laptop", "ben-laptop", "new-laptop"]


def test_a_lead_sees_how_far_each_machine_is(team: Team) -> None:
    hosts = json.loads(team("lead", "fleet", "status", "--json"))["hosts"]
    assert [(host["host"], host["user"], host["behind"]) for host in hosts] == [
        ("anna-laptop", "anna", 0),
        ("ben-laptop", "ben", 0),
    ]


def test_messages_stay_where_they_are(team: Team) -> None:
    assert "they stay on ben-laptop" in team("lead", "why", "ben-laptop/demo_09")
    assert "they stay on ben-laptop" in team("lead", "show", "ben-laptop/demo_09", "--transcript")


def test_a_label_stands_at_once_and_comes_back_to_its_machine(team: Team) -> None:
    assert team.verdict("anna-laptop/demo_05").startswith("unsure")
    assert "(by lead on " in team("lead", "label", "anna-laptop/demo_05", "--completed", "yes", "--note", "it works")
    assert team.verdict("anna-laptop/demo_05").startswith("done (labelled by lead")
    assert team.verdict("demo_05", home="anna").startswith("unsure")
    team("anna", "fleet", "push")
    assert team.verdict("demo_05", home="anna").startswith("done (labelled by lead")
    labels = json.loads(team("anna", "label", "--list", "--json"))["labels"]
    [label] = [each for each in labels if each["session_id"] == "demo_05"]
    assert (label["session_id"], label["given_by"], label["source"], label["note"]) == (
        "demo_05",
        "lead",
        "fleet",
        "it works",
    )
    team("anna", "fleet", "push")
    assert team.verdict("anna-laptop/demo_05").startswith("done (labelled by lead")


def test_of_two_words_the_newer_stands_on_both_sides_and_both_are_kept(team: Team) -> None:
    team("lead", "label", "anna-laptop/demo_05", "--completed", "yes")
    team("anna", "label", "demo_05", "--completed", "no")
    team("anna", "fleet", "push")
    assert team.verdict("demo_05", home="anna").startswith("not done (labelled by ")
    assert team.verdict("anna-laptop/demo_05").startswith("not done (labelled by ")
    shutil.rmtree(team.lead / COPIES)  # also to somebody who looks for the first time
    assert team.verdict("anna-laptop/demo_05").startswith("not done (labelled by ")
    assert "lead" not in team.verdict("anna-laptop/demo_05")
    team("anna", "label", "demo_05", "--undo")
    assert team.verdict("demo_05", home="anna").startswith("done (labelled by lead")
    team("anna", "fleet", "push")
    assert team.verdict("anna-laptop/demo_05").startswith("done (labelled by lead")


def test_a_label_that_waits_for_its_machine_stays_above_what_the_machine_sends(team: Team) -> None:
    team("lead", "label", "anna-laptop/demo_05", "--completed", "yes")
    with team.server.admin() as connection:  # as a machine that has not heard of it yet sends its row again
        connection.execute(
            "UPDATE grader.grades SET changed_seq = changed_seq + 1000 WHERE host = 'anna-laptop'"
            " AND session_id = 'demo_05'"
        )
        connection.execute("UPDATE grader.hosts SET last_seq = last_seq + 1000 WHERE host = 'anna-laptop'")
    assert team.verdict("anna-laptop/demo_05").startswith("done (labelled by lead")


def test_a_word_is_taken_back_by_who_said_it(team: Team) -> None:
    team("lead", "label", "anna-laptop/demo_05", "--completed", "yes")
    team("anna", "fleet", "push")
    team("lead", "label", "--undo", "anna-laptop/demo_05")
    assert team.verdict("anna-laptop/demo_05").startswith("unsure")
    team("anna", "fleet", "push")
    assert team.verdict("demo_05", home="anna").startswith("unsure")
    assert "has no label to undo" in team.fails("lead", "label", "--undo", "anna-laptop/demo_03")
    with team.server.admin() as connection:
        said = connection.execute("SELECT count(*) FROM grader.labels WHERE given_by = 'lead'").fetchone()
    assert said == (2,)


def test_a_person_takes_back_their_own_word_below_a_newer_one(team: Team) -> None:
    team("lead", "label", "anna-laptop/demo_05", "--completed", "yes")
    team("anna", "label", "demo_05", "--completed", "no")
    team("anna", "fleet", "push")
    assert "withdrawn: done" in team("lead", "label", "--undo", "anna-laptop/demo_05")
    assert team.verdict("anna-laptop/demo_05").startswith("not done (labelled by")
    team("anna", "fleet", "push")
    team("anna", "label", "--undo", "demo_05")
    assert "said by" not in team.verdict("demo_05", home="anna")


def test_an_administrator_s_login_reads_no_fleet(team: Team) -> None:
    assert "not a member's" in team.fails(
        "lead", "label", "anna-laptop/demo_05", "--completed", "no", "--db", team.server.url()
    )


def test_a_damaged_copy_says_that_it_may_be_deleted(team: Team) -> None:
    team.ids()
    copy = next((team.lead / COPIES).glob("*.db"))
    copy.write_bytes(b"no database, and long enough to be one" * 50)
    assert "this is the local copy of a fleet: delete it, and it is created again" in team.fails("lead", "list")


def test_a_url_before_the_command_or_in_the_wrong_place_never_shows_its_password(team: Team) -> None:
    url = (team.lead / SETTINGS).read_text().split('"')[1]
    assert "anna-laptop/demo_03" in team("anna", "--db", url, "list")
    said = team.fails("anna", "list", "--db-path", url)
    assert "a path is expected, not a URL" in said
    assert url.split(":")[2].split("@")[0] not in said


def test_labels_of_a_file_come_back_too(team: Team, tmp_path: Path) -> None:
    table = tmp_path / "labels.csv"
    table.write_text("session_id,completed\nanna-laptop/demo_05,yes\nben-laptop/demo_09,yes\n")
    told = json.loads(team("lead", "label", "--csv", str(table), "--json"))
    assert told["added"] == 2
    for user in team.machines:
        team(user, "fleet", "push")
    assert team.verdict("demo_09", home="ben").startswith("done (labelled by lead")


def test_what_is_forgotten_on_a_machine_is_gone_for_all(team: Team) -> None:
    assert "anna-laptop/demo_05" in team.ids()
    with closing(SqliteStore(team.machines["anna"] / demo_home.DATABASE)) as store, store.transaction():
        from grader_daemon.domain.session import SkipReason
        from grader_daemon.pipeline.saving import retract

        retract(store, "demo_05", SkipReason.COPY)
    team("anna", "fleet", "push")
    assert "anna-laptop/demo_05" not in team.ids()
    assert len(team.ids()) == 25


def test_a_machine_that_begins_anew_is_read_anew(team: Team) -> None:
    assert len(team.ids()) == 26
    database = team.machines["anna"] / demo_home.DATABASE
    for file in database.parent.glob(f"{database.name}*"):
        file.unlink()
    team("anna", "grade", ".timmy/sessions/session_demo_01.json", ".timmy/sessions/session_demo_02.json")
    team("anna", "fleet", "push")
    assert sorted(team.ids("--host", "anna-laptop")) == ["anna-laptop/demo_01", "anna-laptop/demo_02"]
    assert len(team.ids()) == 15


def test_a_machine_whose_database_is_an_older_one_again_is_read_anew(team: Team) -> None:
    backup = team.lead / "backup.db"
    team("anna", "backup", "create", str(backup))
    team("anna", "label", "demo_05", "--completed", "yes")
    team("anna", "fleet", "push")
    assert team.verdict("anna-laptop/demo_05").startswith("done")
    team("anna", "backup", "restore", str(backup))
    team("anna", "label", "demo_06", "--completed", "no")
    team("anna", "fleet", "push")
    assert team.verdict("anna-laptop/demo_06").startswith("not done (labelled by")


def test_who_reads_beside_another_program_sees_what_is_there(
    team: Team, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(team.ids()) == 26
    team("anna", "label", "demo_05", "--completed", "yes")
    team("anna", "fleet", "push")
    copy = next((team.lead / COPIES).glob("*.db"))
    monkeypatch.setattr("grader_daemon.storage.lock._ASKED_SECONDS", 0.0)
    with only_one(copy.with_name(f"{copy.name}.copying")):
        ended = run(team.lead, "show", "anna-laptop/demo_05")
    assert (ended.returncode, "another program is updating this copy of the fleet" in ended.stderr) == (0, True)
    assert "said by" not in ended.stdout
    assert team.verdict("anna-laptop/demo_05").startswith("done (labelled by")


def test_a_row_that_this_version_cannot_read_is_left_out_and_told_until_an_update(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    with team.server.admin() as connection:
        connection.execute(
            "UPDATE grader.grades SET state = 'paused' WHERE host = 'ben-laptop' AND session_id < 'demo_03'"
        )
    assert len(team.ids()) == 23
    assert "sessions that this version cannot read: 3 of ben-laptop" in team("lead")
    with team.server.admin() as connection:
        connection.execute("UPDATE grader.grades SET state = 'complete' WHERE host = 'ben-laptop'")
    assert len(team.ids()) == 23
    monkeypatch.setattr("grader_daemon.fleet.copy_job.__version__", "99.0")
    assert len(team.ids()) == 26
    assert "cannot read" not in team("lead")


def test_a_copy_may_have_the_last_days_alone(team: Team) -> None:
    assert len(team.ids()) == 26
    team("lead", "config", "set", "fleet_copy_days", "5")
    recent = team.ids("--since", "5d")
    assert team.ids() == recent
    assert 0 < len(recent) < 26
    assert "last days (fleet_copy_days), and grader-daemon fleet pull" in team.fails("lead", "show", "anna-laptop/none")
    shutil.rmtree(team.lead / COPIES)
    assert team.ids() == recent


def test_a_clock_that_is_ahead_where_a_copy_is_read_takes_nothing_from_it(team: Team) -> None:
    url = (team.lead / SETTINGS).read_text().split('"')[1]
    settings = settings_of_copy(load_settings(fleet_read_url=url, fleet_copy_file=str(team.lead / "copy.db")))
    with SelfGrader(settings=settings, clock=lambda: utc_now() + timedelta(days=200)) as grader:
        assert grader.read_fleet() == 26
        assert len(list(grader.grades.every(GradeFilter()))) == 26


def test_a_removed_machine_is_gone_from_copies(team: Team) -> None:
    assert len(team.ids()) == 26
    team("lead", "fleet", "remove-host", "ben-laptop", "--yes", "--url", team.server.url())
    assert len(team.ids()) == 13
    assert "1 machine" in team("lead")


def test_where_the_server_is_away_the_copy_says_how_it_was(team: Team, run: Run) -> None:
    assert len(team.ids()) == 26
    team.server.kill()
    try:
        ended = run(team.lead, "list", "--json")
        assert len(json.loads(ended.stdout)["grades"]) == 20
        assert "; these are the fleet's figures of " in ended.stderr
        assert "admin-secret" not in ended.stderr
        refused = run(team.lead, "label", "anna-laptop/demo_05", "--completed", "yes")
        assert refused.returncode == 2
        shutil.rmtree(team.lead / COPIES)
        assert run(team.lead, "list").returncode == 2
    finally:
        team.server.start()
    assert team.verdict("anna-laptop/demo_05").startswith("unsure")


def test_what_is_decided_of_errors_and_alerts_is_decided_for_all(team: Team, tmp_path: Path) -> None:
    issue = json.loads(team("lead", "report", "errors", "list", "--json"))["issues"][0]["fingerprint"]
    team("lead", "report", "errors", "resolve", issue)
    other = tmp_path / "other"
    shutil.copytree(team.lead, other, ignore=shutil.ignore_patterns(".cache"))
    team.machines["other"] = other
    assert json.loads(team("other", "report", "errors", "show", issue, "--json"))["issue"]["state"] == "resolved"
    team("other", "report", "errors", "reopen", issue)
    assert json.loads(team("lead", "report", "errors", "show", issue, "--json"))["issue"]["state"] != "resolved"


def test_a_host_s_login_reads_no_fleet_and_a_person_s_sends_nothing(team: Team) -> None:
    line = (team.machines["anna"] / SETTINGS).read_text().replace("fleet_url", "fleet_read_url")
    team.let_in("lead", line)
    assert "not a member's" in team.fails("lead", "list")
    team.let_in("anna", (team.machines["anna"] / SETTINGS).read_text())
    member = team("lead", "fleet", "add-member", "other", "--url", team.server.url())
    team.let_in("anna", member.replace("fleet_read_url", "fleet_url"))
    assert "not a machine's" in team.fails("anna", "fleet", "push")


def test_a_person_who_left_is_let_in_no_more(team: Team) -> None:
    team("lead", "label", "anna-laptop/demo_05", "--completed", "yes")
    assert team("lead", "fleet", "remove-member", "lead", "--url", team.server.url()) == "Removed lead.\n"
    shutil.rmtree(team.lead / COPIES)
    assert "password authentication failed" in team.fails("lead", "list")
    team("anna", "fleet", "push")
    assert team.verdict("demo_05", home="anna").startswith("done (labelled by lead")
    assert "no member lead" in team.fails("lead", "fleet", "remove-member", "lead", "--url", team.server.url())


def test_a_copy_is_never_made_of_another_database(team: Team) -> None:
    team("lead", "config", "set", "fleet_copy_file", str(team.machines["anna"] / demo_home.DATABASE))
    assert "has other grades" in team.fails("lead", "list")
    assert len(json.loads(team("anna", "list", "-n", "50", "--json"))["grades"]) == 13


def test_a_copy_of_another_fleet_is_said_to_be_one(team: Team) -> None:
    assert len(team.ids()) == 26
    with team.server.admin() as connection:
        connection.execute("UPDATE grader.fleet SET name = gen_random_uuid()")
    assert "copy of another fleet" in team.fails("lead", "list")


@pytest.mark.parametrize(
    "attack",
    [
        pytest.param("DELETE FROM grader.grades", id="delete"),
        pytest.param("UPDATE grader.grades SET task_completed = true", id="update"),
        pytest.param(
            "INSERT INTO grader.labels (host, session_id, given_by, completed)"
            " VALUES ('anna-laptop', 'demo_05', 'anna', true)",
            id="speak-as-another",
        ),
        pytest.param("UPDATE grader.labels SET completed = true", id="change-a-word"),
        pytest.param("DELETE FROM grader.labels", id="remove-a-word"),
        pytest.param("UPDATE grader.hosts SET last_seq = 0", id="a-host"),
        pytest.param("UPDATE grader.fleet SET name = gen_random_uuid()", id="the-fleet"),
        pytest.param("SET ROLE grader_host_anna-laptop", id="be-a-host"),
    ],
)
def test_a_person_changes_no_grade_and_speaks_as_nobody_else(team: Team, attack: str) -> None:
    import psycopg

    url = (team.lead / SETTINGS).read_text().split('"')[1]
    with psycopg.connect(url, autocommit=True) as connection, pytest.raises(psycopg.Error):
        connection.execute(attack.encode())


def test_documents_are_as_their_schemas_say(team: Team) -> None:
    for name, arguments in {
        "fleet-add-member": ("fleet", "add-member", "other"),
        "fleet-remove-member": ("fleet", "remove-member", "other"),
        "fleet-add-host": ("fleet", "add-host", "third", "--user", "cleo"),
    }.items():
        document = json.loads(team("lead", *arguments, "--url", team.server.url(), "--json"))
        schema = json.loads((SCHEMAS / f"{name}.json").read_text("utf-8"))
        assert list(misfits(document, schema, root=schema)) == []


def test_an_interrupted_copy_goes_on_and_a_damaged_one_is_made_anew(team: Team) -> None:
    assert len(team.ids()) == 26
    copy = next((team.lead / COPIES).glob("*.db"))
    with closing(apsw.Connection(str(copy))) as connection:  # as if it had ended in the middle of a new beginning
        connection.execute("UPDATE fleet_hosts SET epoch = -1 WHERE host = 'anna-laptop'")
        connection.execute("DELETE FROM session_list WHERE session_id = 'anna-laptop/demo_05'")
    assert len(team.ids()) == 26
    copy.unlink()
    assert len(team.ids()) == 26


def test_a_list_without_texts_says_why(team: Team) -> None:
    assert "send no task texts or projects" in team("lead", "list")


def test_a_session_of_the_future_stands_where_it_came_in(team: Team) -> None:
    with team.server.admin() as connection:
        connection.execute(
            "UPDATE grader.grades SET ended_at = now() + interval '400 days', graded_at = now() + interval '400 days'"
            " WHERE host = 'anna-laptop' AND session_id = 'demo_05'"
        )
    grades = json.loads(team("lead", "list", "-n", "100", "--json"))["grades"]
    [future] = [grade for grade in grades if grade["session_id"] == "anna-laptop/demo_05"]
    assert datetime.fromisoformat(future["ended_at"]) < utc_now() + timedelta(hours=1)


def test_a_clock_that_is_wrong_is_told(team: Team, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as ahead:
        ahead.setattr("grader_daemon.bootstrap.utc_now", lambda: utc_now() + timedelta(days=400))
        team("anna", "fleet", "push")
    told = run(team.lead, "fleet", "status").stderr
    assert "the clock of anna-laptop was 400 d" in told
    assert "ben-laptop" not in told


def test_a_clock_that_is_ahead_where_the_state_is_asked_makes_no_machine_silent(
    team: Team, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with team.server.admin() as connection:
        connection.execute("UPDATE grader.watch SET member = 'lead', worked_at = now()")
        connection.execute("UPDATE grader.hosts SET last_seen = now() - interval '2 days' WHERE host = 'ben-laptop'")
    monkeypatch.setattr("grader_daemon.fleet.commands.utc_now", lambda: utc_now() + timedelta(days=30))
    told = run(team.lead, "fleet", "status").stderr
    assert re.findall(r"no contact with (\S+) since .*, (.*) ago", told) == [("ben-laptop", "2 days")]
    assert "no machine watches" not in told


def test_a_fleet_that_nobody_watches_is_told(team: Team, run: Run) -> None:
    assert "no machine watches this fleet: it raises no alerts" in run(team.lead, "fleet", "status").stderr
    assert "no machine watches the fleet" in run(team.lead, "doctor").stdout
    with team.server.admin() as connection:
        connection.execute("UPDATE grader.watch SET member = 'lead', worked_at = now()")
    assert "no machine watches" not in run(team.lead, "fleet", "status").stderr


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two sessions of each machine are read first, then five at once."""
    monkeypatch.setattr("grader_daemon.fleet.copy_job._FIRST", 2)
    monkeypatch.setattr("grader_daemon.fleet.copy_job._AT_ONCE", 5)


@pytest.mark.usefixtures("small_batches")
def test_the_newest_are_there_first_and_all_that_is_left_is_pulled(
    team: Team, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader_daemon.cli.reading._WAITS_SECONDS", 0.0)
    first = run(team.lead, "list", "-n", "100", "--json")
    assert "older sessions are not read yet; to read them: grader-daemon fleet pull" in first.stderr
    assert len(json.loads(first.stdout)["grades"]) == 4
    document = json.loads(team("lead", "fleet", "pull", "--json"))
    schema = json.loads((SCHEMAS / "fleet-pull.json").read_text("utf-8"))
    assert list(misfits(document, schema, root=schema)) == []
    assert document["sessions"] == 22
    assert len(team.ids()) == 26
    assert "not read yet" not in run(team.lead, "list").stderr
    assert team("lead", "fleet", "pull") == "Read 0 sessions.\n"


@pytest.mark.usefixtures("small_batches")
def test_the_first_command_has_all_totals_without_waiting_for_older_sessions(
    team: Team, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader_daemon.cli.reading._WAITS_SECONDS", 600.0)
    first, then = run(team.lead, "--json"), run(team.lead, "--json")
    assert ("not read yet" in first.stderr, "not read yet" in then.stderr) == (True, False)
    totals, whole = (json.loads(ended.stdout)["summary"]["sessions"] for ended in (first, then))
    assert totals == whole > 4


@pytest.mark.usefixtures("small_batches")
def test_what_comes_in_is_read_before_all_older_sessions_are(team: Team) -> None:
    url = (team.lead / SETTINGS).read_text().split('"')[1]
    settings = load_settings(fleet_read_url=url, fleet_copy_file=str(team.lead / "copy.db"))
    with SelfGrader(settings=settings_of_copy(settings)) as grader:
        copy = grader.context.fleet
        assert copy is not None
        with closing(copy.catch_up(utc_now)) as batches:
            next(batches)
            team("anna", "label", "demo_05", "--completed", "yes")
            team("anna", "fleet", "push")
            while not _is_labelled(grader, "anna-laptop/demo_05"):
                next(batches)
        assert copy.older() > 0


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("lacking", [False, True])
def test_totals_are_of_all_sessions_while_they_are_read_if_all_machines_sent_theirs(team: Team, lacking: bool) -> None:
    if lacking:  # as of a machine that did not push since the server was brought to this version
        with team.server.admin() as connection:
            connection.execute("DELETE FROM grader.summed_days WHERE host = 'ben-laptop'")
    url = (team.lead / SETTINGS).read_text().split('"')[1]
    settings = load_settings(fleet_read_url=url, fleet_copy_file=str(team.lead / "copy.db"))
    with SelfGrader(settings=settings_of_copy(settings)) as grader:
        copy = grader.context.fleet
        assert copy is not None
        with closing(copy.catch_up(utc_now)) as batches:
            next(batches)
            assert copy.older() > 0
            first = _totals(grader)
        grader.read_fleet()
        assert (_totals(grader) == first) is not lacking
        [left] = grader.context.store.rows("SELECT count(*) FROM fleet_sums")
        assert left == (0,)


def _totals(grader: SelfGrader) -> list[Any]:
    """Sums of all groups that machines count and of each machine, over all days and on each."""
    rollups = grader.context.store.rollups
    year = Span(date(2026, 1, 1), date(2026, 12, 31))
    dimensions = {*SUMMED_BY_MACHINES, Dimension.HOST}
    of_names = [rollups.group(dimension, name, year) for dimension, name in sorted(rollups.groups(year, dimensions))]
    return [
        rollups.groups(year, dimensions),
        *of_names,
        rollups.days(year),
        rollups.spent(year, Dimension.MODEL),
        rollups.days_with_sessions(),
        rollups.first_day(),
    ]


def _is_labelled(grader: SelfGrader, session: str) -> bool:
    stored = grader.context.store.grades.stored([session])
    return session in stored and stored[session].grade.verdict_by is VerdictBy.PERSON


def test_what_cannot_be_read_of_decisions_is_told_and_stops_no_command(team: Team, run: Run) -> None:
    assert len(team.ids()) == 26
    with team.server.admin() as connection:
        connection.execute("""UPDATE grader.fleet SET decisions = '{"alerts": "x"}'""")
    ended = run(team.lead, "list")
    assert (ended.returncode, "cannot read the fleet's decisions" in ended.stderr) == (0, True)
    issue = json.loads(team("lead", "report", "errors", "list", "--json"))["issues"][0]["fingerprint"]
    team("lead", "report", "errors", "resolve", issue)  # which decides anew
    assert "cannot be read" not in run(team.lead, "list").stderr


def test_a_category_of_a_newer_machine_is_unknown(team: Team) -> None:
    with team.server.admin() as connection:
        connection.execute("UPDATE grader.error_issues SET category = 'no-such-category'")
        newer = """replace(failures::text, '"category":"', '"category":"new_')::json"""
        connection.execute(f"UPDATE grader.grades SET failures = {newer}".encode())
    assert len(team.ids()) == 26
    issues = json.loads(team("lead", "report", "errors", "list", "--json"))["issues"]
    assert {issue["category"] for issue in issues} == {"unknown"}


def test_a_session_that_cannot_be_kept_takes_no_other_with_it(team: Team) -> None:
    with team.server.admin() as connection:
        connection.execute(
            """UPDATE grader.grades SET failures = '[{"index": 99999999999999999999, "tool": "x", "category":"""
            """ "unknown"}]' WHERE session_id = (SELECT max(session_id) FROM grader.grades) AND host = 'anna-laptop'"""
        )
    url = (team.lead / SETTINGS).read_text().split('"')[1]
    settings = settings_of_copy(load_settings(fleet_read_url=url, fleet_copy_file=str(team.lead / "copy.db")))
    with closing(bootstrap.open_store(settings)) as store, closing(make_fleet_copy(settings, store)) as copy:
        assert next(copy.catch_up(utc_now)) == 26
        assert sum(map(len, store.grades.batches())) == 25
    assert len(team.ids()) == 25
