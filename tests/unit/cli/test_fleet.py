from __future__ import annotations

import json
import re
import shutil
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import apsw
import psycopg
import pytest

from grader_daemon.api.tables import columns
from grader_daemon.fleet import server_schema as schema
from tests import demo_home
from tests.certificates import Authority
from tests.e2e.daemon_process import environment
from tests.postgres import Server, free_port
from tests.reference.pages import SCHEMAS
from tests.reference.validation import misfits
from tests.unit.cli.conftest import Run
from tests.waiting import wait_until

SETTINGS = Path(".config/grader-daemon/config.toml")


@pytest.fixture
def server(running: Server) -> Server:
    """The server with nothing of another test in it."""
    running.empty()
    return running


@pytest.fixture
def host(server: Server, made: Path, tmp_path: Path, run: Run) -> Path:
    """A home with grades, let into the fleet as `laptop`."""
    home = shutil.copytree(made, tmp_path / "home")
    assert run(home, "fleet", "init", "--url", server.url()).returncode == 0
    return _let_in(home, "laptop", server, run)


def _let_in(home: Path, name: str, server: Server, run: Run) -> Path:
    added = run(home, "fleet", "add-host", name, "--url", server.url())
    assert added.returncode == 0, added.stderr
    (home / SETTINGS).parent.mkdir(parents=True, exist_ok=True)
    (home / SETTINGS).write_text(added.stdout)
    return home


def _hosts(home: Path, run: Run, server: Server) -> dict[str, dict[str, object]]:
    document = json.loads(run(home, "fleet", "status", "--url", server.url(), "--json").stdout)
    return {host["host"]: host for host in document["hosts"]}


def _counted(server: Server) -> int:
    with server.admin() as connection:
        [count] = connection.execute("SELECT count(*) FROM grader.grades").fetchone() or (-1,)
        return int(count)


def test_all_grades_are_sent_once_and_a_label_when_it_is_given(host: Path, server: Server, run: Run) -> None:
    told = [run(host, "fleet", "push").stdout, run(host, "fleet", "push").stdout]
    run(host, "label", "demo_03", "--completed", "no")
    assert [*told, run(host, "fleet", "push").stdout] == [
        "Sent 13 sessions.\n",
        "Sent 0 sessions.\n",
        "Sent 1 session.\n",
    ]
    with server.admin() as connection:
        said = connection.execute("SELECT task_completed, verdict_by FROM grader.grades WHERE session_id = 'demo_03'")
        assert said.fetchall() == [(False, "person")]
    assert _counted(server) == 13


def test_the_table_has_the_columns_of_a_grade(host: Path, server: Server) -> None:
    del host
    with server.admin() as connection:
        names = [column.name for column in connection.execute("SELECT * FROM grader.grades").description or ()]
    beside = ["changed_seq", "received_at", "request", "wording"]
    assert sorted(names) == sorted([*columns(), *beside])


@pytest.mark.parametrize("texts", [False, True])
def test_words_of_sessions_are_sent_only_if_somebody_says_so(host: Path, server: Server, run: Run, texts: bool) -> None:
    with closing(apsw.Connection(str(host / demo_home.DATABASE))) as database:
        claims = '[{"kind":"file_written","support":"unsupported","subject":"secret.py","index":1,"evidence":[]}]'
        database.execute(
            "UPDATE session_details SET project = '/home/me/secret', claims = ?, request_words = 'a', last_check = 'b',"
            " answer_beginning = 'c', edited_paths = '[\"d\"]'",
            (claims,),
        )
    run(host, "config", "set", "fleet_texts", str(texts).lower())
    run(host, "fleet", "push")
    with server.admin() as connection:
        counted = connection.execute(
            "SELECT count(task_summary), count(session_file), count(project), count(request_words), count(last_check),"
            " count(answer_beginning), count(edited_paths),"
            " count(*) FILTER (WHERE claims @? '$[*] ? (@.subject != null)') FROM grader.grades"
        ).fetchone()
    assert counted == ((13,) * 8 if texts else (0,) * 8)


def test_rows_of_another_program_stop_no_other(host: Path, server: Server, run: Run) -> None:
    odd: dict[str, list[str | int]] = {
        "error_types": [r'["\ud800"]', "none", "{}", "[1]"],
        "tools_with_errors": ["null"],
        "response_quality": [99],
        "tool_calls_efficient": [0],
        "graded_at": ["0001-01-01T00:00:00+01:00"],
        "session_start": ["9999-12-31T23:59:59-01:00"],
    }
    values = [(name, value) for name, each in odd.items() for value in each]
    with closing(apsw.Connection(str(host / demo_home.DATABASE))) as database:
        for number, (name, value) in enumerate(values, 1):
            database.execute(f"UPDATE session_grades SET {name} = ? WHERE session_id = ?", (value, f"demo_{number:02}"))
        database.execute("DELETE FROM session_details WHERE session_id = 'demo_10'")
    sent = run(host, "fleet", "push")
    assert (sent.stdout, sent.stderr) == ("Sent 13 sessions.\n", "")
    with server.admin() as connection:
        rows: dict[str, Any] = dict(
            connection.execute("SELECT session_id, row_to_json(g) FROM grader.grades AS g").fetchall()
        )
    bare = rows["demo_10"]
    assert (bare["state"], bare["scored"], bare["unsure"], bare["tools"]) == ("complete", True, True, [])
    kept = [rows[f"demo_{number:02}"][name] for number, (name, _) in enumerate(values, 1)]
    assert kept == [[], [], [], [], [], None, None, None, None]


def test_status_tells_each_host_and_its_document_is_as_its_schema_says(host: Path, server: Server, run: Run) -> None:
    assert "never pushed" in run(host, "fleet", "status", "--url", server.url()).stdout
    run(host, "fleet", "push")
    document = json.loads(run(host, "fleet", "status", "--json").stdout)
    schema = json.loads((SCHEMAS / "fleet-status.json").read_text("utf-8"))
    assert list(misfits(document, schema, root=schema)) == []
    [laptop] = document["hosts"]
    assert (laptop["host"], laptop["behind"], laptop["other_machine_at"]) == ("laptop", 0, None)


def test_status_says_that_a_member_of_a_server_names_the_database(tmp_path: Path, run: Run) -> None:
    place = tmp_path / ".config" / "grader-daemon" / "config.toml"
    place.parent.mkdir(parents=True)
    (tmp_path / "token").write_text("secret")
    (tmp_path / "token").chmod(0o600)
    server = 'fleet_read_url = "https://fleet.example.org"'
    place.write_text(f'{server}\nfleet_read_token_file = "{tmp_path / "token"}"\n')

    refused = run(tmp_path, "fleet", "status")

    assert refused.returncode == 2
    assert (
        "fleet status needs the fleet's database, which a server does not hand on: name it with --url" in refused.stderr
    )


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        pytest.param("fleet-init", ["fleet", "init"], id="init"),
        pytest.param("fleet-add-host", ["fleet", "add-host", "other"], id="add-host"),
        pytest.param("fleet-remove-host", ["fleet", "remove-host", "laptop", "--yes"], id="remove-host"),
    ],
)
def test_documents_are_as_their_schemas_say(
    host: Path, server: Server, run: Run, name: str, arguments: list[str]
) -> None:
    document = json.loads(run(host, *arguments, "--url", server.url(), "--json").stdout)
    schema = json.loads((SCHEMAS / f"{name}.json").read_text("utf-8"))
    assert list(misfits(document, schema, root=schema)) == []


def test_the_document_of_a_push_is_as_its_schema_says(host: Path, run: Run) -> None:
    document = json.loads(run(host, "fleet", "push", "--json").stdout)
    schema = json.loads((SCHEMAS / "push-fleet.json").read_text("utf-8"))
    assert (document["sessions"], list(misfits(document, schema, root=schema))) == (13, [])


def test_a_host_is_removed_with_its_data_and_let_in_again(host: Path, server: Server, run: Run) -> None:
    run(host, "fleet", "push")
    assert "--yes" in run(host, "fleet", "remove-host", "laptop", "--url", server.url()).stderr
    removed = run(host, "fleet", "remove-host", "laptop", "--url", server.url(), "--yes")
    assert removed.stdout == "Removed laptop and 13 of its grades.\n"
    assert _counted(server) == 0
    refused = run(host, "fleet", "push")
    assert refused.returncode == 2
    assert "password authentication failed" in refused.stderr
    _let_in(host, "laptop", server, run)
    assert run(host, "fleet", "push").stdout == "Sent 13 sessions.\n"


def test_a_second_machine_with_the_same_login_is_refused_and_told(
    host: Path, server: Server, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(host, "fleet", "push")
    monkeypatch.setattr("grader_daemon.fleet.admin.machine_id", lambda: "another")
    refused = run(host, "fleet", "push")
    assert refused.returncode == 2
    assert "another machine or database sends as host laptop" in refused.stderr
    assert "a second machine tried to send as laptop" in run(host, "fleet", "status").stderr
    assert run(host, "fleet", "push", "--take-over").stdout == "Sent 13 sessions.\n"
    assert _hosts(host, run, server)["laptop"]["other_machine_at"] is None
    assert _counted(server) == 13


def test_a_clone_with_the_same_identity_is_refused_while_the_other_pushes(host: Path, server: Server, run: Run) -> None:
    url = json.loads(json.dumps((host / SETTINGS).read_text().split('"')[1]))
    with psycopg.connect(url, application_name="grader-daemon push"):
        refused = run(host, "fleet", "push")
    assert "another program sends as host laptop right now" in refused.stderr
    assert _counted(server) == 0


def test_what_the_server_lost_is_sent_again(host: Path, server: Server, run: Run) -> None:
    run(host, "fleet", "push")
    with server.admin() as connection:
        connection.execute("DELETE FROM grader.grades")
        connection.execute("UPDATE grader.hosts SET last_seq = 0")
    assert run(host, "fleet", "push").stdout == "Sent 13 sessions.\n"
    assert _counted(server) == 13


def test_a_new_database_takes_the_place_of_the_one_before(host: Path, server: Server, run: Run) -> None:
    run(host, "fleet", "push")
    database = host / demo_home.DATABASE
    for file in database.parent.glob(f"{database.name}*"):
        file.unlink()
    run(host, "grade", ".timmy/sessions/session_demo_01.json", ".timmy/sessions/session_demo_02.json")
    assert run(host, "fleet", "push").stdout == "Sent 2 sessions.\n"
    assert _counted(server) == 2


def test_a_host_that_comes_back_after_thirty_days_catches_up_whatever_its_clock(
    host: Path, server: Server, run: Run
) -> None:
    run(host, "fleet", "push")
    with server.admin() as connection:
        connection.execute("UPDATE grader.hosts SET last_seen = now() - interval '30 days', clock_ahead = -42")
    told = run(host, "fleet", "status", "--url", server.url())
    assert "42 s behind" in told.stdout
    assert re.search(r"no contact with laptop since \S+ \S+ UTC, 30 days ago", told.stderr)
    run(host, "label", "demo_05", "--completed", "no")
    run(host, "label", "demo_06", "--completed", "no")
    assert run(host, "fleet", "push").stdout == "Sent 2 sessions.\n"
    seen = datetime.fromisoformat(str(_hosts(host, run, server)["laptop"]["last_seen"]))
    assert datetime.now(UTC) - seen < timedelta(minutes=5)  # noqa: TID251  the server's clock is this one
    assert "no contact" not in run(host, "fleet", "status", "--url", server.url()).stderr


@pytest.mark.parametrize("command", [["fleet", "push"], ["fleet", "status"]])
def test_an_older_program_says_that_it_must_be_updated(
    host: Path, server: Server, run: Run, command: list[str]
) -> None:
    with server.admin() as connection:
        connection.execute("INSERT INTO grader.schema_versions (version) VALUES (99)")
    refused = run(host, *command)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.endswith(
        f"its schema 99 is newer than this program's {schema.newest_version()}; update grader-daemon\n"
    )


def test_a_fleet_of_the_first_schema_is_brought_to_this_one_and_sent_again(
    server: Server, made: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = shutil.copytree(made, tmp_path / "home")
    with monkeypatch.context() as older:
        first = schema.migrations()[:1]
        older.setattr(schema, "migrations", lambda: first)
        assert run(home, "fleet", "init", "--url", server.url()).returncode == 0
    with server.admin() as connection:
        connection.execute("INSERT INTO grader.hosts (host, last_seq, newest_seq) VALUES ('old', 9, 9)")
        connection.execute("INSERT INTO grader.grades (host, session_id, changed_seq) VALUES ('old', 'a', 9)")
    assert "schema 1 is older" in run(home, "fleet", "status", "--url", server.url()).stderr
    told = run(home, "fleet", "init", "--url", server.url()).stdout
    assert told.startswith(f"The fleet's database has schema {schema.newest_version()}.")
    [old] = _hosts(home, run, server).values()
    assert (old["behind"], _counted(server)) == (9, 1)


def test_before_it_is_made_there_is_no_fleet(server: Server, home: Path, run: Run) -> None:
    refused = run(home, "fleet", "status", "--url", server.url())
    assert refused.stderr == (
        "grader-daemon: the fleet's database: there is no fleet; its administrator runs: grader-daemon fleet init\n"
    )


def test_without_a_url_the_setting_is_missing(home: Path, made: Path, run: Run) -> None:
    assert "setting fleet_url is missing" in run(home, "fleet", "status").stderr
    shutil.copytree(made, home, dirs_exist_ok=True)
    assert "setting fleet_url is missing" in run(home, "fleet", "push").stderr


@pytest.mark.parametrize("url", ["postgresql://a:secret@h:x/db", "postgresql://a:secret@h/db?nonsense=1"])
def test_no_password_is_printed_of_a_url_that_is_wrong(home: Path, run: Run, url: str) -> None:
    refused = run(home, "fleet", "status", "--url", url)
    assert refused.returncode == 2
    assert "secret" not in refused.stderr + refused.stdout


def test_a_name_that_no_role_can_have_is_refused(home: Path, run: Run) -> None:
    assert "is not a valid name" in run(home, "fleet", "add-host", "La;ptop", "--url", "postgresql://h/db").stderr


def test_one_cannot_follow_and_end_in_a_document(host: Path, run: Run) -> None:
    assert run(host, "fleet", "push", "--follow", "--json").returncode == 2


@contextmanager
def _served(home: Path, *, port: int, **settings: object) -> Iterator[None]:
    """Serve the fleet as a user does, until it was asked to end, which it must do well."""
    command = [sys.executable, "-m", "grader_daemon", "fleet", "serve", "--port", str(port)]
    with subprocess.Popen(command, env=environment(home, settings), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == f"Serving the fleet at https://localhost:{port}\n"
            yield
        finally:
            process.terminate()
            ended = process.wait(30)
    assert ended == 0


def _reader(home: Path, address: str, token: str) -> Path:
    """Return the home of a member who has a token, and no copy."""
    (home / SETTINGS).parent.mkdir(parents=True)
    (home / "token").write_text(token)
    (home / SETTINGS).write_text(f'fleet_read_url = "{address}"\nfleet_read_token_file = "{home / "token"}"\n')
    return home


def test_members_are_served_what_machines_sent_by_https_and_need_no_copy(
    host: Path, server: Server, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with server.admin() as connection:
        connection.execute("UPDATE grader.hosts SET user_name = 'anna'")
    with closing(apsw.Connection(str(host / demo_home.DATABASE))) as database:
        database.execute("UPDATE session_grades SET task_summary = '<script>alert(1)</script>' || session_id")
    run(host, "config", "set", "fleet_texts", "true")
    run(host, "fleet", "push")
    lead = tmp_path / "lead"
    (lead / SETTINGS).parent.mkdir(parents=True)
    authority, certificate, key = Authority("of members"), lead / "page.crt", lead / "page.key"
    authority.sign("localhost", certificate=certificate, key=key)
    (lead / SETTINGS).write_text(
        run(lead, "fleet", "add-member", "lead", "--url", server.url()).stdout
        + f'fleet_serve_certificate_file = "{certificate}"\nfleet_serve_key_file = "{key}"\n'
        + 'fleet_serve_names = ["localhost"]\n'
    )
    token = json.loads(run(lead, "fleet", "add-token", "anna", "--json").stdout)["token"]
    trusted = ssl.create_default_context(cafile=str(authority.write(tmp_path / "root.crt")))
    port = free_port()

    def ask(address: str, token: str) -> tuple[int, str]:
        asked = Request(f"https://localhost:{port}{address}", headers={"Authorization": f"Bearer {token}"})
        try:
            with urlopen(asked, context=trusted, timeout=30) as answer:
                return answer.status, answer.read().decode()
        except HTTPError as refused:
            return refused.code, refused.read().decode()

    with _served(lead, port=port):
        every = "/sessions?days=all"
        wait_until(lambda: ask(every, token)[1].count('data-id="laptop/') == 13, "all sessions of the machine")
        page = ask(every, token)[1]
        assert "<script>alert" not in page
        assert "&lt;script&gt;alert(1)" in page
        grades = json.loads(ask("/api/sessions", token)[1])["grades"]
        assert {grade["host"] for grade in grades} == {"laptop"}
        assert json.loads(ask("/api/summary", token)[1])["status"]["roots"] == []
        assert ask("/sessions", "wrong")[0] == 401
        anna = _reader(tmp_path / "anna", f"https://localhost:{port}", token)
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "root.crt"))
        listed = run(anna, "list", "--user", "anna", "--json")
        assert {grade["host"] for grade in json.loads(listed.stdout)["grades"]} == {"laptop"}
        assert "which only reads grades" in run(anna, "label", "laptop/demo_03", "--completed", "no").stderr
        assert list(anna.rglob("*.db")) == []
        assert run(lead, "fleet", "remove-token", "anna").stdout == "Revoked the token of anna.\n"
        assert ask("/sessions", token)[0] == 401
        assert "refused the token" in run(anna, "list").stderr
