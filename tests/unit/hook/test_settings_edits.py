"""A hook is put into settings of an agent, and taken out, and nothing else of them changes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.errors import InputError
from grader_daemon.hook.settings_edits import JsonHook, YamlHook

COMMAND = "/bin/sh -c 'python ask.py 2>/dev/null || true'"
OTHER = {"hooks": [{"type": "command", "command": "say done"}]}


def added(settings: Any) -> dict[str, Any]:
    text = JsonHook().added(json.dumps(settings, indent=2), COMMAND)
    return dict(json.loads(text))


@pytest.mark.parametrize("before", [None, "", " \n"])
def test_where_there_was_no_file_only_the_hook_stands(before: str | None) -> None:
    (group,) = json.loads(JsonHook().added(before, COMMAND))["hooks"]["Stop"]
    assert group["hooks"][0]["command"] == COMMAND


def test_other_settings_and_hooks_stay() -> None:
    settings = {"model": "opus", "hooks": {"Stop": [OTHER], "PreToolUse": [OTHER]}}
    after = added(settings)
    assert after["model"] == "opus"
    assert after["hooks"]["PreToolUse"] == [OTHER]
    assert after["hooks"]["Stop"][0] == OTHER
    assert json.loads(JsonHook().removed(json.dumps(after), COMMAND)) == settings


def test_a_group_that_holds_others_too_keeps_them() -> None:
    ours = {"type": "command", "command": COMMAND}
    text = json.dumps({"hooks": {"Stop": [{"matcher": "", "hooks": [ours, OTHER["hooks"][0]]}, "strange"]}})
    left = json.loads(JsonHook().removed(text, COMMAND))
    assert left == {"hooks": {"Stop": [{"matcher": "", "hooks": OTHER["hooks"]}, "strange"]}}


def test_what_is_not_there_is_not_removed() -> None:
    text = json.dumps({"hooks": {"Stop": [OTHER]}})
    assert JsonHook().removed(text, COMMAND) is text
    assert YamlHook().removed("model: x\n", COMMAND) == "model: x\n"


@pytest.mark.parametrize(
    ("indent", "end"), [pytest.param(4, "\n", id="spaces"), pytest.param("\t", "", id="tabs-and-no-end-of-line")]
)
def test_indentation_and_last_line_are_those_of_the_file(indent: int | str, end: str) -> None:
    before = json.dumps({"model": "опус"}, indent=indent, ensure_ascii=False) + end
    after = JsonHook().added(before, COMMAND)
    assert after.startswith(before.rstrip("}\n"))
    assert after.endswith("}" + end)
    assert JsonHook().removed(after, COMMAND) == before


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not JSON"),
        ("[]", "not a JSON object"),
        ('{"hooks": []}', '"hooks" in it is not an object'),
        ('{"hooks": {"Stop": {}}}', '"Stop" in it is not a list'),
    ],
)
def test_settings_that_are_none_are_refused(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        JsonHook().added(text, COMMAND)


@given(st.dictionaries(st.text(), st.recursive(st.none() | st.booleans() | st.text(), st.lists)))
def test_in_and_out_again_leaves_any_settings_as_they_were(settings: dict[str, Any]) -> None:
    before = {name: value for name, value in settings.items() if name != "hooks"}
    assert json.loads(JsonHook().removed(json.dumps(added(before)), COMMAND)) == before


@pytest.mark.parametrize("before", ["", "model: x  # mine\n", "model: x"])
def test_lines_are_added_to_yaml_and_those_are_removed(before: str) -> None:
    after = YamlHook().added(before, COMMAND)
    assert after.startswith(before)
    assert f"    - command: {json.dumps(COMMAND)}\n" in after
    assert YamlHook().removed(after, COMMAND) in (before, f"{before}\n")


def test_yaml_that_has_hooks_is_left_to_its_owner() -> None:
    with pytest.raises(InputError, match="add these lines by hand:\n  pre_verify:"):
        YamlHook().added("hooks:\n  pre_verify: []\n", COMMAND)
