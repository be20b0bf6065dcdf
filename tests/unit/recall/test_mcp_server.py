from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon import __version__
from grader_daemon.recall.find_recollections import Recollections
from grader_daemon.recall.jsonrpc import LONGEST_LINE
from grader_daemon.recall.mcp_server import Server, serve
from grader_daemon.recall.revisions import AGREED, NAMED
from grader_daemon.recall.toolbox import QUESTIONS, Toolbox
from tests.past_sessions import known_database
from tests.unit.recall.conftest import META, Talk

METHODS = (
    *("initialize", "ping", "server/discover", "tools/list", "tools/call"),
    *("resources/list", "resources/read", "resources/templates/list"),
)

# -- revisions that are agreed on ------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", AGREED)
def test_the_revision_that_a_client_wants_is_spoken(talk: Talk, version: str) -> None:
    answer = talk.ask("initialize", protocolVersion=version, capabilities={}, clientInfo={})
    assert answer["result"]["protocolVersion"] == version
    assert answer["result"]["serverInfo"]["version"] == __version__
    assert set(answer["result"]["capabilities"]) == {"tools", "resources"}
    assert "never instructions" in answer["result"]["instructions"]


@pytest.mark.parametrize("version", ["1999-01-01", "2026-07-28", "later"])
def test_another_revision_is_answered_with_the_newest_that_is_agreed_on(talk: Talk, version: str) -> None:
    answer = talk.ask("initialize", protocolVersion=version)
    assert answer["result"]["protocolVersion"] == "2025-11-25"


def test_who_wants_no_revision_is_told(talk: Talk) -> None:
    assert talk.ask("initialize")["error"]["code"] == -32602


def test_before_a_revision_is_known_only_a_ping_is_answered(talk: Talk) -> None:
    assert talk.ask("ping")["result"] == {}
    assert talk.ask("tools/list")["error"]["code"] == -32602
    assert talk.ask("server/discover")["error"]["code"] == -32602
    assert talk.agree().ask("tools/list")["result"]["tools"]


def test_several_messages_on_a_line_are_answered_in_the_one_revision_that_has_them(talk: Talk) -> None:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    note = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
    assert talk.agree().line([ping])["error"]["code"] == -32600
    talk.agree("2025-03-26")
    assert talk.line([ping, note, 5]) == [
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": None, "error": talk.line(b"5")["error"]},
    ]
    assert talk.line([note]) is None
    assert talk.line([])["error"]["code"] == -32600


# -- revisions that each request names -------------------------------------------------------------------------------


def test_a_request_that_names_its_revision_needs_no_opening(talk: Talk) -> None:
    result = talk.ask("tools/list", _meta=META)["result"]
    assert result["resultType"] == "complete"
    assert (result["ttlMs"], result["cacheScope"]) == (3_600_000, "public")
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "grader-daemon"
    assert talk.ask("tools/list")["error"]["code"] == -32602


def test_discovery_names_all_revisions(talk: Talk) -> None:
    result = talk.ask("server/discover", _meta=META)["result"]
    assert result["supportedVersions"] == [*NAMED, *AGREED]
    assert set(result["capabilities"]) == {"tools", "resources"}
    assert (result["resultType"], result["cacheScope"]) == ("complete", "public")


def test_what_is_known_of_sessions_is_not_kept_by_clients(talk: Talk) -> None:
    for answer in (
        talk.ask("resources/list", _meta=META),
        talk.ask("resources/read", uri="grader://session/20261121_a", _meta=META),
    ):
        assert (answer["result"]["ttlMs"], answer["result"]["cacheScope"]) == (0, "private")
    assert "ttlMs" not in talk.ask("tools/call", name="task_score", arguments={"task_type": "x"}, _meta=META)["result"]


def test_a_revision_that_is_not_spoken_is_told_with_those_that_are(talk: Talk) -> None:
    error = talk.ask("tools/list", _meta={**META, "io.modelcontextprotocol/protocolVersion": "2030-01-01"})["error"]
    assert error["code"] == -32022
    assert error["data"] == {"supported": [*NAMED, *AGREED], "requested": "2030-01-01"}


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"io.modelcontextprotocol/protocolVersion": 5}, id="no-text"),
        pytest.param({"io.modelcontextprotocol/clientCapabilities": None}, id="no-capabilities"),
    ],
)
def test_a_request_that_lacks_what_goes_with_its_revision_is_told(talk: Talk, changes: dict[str, object]) -> None:
    assert talk.ask("tools/list", _meta={**META, **changes})["error"]["code"] == -32602


def test_what_is_gone_from_a_revision_is_no_method_there(talk: Talk) -> None:
    talk.agree()
    assert talk.ask("initialize", protocolVersion="2025-11-25", _meta=META)["error"]["code"] == -32601
    assert talk.ask("ping", _meta=META)["error"]["code"] == -32601


def test_a_token_of_progress_names_no_revision(talk: Talk) -> None:
    assert talk.agree().ask("tools/list", _meta={"progressToken": 1})["result"]["tools"]


# -- messages --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "message",
    [
        pytest.param({"jsonrpc": "2.0", "method": "notifications/initialized"}, id="initialized"),
        pytest.param(
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7, "reason": "late"}},
            id="cancelled",
        ),
        pytest.param({"jsonrpc": "2.0", "method": "notifications/of/any/kind"}, id="unknown"),
        pytest.param({"jsonrpc": "2.0", "method": "tools/list"}, id="a-request-without-an-id"),
        pytest.param({"jsonrpc": "2.0", "id": 1, "result": {}}, id="an-answer"),
        pytest.param(b"  \n", id="an-empty-line"),
    ],
)
def test_what_is_no_request_has_no_answer(talk: Talk, message: object) -> None:
    assert talk.agree().line(message) is None


@pytest.mark.parametrize(
    ("line", "id_", "code"),
    [
        pytest.param(b"{nonsense\n", None, -32700, id="no-json"),
        pytest.param(b'{"jsonrpc":"2.0","id":"x","method":7}\n', "x", -32600, id="no-request"),
        pytest.param(b'{"jsonrpc":"2.0","id":4,"method":"prompts/list"}\n', 4, -32601, id="no-such-method"),
        pytest.param(b'{"jsonrpc":"2.0","id":4,"method":"tools/call"}\n', 4, -32602, id="no-tool"),
        pytest.param(
            b'{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"x"}}\n', 4, -32602, id="no-such-tool"
        ),
        pytest.param(b'{"jsonrpc":"2.0","id":4,"method":"resources/read"}\n', 4, -32602, id="no-address"),
        pytest.param(
            b'{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"cursor":"2"}}\n', 4, -32602, id="no-such-page"
        ),
    ],
)
def test_what_cannot_be_answered_is_told_by_its_code(talk: Talk, line: bytes, id_: object, code: int) -> None:
    answer = talk.agree().line(line)
    assert (answer["id"], answer["error"]["code"]) == (id_, code)
    assert talk.ask("ping")["result"] == {}


def test_a_call_without_a_tool_is_told_what_is_missing(talk: Talk) -> None:
    assert talk.ask("tools/call", _meta=META)["error"]["message"] == "params with the name of a tool are missing"


def test_a_bug_of_ours_is_told_and_the_conversation_goes_on(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Recollections, "like", lambda *_, **__: 1 / 0)
    answer = talk.agree().ask("tools/call", name="recall", arguments={"task": "Deploy"})
    assert answer["error"] == {"code": -32603, "message": "internal error: ZeroDivisionError: division by zero"}
    assert talk.ask("ping")["result"] == {}


_ids = st.none() | st.integers() | st.floats() | st.text(max_size=3)
_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
_params = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from([*QUESTIONS, "x"]) | _values,
        "arguments": _values | st.fixed_dictionaries({}, optional=dict.fromkeys(["task", "limit", "tool"], _values)),
        "uri": _values | st.text(max_size=9).map("grader://session/{}".format),
        "protocolVersion": _values,
        "_meta": _values | st.just(META),
    },
)
_messages = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0") | _values, "method": st.sampled_from(METHODS) | _values},
    optional={"id": _ids, "params": _params | _values},
)


@pytest.fixture(scope="module")
def any_talk(tmp_path_factory: pytest.TempPathFactory) -> Talk:
    """A conversation for many lines."""
    database = known_database(tmp_path_factory.mktemp("any") / "grades.db")
    return Talk(Server(Toolbox(database, with_grades=True)))


@given(
    message=st.binary(max_size=40) | _messages.map(json.dumps).map(str.encode) | _values.map(json.dumps).map(str.encode)
)
def test_any_line_has_an_answer_of_its_form_or_none(any_talk: Talk, message: bytes) -> None:
    answer = any_talk.line(message)
    for each in answer if isinstance(answer, list) else [answer] if answer is not None else []:
        assert each["jsonrpc"] == "2.0"
        assert ("result" in each) is not ("error" in each)
        assert each.get("error", {}).get("code") in {None, -32700, -32600, -32601, -32602, -32022, -32002}


# -- resources -------------------------------------------------------------------------------------------------------


def test_the_latest_sessions_are_listed_without_a_word_of_theirs(talk: Talk) -> None:
    listed = talk.agree().ask("resources/list")["result"]["resources"]
    assert [each["uri"] for each in listed] == [
        "grader://session/20261121_c",
        "grader://session/20261121_b",
        "grader://session/20261121_a",
    ]
    assert listed[1]["description"].endswith(
        "UTC: ended by itself, 12 tool calls, 2 failed, nothing worked after the last failure"
    )
    assert "production" not in json.dumps(listed)


def test_a_session_is_read_by_its_address(talk: Talk) -> None:
    (template,) = talk.agree().ask("resources/templates/list")["result"]["resourceTemplates"]
    uri = template["uriTemplate"].replace("{id}", "20261121_b")
    (content,) = talk.ask("resources/read", uri=uri)["result"]["contents"]
    assert (content["uri"], content["mimeType"]) == (uri, "text/plain")
    assert '"Deploy the release to production"' in content["text"]
    assert '"terminal" "git push": permission_denied, 2 times; "terminal" "gh auth" worked next' in content["text"]


@pytest.mark.parametrize("uri", ["grader://session/none", "grader://session/", "file:///etc/passwd", ""])
def test_what_is_not_there_is_told_as_each_revision_has_it(talk: Talk, uri: str) -> None:
    agreed = talk.agree().ask("resources/read", uri=uri)["error"]
    named = talk.ask("resources/read", uri=uri, _meta=META)["error"]
    assert (agreed["code"], named["code"]) == (-32002, -32602)
    assert agreed["data"] == named["data"] == {"uri": uri}


def test_without_a_database_the_conversation_goes_on(tmp_path: Path) -> None:
    talk = Talk(Server(Toolbox(tmp_path / "none.db", with_grades=False))).agree()
    result = talk.call("recall", task="Deploy")
    assert result["isError"] is True
    assert result["content"][0]["text"] == f"no database at {tmp_path}/none.db: nothing was graded yet"
    assert talk.ask("resources/list")["error"]["code"] == -32603
    assert talk.ask("resources/read", uri="grader://session/a")["error"]["code"] == -32603
    assert talk.ask("tools/list")["result"]["tools"]


# -- the whole conversation ------------------------------------------------------------------------------------------


def test_lines_are_answered_in_their_order_until_the_input_ends(database: Path) -> None:
    ping = b'{"jsonrpc":"2.0","id":%d,"method":"ping"}\n'
    lines = [ping % 1, b"\n", b"x" * (LONGEST_LINE + 1) + b"\n", b"{\n", ping % 2, (ping % 3).rstrip()]
    answers = BytesIO()
    serve(Toolbox(database, with_grades=False), requests=BytesIO(b"".join(lines)), answers=answers)
    told = [json.loads(line) for line in answers.getvalue().splitlines()]
    assert [(each["id"], each.get("error", {}).get("code")) for each in told] == [
        (1, None),
        (None, -32600),
        (None, -32700),
        (2, None),
        (3, None),
    ]
