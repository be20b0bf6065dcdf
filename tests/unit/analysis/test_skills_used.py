from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.analysis.skills_used import MOST_USES, skills_used
from grader_daemon.analysis.tool_calls.call_view import CallView
from grader_daemon.analysis.walk import UserSide
from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.installed import SkillHow, SkillUse
from grader_daemon.redaction import redactor_of
from grader_daemon.rules import load_rules
from tests.hermes_skills import BUNDLE, LOADED, STACKED

REDACTOR = redactor_of(load_rules(None).redaction)


def used(*calls: CallView, status: CallStatus = CallStatus.SUCCESS, source: str = "hermes", said: str = "Go") -> object:
    users = UserSide(load_rules(None).people)
    users.add(0, said, api_calls=0, tool_calls=0)
    notes = [(place, call, status) for place, call in enumerate(calls)]
    return skills_used(notes, users.messages, source=source, redactor=REDACTOR)


def call(tool: str, **arguments: object) -> CallView:
    return CallView(tool, json.dumps(arguments))


@pytest.mark.parametrize(
    ("made", "use"),
    [
        pytest.param(call("skill_view", name="deploy"), ("deploy", SkillHow.VIEW), id="hermes"),
        pytest.param(call("skill_view", name="devops/deploy"), ("deploy", SkillHow.VIEW), id="with-its-category"),
        pytest.param(call("skill_manage", action="patch", name="deploy"), ("deploy", SkillHow.MANAGE), id="edited"),
        pytest.param(call("Skill", skill="office:pdf"), ("office:pdf", SkillHow.VIEW), id="claude-code"),
        pytest.param(call("Skill", command="pdf"), ("pdf", SkillHow.VIEW), id="claude-code-before"),
        pytest.param(call("skill", name="pdf"), ("pdf", SkillHow.VIEW), id="opencode"),
        pytest.param(call("activate_skill", name="pdf"), ("pdf", SkillHow.VIEW), id="gemini-cli"),
        pytest.param(
            call("exec_command", cmd="sed -n 1,80p ~/.codex/skills/pdf/SKILL.md"), ("pdf", SkillHow.VIEW), id="codex"
        ),
        pytest.param(
            call("Write", file_path="/s/pdf/SKILL.md", content="x"), ("pdf", SkillHow.MANAGE), id="written-as-a-file"
        ),
    ],
)
def test_a_call_tells_which_skill_it_uses(made: CallView, use: tuple[str, SkillHow]) -> None:
    assert used(made) == (SkillUse(*use),)


@pytest.mark.parametrize(
    ("said", "source", "names"),
    [
        pytest.param(LOADED, "hermes", ["deploy"], id="hermes"),
        pytest.param(BUNDLE, "hermes", ["deploy", "changelog"], id="hermes-bundle"),
        pytest.param(STACKED, "hermes", ["deploy", "changelog"], id="hermes-several-commands"),
        pytest.param("/pdf report.pdf", "claude-code", ["pdf"], id="claude-code"),
        pytest.param("/tmp/x is broken", "claude-code", [], id="a-path"),
        pytest.param("/pdf report.pdf", "hermes", [], id="typed-where-the-text-would-stand"),
        pytest.param(f"What does this mean? {LOADED}", "hermes", [], id="quoted"),
        pytest.param("[IMPORTANT: The user has invoked the brakes.]", "hermes", [], id="begun-alike"),
    ],
)
def test_what_a_person_typed_is_a_command(said: str, source: str, names: list[str]) -> None:
    assert used(said=said, source=source) == tuple(SkillUse(name, SkillHow.COMMAND) for name in names)


@pytest.mark.parametrize("status", [each for each in CallStatus if each is not CallStatus.SUCCESS])
def test_a_call_that_did_not_work_used_nothing(status: CallStatus) -> None:
    assert used(call("skill_view", name="deploy"), status=status) == ()


@pytest.mark.parametrize(
    ("source", "told"),
    [pytest.param("hermes", (), id="shows-all"), pytest.param("codex", None, id="shows-some")],
)
def test_unknown_is_not_unused(source: str, told: object) -> None:
    assert used(call("terminal", command="ls"), source=source) == told


def test_a_skill_is_told_once_for_each_way() -> None:
    viewed, edited = call("skill_view", name="a"), call("skill_manage", name="a")
    assert used(viewed, edited, viewed) == (SkillUse("a", SkillHow.VIEW), SkillUse("a", SkillHow.MANAGE))


def test_no_session_has_very_many() -> None:
    assert len(used(*[call("skill_view", name=f"s{n}") for n in range(50)]) or ()) == MOST_USES  # type: ignore[arg-type]


@given(st.text() | st.dictionaries(st.sampled_from(["name", "skill"]), st.text() | st.integers() | st.none()))
def test_whatever_is_given_some_names_or_none_are_read(arguments: object) -> None:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    found = used(CallView("skill_view", text))
    assert isinstance(found, tuple)
    assert all("\n" not in use.name and len(use.name) <= 200 for use in found)


@pytest.mark.parametrize("name", ["two\nlines", "", "x" * 5_000])
def test_what_looks_like_no_name_is_no_skill(name: str) -> None:
    assert not used(call("skill_view", name=name))
