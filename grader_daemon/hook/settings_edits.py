"""A hook put into the settings of an agent, and taken out again: text in, text out.

All else in the file stays as it is. JSON is written anew with its indentation; of YAML, whose comments no parser would
keep, lines are added at the end and those same lines removed.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final, Protocol

from grader_daemon.errors import InputError

_INDENTED = re.compile(r'^(?P<space>[ \t]+)"', re.MULTILINE)
_EVENT: Final = "Stop"
_SECONDS: Final = 5
"""An agent waits no longer for a program that hangs; ours ends within a tenth of a second."""

_YAML_HOOKS = re.compile(r"^hooks[ \t]*:", re.MULTILINE)
_YAML_EVENT: Final = "pre_verify"


class Edit(Protocol):
    """A way to put a hook into one kind of file."""

    def added(self, text: str | None, command: str) -> str:
        """Return the text of the file with the hook; `text` is None where there is no file.

        Raises:
            InputError: the file is not what it should be.
        """

    def removed(self, text: str, command: str) -> str:
        """Return the text without the hook; the same where it is not there.

        Raises:
            InputError: the file is not what it should be.
        """

    def holds(self, text: str, command: str) -> bool:
        """Return whether the hook is in the text; false if the file is not what it should be."""


class JsonHook:
    """A hook in the JSON of Claude Code, and of who took it over: ``{"hooks": {"Stop": [{"hooks": [{...}]}]}}``."""

    def added(self, text: str | None, command: str) -> str:
        """See `Edit.added`."""
        settings = _object(text)
        stop = _list_in(_object_in(settings, "hooks"), _EVENT)
        stop.append({"hooks": [{"type": "command", "command": command, "timeout": _SECONDS}]})
        return _written(settings, like=text)

    def removed(self, text: str, command: str) -> str:
        """See `Edit.removed`."""
        settings = _object(text)
        hooks = _object_in(settings, "hooks")
        stop = _list_in(hooks, _EVENT)
        left = (_without(group, command) for group in stop)
        kept = [group for group in left if group is not None]
        if kept == stop:
            return text
        hooks[_EVENT] = kept
        if not kept:
            del hooks[_EVENT]
        if not hooks:
            del settings["hooks"]
        return _written(settings, like=text)

    def holds(self, text: str, command: str) -> bool:
        """See `Edit.holds`; another program may have written the file anew since."""
        try:
            return self.removed(text, command) != text
        except InputError:
            return False


class YamlHook:
    """A hook in the YAML of Hermes: a block `hooks` at the end of its file."""

    def added(self, text: str | None, command: str) -> str:
        """See `Edit.added`."""
        if text is not None and _YAML_HOOKS.search(text):
            raise InputError(f"it already has hooks; add these lines by hand:\n{_yaml_event(command)}")
        before = "" if not text else text if text.endswith("\n") else f"{text}\n"
        return f"{before}{_yaml_block(command)}"

    def removed(self, text: str, command: str) -> str:
        """See `Edit.removed`."""
        return text.replace(_yaml_block(command), "")

    def holds(self, text: str, command: str) -> bool:
        """See `Edit.holds`; the lines may stand elsewhere since."""
        return json.dumps(command) in text


def _yaml_block(command: str) -> str:
    return f"hooks:\n{_yaml_event(command)}"


def _yaml_event(command: str) -> str:
    return f"  {_YAML_EVENT}:\n    - command: {json.dumps(command)}\n      timeout: {_SECONDS}\n"


def _object(text: str | None) -> dict[str, Any]:
    if text is None or not text.strip():
        return {}
    try:
        settings = json.loads(text)
    except ValueError as error:
        raise InputError(f"it is not JSON: {error}") from error
    if not isinstance(settings, dict):
        raise InputError("it is not a JSON object")
    return settings


def _object_in(settings: dict[str, Any], name: str) -> dict[str, Any]:
    value = settings.setdefault(name, {})
    if not isinstance(value, dict):
        raise InputError(f'"{name}" in it is not an object')
    return value


def _list_in(settings: dict[str, Any], name: str) -> list[Any]:
    value = settings.setdefault(name, [])
    if not isinstance(value, list):
        raise InputError(f'"{name}" in it is not a list')
    return value


def _without(group: Any, command: str) -> Any:
    """Return a group of hooks without ours; None where no other is in it."""
    hooks = group.get("hooks") if isinstance(group, dict) else None
    if not isinstance(hooks, list):
        return group
    others = [each for each in hooks if not (isinstance(each, dict) and each.get("command") == command)]
    if len(others) == len(hooks):
        return group
    return {**group, "hooks": others} if others else None


def _written(settings: dict[str, Any], *, like: str | None) -> str:
    found = _INDENTED.search(like or "")
    indent: str | int = found["space"] if found else 2
    end = "" if like and not like.endswith("\n") else "\n"
    return json.dumps(settings, indent=indent, ensure_ascii=False) + end
