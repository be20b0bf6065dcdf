from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from grader_daemon.domain.analysis import CallStatus, SessionState
from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import (
    ASSISTANT,
    TOOL,
    USER,
    Ending,
    ReportedOutcome,
    Session,
    SessionKind,
    Skipped,
    SkipReason,
    Usage,
)
from grader_daemon.domain.session_result import EndingKind
from grader_daemon.domain.unit import Unit
from grader_daemon.errors import ChangingFileError, ParseError
from grader_daemon.sources.cline.cline_sessions import ClineSessions
from grader_daemon.sources.protocol import Read, Sources, UnknownKinds

ID = "1795547402612_1u2ag"
MANIFEST: dict[str, Any] = {
    "version": 1,
    "session_id": ID,
    "source": "cli",
    "started_at": "2026-11-24T19:10:02.626Z",
    "ended_at": "2026-11-24T19:10:13.840Z",
    "exit_code": 0,
    "status": "completed",
    "model": "m",
    "cwd": "/tmp/proj",
    "enable_spawn": True,
    "metadata": {"usage": {"totalCost": 0.25}},
}
METRICS = {"inputTokens": 120, "outputTokens": 20, "cacheReadTokens": 100, "cacheWriteTokens": 5}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def user(*blocks: Any, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks), "ts": 1_795_547_405_144, **more}


def typed(said: str) -> dict[str, Any]:
    return user(text(f'<user_input mode="act">{said}</user_input>'))


def answer(said: str, *calls: str, tool: str = "run_commands", **more: Any) -> dict[str, Any]:
    made = [{"type": "tool_use", "id": call, "name": tool, "input": {"commands": ["ls"]}} for call in calls]
    blocks = [*([text(said)] if said else []), *made]
    told = {"modelInfo": {"id": "gpt-5", "provider": "p"}, "metrics": METRICS}
    return {"role": "assistant", "content": blocks, "ts": 1_795_547_407_109, **told, **more}


def result(call: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call, "name": "run_commands", "content": content, **more}


class Home:
    """A folder with sessions."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.source = ClineSessions([str(root)], limits=Limits())

    def write(self, name: str, content: Any) -> str:
        """Write a file, and return its path."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(path)

    def read(self, path: str) -> Read:
        """Read the session in a file."""
        (unit,) = self.source.touched(path)
        return self.source.read(self.source.look(unit))

    def session(self, *messages: Any, manifest: Any = MANIFEST, name: str = ID, **head: Any) -> Session:
        """Write a session, and read it."""
        if manifest is not None:
            self.write(f"{ID}/{ID}.json", manifest)
        origin = {"source": "cli", "version": "3.0.65"}
        whole = {"agent": "lead", "sessionId": ID, "origin": origin, "messages": messages, **head}
        read = self.read(self.write(f"{ID}/{name}.messages.json", whole)).session
        assert isinstance(read, Session)
        return read

    def task(self, *messages: Any, screen: Any = None, folder: str = "tasks/1795") -> Session:
        """Write a task of an extension, and read it."""
        if screen is not None:
            self.write(f"{folder}/ui_messages.json", screen)
        read = self.read(self.write(f"{folder}/api_conversation_history.json", messages)).session
        assert isinstance(read, Session)
        return read


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def said(read: Session) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in read.messages]


def test_a_session_is_what_its_two_files_say(home: Home) -> None:
    read = home.session(
        typed("List it"),
        answer("", "c"),
        user(result("c", [{"query": "ls", "result": "a.py", "success": True}])),
        answer("One file."),
    )

    assert said(read) == [(USER, "List it"), (ASSISTANT, ""), (TOOL, "a.py"), (ASSISTANT, "One file.")]
    assert [call.arguments for call in read.messages[1].tool_calls or ()] == ['{"commands": ["ls"]}']
    assert read.reported == {2: ReportedOutcome(CallStatus.SUCCESS, 0)}
    assert read.usage == (
        Usage(model="gpt-5", input_tokens=30, cache_read_tokens=200, cache_write_tokens=10, output_tokens=40),
    )
    assert (read.session_id, read.kind, read.parent, read.named_after_id) == (ID, SessionKind.MAIN, None, True)
    assert (read.project, read.model, read.agent_version, read.platform) == ("/tmp/proj", "gpt-5", "3.0.65", "cli")
    assert (read.cost_usd, read.ending) == (0.25, Ending(SessionState.COMPLETE, "status=completed"))
    assert read.started_at == datetime(2026, 11, 24, 19, 10, 2, 626_000, UTC)
    assert read.updated_at == datetime(2026, 11, 24, 19, 10, 13, 840_000, UTC)


@pytest.mark.parametrize(
    ("manifest", "ending"),
    [
        ({"status": "running"}, None),
        ({"status": "idle"}, None),
        ({"status": "completed", "exit_code": 1}, Ending(SessionState.INTERRUPTED, "status=failed")),
        ({"status": "failed", "exit_code": 1, "metadata": {}}, Ending(SessionState.INTERRUPTED, "status=failed")),
        (
            {"status": "failed", "metadata": {"terminal_marker": "failed_external_process_exit"}},
            Ending(SessionState.INTERRUPTED, "status=failed", EndingKind.PROCESS),
        ),
        ({"status": "cancelled"}, Ending(SessionState.INTERRUPTED, "status=cancelled", EndingKind.PERSON)),
    ],
)
def test_how_a_session_stands_its_manifest_says(home: Home, manifest: dict[str, Any], ending: Ending | None) -> None:
    assert home.session(typed("Do it"), manifest=manifest).ending == ending


def error(said: str) -> dict[str, Any]:
    return answer(said, metrics=None, metadata={"displayOnly": True, "displayRole": "error"})


@pytest.mark.parametrize(
    ("shown", "kind"),
    [
        ("Invalid value for 'messages'", EndingKind.ERROR),
        ("Model reached the maximum output token limit before completing the turn", EndingKind.LIMIT),
        (
            "Capability owner client core-5tiuwky8-mwxuzvz6 disconnected before request was resolved.",
            EndingKind.PROCESS,
        ),
    ],
)
def test_an_error_that_is_shown_is_no_answer_and_says_how_it_ended(home: Home, shown: str, kind: EndingKind) -> None:
    failed = {**MANIFEST, "status": "failed", "exit_code": 1}
    read = home.session(typed("Do it"), answer("I begin."), error(shown), manifest=failed)

    assert said(read) == [(USER, "Do it"), (ASSISTANT, "I begin.")]
    assert read.ending == Ending(SessionState.INTERRUPTED, "status=failed", kind)
    assert [used.output_tokens for used in read.usage] == [20]


def test_what_the_program_asks_in_a_persons_place_is_no_message(home: Home) -> None:
    read = home.session(
        typed("Do it"),
        answer("Half of"),
        user(text("Your previous response was cut off"), metadata={"userRunSpan": 0}),
        user(text('<user_input mode="act">Hurry</user_input>'), metadata={"userRunSpan": 0}),
    )

    assert said(read) == [(USER, "Do it"), (ASSISTANT, "Half of"), (USER, "Hurry")]


def test_a_session_without_a_manifest_says_less(home: Home) -> None:
    read = home.session(typed("Do it"), manifest=None)

    assert (read.ending, read.cost_usd, read.project, read.platform) == (None, None, None, "cli")


def test_a_price_of_nothing_is_not_known_to_be_the_price(home: Home) -> None:
    prices: list[dict[str, Any]] = [{"usage": {"totalCost": 0}}, {"usage": {}}, {}, {"usage": {"totalCost": "?"}}]
    for noted in prices:
        assert home.session(typed("Do it"), manifest={**MANIFEST, "metadata": noted}).cost_usd is None


def test_a_manifest_that_cannot_be_read_is_told_and_the_session_is_read_without(home: Home) -> None:
    home.write(f"{ID}/{ID}.json", "{broken")
    path = home.write(f"{ID}/{ID}.messages.json", {"sessionId": ID, "messages": [typed("Do it")]})
    read = home.read(path)

    assert isinstance(read.session, Session)
    assert read.unknown == UnknownKinds(None, (f"{ID}.json",))


def test_facts_of_another_type_are_not_known(home: Home) -> None:
    read = home.session(typed("Do it"), answer("Done.", modelInfo={"id": 7}), origin={"source": 7, "version": 3.0})

    assert said(read) == [(USER, "Do it"), (ASSISTANT, "Done.")]
    assert (read.agent_version, read.model) == (None, MANIFEST["model"])


def test_messages_that_cannot_be_read_are_told_and_the_session_is_read_without(home: Home) -> None:
    messages = [typed("Do it"), answer("Done.", modelInfo=7), {**answer("Really."), "ts": "then"}]
    read = home.read(home.write(f"{ID}/{ID}.messages.json", {"sessionId": ID, "messages": messages}))
    task = home.read(home.write("tasks/1795/api_conversation_history.json", messages))

    for each, place in ((read, "messages[].modelInfo"), (task, "[].modelInfo")):
        assert isinstance(each.session, Session)
        assert said(each.session)[-1] == (ASSISTANT, "Really.")
        assert "Done." not in str(each.session.messages)
        assert each.unknown == UnknownKinds(None, (place,))


def test_what_the_machinery_said_is_no_message(home: Home) -> None:
    read = home.session(
        typed("Do it"),
        user(text("<mode_notice>You are in plan mode.</mode_notice>")),
        user(text("The previous turn failed."), metadata={"kind": "recovery_notice", "displayRole": "system"}),
        user(text("<user_input></user_input>")),
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "And that"},
        {"role": "user"},
    )

    assert said(read) == [(USER, "Do it"), (USER, "And that")]


def test_a_summary_of_what_was_said_before_is_nobodys_word(home: Home) -> None:
    read = home.session(user(text("Context summary:\n\n## Goal\nall of it")), answer("Going on."))

    assert (said(read), read.compacted) == ([(ASSISTANT, "Going on.")], True)


def test_a_sub_agent_lies_beside_its_session(home: Home) -> None:
    told = {"name": "explorer", "agent": "subagent", "sessionId": f"{ID}__explorer"}
    read = home.session(user(text("Count")), answer("Ten.", modelInfo=None, metrics=None), **told)
    nameless = home.session(user(text("Count")), name="other", agent="teammate", sessionId=None)

    assert said(read) == [(USER, "Count"), (ASSISTANT, "Ten.")]
    assert (read.session_id, read.kind, read.parent) == (f"{ID}__explorer", SessionKind.SUB_AGENT, ID)
    assert (read.project, read.ending, read.cost_usd, read.model) == ("/tmp/proj", None, None, None)
    assert read.usage == (Usage(),)
    assert (nameless.session_id, nameless.parent) == ("other", ID)


def test_times_that_are_none_are_left_out(home: Home) -> None:
    read = home.session(user(text("Do it"), ts=1e300), manifest=None)

    assert (read.message_times, read.started_at) == ((), None)


def test_a_file_without_a_word_is_no_session(home: Home) -> None:
    path = home.write(f"{ID}/{ID}.messages.json", {"version": 1, "sessionId": ID, "messages": []})

    assert home.read(path).session == Skipped(SkipReason.NOT_A_SESSION, ID)
    assert home.source.parse(b"{}", Unit("cline", path)).session == Skipped(SkipReason.NOT_A_SESSION, ID)


def test_a_change_of_either_file_touches_the_session_and_is_a_change_of_it(home: Home) -> None:
    home.session(typed("Do it"), manifest={"status": "running"})
    (found,) = home.source.walk(str(home.root))
    before = home.source.read(found)
    manifest = home.write(f"{ID}/{ID}.json", MANIFEST)

    assert home.source.claims(manifest)
    assert home.source.touched(manifest) == (found.unit,)
    with pytest.raises(ChangingFileError):
        home.source.read(found)
    after = home.source.read(home.source.look(found.unit))
    assert before.digest != after.digest
    assert home.source.read(home.source.look(found.unit), unless=after.digest) == Read(after.digest, None)


def test_a_folder_in_the_place_of_the_manifest_is_none(home: Home) -> None:
    (home.root / ID / f"{ID}.json").mkdir(parents=True)

    assert home.session(typed("Do it"), manifest=None).ending is None


def test_a_manifest_that_a_person_names_is_its_session(home: Home) -> None:
    home.session(typed("Do it"))
    sources = Sources([ClineSessions(limits=Limits())])

    assert sources.named(str(home.root / ID / f"{ID}.json")) == [
        Unit("cline", str(home.root / ID / f"{ID}.messages.json"))
    ]


@pytest.mark.parametrize(
    ("path", "claimed"),
    [
        (f"/s/{ID}/{ID}.messages.json", True),
        (f"/s/{ID}/{ID}.json", True),
        (f"/s/{ID}/explorer.messages.json", True),
        (f"/s/{ID}/{ID}.log", False),
        ("/s/sessions.index.json", False),
        ("/t/tasks/1795/api_conversation_history.json", True),
        ("/t/tasks/1795/ui_messages.json", True),
        ("/t/tasks/1795/task_metadata.json", False),
    ],
)
def test_only_files_of_sessions_are_claimed(path: str, claimed: bool) -> None:
    assert ClineSessions(limits=Limits()).claims(path) is claimed


def test_a_file_of_any_name_is_known_by_how_it_begins() -> None:
    source = ClineSessions(limits=Limits())
    whole = {"version": 1, "updated_at": "2026-11-24T19:10:12.488Z", "agent": "lead", "sessionId": ID}

    assert source.recognizes("/x/y.txt", json.dumps(whole, indent=2).encode())
    assert source.recognizes("/x/y.txt", json.dumps([user(text("<task>\nDo it\n</task>"))]).encode())
    assert not source.recognizes("/x/y.txt", json.dumps([user(text("Do it"))]).encode())


# -- tasks of extensions -----------------------------------------------------------------------------------------------

DETAILS = "<environment_details>\n# Current Working Directory (/tmp/proj) Files\n<model>sonnet</model>"
COMMAND = "<execute_command>\n<command>ls</command>\n</execute_command>"


def wrote(said: str, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": [text(said)], **more}


def asked(*said: str) -> dict[str, Any]:
    return {"role": "user", "content": [text(each) for each in said]}


def test_calls_in_text_have_their_results_in_the_next_message(home: Home) -> None:
    read = home.task(
        asked("<task>\nList it\n</task>", DETAILS),
        wrote(f"<thinking>Hm.</thinking>\nI look.\n{COMMAND}"),
        asked("[execute_command for 'ls'] Result:", "Command executed.\nOutput:\na.py", DETAILS),
        wrote("<attempt_completion>\n<result>One file.</result>\n</attempt_completion>"),
    )

    assert said(read) == [
        (USER, "List it"),
        (ASSISTANT, "I look."),
        (TOOL, "Command executed.\nOutput:\na.py"),
        (ASSISTANT, ""),
    ]
    assert [call.tool for call in read.messages[3].tool_calls or ()] == ["attempt_completion"]
    assert read.messages[2].tool_call_id == (read.messages[1].tool_calls or ())[0].id
    assert (read.project, read.model, read.agent, read.platform) == ("/tmp/proj", "sonnet", "cline", None)
    assert (read.session_id, read.ending, read.usage, read.cost_usd) == ("1795", None, (), None)


def test_a_result_and_its_line_may_be_one_text_and_several_follow_each_other(home: Home) -> None:
    read = home.task(
        wrote(f"{COMMAND}<read_file><path>a.py</path></read_file>"),
        asked(
            "[execute_command for 'ls'] Result:\nThe user denied this operation.", "[read_file for 'a.py'] Result:\n1"
        ),
        asked("[read_file for 'never called'] Result:\n2"),
    )

    assert said(read)[1:] == [(TOOL, "The user denied this operation."), (TOOL, "1")]
    assert read.reported == {1: ReportedOutcome(CallStatus.REFUSED)}


def test_what_a_person_says_beside_a_result_is_said(home: Home) -> None:
    read = home.task(
        wrote(COMMAND),
        asked(
            "[execute_command for 'ls'] Result:",
            "The user denied this operation and provided the following feedback:\n<feedback>\nUse rg\n</feedback>",
        ),
        asked("[ERROR] You did not use a tool in your previous response!", "# Next Steps", ""),
        asked("[TASK RESUMPTION] It was interrupted.\n<user_message>\nGo on\n</user_message>"),
        asked("And in plain words"),
        {"role": "system", "content": "x"},
    )

    assert [content for role, content in said(read) if role == USER] == ["Use rg", "Go on", "And in plain words"]


def test_calls_of_their_own_have_results_of_their_own(home: Home) -> None:
    feedback = "Command is still running in terminal.\n<user_message>\nStop it\n</user_message>"
    read = home.task(
        answer("", "c", "d", tool="execute_command"),
        user(result("c", feedback), result("d", [text("Hm."), {"type": "image"}], is_error=True), text(DETAILS)),
        user(result("e", {"a": 1})),
    )

    assert said(read)[1:] == [(TOOL, feedback), (TOOL, "Hm."), (USER, "Stop it"), (TOOL, '{"a": 1}')]
    assert read.reported == {1: ReportedOutcome(CallStatus.PENDING), 2: ReportedOutcome(CallStatus.FAILURE)}


def test_a_summary_in_place_of_what_was_said_is_noted(home: Home) -> None:
    read = home.task(asked("<task>Do it</task>"), wrote("All of it.", isSummary=True), wrote("Going on."))

    assert (said(read), read.compacted) == ([(USER, "Do it"), (ASSISTANT, "Going on.")], True)


def api_call(**told: Any) -> dict[str, Any]:
    return {"ts": 1_795_547_402_000, "type": "say", "say": "api_req_started", "text": json.dumps(told)}


def test_tokens_price_and_model_stand_on_the_screen(home: Home) -> None:
    counts = {"tokensIn": 120, "tokensOut": 20, "cacheWrites": 5, "cacheReads": 100, "cost": 0.5}
    model = {"ts": 1_795_547_403_000, "say": "text", "modelInfo": {"modelId": "opus", "providerId": "p"}}
    screen = [api_call(**counts), api_call(**counts, apiProtocol="openai"), api_call(request="not yet"), model]
    read = home.task(asked("<task>Do it</task>"), screen=[*screen, {**api_call(), "text": "{broken"}])

    assert read.usage == (
        Usage(model="opus", input_tokens=135, cache_read_tokens=200, cache_write_tokens=10, output_tokens=40),
    )
    assert (read.cost_usd, read.model) == (1.0, "opus")
    assert read.started_at == datetime(2026, 11, 24, 19, 10, 2, tzinfo=UTC)
    assert home.task(asked("<task>Do it</task>"), screen=[api_call(tokensIn="?", cost=0)]).usage == (
        Usage(cache_read_tokens=0, cache_write_tokens=0),
    )


@pytest.mark.parametrize(
    ("screen", "ending"),
    [
        pytest.param([], None, id="nothing"),
        pytest.param(
            [{"ask": "completion_result"}], Ending(SessionState.COMPLETE, "completion_result"), id="handed-in"
        ),
        pytest.param([{"say": "completion_result"}], Ending(SessionState.COMPLETE, "completion_result"), id="said-so"),
        pytest.param([{"ask": "api_req_failed"}], Ending(SessionState.INTERRUPTED, "api_req_failed"), id="api-error"),
        pytest.param(
            [{"ask": "mistake_limit_reached"}],
            Ending(SessionState.INTERRUPTED, "mistake_limit_reached", EndingKind.LIMIT),
            id="a-limit",
        ),
        pytest.param(
            [api_call(cancelReason="user_cancelled"), {"ask": "resume_task"}],
            Ending(SessionState.INTERRUPTED, "user_cancelled", EndingKind.PERSON),
            id="a-person",
        ),
        pytest.param([api_call(cancelReason="moonlight"), {"ask": "resume_task"}], None, id="another-reason"),
        pytest.param([api_call(), {"ask": "command"}], None, id="a-call-runs"),
    ],
)
def test_how_a_task_stands_the_screen_says(home: Home, screen: list[Any], ending: Ending | None) -> None:
    assert home.task(asked("<task>Do it</task>"), screen=screen).ending == ending


def test_the_extension_that_a_task_is_of_is_told_by_its_folder(home: Home) -> None:
    roo = home.task(asked("<task>Do it</task>"), folder="globalStorage/rooveterinaryinc.roo-cline/tasks/a")

    assert (roo.agent, roo.platform, roo.session_id) == ("roo-code", "vscode", "a")


def test_a_history_under_another_name_is_named_after_that(home: Home) -> None:
    path = home.write("kept.json", [asked("<task>Do it</task>")])
    read = home.source.read(home.source.look(Unit("cline", path))).session

    assert isinstance(read, Session)
    assert read.session_id == "kept"


def test_too_many_messages_are_refused(home: Home) -> None:
    small = ClineSessions(limits=Limits(messages=1))
    path = home.write(f"{ID}/{ID}.messages.json", {"sessionId": ID, "messages": [typed("a"), typed("b")]})

    with pytest.raises(ParseError, match="max_messages = 1"):
        small.read(small.look(Unit("cline", path)))


def test_a_link_to_a_manifest_elsewhere_is_not_followed(home: Home, tmp_path_factory: pytest.TempPathFactory) -> None:
    secret = tmp_path_factory.mktemp("elsewhere") / "m.json"
    secret.write_text(json.dumps(MANIFEST))
    (home.root / ID).mkdir()
    os.symlink(secret, home.root / ID / f"{ID}.json")

    assert home.session(typed("Do it"), manifest=None).ending is None
