"""Texts in tags: what a person says, and calls that a model writes as text in Cline's extension.

A call is a tag with the tool's name around tags of its arguments. No tag is looked for twice, so a text of nothing but
openings takes no longer than any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_TOOLS: Final = (
    "access_mcp_resource apply_diff apply_patch ask_followup_question attempt_completion browser_action "
    "codebase_search condense edit_file execute_command fetch_instructions focus_chain generate_explanation "
    "generate_image insert_content list_code_definition_names list_files load_mcp_documentation new_rule new_task "
    "plan_mode_respond plan_mode_response read_file replace_in_file report_bug run_slash_command search_and_replace "
    "search_files summarize_task switch_mode update_todo_list use_mcp_tool use_skill web_fetch web_search write_to_file"
)
_OPENING = re.compile(rf"<({'|'.join(_TOOLS.split())})>")
_ARGUMENT = re.compile(r"<(\w{1,60})>")
_WHOLE: Final = frozenset({"content", "diff", "result", "response"})
"""Arguments that hold a text with tags of its own: the last closing tag ends them."""

_MOST_CALLS: Final = 100


class Tagged(NamedTuple):
    """A call: the tool, and its arguments."""

    tool: str
    arguments: dict[str, object]


def calls_in(text: str) -> tuple[str, list[Tagged]]:
    """Return what is said before the first call of an answer, and the calls; one that was cut off is none."""
    first = _OPENING.search(text)
    if first is None:
        return text, []
    calls: list[Tagged] = []
    found: re.Match[str] | None = first
    while found is not None and len(calls) < _MOST_CALLS:
        closing = f"</{found[1]}>"
        end = text.find(closing, found.end())
        if end < 0:
            break
        calls.append(Tagged(found[1], _arguments_in(text[found.end() : end])))
        found = _OPENING.search(text, end + len(closing))
    return text[: first.start()], calls


def _arguments_in(text: str) -> dict[str, object]:
    arguments: dict[str, object] = {}
    found = _ARGUMENT.search(text)
    while found is not None:
        closing = f"</{found[1]}>"
        end = (text.rfind if found[1] in _WHOLE else text.find)(closing, found.end())
        if end < 0:
            break
        arguments[found[1]] = text[found.end() : end].strip("\n")
        found = _ARGUMENT.search(text, end + len(closing))
    return arguments


def spans_in(text: str, opening: re.Pattern[str]) -> Iterator[tuple[int, int, str]]:
    """Yield where each tag begins and ends that `opening` finds, its first group the name, and what stands in it."""
    hopeless: set[str] = set()
    found = opening.search(text)
    while found is not None:
        name, begin = found[1], found.end()
        end = -1 if name in hopeless else text.find(f"</{name}>", begin)
        if end < 0:
            hopeless.add(name)
            found = opening.search(text, begin)
            continue
        after = end + len(name) + 3
        yield found.start(), after, text[begin:end].strip()
        found = opening.search(text, after)


def without(text: str, opening: re.Pattern[str]) -> str:
    """Return a text without the tags that `opening` finds."""
    kept, begin = [], 0
    for start, end, _ in spans_in(text, opening):
        kept.append(text[begin:start])
        begin = end
    return "".join((*kept, text[begin:])).strip()
