from __future__ import annotations

import re

from grader_daemon.sources.cline.tagged_calls import Tagged, calls_in, spans_in, without
from tests.timing import is_done_within

TAG = re.compile(r"<(task|feedback)>")


def test_a_call_is_a_tag_around_its_arguments() -> None:
    inside = "\n<command>ls -la</command>\n<requires_approval>false</requires_approval>\n"
    text = f"I look.\n<execute_command>{inside}</execute_command>"

    assert calls_in(text) == (
        "I look.\n",
        [Tagged("execute_command", {"command": "ls -la", "requires_approval": "false"})],
    )


def test_a_text_may_hold_tags_of_its_own() -> None:
    text = "<write_to_file><path>a.xml</path><content>\n<content>x</content>\n<path/>\n</content></write_to_file>"

    assert calls_in(text)[1] == [Tagged("write_to_file", {"path": "a.xml", "content": "<content>x</content>\n<path/>"})]


def test_several_calls_are_told_apart_and_one_that_was_cut_off_is_none() -> None:
    text = "<read_file><path>a</path></read_file> and <list_files><path>b</path></list_files><read_file><path>c"

    assert [call.tool for call in calls_in(text)[1]] == ["read_file", "list_files"]
    assert calls_in("<read_file><path>c</read_file>") == ("", [Tagged("read_file", {})])
    assert calls_in("What is <b>bold</b>?") == ("What is <b>bold</b>?", [])
    assert len(calls_in("<read_file></read_file>" * 200)[1]) == 100


def test_what_stands_in_tags_is_found_where_they_are_closed() -> None:
    text = "<task>\nDo it\n</task> <feedback>never closed <task>And that</task>"

    assert [inside for _, _, inside in spans_in(text, TAG)] == ["Do it", "And that"]
    assert without("a <task>b</task> c", TAG) == "a  c"


def test_a_text_of_nothing_but_openings_takes_no_longer_than_any_other() -> None:
    text = "<task><feedback>" * 100_000

    assert is_done_within(2, lambda: list(spans_in(text, TAG)))
