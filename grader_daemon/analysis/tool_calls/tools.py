"""The purposes of tools: by a table of the tools of the agents that are read, else by the words in their names.

Names are made of a verb and what it is done to, and the verb comes first: `get_edit_history` gets something. So the
first verb that is known decides, and only where there is none a noun that says as much ("terminal"). What is found may
be replaced: a verb of searching gives way to one of writing ("search_and_replace").
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple


class Purpose(StrEnum):
    """Purpose of a tool. Unknown may be anything."""

    HAND_IN = "hand in"
    WRITE = "write"
    RUN = "run"
    SEARCH = "search"
    READ = "read"
    CHANGE = "change"
    UNKNOWN = "unknown"


HARMLESS: Final = frozenset({Purpose.READ, Purpose.SEARCH, Purpose.HAND_IN})
"""Purposes of tools that change nothing."""

CHANGING: Final = frozenset({Purpose.WRITE, Purpose.CHANGE})
"""Purposes of tools that are there to change something."""


class Tool(NamedTuple):
    """The words of a tool's name in lower case, without the server that it comes from, and what they say it is for."""

    words: frozenset[str]
    purpose: Purpose


def _each(purpose: Purpose, words: str) -> dict[str, Purpose]:
    return dict.fromkeys(words.split(), purpose)


_VERBS: Final = {
    **_each(Purpose.HAND_IN, "finish submit complete done final conclude terminate answer"),
    **_each(Purpose.WRITE, "write edit patch replace apply append insert save multiedit rewrite"),
    **_each(Purpose.RUN, "run execute exec"),
    **_each(Purpose.SEARCH, "find search lookup grep glob exists query"),
    **_each(Purpose.READ, "get read list ls view fetch check look show cat stat open load describe count calculate"),
    **_each(Purpose.READ, "think ask clarify"),
    **_each(Purpose.CHANGE, "create update modify upload put generate export delete move rename copy add remove set"),
    **_each(Purpose.CHANGE, "cancel book send pay exchange return enable disable toggle resume suspend transfer post"),
    **_each(Purpose.CHANGE, "reset reboot restart reseat refuel connect disconnect grant revoke"),
}
_NOUNS: Final = {
    **_each(Purpose.WRITE, "editor"),
    **_each(Purpose.RUN, "bash shell terminal command cmd python ipython code powershell repl jupyter sandbox"),
    **_each(Purpose.RUN, "interpreter script sql"),
    **_each(Purpose.READ, "todo status"),
    **_each(Purpose.CHANGE, "payment"),
}
_FAMILIES: Final = (
    (Purpose.RUN, "terminal", "Bash bash shell local_shell shell_command exec_command run_shell_command"),
    (Purpose.RUN, "terminal", "powershell run_commands execute_bash"),
    (Purpose.UNKNOWN, "process", "KillShell KillBash TaskStop write_stdin"),
    (Purpose.UNKNOWN, "process", "task_stop write_bash stop_bash write_powershell stop_powershell"),
    (Purpose.READ, "read_file", "Read NotebookRead read read_many_files view_image view read_files"),
    (Purpose.READ, "list_files", "LS list list_directory ls"),
    (Purpose.SEARCH, "search_files", "search_codebase Grep Glob grep glob grep_search search_file_content find"),
    (Purpose.WRITE, "patch", "Edit MultiEdit NotebookEdit edit multiedit replace apply_patch"),
    (Purpose.WRITE, "patch", "editor replace_in_file apply_diff str_replace_editor file_editor"),
    (Purpose.WRITE, "write_file", "Write write create write_to_file"),
    (Purpose.SEARCH, "web_search", "WebSearch websearch google_web_search"),
    (Purpose.READ, "web_extract", "WebFetch webfetch web_fetch fetch_web_content"),
    (Purpose.UNKNOWN, "delegate_task", "Task Agent task agent spawn_agent send_input resume_agent invoke_agent"),
    (Purpose.UNKNOWN, "delegate_task", "sessions_spawn"),
    (Purpose.READ, "process_output", "BashOutput TaskOutput AgentOutputTool wait wait_agent list_agents read_agent"),
    (Purpose.READ, "process_output", "task_output read_bash list_bash read_powershell list_powershell"),
    (Purpose.READ, "todo", "TodoWrite TodoRead TaskCreate TaskUpdate TaskList TaskGet todowrite todoread write_todos"),
    (Purpose.READ, "todo", "update_plan update_topic EnterPlanMode ExitPlanMode enter_plan_mode exit_plan_mode"),
    (Purpose.READ, "todo", "todo_write task_create task_get task_list task_update report_intent update_todo"),
    (Purpose.READ, "todo", "update_todo_list task_tracker"),
    (Purpose.READ, "clarify", "AskUserQuestion ask_user question request_user_input"),
    (Purpose.READ, "clarify", "ask_user_question ask_question ask_followup_question"),
    (Purpose.READ, "skill_view", "Skill skill skills use_skill activate_skill"),
    (Purpose.UNKNOWN, "memory", "save_memory store_memory"),
    (Purpose.HAND_IN, "attempt_completion", "attempt_completion"),
)
"""Purposes of tools by family, each with the name that the family shares (that of Hermes' tool), and the names of other
agents: Claude Code, Codex, OpenCode, Gemini CLI, Copilot CLI, Qwen Code, OpenClaw, pi, Cline and OpenHands.
"""

_SHARED: Final = {name: shared for _, shared, names in _FAMILIES for name in names.split()}
_KNOWN: Final = {name: purpose for purpose, _, names in _FAMILIES for name in names.split()}
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_LONGEST_NAME = 200


@lru_cache(maxsize=1_024)
def tool_of(name: str) -> Tool:
    """Read the name of a tool, or the word by which a tool is told what to do."""
    own = name[-_LONGEST_NAME:].rpartition("__")[2]
    words = [word.lower() for word in _WORD.findall(own)]
    return Tool(frozenset(words), _KNOWN.get(own) or _purpose_in(words))


def shared_name(tool: str) -> str:
    """Return the name that a tool shares with those of other agents that do the same; its own where there are none."""
    return _SHARED.get(tool, tool)


def _purpose_in(words: list[str]) -> Purpose:
    told = [_VERBS[word] for word in words if word in _VERBS] or [_NOUNS[word] for word in words if word in _NOUNS]
    if not told:
        return Purpose.UNKNOWN
    return Purpose.WRITE if told[0] is Purpose.SEARCH and Purpose.WRITE in told else told[0]
