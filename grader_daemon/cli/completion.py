"""``config completion``, and answers to a Tab: click's way of talking to shells, and words that need no commands.

Nothing heavy is imported: 120 ms of processor time is what a person bears. Nothing is ever written, and no error told.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem, get_completion_class

from grader_daemon.api.completions import known
from grader_daemon.cli import output
from grader_daemon.cli.calling import prepare
from grader_daemon.errors import OutputError

_PROGRAM = "grader-daemon"
_VARIABLE = "_GRADER_DAEMON_COMPLETE"
SHELLS = ("bash", "zsh", "fish")
WORDS = Path(__file__).with_name("words.json")
"""The words of all commands, written by ``python -m tests.reference``: to import the commands takes too long here."""

_SETTINGS_FLAGS = {"--db-path": "db_path", "--config": "config"}
_WHERE = """\b
bash: eval "$(grader-daemon config completion bash)"    in ~/.bashrc
zsh:  eval "$(grader-daemon config completion zsh)"     in ~/.zshrc
fish: grader-daemon config completion fish > ~/.config/fish/completions/grader-daemon.fish
"""


@click.command("completion", epilog=_WHERE)
@click.argument("shell", type=click.Choice(SHELLS))
def command(*, shell: str) -> None:
    """Print the completion script for a shell."""
    output.line(script(shell))


def script(shell: str) -> str:
    """Return what a shell has to read so that Tab asks this program."""
    source: str = _talk(shell).source()
    return source


def complete(instruction: str) -> None:
    """Answer a shell; whether it still listens is its own affair."""
    prepare()
    with suppress(OutputError):
        output.line(answer(instruction))
        output.flush()


def answer(instruction: str) -> str:
    """Answer what a shell asks, by the variable and those that go with it; "" if it is none that is known."""
    shell, _, wanted = instruction.partition("_")
    if shell not in SHELLS or wanted not in ("complete", "source"):
        return ""
    if wanted == "source":
        return script(shell)
    talk = _talk(shell)
    try:
        before, begun = talk.get_completion_args()
    except (KeyError, ValueError):  # the variables that go with it are missing, or are no shell's
        return ""
    return "\n".join(talk.format_completion(item) for item in completions(before, begun))


def completions(before: Sequence[str], begun: str) -> list[CompletionItem]:
    """Return what may stand where `begun` stands, after the words `before`."""
    node, flags, place, awaited = _walk(before)
    if awaited is None and begun.startswith("-"):
        return [CompletionItem(name) for name in node["options"] if name.startswith(begun)]
    below = node.get("commands", {}) if awaited is None and not place else {}
    commands = [CompletionItem(name, help=each["help"]) for name, each in below.items() if name.startswith(begun)]
    return [*commands, *_values_of(node["arguments"], before, begun, flags, place=place, awaited=awaited)]


def _values_of(
    arguments: Sequence[Any], before: Sequence[str], begun: str, flags: Mapping[str, str], *, place: int, awaited: Any
) -> list[CompletionItem]:
    """Return what may be the value of the option that awaits one, else the argument in this place."""
    kind = awaited if awaited is not None else arguments[min(place, len(arguments) - 1)] if arguments else ""
    if kind == "file":
        return [CompletionItem(begun, type="file")]
    if kind == "filters":
        return [CompletionItem(word) for word in _of_a_line(_read_words()["filters"], before, begun, flags)]
    words = kind if isinstance(kind, list) else known(kind, begun, **flags)
    return [CompletionItem(word) for word in words if word.startswith(begun)]


def groups_with(name: str) -> list[str]:
    """Return the groups that have a command of this name."""
    return [group for group, node in _read_words()["commands"].items() if name in node.get("commands", {})]


def _of_a_line(line: Mapping[str, Any], before: Sequence[str], begun: str, flags: Mapping[str, str]) -> list[str]:
    """Return the filters that begin so: words, and names with their values.

    bash takes the colon of `model:x` for a word of its own, and expects what follows it alone.
    """
    if begun == ":" or before[-1] == ":":
        name, value = (before[-1], "") if begun == ":" else (before[-2], begun)
        return _values(line, name, value, flags)
    name, colon, value = begun.partition(":")
    if colon:
        return [f"{name}:{each}" for each in _values(line, name, value, flags)]
    words = [word.replace(" ", "-") for word in line["words"] if not word.endswith(":")]
    named = [each for each in line["names"] if begun and each.startswith(begun)]
    full = [f"{each}:{value}" for each in named for value in _values(line, each, "", flags) or [""]]
    return [each for each in (*words, *full) if each.startswith(begun)]


def _values(line: Mapping[str, Any], name: str, begun: str, flags: Mapping[str, str]) -> list[str]:
    taken = line["names"].get(name, "")
    found = taken if isinstance(taken, list) else known(taken, begun, **flags)
    return [each for each in found if each.startswith(begun)]


def _walk(before: Sequence[str]) -> tuple[dict[str, Any], dict[str, str], int, Any]:
    """Follow the words: to the command, the flags that say where settings are, how many arguments, what is awaited."""
    node, flags, place = _read_words(), dict[str, str](), 0
    awaited, option = None, ""
    for word in before:
        if awaited is not None:
            if option in _SETTINGS_FLAGS:
                flags[_SETTINGS_FLAGS[option]] = word
            awaited = None
        elif word in node.get("ways", {}):
            node, place = node["ways"][word], 0
        elif word.startswith("-"):
            option, awaited = word, node["options"].get(word)
        elif not place and word in node.get("commands", {}):
            node, place = node["commands"][word], 0
        else:
            place += 1
    return node, flags, place, awaited


@cache
def _read_words() -> dict[str, Any]:
    words: dict[str, Any] = json.loads(WORDS.read_text("utf-8"))
    return words


def _talk(shell: str) -> Any:
    found = get_completion_class(shell)
    assert found is not None
    return found(click.Group(), {}, _PROGRAM, _VARIABLE)
